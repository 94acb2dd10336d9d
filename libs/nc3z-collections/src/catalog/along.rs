//! Statistics along a dimension, in parts that end where tiles end.

use super::answers::parsed;
use super::described::described;
use super::read::Catalog;
use super::summary::Summary;
use super::table::wrong;
use crate::error::{Error, Result};
use nc3z_format::classic::{DimId, VarId};
use nc3z_format::tile::{TileExtent, Tiling};
use nc3z_reader::Dataset;
use std::collections::BTreeSet;
use std::ops::Range;

/// Parts of a variable of one file along a dimension.
#[derive(Clone)]
pub struct Series {
    /// The name of the file.
    pub file: String,
    /// The file as the catalogue describes it: header and coordinates.
    pub dataset: Dataset,
    /// The number of the variable.
    pub variable: VarId,
    /// The number of the dimension.
    pub dimension: DimId,
    /// The parts, in the order of their indices.
    pub parts: Vec<Part>,
}

/// Consecutive indices of a dimension whose statistics are known.
#[derive(Debug, Clone)]
pub struct Part {
    /// The indices of the part.
    pub indices: Range<u64>,
    /// The numbers of the tiles that have values at these indices. They have no others.
    pub tiles: Vec<u64>,
    /// The statistics of their values.
    pub summary: Summary,
}

/// Calls a function for each file with a variable, with its statistics along a dimension in the smallest parts that no tile crosses. Only
/// one block of files and one series are in memory.
///
/// # Errors
/// No file has the variable with numbers, or none of them has the dimension; damage; errors of the function.
pub fn along<E: From<Error>>(
    catalog: &Catalog,
    variable: &str,
    dimension: &str,
    mut each: impl FnMut(Series) -> Result<(), E>,
) -> Result<(), E> {
    let mut is_there = false;
    let mut others = BTreeSet::new();
    for block in catalog.blocks() {
        let Some(tiles) = block.tiles(variable)? else { continue };
        let (names, heads, headers) = (block.names()?, block.heads()?, block.headers()?);
        let (sums, coordinates, parsed) = (block.sums(variable)?, block.coordinates()?, parsed(&block)?);
        for found in &tiles.found {
            let Some(rows) = found.rows.clone() else { continue };
            let (head, number) = &heads[found.member];
            let header = parsed.get(*number).ok_or_else(|| wrong("a header is not there"))?;
            let of = header.variables.get(found.variable);
            let own = of.ok_or_else(|| wrong(format!("variable {} is not in the header", found.variable)))?;
            let name = |d: &DimId| header.dimensions.get(d.index()).map(|d| d.name_lossy().into_owned());
            let Some(axis) = own.dimensions.iter().position(|d| name(d).as_deref() == Some(dimension)) else {
                others.extend(own.dimensions.iter().filter_map(name));
                continue;
            };
            is_there = true;
            let dataset = described(head, &headers[*number], coordinates[found.member].clone())?;
            let id =
                u32::try_from(found.variable).map_err(|_| wrong("a variable has a number beyond 2^32"))?;
            let layout = dataset
                .layout()
                .variable(VarId(id))
                .ok_or_else(|| wrong("a variable is missing in the layout"))?;
            let tiling = found.layout.bind(&layout.shape, layout.present).map_err(Error::from)?;
            if tiling.tile_count() != rows.len() as u64 {
                return Err(wrong(format!(
                    "`{variable}` has {} tiles in `{}`, where its shape has {}",
                    rows.len(),
                    names[found.member],
                    tiling.tile_count()
                ))
                .into());
            }
            let mut parts = parts(&tiling, axis)?;
            for part in &mut parts {
                let row = |tile: &u64| usize::try_from(*tile).ok().map(|tile| rows.start + tile);
                part.summary.add(part.tiles.iter().filter_map(row).map(|row| tiles.tile(&sums, row)));
            }
            each(Series {
                file: names[found.member].clone(),
                dataset,
                variable: VarId(id),
                dimension: own.dimensions[axis],
                parts,
            })?;
        }
    }
    if is_there {
        return Ok(());
    }
    let others: Vec<_> = others.iter().map(|name| format!("`{name}`")).collect();
    Err(E::from(Error::refused(if others.is_empty() {
        format!("no file has a variable `{variable}` of numbers with dimensions")
    } else {
        format!("`{variable}` has no dimension `{dimension}`; it has {}", others.join(", "))
    })))
}

