//! Writes selected versions of an archive to a new archive, without the other versions and without the tiles
//! that only those need.
//!
//! The oldest selected version is copied block by block. The others are read from the old archive and
//! committed on top, and each is checked by its SHA-256. Version numbers stay the same, because publications
//! cite them.

use super::commit::commit_state;
use super::history::add_dropped;
use super::rewritten::Input;
use crate::atomic::AtomicFile;
use crate::error::Result;
use crate::executor::copy_tiles;
use crate::generation::InPlace;
use crate::options::{Share, WriterOptions};
use crate::source_digests::{SourceDigests, hash};
use nc3z_format::Error as FormatError;
use nc3z_format::Limits;
use nc3z_format::archive::constants::REQUIRED_LOST;
use nc3z_format::archive::version::put_tags;
use nc3z_format::archive::{Metadata, VersionRecord};
use nc3z_reader::source::SharedSource;
use nc3z_reader::{Archive, ClassicFile, Digest, Monitor, VersionName};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// The versions to keep besides the newest.
#[derive(Debug, Clone, Copy)]
pub struct Keep<'a> {
    /// Versions by number or tag.
    pub versions: &'a [VersionName],
    /// Also keeps the versions that have tags.
    pub tagged: bool,
}

impl Default for Keep<'_> {
    fn default() -> Self {
        Keep { versions: &[], tagged: true }
    }
}

/// The result of removing versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// Versions in the new archive.
    pub kept: Vec<u64>,
    /// Versions that are only in the old archive.
    pub dropped: Vec<u64>,
    /// Tags of dropped versions.
    pub dropped_tags: Vec<String>,
    /// The share of the old archive's parity.
    pub parity_before: Option<Share>,
    /// The share of the new archive's parity.
    pub parity: Option<Share>,
    /// Bytes of the old archive and of the new one.
    pub stored_len: (u64, u64),
}

/// The bytes of an archive in the short form at most, as writers make it (`spec/archive.md`, section 12).
const MAX_COPIED: usize = 32 << 10;

/// Writes the versions `keep` and the newest version of the archive at `input` to a new archive at `output`.
/// Without `output`, the new archive replaces `input`. With [`WriterOptions::with_dry_run`] the new archive
/// is written, measured and deleted.
///
/// # Errors
/// `input` is not an archive, is damaged, or has lost tiles. A version does not exist. The output exists or
/// cannot be written. A version does not restore. Another process changes the archive. The monitor cancelled.
/// After an error nothing has changed on disk.
pub fn collect_file(
    input: &Path,
    output: Option<&Path>,
    keep: &Keep<'_>,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<Collected> {
    let all =
        |newest: &Archive| Ok(newest.versions(u64::MAX)?.iter().rev().map(|v| v.record.number).collect());
    collect(input, None, output, keep, &all, options, monitor)
}

/// The recoverable part of an archive whose end is lost.
pub(super) struct LostEnd {
    /// The newest version and its SHA-256, if it can be rebuilt.
    pub(super) rebuilt: Option<(Archive, [u8; 32])>,
}

