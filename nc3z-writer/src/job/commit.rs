//! Appends a new state of the file to its archive as a generation. Unchanged tiles are not stored again.
//!
//! Variables are matched by name, type and dimensions, whatever their position in the header; tiles are
//! matched by their bytes. The older state stays readable, and the new one is checked before it is committed.

use super::state::{Match, State, Tiles};
use crate::error::{ErrorKind, Result};
use crate::generation::{GenerationWriter, InPlace, Medium, Unsealed, version_number};
use crate::options::WriterOptions;
use crate::parity::{Renewal, Renewed};
use crate::plan::Dropped;
use crate::source_digests::{SourceDigests, hash};
use nc3z_format::archive::constants::REQUIRED_LOST;
use nc3z_format::archive::version::MESSAGE_LEN;
use nc3z_format::archive::{Metadata, TileLayoutSpec, VersionRecord};
use nc3z_format::classic::{VarId, Variable};
use nc3z_format::{Error as FormatError, Limits};
use nc3z_reader::{Archive, ClassicFile, Dataset, Monitor};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// The description of a version. Nothing is added automatically: equal commits give equal archives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitNote {
    /// A description of the change.
    pub message: Option<String>,
    /// The author of the change.
    pub author: Option<String>,
    /// The time of the change.
    pub time: Option<String>,
}

/// The result of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitReport {
    /// Number of the version. If the file is already the newest version, the number of that version.
    pub version: u64,
    /// The generation of the commit.
    pub generation: u32,
    /// Tiles stored in it.
    pub new_tiles: u64,
    /// Unchanged tiles.
    pub kept_tiles: u64,
    /// Bytes of the archive before and after.
    pub stored_len: (u64, u64),
    /// SHA-256 of the file.
    pub sha256: [u8; 32],
    /// The renewed parity after the version.
    pub parity: Option<Renewed>,
}

impl CommitReport {
    /// True if the file is already the newest version and the archive is unchanged.
    pub fn is_unchanged(&self) -> bool {
        self.stored_len.0 == self.stored_len.1
    }
}

