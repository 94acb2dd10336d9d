//! Plain tables: aligned columns, two blanks between them, no lines drawn, so that `grep` and `awk` can read them.

use std::io::{self, Write};

/// Which side of its column a cell keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table that is printed once its widths are known.
pub(crate) struct Table {
    sides: Vec<Side>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column heads; an empty head row is not printed.
    pub(crate) fn new(columns: &[(&str, Side)]) -> Self {
        let heads: Vec<String> = columns.iter().map(|(head, _)| (*head).to_owned()).collect();
        let rows = if heads.iter().all(String::is_empty) { Vec::new() } else { vec![heads] };
        Table { sides: columns.iter().map(|(_, side)| *side).collect(), rows }
    }

    /// Adds a row, with as many cells as there are columns.
    pub(crate) fn push(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.sides.len(), "a cell for each column");
        self.rows.push(row);
    }

    /// Prints the rows, each with `indent` in front.
    pub(crate) fn print(&self, out: &mut dyn Write, indent: &str) -> io::Result<()> {
        let mut widths = vec![0; self.sides.len()];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }
        let mut line = String::new();
        for row in &self.rows {
            line.clear();
            line.push_str(indent);
            for ((cell, &width), side) in row.iter().zip(&widths).zip(&self.sides) {
                let blanks = width - cell.chars().count();
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

/// `1 tile`, `2 tiles`.
pub(crate) fn count(n: u64, one: &str) -> String {
    format!("{n} {one}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
