//! Plain tables: aligned columns with two blanks between them and without lines, so that `grep` and `awk` can
//! read them.

use std::borrow::Cow;
use std::io::{self, Write};

/// The minimal number of characters of a column that is cut.
const NARROWEST: usize = 12;

/// The alignment of a cell in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A table that is printed after its column widths are known. Cells are in one text, so that a row of a long table takes little more than
/// its bytes.
pub(crate) struct Table {
    sides: Vec<Side>,
    cells: String,
    /// The end of each cell in `cells`, row after row.
    ends: Vec<usize>,
}

impl Table {
    /// Makes a table with these column headings. An empty heading row is not printed.
    pub(crate) fn new(columns: &[(&str, Side)]) -> Self {
        let sides = columns.iter().map(|(_, side)| *side).collect();
        let mut table = Table { sides, cells: String::new(), ends: Vec::new() };
        if columns.iter().any(|(head, _)| !head.is_empty()) {
            table.push(columns.iter().map(|(head, _)| *head));
        }
        table
    }

    /// Adds a row, with one cell for each column.
    pub(crate) fn push(&mut self, row: impl IntoIterator<Item = impl AsRef<str>>) {
        for cell in row {
            self.cells.push_str(cell.as_ref());
            self.ends.push(self.cells.len());
        }
        debug_assert!(self.ends.len().is_multiple_of(self.sides.len()), "a cell for each column");
    }

    fn rows(&self) -> impl Iterator<Item = impl Iterator<Item = &str>> {
        let cell =
            |n: usize| &self.cells[n.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[n]];
        let columns = self.sides.len();
        (0..self.ends.len().checked_div(columns).unwrap_or(0))
            .map(move |row| (row * columns..(row + 1) * columns).map(cell))
    }

    /// Makes the table at most `width` characters wide, if possible. First empty columns are removed, then
    /// cells of the columns `flexible` are cut, the longest first, then these columns are removed, the last
    /// of `flexible` first. All other columns are kept. If they do not fit, the first column, of names, loses the
    /// beginnings of its cells.
    pub(crate) fn fit(&mut self, width: usize, flexible: &[&str]) {
        let heads: Vec<&str> = self.rows().next().into_iter().flatten().collect();
        let column_of = |head: &&str| heads.iter().position(|cell| cell == head);
        let mut flexible: Vec<usize> = flexible.iter().filter_map(column_of).collect();
        let head_lens: Vec<usize> = heads.iter().map(|head| head.chars().count()).collect();
        let mut widths = self.widths(1);
        loop {
            let kept: Vec<usize> = (0..widths.len()).filter(|&column| widths[column] > 0).collect();
            let total: usize = kept.iter().map(|&column| widths[column].max(head_lens[column]) + 2).sum();
            let Some(excess) = total.checked_sub(width + 2).filter(|&excess| excess > 0) else { break };
            let longest = flexible.iter().copied().max_by_key(|&column| widths[column]);
            let cut = longest.filter(|&column| widths[column] > NARROWEST.max(head_lens[column]));
            if let Some(column) = cut {
                let least = NARROWEST.max(head_lens[column]);
                // In small steps, so that columns of equal length stay equal.
                widths[column] = (widths[column] - excess.clamp(1, 4)).max(least);
            } else if let Some(column) = flexible.pop() {
                widths[column] = 0;
            } else {
                widths[0] = widths[0].saturating_sub(excess).max(NARROWEST);
                break;
            }
        }
        self.map(&widths, |column, cell| {
            let (len, width) = (cell.chars().count(), widths[column]);
            if len > width && column == 0 {
                "…".chars().chain(cell.chars().skip(len - width.saturating_sub(1))).collect()
            } else if len > width {
                cell.chars().take(width.saturating_sub(1)).chain(['…']).collect()
            } else {
                cell.into()
            }
        });
    }

    /// Removes a column.
    pub(crate) fn remove(&mut self, head: &str) {
        let heads = self.rows().next().into_iter().flatten();
        let kept: Vec<usize> = heads.map(|cell| usize::from(cell != head)).collect();
        self.map(&kept, |_, cell| cell.into());
    }

    /// Replaces the cells of the columns whose width is not 0, and removes all others.
    fn map(&mut self, widths: &[usize], new: impl Fn(usize, &str) -> Cow<'_, str>) {
        let kept = self.sides.iter().zip(widths).filter(|(_, width)| **width > 0);
        let mut mapped =
            Table { sides: kept.map(|(side, _)| *side).collect(), cells: String::new(), ends: Vec::new() };
        for row in self.rows() {
            let kept = row.enumerate().filter(|(column, _)| widths[*column] > 0);
            mapped.push(kept.map(|(column, cell)| new(column, cell)));
        }
        *self = mapped;
    }

