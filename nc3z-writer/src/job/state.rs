//! Writes a new state of the file as a generation. Arrays that the archive has keep their tiles, and only
//! changed tiles are stored.

use crate::encode::{EncodedTile, Form};
use crate::error::{ErrorKind, Result};
use crate::executor::ChangedTiles;
use crate::generation::{GenerationWriter, InPlace, Medium, Unsealed};
use crate::options::WriterOptions;
use crate::plan::{Dropped, Partition, TileState};
use crate::tiles::{RawTile, for_each_tile};
use nc3z_format::Limits;
use nc3z_format::archive::{ArrayId, IndexEntry, LaterHead, Layouts, Metadata, Role, TileLayoutSpec};
use nc3z_format::array_table::{ArrayInfo, Arrays, padded_variables};
use nc3z_format::classic::VarId;
use nc3z_reader::{Archive, ClassicFile, Monitor};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::Write;
use std::num::NonZeroU32;

/// A new tile length is chosen if one tile held the whole array and the array is now more than this many
/// times as long.
const OUTGROWN: u64 = 4;

/// The way to find changed tiles.
pub(crate) enum Tiles<'a> {
    /// All tiles are read and compared.
    Compared,
    /// The changed tiles are known. Their arrays are numbered by the position of the variables in the new
    /// header.
    Known {
        changed: &'a BTreeSet<(ArrayId, u64)>,
        /// Reads a changed or unchanged tile.
        read: &'a dyn Fn(&ArrayInfo, u64) -> Result<Content>,
    },
}

/// The relation of a variable of the new state to the archive.
pub(crate) enum Match {
    /// The same variable as this one of the archive. Unchanged tiles are kept.
    Same(VarId),
    /// A new variable, in tiles of this layout.
    Fresh(TileLayoutSpec),
}

/// The content of a tile.
pub(crate) enum Content {
    /// These bytes, big-endian.
    Bytes(Vec<u8>),
    /// This value in all elements.
    Constant(Vec<u8>),
}

/// A tile with one value in all elements.
fn constant_tile(array: ArrayId, tile: u64, of: &[u8]) -> EncodedTile {
    let mut value = [0; 8];
    value[..of.len()].copy_from_slice(of);
    let size = u8::try_from(of.len()).expect("an element has 8 bytes at most");
    EncodedTile { array, tile, decoded_len: 0, decoded_crc: 0, form: Form::Constant { value, size } }
}

/// Returns the tile length of padding or of the gap, which now have `now` bytes. If the old content fitted in
/// one tile that is much shorter than `now`, tiles get the length they have in a new archive. For example,
/// the gap of a small file may have one byte, and thousands after its header grows.
fn kept_tile_len(was: &ArrayInfo, now: u64, wanted: u64) -> u64 {
    let len = was.linear_tile_len().unwrap_or(wanted);
    let is_outgrown = was.total_bytes() <= len && len < now.div_ceil(OUTGROWN) && len < wanted;
    if is_outgrown { wanted } else { len }
}

/// The new state. Arrays that the old state has are laid out in the same way.
pub(crate) struct State<'a> {
    old: &'a Archive,
    /// Generations with variables that `old` no longer has: new variables may have their content.
    dropped: Vec<Dropped>,
    classic: &'a ClassicFile,
    head: LaterHead,
    /// Arrays, numbered by the position of their variables in the new header.
    arrays: Arrays,
    options: WriterOptions,
}

