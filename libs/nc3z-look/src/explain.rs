//! The plan of a read, and its cost.

use crate::selection::Selection;
use crate::text;
use nc3z_format::archive::{ArrayId, BLOCK_HEADER_LEN, BlockHeader, IndexEntry, Role};
use nc3z_format::plan::Plan;
use nc3z_format::selection::Hyperslab;
use nc3z_reader::source::SharedSource;
use nc3z_reader::{Archive, Dataset, Result, Variable};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::ops::Range;

/// The number of tiles that are described one by one, unless all are requested.
const SHOWN: usize = 16;

/// The cost of reading, in bytes or tiles.
#[derive(Debug, Default)]
pub struct ReadCost {
    /// The number of tiles that the read touches.
    pub tiles: u64,
    /// The number of tiles that are copied completely to the output.
    pub whole: u64,
    /// The number of tiles without a block: all elements are equal.
    pub constant: u64,
    /// The number of tiles in the cache.
    pub cached: u64,
    /// The number of tiles of other variables that are needed for decoding.
    pub references: u64,
    /// The number of runs that are copied.
    pub runs: u64,
    /// The number of bytes of blocks, including headers; for a classic file, the bytes of the spans that are
    /// read.
    pub fetch: u64,
    /// The number of bytes of tiles and containers that are decoded.
    pub decode: u64,
    /// Shared containers of small tiles, by offset. Each is fetched and decoded once.
    containers: HashSet<u64>,
}

impl ReadCost {
    /// Adds the cost of a plan. `first` returns whether a tile is seen for the first time.
    fn add(
        &mut self,
        dataset: &Dataset,
        variable: &Variable,
        plan: &Plan,
        source: &SharedSource,
        first: &mut dyn FnMut(u64) -> bool,
    ) -> Result<()> {
        let size = variable.ty().size() as u64;
        let archive = dataset.archive().filter(|_| variable.layout().owned);
        for tile in plan.tiles() {
            self.runs += tile.runs().run_count();
            let Some(archive) = archive else {
                let span = tile.span();
                self.tiles += u64::from(first(tile.tile));
                self.fetch += (span.end - span.start) * size;
                continue;
            };
            self.whole += u64::from(tile.whole.is_some());
            if !first(tile.tile) {
                continue;
            }
            self.tiles += 1;
            let array = archive.arrays().variable(variable.id()).id;
            if archive.is_cached(array, tile.tile) {
                self.cached += 1;
                continue;
            }
            let entry = archive.entry(array, tile.tile)?;
            self.constant += u64::from(matches!(entry, IndexEntry::Constant { .. }));
            self.add_tile(archive, source, &entry, tile.decoded * size)?;
            if let Some(other) = reference(archive, array, &entry)
                && let Some(info) = archive.arrays().get(other)
                && !archive.is_cached(other, tile.tile)
            {
                self.references += 1;
                let entry = archive.entry(other, tile.tile)?;
                self.add_tile(archive, source, &entry, tile.decoded * info.ty.size() as u64)?;
            }
        }
        Ok(())
    }

    /// Adds the cost of one tile. Damage is reported when it is read.
    fn add_tile(
        &mut self,
        archive: &Archive,
        source: &SharedSource,
        entry: &IndexEntry,
        decoded: u64,
    ) -> Result<()> {
        match *entry {
            IndexEntry::Stored { len, .. } => {
                self.fetch += BLOCK_HEADER_LEN as u64 + u64::from(len);
                self.decode += decoded;
            }
            IndexEntry::Shared { offset, .. } => {
                self.decode += decoded;
                if self.containers.insert(offset) {
                    let (stored, decoded) = container(archive, source, offset)?;
                    self.fetch += stored;
                    self.decode += decoded;
                }
            }
            IndexEntry::Constant { .. } | IndexEntry::Absent | IndexEntry::Lost => {}
        }
        Ok(())
    }
}

/// Returns the variable whose tile of the same number is needed to decode a tile.
fn reference(archive: &Archive, array: ArrayId, entry: &IndexEntry) -> Option<ArrayId> {
    let (IndexEntry::Stored { chain, .. } | IndexEntry::Shared { chain, .. }) = *entry else { return None };
    let distance = archive.chains().get(usize::from(chain))?.needs().reference?.get();
    let Role::Variable(number) = array.role() else { return None };
    number.checked_sub(distance).map(ArrayId::variable)
}

/// Returns the stored bytes of a container, including its header, and its decoded bytes.
fn container(archive: &Archive, source: &SharedSource, offset: u64) -> Result<(u64, u64)> {
    let mut header = [0; BLOCK_HEADER_LEN];
    source.read_into(offset, &mut header)?;
    let (header, _) = BlockHeader::decode(&header, &archive.superblock().salt, offset)?;
    Ok((BLOCK_HEADER_LEN as u64 + u64::from(header.stored_len), header.decoded_len.into()))
}

/// A read before it is carried out.
pub struct PlannedRead<'a> {
    /// The file of the read.
    pub dataset: &'a Dataset,
    /// The variable of the read.
    pub variable: &'a Variable,
    /// The part that is read.
    pub selection: &'a Selection,
    /// The plan of each hyperslab of the selection.
    pub plans: Vec<Plan>,
    /// The cost of all plans.
    pub cost: ReadCost,
}

