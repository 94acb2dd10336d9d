//! A dictionary: the distinct patterns of a variable, sorted. A tile stores their numbers (ranks).

#[cfg(feature = "encode")]
use crate::encode::RankIndex;
use crate::error::{Result, bad};
use crate::word::{Pool, Word, index};
#[cfg(feature = "encode")]
use std::sync::OnceLock;

/// Most patterns of a dictionary.
pub const MAX_DICTIONARY: usize = 1 << 16;

/// Sorted distinct patterns of a variable; a tile stores their numbers.
#[derive(Debug, Default)]
pub struct Dictionary {
    words: Pool,
    len: usize,
    /// From pattern to number, made when first needed.
    #[cfg(feature = "encode")]
    pub(crate) index: OnceLock<RankIndex>,
}

impl Dictionary {
    /// Of 1 to [`MAX_DICTIONARY`] patterns that ascend.
    pub(crate) fn of_sorted<W: Word>(patterns: Vec<W>) -> Self {
        let mut made = Self { len: patterns.len(), ..Self::default() };
        *W::pool(&mut made.words) = patterns;
        made
    }

    /// How many patterns it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The patterns, if words of this width are meant.
    pub fn patterns<W: Word>(&self) -> &[W] {
        W::pooled(&self.words)
    }

    /// Ranks to patterns.
    pub(crate) fn lookup<W: Word>(&self, grid: &mut [W]) -> Result<()> {
        let table = self.patterns::<W>();
        let most = grid.iter().copied().max().unwrap_or_default().to_u64();
        if most >= table.len() as u64 {
            return Err(bad("rank", format_args!("< {}", table.len()), most));
        }
        // All ranks are in range, checked just now; the default is never taken.
        for w in grid {
            *w = table.get(index(w.to_u64())).copied().unwrap_or_default();
        }
        Ok(())
    }
}
