//! Draws the chunks that a selection touches.

use crate::plan::Touched;
use std::fmt;

/// The number of chunks in a row, in a drawing of one axis.
const ROW: usize = 64;
/// The maximal number of rows that are drawn.
const MOST_ROWS: usize = 200;

/// Draws the grid of chunks: `p` where a chunk is touched partly, `w` where it is touched completely, `.`
/// elsewhere. The last two axes are drawn as a page. With more axes there is a page for each index of the
/// outer axes at which a chunk is touched.
///
/// ```
/// use nc3z_format::selection::{Segment, Selection};
/// use nc3z_staged::{StagedArray, TileMap};
/// let array = StagedArray::full([30, 50], [10, 10], 0)?;
/// let selection = Selection::new(vec![vec![Segment::new(5, 15)], vec![Segment::new(30, 20)]]);
/// let plan = array.plan_set(&selection.placed(&[30, 50])?);
/// assert_eq!(TileMap { grid: array.slab_indices().shape(), touched: &plan.touched }.to_string(), "  01234\n0 ...pp\n1 ...ww\n2 .....\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct TileMap<'t> {
    /// Lengths of the grid.
    pub grid: &'t [usize],
    /// The chunks that are touched, row-major.
    pub touched: &'t [Touched],
}

impl fmt::Display for TileMap<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = |touched: &Touched| if touched.whole { 'w' } else { 'p' };
        let (rows, columns) = match *self.grid {
            [] => return writeln!(f, "{}", self.touched.first().map_or('.', mark)),
            // One axis is drawn in rows of a fixed length.
            [n] => (n.div_ceil(ROW), n.min(ROW)),
            [.., rows, columns] => (rows, columns),
        };
        let outer = self.grid.len().saturating_sub(2);
        let mut drawn = 0;
        for page in self.pages(outer) {
            if outer > 0 {
                let words: Vec<String> = page[0].at[..outer].iter().map(ToString::to_string).collect();
                writeln!(f, "[{}, :, :]", words.join(", "))?;
            }
            let width = rows.saturating_sub(1).to_string().len();
            let digits: String =
                (0..columns).map(|n| char::from(b'0' + u8::try_from(n % 10).unwrap_or(0))).collect();
            writeln!(f, "{:width$} {digits}", "")?;
            let place = |at: &[usize]| match *at {
                [n] => (n / ROW, n % ROW),
                [.., row, column] => (row, column),
                [] => (0, 0),
            };
            let mut marks = page.iter().map(|touched| (place(&touched.at), mark(touched))).peekable();
            for row in 0..rows {
                if drawn == MOST_ROWS {
                    return writeln!(f, "... {} tiles are touched in all", self.touched.len());
                }
                drawn += 1;
                let len = if self.grid.len() == 1 { columns.min(self.grid[0] - row * ROW) } else { columns };
                let mut line = vec!['.'; len];
                while let Some((at, mark)) = marks.next_if(|(at, _)| at.0 == row) {
                    line[at.1] = mark;
                }
                writeln!(f, "{row:width$} {}", line.into_iter().collect::<String>())?;
            }
        }
        Ok(())
    }
}

impl TileMap<'_> {
    /// The touched chunks of each page, or one page without any.
    fn pages(&self, outer: usize) -> impl Iterator<Item = &[Touched]> {
        let nothing = (self.touched.is_empty() && outer == 0).then_some(&[][..]);
        nothing.into_iter().chain(self.touched.chunk_by(move |a, b| a.at[..outer] == b.at[..outer]))
    }
}
