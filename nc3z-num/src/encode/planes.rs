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

    fn inverted<W: Word>(len: u32) {
        let words: Vec<W> =
            (0..u64::from(len)).map(|i| W::from_u64(i.wrapping_mul(0x9E37_79B9_7F4A_7C15))).collect();
        let mut bytes = Vec::new();
        shuffle(&words, &mut bytes);
        let mut back = vec![W::default(); words.len()];
        unshuffle(&bytes, false, &mut back);
        assert_eq!(back, words, "{len}");
        unshuffle(&bytes, true, &mut back);
        assert_eq!(back, words.iter().map(|w| w.unzigzag()).collect::<Vec<_>>(), "{len}");
    }

    #[test]
    fn planes_invert() {
        let words: Vec<u32> = (0..2000u32).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
        let mut bytes = Vec::new();
        shuffle(&words, &mut bytes);
        assert_eq!(bytes[2000], low8(u64::from(words[0] >> 8)));
        for len in [0, 1, 31, 32, 33, 100, 2000, 2047] {
            inverted::<u8>(len);
            inverted::<u16>(len);
            inverted::<u32>(len);
            inverted::<u64>(len);
        }
    }
}