/// Appends the file at `edited` to the archive at `path` as a new version. Every version restores to the
/// byte. A file that is already the newest version is not added again. With [`WriterOptions::with_dry_run`]
/// the archive stays unchanged, and the result describes what a commit would do.
///
/// # Errors
/// `path` is not an archive, or it has lost tiles. `edited` is not a classic file, or it has no variable of
/// the archive and the options do not force it. The note is too long. Another process changes the archive.
/// The new version does not restore the file. The system refuses an operation. Then the archive is unchanged.
pub fn commit_file(
    path: &Path,
    edited: &Path,
    note: &CommitNote,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<CommitReport> {
    note.check()?;
    let mut place = InPlace::open(path, &options.open_options())?;
    // If no version number is left, the file need not be read.
    next_number(place.archive())?;
    let archive = place.archive();
    if archive.trailer().required & REQUIRED_LOST != 0 {
        let what = "a new state of a file whose tiles are lost";
        return Err(FormatError::unsupported("trailer", archive.trailer_offset(), what).into());
    }
    let source = nc3z_reader::source::open(edited, false)?;
    let classic = ClassicFile::from_source(source, &Limits::default()).map_err(ErrorKind::Source)?;
    let sums = SourceDigests::new(&classic, options, monitor)?;
    let sha256 = sums.sha256;
    let last = archive.version()?;
    let is_unchanged = match archive.digest().sha256() {
        Some(recorded) => recorded == sha256,
        // The digest is not recorded after an edit that skipped it to save time.
        None => {
            archive.original_len() == classic.source().len() && hash(&archive.original(), monitor)? == sha256
        }
    };
    if is_unchanged {
        // The record does not say whether the version was damaged since. Without a record, it was read above.
        if archive.digest().sha256().is_some() {
            archive.check_original(monitor)?;
        }
        let (version, generation) = (last.number, archive.trailer().generation);
        let stored_len = (place.end(), place.end());
        place.check()?;
        return Ok(CommitReport {
            version,
            generation,
            new_tiles: 0,
            kept_tiles: 0,
            stored_len,
            sha256,
            parity: None,
        });
    }
    if !options.force {
        check_related(&place, &classic, &sha256, (path, edited), monitor)?;
    }
    let renewal = Renewal::begin(&mut place, options, monitor)?;
    let done = commit_to(&place, &classic, &sums, (edited, note), options, monitor);
    let (done, parity) = renewal.end(&mut place, options, monitor, done)?;
    Ok(CommitReport { parity, ..done })
}

/// Commits a file to the archive or, in a dry run, to a temporary file.
fn commit_to(
    place: &InPlace,
    classic: &ClassicFile,
    sums: &SourceDigests,
    (edited, note): (&Path, &CommitNote),
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<CommitReport> {
    let other = if options.dry_run { Some(place.rehearsal()?) } else { place.longer()? };
    let place = other.as_ref().unwrap_or(place);
    let (before, archive) = (place.end(), place.archive());
    let record = note.record(archive, next_number(archive)?)?;
    let version = record.number;
    let mut metadata = archive.metadata().clone();
    record.put(&mut metadata);
    sums.record.clone().within(before).put(&sums.sha256, &mut metadata.extra);
    let (after, generation, (new_tiles, kept_tiles)) =
        commit_state(place, classic, sums, &metadata, edited, options, monitor)?;
    let stored_len = (before, after);
    let sha256 = sums.sha256;
    Ok(CommitReport { version, generation, new_tiles, kept_tiles, stored_len, sha256, parity: None })
}

/// Refuses a file that seems to belong to another data set: none of its variables is in the archive, neither
/// by name, type and lengths nor by its values, and no version is this file.
fn check_related(
    place: &InPlace,
    classic: &ClassicFile,
    sha256: &[u8; 32],
    (path, edited): (&Path, &Path),
    monitor: &dyn Monitor,
) -> Result<()> {
    let archive = place.archive();
    let is_like = |(id, variable): (VarId, &Variable)| {
        archive.header().variable(&variable.name).is_some_and(|(v, _)| is_like(archive, v, classic, id))
    };
    if archive.header().variables.is_empty()
        || classic.header().variables().any(is_like)
        || find_known(place, sha256)?.is_some()
        || !match_variables(archive, classic, monitor)?.is_empty()
    {
        return Ok(());
    }
    Err(ErrorKind::Unrelated { archive: path.to_owned(), file: edited.to_owned() }.into())
}

/// Appends a state of the file with these sums and checks that it restores. Returns the archive's length,
/// the generation, and the numbers of new and unchanged tiles.
pub(crate) fn commit_state(
    place: &InPlace,
    classic: &ClassicFile,
    sums: &SourceDigests,
    metadata: &Metadata,
    name: &Path,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<(u64, u32, (u64, u64))> {
    let archive = place.archive();
    let known = find_known(place, &sums.sha256)?;
    let (mut counts, mut generation) = ((0, 0), 0);
    let after = place.append(|medium| {
        let unsealed = if let Some(known) = &known {
            write_again(place, medium, known, metadata, &mut counts)?
        } else {
            let matched = match_variables(archive, classic, monitor)?;
            let mut matched: HashMap<VarId, Match> =
                matched.into_iter().map(|(id, v)| (id, Match::Same(v))).collect();
            let new: Vec<VarId> = classic
                .header()
                .variables()
                .map(|(id, _)| id)
                .filter(|id| !matched.contains_key(id))
                .collect();
            let dropped = if new.is_empty() { Vec::new() } else { Dropped::find(archive, options)? };
            for id in new {
                let older = dropped.iter().map(|dropped| &dropped.archive);
                let layout =
                    std::iter::once(archive).chain(older).find_map(|old| layout_of_like(old, classic, id));
                if let Some(layout) = layout {
                    matched.insert(id, Match::Fresh(layout));
                }
            }
            let state = State::new(archive, classic, matched, options)?.with_dropped(dropped);
            let (unsealed, written) =
                state.write(place, medium, Some(sums.sha256), metadata, &Tiles::Compared, monitor)?;
            counts = written;
            unsealed
        };
        prove(place, medium, &unsealed, sums, name, monitor)?;
        generation = unsealed.trailer.generation;
        Ok(unsealed)
    })?;
    Ok((after, generation, counts))
}

/// Returns the number of the version after the newest.
///
/// # Errors
/// No version number is left.
pub(crate) fn next_number(archive: &Archive) -> Result<u64> {
    Ok(version_number(archive.version()?.number + 1)?.into())
}

impl CommitNote {
    pub(crate) fn check(&self) -> Result<()> {
        for (what, text) in [("message", &self.message), ("author", &self.author), ("time", &self.time)] {
            let len = text.as_ref().map_or(0, String::len);
            if len > MESSAGE_LEN {
                let why = format!("has {len} bytes; at most {MESSAGE_LEN} are kept");
                return Err(ErrorKind::Option { option: what, why, advice: None }.into());
            }
        }
        Ok(())
    }

    /// Returns the record of the version that follows the newest one of `archive`.
    pub(crate) fn record(&self, archive: &Archive, number: u64) -> Result<VersionRecord> {
        let CommitNote { message, author, time } = self.clone();
        Ok(VersionRecord { number, message, author, time, jump: Some(archive.next_jump()?) })
    }
}

/// Returns a recent generation that contains the file with this digest. Only `MOST_GENERATIONS` are searched,
/// so that the time of a commit does not grow with their number. An older state is stored like any other
/// edit.
fn find_known(place: &InPlace, sha256: &[u8; 32]) -> Result<Option<Archive>> {
    const MOST_GENERATIONS: usize = 1024;
    let recent = place.archive().recent_generations(MOST_GENERATIONS)?;
    let found = recent.iter().find(|(_, t)| t.digest.sha256() == Some(*sha256));
    let Some((_, trailer)) = found else { return Ok(None) };
    let options = place.options().clone().with_generation(u64::from(trailer.generation));
    Ok(Some(Archive::from_source(place.source()?, &options)?))
}

/// Writes a generation with the same content as an older one. No tile is stored again.
fn write_again(
    place: &InPlace,
    medium: &Medium<'_>,
    known: &Archive,
    metadata: &Metadata,
    (_, kept): &mut (u64, u64),
) -> Result<Unsealed> {
    let out = medium.buffered_at(place.end())?;
    let mut writer = GenerationWriter::after(out, place.path(), place.archive(), place.source()?)?;
    writer.set_digest(known.digest().sha256());
    writer.take_over(known)?;
    *kept = known.arrays().iter().map(|info| info.tiling.tile_count()).sum();
    writer.finish(metadata)
}

/// Restores the new state from the archive and checks it.
fn prove(
    place: &InPlace,
    medium: &Medium<'_>,
    unsealed: &Unsealed,
    sums: &SourceDigests,
    edited: &Path,
    monitor: &dyn Monitor,
) -> Result<()> {
    let archive = Archive::from_unsealed(medium.source()?, unsealed.trailer.clone(), place.options())?;
    if !sums.are_of(&archive, monitor)? {
        return Err(ErrorKind::Proof { path: edited.to_owned(), offset: 0 }.into());
    }
    Ok(())
}

/// Matches the file's variables with the archive's: first by name, then the remaining ones by content.
fn match_variables(
    old: &Archive,
    classic: &ClassicFile,
    monitor: &dyn Monitor,
) -> Result<HashMap<VarId, VarId>> {
    let mut by_name: HashMap<&[u8], VarId> = HashMap::new();
    for (id, variable) in old.header().variables() {
        by_name.entry(&variable.name).or_insert(id);
    }
    let mut found = HashMap::new();
    for (id, variable) in classic.header().variables() {
        if let Some(v) = by_name.get(&variable.name[..]).copied()
            && is_same_array(old, v, classic, id)
        {
            by_name.remove(&variable.name[..]);
            found.insert(id, v);
        }
    }
    let taken: HashSet<VarId> = found.values().copied().collect();
    let mut left: Vec<VarId> =
        old.header().variables().map(|(v, _)| v).filter(|v| !taken.contains(v)).collect();
    let again = ClassicFile::from_source(classic.source().clone(), &Limits::default())?;
    let (was, is) = (Dataset::from(old.clone()), Dataset::from(again));
    for (id, _) in classic.header().variables() {
        if found.contains_key(&id) {
            continue;
        }
        for at in 0..left.len() {
            let (Some(v), Some(w)) = (was.variable_at(left[at]), is.variable_at(id)) else { continue };
            if is_same_array(old, left[at], classic, id) && nc3z_reader::diff::is_same(&v, &w, monitor)? {
                found.insert(id, left.swap_remove(at));
                break;
            }
        }
    }
    Ok(found)
}

/// Returns the tile layout of a variable of the archive with the same type and shape as the file's variable.
/// With the same layout, the new variable may have equal tiles.
fn layout_of_like(old: &Archive, classic: &ClassicFile, new: VarId) -> Option<TileLayoutSpec> {
    let shape = &classic.layout().variables[new.index()].shape;
    let is_like =
        |v: VarId| is_same_array(old, v, classic, new) && old.layout().variables[v.index()].shape == *shape;
    let v = old.header().variables().map(|(v, _)| v).find(|&v| is_like(v))?;
    Some(old.head().layouts[v.index()].clone())
}

/// True if a variable of the archive and one of the file may have the same tiles.
fn is_same_array(old: &Archive, v: VarId, classic: &ClassicFile, new: VarId) -> bool {
    let (was, is) = (&old.layout().variables[v.index()], &classic.layout().variables[new.index()]);
    let chunked = matches!(old.head().layouts[v.index()], TileLayoutSpec::Chunked { .. });
    let alike = is_like(old, v, classic, new);
    // For chunks, all elements must be in the file.
    let fits = !chunked || is.elements == Some(is.present);
    alike && fits && was.owned && is.owned && !is_outgrown(old, v, is.present)
}

/// True if two variables have the same type and the same lengths, except for the first length.
fn is_like(old: &Archive, v: VarId, classic: &ClassicFile, new: VarId) -> bool {
    let (was, is) = (&old.layout().variables[v.index()], &classic.layout().variables[new.index()]);
    // The first dimension may grow. The other lengths define the order of the chunks and the distance to the
    // previous row and plane.
    let inner = was.shape.get(1..) == is.shape.get(1..);
    was.ty == is.ty && was.shape.len() == is.shape.len() && was.is_record == is.is_record && inner
}

/// Returns whether a new tile length is chosen for a variable that has grown. This is so if the variable had less than a
/// quarter of these elements, in a single linear tile of exactly that length: with the old length it would now have many
/// short tiles.
pub(crate) fn is_outgrown(old: &Archive, v: VarId, present: u64) -> bool {
    let was = &old.layout().variables[v.index()];
    matches!(old.head().layouts[v.index()], TileLayoutSpec::Linear(len) if len >= was.present && len < present / 4)
}
