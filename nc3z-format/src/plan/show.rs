//! How plans print: complete enough to be compared in a test, short enough for a log.

use std::fmt;

use super::{CopyRun, Plan, TilePlan};

/// Largest number of tiles of a plan, and of runs of a tile, that are printed unless `{:#}` requests all.
const SHOWN: usize = 16;

impl fmt::Display for CopyRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CopyRun { src, dst, len, src_step, dst_step } = self;
        write!(f, "src {src}..")?;
        if *src_step != 1 {
            write!(f, " by {src_step}")?;
        }
        write!(f, " -> dst {dst}..")?;
        if *dst_step != 1 {
            write!(f, " by {dst_step}")?;
        }
        write!(f, ", {len} element{}", plural(*len))
    }
}

impl fmt::Debug for CopyRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CopyRun({self})")
    }
}

impl fmt::Display for TilePlan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(dst) = self.whole {
            return writeln!(
                f,
                "tile {}: whole -> dst {dst}.., {} element{}",
                self.tile,
                self.elements,
                plural(self.elements)
            );
        }
        let runs = self.runs().run_count();
        writeln!(f, "tile {}: {runs} run{}", self.tile, plural(runs))?;
        let shown = if f.alternate() { usize::MAX } else { SHOWN };
        let mut left = self.runs();
        for run in left.by_ref().take(shown) {
            writeln!(f, "  {run}")?;
        }
        match left.run_count() {
            0 => Ok(()),
            n => writeln!(f, "  and {n} more"),
        }
    }
}

impl fmt::Debug for TilePlan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One line of totals, then the first few tiles, or all tiles with `{:#}`.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let elements = self.elements();
        write!(f, "{elements} element{}", plural(elements))?;
        if !self.is_complete() {
            write!(f, " present of {}", self.selected)?;
        }
        let tiles = self.tile_count();
        writeln!(f, " from {tiles} of {} tiles ({})", self.tiles_in_array, self.layout)?;
        let shown = if f.alternate() { usize::MAX } else { SHOWN };
        for tile in self.tiles().take(shown) {
            fmt::Display::fmt(&tile, f)?;
        }
        match tiles.saturating_sub(u64::try_from(shown).unwrap_or(u64::MAX)) {
            0 => Ok(()),
            n => writeln!(f, "and {n} more"),
        }
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn plural(n: u64) -> &'static str {
    if n == 1 { "" } else { "s" }
}
