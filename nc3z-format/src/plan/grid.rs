//! A selection as nested arithmetic progressions, and the copy runs that walk it.
//!
//! A grid is a base and a list of axes, and each axis has a count, a source step and a destination step. Negative strides are
//! turned round, so that the source ascends and the destination may descend. Neighbouring dimensions that continue each other
//! are merged. The shape is then no longer needed.

/// One progression: `count >= 2` positions, each `src` further in the source and `dst` in the destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Axis {
    pub(super) count: u64,
    pub(super) src: u64,
    pub(super) dst: i64,
}

/// A set of (source, destination) positions, in ascending order of source.
///
/// Invariants: (1) every position's source and destination fit `i64`; (2) the source step of an axis is greater than
/// the reach of all axes inside it together, so the order of positions is the order of sources; (3) the product of
/// the counts fits `i64`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Grid {
    pub(super) src: u64,
    pub(super) dst: u64,
    pub(super) axes: Vec<Axis>,
}

impl Grid {
    /// The grid of axes given innermost first; the bases are the caller's to set.
    #[inline]
    pub(super) fn from_inner(inner_first: impl Iterator<Item = Axis>) -> Self {
        let mut axes: Vec<Axis> = Vec::with_capacity(inner_first.size_hint().1.unwrap_or(0));
        for axis in inner_first.filter(|a| a.count != 1) {
            match axes.last_mut() {
                Some(inner) if inner.continues_as(axis) => inner.count *= axis.count,
                _ => axes.push(axis),
            }
        }
        axes.reverse();
        Grid { src: 0, dst: 0, axes }
    }

    /// Ordinal of the first position whose source is `bound` or more; `len()` if there is none.
    ///
    /// The digit of each axis is the largest one that does not exceed `bound`. By invariant (2), a smaller digit with any
    /// later digits would give an earlier position.
    pub(super) fn seek(&self, bound: u64) -> u64 {
        let Some(mut rest) = bound.checked_sub(self.src) else { return 0 };
        let mut ordinal = 0;
        for axis in &self.axes {
            let digit = (rest / axis.src).min(axis.count - 1);
            rest -= digit * axis.src;
            ordinal = ordinal * axis.count + digit;
        }
        ordinal + u64::from(rest > 0)
    }

    /// Source and destination of position `ordinal`.
    #[inline]
    pub(super) fn locate(&self, mut ordinal: u64) -> (u64, u64) {
        let (mut src, mut dst) = (self.src, self.dst);
        let Some((outermost, inner)) = self.axes.split_first() else { return (src, dst) };
        for axis in inner.iter().rev() {
            let digit = ordinal % axis.count;
            ordinal /= axis.count;
            src += digit * axis.src;
            dst = moved(dst, axis.dst, digit);
        }
        // The remaining `ordinal` is the outermost digit. Another division would cost each tile of a series
        // as much as the rest of its plan.
        (src + ordinal * outermost.src, moved(dst, outermost.dst, ordinal))
    }

    /// Returns true if the positions `first..end` (at least one) ascend by one in the destination, for a grid
    /// of a whole selection. The destination is row-major over the counts. So they ascend unless they move
    /// along a descending axis, or past the end of one.
    pub(super) fn ascends(&self, first: u64, end: u64) -> bool {
        let (mut first, mut last) = (first, end - 1);
        for axis in self.axes.iter().rev() {
            if first == last {
                return true;
            }
            if axis.dst < 0 {
                return false;
            }
            first /= axis.count;
            last /= axis.count;
        }
        true
    }

    /// Returns true if the grid is one block move.
    pub(super) fn is_block(&self) -> bool {
        match self.axes[..] {
            [] => true,
            [Axis { src, dst, .. }] => src == 1 && dst == 1,
            _ => false,
        }
    }

    /// Smallest and greatest distance between the sources of neighbours; `None` for a single position.
    pub(super) fn gaps(&self) -> Option<(u64, u64)> {
        let mut reach = 0; // of the axes inside the current one
        let mut gaps: Option<(u64, u64)> = None;
        for axis in self.axes.iter().rev() {
            let gap = axis.src - reach;
            gaps = Some(gaps.map_or((gap, gap), |(min, max)| (min.min(gap), max.max(gap))));
            reach += (axis.count - 1) * axis.src;
        }
        gaps
    }
}

impl Axis {
    /// Returns true if a step of `outer` continues where the last step of `self` ended, in source and
    /// destination.
    fn continues_as(&self, outer: Axis) -> bool {
        let dst = i64::try_from(self.count).ok().and_then(|n| n.checked_mul(self.dst));
        self.count.checked_mul(self.src) == Some(outer.src) && dst == Some(outer.dst)
    }
}

