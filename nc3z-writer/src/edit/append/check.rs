//! What the new file must have in common with the archive before its records can be appended.

use super::{AppendPolicy, BAND_LEN, Column, Edit, refuse};
use crate::edit::Picks;
use crate::error::Result;
use nc3z_format::classic::{Attribute, Variable as HeaderVariable};
use nc3z_format::{NcType, runs};
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
/// Those among them that are words: zero bytes and blanks at their ends mean nothing.
const WORDS: [&str; 3] = ["units", "calendar", "_Unsigned"];

impl Edit {
    /// The record variables of both files, once everything else is known to fit.
    pub(super) fn columns(
        &mut self,
        more: &Dataset,
        policy: AppendPolicy,
        monitor: &dyn Monitor,
    ) -> Result<Vec<Column>> {
        let mut columns: Vec<Column> = Vec::new();
        for at in 0..self.header.variables.len() {
            let variable = &self.header.variables[at];
            let name = variable.name_lossy().into_owned();
            let Some((id, _)) = more.header().variable(&variable.name) else {
                if self.header.is_record(variable) {
                    return refuse(
                        "append",
                        format!("variable `{name}` has records, and the new file does not have it"),
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
            self.check_lengths(at, &new, columns.first())?;
            if !policy.any_units {
                check_meaning(&name, variable, &new)?;
            }
            columns.push(Column { name, at, new });
        }
        let known = |v: &HeaderVariable| self.header.variable(&v.name).is_some();
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
        Ok(columns)
    }

    /// The type and the lengths of a record variable are those of the archive, and it has as many records as others.
    fn check_lengths(&self, at: usize, new: &Variable, first: Option<&Column>) -> Result<()> {
        let variable = &self.header.variables[at];
        let words = variable.name_lossy();
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
        match first.map(|column| column.new.shape()[0]) {
            Some(count) if count != is[0] => refuse(
                "append",
                format!("variable `{words}` has {} records in the new file, others {count}", is[0]),
            ),
            _ => Ok(()),
        }
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
                    same = same && self.cells(at)?.get(&Picks::from(&slab))? == new.read_bytes(&slab)?;
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

/// The attributes that say what numbers mean are the same.
fn check_meaning(name: &str, variable: &HeaderVariable, new: &Variable) -> Result<()> {
    for attribute in MEANING {
        let (a, b) = (variable.attribute(attribute.as_bytes()), new.attribute(attribute));
        let meaning = |a: &Attribute| (a.ty, meaning(attribute, a).to_vec());
        if a.map(meaning) != b.map(meaning) {
            return refuse(
                "append",
                format!(
                    "attribute `{name}:{attribute}` is not the same in the new file: its numbers mean something else"
                ),
            );
        }
    }
    Ok(())
}

/// An attribute's value, without what means nothing at its end.
fn meaning<'a>(name: &str, attribute: &'a Attribute) -> &'a [u8] {
    let values = &attribute.values[..];
    if attribute.ty != NcType::Char || !WORDS.contains(&name) {
        return values;
    }
    let end = values.iter().rposition(|b| *b != 0 && !b.is_ascii_whitespace()).map_or(0, |at| at + 1);
    &values[..end]
}
