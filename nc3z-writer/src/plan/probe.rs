//! What zstd makes of bytes as they are, for comparison.

use super::cost::Stored;
use super::policy::QUICK_LEVEL;
use crate::error::Result;
use nc3z_format::codec::{ChainSpec, Registry, Scratch, StageSpec, zstd_len_within};

/// Of longer bytes a quick look takes a part.
const PROBED_LEN: usize = 64 << 10;

/// What a frame has besides its content.
const FRAME: usize = 12;
/// Room that zstd may need besides what it writes.
const SPARE: usize = 1 << 10;

/// [`packed_len`] where that is less than `bound`; what is known to be more is not packed to its end.
pub(super) fn packed_below(
    bytes: &[u8],
    level: i32,
    bound: Stored,
    scratch: &mut Scratch,
) -> Result<Option<Stored>> {
    let most = usize::try_from(bound.0).unwrap_or(usize::MAX).saturating_add(FRAME + SPARE);
    let packed = zstd_len_within(bytes, level, most, scratch)?.map(|len| without_frame(len, bytes));
    Ok(packed.filter(|packed| *packed < bound))
}

/// What a frame of `len` bytes would add to a container.
fn without_frame(len: usize, bytes: &[u8]) -> Stored {
    Stored(len.saturating_sub(FRAME).clamp(1, bytes.len().max(1)) as u64)
}

/// What a container's codec makes of a member, about.
pub(super) fn packed_len(bytes: &[u8], level: i32, scratch: &mut Scratch) -> Result<Stored> {
    let mut out = Vec::new();
    Registry::default()
        .bind(ChainSpec(vec![StageSpec::zstd(level)]))
        .encode_bytes(bytes, scratch, &mut out)?;
    Ok(without_frame(out.len(), bytes))
}

/// What a quick zstd would make of bytes, by the quarter in their middle where they are long.
pub(super) fn probed_len(bytes: &[u8], scratch: &mut Scratch) -> Result<Stored> {
    let taken = bytes.len().min(PROBED_LEN.max(bytes.len() / 4));
    let from = (bytes.len() - taken) / 2;
    let packed = packed_len(&bytes[from..from + taken], QUICK_LEVEL, scratch)?;
    Ok(packed.scaled(bytes.len() as u64, taken as u64))
}
