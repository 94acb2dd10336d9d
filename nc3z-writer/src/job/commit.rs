//! Another state of the file, appended to its archive as a generation: what did not change is not stored again.
//!
//! Variables are known again by name, type and dimensions, wherever they stand in the header; tiles by their bytes. The older state stays
//! readable, and the new one is proven before it counts.

use super::dropped::Dropped;
use super::state::{Match, State, Tiles};
use crate::build::{OUT_BUFFER, Sums, hash};
use crate::error::{ErrorKind, Result};
use crate::generation::{GenerationWriter, InPlace, Medium, Unsealed, version_number};
use crate::options::WriterOptions;
use crate::parity::{Renewal, Renewed};
use nc3z_format::archive::constants::REQUIRED_LOST;
use nc3z_format::archive::version::MESSAGE_LEN;
use nc3z_format::archive::{DigestState, Metadata, TileLayoutSpec, VersionRecord};
use nc3z_format::classic::{VarId, Variable};
use nc3z_format::digest::DigestRecord;
use nc3z_format::{Error as FormatError, Limits};
use nc3z_reader::{Archive, ClassicFile, Dataset, Monitor};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::io::BufWriter;
use std::path::Path;

/// What is said of a version. Nothing is added by itself: the same commits make the same archive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitNote {
    /// What the change is.
    pub message: Option<String>,
    /// Who made it.
    pub author: Option<String>,
    /// When.
    pub time: Option<String>,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// Number of the version; where the file is the newest version already, of that.
    pub version: u64,
    /// Its generation.
    pub generation: u32,
    /// Tiles stored in it.
    pub new_tiles: u64,
    /// Tiles that are as they were.
    pub kept_tiles: u64,
    /// Bytes of the archive before and after.
    pub stored_len: (u64, u64),
    /// SHA-256 of the file.
    pub sha256: [u8; 32],
    /// Parity that was made anew behind it.
    pub parity: Option<Renewed>,
}

impl Committed {
    /// True where the file is the newest version already: the archive is as it was.
    pub fn is_known(&self) -> bool {
        self.stored_len.0 == self.stored_len.1
    }
}

