//! Finds the position of new records: after the archive's, over some of them, or none because the archive
//! already has them.

use super::Overlap;
use super::column::Column;
use super::coordinate::{Coordinate, Direction};
use crate::edit::{Edit, refuse, refuse_records};
use crate::error::{Advice, ErrorKind, Result};
use nc3z_format::decode_value::Number;
use nc3z_format::selection::AnySelection;
use nc3z_reader::Monitor;

/// Consecutive records of a new file, and the archive's records that they become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) count: u64,
}

/// The positions of a new file's records.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// The archive already has them with the same values.
    Known,
    At(Vec<Run>),
    /// After all others, because no coordinate orders the records.
    Unordered(Run),
}

/// The record coordinates of both files.
struct Both {
    old: Vec<Option<Number>>,
    new: Vec<Option<Number>>,
    direction: Direction,
}

impl Edit {
    /// Returns the positions of `count` new records, by the record coordinate; after all others if there is no
    /// coordinate.
    pub(super) fn position_records(
        &mut self,
        dimension: &str,
        columns: &[Column],
        count: u64,
        overlap: Overlap,
        monitor: &dyn Monitor,
    ) -> Result<Position> {
        let last = Run { from: 0, to: self.numrecs, count };
        let behind = Position::At(vec![last]);
        let found = Coordinate::find(self, dimension, columns);
        // Of texts, those that are not times order nothing.
        let found = match found {
            Some(found) if count > 0 && found.of_file(0, 1)? == [None] && found.is_words() => None,
            found => found,
        };
        let Some(coordinate) = found else {
            let known = overlap != Overlap::Allow && self.ends_with(columns, count, monitor)?;
            return Ok(if known { Position::Known } else { Position::Unordered(last) });
        };
        if overlap == Overlap::Allow || self.continues(&coordinate, count)? {
            return Ok(behind);
        }
        let both = self.load(&coordinate, count)?;
        if let Some(first) = both.equal_run() {
            match self.first_difference(columns, first, count, monitor)? {
                None => return Ok(Position::Known),
                Some(name) if overlap == Overlap::Refuse => {
                    let (from, to) = (both.old[first], both.old[first + both.new.len() - 1]);
                    let shown = |n: Option<Number>| n.map_or_else(String::new, |n| coordinate.show(n));
                    return refuse_records(
                        format!(
                            "the archive has records of `{}` from {} to {} already, with other values of `{name}`",
                            coordinate.column.name,
                            shown(from),
                            shown(to),
                        ),
                        Advice::ReplaceOrAllowOverlap,
                    );
                }
                Some(_) => {}
            }
        }
        if overlap == Overlap::Refuse {
            return both.refuse(&coordinate);
        }
        both.over(&coordinate).map(Position::At)
    }

    /// True if the archive's last records have the values of the new ones, in all variables.
    fn ends_with(&mut self, columns: &[Column], count: u64, monitor: &dyn Monitor) -> Result<bool> {
        let first = self.numrecs.checked_sub(count).and_then(|first| usize::try_from(first).ok());
        let Some(first) = first.filter(|_| count > 0 && columns.iter().any(|column| column.step() > 0))
        else {
            return Ok(false);
        };
        Ok(self.first_difference(columns, first, count, monitor)?.is_none())
    }

    /// True if the new values all continue the archive's last one in order. Missing values are ignored.
    fn continues(&mut self, coordinate: &Coordinate<'_>, count: u64) -> Result<bool> {
        let step = coordinate.column.step().max(1);
        let old = coordinate.of_archive(self, self.numrecs.saturating_sub(step), step.min(self.numrecs))?;
        let mut last: Vec<Number> = old.into_iter().rev().flatten().take(2).collect();
        let mut direction = match last[..] {
            [end, before, ..] => Direction::new(before, end),
            _ => None,
        };
        last.truncate(1);
        let mut before = last.pop();
        let alone = direction.is_none();
        let mut first = 0;
        while first < count {
            let values = coordinate.of_file(first, step.min(count - first))?;
            first += values.len() as u64;
            let values: Vec<Number> = values.into_iter().flatten().collect();
            if alone && direction.is_none() {
                // A single record has no direction. The new records then give the direction, if they have one; otherwise it
                // is ascending.
                direction = match values[..] {
                    [a, b, ..] => Direction::new(a, b),
                    _ => None,
                };
            }
            for value in values {
                if let Some(before) = before
                    && Direction::new(before, value) != Some(direction.unwrap_or(Direction::Up))
                {
                    return Ok(false);
                }
                before = Some(value);
            }
        }
        Ok(true)
    }

