//! An index rebuilt from the blocks. Of several versions of a tile, the one of the highest generation counts,
//! and within a generation the one at the highest offset.

use crate::error::Result;
use nc3z_format::archive::{ArrayId, BLOCK_HEADER_LEN, BlockHeader, IndexEntry};
use nc3z_format::array::{BlockPlace, TileKey};
use std::collections::{BTreeMap, HashMap};

/// A block with an intact header, which ends inside the file.
#[derive(Debug, Clone)]
pub(crate) struct ProbedBlock {
    pub(crate) offset: u64,
    pub(crate) header: BlockHeader,
    pub(crate) check: u32,
}

impl ProbedBlock {
    /// The end of the block's payload.
    pub(crate) fn end(&self) -> u64 {
        self.offset + BLOCK_HEADER_LEN as u64 + u64::from(self.header.stored_len)
    }

    /// The place of this block as in an index entry.
    pub(crate) fn place(&self) -> BlockPlace {
        BlockPlace { offset: self.offset, stored_len: self.header.stored_len, check: self.check }
    }
}

/// One version of one tile.
#[derive(Debug, Clone, Copy)]
struct Version {
    array: ArrayId,
    tile: u64,
    generation: u32,
    /// Offset of the block, or of a member's container.
    offset: u64,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Block {
        len: u32,
        chain: u16,
        check: u32,
    },
    Member {
        start: u32,
        len: u32,
        chain: u16,
    },
    /// A generation changed the tile, and no block of it is left.
    Lost,
}

/// A run of constant tiles: its end, its generation and offset, and its value.
#[derive(Debug, Clone, Copy)]
struct Run {
    end: u64,
    generation: u32,
    offset: u64,
    value: [u8; 8],
}

/// The entries of all tiles that were found.
#[derive(Debug, Default)]
pub(crate) struct RecoveredIndex {
    /// Sorted by array and tile; one version each once sealed.
    versions: Vec<Version>,
    /// Disjoint runs by first tile.
    constants: HashMap<ArrayId, BTreeMap<u64, Run>>,
    /// The last committed generation. No commit covers blocks of later generations, and the archive's own
    /// index does not have them.
    committed: Option<u32>,
}

impl RecoveredIndex {
    pub(crate) fn new(committed: Option<u32>) -> Self {
        RecoveredIndex { committed, ..RecoveredIndex::default() }
    }

    /// Adds the block of a tile or of a definition.
    pub(crate) fn add_block(&mut self, found: &ProbedBlock) {
        let h = &found.header;
        let what = What::Block { len: h.stored_len, chain: h.chain, check: found.check };
        let (array, tile, generation) = (h.array, h.tile, h.generation);
        self.versions.push(Version { array, tile, generation, offset: found.offset, what });
    }

    pub(crate) fn add_member(&mut self, container: &ProbedBlock, member: &nc3z_format::archive::Member) {
        let what = What::Member { start: member.start, len: member.len, chain: member.chain };
        self.versions.push(Version {
            array: member.array,
            tile: member.tile,
            generation: container.header.generation,
            offset: container.offset,
            what,
        });
    }

    /// Adds a tile that this generation changed and whose block may be lost. Only blocks of this generation
    /// or later then count for it.
    pub(crate) fn add_lost(&mut self, array: ArrayId, tile: u64, generation: u32) {
        self.versions.push(Version { array, tile, generation, offset: 0, what: What::Lost });
    }

    /// Adds constant tiles `[first, end)`. Lists are added in ascending order of generation, then offset. The
    /// last one counts.
    pub(crate) fn add_constants(
        &mut self,
        list: &ProbedBlock,
        array: ArrayId,
        first: u64,
        end: u64,
        value: &[u8],
    ) {
        if first >= end || value.len() > 8 {
            return;
        }
        let runs = self.constants.entry(array).or_default();
        // Shortens the runs that reach into the new run, and removes those that it covers. Every run is added
        // and removed once.
        if let Some((&at, &before)) = runs.range(..first).next_back()
            && before.end > first
        {
            runs.insert(at, Run { end: first, ..before });
            if before.end > end {
                runs.insert(end, before);
            }
        }
        while let Some((&at, &covered)) = runs.range(first..end).next() {
            runs.remove(&at);
            if covered.end > end {
                runs.insert(end, covered);
            }
        }
        let mut bytes = [0; 8];
        bytes[..value.len()].copy_from_slice(value);
        let run = Run { end, generation: list.header.generation, offset: list.offset, value: bytes };
        runs.insert(first, run);
    }

    /// Keeps the version that counts of each tile.
    pub(crate) fn seal(&mut self) {
        self.versions.sort_unstable_by_key(|v| (v.array, v.tile, v.generation, v.offset));
        // The last of each group counts; dedup keeps the first.
        self.versions.reverse();
        self.versions.dedup_by_key(|v| (v.array, v.tile));
        self.versions.reverse();
        self.versions.shrink_to_fit();
    }

    /// The number of a variable's definitions: one more than the highest found.
    pub(crate) fn definitions(&self, array: ArrayId) -> u64 {
        let end = self.versions.partition_point(|v| v.array <= array);
        let last = end.checked_sub(1).map(|at| &self.versions[at]).filter(|v| v.array == array);
        last.map_or(0, |v| v.tile.saturating_add(1))
    }

    /// The entry of a tile that probing found, and its generation.
    fn probed(&self, array: ArrayId, tile: u64) -> Option<(u32, IndexEntry)> {
        let at = self.versions.binary_search_by_key(&(array, tile), |v| (v.array, v.tile)).ok();
        let version = at.map(|at| &self.versions[at]);
        let run = self.constants.get(&array).and_then(|runs| runs.range(..=tile).next_back());
        let run = run.map(|(_, run)| run).filter(|run| run.end > tile);
        let newer = |r: &Run, v: &Version| (r.generation, r.offset) > (v.generation, v.offset);
        match (version, run) {
            (Some(v), Some(r)) if newer(r, v) => {
                Some((r.generation, IndexEntry::Constant { value: r.value }))
            }
            (Some(v), _) => Some((v.generation, v.entry())),
            (None, Some(r)) => Some((r.generation, IndexEntry::Constant { value: r.value })),
            (None, None) => None,
        }
    }

    /// The entry of a tile. If the archive's own entry (`stored`) is readable, that one is used, since it
    /// names the version that counts. Otherwise the newest version found is used, or *lost* if there is none.
    /// The flag is true if the entry is not the archive's own.
    pub(crate) fn find(
        &self,
        key: TileKey,
        stored: impl FnOnce() -> Result<IndexEntry>,
    ) -> (IndexEntry, bool) {
        let probed = self.probed(key.array, key.tile);
        if let (Some((generation, entry)), Some(committed)) = (probed, self.committed)
            && generation > committed
        {
            return (entry, true);
        }
        match (stored(), probed) {
            (Ok(entry), _) => (entry, false),
            (Err(_), Some((_, entry))) => (entry, true),
            (Err(_), None) => (IndexEntry::Lost, true),
        }
    }
}

impl Version {
    fn entry(&self) -> IndexEntry {
        let offset = self.offset;
        match self.what {
            What::Block { len, chain, check } => IndexEntry::Stored { offset, len, chain, check },
            What::Lost => IndexEntry::Lost,
            What::Member { start, len, chain } => IndexEntry::Shared { offset, start, len, chain, check: 0 },
        }
    }
}
