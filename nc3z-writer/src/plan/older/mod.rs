//! Decides how the changed tiles of an archive are stored: by their array's plan, as the difference to the tile that
//! they replace, or as the difference to an equal tile of another array.
//!
//! Most tiles need no plan ([`ChangePlanner::first_look`]): unchanged tiles, constant tiles, short tiles, and tiles with few
//! changed elements. For all other tiles the array is planned as in a new archive ([`ChangePlanner::by_plan`]).

mod copied;
mod difference;
mod dropped;
mod equal;

use super::subject::requested_chain;
use super::{ArrayPlan, plan_one};
use crate::encode::constant_value;
use crate::error::Result;
use crate::options::{PACK_LEN, WriterOptions};
use crate::scratch::with_scratch;
pub(crate) use copied::{CopyPlanner, is_coded_against_older};
pub(crate) use difference::Payload;
use difference::{Base, Changed, Chooser, Probe, Sketch};
pub(crate) use dropped::Dropped;
use equal::EqualTiles;
use nc3z_format::archive::{ArrayId, Role};
use nc3z_format::array_table::{ArrayInfo, Arrays};
use nc3z_reader::{Archive, ClassicFile};

/// Tiles of at most this many bytes are shorter than a reference to an older tile.
const TINY: usize = 48;

/// The relation of a tile to the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TileState {
    /// The archive does not have it.
    Changed,
    /// It must be compared with the archive's tile.
    Unknown,
}

/// A tile of the new state.
pub(crate) struct ChangedTile<'a> {
    pub(crate) info: &'a ArrayInfo,
    /// Its array's id in the archive.
    pub(crate) id: ArrayId,
    pub(crate) tile: u64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) known: TileState,
    /// The older tile that it may be coded against, once it is known.
    base: Option<Base>,
    /// A sample of the difference to it, if one was taken.
    sketch: Option<Sketch>,
}

/// The way in which a tile is stored.
pub(crate) enum Decision {
    /// It is unchanged.
    Kept,
    Constant([u8; 8]),
    /// No encoding makes it shorter.
    AsItIs,
    /// It is a block of its own without a chain, by request.
    Block,
    /// This payload is stored.
    Made(Payload),
    /// Its array's plan decides.
    Planned,
}

/// Decides about the changed tiles of one archive.
pub(crate) struct ChangePlanner<'a> {
    old: &'a Archive,
    classic: &'a ClassicFile,
    arrays: &'a Arrays,
    options: &'a WriterOptions,
    chooser: Chooser<'a>,
    /// The archive's tiles by their checksums.
    equal: EqualTiles<'a>,
}

impl<'a> ChangePlanner<'a> {
    /// `arrays` are those of the new state of the file, which is `classic`. `dropped` are older generations with
    /// variables that `old` no longer has.
    pub(crate) fn new(
        old: &'a Archive,
        dropped: &'a [Dropped],
        classic: &'a ClassicFile,
        arrays: &'a Arrays,
        options: &'a WriterOptions,
    ) -> Self {
        let chooser = Chooser::new(classic, arrays, options);
        ChangePlanner { old, classic, arrays, options, chooser, equal: EqualTiles::new(old, dropped) }
    }

