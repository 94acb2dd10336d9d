//! Explains archives whose bytes differ from the manifest although they contain the same file: something was
//! appended, or the archive was recompressed.

use crate::tree::Result;
use nc3z_format::archive::constants::SLOTS_AT;
use nc3z_format::bytes::hex;
use nc3z_reader::source::{ByteSource, FileSource, SharedSource};
use nc3z_reader::{Archive, Monitor, OpenOptions, slots_at, verify};
use sha2::{Digest as _, Sha256};
use std::path::Path;
use std::sync::Arc;

/// The number of bytes hashed at a time.
const PIECE: u64 = 1 << 20;
/// The number of generations that are compared with a list. Each of them is hashed completely, because its
/// commit slots are at the beginning.
const TRIED: usize = 64;

/// The change of a listed archive whose bytes are different now.
pub enum Change {
    /// It is sound, and contains the listed file; the text gives the reason.
    Explained(&'static str),
    /// It is a sound archive, but has no known relation to the listed one.
    Another,
    /// It is not an archive, or a damaged one.
    Damaged,
}

/// Examines an archive whose SHA-256 is not the listed one. A list may be signed, but an archive's own
/// statements are not: the result explains a difference, but does not prove that it is harmless.
pub fn explain(
    path: &Path,
    listed: &[u8; 32],
    options: &OpenOptions,
    monitor: &dyn Monitor,
) -> Result<Change> {
    let source: SharedSource = Arc::new(FileSource::open(path)?);
    let Ok(archive) = Archive::from_source(source.clone(), options) else { return Ok(Change::Damaged) };
    // Every tile is decoded, and the file is rebuilt and compared with the stored SHA-256.
    let report = verify::deep(&source, options, monitor)?;
    if !report.is_sound() {
        return Ok(Change::Damaged);
    }
    if !report.is_complete() {
        return Ok(Change::Another);
    }
    if is_recompressed(&archive, listed) {
        return Ok(Change::Explained("its metadata say that it was recompressed from the listed archive"));
    }
    // An archive in the short form has one generation, and is converted to the long form before it grows.
    if !archive.is_short() && has_grown(&archive, &*source, listed, monitor)? {
        return Ok(Change::Explained("it was appended to, and begins with the listed file"));
    }
    Ok(Change::Another)
}

/// Returns whether the archive was the listed file at the end of one of its last [`TRIED`] generations.
fn has_grown(
    archive: &Archive,
    source: &dyn ByteSource,
    listed: &[u8; 32],
    monitor: &dyn Monitor,
) -> Result<bool> {
    let mut ends: Vec<u64> =
        archive.generations()?.into_iter().map(|(_, trailer)| trailer.archive_len).collect();
    ends.sort_unstable();
    for end in ends.into_iter().rev().take(TRIED) {
        if hash_at(archive, source, end, monitor)? == *listed {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the SHA-256 of the archive when it ended at `end`: its first bytes, with the commit slots of that
/// generation.
fn hash_at(archive: &Archive, source: &dyn ByteSource, end: u64, monitor: &dyn Monitor) -> Result<[u8; 32]> {
    let superblock = archive.superblock();
    let slots = slots_at(source, end, superblock)?.encode(&superblock.salt);
    let mut sha = Sha256::new();
    sha.update(source.read_at(0, SLOTS_AT)?);
    sha.update(slots);
    let mut at = (SLOTS_AT + slots.len()) as u64;
    while at < end {
        if monitor.is_cancelled() {
            return Err(nc3z_reader::Error::interrupted().into());
        }
        let len = usize::try_from(PIECE.min(end - at)).expect("a piece has at most PIECE bytes");
        sha.update(source.read_at(at, len)?);
        at += len as u64;
    }
    Ok(sha.finalize().into())
}

/// Returns whether the archive's metadata name the listed file as a predecessor.
fn is_recompressed(archive: &Archive, listed: &[u8; 32]) -> bool {
    let listed = hex(listed);
    archive.metadata().lineage().iter().any(|entry| entry["archive_sha256"].as_str() == Some(&listed))
}
