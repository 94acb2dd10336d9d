//! The place of a tile in the user's terms: variable, hyperslabs, and the bytes of the original file.

use crate::archive::Archive;
use nc3z_format::NcType;
use nc3z_format::archive::{ArrayId, Role};
use nc3z_format::array::TileKey;
use nc3z_format::array_table::{ArrayInfo, Arrays};
use nc3z_format::classic::{Header, VarId};
use nc3z_format::decode_value::{Decoding, Value};
use nc3z_format::tile::TileExtent;
use std::ops::Range;

/// Arrays of more dimensions are described as runs of elements only.
const MAX_RANK: usize = 64;
/// Runs of at most this many chunks are described box by box.
const MAX_CHUNKS: usize = 64;
/// Boxes of a tile that a message names.
const MESSAGE_SLABS: usize = 3;

/// A box of an array: `start` and `count` along each dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slab {
    /// First index along each dimension, from 0.
    pub start: Vec<u64>,
    /// Number of indices along each dimension.
    pub count: Vec<u64>,
}

/// The place of a run of tiles of one array.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TileLocation {
    /// The array of the tiles.
    pub array: ArrayId,
    /// The variable's name, where it is a variable, its padding or its definitions.
    pub variable: Option<Vec<u8>>,
    /// The numbers of the tiles.
    pub tiles: Range<u64>,
    /// The names of the dimensions of `slabs`. Empty if `slabs` are ranges of the flattened array.
    pub dimensions: Vec<Vec<u8>>,
    /// The parts of the array in the tiles. Together they are exactly the tiles, except for runs of very many
    /// chunks.
    pub slabs: Vec<Slab>,
    /// Elements in the tiles (bytes for padding and gap).
    pub elements: u64,
    /// The range of the original file from the first byte of the tiles to their last. It may include bytes of
    /// other variables.
    pub original: Option<Range<u64>>,
}

impl Archive {
    /// The place of tiles of an array. Tiles that the array does not have are omitted.
    pub fn place(&self, array: ArrayId, tiles: Range<u64>) -> TileLocation {
        let (mut place, bytes) = of_tiles(self.header(), self.arrays(), array, tiles);
        place.original = bytes.and_then(|bytes| {
            let (begin, _) = self.arrays().byte_run(self.layout(), array, bytes.start)?;
            let (last, _) = self.arrays().byte_run(self.layout(), array, bytes.end.checked_sub(1)?)?;
            Some(begin..last + 1)
        });
        place
    }

    /// The values of a dimension's coordinate variable at the first and last index of a range, with its
    /// units. `None` if there is no such variable, or it cannot be read.
    pub fn coordinates(&self, dimension: &[u8], start: u64, count: u64) -> Option<String> {
        let (id, variable) = self.header().variable(dimension)?;
        let [dim] = variable.dimensions[..] else { return None };
        if self.header().dimensions[dim.index()].name != dimension
            || variable.ty == NcType::Char
            || count == 0
        {
            return None;
        }
        let decoding = Decoding::new(self.header(), variable);
        let units = variable.attributes.iter().find(|a| a.name == b"units" && a.ty == NcType::Char);
        let units = units.filter(|_| decoding.time().is_none());
        let units = units.map_or_else(String::new, |a| format!(" {}", String::from_utf8_lossy(&a.values)));
        let first = self.element(id, &decoding, start)?;
        if count == 1 {
            return Some(format!("{first}{units}"));
        }
        Some(format!("{first} to {}{units}", self.element(id, &decoding, start + count - 1)?))
    }

    fn element(&self, id: VarId, decoding: &Decoding, index: u64) -> Option<String> {
        let size = decoding.ty().size();
        let mut bytes = [0; 8];
        // Fill values would be wrong here.
        if self.inner.store.fills.is_some() {
            return None;
        }
        self.read_variable_range(id, index.checked_mul(size as u64)?, &mut bytes[..size]).ok()?;
        Some(match decoding.value(&bytes[..size]) {
            Value::Missing => "unknown".to_owned(),
            Value::Single(x) => x.to_string(),
            Value::Double(x) => x.to_string(),
            Value::Time(moment) => moment.to_string(),
            value @ Value::Whole(_) => value.to_string(),
        })
    }
}

/// The place of tiles without that in the original file, and their bytes in the flattened array.
fn of_tiles(
    header: &Header,
    arrays: &Arrays,
    array: ArrayId,
    tiles: Range<u64>,
) -> (TileLocation, Option<Range<u64>>) {
    let variable = arrays.variable_of(array).map(|v| &header.variables[v.index()]);
    let mut place = TileLocation {
        array,
        variable: variable.map(|v| v.name.clone()),
        tiles: tiles.clone(),
        dimensions: Vec::new(),
        slabs: Vec::new(),
        elements: 0,
        original: None,
    };
    let Some(info) = arrays.get(array) else { return (place, None) };
    let (first, end) = (tiles.start, tiles.end.min(info.tiling.tile_count()));
    if first >= end {
        return (place, None);
    }
    if let (Some(v), Role::Variable(_)) = (variable, array.role())
        && v.dimensions.len() == info.tiling.shape().len()
        && v.dimensions.len() <= MAX_RANK
    {
        place.dimensions = v.dimensions.iter().map(|d| header.dimensions[d.index()].name.clone()).collect();
    }
    let flat = place.dimensions.len() != info.tiling.shape().len();
    let bytes = if info.linear_tile_len().is_some() {
        linear(info, first, end, flat, &mut place)
    } else {
        chunked(info, first, end, flat, &mut place)
    };
    (place, bytes)
}

