//! An archive that is not the file a manifest lists, and yet holds what that file held: it has grown since, or was recompressed.

use crate::Result;
use nc3z_format::archive::constants::SLOTS_AT;
use nc3z_format::bytes::hex;
use nc3z_reader::source::{ByteSource, FileSource, SharedSource};
use nc3z_reader::{Archive, Monitor, OpenOptions, slots_at, verify};
use nc3z_writer::LINEAGE;
use sha2::{Digest as _, Sha256};
use std::path::Path;
use std::sync::Arc;

/// Bytes hashed at a time.
const PIECE: u64 = 1 << 20;
/// Generations that are compared with a list: each of them is hashed as a whole, because its commit slots are at the beginning.
const TRIED: usize = 64;

/// What became of a listed archive that is another file now.
pub enum Change {
    /// It is sound and holds what is listed: why.
    Explained(&'static str),
    /// It is a sound archive; nothing shows what it has to do with the one that is listed.
    Another,
    /// It is no archive, or a damaged one.
    Damaged,
}

/// Looks into an archive whose SHA-256 is not the listed one. A list is signed, an archive's own words are not: this explains a difference, and does not undo it.
pub fn explain(
    path: &Path,
    listed: &[u8; 32],
    options: &OpenOptions,
    monitor: &dyn Monitor,
) -> Result<Change> {
    let source: SharedSource = Arc::new(FileSource::open(path)?);
    let Ok(archive) = Archive::from_source(source.clone(), options) else { return Ok(Change::Damaged) };
    // Every tile is decoded, and the file rebuilt and compared with the SHA-256 on record.
    let report = verify::deep(&source, options, monitor)?;
    if !report.is_sound() {
        return Ok(Change::Damaged);
    }
    if !report.is_complete() {
        return Ok(Change::Another);
    }
    if is_recompressed(&archive, listed) {
        return Ok(Change::Explained("it says that it was recompressed from the archive that is listed"));
    }
    // What is in the short form has one generation, and is given the long one before it grows.
    if !archive.is_short() && has_grown(&archive, &*source, listed, monitor)? {
        return Ok(Change::Explained("it has grown since, and begins with all that is listed"));
    }
    Ok(Change::Another)
}

/// Whether the archive was the listed file at the end of one of its last [`TRIED`] generations.
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

/// The SHA-256 of the archive as it was when it ended at `end`: its first bytes, with the commit slots of that generation.
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

/// Whether the archive names the listed file as one that it was made from.
fn is_recompressed(archive: &Archive, listed: &[u8; 32]) -> bool {
    let listed = hex(listed);
    let lineage = archive.metadata().extra.get(LINEAGE).and_then(serde_json::Value::as_array);
    lineage.into_iter().flatten().any(|entry| entry["archive_sha256"].as_str() == Some(&listed))
}
