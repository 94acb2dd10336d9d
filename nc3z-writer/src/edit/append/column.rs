//! A record variable in the archive and in the file whose records are appended.

use super::rebase::Rebase;
use crate::edit::BAND_LEN;
use crate::error::{ErrorKind, Result};
use nc3z_format::Hyperslab;
use nc3z_reader::Variable;

/// A record variable of the archive with its counterpart in the new file.
pub(super) struct Column {
    pub(super) name: String,
    /// Its position in the edited header.
    pub(super) at: usize,
    pub(super) new: Variable,
    /// The conversion of times with another reference date or unit.
    pub(super) rebase: Option<Rebase>,
}

impl Column {
    /// Reads records of the new file, from `first` on, and converts them to the archive's form: big-endian,
    /// rebased.
    pub(super) fn read(&self, first: u64, count: u64) -> Result<Vec<u8>> {
        let mut bytes = self.new.read_bytes(&self.records(first, count)).map_err(ErrorKind::Source)?;
        if let Some(rebase) = &self.rebase {
            rebase.apply(&self.name, &mut bytes)?;
        }
        Ok(bytes)
    }

    pub(super) fn records(&self, first: u64, count: u64) -> Hyperslab {
        let mut slab = self.new.all();
        (slab.start[0], slab.count[0]) = (first, count);
        slab
    }

    /// Returns the number of records that are copied or compared at a time; 0 if a record has no elements.
    pub(super) fn step(&self) -> u64 {
        let row: u64 = self.new.shape()[1..].iter().product::<u64>() * self.new.ty().size() as u64;
        BAND_LEN.checked_div(row).map_or(0, |records| records.max(1))
    }
}
