//! Byte planes: byte 0 of all words, then byte 1, and so on.

#[cfg(target_arch = "x86_64")]
use crate::avx2::planes as avx2;
#[cfg(target_arch = "x86_64")]
use crate::word::ByWidth;
use crate::word::Word;
use multiversion::{multiversion, target::match_target};

/// Fills `out` from its planes; `planes` has as many bytes as `out`.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(crate) fn unshuffle<W: Word>(planes: &[u8], signed: bool, out: &mut [W]) {
    let n = out.len();
    if n == 0 {
        return;
    }
    let done = match_target! {
        "x86_64+avx2" => {
            let plane = |p: usize| &planes[p * n..(p + 1) * n];
            match W::by_width(out) {
                ByWidth::W16(out) => avx2::words16([plane(0), plane(1)], signed, out),
                ByWidth::W32(out) => avx2::words32([plane(0), plane(1), plane(2), plane(3)], signed, out),
                ByWidth::W64(out) => avx2::words64(std::array::from_fn(plane), signed, out),
                ByWidth::W8(_) => 0,
            }
        },
        _ => 0,
    };
    for at in (done..n).step_by(1024) {
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
