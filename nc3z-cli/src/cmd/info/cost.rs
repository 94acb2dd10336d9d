//! What the tiles of each array cost.
//!
//! Costs come from the index alone. A tile that shares a block with others is charged its share of that block's payload;
//! constant tiles cost nothing. Whatever no tile is charged for is overhead.

use super::notation;
use crate::args::NotationArg;
use crate::output::table::chain_words;
use anyhow::{Context, Result};
use nc3z_format::archive::{ArrayId, BLOCK_HEADER_LEN, BlockHeader, IndexEntry, Role, Row};
use nc3z_format::codec::Chain;
use nc3z_reader::Archive;
use nc3z_reader::source::SharedSource;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// What the tiles of an array cost.
#[derive(Debug, Default)]
pub(crate) struct Cost {
    /// Payload bytes, shares of packed containers included.
    pub(crate) bytes: u64,
    /// Tiles in blocks of their own, in shared blocks, of equal elements, without content.
    pub(super) stored: u64,
    pub(super) packed: u64,
    pub(crate) constant: u64,
    pub(super) absent: u64,
    pub(super) lost: u64,
    /// Tiles by chain number.
    pub(crate) chains: BTreeMap<u16, u64>,
}

impl Cost {
    pub(crate) fn tiles(&self) -> u64 {
        self.stored + self.packed + self.constant + self.absent + self.lost
    }

    fn add(&mut self, other: &Cost) {
        self.bytes += other.bytes;
        self.stored += other.stored;
        self.packed += other.packed;
        self.constant += other.constant;
        self.absent += other.absent;
        self.lost += other.lost;
        for (&chain, tiles) in &other.chains {
            *self.chains.entry(chain).or_default() += tiles;
        }
    }

    pub(super) fn json(&self, chains: &[Chain], notation: Option<NotationArg>) -> (Value, Value) {
        let tiles = json!({
            "total": self.tiles(), "stored": self.stored, "packed": self.packed, "constant": self.constant,
            "absent": self.absent, "lost": self.lost,
        });
        let used = self.chains.iter().map(|(&number, tiles)| {
            let stages = chains.get(usize::from(number)).map(|chain| chain.spec().to_value());
            let mut used = json!({"chain": number, "stages": stages, "tiles": tiles});
            if let Some((notation, chain)) = notation.zip(chains.get(usize::from(number))) {
                used.as_object_mut().expect("just made").extend(notation::json(notation, chain.spec()));
            }
            used
        });
        (tiles, used.collect())
    }

    /// `3 shuffle+zstd, 1 constant`; chains of one short form are counted together.
    pub(super) fn words(&self, chains: &[Chain]) -> String {
        let mut by_words: BTreeMap<String, u64> = BTreeMap::new();
        for (&number, tiles) in &self.chains {
            *by_words.entry(chain_words(chains.get(usize::from(number)).map(Chain::spec))).or_default() +=
                tiles;
        }
        let mut parts: Vec<String> =
            by_words.iter().map(|(words, tiles)| format!("{tiles} {words}")).collect();
        for (tiles, word) in [(self.constant, "constant"), (self.absent, "absent"), (self.lost, "lost")] {
            if tiles > 0 {
                parts.push(format!("{tiles} {word}"));
            }
        }
        let packed = if self.packed > 0 { format!(" ({} packed)", self.packed) } else { String::new() };
        parts.join(", ") + &packed
    }
}

/// The costs of all arrays of an archive.
pub(crate) struct Costs {
    /// By variable id, definitions included.
    pub(crate) variables: Vec<Cost>,
    pub(super) padding: Cost,
    pub(super) gap: Cost,
    pub(super) payload: u64,
}

impl Costs {
    pub(crate) fn of(archive: &Archive, source: &SharedSource) -> Result<Self> {
        let mut variables = Vec::new();
        variables.resize_with(archive.header().variables.len(), Cost::default);
        let mut costs = Costs { variables, padding: Cost::default(), gap: Cost::default(), payload: 0 };
        let mut containers = Containers { archive, source, lens: HashMap::new() };
        for row in archive.variable_table().rows() {
            let cost = containers.cost(row)?;
            costs.payload += cost.bytes;
            match row.array.role() {
                Role::Variable(_) | Role::Definitions(_) => {
                    if let Some(v) = archive.arrays().variable_of(row.array) {
                        costs.variables[v.index()].add(&cost);
                    }
                }
                Role::Padding(_) => costs.padding.add(&cost),
                _ => costs.gap.add(&cost),
            }
        }
        Ok(costs)
    }
}

/// Lengths of the packed containers, read once from their block headers.
struct Containers<'a> {
    archive: &'a Archive,
    source: &'a SharedSource,
    /// Stored and decoded length by offset.
    lens: HashMap<u64, (u32, u32)>,
}

impl Containers<'_> {
    fn cost(&mut self, row: &Row) -> Result<Cost> {
        let mut cost = Cost::default();
        // Members of one container mostly follow one another; their shares are rounded once.
        let mut open: Option<(u64, u64)> = None;
        for tile in 0..row.tile_count {
            let chain = match self.archive.entry(row.array, tile)? {
                IndexEntry::Stored { len, chain, .. } => {
                    (cost.stored, cost.bytes) = (cost.stored + 1, cost.bytes + u64::from(len));
                    chain
                }
                IndexEntry::Packed { offset, len, chain, .. } => {
                    cost.packed += 1;
                    match &mut open {
                        Some((at, lens)) if *at == offset => *lens += u64::from(len),
                        _ => {
                            cost.bytes += self.share(open.replace((offset, len.into())), row.array)?;
                        }
                    }
                    chain
                }
                IndexEntry::Constant { .. } => {
                    cost.constant += 1;
                    continue;
                }
                IndexEntry::Absent => {
                    cost.absent += 1;
                    continue;
                }
                IndexEntry::Lost => {
                    cost.lost += 1;
                    continue;
                }
            };
            *cost.chains.entry(chain).or_default() += 1;
        }
        cost.bytes += self.share(open, row.array)?;
        Ok(cost)
    }

    /// Stored and decoded length of the container at `offset`.
    fn lens(&mut self, offset: u64) -> nc3z_reader::Result<(u32, u32)> {
        if let Some(lens) = self.lens.get(&offset) {
            return Ok(*lens);
        }
        let mut bytes = [0; BLOCK_HEADER_LEN];
        self.source.read_into(offset, &mut bytes)?;
        let (header, _) = BlockHeader::decode(&bytes, &self.archive.superblock().salt, offset)?;
        self.lens.insert(offset, (header.stored_len, header.decoded_len));
        Ok((header.stored_len, header.decoded_len))
    }

    /// The share that so many bytes of a decoded container have in its payload.
    fn share(&mut self, members: Option<(u64, u64)>, array: ArrayId) -> Result<u64> {
        let Some((offset, len)) = members else { return Ok(0) };
        let (stored, decoded) = self.lens(offset).with_context(|| format!("container of {array}"))?;
        let decoded = u128::from(decoded.max(1));
        let share = (u128::from(stored) * u128::from(len).min(decoded) + decoded / 2) / decoded;
        Ok(u64::try_from(share).expect("at most the container's stored length"))
    }
}