    /// Reads all values of both coordinates.
    fn load(&mut self, coordinate: &Coordinate<'_>, count: u64) -> Result<Both> {
        let all = self.numrecs.saturating_add(count).saturating_mul(size_of::<Option<Number>>() as u64);
        if all > self.budget() {
            return refuse_records(
                format!(
                    "`{}` does not continue the archive's, and comparing {} values takes {all} bytes of memory",
                    coordinate.column.name,
                    self.numrecs.saturating_add(count)
                ),
                Advice::MoreMemory,
            );
        }
        let step = coordinate.column.step().max(1);
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for first in (0..self.numrecs).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
            old.extend(coordinate.of_archive(self, first, step.min(self.numrecs - first))?);
        }
        for first in (0..count).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
            new.extend(coordinate.of_file(first, step.min(count - first))?);
        }
        let direction = direction(&old).or_else(|| direction(&new)).unwrap_or(Direction::Up);
        Ok(Both { old, new, direction })
    }

    /// Returns the first variable whose new values differ from the archive's records from `at` on.
    fn first_difference(
        &mut self,
        columns: &[Column],
        at: usize,
        count: u64,
        monitor: &dyn Monitor,
    ) -> Result<Option<String>> {
        for column in columns {
            let step = column.step();
            let mut done = 0;
            while done < count && step > 0 {
                if monitor.is_cancelled() {
                    return Err(ErrorKind::Interrupted.into());
                }
                let n = step.min(count - done);
                let old =
                    self.cells(column.at)?.get(&AnySelection::from(&column.records(at as u64 + done, n)))?;
                if old != column.read(done, n)? {
                    return Ok(Some(column.name.clone()));
                }
                done += n;
            }
        }
        Ok(None)
    }
}

/// Returns the direction of the last two values.
fn direction(values: &[Option<Number>]) -> Option<Direction> {
    let mut last = values.iter().rev().flatten();
    let (end, before) = (last.next()?, last.next()?);
    Direction::new(*before, *end)
}

impl Both {
    /// Returns the position of the new values as consecutive values in the archive: at its end, or where the
    /// first is found.
    fn equal_run(&self) -> Option<usize> {
        let count = self.new.len();
        let is_equal = |at: usize| self.old.get(at..at + count).is_some_and(|old| old == self.new);
        let end = self.old.len().checked_sub(count)?;
        let found = self.old.iter().position(|value| *value == self.new[0]);
        [Some(end), found].into_iter().flatten().find(|&at| count > 0 && is_equal(at))
    }

    /// True if no value is missing and the values are in order.
    fn is_ordered(&self, values: &[Option<Number>]) -> bool {
        let is_there = values.iter().all(Option::is_some);
        is_there
            && values.windows(2).all(|pair| match pair {
                [Some(a), Some(b)] => Direction::new(*a, *b) == Some(self.direction),
                _ => false,
            })
    }

    /// Returns the number of the archive's values before this one, if they are ordered.
    fn place(&self, value: Number) -> usize {
        self.old
            .partition_point(|old| old.is_some_and(|old| Direction::new(old, value) == Some(self.direction)))
    }

    /// Returns the error for records that do not continue the archive's.
    fn refuse<T>(&self, coordinate: &Coordinate<'_>) -> Result<T> {
        let name = &coordinate.column.name;
        let wrong = |pair: &[Number]| Direction::new(pair[0], pair[1]) != Some(self.direction);
        let new: Vec<Number> = self.new.iter().flatten().copied().collect();
        let end = self.old.iter().rev().flatten().next().copied();
        if let (Some(end), Some(&first)) = (end, new.first())
            && wrong(&[end, first])
        {
            let known = if self.is_ordered(&self.old) {
                new.iter().filter(|value| self.old.get(self.place(**value)) == Some(&Some(**value))).count()
            } else {
                0
            };
            let overlap = if known > 0 {
                format!("; {known} of its {} records are in the archive by their `{name}`", self.new.len())
            } else {
                String::new()
            };
            return refuse_records(
                format!(
                    "the new file's `{name}` begins at {}, and the archive's ends at {}{overlap}",
                    coordinate.show(first),
                    coordinate.show(end)
                ),
                Advice::ReplaceOrAllowOverlap,
            );
        }
        let (from, to) =
            new.windows(2).find(|pair| wrong(pair)).map_or((None, None), |p| (Some(p[0]), Some(p[1])));
        let shown = |n: Option<Number>| n.map_or_else(String::new, |n| coordinate.show(n));
        let turn = if from == to {
            format!("has {} twice", shown(from))
        } else {
            format!("turns back from {} to {}", shown(from), shown(to))
        };
        refuse_records(format!("the new file's `{name}` {turn}"), Advice::AllowOverlap)
    }

    /// Returns the archive's records with the same coordinates, followed by the records beyond the archive's
    /// last one.
    fn over(&self, coordinate: &Coordinate<'_>) -> Result<Vec<Run>> {
        let name = &coordinate.column.name;
        for (values, whose) in [(&self.old, "archive"), (&self.new, "new file")] {
            if !self.is_ordered(values) {
                return refuse_records(
                    format!(
                        "the {whose}'s `{name}` has missing values or is not monotonic, so records cannot be matched by it"
                    ),
                    Advice::AllowOverlap,
                );
            }
        }
        let mut runs: Vec<Run> = Vec::new();
        let mut end = self.old.len() as u64;
        for (from, value) in (0_u64..).zip(&self.new) {
            let at = self.place(value.expect("ordered values are all there"));
            let to = match self.old.get(at) {
                Some(old) if old == value => at as u64,
                None => {
                    end += 1;
                    end - 1
                }
                Some(other) => {
                    let shown = |n: &Option<Number>| n.map_or_else(String::new, |n| coordinate.show(n));
                    return refuse(
                        "append",
                        format!(
                            "the archive has no record at {}, but has one at {} after it: records cannot be inserted between others",
                            shown(value),
                            shown(other)
                        ),
                    );
                }
            };
            match runs.last_mut().filter(|run| run.to + run.count == to) {
                Some(run) => run.count += 1,
                None => runs.push(Run { from, to, count: 1 }),
            }
        }
        Ok(runs)
    }
}