impl<'a> State<'a> {
    /// `matched` gives the relation of variables to the archive. Variables that it does not name are new, and
    /// the planner chooses their tiles.
    pub(crate) fn new(
        old: &'a Archive,
        classic: &'a ClassicFile,
        mut matched: HashMap<VarId, Match>,
        options: &WriterOptions,
    ) -> Result<Self> {
        let (header, layout) = (classic.header(), classic.layout());
        let mut partition = Partition::new(header, layout, options)?;
        let mut next_number = old.next_number();
        let mut numbers = Vec::with_capacity(header.variables.len());
        for ((id, _), spec) in header.variables().zip(&mut partition.variables) {
            let found = matched.remove(&id);
            if let Some(Match::Same(v)) = found {
                spec.clone_from(&old.head().layouts[v.index()]);
                numbers.push(old.arrays().number_of(v));
                continue;
            }
            if let Some(Match::Fresh(layout)) = found {
                *spec = layout;
            }
            numbers.push(next_number);
            next_number += 1;
        }
        for ((var, now), len) in padded_variables(layout).into_iter().zip(&mut partition.paddings) {
            let was = old.arrays().get(ArrayId::padding(numbers[var.index()]));
            *len = was.map_or(*len, |was| kept_tile_len(was, now, *len));
        }
        let gap = kept_tile_len(old.arrays().gap(), layout.gaps.len(), partition.gap);
        let limits = Limits::default();
        let arrays = Arrays::new(header, layout, &partition.variables, &partition.paddings, gap, &limits)?;
        let layouts = Layouts { variables: partition.variables, paddings: partition.paddings, gap };
        let (original_len, header) = (classic.source().len(), classic.header_bytes().to_vec());
        let head = LaterHead { original_len, header, next_number, numbers, layouts };
        Ok(State { old, dropped: Vec::new(), classic, head, arrays, options: options.clone() })
    }

    /// Adds generations whose dropped variables may have come back.
    pub(crate) fn with_dropped(self, dropped: Vec<Dropped>) -> Self {
        State { dropped, ..self }
    }

