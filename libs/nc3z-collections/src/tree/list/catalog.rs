//! The files of a catalogue, as the catalogue knows them.

use super::{FileSummary, summary};
use crate::catalog::{Catalog, HeadKind, described};
use crate::{Error, Result};
use nc3z_look::text;
use rayon::prelude::*;

/// A file's name, and what the catalogue knows of it.
type Listed = (String, Result<FileSummary>);

/// Lists the files of a catalogue by their names, block by block. No other file is opened.
pub fn of_catalog(catalog: &Catalog) -> impl Iterator<Item = Result<Vec<Listed>>> {
    catalog.blocks().map(|block| {
        let (names, heads, headers) = (block.names()?, block.heads()?, block.headers()?);
        let files: Vec<_> = names.into_iter().zip(heads).zip(block.coordinates()?).collect();
        let listed = files.into_par_iter().map(|((name, (head, number)), known)| {
            let found = || -> Result<FileSummary> {
                let header = headers
                    .get(number)
                    .ok_or_else(|| Error::Refused("the catalogue does not have the header".to_owned()))?;
                let bytes = if head.kind == HeadKind::Packed { head.len } else { head.stored };
                // The catalogue lacks values of some coordinates.
                let mut found = summary(&described(&head, header, known)?, bytes, true)?;
                found.original = head.len;
                if head.kind != HeadKind::Packed {
                    found.kind = head.kind.name();
                }
                Ok(found)
            };
            (text::safe(&name), found())
        });
        Ok(listed.collect())
    })
}
