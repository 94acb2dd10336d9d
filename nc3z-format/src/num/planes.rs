//! Byte planes: byte 0 of all words, then byte 1, and so on.

use super::word::Word;
use multiversion::multiversion;

/// Appends the planes of `words`.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(super) fn shuffle<W: Word>(words: &[W], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + words.len() * W::BYTES, 0);
    if words.is_empty() {
        return;
    }
    for (plane, shift) in out[start..].chunks_exact_mut(words.len()).zip((0..W::BITS).step_by(8)) {
        for (b, w) in plane.iter_mut().zip(words) {
            *b = w.shr(shift).low();
        }
    }
}

/// Fills `out` from its planes; `planes` is as long as `out` in bytes.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(super) fn unshuffle<W: Word>(planes: &[u8], signed: bool, out: &mut [W]) {
    let n = out.len();
    if n == 0 {
        return;
    }
    for at in (0..n).step_by(1024) {
        let end = n.min(at + 1024);
        let block = &mut out[at..end];
        for (w, &b) in block.iter_mut().zip(&planes[at..end]) {
            *w = W::from_u64(u64::from(b));
        }
        for (plane, shift) in planes.chunks_exact(n).zip((0..W::BITS).step_by(8)).skip(1) {
            for (w, &b) in block.iter_mut().zip(&plane[at..end]) {
                *w = w.or(W::from_u64(u64::from(b)).shl(shift));
            }
        }
        if signed {
            for w in block.iter_mut() {
                *w = w.unzigzag();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::word::low8;

    #[test]
    fn planes_invert() {
        let words: Vec<u32> = (0..2000u32).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
        let mut bytes = Vec::new();
        shuffle(&words, &mut bytes);
        assert_eq!(bytes[2000], low8(u64::from(words[0] >> 8)));
        let mut back = vec![0u32; 2000];
        unshuffle(&bytes, false, &mut back);
        assert_eq!(back, words);
    }
}
