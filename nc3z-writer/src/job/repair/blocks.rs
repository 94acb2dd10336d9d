//! A damaged archive in, a sound one out, with all that could be saved.
//!
//! ```text
//! recover ─▶ rebuild with fill values: digest, and which tiles are lost ─▶ carry blocks over ─▶ proof ─▶ sync, rename
//! ```
//! Stored bytes are copied unchanged; nothing is encoded again. The input is never written.

use crate::atomic::{AtomicFile, Attributes, is_same_file};
use crate::build::seal;
use crate::error::{ErrorKind, Result};
use crate::executor::{copy_tiles, restored_sha256};
use crate::generation::shorten;
use crate::job::archive::commit;
use crate::job::history::{dropped, metadata_alone};
use crate::options::{DEFAULT_MEMORY, ParityChoice, Share};
use nc3z_format::archive::{ArrayId, Metadata};
use nc3z_format::bytes::hex;
use nc3z_format::{Error as FormatError, Limits};
use nc3z_reader::recover::{RecoverOptions, Recovered};
use nc3z_reader::source::{FileSource, SharedSource};
use nc3z_reader::{Archive, Digest, Fill, Monitor, OpenOptions, Slab, TileLocation};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Largest number of runs of lost tiles in the metadata; the index marks all lost tiles.
const LISTED: usize = 10_000;
/// Largest number of JSON numbers in that list, because readers limit the number of JSON values.
const LISTED_NUMBERS: usize = 100_000;
/// Limit for the number of tiles of a short file; longer files may have one tile for every eight bytes.
/// Without a limit, a head copy of a few bytes could claim any number of tiles.
const TILES: u64 = 1 << 18;

/// Options for a repair.
#[derive(Debug, Clone, Default)]
pub struct BlockRepairOptions {
    /// Replace an existing output.
    pub force: bool,
    /// Also take blocks of a commit that has no trailer.
    pub uncommitted: bool,
    /// The new archive's parity.
    pub parity: ParityChoice,
    /// Limits for sizes that the file may claim.
    pub limits: Limits,
}

/// The reliability of the original's digest after a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairedDigest {
    /// Nothing is lost, and the rebuilt original has the recorded digest.
    Confirmed,
    /// Nothing is lost except the recorded digest. A new one is recorded, and the salt confirms that it is
    /// the original's.
    Recomputed,
    /// Nothing is lost by the checksums except the recorded digest, and nothing else confirms that all blocks
    /// belong to one file. No digest is recorded.
    Unconfirmed,
    /// Nothing is lost by the checksums, but the digest differs from the recorded one. No digest is recorded.
    Differs,
    /// Tiles are lost, so no digest is recorded.
    Lost,
    /// Some tiles use chains that this build does not know. The old digest is copied.
    CarriedOver,
}

/// Tiles that could not be saved.
#[derive(Debug, Clone)]
pub struct LostTiles {
    /// Their position.
    pub place: TileLocation,
    /// The reason why the first of them was lost.
    pub message: String,
}

/// The result of a repair.
#[derive(Debug, Clone)]
pub struct RepairedBlocks {
    /// Faults of the archive's structures.
    pub notes: Vec<String>,
    /// Tiles copied.
    pub tiles: u64,
    /// Tiles lost.
    pub lost_tiles: u64,
    /// Positions of the lost tiles, by runs.
    pub lost: Vec<LostTiles>,
    /// Blocks left out because no trailer commits them.
    pub uncommitted: u64,
    /// The share that the old archive's parity can repair, if parity was found.
    pub parity_before: Option<Share>,
    /// The share for the new archive.
    pub parity: Option<Share>,
    /// Bytes of the original.
    pub original_len: u64,
    /// Bytes of the new archive.
    pub stored_len: u64,
    /// SHA-256 of the restored file, with fill values in place of lost tiles.
    pub sha256: [u8; 32],
    /// The reliability of this digest.
    pub digest: RepairedDigest,
    /// The number of earlier versions of the damaged archive, which are not in the new one. With
    /// [`BlockRepairOptions::uncommitted`] they are not counted.
    pub earlier: u64,
    /// True if the version before the newest was saved, because the trailer of the newest is damaged.
    pub is_older: bool,
}

impl RepairedBlocks {
    /// True if the new archive provably has everything that the old one had: its only version, whole.
    pub fn is_complete(&self) -> bool {
        self.is_newest_whole() && self.earlier == 0
    }

    /// True if the new archive provably has all of the newest version: by a recorded digest, by the salt, or because the archive had
    /// no faults.
    pub fn is_newest_whole(&self) -> bool {
        let is_proven = match self.digest {
            RepairedDigest::Confirmed | RepairedDigest::Recomputed | RepairedDigest::CarriedOver => true,
            // No digest was recorded, and the archive has no faults.
            RepairedDigest::Unconfirmed => self.notes.is_empty(),
            RepairedDigest::Differs | RepairedDigest::Lost => false,
        };
        self.lost_tiles == 0 && is_proven && !self.is_older
    }
}

