//! Words to byte planes.

use crate::word::Word;
use multiversion::multiversion;

/// Appends the planes of `words`.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(crate) fn shuffle<W: Word>(words: &[W], out: &mut Vec<u8>) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planes::unshuffle;
    use crate::word::low8;

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
