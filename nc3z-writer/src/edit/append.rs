//! Records of another file behind those there are: the new month.

use super::{BAND_LEN, Edit, refuse};
use crate::error::{ErrorKind, Result};
use nc3z_format::classic::Dimension;
use nc3z_format::{Hyperslab, runs};
use nc3z_reader::{Dataset, Monitor, Variable, diff};

/// Attributes that say what the stored numbers mean: where they differ, the numbers of two files do not go into one variable.
const MEANING: [&str; 9] = [
    "units",
    "calendar",
    "scale_factor",
    "add_offset",
    "_FillValue",
    "missing_value",
    "_Unsigned",
    "flag_values",
    "flag_masks",
];

/// What is allowed to differ between the archive and the file whose records are appended.
#[derive(Debug, Clone, Copy, Default)]
pub struct AppendPolicy {
    /// Variables without records, which stay as they are.
    pub keep_fixed: bool,
    /// Attributes that say what numbers mean, of record variables.
    pub any_units: bool,
}

impl Edit {
    /// Appends the records of another file: each record variable must be in it, of the same type and the same other dimensions. Variables without records must be equal, and so
    /// must attributes such as `units` and `scale_factor`, unless the policy allows otherwise. Gives the number of records appended.
    ///
    /// # Errors
    /// What does not fit, with what would have to change; damage. Nothing is staged then but what came before it.
    pub fn append_records(
        &mut self,
        more: &Dataset,
        policy: AppendPolicy,
        monitor: &dyn Monitor,
    ) -> Result<u64> {
        let Some(record) = self.header.dimensions.iter().position(Dimension::is_record) else {
            return refuse(
                "append",
                "the file has no record dimension, and nothing can be appended to others".to_owned(),
            );
        };
        let name = self.header.dimensions[record].name_lossy().into_owned();
        let mut count = None;
        let mut columns: Vec<(String, Variable)> = Vec::new();
        for at in 0..self.header.variables.len() {
            let variable = &self.header.variables[at];
            let words = variable.name_lossy().into_owned();
            let Some((id, _)) = more.header().variable(&variable.name) else {
                if self.header.is_record(variable) {
                    return refuse(
                        "append",
                        format!("variable `{words}` has records, and the new file does not have it"),
                    );
                }
                continue;
            };
            let new = more.variable_at(id).expect("found in its header");
            if !self.header.is_record(variable) {
                if !policy.keep_fixed {
                    self.check_fixed(at, &new, monitor)?;
                }
                continue;
            }
            if new.ty() != variable.ty {
                return refuse(
                    "append",
                    format!(
                        "variable `{words}` is of type {}, and of type {} in the new file",
                        variable.ty,
                        new.ty()
                    ),
                );
            }
            let (is, was) = (new.shape(), self.shape(at));
            if is.len() != was.len() || is.get(1..) != was.get(1..) {
                return refuse(
                    "append",
                    format!(
                        "variable `{words}` has the lengths {was:?}, and {is:?} in the new file: all but the first must be equal"
                    ),
                );
            }
            if !policy.any_units {
                for attribute in MEANING {
                    let (a, b) = (variable.attribute(attribute.as_bytes()), new.attribute(attribute));
                    if a.map(|a| (a.ty, &a.values)) != b.map(|b| (b.ty, &b.values)) {
                        return refuse(
                            "append",
                            format!(
                                "attribute `{words}:{attribute}` is not the same in the new file: its numbers mean something else"
                            ),
                        );
                    }
                }
            }
            if *count.get_or_insert(is[0]) != is[0] {
                return refuse(
                    "append",
                    format!(
                        "variable `{words}` has {} records in the new file, others {}",
                        is[0],
                        count.unwrap_or(0)
                    ),
                );
            }
            columns.push((words, new));
        }
        let known = |v: &nc3z_format::classic::Variable| self.header.variable(&v.name).is_some();
        if let Some(other) = more.header().variables.iter().find(|v| more.header().is_record(v) && !known(v))
        {
            let words = other.name_lossy();
            return refuse(
                "append",
                format!(
                    "the new file has a record variable `{words}` that the archive does not have: add it first, or take it out"
                ),
            );
        }
        let Some(count) = count else {
            return refuse("append", format!("no variable has the record dimension `{name}`"));
        };
        let first = self.numrecs;
        let Some(all) = first.checked_add(count) else {
            return refuse("append", "too many records".to_owned());
        };
        self.resize_dimension(&name, all)?;
        for (words, new) in columns {
            self.copy_records(&words, &new, first, monitor)?;
        }
        Ok(count)
    }

    fn copy_records(&mut self, name: &str, new: &Variable, first: u64, monitor: &dyn Monitor) -> Result<()> {
        let mut all = new.all();
        let row: u64 = all.count[1..].iter().product::<u64>() * new.ty().size() as u64;
        let records = all.count[0];
        let step = BAND_LEN.checked_div(row).unwrap_or(records).max(1);
        let mut done = 0;
        while done < records && row > 0 {
            if monitor.is_cancelled() {
                return Err(ErrorKind::Interrupted.into());
            }
            (all.start[0], all.count[0]) = (done, step.min(records - done));
            let bytes = new.read_bytes(&all)?;
            let to = Hyperslab { start: [&[first + done], &all.start[1..]].concat(), ..all.clone() };
            self.set(name, &to, &bytes)?;
            monitor.advance(bytes.len() as u64);
            done += all.count[0];
        }
        Ok(())
    }

    /// A variable without records must be what it is.
    fn check_fixed(&mut self, at: usize, new: &Variable, monitor: &dyn Monitor) -> Result<()> {
        let words = self.header.variables[at].name_lossy().into_owned();
        let why = "differs in the new file; it has no records, and would stay as it is";
        let (dataset, shape) = (Dataset::from(self.place.archive().clone()), self.shape(at));
        let mut same = self.header.variables[at].ty == new.ty() && shape == new.shape();
        // What nobody touched is compared by its tiles.
        let untouched = self.variables[at].origin.filter(|_| self.variables[at].cells.is_none());
        if let Some(old) = untouched.and_then(|v| dataset.variable_at(v)).filter(|old| old.shape() == shape) {
            same = same && diff::is_same(&old, new, monitor)?;
        } else if same && !new.all().count.contains(&0) {
            let total: u64 = shape.iter().product();
            let band = BAND_LEN / new.ty().size() as u64;
            let mut first = 0;
            while same && first < total {
                let end = total.min(first + band);
                let all = if shape.is_empty() {
                    vec![new.all()]
                } else {
                    runs::boxes(&shape, first, end).collect()
                };
                for slab in all {
                    same = same && self.cells(at)?.get(&slab)? == new.read_bytes(&slab)?;
                }
                first = end;
            }
        }
        if !same {
            return refuse("append", format!("variable `{words}` {why}"));
        }
        Ok(())
    }
}
