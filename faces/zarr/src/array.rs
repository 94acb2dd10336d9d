//! One variable as a Zarr array: its grid of chunks, its codecs, and the location of each chunk.

use crate::error::{Error, Result};
use nc3z_format::archive::{ArrayId, BLOCK_HEADER_LEN, IndexEntry};
use nc3z_format::classic::VarId;
use nc3z_format::codec::{Chain, ChainSpec, CodecScratch};
use nc3z_format::tile::{Edge, TileLayout, Tiling};
use nc3z_reader::Archive;
use std::collections::BTreeMap;

/// A variable as a Zarr array.
pub(crate) struct Array {
    pub(crate) id: VarId,
    /// Its name, without slashes.
    pub(crate) name: String,
    pub(crate) shape: Vec<u64>,
    /// The lengths of a chunk. All chunks have the same, also at the edges.
    pub(crate) chunk: Vec<u64>,
    /// The codecs of the chunks; empty for uncompressed ones.
    pub(crate) chain: ChainSpec,
    /// The chunks in the order of the grid, the last dimension fastest.
    pub(crate) chunks: Vec<Chunk>,
}

/// The location of a chunk.
pub(crate) enum Chunk {
    /// In the archive.
    Place { offset: u64, len: u64 },
    /// In the references.
    Bytes(Vec<u8>),
}

impl Array {
    pub(crate) fn new(archive: &Archive, id: VarId, name: String) -> Result<Self> {
        let place = &archive.layout().variables[id.index()];
        if !place.owned && place.elements != Some(0) {
            return Err(Error::not_zarr("it shares its bytes with another variable"));
        }
        let info = archive.arrays().variable(id);
        let tiling = &info.tiling;
        let (array, tiles) = (info.id, tiling.tile_count());
        let chunk = chunk_shape(tiling)?;
        let entries =
            (0..tiles).map(|tile| archive.entry(array, tile)).collect::<nc3z_reader::Result<Vec<_>>>()?;
        // The blocks of an archive in the short form cannot be referred to.
        let common = if archive.is_short() { None } else { common_chain(archive, &entries)? };
        let (number, chain) = common.unzip();
        let mut encoder = Encoder { archive, chain, scratch: CodecScratch::default() };
        let mut chunks = Vec::new();
        for (tile, entry) in (0..tiles).zip(entries) {
            chunks.push(match entry {
                IndexEntry::Stored { offset, len, chain, .. } if Some(chain) == number => {
                    Chunk::Place { offset: offset + BLOCK_HEADER_LEN as u64, len: len.into() }
                }
                IndexEntry::Lost => return Err(Error::not_zarr(format!("tile {tile} is lost"))),
                _ => Chunk::Bytes(encoder.tile(array, tile)?),
            });
        }
        let chain = chain.map_or_else(ChainSpec::default, |chain| chain.spec().clone());
        Ok(Array { id, name, shape: tiling.shape().to_vec(), chunk, chain, chunks })
    }

    /// Adds `by` to the offsets of all chunks.
    pub(crate) fn shift(&mut self, by: u64) {
        for chunk in &mut self.chunks {
            if let Chunk::Place { offset, .. } = chunk {
                *offset = offset.saturating_add(by);
            }
        }
    }

    /// The number of chunks along each dimension.
    pub(crate) fn grid(&self) -> Vec<u64> {
        self.shape.iter().zip(&self.chunk).map(|(n, c)| n.div_ceil(*c)).collect()
    }

    /// The chunks with their indices in the grid; none if the array is empty.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (Vec<u64>, &Chunk)> {
        let grid = self.grid();
        (0..).zip(&self.chunks).map(move |(number, chunk)| {
            let mut rest: u64 = number;
            let mut index: Vec<u64> = Vec::with_capacity(grid.len());
            for count in grid.iter().rev().map(|n| (*n).max(1)) {
                index.push(rest % count);
                rest /= count;
            }
            index.reverse();
            (index, chunk)
        })
    }
}

/// Returns the chain of most bytes of an array's blocks. Blocks that no chain made smaller are stored
/// uncompressed. If an array has both, the blocks with fewer bytes are encoded again.
fn common_chain<'a>(archive: &'a Archive, entries: &[IndexEntry]) -> Result<Option<(u16, &'a Chain)>> {
    let mut used: BTreeMap<u16, u64> = BTreeMap::new();
    for entry in entries {
        if let IndexEntry::Stored { chain, len, .. } = entry {
            *used.entry(*chain).or_default() += u64::from(*len);
        }
    }
    let mut chains = Vec::new();
    for (number, bytes) in used {
        let chain = archive.chains().get(usize::from(number));
        chains.push((number, chain.ok_or_else(|| Error::not_zarr("its chain is missing"))?, bytes));
    }
    let encoded = chains.iter().filter(|(_, chain, _)| !chain.spec().0.is_empty()).count();
    if encoded > 1 {
        return Err(Error::not_zarr(format!(
            "it uses {encoded} codec chains, Zarr allows one; archive the file with the profile zarr"
        )));
    }
    let largest = chains.into_iter().max_by_key(|(_, _, bytes)| *bytes);
    Ok(largest.map(|(number, chain, _)| (number, chain)))
}

/// Returns the shape of the tiles, which must be regular chunks.
fn chunk_shape(tiling: &Tiling) -> Result<Vec<u64>> {
    let shape = tiling.shape();
    let whole = || shape.iter().map(|n| (*n).max(1)).collect::<Vec<_>>();
    if tiling.present() != tiling.elements() {
        return Err(Error::not_zarr("the file ends before its data does"));
    }
    match tiling.layout() {
        TileLayout::Chunked { shape: chunk, edge } => {
            let even = || shape.iter().zip(chunk).all(|(n, c)| n.is_multiple_of(*c));
            if *edge == Edge::Clipped && !even() {
                return Err(Error::not_zarr(
                    "its chunks are clipped at the edges, chunks of Zarr are not; archive the file with the profile zarr",
                ));
            }
            Ok(chunk.iter().map(|c| (*c).max(1)).collect())
        }
        TileLayout::Linear { .. } if tiling.tile_count() <= 1 => Ok(whole()),
        TileLayout::Linear { len } => {
            let row = shape.iter().skip(1).product::<u64>();
            let rows = tiling.rows_per_tile(0);
            if row == 0 || rows * row != *len || !shape[0].is_multiple_of(rows) {
                return Err(Error::not_zarr(
                    "its tiles are not boxes of one shape; archive the file with the profile zarr",
                ));
            }
            let mut chunk = whole();
            chunk[0] = rows;
            Ok(chunk)
        }
    }
}

/// Encodes chunks that have no suitable block: constant ones, members of shared containers, and those with
/// another chain.
struct Encoder<'a> {
    archive: &'a Archive,
    chain: Option<&'a Chain>,
    scratch: CodecScratch,
}

impl Encoder<'_> {
    fn tile(&mut self, array: ArrayId, tile: u64) -> Result<Vec<u8>> {
        let bytes = self.archive.read_tile(array, tile)?;
        match self.chain {
            Some(chain) if chain.is_numeric() => Err(Error::not_zarr(format!(
                "tile {tile} shares a block with others, or has none, and its array's codec is nc3z.num"
            ))),
            Some(chain) if !chain.spec().0.is_empty() => {
                let mut out = Vec::new();
                chain.encode_bytes(&bytes, &mut self.scratch, &mut out)?;
                Ok(out)
            }
            _ => Ok(bytes),
        }
    }
}