/// The hyperslab of a variable's tile in messages: ` [time=3..4, lat=0..89]`, last indices included. Nothing for other tiles.
pub(crate) fn slab_words(header: &Header, arrays: &Arrays, key: TileKey) -> String {
    let (place, _) = of_tiles(header, arrays, key.array, key.tile..key.tile.saturating_add(1));
    let range = |(name, (start, count)): (&Vec<u8>, (&u64, &u64))| {
        let name = String::from_utf8_lossy(name);
        if *count == 1 { format!("{name}={start}") } else { format!("{name}={start}..{}", start + count - 1) }
    };
    let words = |slab: &Slab| {
        let ranges = place.dimensions.iter().zip(slab.start.iter().zip(&slab.count)).map(range);
        format!(" [{}]", ranges.collect::<Vec<_>>().join(", "))
    };
    let known = place.slabs.iter().filter(|_| !place.dimensions.is_empty());
    let mut words: String = known.take(MESSAGE_SLABS).map(words).collect();
    if place.slabs.len() > MESSAGE_SLABS && !words.is_empty() {
        words += " ...";
    }
    words
}

/// Linear tiles follow each other: one run of elements. Returns its bytes in the flattened array.
fn linear(
    info: &ArrayInfo,
    first: u64,
    end: u64,
    flat: bool,
    place: &mut TileLocation,
) -> Option<Range<u64>> {
    let (begin, _) = info.tile_bytes(first).ok()?;
    let (last, len) = info.tile_bytes(end - 1).ok()?;
    let stop = last + len as u64;
    let size = info.ty.size() as u64;
    let (from, count) = (begin / size, (stop - begin) / size);
    place.elements = count;
    place.slabs = if flat {
        vec![Slab { start: vec![from], count: vec![count] }]
    } else {
        boxes_of_run(info.tiling.shape(), from, count)
    };
    Some(begin..stop)
}

/// Chunks are boxes. Returns the span of their bytes in the flattened array.
fn chunked(
    info: &ArrayInfo,
    first: u64,
    end: u64,
    flat: bool,
    place: &mut TileLocation,
) -> Option<Range<u64>> {
    let shape = info.tiling.shape();
    let size = info.ty.size() as u64;
    let mut span: Option<Range<u64>> = None;
    for tile in first..end {
        let Ok(TileExtent::Chunk { start, shape: count }) = info.tiling.extent(tile) else { continue };
        place.elements += count.iter().product::<u64>();
        let at = |index: &dyn Fn(usize) -> u64| {
            (0..shape.len()).fold(0u64, |flat, d| flat * shape[d] + index(d)) * size
        };
        let (from, to) = (at(&|d| start[d]), at(&|d| start[d] + count[d] - 1) + size);
        span = Some(span.map_or(from..to, |s| s.start.min(from)..s.end.max(to)));
        if !flat && place.slabs.len() < MAX_CHUNKS {
            place.slabs.push(Slab { start, count });
        }
    }
    span
}

/// The boxes that make up a run of an array flattened in row-major order. Empty for an empty run.
fn boxes_of_run(shape: &[u64], first: u64, count: u64) -> Vec<Slab> {
    if shape.is_empty() {
        return (0..count).map(|_| Slab { start: Vec::new(), count: Vec::new() }).collect();
    }
    let boxes = nc3z_format::selection::boxes(shape, first, first + count);
    boxes.map(|b| Slab { start: b.start, count: b.count }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flat indices of a box.
    fn elements(shape: &[u64], slab: &Slab) -> Vec<u64> {
        let mut all = vec![0u64];
        for ((&len, &start), &count) in shape.iter().zip(&slab.start).zip(&slab.count) {
            let range = start..start + count;
            all = all.iter().flat_map(|flat| range.clone().map(move |i| flat * len + i)).collect();
        }
        all
    }

    #[test]
    fn boxes_of_every_run_are_the_run() {
        for shape in [&[7][..], &[3, 5], &[2, 3, 4], &[1, 4, 1, 3], &[2, 1, 5], &[]] {
            let total: u64 = shape.iter().product();
            for first in 0..total {
                for count in 1..=total - first {
                    let boxes = boxes_of_run(shape, first, count);
                    let mut found: Vec<u64> = boxes.iter().flat_map(|b| elements(shape, b)).collect();
                    found.sort_unstable();
                    assert_eq!(
                        found,
                        (first..first + count).collect::<Vec<_>>(),
                        "{shape:?} {first}+{count}"
                    );
                }
            }
        }
        assert!(boxes_of_run(&[4], 0, 0).is_empty());
    }
}
