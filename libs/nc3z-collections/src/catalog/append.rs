//! Adds files to a catalogue: a commit that lengthens its dimensions. Blocks that are there stay as they are.

use super::member::{Head, Member};
use super::read::Catalog;
use super::spool::failed;
use super::table::{Axis, Column, DIGEST, Lengths, attributes};
use super::write::{NewRows, bundle_options};
use crate::error::Result;
use crate::pack::of_writer;
use nc3z_format::Hyperslab;
use nc3z_reader::source::SharedSource;
use nc3z_reader::{Archive, Dataset, Monitor};
use nc3z_writer::edit::Edit;
use nc3z_writer::{CommitNote, CommitReport, WriterOptions};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// A catalogue on disk to which files are added. Other processes can read it, and cannot change it.
pub struct Appender {
    edit: Edit,
    catalog: Arc<Catalog>,
    rows: NewRows,
}

impl Appender {
    /// Opens the catalogue at `path`.
    ///
    /// # Errors
    /// It is not a catalogue, it is damaged, or another process changes it.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, &WriterOptions::default())
    }

    /// Opens the bundle at `path`.
    pub(crate) fn of_bundle(path: &Path) -> Result<Self> {
        Self::open_with(path, &bundle_options(None))
    }

    fn open_with(path: &Path, options: &WriterOptions) -> Result<Self> {
        // The tiles that do not change are neither read nor proved.
        let edit = Edit::open(path, options).map_err(of_writer)?.with_digest(false);
        let catalog = Arc::new(Catalog::from_dataset(Dataset::from(edit.archive().clone()))?);
        let rows = NewRows::after(&catalog);
        Ok(Appender { edit, catalog, rows })
    }

    /// Returns the catalogue as it was opened.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Returns what the catalogue has of the files with these names.
    ///
    /// # Errors
    /// Damage.
    pub fn known(&self, names: &[&str]) -> Result<HashMap<String, Head>> {
        let wanted: HashMap<&[u8], &str> = names.iter().map(|name| (name.as_bytes(), *name)).collect();
        let mut known = HashMap::new();
        for block in self.catalog.blocks() {
            // Most blocks have none of them: a name becomes a string only if it is wanted.
            let here = block.names_as_stored()?;
            let here = here.iter().map(|name| wanted.get(&name[..]).copied()).collect::<Vec<_>>();
            if here.iter().all(Option::is_none) {
                continue;
            }
            let heads = block.heads()?.into_iter().map(|(head, _)| head);
            known.extend(
                here.into_iter().zip(heads).filter_map(|(name, head)| Some((name?.to_owned(), head))),
            );
        }
        Ok(known)
    }

    /// Adds a file.
    ///
    /// # Errors
    /// A name that is too long; errors of temporary files.
    pub fn push(&mut self, member: Member) -> Result<()> {
        self.rows.push(member)
    }

    /// Commits the files as a new version. The time depends on their number, not on that of the files that are there.
    ///
    /// # Errors
    /// The catalogue would be too large, or it cannot be written. Then it is unchanged.
    pub fn commit(self, note: &CommitNote, monitor: &dyn Monitor) -> Result<CommitReport> {
        self.commit_with(None, note, monitor)
    }

    /// The archive that is edited.
    pub(crate) fn archive(&self) -> &Archive {
        self.edit.archive()
    }

    /// Commits the files of a bundle, whose bytes `content` has.
    pub(crate) fn commit_with(
        self,
        content: Option<SharedSource>,
        note: &CommitNote,
        monitor: &dyn Monitor,
    ) -> Result<CommitReport> {
        let Appender { mut edit, catalog, rows } = self;
        let (mut columns, order) = rows.finish()?;
        if let Some(content) = content.filter(|content| !content.is_empty()) {
            columns.put_source(Column::Content, content);
        }
        let (columns, added) = columns.into_columns(&|axis| order.of(axis))?;
        let before = *catalog.lengths();
        let lengths = lengthen(&mut edit, &before, &added)?;
        // New tiles make it longer: what passes here is not refused later.
        lengths.check(edit.archive().stored_len()).map_err(failed)?;
        for rows in columns {
            let spec = rows.column.spec();
            let mut at = before[spec.axis];
            if at == 0 {
                let second = (rows.column == Column::Sha256).then_some(DIGEST.0);
                let dimensions: Vec<&str> = std::iter::once(spec.axis.name()).chain(second).collect();
                edit.add_variable(spec.name, spec.ty, &dimensions).map_err(of_writer)?;
                for attribute in attributes(&spec) {
                    let name = attribute.name_lossy();
                    edit.set_attribute(Some(spec.name), &name, attribute.ty, &attribute.values)
                        .map_err(of_writer)?;
                }
            }
            if rows.column == Column::Content {
                edit.set_from(spec.name, at, rows.source().clone()).map_err(of_writer)?;
                continue;
            }
            rows.each(&mut |count, bytes| {
                let mut slab = (vec![at], vec![count]);
                if rows.column == Column::Sha256 {
                    slab.0.push(0);
                    slab.1.push(DIGEST.1);
                }
                let stride = vec![1; slab.0.len()];
                let slab = Hyperslab::new(slab.0, slab.1, stride)?;
                at += count;
                edit.set(spec.name, &slab, bytes).map_err(of_writer)
            })?;
        }
        edit.commit(note, monitor).map_err(of_writer)
    }
}

/// Makes room for new rows. Returns the new lengths.
fn lengthen(edit: &mut Edit, before: &Lengths, added: &Lengths) -> Result<Lengths> {
    let mut lengths = *before;
    for axis in Axis::ALL.into_iter().filter(|axis| added[*axis] > 0) {
        let len = before[axis].checked_add(added[axis]);
        lengths[axis] = len.ok_or_else(|| failed("it has too many rows"))?;
        let done = if before[axis] == 0 {
            edit.add_dimension(axis.name(), lengths[axis])
        } else {
            edit.resize_dimension(axis.name(), lengths[axis])
        };
        done.map_err(of_writer)?;
    }
    Ok(lengths)
}
