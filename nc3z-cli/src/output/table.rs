//! Plain tables: aligned columns with two blanks between them and without lines, so that `grep` and `awk` can
//! read them.

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

/// A table that is printed after its column widths are known.
pub(crate) struct Table {
    sides: Vec<Side>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Makes a table with these column headings. An empty heading row is not printed.
    pub(crate) fn new(columns: &[(&str, Side)]) -> Self {
        let heads: Vec<String> = columns.iter().map(|(head, _)| (*head).to_owned()).collect();
        let rows = if heads.iter().all(String::is_empty) { Vec::new() } else { vec![heads] };
        Table { sides: columns.iter().map(|(_, side)| *side).collect(), rows }
    }

    /// Adds a row, with one cell for each column.
    pub(crate) fn push(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.sides.len(), "a cell for each column");
        self.rows.push(row);
    }

    /// Makes the table at most `width` characters wide, if possible. First empty columns are removed, then
    /// cells of the columns `flexible` are cut, the longest first, then these columns are removed, the last
    /// of `flexible` first. All other columns are kept. If they do not fit, the first column, of names, loses the
    /// beginnings of its cells.
    pub(crate) fn fit(&mut self, width: usize, flexible: &[&str]) {
        let column_of = |head: &&str| self.rows[0].iter().position(|cell| cell == head);
        let mut flexible: Vec<usize> = flexible.iter().filter_map(column_of).collect();
        let mut widths = self.widths(1);
        loop {
            let kept: Vec<usize> = (0..widths.len()).filter(|&column| widths[column] > 0).collect();
            let total: usize = kept.iter().map(|&column| widths[column].max(self.head_len(column)) + 2).sum();
            let Some(excess) = total.checked_sub(width + 2).filter(|&excess| excess > 0) else { break };
            let longest = flexible.iter().copied().max_by_key(|&column| widths[column]);
            let cut = longest.filter(|&column| widths[column] > NARROWEST.max(self.head_len(column)));
            if let Some(column) = cut {
                let least = NARROWEST.max(self.head_len(column));
                // In small steps, so that columns of equal length stay equal.
                widths[column] = (widths[column] - excess.clamp(1, 4)).max(least);
            } else if let Some(column) = flexible.pop() {
                widths[column] = 0;
            } else {
                widths[0] = widths[0].saturating_sub(excess).max(NARROWEST);
                break;
            }
        }
        for row in &mut self.rows {
            for (column, (cell, &width)) in row.iter_mut().zip(&widths).enumerate() {
                let len = cell.chars().count();
                if len > width && column == 0 {
                    *cell = "…".chars().chain(cell.chars().skip(len - width.saturating_sub(1))).collect();
                } else if len > width {
                    *cell = cell.chars().take(width.saturating_sub(1)).chain(['…']).collect();
                }
            }
            let mut column = 0;
            row.retain(|_| {
                column += 1;
                widths[column - 1] > 0
            });
        }
        let mut column = 0;
        self.sides.retain(|_| {
            column += 1;
            widths[column - 1] > 0
        });
    }

    fn head_len(&self, column: usize) -> usize {
        self.rows[0][column].chars().count()
    }

    /// Returns the length of the longest cell of each column, from a given row on.
    fn widths(&self, from: usize) -> Vec<usize> {
        let mut widths = vec![0; self.sides.len()];
        for row in &self.rows[from.min(self.rows.len())..] {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }
        widths
    }

    /// Returns the length of the longest cell of each column that is not much longer than most of the column.
    fn usual_widths(&self) -> Vec<usize> {
        let usual = |column: usize| {
            let mut lens: Vec<usize> = self.rows.iter().map(|row| row[column].chars().count()).collect();
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
        for row in &self.rows {
            line.clear();
            line.push_str(indent);
            for ((cell, &width), side) in row.iter().zip(widths).zip(&self.sides) {
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
            table.push([name, dims, "ok"].map(str::to_owned).to_vec());
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
        table.push(vec!["é".into(), "12".into(), "store".into()]);
        table.push(vec!["longer".into(), "1234567".into(), String::new()]);
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
            table.push(vec!["a.nc".into(), String::new(), "w".repeat(30), "m".repeat(20)]);
            table.push(vec!["long-name.nc".into(), String::new(), "w".into(), "é".into()]);
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