/// Writes the intact content of the archive at `input` as a sound archive at `output`. Unrecoverable tiles
/// are marked as lost in the index, the trailer and the metadata.
///
/// # Errors
/// The input cannot be interpreted: it has no head copy, another format, or an unknown version or feature.
/// The output exists or cannot be written. The monitor cancelled. Then the output file is unchanged.
pub fn repair_blocks(
    input: &Path,
    output: &Path,
    options: &BlockRepairOptions,
    monitor: &dyn Monitor,
) -> Result<RepairedBlocks> {
    let file = nc3z_reader::source::open_regular(input)
        .map_err(|e| nc3z_reader::Error::io("open", Some(input), e))?;
    let like = file.metadata().map_err(|e| nc3z_reader::Error::io("read the length of", Some(input), e))?;
    if is_same_file(&like, output) {
        return Err(ErrorKind::SameFile(input.to_owned()).into());
    }
    let attributes = Attributes::of_file(&file, &like);
    // Reads by position: with a memory map, an I/O error of a failing disk would kill the process.
    let source: SharedSource = Arc::new(FileSource::from_file(file, input)?);
    let target = AtomicFile::create(output, options.force)?;
    let open = OpenOptions::default().with_limits(options.limits.clone()).with_fill_lost(true);
    let how = RecoverOptions { open: open.clone(), uncommitted: options.uncommitted };
    let (archive, recovered) = Archive::recover(&source, &how, monitor)?;
    check_tile_count(&archive, source.len())?;

    let sha256 = restored_sha256(&archive, monitor)?;
    let filled = archive.filled();
    let lost: BTreeMap<_, _> = filled.iter().filter(|(_, f)| !f.unsupported).collect();
    let runs = lost_runs(&archive, &lost);
    let unknown = filled.values().any(|f| f.unsupported);
    let recorded = match archive.digest() {
        Digest::Sha256(recorded) if recovered.has_trailer || recovered.has_commit => Some(recorded),
        _ => None,
    };
    let (kept, worth) = match recorded {
        _ if !lost.is_empty() => (None, RepairedDigest::Lost),
        _ if unknown => (recorded, RepairedDigest::CarriedOver),
        Some(recorded) if recorded != sha256 => (None, RepairedDigest::Differs),
        Some(recorded) => (Some(recorded), RepairedDigest::Confirmed),
        None => unrecorded(&archive, &recovered, sha256),
    };
    let metadata = metadata(&archive, &runs, lost.len() as u64, recorded, sha256, worth);
    let lost_tiles = lost.len() as u64;
    let medium = target.medium();
    let (unsealed, tiles) =
        copy_tiles(&archive, &|array, tile| lost.contains_key(&(array, tile)), &medium, &metadata, monitor)?;

    let proof = Archive::from_unsealed(medium.source()?, unsealed.trailer.clone(), &open)?;
    if restored_sha256(&proof, monitor)? != sha256 {
        return Err(ErrorKind::Proof { path: input.to_owned(), offset: 0 }.into());
    }
    drop(proof);
    let parity_before = crate::parity::share_of(&archive).or_else(|| crate::parity::share_in(&source));
    let parity = options.parity.share(parity_before);
    let short = match (kept, parity) {
        // An archive in the short form keeps that form, so that a repair does not make it longer.
        (Some(sha256), None) if archive.is_short() => shorten(&medium, &unsealed, sha256)?,
        _ => None,
    };
    let stored_len = match short {
        Some(len) => {
            let proof = Archive::from_source(medium.source()?, &open)?;
            if restored_sha256(&proof, monitor)? != sha256 {
                return Err(ErrorKind::Proof { path: input.to_owned(), offset: 0 }.into());
            }
            len
        }
        None => seal(&medium, unsealed, kept, parity, DEFAULT_MEMORY, monitor)?,
    };
    commit(target, attributes, &OpenOptions::default(), monitor)?;
    let mut notes = recovered.notes;
    if recovered.uncommitted > 0 {
        notes.push(format!(
            "{} blocks belong to a commit without a trailer and were left out (--uncommitted takes them)",
            recovered.uncommitted
        ));
    }
    let number = archive.version().map_or(1, |record| record.number);
    // With `uncommitted`, the newest version alone was asked for.
    let earlier = if options.uncommitted {
        0
    } else {
        number.saturating_sub(1 + dropped(archive.metadata()).len() as u64)
    };
    Ok(RepairedBlocks {
        notes,
        tiles,
        lost_tiles,
        lost: runs,
        uncommitted: recovered.uncommitted,
        parity_before,
        parity,
        original_len: archive.original_len(),
        stored_len,
        sha256,
        digest: worth,
        earlier,
        is_older: recovered.is_older,
    })
}

