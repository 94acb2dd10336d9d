//! Copies elements of one box into another. Each box has its own order of dimensions.

/// One dimension: the number of elements, and the stride on both sides, in elements.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    pub(super) count: usize,
    pub(super) from: usize,
    pub(super) to: usize,
}

/// Copies elements of `size` bytes. `to` starts at element `at`. All elements must be inside both buffers.
pub(super) fn copy(ways: &[Way], size: usize, from: &[u8], to: &mut [u8], at: usize) {
    if ways.iter().any(|w| w.count == 0) {
        return;
    }
    // Drops dimensions of one element, and joins neighbouring dimensions that are contiguous on both sides.
    let mut merged: Vec<Way> = Vec::with_capacity(ways.len());
    for way in ways.iter().filter(|w| w.count > 1) {
        match merged.last_mut() {
            Some(outer) if outer.from == way.from * way.count && outer.to == way.to * way.count => {
                *outer = Way { count: outer.count * way.count, ..*way };
            }
            _ => merged.push(*way),
        }
    }
    match size {
        1 => rows::<1>(&merged, from, 0, to, at),
        2 => rows::<2>(&merged, from, 0, to, at),
        4 => rows::<4>(&merged, from, 0, to, at),
        _ => rows::<8>(&merged, from, 0, to, at),
    }
}

fn rows<const N: usize>(ways: &[Way], from: &[u8], first: usize, to: &mut [u8], at: usize) {
    let elements = from.as_chunks::<N>().0;
    match ways {
        [] => to[at * N..(at + 1) * N].copy_from_slice(&elements[first]),
        [Way { count, from: 1, to: 1 }] => {
            to[at * N..(at + count) * N].copy_from_slice(&from[first * N..(first + count) * N]);
        }
        [way] => {
            let out = to.as_chunks_mut::<N>().0;
            for i in 0..way.count {
                out[at + i * way.to] = elements[first + i * way.from];
            }
        }
        [way, rest @ ..] => {
            for i in 0..way.count {
                rows::<N>(rest, from, first + i * way.from, to, at + i * way.to);
            }
        }
    }
}

/// The strides of a row-major array.
pub(super) fn strides(counts: &[usize]) -> Vec<usize> {
    let mut out = vec![1; counts.len()];
    for d in (1..counts.len()).rev() {
        out[d - 1] = out[d] * counts[d];
    }
    out
}
