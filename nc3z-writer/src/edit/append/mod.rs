//! Records of another file behind those there are: the new month.

mod check;
mod coordinate;
mod place;
mod rebase;

use super::{BAND_LEN, Edit, refuse};
use crate::error::{ErrorKind, Result};
use nc3z_format::Hyperslab;
use nc3z_format::classic::Dimension;
use nc3z_reader::{Dataset, Monitor, Variable};
use place::{Place, Run};
use rebase::Rebase;

/// What becomes of records whose record coordinate does not continue that of the archive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Overlap {
    /// They are an error, unless the archive has exactly these records.
    #[default]
    Refuse,
    /// They are written over the archive's records of the same coordinate.
    Replace,
    /// They are appended all the same.
    Allow,
}

/// What is allowed to differ between the archive and the file whose records are appended.
#[derive(Debug, Clone, Copy, Default)]
pub struct AppendPolicy {
    /// Variables without records, which stay as they are.
    pub keep_fixed: bool,
    /// Attributes that say what numbers mean, of record variables.
    pub any_units: bool,
    /// Records whose record coordinate does not continue that of the archive.
    pub overlap: Overlap,
}

/// What an append did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Appended {
    /// Records behind those there were.
    pub appended: u64,
    /// Records written over others of the same coordinate.
    pub replaced: u64,
    /// Records that the archive has already, values and all: nothing was staged for them.
    pub known: u64,
}

/// A record variable of the archive and what the new file has of it.
struct Column {
    name: String,
    /// Its number in the edited header.
    at: usize,
    new: Variable,
    /// Of times that count from another date, or in another unit.
    rebase: Option<Rebase>,
}

impl Column {
    /// Records of the new file as the archive has them: big-endian, from `first` on.
    fn read(&self, first: u64, count: u64) -> Result<Vec<u8>> {
        let mut bytes = self.new.read_bytes(&self.records(first, count))?;
        if let Some(rebase) = &self.rebase {
            rebase.apply(&self.name, &mut bytes)?;
        }
        Ok(bytes)
    }

    /// The hyperslab of records.
    fn records(&self, first: u64, count: u64) -> Hyperslab {
        let mut slab = self.new.all();
        (slab.start[0], slab.count[0]) = (first, count);
        slab
    }

    /// Records that are copied or compared at a time; 0 where a record has no elements.
    fn step(&self) -> u64 {
        let row: u64 = self.new.shape()[1..].iter().product::<u64>() * self.new.ty().size() as u64;
        BAND_LEN.checked_div(row).map_or(0, |records| records.max(1))
    }
}

impl Edit {
    /// Appends the records of another file: each record variable must be in it, of the same type and the same other dimensions. Variables without records must be equal, and so
    /// must attributes such as `units` and `scale_factor`, but that times may count from another date: they are written in the archive's units, where that is exact. The record
    /// coordinate must continue that of the archive. The policy can allow otherwise.
    ///
    /// # Errors
    /// What does not fit, with what would have to change; damage. Nothing is staged then but what came before it.
    pub fn append_records(
        &mut self,
        more: &Dataset,
        policy: AppendPolicy,
        monitor: &dyn Monitor,
    ) -> Result<Appended> {
        let Some(record) = self.header.dimensions.iter().position(Dimension::is_record) else {
            return refuse(
                "append",
                "the file has no record dimension, and nothing can be appended to others".to_owned(),
            );
        };
        let name = self.header.dimensions[record].name_lossy().into_owned();
        let columns = self.columns(more, policy, monitor)?;
        let Some(count) = columns.first().map(|column| column.new.shape()[0]) else {
            return refuse("append", format!("no variable has the record dimension `{name}`"));
        };
        let runs = match self.place_records(&name, &columns, count, policy.overlap, monitor)? {
            Place::Known => return Ok(Appended { known: count, ..Appended::default() }),
            Place::At(runs) => runs,
        };
        // What cannot be rebased is found before anything is staged.
        for column in columns.iter().filter(|column| column.rebase.is_some()) {
            let step = column.step().max(1);
            for first in (0..count).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
                column.read(first, step.min(count - first))?;
            }
        }
        let before = self.numrecs;
        let Some(end) =
            runs.iter().map(|run| run.to.checked_add(run.count)).try_fold(before, |a, b| Some(a.max(b?)))
        else {
            return refuse("append", "too many records".to_owned());
        };
        self.resize_dimension(&name, end)?;
        for column in &columns {
            runs.iter().try_for_each(|run| self.copy_records(column, *run, monitor))?;
        }
        let appended = end - before;
        Ok(Appended { appended, replaced: count - appended, known: 0 })
    }

    fn copy_records(&mut self, column: &Column, run: Run, monitor: &dyn Monitor) -> Result<()> {
        let step = column.step();
        let mut done = 0;
        while done < run.count && step > 0 {
            if monitor.is_cancelled() {
                return Err(ErrorKind::Interrupted.into());
            }
            let count = step.min(run.count - done);
            let bytes = column.read(run.from + done, count)?;
            self.set(&column.name, &column.records(run.to + done, count), &bytes)?;
            monitor.advance(bytes.len() as u64);
            done += count;
        }
        Ok(())
    }
}
