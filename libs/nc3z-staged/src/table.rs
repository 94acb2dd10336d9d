//! A table with a number for each chunk, in row-major order over the grid of chunks.

use std::fmt;

/// A table over the grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    shape: Vec<usize>,
    cells: Vec<usize>,
}

impl Table {
    /// A table of zeros.
    pub fn zeros(shape: &[usize]) -> Self {
        Table { shape: shape.to_vec(), cells: vec![0; shape.iter().product()] }
    }

    /// Returns a table of these numbers. None if their number is not that of the cells.
    pub fn new(shape: &[usize], cells: Vec<usize>) -> Option<Self> {
        (shape.iter().product::<usize>() == cells.len()).then(|| Table { shape: shape.to_vec(), cells })
    }

    /// The lengths of the grid.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// All numbers, row-major.
    pub fn cells(&self) -> &[usize] {
        &self.cells
    }

    /// Returns the number of a chunk.
    pub fn get(&self, at: &[usize]) -> usize {
        self.cells[self.position(at)]
    }

    pub(crate) fn set(&mut self, at: &[usize], value: usize) {
        let position = self.position(at);
        self.cells[position] = value;
    }

    fn position(&self, at: &[usize]) -> usize {
        at.iter().zip(&self.shape).fold(0, |position, (i, n)| position * n + i)
    }

    /// Returns the table with other lengths. New cells are zero.
    pub(crate) fn resized(&self, shape: &[usize]) -> Self {
        let mut out = Table::zeros(shape);
        let both: Vec<usize> = shape.iter().zip(&self.shape).map(|(a, b)| *a.min(b)).collect();
        for at in indices(&both) {
            out.set(&at, self.get(&at));
        }
        out
    }
}

/// Returns all indices of a grid, row-major.
pub(crate) fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> + use<> {
    let shape = shape.to_vec();
    let total: usize = shape.iter().product();
    (0..total).map(move |mut i| {
        let mut at = vec![0; shape.len()];
        for (k, &n) in at.iter_mut().zip(&shape).rev() {
            *k = i % n;
            i /= n;
        }
        at
    })
}

/// Prints as NumPy does.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.cells.iter().map(|n| n.to_string().len()).max().unwrap_or(1);
        let Some(&row) = self.shape.last() else {
            return write!(f, "{}", self.cells.first().copied().unwrap_or_default());
        };
        if self.cells.is_empty() {
            return write!(f, "[]");
        }
        let rank = self.shape.len();
        for (n, cells) in self.cells.chunks(row).enumerate() {
            // The number of dimensions that begin or end here.
            let turns = |n: usize| {
                let mut left = n;
                self.shape[..rank - 1]
                    .iter()
                    .rev()
                    .take_while(|&&len| {
                        let turn = left.is_multiple_of(len);
                        left /= len;
                        turn
                    })
                    .count()
            };
            let open = if n == 0 { rank } else { turns(n) + 1 };
            if n > 0 {
                write!(f, "{}", "\n".repeat(open.min(rank)))?;
            }
            write!(f, "{}{}", " ".repeat(rank - open), "[".repeat(open))?;
            let words: Vec<String> = cells.iter().map(|cell| format!("{cell:width$}")).collect();
            write!(f, "{}", words.join(" "))?;
            let last = n + 1 == self.cells.len() / row;
            write!(f, "{}", "]".repeat(if last { rank } else { turns(n + 1) + 1 }))?;
        }
        Ok(())
    }
}