    /// Returns the length of the longest cell of each column, from a given row on.
    fn widths(&self, from: usize) -> Vec<usize> {
        let mut widths = vec![0; self.sides.len()];
        for row in self.rows().skip(from) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }
        widths
    }

    /// Returns the length of the longest cell of each column that is not much longer than most of the column.
    fn usual_widths(&self) -> Vec<usize> {
        let usual = |column: usize| {
            let mut lens: Vec<usize> =
                self.rows().filter_map(|mut row| row.nth(column)).map(|cell| cell.chars().count()).collect();
            lens.sort_unstable();
            let median = lens.get(lens.len().saturating_sub(1) / 2).copied().unwrap_or(0);
            let most = (2 * median).max(2 * NARROWEST);
            lens.into_iter().filter(|&len| len <= most).max().unwrap_or(0)
        };
        (0..self.sides.len()).map(usual).collect()
    }

    /// Prints the rows, each preceded by `indent`.
    pub(crate) fn print(&self, out: &mut dyn Write, indent: &str) -> io::Result<()> {
        self.print_padded(&self.widths(0), out, indent)
    }

    /// Prints the rows. A cell that is much longer than most of its column moves only the rest of its own line, and does
    /// not widen all other lines.
    pub(crate) fn print_ragged(&self, out: &mut dyn Write) -> io::Result<()> {
        self.print_padded(&self.usual_widths(), out, "")
    }

    /// Prints the rows. Cells that are shorter than their column's width are padded to it.
    fn print_padded(&self, widths: &[usize], out: &mut dyn Write, indent: &str) -> io::Result<()> {
        let mut line = String::new();
        for row in self.rows() {
            line.clear();
            line.push_str(indent);
            for ((cell, &width), side) in row.zip(widths).zip(&self.sides) {
                let blanks = width.saturating_sub(cell.chars().count());
                if *side == Side::Right {
                    line.extend(std::iter::repeat_n(' ', blanks));
                }
                line.push_str(cell);
                if *side == Side::Left {
                    line.extend(std::iter::repeat_n(' ', blanks));
                }
                line.push_str("  ");
            }
            writeln!(out, "{}", line.trim_end_matches(' '))?;
        }
        Ok(())
    }
}

pub(crate) use nc3z_look::text::count;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_long_cell_does_not_widen_the_other_lines() {
        let mut table =
            Table::new(&[("name", Side::Left), ("dimensions", Side::Left), ("state", Side::Left)]);
        let long = "many=1 ".repeat(200);
        for (name, dims) in
            [("a.nc", "x=1"), ("b.nc", long.trim_end()), ("c.nc", "x=1 time=12"), ("d.nc", "x=1")]
        {
            table.push([name, dims, "ok"]);
        }
        let mut out = Vec::new();
        table.print_ragged(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "a.nc  x=1          ok");
        assert_eq!(lines[2], format!("b.nc  {}  ok", long.trim_end()));
        assert_eq!(lines[3], "c.nc  x=1 time=12  ok");
    }

    #[test]
    fn columns_are_aligned_and_lines_end_without_blanks() {
        let mut table = Table::new(&[("name", Side::Left), ("bytes", Side::Right), ("chains", Side::Left)]);
        table.push(["é", "12", "store"]);
        table.push(["longer", "1234567", ""]);
        let mut out = Vec::new();
        table.print(&mut out, "  ").unwrap();
        let expected = "  name      bytes  chains\n  é            12  store\n  longer  1234567\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn tables_fit_a_width() {
        let printed = |width: usize| {
            let columns = ["name", "empty", "words", "more"].map(|head| (head, Side::Left));
            let mut table = Table::new(&columns);
            table.push(["a.nc", "", &"w".repeat(30), &"m".repeat(20)]);
            table.push(["long-name.nc", "", "w", "é"]);
            table.fit(width, &["words", "more"]);
            let mut out = Vec::new();
            table.print(&mut out, "").unwrap();
            String::from_utf8(out).unwrap()
        };
        for width in [200, 60, 50, 44, 40, 30, 20] {
            let text = printed(width);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
            assert!(text.contains("long-name.nc") && !text.contains("empty"), "{width}: {text}");
        }
        assert!(!printed(200).contains('…') && printed(200).contains(&"w".repeat(30)));
        assert!(printed(50).contains("www…") && printed(50).contains("more"));
        assert!(printed(30).contains("words") && !printed(30).contains("more"));
        assert_eq!(printed(12), "name\na.nc\nlong-name.nc\n");
    }
}
