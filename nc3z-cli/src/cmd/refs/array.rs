//! One variable as an array of Zarr 2.

use super::{codecs, zarr2};
use anyhow::{Context, Result, bail};
use nc3z_format::archive::{BLOCK_HEADER_LEN, IndexEntry};
use nc3z_format::classic::VarId;
use nc3z_format::codec::{Chain, Scratch};
use nc3z_format::tile::{Edge, TileLayout, Tiling};
use nc3z_reader::Archive;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Adds the documents and chunks of a variable.
pub(super) fn add(
    archive: &Archive,
    id: VarId,
    name: &str,
    url: &str,
    refs: &mut Map<String, Value>,
) -> Result<()> {
    let header = archive.header();
    let variable = &header.variables[id.index()];
    let place = &archive.layout().variables[id.index()];
    if !place.owned && place.elements != Some(0) {
        bail!("its bytes are another variable's too");
    }
    let info = archive.arrays().variable(id);
    let tiling = &info.tiling;
    let (array, tiles) = (info.id, tiling.tile_count());
    let chunk = chunk_shape(tiling)?;
    let entries = (0..tiles).map(|tile| archive.entry(array, tile)).collect::<Result<Vec<_>, _>>()?;
    let used: BTreeSet<u16> = entries
        .iter()
        .filter_map(|entry| match entry {
            IndexEntry::Stored { chain, .. } => Some(*chain),
            _ => None,
        })
        .collect();
    // The blocks of a short form are not in the file as they are.
    let chain = match used.iter().collect::<Vec<_>>()[..] {
        _ if archive.is_short() => None,
        [] => None,
        [number] => Some(archive.chains().get(usize::from(*number)).context("its chain is not there")?),
        _ => bail!(
            "its tiles are made by {} chains, and Zarr has one; --profile zarr archives it so",
            used.len()
        ),
    };
    let specs = chain.map_or(Ok(Vec::new()), |chain| codecs::numcodecs(chain.spec(), variable.ty, &chunk))?;
    let (compressor, filters) = codecs::split(specs);
    let fill = zarr2::fill_value(variable);
    let document = json!({
        "zarr_format": 2, "shape": tiling.shape(), "chunks": chunk, "dtype": zarr2::dtype(variable.ty), "order": "C",
        "fill_value": fill, "compressor": compressor, "filters": filters, "dimension_separator": ".",
    });
    refs.insert(format!("{name}/.zarray"), document.to_string().into());
    let dimensions =
        variable.dimensions.iter().map(|d| header.dimensions[d.index()].name_lossy().into_owned());
    let dimensions = Value::from(dimensions.collect::<Vec<_>>());
    let mut attributes = zarr2::attributes(&variable.attributes, (!fill.is_null()).then_some("_FillValue"));
    attributes.insert("_ARRAY_DIMENSIONS".to_owned(), dimensions);
    refs.insert(format!("{name}/.zattrs"), Value::from(attributes).to_string().into());
    let mut inline = Inline { archive, chain, scratch: Scratch::default() };
    for (tile, entry) in (0..tiles).zip(entries) {
        let key = key(name, tile, tiling, &chunk);
        let value = match entry {
            IndexEntry::Stored { offset, len, .. } if chain.is_some() => {
                json!([url, offset + BLOCK_HEADER_LEN as u64, len])
            }
            IndexEntry::Lost => bail!("tile {tile} is lost"),
            _ => inline.tile(array, tile)?,
        };
        refs.insert(key, value);
    }
    Ok(())
}

/// The regular chunk that the tiles are.
fn chunk_shape(tiling: &Tiling) -> Result<Vec<u64>> {
    let shape = tiling.shape();
    let whole = || shape.iter().map(|n| (*n).max(1)).collect::<Vec<_>>();
    if tiling.present() != tiling.elements() {
        bail!("the file ends before its data does");
    }
    match tiling.layout() {
        TileLayout::Chunked { shape: chunk, edge } => {
            let even = || shape.iter().zip(chunk).all(|(n, c)| n.is_multiple_of(*c));
            if *edge == Edge::Clipped && !even() {
                bail!(
                    "its chunks are clipped at the edges, and Zarr's are not; --profile zarr archives it so"
                );
            }
            Ok(chunk.iter().map(|c| (*c).max(1)).collect())
        }
        TileLayout::Linear { .. } if tiling.tile_count() <= 1 => Ok(whole()),
        TileLayout::Linear { len } => {
            let row = shape.iter().skip(1).product::<u64>();
            let rows = tiling.rows_per_tile(0);
            if row == 0 || rows * row != *len || !shape[0].is_multiple_of(rows) {
                bail!("its tiles are no boxes of one shape; --profile zarr archives it so");
            }
            let mut chunk = whole();
            chunk[0] = rows;
            Ok(chunk)
        }
    }
}

/// `tas/0.3.1`: tiles are numbered with the last dimension fastest.
fn key(name: &str, tile: u64, tiling: &Tiling, chunk: &[u64]) -> String {
    let mut rest = tile;
    let mut numbers = Vec::new();
    for (n, c) in tiling.shape().iter().zip(chunk).rev() {
        let count = n.div_ceil(*c).max(1);
        numbers.push((rest % count).to_string());
        rest /= count;
    }
    numbers.reverse();
    if numbers.is_empty() { format!("{name}/0") } else { format!("{name}/{}", numbers.join(".")) }
}

/// Chunks that no block of their own stands for: constant ones, members of containers.
struct Inline<'a> {
    archive: &'a Archive,
    chain: Option<&'a Chain>,
    scratch: Scratch,
}

impl Inline<'_> {
    fn tile(&mut self, array: nc3z_format::archive::ArrayId, tile: u64) -> Result<Value> {
        let bytes = self.archive.read_tile(array, tile)?;
        let encoded = match self.chain {
            Some(chain) if chain.is_numeric() => {
                bail!(
                    "tile {tile} shares a block with others, or has none, and its array's codec is nc3z.num"
                )
            }
            Some(chain) => {
                let mut out = Vec::new();
                chain.encode_bytes(&bytes, &mut self.scratch, &mut out)?;
                out
            }
            None => bytes,
        };
        Ok(format!("base64:{}", zarr2::base64(&encoded)).into())
    }
}
