//! Pages of remote sources: they are filled, cut and forgotten here.

use bytes::Bytes;
use nc3z_reader::Result;
use std::collections::HashMap;
use std::ops::Range;

/// Returns the bytes of a page of `page_len` bytes in an object of `len` bytes.
pub(crate) fn range(page: u64, page_len: u64, len: u64) -> Range<u64> {
    let at = |n: u64| n.saturating_mul(page_len).min(len);
    at(page)..at(page.saturating_add(1))
}

/// Fills the buffer with the bytes from `offset` on. `page` returns a page of `page_len` bytes by its number.
///
/// # Errors
/// An error of `page`; a page that ends too early.
pub(crate) fn fill(
    page_len: u64,
    offset: u64,
    buf: &mut [u8],
    page: impl Fn(u64) -> Result<Bytes>,
) -> Result<()> {
    let (mut at, mut rest) = (offset, buf);
    while !rest.is_empty() {
        let number = at / page_len;
        let page = page(number)?;
        let from = usize::try_from(at - number * page_len).unwrap_or(usize::MAX);
        let bytes = page.get(from..).unwrap_or_default();
        let n = bytes.len().min(rest.len());
        if n == 0 {
            let missing = rest.len() as u64;
            return Err(nc3z_format::Error::truncated("object", at, "read", missing, 0).into());
        }
        rest[..n].copy_from_slice(&bytes[..n]);
        rest = &mut rest[n..];
        at += n as u64;
    }
    Ok(())
}

/// Removes the pages that were not used for longest, until at most `most` are left. Each has the time of its last use.
pub(crate) fn forget<P>(held: &mut HashMap<u64, (P, u64)>, most: usize) {
    while held.len() > most {
        let oldest = held.iter().min_by_key(|(_, (_, used))| *used).map(|(n, _)| *n);
        oldest.and_then(|n| held.remove(&n));
    }
}
