//! Another state of the file, appended to its archive as a generation: what did not change is not stored again.
//!
//! Variables are known again by name, type and dimensions, wherever they stand in the header; tiles by their bytes. The older state stays
//! readable, and the new one is proven before it counts.

use super::changed::TileEncoder;
use crate::build::{OUT_BUFFER, hash};
use crate::error::{ErrorKind, Result};
use crate::generation::{GenerationWriter, InPlace, Medium, Unsealed};
use crate::options::WriterOptions;
use crate::plan::Partition;
use crate::tiles::{RawTile, for_each_tile};
use nc3z_format::archive::constants::REQUIRED_LOST;
use nc3z_format::archive::version::MESSAGE_LEN;
use nc3z_format::archive::{
    ArrayId, DigestState, IndexEntry, LaterHead, Layouts, Metadata, Role, TileLayoutSpec, VersionRecord,
};
use nc3z_format::arrays::{ArrayInfo, Arrays, padded_variables};
use nc3z_format::classic::VarId;
use nc3z_format::{Error as FormatError, Limits};
use nc3z_reader::{Archive, ClassicFile, Dataset, Monitor, OpenOptions};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::io::{BufWriter, Write};
use std::num::NonZeroU32;
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
}

impl Committed {
    /// True where the file is the newest version already: the archive is as it was.
    pub fn is_known(&self) -> bool {
        self.stored_len.0 == self.stored_len.1
    }
}