/// Does the work of [`collect_file`]; `all` returns the numbers of all versions in the archive. If the
/// archive's end is lost, the newest complete version counts as the newest, and a version that could be
/// rebuilt follows it.
pub(super) fn collect(
    input: &Path,
    end: Option<LostEnd>,
    output: Option<&Path>,
    keep: &Keep<'_>,
    all: &dyn Fn(&Archive) -> Result<Vec<u64>>,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<Collected> {
    let old = Input::open(input, output)?;
    let source: SharedSource = old.source.clone();
    let open = |version: Option<VersionName>| {
        Archive::from_source(
            source.clone(),
            &options.open_options().with_version(version).with_older(end.is_some()),
        )
    };
    let newest = open(None)?;
    let mut kept = BTreeSet::from([newest.version()?.number]);
    let mut tags = newest.tags()?;
    if keep.tagged {
        kept.extend(tags.values());
    }
    for name in keep.versions {
        kept.insert(open(Some(name.clone()))?.version()?.number);
    }
    let dropped: Vec<u64> = all(&newest)?.into_iter().filter(|n| !kept.contains(n)).collect();
    let dropped_tags = tags.iter().filter(|(_, n)| !kept.contains(n)).map(|(tag, _)| tag.clone()).collect();
    tags.retain(|_, n| kept.contains(n));
    let parity_before = crate::parity::share_of(&newest);
    let target = old.target(options)?;
    let mut place: Option<InPlace> = None;
    // An archive in the short form has one version, which is copied: its long form would be longer. A longer file has foreign bytes
    // behind the archive, which are not copied.
    let is_copied = newest.is_short() && newest.stored_len() <= MAX_COPIED as u64;
    if is_copied {
        let len = usize::try_from(newest.stored_len()).unwrap_or(MAX_COPIED);
        target.medium().write_at(0, &source.read_at(0, len)?)?;
        let copy = InPlace::open(target.temporary_path(), &options.open_options())?;
        copy.archive().check_original(monitor)?;
        place = Some(copy);
    }
    for &number in kept.iter().filter(|_| !is_copied) {
        let archive = open(Some(VersionName::Number(number)))?;
        if archive.trailer().required & REQUIRED_LOST != 0 {
            let what = "a version whose tiles are lost";
            return Err(FormatError::unsupported("trailer", archive.trailer_offset(), what).into());
        }
        let metadata = metadata_of(&archive, &dropped);
        let original: SharedSource = Arc::new(archive.original());
        let sha256 = match archive.digest() {
            Digest::Sha256(sha256) => sha256,
            Digest::None | Digest::Stale => hash(&*original, monitor)?,
        };
        let is_last = end.as_ref().is_none_or(|end| end.rebuilt.is_none());
        if is_last && number == newest.version()?.number {
            let mut metadata = metadata;
            put_tags(&tags, &mut metadata);
            next(&mut place, &target, &archive, original, sha256, metadata, options, monitor)?;
        } else {
            next(&mut place, &target, &archive, original, sha256, metadata, options, monitor)?;
        }
    }
    if let Some((archive, sha256)) = end.and_then(|end| end.rebuilt) {
        kept.insert(archive.version()?.number);
        let mut metadata = metadata_of(&archive, &dropped);
        put_tags(&tags, &mut metadata);
        let original: SharedSource = Arc::new(archive.original());
        next(&mut place, &target, &archive, original, sha256, metadata, options, monitor)?;
    }
    let mut stored = place.as_ref().map_or(0, |place| place.archive().stored_len());
    let parity = parity_before.filter(|_| options.renew_parity);
    if let (Some(share), Some(place)) = (parity, &mut place) {
        place.reload()?;
        stored = crate::parity::append(place.archive(), &place.medium(), share, options.memory, monitor)?;
    }
    let stored_len = (newest.stored_len(), stored);
    drop(place);
    if !options.dry_run {
        old.put(target)?;
    }
    Ok(Collected {
        kept: kept.into_iter().collect(),
        dropped,
        dropped_tags,
        parity_before,
        parity,
        stored_len,
    })
}

/// Returns a version's metadata for the new archive.
pub(super) fn metadata_of(archive: &Archive, dropped: &[u64]) -> Metadata {
    let mut metadata = archive.metadata().clone();
    // The head copy contains the chains.
    metadata.chains.clear();
    put_tags(&std::collections::BTreeMap::new(), &mut metadata);
    add_dropped(&mut metadata, dropped.iter().copied());
    metadata
}

/// Writes one more version: copies the first one and commits the others on top.
#[expect(clippy::too_many_arguments, reason = "one call of one place")]
pub(super) fn next(
    place: &mut Option<InPlace>,
    target: &AtomicFile,
    archive: &Archive,
    original: SharedSource,
    sha256: [u8; 32],
    mut metadata: Metadata,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<()> {
    let record = VersionRecord { jump: None, ..archive.version()? };
    if let Some(place) = place {
        let jump = Some(place.archive().next_jump()?);
        VersionRecord { jump, ..record }.put(&mut metadata);
        let classic = ClassicFile::from_source(original, &Limits::default())?;
        commit_state(
            place,
            &classic,
            &SourceDigests::of_sha256(sha256),
            &metadata,
            target.target(),
            options,
            monitor,
        )?;
        return place.reload();
    }
    record.put(&mut metadata);
    let medium = target.medium();
    let (unsealed, _) = copy_tiles(archive, &|_, _| false, &medium, &metadata, monitor)?;
    unsealed.end(&medium, Some(sha256))?;
    let first = InPlace::open(target.temporary_path(), &options.open_options())?;
    first.archive().check_original(monitor)?;
    *place = Some(first);
    Ok(())
}
