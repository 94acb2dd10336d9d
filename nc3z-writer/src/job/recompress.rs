//! Writes an archive's content as a new archive with another preset or other tiles. The new archive is
//! compared with the old one byte by byte before it replaces it.
//!
//! The bytes come from the old archive ([`Archive::original`]): no file is restored to disk.

use super::history::metadata_alone;
use super::rewritten::Input;
use crate::build::{Build, Built};
use crate::error::{ErrorKind, Result};
use crate::job::archive::check_unchanged;
use crate::options::{ParityChoice, Share, WriterOptions};
use crate::plan::Partition;
use crate::source_digests::hash;
use nc3z_format::Error as FormatError;
use nc3z_format::Limits;
use nc3z_format::archive::constants::{REQUIRED_LOSSY, REQUIRED_LOST};
use nc3z_format::archive::{LINEAGE, TileLayoutSpec};
use nc3z_format::bytes::hex;
use nc3z_format::tile::Edge;
use nc3z_reader::source::{FileSource, SharedSource};
use nc3z_reader::{Archive, ClassicFile, Digest, Monitor, OpenOptions};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Conditions for replacing the old archive.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReplacePolicy {
    /// Replace only if the new archive is smaller.
    pub if_smaller: bool,
    /// Never replace: everything but the last step is done.
    pub dry_run: bool,
    /// Replace even if the old archive has earlier generations, or bytes after its last trailer, which the
    /// new one does not keep.
    pub drop_history: bool,
    /// The new archive's parity.
    pub parity: ParityChoice,
}

/// The result of recompressing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recompressed {
    /// Bytes of the classic file.
    pub original_len: u64,
    /// Bytes of the old archive.
    pub old_len: u64,
    /// SHA-256 of the old archive.
    pub old_sha256: [u8; 32],
    /// Bytes of the new archive.
    pub stored_len: u64,
    /// SHA-256 of the classic file, computed from the new archive.
    pub sha256: [u8; 32],
    /// The old archive's recorded digest of the file.
    pub recorded: Digest,
    /// True if the new archive was put in place; false if the conditions prevented it.
    pub written: bool,
    /// The share that the old archive's parity can repair, if it has parity.
    pub parity_before: Option<Share>,
    /// The share for the new archive.
    pub parity: Option<Share>,
    /// Parts of the old archive that the new one does not keep.
    pub dropped: Vec<String>,
    /// Requested options that could not be applied.
    pub warnings: Vec<String>,
}

