//! Appends records of another file, for example the next month.

mod check;
mod column;
mod coordinate;
mod position;
mod rebase;
mod units;

use super::{Edit, refuse};
use crate::error::{ErrorKind, Result};
use column::Column;
use nc3z_format::classic::Dimension;
use nc3z_reader::{Dataset, Monitor};
use position::{Position, Run};

/// The treatment of records whose record coordinate does not continue the archive's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Overlap {
    /// They are an error, unless the archive has exactly these records.
    #[default]
    Refuse,
    /// They are written over the archive's records of the same coordinate.
    Replace,
    /// They are appended nevertheless.
    Allow,
}

/// The differences that are allowed between the archive and the file whose records are appended.
#[derive(Debug, Clone, Copy, Default)]
pub struct AppendPolicy {
    /// Variables without records may differ; they keep the archive's values.
    pub keep_fixed: bool,
    /// Attributes that define the meaning of record variables' numbers may differ.
    pub any_units: bool,
    /// The treatment of records whose record coordinate does not continue the archive's.
    pub overlap: Overlap,
}

/// The result of an append.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Appended {
    /// Records appended after the existing ones.
    pub appended: u64,
    /// Records written over others of the same coordinate.
    pub replaced: u64,
    /// Records that the archive already has with the same values; they were not staged.
    pub known: u64,
    /// True if no record coordinate orders the records, so that the archive may have them already, and
    /// the policy does not allow that.
    pub unordered: bool,
}

impl Edit {
    /// Appends the records of another file. Each record variable must be in it, with the same type and the same
    /// other dimensions. Variables without records must be equal, and so must attributes such as `units` and
    /// `scale_factor`. Times may count from another date: they are converted to the archive's units, if that is
    /// exact. The record coordinate must continue the archive's. The policy can relax these rules.
    ///
    /// # Errors
    /// The files do not fit, with the changes that would be needed, or data are damaged. Then this append has
    /// staged nothing.
    pub fn append_records(
        &mut self,
        more: &Dataset,
        policy: AppendPolicy,
        monitor: &dyn Monitor,
    ) -> Result<Appended> {
        let Some(record) = self.header.dimensions.iter().position(Dimension::is_record) else {
            return refuse(
                "append",
                "the archive has no record dimension, along which records could be appended".to_owned(),
            );
        };
        let name = self.header.dimensions[record].name_lossy().into_owned();
        let columns = self.columns(more, policy, monitor)?;
        let Some(count) = columns.first().map(|column| column.new.shape()[0]) else {
            return refuse("append", format!("no variable has the record dimension `{name}`"));
        };
        let (runs, unordered) =
            match self.position_records(&name, &columns, count, policy.overlap, monitor)? {
                Position::Known => return Ok(Appended { known: count, ..Appended::default() }),
                Position::At(runs) => (runs, false),
                Position::Unordered(run) => (vec![run], policy.overlap != Overlap::Allow),
            };
        let (before, was_touched) = (self.numrecs, self.touched);
        // Times that cannot be rebased must be found before anything is staged. So must damage, if records are replaced.
        let replaces = runs.iter().any(|run| run.to < before);
        for column in columns.iter().filter(|column| column.rebase.is_some() || replaces) {
            let step = column.step().max(1);
            for first in (0..count).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
                column.read(first, step.min(count - first))?;
            }
        }
        let Some(end) =
            runs.iter().map(|run| run.to.checked_add(run.count)).try_fold(before, |a, b| Some(a.max(b?)))
        else {
            return refuse("append", "too many records".to_owned());
        };
        self.resize_dimension(&name, end)?;
        let mut copied = columns
            .iter()
            .try_for_each(|column| runs.iter().try_for_each(|run| self.copy_records(column, *run, monitor)));
        copied = copied.and_then(|()| Ok(more.check_unchanged().map_err(ErrorKind::Source)?));
        if let Err(e) = copied {
            // Nothing is left of records that could not be copied.
            self.resize_dimension(&name, before)?;
            self.touched = was_touched || replaces;
            return Err(e);
        }
        let appended = end - before;
        Ok(Appended { appended, replaced: count - appended, known: 0, unordered })
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
