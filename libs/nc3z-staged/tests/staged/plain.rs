//! A plain array, and programs that it runs as a staged one does.

use super::*;

/// A plain array, for operations that versioned-hdf5 refuses.
#[derive(Debug, Clone)]
pub(crate) struct Plain {
    pub(crate) shape: Vec<usize>,
    pub(crate) cells: Vec<i64>,
}

impl Plain {
    pub(crate) fn resize(&mut self, shape: &[usize]) {
        let mut next = Plain { shape: shape.to_vec(), cells: vec![-1; shape.iter().product()] };
        for n in 0..self.cells.len() {
            let at = self.at(n);
            if at.iter().zip(shape).all(|(i, len)| i < len) {
                let there = next.position(&at);
                next.cells[there] = self.cells[n];
            }
        }
        *self = next;
    }

    pub(crate) fn at(&self, mut n: usize) -> Vec<usize> {
        let mut at = vec![0; self.shape.len()];
        for (i, &len) in at.iter_mut().zip(&self.shape).rev() {
            *i = n % len;
            n /= len;
        }
        at
    }

    pub(crate) fn position(&self, at: &[usize]) -> usize {
        at.iter().zip(&self.shape).fold(0, |p, (i, n)| p * n + i)
    }
}

/// A selection along one axis as versioned-hdf5 has it. Negative numbers count from the end.
#[derive(Debug, Clone)]
pub(crate) enum Index {
    At(i64),
    Slice { start: Option<i64>, stop: Option<i64>, step: i64 },
    List(Vec<i64>),
    Mask(Vec<bool>),
}

/// Resolves indices by Python's rules. Axes without an index are selected whole.
pub(crate) fn select(indices: &[Index], shape: &[usize]) -> nc3z_format::Result<Placed> {
    let dims = shape.iter().enumerate().map(|(axis, &len)| {
        let len = i64::try_from(len).unwrap();
        let from_start = |i: i64| u64::try_from(if i < 0 { i + len } else { i }).unwrap_or(u64::MAX);
        match indices.get(axis) {
            None => vec![Segment::new(0, len.cast_unsigned())],
            Some(Index::At(i)) => vec![Segment::at(from_start(*i))],
            Some(Index::List(list)) => Segment::of_list(list.iter().map(|&i| from_start(i))),
            Some(Index::Mask(mask)) => Segment::of_mask(mask),
            Some(Index::Slice { start, stop, step }) => {
                let (low, high) = if *step < 0 { (-1, len - 1) } else { (0, len) };
                let clip = |i: i64| (if i < 0 { i.saturating_add(len) } else { i }).clamp(low, high);
                let start = start.map_or(if *step < 0 { high } else { low }, clip);
                let stop = stop.map_or(if *step < 0 { low } else { high }, clip);
                let span = if *step < 0 { start - stop } else { stop - start };
                let count = if span <= 0 { 0 } else { (span - 1) / step.abs() + 1 };
                let start = u64::try_from(start).unwrap_or(0);
                vec![Segment { start, count: count.cast_unsigned(), stride: *step }]
            }
        }
    });
    Selection::new(dims.collect()).placed(&lens(shape))
}

/// Converts lengths.
pub(crate) fn lens(shape: &[usize]) -> Vec<u64> {
    shape.iter().map(|&n| n as u64).collect()
}

/// The lengths of the values of a selection.
pub(crate) fn counts(selection: &Placed) -> Vec<usize> {
    selection.counts().into_iter().map(|n| usize::try_from(n).unwrap()).collect()
}

/// The selection of an operation, by numbers that fit any length.
#[derive(Debug, Clone)]
pub(crate) enum Pick {
    At(usize),
    /// A slice forwards or backwards.
    Slice(usize, usize, i64),
    List(Vec<usize>),
    Mask(u64),
}

#[derive(Debug, Clone)]
pub(crate) enum Op {
    Get(Vec<Pick>),
    Set(Vec<Pick>, i64),
    Broadcast(Vec<Pick>, i64),
    Points(u64, i64),
    Resize(Vec<usize>),
    Load,
    Spill,
    Runs(Vec<(usize, usize, usize)>, bool, i64),
    Segments(Vec<(usize, usize)>, i64),
    Part(Vec<(usize, usize, usize)>, i64),
    Fail(Vec<Pick>),
}