/// The indices of a tile along an axis: all of them, if the tile's run of elements goes past the last one.
fn indices(tiling: &Tiling, axis: usize, tile: u64) -> Result<Range<u64>> {
    match tiling.extent(tile)? {
        TileExtent::Chunk { start, shape } => Ok(start[axis]..start[axis] + shape[axis]),
        TileExtent::Linear { first, count } => {
            let len = tiling.shape()[axis];
            // Elements behind an index of the axis. The product is that of dimensions of an array with elements: it fits.
            let each = tiling.shape()[axis + 1..].iter().product::<u64>();
            let (first, last) = (first / each, (first + count - 1) / each);
            Ok(if first / len == last / len { first % len..last % len + 1 } else { 0..len })
        }
    }
}

/// The smallest parts along an axis that no tile crosses, with their tiles.
fn parts(tiling: &Tiling, axis: usize) -> Result<Vec<Part>> {
    let mut tiles = Vec::new();
    for tile in 0..tiling.tile_count() {
        tiles.push((indices(tiling, axis, tile)?, tile));
    }
    tiles.sort_unstable_by_key(|(range, tile)| (range.start, *tile));
    let mut parts: Vec<Part> = Vec::new();
    for (range, tile) in tiles {
        match parts.last_mut().filter(|part| range.start < part.indices.end) {
            Some(part) => {
                part.indices.end = part.indices.end.max(range.end);
                part.tiles.push(tile);
            }
            None => parts.push(Part { indices: range, tiles: vec![tile], summary: Summary::default() }),
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nc3z_format::tile::{Edge, TileLayout};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The indices of each tile along an axis, element by element.
    fn touched(tiling: &Tiling, axis: usize) -> Vec<BTreeSet<u64>> {
        let shape = tiling.shape();
        let along = |flat: u64| flat / shape[axis + 1..].iter().product::<u64>() % shape[axis];
        let of = |tile| match tiling.extent(tile).unwrap() {
            TileExtent::Linear { first, count } => (first..first + count).map(along).collect(),
            TileExtent::Chunk { start, shape } => (start[axis]..start[axis] + shape[axis]).collect(),
        };
        (0..tiling.tile_count()).map(of).collect()
    }

    proptest! {
        #[test]
        fn parts_are_the_smallest_that_no_tile_crosses(
            shape in prop::collection::vec(1..6_u64, 1..4), chunk in prop::collection::vec(1..6_u64, 3),
            len in 1..40_u64, linear in any::<bool>(), axis in 0..3_usize, left_out in 0..3_u64,
        ) {
            let axis = axis % shape.len();
            let each: u64 = shape[1..].iter().product();
            let present = shape[0].saturating_sub(left_out) * each;
            let chunks = TileLayout::chunked(&chunk[..shape.len()], Edge::Clipped);
            let layout = if linear { TileLayout::linear(len) } else { chunks };
            let tiling = layout.bind(&shape, present).unwrap();
            let (parts, tiles) = (parts(&tiling, axis).unwrap(), touched(&tiling, axis));
            let mut all: Vec<u64> = parts.iter().flat_map(|part| part.tiles.clone()).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..tiling.tile_count()).collect::<Vec<_>>());
            prop_assert!(parts.windows(2).all(|two| two[0].indices.end <= two[1].indices.start));
            for part in &parts {
                let own = |tile: &u64| &tiles[usize::try_from(*tile).unwrap()];
                prop_assert!(part.tiles.iter().flat_map(own).all(|index| part.indices.contains(index)));
                // Each border inside is crossed by a tile; one that goes past the last index crosses all borders.
                for border in part.indices.start + 1..part.indices.end {
                    let crosses = |tile: &&u64| {
                        let (least, most) = (own(tile).first().unwrap(), own(tile).last().unwrap());
                        *least < border && border <= *most || own(tile).len() as u64 == shape[axis]
                    };
                    prop_assert!(part.tiles.iter().any(|tile| crosses(&tile)), "{border} of {part:?}");
                }
            }
        }
    }
}
