//! Checks that a new file fits the archive, before its records are appended.

use super::AppendPolicy;
use super::column::Column;
use super::rebase::Rebase;
use super::units::text;
use crate::edit::{BAND_LEN, Edit, refuse};
use crate::error::Result;
use nc3z_format::NcType;
use nc3z_format::classic::{Attribute, Variable as HeaderVariable};
use nc3z_format::decode_value::numbers;
use nc3z_format::selection::{self, AnySelection};
use nc3z_format::units::{Calendar, TimeUnit};
use nc3z_reader::{Dataset, Monitor, Variable, diff};

/// Attributes that define the meaning of stored numbers. If they differ, the numbers of two files cannot be in
/// one variable.
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
/// Attributes whose values are words: zero bytes and blanks at their ends are ignored.
const WORDS: [&str; 3] = ["units", "calendar", "_Unsigned"];

impl Edit {
    /// Returns the record variables of both files, after checking that everything else fits.
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
                        format!("variable `{name}` has records, but the new file does not have it"),
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
            let rebase = Rebase::new(variable, &new).filter(|_| !policy.any_units);
            if !policy.any_units {
                check_meaning(&name, variable, &new, rebase.is_some())?;
            }
            let rebase = rebase.filter(|rebase| !rebase.changes_nothing());
            columns.push(Column { name, at, new, rebase });
        }
        self.rebase_bounds(&mut columns)?;
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

    /// Rebases bounds with the units of their variable.
    fn rebase_bounds(&self, columns: &mut [Column]) -> Result<()> {
        for n in 0..columns.len() {
            let Some(rebase) = columns[n].rebase.clone() else { continue };
            let variable = &self.header.variables[columns[n].at];
            let attributes = ["bounds", "climatology"].map(|name| variable.attribute(name.as_bytes()));
            let names: Vec<String> = attributes.into_iter().flatten().map(|a| text(&a.values)).collect();
            for bounds in columns.iter_mut().filter(|c| c.rebase.is_none() && names.contains(&c.name)) {
                bounds.rebase = Some(rebase.of_bounds(&bounds.name, &self.header.variables[bounds.at])?);
            }
        }
        Ok(())
    }

    /// Checks that a record variable has the archive's type and lengths, and as many records as the others.
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

    /// Checks that a variable without records is unchanged.
    fn check_fixed(&mut self, at: usize, new: &Variable, monitor: &dyn Monitor) -> Result<()> {
        let words = self.header.variables[at].name_lossy().into_owned();
        let why = "differs in the new file; it has no records, and would stay as it is";
        let (dataset, shape) = (Dataset::from(self.place.archive().clone()), self.shape(at));
        let mut same = self.header.variables[at].ty == new.ty() && shape == new.shape();
        // Variables without edits are compared by their tiles.
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
                    selection::boxes(&shape, first, end).collect()
                };
                for slab in all {
                    same =
                        same && self.cells(at)?.get(&AnySelection::from(&slab))? == new.read_bytes(&slab)?;
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

/// Checks that the attributes which define the meaning of numbers are equal, except for units of rebased times.
fn check_meaning(name: &str, variable: &HeaderVariable, new: &Variable, is_rebased: bool) -> Result<()> {
    check_calendars(name, variable, new)?;
    for attribute in MEANING {
        if is_rebased && ["units", "calendar"].contains(&attribute) {
            continue;
        }
        let (a, b) = (variable.attribute(attribute.as_bytes()), new.attribute(attribute));
        let meaning = |a: &Attribute| (a.ty, meaning(attribute, a).to_vec());
        if a.map(meaning) != b.map(meaning) {
            let (a, b) = (value_words(a), value_words(b));
            return refuse(
                "append",
                format!(
                    "attribute `{name}:{attribute}` is not the same in the new file, {b} instead of {a}: its numbers mean something else"
                ),
            );
        }
    }
    Ok(())
}

/// Checks that two times since a date have the same calendar. Their units can be converted; dates of different calendars cannot.
fn check_calendars(name: &str, variable: &HeaderVariable, new: &Variable) -> Result<()> {
    let words = |a: Option<&Attribute>| a.filter(|a| a.ty == NcType::Char).map(|a| text(&a.values));
    let is_time = |units: Option<&Attribute>| words(units).is_some_and(|units| TimeUnit::is_time(&units));
    let calendars = [words(variable.attribute(b"calendar")), words(new.attribute("calendar"))];
    let [a, b] = calendars.each_ref().map(Option::as_deref);
    if is_time(variable.attribute(b"units")) && is_time(new.attribute("units")) && !Calendar::same(a, b) {
        let (a, b) = (a.unwrap_or("standard"), b.unwrap_or("standard"));
        return refuse(
            "append",
            format!(
                "attribute `{name}:calendar` is not the same in the new file: the calendars are {b} and {a}, in which dates differ"
            ),
        );
    }
    Ok(())
}

/// An attribute's value in messages.
fn value_words(attribute: Option<&Attribute>) -> String {
    const MOST: usize = 4;
    match attribute {
        None => "missing".to_owned(),
        Some(a) if a.ty == NcType::Char => format!("\"{}\"", text(&a.values)),
        Some(a) => {
            let all = numbers(a).take(MOST).map(|n| n.real().to_string()).collect::<Vec<_>>().join(", ");
            let more = if a.count() > MOST { ", ..." } else { "" };
            format!("{all}{more} ({})", a.ty)
        }
    }
}

/// Returns an attribute's value, without ignored bytes at its end.
fn meaning<'a>(name: &str, attribute: &'a Attribute) -> &'a [u8] {
    let values = &attribute.values[..];
    if attribute.ty != NcType::Char || !WORDS.contains(&name) {
        return values;
    }
    let end = values.iter().rposition(|b| *b != 0 && !b.is_ascii_whitespace()).map_or(0, |at| at + 1);
    &values[..end]
}
