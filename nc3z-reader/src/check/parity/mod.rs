//! Reading of parity: find it, check it, and repair with it (`spec/parity.md`).
//!
//! ```text
//! locate ─▶ catalogue (packets, repaired by their own parity) ─▶ check: which shards are lost ─▶ repair, group by group
//! ```
//! Nothing here writes: [`repair()`] passes the correct bytes of each lost place to its caller. All these
//! bytes have the checksums in the catalogue. [`prove`] compares the digest of the whole.
//!
//! Memory: about 130 MiB during repair, 32 MiB for one group's lost shards, and 8 bytes for each lost shard.

mod catalogue;
mod check;
mod judge;
mod locate;
mod read_repair;
mod reconstruct;
mod repair;
mod slots;

use crate::error::{Error, ErrorKind, Result};
use crate::source::ByteSource;

pub(crate) use check::check_region;
pub use check::{ParityReport, check, check_at};
pub use judge::judge;
pub(crate) use locate::locate_section;
pub use locate::{Located, locate, locate_in};
pub use read_repair::ReadRepair;
pub(crate) use read_repair::{ReadRepairHook, ReadRepairSource};
pub use repair::{RepairedShards, prove, repair};
pub use slots::repaired_slots;

/// Copies the source piece by piece. Unreadable bytes are written as zeros, which [`repair()`] corrects.
///
/// # Errors
/// Any other error of reading; errors of `write`.
pub fn copy(source: &dyn ByteSource, write: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut at = 0;
    while at < source.len() {
        let n = usize::try_from(source.len() - at).map_or(COPY_LEN, |n| n.min(COPY_LEN));
        write(&readable(source, at, n)?)?;
        at += n as u64;
    }
    Ok(())
}

/// Bytes that are copied at a time.
const COPY_LEN: usize = 1 << 20;

/// Bytes that a disk reads or refuses at a time.
const SECTOR: usize = 4096;
/// Bytes of which shards and packets are multiples.
const UNIT: usize = 64;

/// Returns whether the medium could not be read. The bytes then count as damaged.
fn is_lost(e: &Error) -> bool {
    // EIO is 5 on all supported systems. A file that lost its beginning has an unexpected end before its
    // first byte.
    matches!(e.kind(), ErrorKind::Io { source, .. }
        if source.raw_os_error() == Some(5) || source.kind() == std::io::ErrorKind::UnexpectedEof)
}

/// Returns the bytes of a range. Bytes of sectors that the medium cannot read, or that the file has lost, are zeros.
///
/// # Errors
/// Any other error of reading.
fn readable(source: &dyn ByteSource, offset: u64, len: usize) -> Result<bytes::Bytes> {
    match source.read_at(offset, len) {
        Err(e) if is_lost(&e) => {}
        done => return done,
    }
    let mut out = vec![0; len];
    for (i, sector) in out.chunks_mut(SECTOR).enumerate() {
        let offset = offset + (i * SECTOR) as u64;
        match source.read_into(offset, sector) {
            Err(e)
                if is_lost(&e)
                    && !matches!(e.kind(), ErrorKind::Io { source, .. } if source.raw_os_error().is_some()) =>
            {
                // The file may begin inside this sector, so its units are read one by one.
                for (j, unit) in sector.chunks_mut(UNIT).enumerate() {
                    match source.read_into(offset + (j * UNIT) as u64, unit) {
                        Err(e) if is_lost(&e) => unit.fill(0),
                        done => done?,
                    }
                }
            }
            Err(e) if is_lost(&e) => sector.fill(0),
            done => done?,
        }
    }
    Ok(out.into())
}
