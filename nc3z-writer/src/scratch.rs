//! Buffers and contexts of codecs: each thread uses one set for planning and encoding.

use nc3z_format::codec::CodecScratch;
use std::cell::Cell;

thread_local! {
    static CACHED: Cell<Option<Box<CodecScratch>>> = const { Cell::new(None) };
}

/// Calls `f` with this thread's scratch. Creating a scratch takes longer than encoding a short array, and zstd's
/// tables are megabytes that the system clears page by page. If `f` calls this function again, because its thread
/// takes up another task, a new scratch is created.
pub(crate) fn with_scratch<T>(f: impl FnOnce(&mut CodecScratch) -> T) -> T {
    let mut scratch = CACHED.take().unwrap_or_default();
    let out = f(&mut scratch);
    CACHED.set(Some(scratch));
    out
}