/// Writes the content of the archive at `input` as a new archive at `output`. Without `output`, the new
/// archive replaces `input`.
///
/// The new archive is restored and compared with the content of the old one, byte by byte, regardless of
/// [`WriterOptions::with_verify`]. The SHA-256 must equal the recorded one, if there is one. The new archive
/// has the mode and modification time of the old one. Chunked variables keep their chunks unless the options
/// request chunks or a layout, by name or for all.
///
/// # Errors
/// The input is not an archive, is damaged, or changed during the work. It has history, and `terms` do not
/// allow dropping it. The output exists or cannot be written. The comparison failed. The monitor cancelled.
/// After an error nothing has changed on disk.
pub fn recompress_file(
    input: &Path,
    output: Option<&Path>,
    options: &WriterOptions,
    terms: ReplacePolicy,
    monitor: &dyn Monitor,
) -> Result<Recompressed> {
    let place = Input::open(input, output)?;
    let (before, source) = (&place.before, &place.source);
    let shared: SharedSource = source.clone();
    let open = OpenOptions::of_command().with_registry(options.registry.clone());
    let archive = Archive::from_source(shared, &open)?;
    let mut dropped = history(&archive, source);
    if output.is_none() && !dropped.is_empty() && !terms.drop_history {
        return Err(ErrorKind::History { path: input.to_owned(), what: dropped.join(", and ") }.into());
    }
    let required = archive.trailer().required;
    if required & REQUIRED_LOST != 0 {
        let what = "an archive that holds lost tiles; its original cannot be rebuilt";
        return Err(FormatError::unsupported("trailer", archive.trailer_offset(), what).into());
    }
    let parity_before = crate::parity::share_of(&archive);
    let parity = terms.parity.share(parity_before);
    let old_sha256 = hash(&**source, monitor)?;
    // Rounding is a property of the content. The place of the head is a property of the old archive only.
    let options =
        options.clone().with_extra(extra(&archive, &old_sha256)).with_required(required & REQUIRED_LOSSY);
    let target = place.target(&options)?;
    let original: SharedSource = Arc::new(archive.original());
    let classic = ClassicFile::from_source(original, &Limits::default())?;
    let mut partition = Partition::new(classic.header(), classic.layout(), &options)?;
    let warnings = partition.warnings.clone();
    keep_chunks(&archive, &options, &mut partition);
    let build = Build {
        classic: &classic,
        name: input,
        options: &options,
        lossy: None,
        parity,
        prove: true,
        unchanged: &|| check_unchanged(source.file(), before, input),
        accept: &|sha256| Ok(archive.check_recorded(sha256).map(drop)?),
        monitor,
    };
    let Built { sha256, stored_len, .. } = build.run(&partition, &target.medium())?;
    Archive::open(target.temporary_path())?;
    if monitor.is_cancelled() {
        return Err(ErrorKind::Interrupted.into());
    }
    let written = !(terms.dry_run || (terms.if_smaller && stored_len >= before.len()));
    if written {
        place.put(target)?;
    } else {
        dropped.clear();
    }
    let (original_len, recorded) = (archive.original_len(), archive.digest());
    Ok(Recompressed {
        original_len,
        old_len: before.len(),
        old_sha256,
        stored_len,
        sha256,
        recorded,
        written,
        parity_before,
        parity,
        dropped,
        warnings,
    })
}

/// Keeps the chunks of variables for which the options request nothing else. Linear tiles follow the preset.
fn keep_chunks(archive: &Archive, options: &WriterOptions, partition: &mut Partition) {
    let variables = archive.header().variables.iter().zip(&archive.head().layouts);
    for ((variable, was), is) in variables.zip(&mut partition.variables) {
        if let TileLayoutSpec::Chunked { shape, padded } = was
            && !options.layouts.asks_for(&variable.name)
        {
            let padded = *padded || options.layouts.edge == Edge::Padded;
            *is = TileLayoutSpec::Chunked { shape: shape.clone(), padded };
        }
    }
}

/// Lists the parts of the old archive that a new one does not keep.
fn history(archive: &Archive, source: &FileSource) -> Vec<String> {
    let mut found = Vec::new();
    // Parity is a generation too, but not history: it is made anew.
    let parity = u32::from(crate::parity::is_last(archive, source));
    let earlier = archive.trailer().generation.saturating_sub(1 + parity);
    if earlier > 0 {
        found.push(format!("{earlier} earlier commit{}", if earlier == 1 { "" } else { "s" }));
    }
    if archive.torn_tail() > 0 {
        let (bytes, at) = (archive.torn_tail(), archive.trailer().archive_len);
        found.push(format!(
            "{bytes} bytes behind its last trailer, from byte {at} (a commit that did not finish)"
        ));
    }
    found
}

/// Returns the old archive's metadata that describe the content, without those that every writer sets itself.
/// The lineage gets one more entry, for the old archive. It contains no names and no dates: the same input
/// gives the same bytes, and file names may be private.
fn extra(archive: &Archive, sha256: &[u8; 32]) -> BTreeMap<String, Value> {
    let metadata = archive.metadata();
    let mut extra = metadata_alone(archive).extra;
    let mut entries = match extra.remove(LINEAGE) {
        Some(Value::Array(entries)) => entries,
        _ => Vec::new(),
    };
    entries.push(json!({
        "archive_bytes": archive.stored_len(),
        "archive_sha256": hex(sha256),
        "digest_state": archive.digest().state(),
        "generation": archive.trailer().generation,
        "options": metadata.options,
        "writer": metadata.writer,
    }));
    extra.insert(LINEAGE.to_owned(), Value::Array(entries));
    extra
}
