//! Greedy search for matches, for the two small codecs of one family: LZF and BloscLZ.

/// A token: literal bytes, or a repetition.
#[cfg(feature = "encode")]
pub(super) enum Token<'a> {
    Literals(&'a [u8]),
    /// Bytes back (at least 1), and how many are repeated (at least 3).
    Match {
        distance: usize,
        len: usize,
    },
}

#[cfg(feature = "encode")]
const HASH_BITS: u32 = 14;
#[cfg(feature = "encode")]
const LEAST: usize = 3;
/// Bytes at the end that are never part of a match: BloscLZ's decoder wants literals there.
#[cfg(feature = "encode")]
const TAIL: usize = 6;

/// Cuts `input` into tokens with distances up to `most_distance` and lengths up to `most_len`.
#[cfg(feature = "encode")]
pub(super) fn tokens<'a>(
    input: &'a [u8],
    most_distance: usize,
    most_len: usize,
    mut sink: impl FnMut(Token<'a>),
) {
    let mut last = vec![usize::MAX; 1 << HASH_BITS];
    let (mut at, mut begin) = (0, 0);
    let end = input.len().saturating_sub(TAIL);
    let slot = |at: usize| {
        let word = u32::from_le_bytes([input[at], input[at + 1], input[at + 2], 0]);
        usize::try_from(word.wrapping_mul(0x9E37_79B1) >> (32 - HASH_BITS)).expect("14 bits")
    };
    while at + LEAST <= end {
        let place = &mut last[slot(at)];
        let candidate = std::mem::replace(place, at);
        let near = candidate < at && at - candidate <= most_distance;
        if !near || input[candidate..candidate + LEAST] != input[at..at + LEAST] {
            at += 1;
            continue;
        }
        let most = most_len.min(end - at);
        let same = input[at..at + most].iter().zip(&input[candidate..]).take_while(|(a, b)| a == b).count();
        if same < LEAST {
            at += 1;
            continue;
        }
        if begin < at {
            sink(Token::Literals(&input[begin..at]));
        }
        sink(Token::Match { distance: at - candidate, len: same });
        // A few places inside the match are enough.
        for inside in (at + 1..(at + same).min(end.saturating_sub(LEAST))).step_by(same / 8 + 1) {
            last[slot(inside)] = inside;
        }
        at += same;
        begin = at;
    }
    if begin < input.len() {
        sink(Token::Literals(&input[begin..]));
    }
}

/// Repeats `len` bytes from `distance` back, at `at` in `out`; `None` where that leaves the buffer.
pub(super) fn repeat(out: &mut [u8], at: usize, distance: usize, len: usize) -> Option<()> {
    let from = at.checked_sub(distance).filter(|_| distance > 0)?;
    let end = at.checked_add(len).filter(|end| *end <= out.len())?;
    if distance >= len {
        out.copy_within(from..from + len, at);
    } else {
        for i in at..end {
            out[i] = out[i - distance];
        }
    }
    Some(())
}