/// `at + steps * step`. Intermediate values wrap; by invariant (1) of [`Grid`] the positions themselves fit, and
/// arithmetic modulo 2^64 finds them.
pub(super) fn moved(at: u64, step: i64, steps: u64) -> u64 {
    at.wrapping_add(step.cast_unsigned().wrapping_mul(steps))
}

/// One copy: `len` elements, from `src`, `src + src_step`, … of the decoded tile to `dst`, `dst + dst_step`, … of
/// the output. All in elements.
///
/// The source always ascends; where the caller reads backwards, the destination descends. A run of one element has
/// both steps 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CopyRun {
    /// First element read, in the decoded tile.
    pub src: u64,
    /// The position in the output.
    pub dst: u64,
    /// Number of elements, at least 1.
    pub len: u64,
    /// Distance between elements read, at least 1.
    pub src_step: u64,
    /// Distance between elements written, not 0.
    pub dst_step: i64,
}

impl CopyRun {
    /// Returns true if the run is one block move.
    pub fn is_contiguous(&self) -> bool {
        self.src_step == 1 && self.dst_step == 1
    }
}

/// The copy runs of one tile, in ascending order of source; made by [`super::TilePlan::runs`].
#[derive(Debug, Clone)]
pub struct Runs<'t> {
    outer: &'t [Axis],
    inner: Axis,
    /// Digits along `outer` and `inner` of the next run's first element.
    outer_digits: Vec<u64>,
    inner_digit: u64,
    /// Position of digit 0 of `inner` in the current row. The source is relative to the tile, and wraps if
    /// that digit is in an earlier tile.
    src: u64,
    dst: u64,
    left: u64,
}

impl<'t> Runs<'t> {
    /// Positions `first..end` of `grid`, in a tile whose first element is `origin` of the grid's source.
    pub(super) fn new(grid: &'t Grid, first: u64, end: u64, origin: u64) -> Self {
        let single = Axis { count: 1, src: 1, dst: 1 };
        let (inner, outer) = grid.axes.split_last().map_or((single, &[][..]), |(i, o)| (*i, o));
        // Divides only if there are several rows.
        let (mut row, inner_digit) =
            if outer.is_empty() { (0, first) } else { (first / inner.count, first % inner.count) };
        let mut outer_digits = vec![0; outer.len()];
        let (mut src, mut dst) = (grid.src.wrapping_sub(origin), grid.dst);
        for (digit, axis) in outer_digits.iter_mut().zip(outer).rev() {
            *digit = row % axis.count;
            row /= axis.count;
            src = src.wrapping_add(*digit * axis.src);
            dst = moved(dst, axis.dst, *digit);
        }
        Runs { outer, inner, outer_digits, inner_digit, src, dst, left: end - first }
    }

    /// A single block move of `len` elements from the tile's first on.
    pub(super) fn whole(dst: u64, len: u64) -> Self {
        let inner = Axis { count: len, src: 1, dst: 1 };
        Runs { outer: &[], inner, outer_digits: Vec::new(), inner_digit: 0, src: 0, dst, left: len }
    }

    /// The number of remaining runs, without a walk through them.
    pub fn run_count(&self) -> u64 {
        let in_row = self.inner.count - self.inner_digit;
        match self.left.checked_sub(in_row) {
            Some(beyond) => 1 + beyond.div_ceil(self.inner.count),
            None => u64::from(self.left > 0),
        }
    }

    /// Goes to digit 0 of the next row.
    fn next_row(&mut self) {
        self.inner_digit = 0;
        for (digit, axis) in self.outer_digits.iter_mut().zip(self.outer).rev() {
            *digit += 1;
            self.src = self.src.wrapping_add(axis.src);
            self.dst = moved(self.dst, axis.dst, 1);
            if *digit < axis.count {
                break;
            }
            *digit = 0;
            self.src = self.src.wrapping_sub(axis.count.wrapping_mul(axis.src));
            self.dst = self.dst.wrapping_sub(axis.dst.cast_unsigned().wrapping_mul(axis.count));
        }
    }
}

impl Iterator for Runs<'_> {
    type Item = CopyRun;

    fn next(&mut self) -> Option<CopyRun> {
        if self.left == 0 {
            return None;
        }
        let Axis { count, src, dst } = self.inner;
        let len = (count - self.inner_digit).min(self.left);
        let (src_step, dst_step) = if len == 1 { (1, 1) } else { (src, dst) };
        let run = CopyRun {
            src: self.src.wrapping_add(self.inner_digit.wrapping_mul(src)),
            dst: moved(self.dst, dst, self.inner_digit),
            len,
            src_step,
            dst_step,
        };
        self.left -= len;
        if self.left > 0 {
            self.next_row();
        }
        Some(run)
    }
}