impl<'a> PlannedRead<'a> {
    /// Plans a read. `source` has the bytes of the archive in its long form, or of the classic file.
    ///
    /// # Errors
    /// The selection is not in the file; the index cannot be read.
    pub fn new(
        dataset: &'a Dataset,
        variable: &'a Variable,
        selection: &'a Selection,
        source: &SharedSource,
    ) -> Result<Self> {
        let slabs = selection.slabs();
        let plans = slabs.iter().map(|(slab, _)| variable.plan(slab)).collect::<Result<Vec<_>>>()?;
        let mut cost = ReadCost::default();
        // If a range wraps, its two hyperslabs may touch the same tile, which is decoded once.
        let mut seen = HashSet::new();
        for plan in &plans {
            let mut first = |tile| plans.len() == 1 || seen.insert(tile);
            cost.add(dataset, variable, plan, source, &mut first)?;
        }
        Ok(PlannedRead { dataset, variable, selection, plans, cost })
    }

    /// Returns the number of elements of the selection, and their length in bytes.
    pub fn wanted(&self) -> (u64, u64) {
        let elements = self.plans.iter().map(Plan::selected).sum::<u64>();
        (elements, elements.saturating_mul(self.variable.ty().size() as u64))
    }

    /// Returns the number of tiles of the variable, and their shape.
    pub fn tiles(&self) -> (u64, String) {
        let tiling = self.variable.tiling();
        tiling.map_or((0, String::new()), |t| (t.tile_count(), t.layout().to_string()))
    }

    /// Returns whether the values are stored in tiles of an archive.
    pub fn is_archived(&self) -> bool {
        self.dataset.archive().is_some() && self.variable.layout().owned
    }

    /// Returns the plan as JSON. Without `all`, only the first tiles are listed.
    pub fn to_json(&self, all: bool) -> Value {
        let PlannedRead { variable, cost, .. } = self;
        let slabs: Vec<Value> = self
            .selection
            .slabs()
            .iter()
            .map(|(s, _)| json!({"start": s.start, "count": s.count, "stride": s.stride}))
            .collect();
        let dims: Vec<String> = variable.dimensions().map(|d| text::name(&d.name)).collect();
        let (elements, bytes) = self.wanted();
        let (tiles, layout) = self.tiles();
        let shown = if all { usize::MAX } else { SHOWN };
        let size = variable.ty().size() as u64;
        let each =
            self.plans.iter().enumerate().flat_map(|(n, plan)| plan.tiles().map(move |tile| (n, tile)));
        let each: Vec<Value> = each
            .take(shown)
            .map(|(n, tile)| {
                json!({
                    "hyperslab": n, "tile": tile.tile, "bytes": tile.decoded * size, "bytes_wanted": tile.elements * size,
                    "runs": tile.runs().run_count(), "whole": tile.whole.is_some(),
                })
            })
            .collect();
        let stats = self.dataset.archive().filter(|_| self.is_archived()).map(|a| a.cache().stats());
        let cache =
            stats.map(|s| json!({"tiles": cost.cached, "budget": s.budget, "used_bytes": s.used_bytes}));
        json!({
            "variable": text::safe(&variable.name()),
            "type": variable.ty().name(),
            "dimensions": dims,
            "shape": variable.shape(),
            "hyperslabs": slabs,
            "elements_wanted": elements,
            "bytes_wanted": bytes,
            "archived": self.is_archived(),
            "layout": layout,
            "tiles": {
                "total": tiles, "touched": cost.tiles, "whole": cost.whole, "constant": cost.constant,
                "references": cost.references,
            },
            "runs": cost.runs,
            "bytes_to_fetch": cost.fetch,
            "bytes_to_decode": cost.decode,
            "cache": cache,
            "first_tiles": each,
        })
    }
}

/// Neighbouring tiles of which equally many elements are selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TileRun {
    /// The numbers of the tiles.
    pub range: Range<u64>,
    /// The number of elements of each that are selected.
    pub elements: u64,
    /// True if all elements are selected.
    pub is_whole: bool,
}

/// Returns the tiles that a plan touches. Neighbours are joined.
pub fn tile_runs(plan: &Plan) -> impl Iterator<Item = TileRun> {
    let mut all = plan.tiles().peekable();
    std::iter::from_fn(move || {
        let first = all.next()?;
        let mut found = TileRun {
            range: first.tile..first.tile + 1,
            elements: first.elements,
            is_whole: first.elements == first.decoded,
        };
        while let Some(next) = all.next_if(|next| {
            next.tile == found.range.end
                && (next.elements == next.decoded) == found.is_whole
                && (found.is_whole || next.elements == found.elements)
        }) {
            found.range.end = next.tile + 1;
        }
        Some(found)
    })
}

/// Formats indices: `[time=5, lat=0..44 by 2]`, the last index included.
pub fn indices(variable: &Variable, slab: &Hyperslab) -> String {
    let along = variable.dimensions().enumerate().map(|(n, dimension)| {
        let (start, count, stride) = (slab.start[n], slab.count[n], slab.stride[n]);
        let name = text::name(&dimension.name);
        let steps = i64::try_from(count.saturating_sub(1)).unwrap_or(i64::MAX);
        let last = start.saturating_add_signed(stride.saturating_mul(steps));
        match (count, stride) {
            (0, _) => format!("{name}=none"),
            (1, _) => format!("{name}={start}"),
            (_, 1) => format!("{name}={start}..{last}"),
            _ => format!("{name}={start}..{last} by {stride}"),
        }
    });
    let along: Vec<String> = along.collect();
    if along.is_empty() { String::new() } else { format!("[{}]", along.join(", ")) }
}