    /// Returns a tile about which nothing is decided yet. For a tile that the archive does not have, an equal tile
    /// of another array is looked up.
    ///
    /// # Errors
    /// The archive cannot be read.
    pub(crate) fn tile(
        &mut self,
        info: &'a ArrayInfo,
        (id, tile): (ArrayId, u64),
        bytes: Vec<u8>,
        known: TileState,
    ) -> Result<ChangedTile<'a>> {
        let mut base = None;
        let is_new = bytes.len() > TINY && !self.has_tile(id, tile);
        if is_new && !self.is_plain(info) && constant_value(&bytes, info.ty.size()).is_none() {
            base = self.equal.find(self.name_of(info), info, tile, &bytes)?.map(Base::new);
        }
        Ok(ChangedTile { info, id, tile, bytes, known, base, sketch: None })
    }

    /// Decides about a tile that needs no plan.
    ///
    /// # Errors
    /// The archive cannot be read, or a codec fails.
    pub(crate) fn first_look(&self, it: &mut ChangedTile<'_>) -> Result<Decision> {
        let len = it.bytes.len();
        let was = self.old.arrays().get(it.id).filter(|info| it.tile < info.tiling.tile_count());
        // Padded chunks may have any value outside the array. If these values differ, the tile is stored
        // again.
        if it.known == TileState::Unknown
            && let Some(was) = was
            && was.tile_len(it.tile)? == len
            && self.old.cached_tile(it.id, it.tile)? == it.bytes
        {
            return Ok(Decision::Kept);
        }
        if let Some(value) = constant_value(&it.bytes, it.info.ty.size()) {
            return Ok(Decision::Constant(value));
        }
        if self.is_plain(it.info) {
            return Ok(Decision::Block);
        }
        if len <= TINY {
            return Ok(Decision::AsItIs);
        }
        if was.is_some() {
            it.base = self.old.base_tile(it.id, it.tile)?.map(Base::new);
        }
        if len as u64 <= PACK_LEN {
            let found = with_scratch(|scratch| self.chooser.short(&it.changed(), scratch))?;
            return Ok(match found {
                Some(found) if !self.is_outgrown(it, &found)? => Decision::Made(found),
                _ => Decision::AsItIs,
            });
        }
        Ok(match with_scratch(|scratch| self.chooser.sparse(&it.changed(), scratch))? {
            Probe::Stored(payload) if self.is_outgrown(it, &payload)? => {
                it.base = None;
                Decision::Planned
            }
            Probe::Stored(payload) => Decision::Made(payload),
            Probe::Undecided(sketch) => {
                it.sketch = sketch;
                Decision::Planned
            }
        })
    }

    /// Plans an array as in a new archive, without regard to other arrays.
    ///
    /// # Errors
    /// The source cannot be read, or a codec fails.
    pub(crate) fn plan(&self, id: ArrayId) -> Result<ArrayPlan> {
        match (id.role(), self.arrays.get(id)) {
            (Role::Variable(_), Some(info)) => {
                with_scratch(|scratch| plan_one(self.classic, self.arrays, info, self.options, scratch))
            }
            _ => Ok(ArrayPlan::default()),
        }
    }

    /// Stores a tile by its array's plan or as a difference, whichever is smaller. `is_new` returns true for a
    /// table of values that is not stored yet.
    ///
    /// # Errors
    /// The archive cannot be read, or a codec fails.
    pub(crate) fn by_plan(
        &self,
        it: &ChangedTile<'_>,
        plan: &ArrayPlan,
        is_new: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Decision> {
        let smallest = |it: &Changed<'_>, sketch| {
            with_scratch(|scratch| self.chooser.smallest(it, sketch, plan, is_new, scratch))
        };
        let found = match smallest(&it.changed(), it.sketch.as_ref())? {
            Some(found) if self.is_outgrown(it, &found)? => {
                smallest(&Changed { base: None, ..it.changed() }, None)?
            }
            found => found,
        };
        Ok(found.map_or(Decision::AsItIs, Decision::Made))
    }

    /// True if a tile's difference to an older one is so long that the tile is better stored independently.
    fn is_outgrown(&self, it: &ChangedTile<'_>, payload: &Payload) -> Result<bool> {
        let Some(base) = it.base.as_ref().filter(|_| payload.is_difference()) else { return Ok(false) };
        if !self.has_tile(it.id, it.tile) {
            return Ok(false);
        }
        base.is_outgrown(payload.bytes.len(), &it.bytes, || Ok(self.old.cached_tile(it.id, it.tile)?))
    }

    /// True if the tiles of an array are to be stored as they are, by request.
    fn is_plain(&self, info: &ArrayInfo) -> bool {
        matches!(requested_chain(self.classic, info, self.options), Ok(Some(chain)) if chain.0.is_empty())
    }

    /// True if the archive has this tile number.
    fn has_tile(&self, id: ArrayId, tile: u64) -> bool {
        self.old.arrays().get(id).is_some_and(|info| tile < info.tiling.tile_count())
    }

    /// Returns the name of an array's variable; empty for arrays of no variable.
    fn name_of(&self, info: &ArrayInfo) -> &'a [u8] {
        match info.id.role() {
            Role::Variable(place) => &self.classic.header().variables[place as usize].name,
            _ => &[],
        }
    }
}

impl ChangedTile<'_> {
    fn changed(&self) -> Changed<'_> {
        Changed { info: self.info, tile: self.tile, bytes: &self.bytes, base: self.base.as_ref() }
    }
}