/// Rates a digest that is not recorded anywhere. The salt of a file's first state depends on its whole
/// content.
fn unrecorded(
    archive: &Archive,
    recovered: &Recovered,
    sha256: [u8; 32],
) -> (Option<[u8; 32]>, RepairedDigest) {
    let (salt, header) = (archive.superblock().salt, archive.header_bytes());
    if salt.confirms(header, archive.original_len(), &sha256) {
        return (Some(sha256), RepairedDigest::Recomputed);
    }
    // The salt depends on the first state's content only, or on a seed, if no digest was recorded.
    let has_none = recovered.has_trailer && archive.digest() == Digest::None;
    let is_first = recovered.generation <= 1 && !has_none;
    (None, if is_first { RepairedDigest::Differs } else { RepairedDigest::Unconfirmed })
}

/// An index needs memory and disk space for every tile, even for tiles of which nothing is left.
fn check_tile_count(archive: &Archive, len: u64) -> Result<()> {
    let tiles = archive.arrays().iter().fold(0u64, |n, a| n.saturating_add(a.tiling.tile_count()));
    let limit = TILES.max(len / 8);
    if tiles > limit {
        return Err(FormatError::limit("head copy", None, "number of tiles", limit, tiles).into());
    }
    Ok(())
}

/// Joins consecutive lost tiles into runs.
fn lost_runs(archive: &Archive, lost: &BTreeMap<&(ArrayId, u64), &Fill>) -> Vec<LostTiles> {
    let mut runs: Vec<(ArrayId, Range<u64>, &str)> = Vec::new();
    for (&&(array, tile), fill) in lost {
        match runs.last_mut() {
            Some((last, range, _)) if *last == array && range.end == tile => range.end += 1,
            _ => runs.push((array, tile..tile + 1, &fill.message)),
        }
    }
    let place = |(array, tiles, message): (ArrayId, Range<u64>, &str)| LostTiles {
        place: archive.place(array, tiles),
        message: message.to_owned(),
    };
    runs.into_iter().map(place).collect()
}

/// Returns the old archive's metadata with a record of the repair (`spec/archive.md`, "Rebuilding").
fn metadata(
    archive: &Archive,
    runs: &[LostTiles],
    lost_tiles: u64,
    recorded: Option<[u8; 32]>,
    sha256: [u8; 32],
    worth: RepairedDigest,
) -> Metadata {
    let old = archive.metadata();
    let by = nc3z_format::SOFTWARE;
    let mut extra = metadata_alone(archive).extra;
    // An earlier repair may have recorded the digest of the original.
    let earlier = extra.get("repair").and_then(|r| r.get("original_sha256")).cloned();
    let original = recorded.map(|d| Value::from(hex(&d))).or(earlier);
    let digest = match worth {
        RepairedDigest::Confirmed => "confirmed",
        RepairedDigest::Recomputed => "recomputed",
        RepairedDigest::Unconfirmed => "unconfirmed",
        RepairedDigest::Differs => "differs",
        RepairedDigest::Lost => "lost",
        RepairedDigest::CarriedOver => "carried over",
    };
    let mut repair = json!({"by": by, "digest": digest, "lost_tiles": lost_tiles});
    if let Some(original) = original {
        repair["original_sha256"] = original;
    }
    if lost_tiles > 0 {
        repair["filled_sha256"] = hex(&sha256).into();
        repair["lost"] = listed(runs).map(|run| lost_json(&run.place)).collect();
        repair["lost_runs"] = runs.len().into();
    }
    extra.insert("repair".into(), repair);
    let writer = if old.writer.is_empty() { by.to_owned() } else { old.writer.clone() };
    Metadata { writer, options: old.options.clone(), chains: Vec::new(), extra }
}

/// Returns the first runs, as many as the metadata may list.
fn listed(runs: &[LostTiles]) -> impl Iterator<Item = &LostTiles> {
    let mut numbers = 0;
    runs.iter().take(LISTED).take_while(move |run| {
        let slab = |slab: &Slab| slab.start.len() + slab.count.len() + 3;
        numbers += 8 + run.place.slabs.iter().map(slab).sum::<usize>();
        numbers <= LISTED_NUMBERS
    })
}

fn lost_json(place: &TileLocation) -> Value {
    // Not every JSON reader reads numbers above 2^53 exactly.
    let wide = |n: u64| if n > 1 << 53 { Value::from(format!("{n:#x}")) } else { Value::from(n) };
    let list = |numbers: &[u64]| numbers.iter().map(|&n| wide(n)).collect::<Value>();
    let slabs = place.slabs.iter().map(|s| json!({"start": list(&s.start), "count": list(&s.count)}));
    json!({
        "id": place.array.0,
        "variable": place.variable.as_ref().map(|name| String::from_utf8_lossy(name)),
        "tiles": [wide(place.tiles.start), wide(place.tiles.end)],
        "hyperslabs": slabs.collect::<Value>(),
    })
}
