//! Looks at a file: its heads, and the values of each tile.

use super::exact::Exact;
use super::file::{Member, Tile, Variable};
use crate::error::Result;
use nc3z_format::NcType;
use nc3z_format::bytes::hex;
use nc3z_format::classic::Attribute;
use nc3z_format::decode_value::Decoding;
use nc3z_reader::{Dataset, Digest};
use std::collections::BTreeMap;

/// Bytes of a text attribute that are kept; longer ones are histories.
const TEXT_LEN: usize = 200;

/// What there is to know of a file. All its values are read.
///
/// # Errors
/// Damage.
pub fn scan(name: &str, dataset: &Dataset, stored: u64) -> Result<Member> {
    let header = dataset.header();
    let dimension =
        |n: u32| header.dimensions.get(n as usize).map_or(String::new(), |d| d.name_lossy().into_owned());
    let mut variables = Vec::with_capacity(header.variables.len());
    for variable in dataset.variables() {
        let head = variable.header();
        let mut tiles = Vec::new();
        if variable.ty() != NcType::Char {
            let decoding = Decoding::of(header, head);
            let size = variable.ty().size();
            for tile in variable.tiles()? {
                tiles.push(values(tile?.bytes.chunks_exact(size).map(|item| decoding.number(item))));
            }
        }
        variables.push(Variable {
            name: variable.name().into_owned(),
            ty: variable.ty().name().to_owned(),
            dimensions: head.dimensions.iter().map(|d| dimension(d.0)).collect(),
            attributes: texts(&head.attributes),
            tiles,
        });
    }
    let records = dataset.records();
    let length = |len| if len == 0 { records } else { len };
    let sha256 = dataset.archive().and_then(|a| match a.digest() {
        Digest::Sha256(sha256) => Some(hex(&sha256)),
        _ => None,
    });
    Ok(Member {
        name: name.to_owned(),
        len: dataset.original_len(),
        stored,
        sha256,
        dimensions: header.dimensions.iter().map(|d| (d.name_lossy().into_owned(), length(d.len))).collect(),
        attributes: texts(&header.attributes),
        variables,
    })
}

/// Counts and sums; numbers that are none are missing.
fn values(numbers: impl Iterator<Item = f64>) -> Tile {
    let mut tile = Tile::default();
    let (mut sum, mut squares) = (Exact::default(), Exact::default());
    for x in numbers.filter(|x| !x.is_nan()) {
        if x.is_infinite() {
            tile.infinite += 1;
            continue;
        }
        (tile.min, tile.max) = match tile.count {
            0 => (x, x),
            _ => (tile.min.min(x), tile.max.max(x)),
        };
        tile.count += 1;
        sum.add(x);
        squares.add_square(x);
    }
    (tile.sum, tile.squares) = (sum.pair(), squares.pair());
    // A sum beyond all doubles is that of values near the end of them, and is left out with them.
    if !tile.sum.0.is_finite() {
        (tile.infinite, tile.count) = (tile.infinite + tile.count, 0);
        (tile.sum, tile.squares, tile.min, tile.max) = Default::default();
    }
    tile
}

fn texts(attributes: &[Attribute]) -> BTreeMap<String, String> {
    let text = |a: &&Attribute| a.ty == NcType::Char && a.values.len() <= TEXT_LEN;
    let words = |a: &Attribute| String::from_utf8_lossy(&a.values).trim_end_matches('\0').to_owned();
    attributes.iter().filter(text).map(|a| (a.name_lossy().into_owned(), words(a))).collect()
}
