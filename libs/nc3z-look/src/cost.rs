//! The stored bytes of each array's tiles.
//!
//! The cost of a tile is the number of its stored bytes, from the index alone. A tile in a shared container
//! costs its share of the container's payload, or of the archive where the original is packed as a whole.
//! Constant tiles cost nothing. All other bytes are overhead.

use crate::text;
use nc3z_format::archive::{BLOCK_HEADER_LEN, BlockHeader, IndexEntry, Role, Row};
use nc3z_format::codec::{Chain, ChainSpec};
use nc3z_reader::source::SharedSource;
use nc3z_reader::{Archive, Result};
use std::collections::{BTreeMap, HashMap};

/// The cost of an array's tiles.
#[derive(Debug, Default)]
pub struct Cost {
    /// The number of payload bytes, including shares of shared containers.
    pub bytes: u64,
    /// The number of tiles in blocks of their own.
    pub stored: u64,
    /// The number of tiles in shared containers.
    pub packed: u64,
    /// The number of tiles whose elements are all equal.
    pub constant: u64,
    /// The number of tiles without content.
    pub absent: u64,
    /// The number of lost tiles.
    pub lost: u64,
    /// The number of tiles by chain number.
    pub chains: BTreeMap<u16, u64>,
}

impl Cost {
    /// The number of all tiles.
    pub fn tiles(&self) -> u64 {
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

    /// Formats the number of tiles by chain: `3 shuffle+zstd, 1 constant`. Chains with the same short form
    /// are counted together.
    pub fn words(&self, chains: &[Chain]) -> String {
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
pub struct Costs {
    /// The cost of each variable, in the order of the header.
    pub variables: Vec<Cost>,
    /// The cost of the bytes that pad records and variables.
    pub padding: Cost,
    /// The cost of the bytes between variables.
    pub gap: Cost,
    /// The payload of all tiles in bytes.
    pub payload: u64,
}

impl Costs {
    /// Computes the costs. Reads the index, and the headers of shared containers.
    ///
    /// # Errors
    /// A read error.
    pub fn new(archive: &Archive, source: &SharedSource) -> Result<Self> {
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

/// The lengths of shared containers, each read once from the block header.
struct Containers<'a> {
    archive: &'a Archive,
    source: &'a SharedSource,
    /// Stored and decoded length by offset.
    lens: HashMap<u64, (u32, u32)>,
}

impl Containers<'_> {
    fn cost(&mut self, row: &Row) -> Result<Cost> {
        let mut cost = Cost::default();
        // Members of one container usually follow each other. Their shares are rounded once.
        let mut open: Option<(u64, u64)> = None;
        for tile in 0..row.tile_count {
            let chain = match self.archive.entry(row.array, tile)? {
                IndexEntry::Stored { len, chain, .. } => {
                    (cost.stored, cost.bytes) = (cost.stored + 1, cost.bytes + u64::from(len));
                    chain
                }
                IndexEntry::Shared { offset, len, chain, .. } => {
                    cost.packed += 1;
                    match &mut open {
                        Some((at, lens)) if *at == offset => *lens += u64::from(len),
                        _ => {
                            cost.bytes += self.share(open.replace((offset, len.into())))?;
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
        cost.bytes += self.share(open)?;
        Ok(cost)
    }

    /// Returns stored and decoded length of the container at `offset`.
    fn lens(&mut self, offset: u64) -> Result<(u32, u32)> {
        if let Some(lens) = self.lens.get(&offset) {
            return Ok(*lens);
        }
        let mut bytes = [0; BLOCK_HEADER_LEN];
        self.source.read_into(offset, &mut bytes)?;
        let (header, _) = BlockHeader::decode(&bytes, &self.archive.superblock().salt, offset)?;
        self.lens.insert(offset, (header.stored_len, header.decoded_len));
        Ok((header.stored_len, header.decoded_len))
    }

    /// Returns the share of a container's payload that belongs to these members, given by the container's
    /// offset and their decoded length.
    fn share(&mut self, members: Option<(u64, u64)>) -> Result<u64> {
        let Some((offset, len)) = members else { return Ok(0) };
        if let Some(share) = self.archive.share_of_whole(len) {
            return Ok(share);
        }
        let (stored, decoded) = self.lens(offset)?;
        let decoded = u128::from(decoded.max(1));
        let share = (u128::from(stored) * u128::from(len).min(decoded) + decoded / 2) / decoded;
        Ok(u64::try_from(share).expect("at most the container's stored length"))
    }
}

/// Returns the short form of a chain: `shuffle+zstd`, `num`, `store`.
pub fn chain_words(chain: Option<&ChainSpec>) -> String {
    match chain {
        None => "unknown".to_owned(),
        Some(chain) if chain.0.is_empty() => "store".to_owned(),
        Some(chain) => {
            let ids = chain.0.iter().map(|s| text::safe(s.id().strip_prefix("nc3z.").unwrap_or(s.id())));
            ids.collect::<Vec<_>>().join("+")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nc3z_format::Limits;

    #[test]
    fn chains_are_named_by_their_stages() {
        let chain = |json: &str| {
            let value = serde_json::from_str(json).unwrap();
            chain_words(Some(&ChainSpec::from_value(value, &Limits::default()).unwrap()))
        };
        assert_eq!(chain("[]"), "store");
        assert_eq!(chain(r#"[{"id":"shuffle","elementsize":4},{"id":"zstd","level":3}]"#), "shuffle+zstd");
        assert_eq!(chain(r#"[{"id":"nc3z.num"}]"#), "num");
        assert_eq!(chain("[{\"id\":\"\\u001bx\"}]"), "\\u{1b}x");
        assert_eq!(chain_words(None), "unknown");
    }
}
