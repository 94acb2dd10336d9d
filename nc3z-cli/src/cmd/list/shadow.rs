//! The files of a shadow, as the shadow knows them.

use super::{Entry, Found, describe};
use crate::output::text;
use anyhow::{Context, Result};
use nc3z_aggregate::shadow::{Kind, Shadow, described};
use rayon::prelude::*;

/// Lists the files of a shadow. No other file is opened.
pub(super) fn list(shadow: &Shadow) -> Result<Vec<Entry>> {
    let mut entries = Vec::with_capacity(shadow.len());
    for block in shadow.blocks() {
        let (names, heads, headers) = (block.names()?, block.heads()?, block.headers()?);
        let files: Vec<_> = names.into_iter().zip(heads).zip(block.coordinates()?).collect();
        entries.par_extend(files.into_par_iter().map(|((name, (head, number)), known)| {
            let found = || -> Result<Found> {
                let header = headers.get(number).context("the shadow does not have the header")?;
                let bytes = if head.kind == Kind::Packed { head.len } else { head.stored };
                let mut found = describe(&described(&head, header, known)?, bytes)?;
                found.original = head.len;
                if head.kind != Kind::Packed {
                    found.kind = head.kind.name();
                }
                Ok(found)
            };
            Entry { name: text::safe(&name), found: found() }
        }));
    }
    Ok(entries)
}
