//! Measures the zstd size of unencoded bytes, for comparisons.

use super::cost::Stored;
use crate::error::Result;
use nc3z_format::codec::{ChainSpec, CodecScratch, Registry, StageSpec, zstd_len_within};

/// The bytes of a zstd frame besides its content.
const FRAME: usize = 12;
/// Additional room that zstd may need while it writes.
const SPARE: usize = 1 << 10;

/// Returns [`packed_len`] if it is less than `bound`. Compression stops once the result must be larger.
pub(super) fn packed_below(
    bytes: &[u8],
    level: i32,
    bound: Stored,
    scratch: &mut CodecScratch,
) -> Result<Option<Stored>> {
    let most = usize::try_from(bound.0).unwrap_or(usize::MAX).saturating_add(FRAME + SPARE);
    let packed = zstd_len_within(bytes, level, most, scratch)?.map(|len| without_frame(len, bytes));
    Ok(packed.filter(|packed| *packed < bound))
}

/// Returns the bytes that a frame of `len` bytes would add to a container.
fn without_frame(len: usize, bytes: &[u8]) -> Stored {
    Stored(len.saturating_sub(FRAME).clamp(1, bytes.len().max(1)) as u64)
}

/// Estimates the bytes that a member takes in a container.
pub(super) fn packed_len(bytes: &[u8], level: i32, scratch: &mut CodecScratch) -> Result<Stored> {
    let mut out = Vec::new();
    Registry::default()
        .bind(ChainSpec(vec![StageSpec::zstd(level)]))
        .encode_bytes(bytes, scratch, &mut out)?;
    Ok(without_frame(out.len(), bytes))
}
