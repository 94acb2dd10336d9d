//! Whatever is generic over words, compiled here once for the four widths. Where the compiler shares generic functions between crates, as it does
//! for tests (optimisation level 1), crates above use these and do not compile the codec once more each: docs/design/0029-time-of-ci.md.

use crate::word::Word;
use std::hint::black_box;

/// Entry points for one width.
fn of<W: Word>() {
    black_box(crate::decode_against::<W> as *const ());
    black_box(crate::convert::<W, u8> as *const ());
    black_box(crate::convert::<W, u16> as *const ());
    black_box(crate::convert::<W, u32> as *const ());
    black_box(crate::convert::<W, u64> as *const ());
    #[cfg(feature = "encode")]
    {
        black_box(crate::encode_against::<W> as *const ());
        black_box(crate::choose_with::<W> as *const ());
        black_box(crate::choose_reference::<W> as *const ());
        black_box(crate::DictionaryBuilder::<W>::add as *const ());
        black_box(crate::DictionaryBuilder::<W>::finish as *const ());
    }
}

/// Does nothing that matters: what it names is compiled.
#[doc(hidden)]
pub fn of_all_widths() {
    of::<u8>();
    of::<u16>();
    of::<u32>();
    of::<u64>();
}