/// Appends the file at `edited` to the archive at `path` as a new version. Every version restores to the byte. A file that is the newest version already is not
/// added again.
///
/// # Errors
/// No archive, or one with lost tiles; no classic file; words that are too long; another process changes the archive; the proof failed; the
/// system refuses. The archive is then what it was.
pub fn commit_file(
    path: &Path,
    edited: &Path,
    note: &CommitNote,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<Committed> {
    note.check()?;
    let place = InPlace::open(path, &OpenOptions::default())?;
    let archive = place.archive();
    if archive.trailer().required & REQUIRED_LOST != 0 {
        let what = "a new state of a file whose tiles are lost";
        return Err(FormatError::unsupported("trailer", archive.trailer_offset(), what).into());
    }
    let source = nc3z_reader::source::open(edited, false)?;
    let classic = ClassicFile::from_source(source, &Limits::default())?;
    let sha256 = hash(&**classic.source(), monitor)?;
    let last = archive.version()?;
    let before = place.end();
    if archive.digest() == nc3z_reader::Digest::Sha256(sha256) {
        let (version, generation) = (last.number, archive.trailer().generation);
        let stored_len = (before, before);
        return Ok(Committed { version, generation, new_tiles: 0, kept_tiles: 0, stored_len, sha256 });
    }
    let record = note.record(archive, last.number + 1)?;
    let version = record.number;
    let mut metadata = archive.metadata().clone();
    record.put(&mut metadata);
    let known = find_known(&place, &sha256)?;
    let (mut counts, mut generation) = ((0, 0), 0);
    let after = place.append(|medium| {
        let unsealed = if let Some(known) = &known {
            write_again(&place, medium, known, &metadata, &mut counts)?
        } else {
            let state = State::new(archive, &classic, options, monitor)?;
            state.write(&place, medium, sha256, &metadata, &mut counts, monitor)?
        };
        prove(medium, &unsealed, &sha256, edited, monitor)?;
        generation = unsealed.trailer.generation;
        Ok(unsealed)
    })?;
    let (new_tiles, kept_tiles) = counts;
    Ok(Committed { version, generation, new_tiles, kept_tiles, stored_len: (before, after), sha256 })
}

impl CommitNote {
    fn check(&self) -> Result<()> {
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
    fn record(&self, archive: &Archive, number: u64) -> Result<VersionRecord> {
        let CommitNote { message, author, time } = self.clone();
        Ok(VersionRecord { number, message, author, time, jump: Some(archive.next_jump()?) })
    }
}

/// The generation that holds the file with this digest, if one does.
fn find_known(place: &InPlace, sha256: &[u8; 32]) -> Result<Option<Archive>> {
    let all = place.archive().generations()?;
    let found = all.iter().find(|(_, t)| t.digest_state == DigestState::Valid && t.sha256 == *sha256);
    let Some((_, trailer)) = found else { return Ok(None) };
    let options = OpenOptions::default().with_generation(u64::from(trailer.generation));
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
    medium: &Medium<'_>,
    unsealed: &Unsealed,
    sha256: &[u8; 32],
    edited: &Path,
    monitor: &dyn Monitor,
) -> Result<()> {
    let options = OpenOptions::default();
    let archive = Archive::from_unsealed(medium.source()?, unsealed.trailer.clone(), &options)?;
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

/// The new state, laid out like the old one as far as it has the same arrays.
struct State<'a> {
    old: &'a Archive,
    classic: &'a ClassicFile,
    head: LaterHead,
    /// Arrays by their places in the new header.
    arrays: Arrays,
    options: WriterOptions,
}

impl<'a> State<'a> {
    fn new(
        old: &'a Archive,
        classic: &'a ClassicFile,
        options: &WriterOptions,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let (header, layout) = (classic.header(), classic.layout());
        let mut partition = Partition::new(header, layout, options)?;
        let mut matched = match_variables(old, classic, monitor)?;
        let mut next_number = old.next_number();
        let mut numbers = Vec::with_capacity(header.variables.len());
        for ((id, _), spec) in header.variables().zip(&mut partition.variables) {
            if let Some(v) = matched.remove(&id) {
                spec.clone_from(&old.head().layouts[v.index()]);
                numbers.push(old.arrays().number_of(v));
            } else {
                numbers.push(next_number);
                next_number += 1;
            }
        }
        for ((var, _), len) in padded_variables(layout).into_iter().zip(&mut partition.paddings) {
            let was = old.arrays().get(ArrayId::padding(numbers[var.index()]));
            *len = was.and_then(ArrayInfo::linear_tile_len).unwrap_or(*len);
        }
        let (gap, limits) = (old.head().gap_tile_len, Limits::default());
        let arrays = Arrays::new(header, layout, &partition.variables, &partition.paddings, gap, &limits)?;
        let layouts = Layouts { variables: partition.variables, paddings: partition.paddings, gap };
        let (original_len, header) = (classic.source().len(), classic.header_bytes().to_vec());
        let head = LaterHead { original_len, header, next_number, numbers, layouts };
        Ok(State { old, classic, head, arrays, options: options.clone() })
    }

    /// The id that an array has in the archive.
    fn stored_id(&self, array: ArrayId) -> ArrayId {
        match array.role() {
            Role::Variable(v) => ArrayId::variable(self.head.numbers[v as usize]),
            Role::Padding(v) => ArrayId::padding(self.head.numbers[v as usize]),
            _ => array,
        }
    }

    /// Writes the generation but for its trailer; counts new tiles and those that are kept.
    fn write(
        &self,
        place: &InPlace,
        medium: &Medium<'_>,
        sha256: [u8; 32],
        metadata: &Metadata,
        (new, kept): &mut (u64, u64),
        monitor: &dyn Monitor,
    ) -> Result<Unsealed> {
        let out = BufWriter::with_capacity(OUT_BUFFER, medium.writer_at(place.end())?);
        let mut writer = GenerationWriter::after(out, place.path(), self.old, place.source()?)?;
        writer.set_digest(Some(sha256));
        for info in self.arrays.iter() {
            let id = self.stored_id(info.id);
            writer.declare(id, info.tiling.tile_count());
            if let Role::Variable(number) = id.role()
                && let Some((row, _)) = self.old.variable_table().find(ArrayId::definitions(number))
            {
                writer.declare(row.array, row.tile_count);
            }
        }
        let changed = self.changed(monitor)?;
        let mut encoder = TileEncoder::new(self.old, self.classic, &self.arrays, &self.options);
        for_each_tile(self.classic, &self.arrays, self.options.memory, &mut |raw| {
            if monitor.is_cancelled() {
                return Err(ErrorKind::Interrupted.into());
            }
            monitor.advance(raw.bytes.len() as u64);
            let id = self.stored_id(raw.array);
            let is_stored = match &changed {
                Some(changed) => !changed.contains(&(id, raw.tile)),
                None => self.is_stored(id, &raw)?,
            };
            if is_stored {
                *kept += 1;
                return Ok(());
            }
            *new += 1;
            encoder.put(raw, id, &mut writer)
        })?;
        self.put_head(&mut writer)?;
        writer.finish(metadata)
    }

    /// Where tiles refer to others: those that must be stored anew, since they or what they refer to are not as they were.
    fn changed(&self, monitor: &dyn Monitor) -> Result<Option<HashSet<(ArrayId, u64)>>> {
        if self.old.chains().iter().all(|chain| chain.needs().reference.is_none()) {
            return Ok(None);
        }
        let mut changed = HashSet::new();
        for_each_tile(self.classic, &self.arrays, self.options.memory, &mut |raw| {
            if monitor.is_cancelled() {
                return Err(ErrorKind::Interrupted.into());
            }
            let id = self.stored_id(raw.array);
            if !self.is_stored(id, &raw)? {
                changed.insert((id, raw.tile));
            }
            Ok(())
        })?;
        // By number, the place in the new header.
        let places: HashMap<u32, u32> = self.head.numbers.iter().copied().zip(0u32..).collect();
        let mut dependent = Vec::new();
        for info in self.arrays.iter() {
            let id = self.stored_id(info.id);
            let (Role::Variable(place), Role::Variable(number)) = (info.id.role(), id.role()) else {
                continue;
            };
            for tile in (0..info.tiling.tile_count()).filter(|&tile| !changed.contains(&(id, tile))) {
                let Some(distance) = self.reference_of(id, tile)? else { continue };
                // A repair numbers variables by their places: the distance must be the same there.
                let other = number.checked_sub(distance).filter(|other| {
                    places.get(other).is_some_and(|at| place.checked_sub(distance) == Some(*at))
                });
                if other.is_none_or(|other| changed.contains(&(ArrayId::variable(other), tile))) {
                    dependent.push((id, tile));
                }
            }
        }
        changed.extend(dependent);
        Ok(Some(changed))
    }

    /// The distance to the variable that a stored tile refers to.
    fn reference_of(&self, id: ArrayId, tile: u64) -> Result<Option<u32>> {
        let (IndexEntry::Stored { chain, .. } | IndexEntry::Packed { chain, .. }) =
            self.old.entry(id, tile)?
        else {
            return Ok(None);
        };
        let chain = self.old.chains().get(usize::from(chain));
        Ok(chain.and_then(|chain| chain.needs().reference).map(NonZeroU32::get))
    }

    /// Whether the archive has these very bytes as this tile.
    fn is_stored(&self, id: ArrayId, raw: &RawTile) -> Result<bool> {
        let info = self.old.arrays().get(id).filter(|info| raw.tile < info.tiling.tile_count());
        let Some(info) = info else { return Ok(false) };
        // Padded chunks hold any value where the array holds none; where those differ, they are stored again.
        Ok(info.tile_len(raw.tile)? == raw.bytes.len() && self.old.read_tile(id, raw.tile)? == raw.bytes)
    }

    fn put_head<W: Write>(&self, writer: &mut GenerationWriter<'_, W>) -> Result<()> {
        let (old, new) = (self.old.head(), &self.head);
        let old_numbers = self.old.header().variables().map(|(v, _)| self.old.arrays().number_of(v));
        let as_before = old.header == new.header
            && old.layouts == new.layouts.variables
            && old.padding_tile_lens == new.layouts.paddings
            && old_numbers.eq(new.numbers.iter().copied())
            && self.old.original_len() == new.original_len;
        if as_before {
            writer.keep_head(new.original_len);
            return Ok(());
        }
        writer.put_head(new)
    }
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

/// Whether tiles of a variable of the archive may be tiles of one of the file.
fn is_same_array(old: &Archive, v: VarId, classic: &ClassicFile, new: VarId) -> bool {
    let (was, is) = (&old.layout().variables[v.index()], &classic.layout().variables[new.index()]);
    let chunked = matches!(old.head().layouts[v.index()], TileLayoutSpec::Chunked { .. });
    // The first dimension may grow. The others number chunks, and tell where the row and the plane before an element are.
    let inner = was.shape.get(1..) == is.shape.get(1..);
    let alike =
        was.ty == is.ty && was.shape.len() == is.shape.len() && was.is_record == is.is_record && inner;
    // Of chunks, all elements must be there.
    let fits = !chunked || is.elements == Some(is.present);
    alike && fits && was.owned && is.owned
}