/// Appends the file at `edited` to the archive at `path` as a new version. Every version restores to the byte. A file that is the newest version already is not
/// added again. With [`WriterOptions::with_dry_run`] the archive stays as it is, and what is returned is what would have been done.
///
/// # Errors
/// No archive, or one with lost tiles; no classic file, or one that has no variable of the archive, unless the options force it; words that are too long; another
/// process changes the archive; the proof failed; the system refuses. The archive is then what it was.
pub fn commit_file(
    path: &Path,
    edited: &Path,
    note: &CommitNote,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<Committed> {
    note.check()?;
    let mut place = InPlace::open_as_it_is(path, &options.open_options())?;
    // Numbers that are used up are no reason to read the file.
    next_number(place.archive())?;
    let archive = place.archive();
    if archive.trailer().required & REQUIRED_LOST != 0 {
        let what = "a new state of a file whose tiles are lost";
        return Err(FormatError::unsupported("trailer", archive.trailer_offset(), what).into());
    }
    let source = nc3z_reader::source::open(edited, false)?;
    let classic = ClassicFile::from_source(source, &Limits::default()).map_err(ErrorKind::Source)?;
    let Sums { sha256, record: digests, .. } = Sums::of(&classic, options, monitor)?;
    let last = archive.version()?;
    let is_known = match archive.digest() {
        nc3z_reader::Digest::Sha256(recorded) => recorded == sha256,
        // Of an edit that was not to take long.
        nc3z_reader::Digest::Stale | nc3z_reader::Digest::None => {
            archive.original_len() == classic.source().len() && hash(&archive.original(), monitor)? == sha256
        }
    };
    if is_known {
        let (version, generation) = (last.number, archive.trailer().generation);
        let stored_len = (place.end(), place.end());
        place.check()?;
        return Ok(Committed {
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
    let done = commit_to(&place, &classic, (sha256, digests), (edited, note), options, monitor);
    let (done, parity) = renewal.end(&mut place, options, monitor, done)?;
    Ok(Committed { parity, ..done })
}

/// Commits a file to the archive, or, in a dry run, to a temporary file.
fn commit_to(
    place: &InPlace,
    classic: &ClassicFile,
    (sha256, digests): ([u8; 32], DigestRecord),
    (edited, note): (&Path, &CommitNote),
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<Committed> {
    let other = if options.dry_run { Some(place.rehearsal()?) } else { place.longer()? };
    let place = other.as_ref().unwrap_or(place);
    let (before, archive) = (place.end(), place.archive());
    let record = note.record(archive, next_number(archive)?)?;
    let version = record.number;
    let mut metadata = archive.metadata().clone();
    record.put(&mut metadata);
    digests.within(before).put(&sha256, &mut metadata.extra);
    let (after, generation, (new_tiles, kept_tiles)) =
        commit_state(place, classic, sha256, &metadata, edited, options, monitor)?;
    let stored_len = (before, after);
    Ok(Committed { version, generation, new_tiles, kept_tiles, stored_len, sha256, parity: None })
}

/// Refuses a file that seems to be of another data set: no variable is in the archive by name, type and lengths, or by its values, and no version is this file.
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

/// Appends a state of the file with this SHA-256 and proves it. Gives the archive's length, the generation, and the tiles that are new and kept.
pub(crate) fn commit_state(
    place: &InPlace,
    classic: &ClassicFile,
    sha256: [u8; 32],
    metadata: &Metadata,
    name: &Path,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<(u64, u32, (u64, u64))> {
    let archive = place.archive();
    let known = find_known(place, &sha256)?;
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
                state.write(place, medium, Some(sha256), metadata, &Tiles::Compared, monitor)?;
            counts = written;
            unsealed
        };
        prove(place, medium, &unsealed, &sha256, name, monitor)?;
        generation = unsealed.trailer.generation;
        Ok(unsealed)
    })?;
    Ok((after, generation, counts))
}

/// The number of the version after the newest.
///
/// # Errors
/// All numbers are used up.
pub(crate) fn next_number(archive: &Archive) -> Result<u64> {
    Ok(version_number(archive.version()?.number + 1)?.into())
}

impl CommitNote {
    pub(crate) fn check(&self) -> Result<()> {
        for (what, text) in [("message", &self.message), ("author", &self.author), ("time", &self.time)] {
            let len = text.as_ref().map_or(0, String::len);
            if len > MESSAGE_LEN {
                let why = format!("has {len} bytes; at most {MESSAGE_LEN} are kept");
                return Err(ErrorKind::Option { option: what, why }.into());
            }
        }
        Ok(())
    }

    /// The record of a version after the newest of `archive`.
    pub(crate) fn record(&self, archive: &Archive, number: u64) -> Result<VersionRecord> {
        let CommitNote { message, author, time } = self.clone();
        Ok(VersionRecord { number, message, author, time, jump: Some(archive.next_jump()?) })
    }
}

/// The generation that holds the file with this digest, if one of the newest does: a commit must not take longer the more there are. What only an
/// older one holds is stored as any edit is.
fn find_known(place: &InPlace, sha256: &[u8; 32]) -> Result<Option<Archive>> {
    const MOST_GENERATIONS: usize = 1024;
    let recent = place.archive().recent_generations(MOST_GENERATIONS)?;
    let found = recent.iter().find(|(_, t)| t.digest_state == DigestState::Valid && t.sha256 == *sha256);
    let Some((_, trailer)) = found else { return Ok(None) };
    let options = place.options().clone().with_generation(u64::from(trailer.generation));
    Ok(Some(Archive::from_source(place.source()?, &options)?))
}

/// Writes a generation that holds what an older one holds: nothing of it is stored again.
fn write_again(
    place: &InPlace,
    medium: &Medium<'_>,
    known: &Archive,
    metadata: &Metadata,
    (_, kept): &mut (u64, u64),
) -> Result<Unsealed> {
    let out = BufWriter::with_capacity(OUT_BUFFER, medium.writer_at(place.end())?);
    let mut writer = GenerationWriter::after(out, place.path(), place.archive(), place.source()?)?;
    writer.set_digest(match known.digest() {
        nc3z_reader::Digest::Sha256(digest) => Some(digest),
        _ => None,
    });
    writer.take_over(known)?;
    *kept = known.arrays().iter().map(|info| info.tiling.tile_count()).sum();
    writer.finish(metadata)
}

/// Rebuilds the new state from what was written.
fn prove(
    place: &InPlace,
    medium: &Medium<'_>,
    unsealed: &Unsealed,
    sha256: &[u8; 32],
    edited: &Path,
    monitor: &dyn Monitor,
) -> Result<()> {
    let archive = Archive::from_unsealed(medium.source()?, unsealed.trailer.clone(), place.options())?;
    let mut sha = Sha256::new();
    archive.restore_into(monitor, &mut |_, bytes: &[u8]| -> nc3z_reader::Result<()> {
        sha.update(bytes);
        Ok(())
    })?;
    if sha.finalize().as_slice() != sha256 {
        return Err(ErrorKind::Proof { path: edited.to_owned(), offset: 0 }.into());
    }
    Ok(())
}

/// The variables of the archive that those of the file are: by name, and, of those that are left, by content.
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

/// The tile layout of a variable of the archive of the same type and shape as one of the file: the new one may hold the same tiles.
fn layout_of_like(old: &Archive, classic: &ClassicFile, new: VarId) -> Option<TileLayoutSpec> {
    let shape = &classic.layout().variables[new.index()].shape;
    let is_like =
        |v: VarId| is_same_array(old, v, classic, new) && old.layout().variables[v.index()].shape == *shape;
    let v = old.header().variables().map(|(v, _)| v).find(|&v| is_like(v))?;
    Some(old.head().layouts[v.index()].clone())
}

/// Whether tiles of a variable of the archive may be tiles of one of the file.
fn is_same_array(old: &Archive, v: VarId, classic: &ClassicFile, new: VarId) -> bool {
    let (was, is) = (&old.layout().variables[v.index()], &classic.layout().variables[new.index()]);
    let chunked = matches!(old.head().layouts[v.index()], TileLayoutSpec::Chunked { .. });
    let alike = is_like(old, v, classic, new);
    // Of chunks, all elements must be there.
    let fits = !chunked || is.elements == Some(is.present);
    alike && fits && was.owned && is.owned && !is_outgrown(old, v, is.present)
}

/// Whether two variables have the same type and, but for the first, the same lengths.
fn is_like(old: &Archive, v: VarId, classic: &ClassicFile, new: VarId) -> bool {
    let (was, is) = (&old.layout().variables[v.index()], &classic.layout().variables[new.index()]);
    // The first dimension may grow. The others number chunks, and tell where the row and the plane before an element are.
    let inner = was.shape.get(1..) == is.shape.get(1..);
    was.ty == is.ty && was.shape.len() == is.shape.len() && was.is_record == is.is_record && inner
}

/// Whether a variable of the archive had less than a quarter of these elements, all in one linear tile, which is no longer than they were: it would be cut into ever
/// more of the like. Its tiles are chosen anew then.
pub(crate) fn is_outgrown(old: &Archive, v: VarId, present: u64) -> bool {
    let was = &old.layout().variables[v.index()];
    matches!(old.head().layouts[v.index()], TileLayoutSpec::Linear(len) if len >= was.present && len < present / 4)
}
