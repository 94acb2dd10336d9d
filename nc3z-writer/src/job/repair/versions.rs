//! Saves the complete versions of a damaged archive in a new archive.
//!
//! ```text
//! each version rebuilt, its SHA-256 compared ─┬▶ all complete: the archive's bytes up to there, copied, checked by `verify`
//!                                             └▶ some lost:    the others committed anew, one on top of the other
//! ```
//! Copied bytes stay unchanged, and each version is rebuilt once; each committed version takes about five times as
//! long.

use crate::atomic::AtomicFile;
use crate::error::{Error, ErrorKind, Result};
use crate::generation::{InPlace, Medium, slots};
use crate::job::gc::{Collected, Keep, LostEnd, collect, metadata_of, next};
use crate::job::history::dropped;
use crate::job::rewritten::Input;
use crate::options::WriterOptions;
use crate::source_digests::hash;
use nc3z_format::archive::constants::REQUIRED_LOST;
use nc3z_format::archive::version::put_tags;
use nc3z_format::archive::{SUPERBLOCK_LEN, SectionKind};
use nc3z_format::limits::work;
use nc3z_reader::recover::RecoverOptions;
use nc3z_reader::source::SharedSource;
use nc3z_reader::verify;
use nc3z_reader::{Archive, Digest, ErrorKind as ReadError, Monitor, OpenOptions, VersionName, slots_at};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// The largest number of versions that are searched by their numbers, if they cannot be listed.
const LOOKED_FOR: u64 = 100_000;
/// Bytes that are copied at a time.
const PIECE_LEN: usize = 1 << 20;

/// The versions of a damaged archive that were saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepairedVersions {
    /// The archive has one version, or its newest state does not open.
    None,
    /// The newest version is not complete; these are, and nothing was written.
    Older(Vec<u64>),
    /// The new archive has these versions; the others are lost, each with its reason.
    Written {
        /// The versions in the new archive.
        done: Collected,
        /// Versions that are not complete.
        lost: Vec<(u64, String)>,
        /// Versions whose checksums are all correct but that were not rebuilt: there are too many, or they are too
        /// long ([`work`]).
        unproven: Vec<u64>,
        /// A sentence on damaged structures whose content is known from others.
        note: Option<String>,
    },
}

impl RepairedVersions {
    /// Adds a sentence on a damaged structure.
    #[must_use]
    pub(super) fn with_note(mut self, more: &str) -> Self {
        if let RepairedVersions::Written { note, .. } = &mut self {
            *note = Some(note.take().map_or_else(|| more.to_owned(), |note| format!("{more}; {note}")));
        }
        self
    }
}

/// The versions of a damaged archive, complete and lost.
#[derive(Default)]
struct Probed {
    /// The complete versions, the oldest first.
    whole: Vec<u64>,
    /// Versions of `whole` that were not rebuilt.
    unproven: Vec<u64>,
    /// The other versions, with the reasons.
    lost: Vec<(u64, String)>,
    /// True if a version of `whole` has no recorded SHA-256.
    has_unrecorded: bool,
}

