//! Coastlines: those of Natural Earth's map of 1:50 million, simplified by `scripts/coastline.py`, which
//! describes the content of the file.

use crate::scene::Point;
use nc3z_look::geography::COASTLINE as BYTES;
use std::sync::OnceLock;

/// The number of steps in a degree: positions are stored as steps.
const STEPS: f64 = 20.0;

/// The lines, each a list of positions: longitudes from -180 to 180, latitudes.
fn lines() -> &'static [Vec<Point>] {
    static LINES: OnceLock<Vec<Vec<Point>>> = OnceLock::new();
    LINES.get_or_init(|| decoded(BYTES))
}

/// Decodes lines, which are numbers of seven bits in each byte: the number of positions, and for each
/// position the steps east and north from the previous one.
fn decoded(bytes: &[u8]) -> Vec<Vec<Point>> {
    let mut bytes = bytes.iter();
    let mut next = || -> Option<i32> {
        let (mut value, mut shift) = (0_u32, 0);
        loop {
            let byte = *bytes.next()?;
            value |= u32::from(byte & 127).checked_shl(shift)?;
            shift += 7;
            if byte < 128 {
                return Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
            }
        }
    };
    let mut lines = Vec::new();
    while let Some(places) = next() {
        let (mut x, mut y) = (0_i32, 0_i32);
        let mut line = Vec::new();
        for _ in 0..places {
            let (Some(east), Some(north)) = (next(), next()) else { break };
            (x, y) = (x.saturating_add(east), y.saturating_add(north));
            line.push((f64::from(x) / STEPS, f64::from(y) / STEPS));
        }
        lines.push(line);
    }
    lines
}

/// Returns the coastlines of a map from `west` to `east`, in its own longitudes, converted by `place`. Steps
/// shorter than a pixel are omitted.
pub(super) fn placed(west: f64, east: f64, place: impl Fn(f64, f64) -> Point) -> Vec<Vec<Point>> {
    let mut out = Vec::new();
    // A map may begin at any longitude: each line is repeated for each time that the map goes around the
    // globe.
    let mut around = ((west - 180.0) / 360.0).floor() * 360.0;
    while around <= east + 180.0 {
        for line in lines() {
            out.push(thinned(line.iter().map(|&(lon, lat)| place(lon + around, lat))));
        }
        around += 360.0;
    }
    out
}

/// Omits points less than a pixel from the previous one. The last one is kept.
fn thinned(points: impl Iterator<Item = Point>) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::new();
    let mut last = None;
    for p in points {
        let is_near = kept.last().is_some_and(|k| (p.0 - k.0).hypot(p.1 - k.1) < 1.0);
        if !is_near {
            kept.push(p);
        }
        last = is_near.then_some(p);
    }
    kept.extend(last);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outline_is_on_the_globe_and_near_places_that_are_known() {
        let lines = lines();
        assert!(lines.len() > 100 && BYTES.len() < 25_000);
        let all = || lines.iter().flatten();
        assert!(all().all(|(lon, lat)| lon.abs() <= 180.0 && lat.abs() <= 90.0));
        // Gibraltar, the Cape of Good Hope, Cape Horn, Land's End, Cape York.
        for (lon, lat) in [(-5.35, 36.1), (18.4, -34.3), (-67.3, -55.9), (-5.7, 50.1), (142.5, -10.7)] {
            let nearest = all().map(|p| (p.0 - lon).hypot(p.1 - lat)).fold(f64::INFINITY, f64::min);
            assert!(nearest < 0.6, "{lon} {lat}: {nearest}");
        }
    }

    #[test]
    fn maps_begin_anywhere() {
        let farthest = |west: f64, east: f64| {
            let placed = placed(west, east, |lon, lat| (lon, lat));
            let inside = placed.iter().flatten().filter(|p| (west..=east).contains(&p.0));
            inside.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| (low.min(p.0), high.max(p.0)))
        };
        for west in [-180.0, 0.0, 20.0, -300.0, 720.0] {
            let (low, high) = farthest(west, west + 360.0);
            assert!(low < west + 5.0 && high > west + 355.0, "{west}: {low} {high}");
        }
    }

    #[test]
    fn bytes_of_any_kind_are_lines() {
        for bytes in [&[255_u8; 20][..], &[8, 1, 1], &[4, 2]] {
            let _ = decoded(bytes);
        }
        assert_eq!(decoded(&[4, 40, 39, 0, 2]), [[(1.0, -1.0), (1.0, -0.95)]]);
    }
}