    /// Returns the file in its new state.
    pub(crate) fn classic(&self) -> &'a ClassicFile {
        self.classic
    }

    /// Returns the arrays of the new state, numbered by position in its header.
    pub(crate) fn arrays(&self) -> &Arrays {
        &self.arrays
    }

    /// Returns an array's id in the archive.
    pub(crate) fn stored_id(&self, array: ArrayId) -> ArrayId {
        match array.role() {
            Role::Variable(v) => ArrayId::variable(self.head.numbers[v as usize]),
            Role::Padding(v) => ArrayId::padding(self.head.numbers[v as usize]),
            _ => array,
        }
    }

    /// Writes the generation without its trailer. Returns the numbers of new and of unchanged tiles.
    pub(crate) fn write(
        &self,
        place: &InPlace,
        medium: &Medium<'_>,
        sha256: Option<[u8; 32]>,
        metadata: &Metadata,
        tiles: &Tiles<'_>,
        monitor: &dyn Monitor,
    ) -> Result<(Unsealed, (u64, u64))> {
        let (mut new, mut kept) = (0, 0);
        let out = medium.buffered_at(place.end())?;
        let mut writer = GenerationWriter::after(out, place.path(), self.old, place.source()?)?;
        writer.set_digest(sha256);
        for info in self.arrays.iter() {
            writer.declare(self.stored_id(info.id), info.tiling.tile_count());
        }
        // Removed variables are declared too: tiles of others may be coded against theirs.
        for row in self.old.variable_table().rows() {
            if matches!(row.array.role(), Role::Definitions(_)) {
                writer.declare(row.array, row.tile_count);
            }
        }
        let mut encoder =
            ChangedTiles::new(self.old, &self.dropped, self.classic, &self.arrays, &self.options, monitor);
        match tiles {
            Tiles::Compared => {
                let changed = self.compare(monitor)?;
                for_each_tile(self.classic, &self.arrays, self.options.memory, &mut |raw| {
                    if monitor.is_cancelled() {
                        return Err(ErrorKind::Interrupted.into());
                    }
                    monitor.advance(raw.bytes.len() as u64);
                    let id = self.stored_id(raw.array);
                    let known = match &changed {
                        Some(changed) if !changed.contains(&(id, raw.tile)) => {
                            kept += 1;
                            return Ok(());
                        }
                        Some(_) => TileState::Changed,
                        None => TileState::Unknown,
                    };
                    encoder.put(raw, id, known, &mut writer)
                })?;
            }
            Tiles::Known { changed, read } => {
                let mut all: HashSet<(ArrayId, u64)> =
                    changed.iter().map(|&(array, tile)| (self.stored_id(array), tile)).collect();
                self.add_dependent(&mut all)?;
                let all: BTreeSet<(ArrayId, u64)> = all.into_iter().collect();
                for info in self.arrays.iter() {
                    let id = self.stored_id(info.id);
                    let count = info.tiling.tile_count();
                    let these: Vec<u64> =
                        all.range((id, 0)..=(id, u64::MAX)).map(|(_, tile)| *tile).collect();
                    kept += count - these.len() as u64;
                    for tile in these {
                        if monitor.is_cancelled() {
                            return Err(ErrorKind::Interrupted.into());
                        }
                        match read(info, tile)? {
                            Content::Bytes(bytes) => {
                                monitor.advance(bytes.len() as u64);
                                let raw = RawTile { array: info.id, tile, bytes };
                                encoder.put(raw, id, TileState::Changed, &mut writer)?;
                            }
                            Content::Constant(value) => {
                                new += 1;
                                writer.put(constant_tile(id, tile, &value))?;
                            }
                        }
                    }
                }
            }
        }
        let (encoded, equal) = encoder.finish(&mut writer)?;
        self.put_head(&mut writer)?;
        Ok((writer.finish(metadata)?, (new + encoded, kept + equal)))
    }

    /// Returns the tiles to store again because they changed, or because a tile that they refer to changed. `None` if no tile
    /// refers to another one.
    fn compare(&self, monitor: &dyn Monitor) -> Result<Option<HashSet<(ArrayId, u64)>>> {
        if !self.has_references() {
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
        self.add_dependent(&mut changed)?;
        Ok(Some(changed))
    }

    fn has_references(&self) -> bool {
        self.old.chains().iter().any(|chain| chain.needs().reference.is_some())
    }

    /// Adds the tiles that refer to a changed tile.
    fn add_dependent(&self, changed: &mut HashSet<(ArrayId, u64)>) -> Result<()> {
        if !self.has_references() {
            return Ok(());
        }
        // Maps each variable's number to its position in the new header.
        let places: HashMap<u32, u32> = self.head.numbers.iter().copied().zip(0u32..).collect();
        let mut dependent = Vec::new();
        for info in self.arrays.iter() {
            let id = self.stored_id(info.id);
            let (Role::Variable(place), Role::Variable(number)) = (info.id.role(), id.role()) else {
                continue;
            };
            for tile in (0..info.tiling.tile_count()).filter(|&tile| !changed.contains(&(id, tile))) {
                let Some(distance) = self.reference_of(id, tile)? else { continue };
                // A repair numbers variables by position, so the distance between the positions must be the
                // same.
                let other = number.checked_sub(distance).filter(|other| {
                    places.get(other).is_some_and(|at| place.checked_sub(distance) == Some(*at))
                });
                if other.is_none_or(|other| changed.contains(&(ArrayId::variable(other), tile))) {
                    dependent.push((id, tile));
                }
            }
        }
        changed.extend(dependent);
        Ok(())
    }

    /// Returns the distance to the variable that a stored tile refers to.
    fn reference_of(&self, id: ArrayId, tile: u64) -> Result<Option<u32>> {
        let (IndexEntry::Stored { chain, .. } | IndexEntry::Shared { chain, .. }) =
            self.old.entry(id, tile)?
        else {
            return Ok(None);
        };
        let chain = self.old.chains().get(usize::from(chain));
        Ok(chain.and_then(|chain| chain.needs().reference).map(NonZeroU32::get))
    }

    /// True if the archive has this tile with the same bytes.
    fn is_stored(&self, id: ArrayId, raw: &RawTile) -> Result<bool> {
        let info = self.old.arrays().get(id).filter(|info| raw.tile < info.tiling.tile_count());
        let Some(info) = info else { return Ok(false) };
        // Padded chunks may have any value outside the array. If these values differ, the tile is stored
        // again.
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
