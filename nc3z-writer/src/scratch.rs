//! Buffers and contexts of codecs, one set for each thread: whatever a thread plans and encodes uses the same.

use nc3z_format::codec::Scratch;
use std::cell::Cell;

thread_local! {
    static KEPT: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Calls `f` with what this thread keeps. Making it anew takes longer than encoding a short array, and zstd's tables are megabytes that the
/// system clears page by page. Where `f` ends up here once more, because its thread takes up another task, it is made anew.
pub(crate) fn with_scratch<T>(f: impl FnOnce(&mut Scratch) -> T) -> T {
    let mut scratch = KEPT.take().unwrap_or_default();
    let out = f(&mut scratch);
    KEPT.set(Some(scratch));
    out
}