pub(crate) fn picks() -> impl Strategy<Value = Vec<Pick>> {
    let pick = prop_oneof![
        any::<usize>().prop_map(Pick::At),
        (any::<usize>(), any::<usize>(), prop_oneof![1..4_i64, -4..0_i64])
            .prop_map(|(a, b, s)| Pick::Slice(a, b, s)),
        proptest::collection::vec(any::<usize>(), 0..5).prop_map(Pick::List),
        any::<u64>().prop_map(Pick::Mask),
    ];
    proptest::collection::vec(pick, 0..4)
}

pub(crate) fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        3 => picks().prop_map(Op::Get),
        3 => (picks(), any::<i32>()).prop_map(|(p, v)| Op::Set(p, v.into())),
        1 => (picks(), any::<i32>()).prop_map(|(p, v)| Op::Broadcast(p, v.into())),
        1 => (any::<u64>(), any::<i32>()).prop_map(|(m, v)| Op::Points(m, v.into())),
        2 => proptest::collection::vec(0..9_usize, 3).prop_map(Op::Resize),
        1 => Just(Op::Load),
        1 => Just(Op::Spill),
        2 => (proptest::collection::vec((0..4_usize, 1..4_usize, 1..5_usize), 0..5), any::<bool>(), any::<i32>())
            .prop_map(|(runs, back, v)| Op::Runs(runs, back, v.into())),
        2 => (proptest::collection::vec((any::<usize>(), 1..9_usize), 0..6), any::<i32>())
            .prop_map(|(segments, v)| Op::Segments(segments, v.into())),
        2 => (proptest::collection::vec((0..4_usize, 1..4_usize, 1..5_usize), 3), any::<i32>())
            .prop_map(|(runs, v)| Op::Part(runs, v.into())),
        1 => picks().prop_map(Op::Fail),
    ];
    proptest::collection::vec(op, 0..24)
}

/// Returns the indices, and the corresponding positions along each axis.
pub(crate) fn chosen(picks: &[Pick], shape: &[usize]) -> (Vec<Index>, Vec<(Vec<usize>, bool)>) {
    let (mut indices, mut all) = (Vec::new(), Vec::new());
    for (axis, &len) in shape.iter().enumerate() {
        let pick = picks.get(axis).cloned().unwrap_or(Pick::Slice(0, usize::MAX, 1));
        let pick = if len == 0 { Pick::Slice(0, usize::MAX, 1) } else { pick };
        match pick {
            Pick::At(n) => {
                indices.push(Index::At(
                    i64::try_from(n % len).unwrap()
                        - if n % 2 == 0 { 0 } else { i64::try_from(len).unwrap() },
                ));
                all.push((vec![n % len], true));
            }
            Pick::Slice(a, b, step) => {
                let (low, high) = if b == usize::MAX {
                    (0, len)
                } else {
                    ((a % (len + 1)).min(b % (len + 1)), (a % (len + 1)).max(b % (len + 1)))
                };
                let signed = |n: usize| i64::try_from(n).unwrap();
                if step > 0 {
                    indices.push(Index::Slice { start: Some(signed(low)), stop: Some(signed(high)), step });
                    all.push(((low..high).step_by(usize::try_from(step).unwrap()).collect(), false));
                } else {
                    // From high - 1 down to low.
                    let start = (high > 0).then(|| signed(high) - 1);
                    let stop = (low > 0).then(|| signed(low) - 1);
                    let index = if high == 0 {
                        Index::Slice { start: Some(0), stop: Some(0), step }
                    } else {
                        Index::Slice { start, stop, step }
                    };
                    indices.push(index);
                    all.push(((low..high).rev().step_by(usize::try_from(-step).unwrap()).collect(), false));
                }
            }
            Pick::List(list) => {
                let list: Vec<usize> = list.iter().map(|n| n % len).collect();
                indices.push(Index::List(list.iter().map(|&n| i64::try_from(n).unwrap()).collect()));
                all.push((list, false));
            }
            Pick::Mask(bits) => {
                let mask: Vec<bool> = (0..len).map(|n| bits >> (n % 64) & 1 == 1).collect();
                all.push(((0..len).filter(|&n| mask[n]).collect(), false));
                indices.push(Index::Mask(mask));
            }
        }
    }
    (indices, all)
}

/// Returns positions in the plain array, in the order of the value.
pub(crate) fn positions(plain: &Plain, all: &[(Vec<usize>, bool)]) -> Vec<usize> {
    let mut found = vec![Vec::new()];
    for (axis, _) in all {
        found =
            found.iter().flat_map(|at: &Vec<usize>| axis.iter().map(|&i| [&at[..], &[i]].concat())).collect();
    }
    found.iter().map(|at| plain.position(at)).collect()
}