/// Writes the complete versions of a damaged archive to a new archive at `output`, if the newest is one of them.
///
/// # Errors
/// The output exists or cannot be written; the monitor cancelled.
pub fn repair_versions(
    input: &Path,
    output: &Path,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<RepairedVersions> {
    let source = nc3z_reader::source::open(input, false)?;
    let how = OpenOptions::of_command().with_registry(options.registry.clone());
    let (mut lost_newest, mut unknown, mut damaged, mut note) = (None, None, None, None);
    let older = match Archive::from_source(source.clone(), &how) {
        Ok(_) => false,
        Err(e) => {
            match e.kind() {
                ReadError::NewestLost { version, whole: Some(whole), .. } if whole == version => {
                    note = Some(e.with_causes());
                }
                ReadError::NewestLost { version, whole: Some(_), .. } => {
                    lost_newest = Some((u64::from(*version), e.with_causes()));
                }
                ReadError::NewestUnknown { .. } => unknown = Some(e.with_causes()),
                // A structure that only the newest version needs, such as its header.
                _ if e.is_corrupt() => damaged = Some(e.with_causes()),
                _ => return Ok(RepairedVersions::None),
            }
            true
        }
    };
    let open = |version: Option<VersionName>| {
        Archive::from_source(source.clone(), &how.clone().with_version(version).with_older(older))
    };
    let Ok(newest) = open(None) else { return Ok(RepairedVersions::None) };
    let Ok(last) = newest.version().map(|record| record.number) else { return Ok(RepairedVersions::None) };
    // The next version, if there was one.
    lost_newest = lost_newest.or_else(|| Some((last.saturating_add(1), unknown?)));
    let is_damaged = damaged.is_some();
    if let Some(why) = damaged {
        match newest.superblock().slots.newest().map(|slot| u64::from(slot.version)) {
            // Its last generation added tags or parity.
            Some(number) if number == last => note = Some(why),
            number => lost_newest = Some((number.unwrap_or_else(|| last.saturating_add(1)), why)),
        }
    }
    // If the end of an older generation is damaged, an earlier version may be reached by another path.
    let numbers: Vec<u64> = match newest.versions(u64::MAX) {
        Ok(versions) => versions.iter().rev().map(|version| version.record.number).collect(),
        Err(_) => (1..=last.min(LOOKED_FOR)).collect(),
    };
    if numbers.len() + usize::from(lost_newest.is_some()) < 2
        || newest.trailer().required & REQUIRED_LOST != 0
    {
        return Ok(RepairedVersions::None);
    }
    let most = work(source.len(), newest.original_len());
    let probed = probe(&numbers, most, &|n| open(Some(VersionName::Number(n))), monitor)?;
    if probed.whole.last() != Some(&last) {
        return Ok(RepairedVersions::Older(probed.whole));
    }
    let Probed { whole, mut unproven, mut lost, has_unrecorded } = probed;
    let can_be_copied = lost.is_empty() && !has_unrecorded;
    let mut rebuilt = None;
    if let Some((number, why)) = lost_newest {
        let cause = |number| is_damaged.then(|| open(Some(VersionName::Number(number))).err()).flatten();
        lost.extend(between(&newest, last, number, &cause));
        let newest_blocks = rebuild(&source, &how, monitor)?;
        if is_damaged && matches!(newest_blocks, Rebuilt::InParts) {
            return Ok(RepairedVersions::Older(whole));
        }
        rebuilt = newest_blocks
            .whole()
            .filter(|(archive, _)| archive.version().is_ok_and(|record| record.number == number));
        if rebuilt.is_some() {
            note = Some(format!(
                "{why}: version {number} was rebuilt from its blocks and has the SHA-256 that is recorded for it"
            ));
        } else {
            lost.push((number, why));
        }
    }
    // The caller chooses parity.
    let options = &options.clone().with_parity_renewed(false);
    if can_be_copied {
        let old = Old { newest: &newest, versions: &whole };
        if let Some(done) = copy(input, output, &old, rebuilt.as_ref(), options, monitor)? {
            return Ok(RepairedVersions::Written { done, lost, unproven, note });
        }
    }
    let keep: Vec<VersionName> = whole.into_iter().map(VersionName::Number).collect();
    // A tag may name a version that is lost.
    let keep = Keep { versions: &keep, tagged: false };
    let end = older.then_some(LostEnd { rebuilt });
    let done = collect(input, end, Some(output), &keep, &|_| Ok(numbers.clone()), options, monitor)?;
    // Each was compared with its SHA-256.
    unproven.clear();
    Ok(RepairedVersions::Written { done, lost, unproven, note })
}

/// Returns the versions between the newest complete one and a later one that is lost, each with its `cause`. Without a cause, their
/// ends are lost like its end. Dropped versions are not included.
fn between(
    newest: &Archive,
    last: u64,
    lost: u64,
    cause: &dyn Fn(u64) -> Option<nc3z_reader::Error>,
) -> Vec<(u64, String)> {
    let dropped = dropped(newest.metadata());
    let numbers = (last + 1..lost).take(usize::try_from(LOOKED_FOR).expect("100,000"));
    let why = |number| {
        let end = || format!("its end is missing, like the end of version {lost}");
        cause(number).map_or_else(end, |e| e.with_causes())
    };
    numbers.filter(|number| !dropped.contains(number)).map(|number| (number, why(number))).collect()
}

/// Rebuilds versions, the newest first, until `most` bytes are rebuilt; only opens the others.
fn probe(
    numbers: &[u64],
    most: u64,
    open: &dyn Fn(u64) -> nc3z_reader::Result<Archive>,
    monitor: &dyn Monitor,
) -> Result<Probed> {
    let (mut probed, mut spent) = (Probed::default(), 0u64);
    for &number in numbers.iter().rev() {
        if monitor.is_cancelled() {
            return Err(ErrorKind::Interrupted.into());
        }
        let mut is_proven = true;
        let found = open(number).and_then(|archive| {
            spent = spent.saturating_add(archive.original_len());
            is_proven = spent <= most || number == *numbers.last().expect("one of them");
            probed.has_unrecorded |= !matches!(archive.digest(), Digest::Sha256(_));
            if is_proven { archive.check_original(monitor).map(drop) } else { Ok(()) }
        });
        match found {
            Ok(()) => {
                probed.whole.push(number);
                probed.unproven.extend((!is_proven).then_some(number));
            }
            Err(e) if e.is_interrupted() => return Err(e.into()),
            Err(e) => probed.lost.push((number, e.with_causes())),
        }
    }
    probed.whole.reverse();
    probed.unproven.reverse();
    probed.lost.reverse();
    Ok(probed)
}

/// An archive whose versions are all complete.
struct Old<'a> {
    newest: &'a Archive,
    versions: &'a [u64],
}

