//! Descriptions of tiles, for people and for programs.

use crate::text;
use nc3z_reader::{Archive, Slab, TileLocation};
use serde_json::{Value, json};

/// The maximal number of boxes that are printed for people.
const SLABS: usize = 4;

/// Formats `tas[time=3..4, lat=0..89] (tile 17), bytes 1024 to 2048 of the original`. If there is an archive,
/// also the coordinates.
pub fn words(place: &TileLocation, archive: Option<&Archive>) -> String {
    let name = name(place);
    let boxes = place.slabs.iter().take(SLABS).map(|slab| name.clone() + &slab_words(place, slab));
    let mut what: Vec<String> = boxes.collect();
    if what.is_empty() {
        what.push(name);
    }
    if place.slabs.len() > SLABS {
        what.push(format!("and {} more boxes", place.slabs.len() - SLABS));
    }
    let tiles = &place.tiles;
    let mut facts = vec![if tiles.end - tiles.start == 1 {
        format!("tile {}", tiles.start)
    } else {
        format!("tiles {} to {}", tiles.start, tiles.end - 1)
    }];
    if place.elements > 0 {
        facts.push(format!("{} elements", place.elements));
    }
    if let Some(bytes) = &place.original {
        facts.push(format!("bytes {} to {} of the original", bytes.start, bytes.end - 1));
    }
    let values = archive.map(|a| coordinates(place, a)).unwrap_or_default();
    let values: String =
        values.iter().map(|(dimension, values)| ["; ", dimension, " ", values].concat()).collect();
    format!("{} ({}){values}", what.join(", "), facts.join(", "))
}

/// Formats `[time=3..4, lat=0..89]`, the last index included.
fn slab_words(place: &TileLocation, slab: &Slab) -> String {
    if slab.start.is_empty() {
        return String::new();
    }
    let range = |i: usize| {
        let (start, count) = (slab.start[i], slab.count[i]);
        let name = place.dimensions.get(i).map_or_else(String::new, |d| format!("{}=", text::name(d)));
        if count == 1 { format!("{name}{start}") } else { format!("{name}{start}..{}", start + count - 1) }
    };
    format!("[{}]", (0..slab.start.len()).map(range).collect::<Vec<_>>().join(", "))
}

/// Returns the variable's name, or a description of data that belong to a variable.
fn name(place: &TileLocation) -> String {
    use nc3z_format::archive::Role;
    let variable = place.variable.as_ref().map(|v| text::name(v));
    match (place.array.role(), variable) {
        (Role::Variable(_), Some(name)) => name,
        (Role::Padding(_), Some(name)) => format!("padding of {name}"),
        (Role::Definitions(_), Some(name)) => format!("definitions of {name}"),
        _ => place.array.to_string(),
    }
}

/// Returns the values of coordinate variables at the corners of the first box.
fn coordinates(place: &TileLocation, archive: &Archive) -> Vec<(String, String)> {
    let Some(slab) = place.slabs.first() else { return Vec::new() };
    // The span of all boxes, which are neighbours.
    let span = |i: usize| {
        let start = place.slabs.iter().map(|s| s.start[i]).min().unwrap_or(slab.start[i]);
        let end = place.slabs.iter().map(|s| s.start[i] + s.count[i]).max().unwrap_or(start);
        (start, end - start)
    };
    let values = place.dimensions.iter().enumerate().filter_map(|(i, dimension)| {
        let (start, count) = span(i);
        let values = archive.coordinates(dimension, start, count)?;
        Some((text::name(dimension), text::safe(&values)))
    });
    values.collect()
}

/// Returns the description as JSON.
pub fn to_json(place: &TileLocation, archive: Option<&Archive>) -> Value {
    let slabs: Vec<Value> = place.slabs.iter().map(|s| json!({"start": s.start, "count": s.count})).collect();
    let dimensions: Vec<String> = place.dimensions.iter().map(|d| text::name(d)).collect();
    let coordinates = archive.map(|a| coordinates(place, a)).unwrap_or_default();
    let coordinates: Value = coordinates.into_iter().map(|(k, v)| json!([k, v])).collect();
    json!({
        "variable": name(place), "id": place.array.0, "first_tile": place.tiles.start, "tiles": place.tiles.end - place.tiles.start,
        "dimensions": dimensions, "hyperslabs": slabs, "elements": place.elements, "coordinates": coordinates,
        "original_begin": place.original.as_ref().map(|r| r.start), "original_end": place.original.as_ref().map(|r| r.end),
    })
}
