//! A dictionary: the distinct patterns of a variable, sorted. A tile stores their numbers (ranks).

#[cfg(feature = "encode")]
use crate::encode::RankIndex;
use crate::error::{Result, bad};
use crate::word::{Pool, Word, index};
#[cfg(feature = "encode")]
use std::sync::OnceLock;

/// The largest number of patterns in a dictionary.
pub const MAX_DICTIONARY: usize = 1 << 16;

/// Sorted distinct patterns of a variable; a tile stores their numbers.
#[derive(Debug, Default)]
pub struct Dictionary {
    words: Pool,
    len: usize,
    /// Maps patterns to numbers; built on first use.
    #[cfg(feature = "encode")]
    pub(crate) index: OnceLock<RankIndex>,
}

impl Dictionary {
    /// Creates a dictionary of 1 to [`MAX_DICTIONARY`] ascending patterns.
    pub(crate) fn of_sorted<W: Word>(patterns: Vec<W>) -> Self {
        let mut made = Self { len: patterns.len(), ..Self::default() };
        *W::pool(&mut made.words) = patterns;
        made
    }

    /// Returns the number of patterns.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the patterns, if the dictionary has words of this width.
    pub fn patterns<W: Word>(&self) -> &[W] {
        W::pooled(&self.words)
    }

    pub(crate) fn lookup<W: Word>(&self, grid: &mut [W]) -> Result<()> {
        let table = self.patterns::<W>();
        let most = grid.iter().copied().max().unwrap_or_default().to_u64();
        if most >= table.len() as u64 {
            return Err(bad("rank", format_args!("< {}", table.len()), most));
        }
        // All ranks are in range, as checked above; the default is never used.
        for w in grid {
            *w = table.get(index(w.to_u64())).copied().unwrap_or_default();
        }
        Ok(())
    }
}