/// Copies the archive up to the end of its newest complete generation, and puts a rebuilt version on top. Returns
/// nothing if the result is not sound: if other parts than the end are damaged, or if there is parity in the
/// middle, which may cover lost bytes.
fn copy(
    input: &Path,
    output: &Path,
    old: &Old<'_>,
    rebuilt: Option<&(Archive, [u8; 32])>,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<Option<Collected>> {
    let (newest, found) = (old.newest, Input::open(input, Some(output))?);
    let parity_before = crate::parity::share_of(newest);
    let end = match crate::parity::before_last(newest, &*found.source)? {
        Some(trailer) => trailer.archive_len,
        None if newest.sections().find(SectionKind::Parity).is_ok() => return Ok(None),
        None => newest.trailer().archive_len,
    };
    let target = found.target(options)?;
    if !copy_to(&target, &*found.source, end, newest, monitor)? {
        return Ok(None);
    }
    let (mut kept, mut stored) = (old.versions.to_vec(), end);
    if let Some((archive, sha256)) = rebuilt {
        kept.push(archive.version()?.number);
        let mut metadata = metadata_of(archive, &[]);
        put_tags(&newest.tags()?, &mut metadata);
        let mut place = Some(InPlace::open(target.temporary_path(), &options.open_options())?);
        let original: SharedSource = Arc::new(archive.original());
        next(&mut place, &target, archive, original, *sha256, metadata, options, monitor)?;
        stored = place.as_ref().map_or(end, InPlace::end);
    }
    found.put(target)?;
    Ok(Some(Collected {
        kept,
        dropped: Vec::new(),
        dropped_tags: Vec::new(),
        parity_before,
        parity: None,
        stored_len: (newest.stored_len(), stored),
    }))
}

/// Copies the first `end` bytes, with the commit slots of the generation that ends there. Returns true if that is a
/// sound archive.
fn copy_to(
    target: &AtomicFile,
    source: &dyn nc3z_reader::source::ByteSource,
    end: u64,
    newest: &Archive,
    monitor: &dyn Monitor,
) -> Result<bool> {
    let medium = target.medium();
    let mut out = medium.writer_at(0)?;
    let mut piece = vec![0; PIECE_LEN];
    for at in (0..end).step_by(PIECE_LEN) {
        if monitor.is_cancelled() {
            return Err(ErrorKind::Interrupted.into());
        }
        let piece = &mut piece[..usize::try_from(end - at).map_or(PIECE_LEN, |n| n.min(PIECE_LEN))];
        source.read_into(at, piece)?;
        out.write_all(piece).map_err(|e| Error::io("write", medium.name(), e))?;
    }
    drop(out);
    is_sound(&medium, end, newest, monitor)
}

fn is_sound(medium: &Medium<'_>, end: u64, newest: &Archive, monitor: &dyn Monitor) -> Result<bool> {
    if end <= SUPERBLOCK_LEN as u64 {
        return Ok(false);
    }
    let superblock = newest.superblock();
    let Ok(named) = slots_at(&*medium.source()?, end, superblock) else { return Ok(false) };
    slots::write(medium, &superblock.salt, &named)?;
    match verify::quick(&medium.source()?, &OpenOptions::of_command(), monitor) {
        Err(e) if e.is_interrupted() => Err(e.into()),
        Err(_) => Ok(false),
        Ok(report) => Ok(report.is_sound()),
    }
}

/// The blocks of the newest version, and what they make.
enum Rebuilt {
    /// A file with the recorded SHA-256.
    Whole(Box<(Archive, [u8; 32])>),
    /// Some tiles are lost, or nothing says that the file is the original.
    InParts,
    /// Nothing: the header or the commit block is lost.
    Nothing,
}

impl Rebuilt {
    fn whole(self) -> Option<(Archive, [u8; 32])> {
        match self {
            Rebuilt::Whole(found) => Some(*found),
            Rebuilt::InParts | Rebuilt::Nothing => None,
        }
    }
}

/// Rebuilds the newest version from its blocks, if another structure is lost. The result is checked by the SHA-256 in the trailer or
/// in the commit block.
fn rebuild(source: &SharedSource, how: &OpenOptions, monitor: &dyn Monitor) -> Result<Rebuilt> {
    let how = RecoverOptions { open: how.clone(), uncommitted: false };
    let (archive, found) = match Archive::recover(source, &how, monitor) {
        Err(e) if e.is_interrupted() => return Err(e.into()),
        Err(_) => return Ok(Rebuilt::Nothing),
        Ok(found) => found,
    };
    if found.is_older || !(found.has_commit || found.has_trailer) {
        return Ok(Rebuilt::Nothing);
    }
    let Digest::Sha256(recorded) = archive.digest() else { return Ok(Rebuilt::InParts) };
    match hash(&archive.original(), monitor) {
        Err(e) if e.is_interrupted() => Err(e),
        Ok(sha256) if sha256 == recorded => Ok(Rebuilt::Whole(Box::new((archive, recorded)))),
        Ok(_) | Err(_) => Ok(Rebuilt::InParts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::Edit;
    use crate::job::archive::archive_file;
    use crate::job::commit::CommitNote;
    use nc3z_format::NcType;

    /// A classic file without variables.
    const EMPTY: [u8; 32] = {
        let mut bytes = [0; 32];
        (bytes[0], bytes[1], bytes[2], bytes[3]) = (b'C', b'D', b'F', 1);
        bytes
    };

    #[test]
    fn versions_beyond_the_budget_are_opened_and_named() {
        let directory = tempfile::tempdir().unwrap();
        let (file, path) = (directory.path().join("a.nc"), directory.path().join("a.nc3z"));
        std::fs::write(&file, EMPTY).unwrap();
        archive_file(&file, &path, &WriterOptions::default(), &()).unwrap();
        for step in 1..4_u32 {
            let mut edit = Edit::open(&path, &WriterOptions::default()).unwrap();
            edit.set_attribute(None, "step", NcType::Int, &step.to_be_bytes()).unwrap();
            edit.commit(&CommitNote::default(), &()).unwrap();
        }
        let open = |number| {
            let options = OpenOptions::default().with_version(Some(VersionName::Number(number)));
            Archive::from_source(nc3z_reader::source::open(&path, false)?, &options)
        };
        let len = open(4).unwrap().original_len();
        let unproven = |most| {
            let probed = probe(&[1, 2, 3, 4], most, &open, &()).unwrap();
            assert_eq!(probed.whole, [1, 2, 3, 4]);
            probed.unproven
        };
        assert_eq!(unproven(u64::MAX), Vec::<u64>::new());
        assert_eq!(unproven(2 * len), [1, 2]);
        // The newest is always rebuilt.
        assert_eq!(unproven(0), [1, 2, 3]);
    }

    /// Whichever byte is damaged, each version that opens by its number is in the repaired archive,
    /// and the repair is complete exactly if all are.
    #[test]
    fn each_version_that_opens_is_saved_whichever_byte_is_damaged() {
        use crate::job::repair::{RepairOptions, repair_file};
        use nc3z_reader::source::ByteSource;
        let directory = tempfile::tempdir().unwrap();
        let path = |name| directory.path().join(name);
        std::fs::write(path("a.nc"), EMPTY).unwrap();
        archive_file(&path("a.nc"), &path("a.nc3z"), &WriterOptions::default(), &()).unwrap();
        for step in 1..3_u32 {
            let mut edit = Edit::open(&path("a.nc3z"), &WriterOptions::default()).unwrap();
            edit.set_attribute(None, "step", NcType::Int, &step.to_be_bytes()).unwrap();
            edit.commit(&CommitNote::default(), &()).unwrap();
        }
        let originals = |path: &Path| {
            [1, 2, 3].map(|number| -> nc3z_reader::Result<_> {
                let options = OpenOptions::default().with_version(Some(VersionName::Number(number)));
                let archive = Archive::from_source(nc3z_reader::source::open(path, false)?, &options)?;
                archive.check_original(&())?;
                let original = archive.original();
                Ok(original.read_at(0, usize::try_from(archive.original_len()).unwrap())?.to_vec())
            })
        };
        let whole = originals(&path("a.nc3z")).map(Result::unwrap);
        let bytes = std::fs::read(path("a.nc3z")).unwrap();
        let options = RepairOptions { force: true, ..RepairOptions::default() };
        let (mut tried, mut saved, mut complete) = (0, 0, 0);
        // A prime step, so that all parts of structures are hit.
        for at in (0..bytes.len()).step_by(11) {
            tried += 1;
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            std::fs::write(path("bad.nc3z"), damaged).unwrap();
            let opened = originals(&path("bad.nc3z")).map(Result::ok);
            let outcome = match repair_file(&path("bad.nc3z"), &path("new.nc3z"), &options, &()) {
                Ok(outcome) => outcome,
                Err(e) => {
                    assert!(opened.iter().all(Option::is_none), "byte {at}: {e}, and versions open");
                    continue;
                }
            };
            let repaired = originals(&path("new.nc3z")).map(Result::ok);
            for (number, ((opened, repaired), whole)) in opened.iter().zip(&repaired).zip(&whole).enumerate()
            {
                let is_right = |found: &Option<Vec<u8>>| found.as_ref().is_none_or(|found| found == whole);
                assert!(is_right(opened) && is_right(repaired), "byte {at}: another version {}", number + 1);
                assert!(
                    opened.is_none() || repaired.is_some(),
                    "byte {at}: version {} is not saved",
                    number + 1
                );
                saved += usize::from(repaired.is_some());
            }
            let all = repaired.iter().all(Option::is_some);
            assert_eq!(outcome.is_complete(), all, "byte {at}: {outcome:?}");
            complete += usize::from(all);
        }
        // Many bytes belong to one version, or are in two places.
        assert!(saved > tried * 2 && complete > tried / 3, "{saved}, {complete} of {tried}");
    }
}
