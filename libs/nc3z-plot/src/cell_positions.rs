//! Variables whose longitudes and latitudes are separate variables: curvilinear grids (one value for each
//! cell of two dimensions) and unstructured cells (one value for each cell of one dimension). Their cells are
//! drawn at their positions on a regular raster of degrees.

use crate::axis::{self, Axis, Role};
use crate::field::Dim;
use crate::{Result, attribute, units};
use nc3z_format::classic::DimId;
use nc3z_look::coordinate::Coordinate;
use nc3z_look::geography::Geography;
use nc3z_look::selection::Segment;
use nc3z_look::text;
use nc3z_reader::{Dataset, Variable};

/// The number of cells of the raster along its longer side.
const RASTER: usize = 800;
/// The maximal number of raster cells that are tested, so that drawing ends for any coordinates.
const MOST: u64 = 100_000_000;
/// The maximal distance at which an unstructured cell is drawn from its middle, in cells of the raster.
const FARTHEST: f64 = 60.0;
/// With fewer cells than this they are drawn as stations: dots whose radius is this part of the map.
const FEW: f64 = 200.0;
const DOT: f64 = 1.0 / 70.0;

/// The positions of a variable's cells.
pub(super) struct CellPositions {
    geography: Geography,
    /// The number of dimensions: one or two.
    pub(super) rank: usize,
}

impl CellPositions {
    /// Finds longitude and latitude over the last of these dimensions, or the last two, if these have no
    /// coordinates of their own.
    pub(super) fn new(dataset: &Dataset, variable: &Variable, long: &[DimId]) -> Option<Self> {
        // Values along a single time axis are drawn as a series, not at their positions.
        if let [only] = long
            && Coordinate::time_of(dataset, *only).is_some()
        {
            return None;
        }
        let geography = Geography::at_end(dataset, variable, long)?;
        Some(CellPositions { rank: geography.dims().len(), geography })
    }

    /// Returns the raster, and its two axes.
    pub(super) fn raster(
        &self,
        all: &[(DimId, Vec<Segment>)],
        dims: &[Dim],
        values: &[f64],
    ) -> Result<Option<(Axis, Axis, Vec<f64>)>> {
        let (mut lon, lat) = self.geography.at(all)?;
        let counts: Vec<usize> = dims.iter().map(Dim::len).collect();
        if lon.len() != values.len() || lat.len() != values.len() {
            return Ok(None);
        }
        let is_place = |lon: f64, lat: f64| lon.abs() <= 1e6 && lat.abs() <= 90.5;
        lon.iter_mut().zip(&lat).for_each(|(lon, lat)| {
            if !is_place(*lon, *lat) {
                *lon = f64::NAN;
            }
        });
        let Some(begin) = begin(&lon) else { return Ok(None) };
        lon.iter_mut().for_each(|lon| *lon = begin + (*lon - begin).rem_euclid(360.0));
        let cells: Vec<Cell> = match counts[..] {
            [rows, columns] => curvilinear(&lon, &lat, values, rows, columns),
            _ => loose(&lon, &lat, values),
        };
        let mut raster = Raster::around(&lon, &lat, &cells, counts.len() == 1);
        cells.iter().for_each(|cell| raster.draw(cell));
        let label = |v: &Variable, direction: &str| {
            let own = || attribute(v, "long_name").unwrap_or_else(|| text::safe(&v.name()));
            let name = if self.geography.is_in_columns() { direction.to_owned() } else { own() };
            axis::label(&name, units(v).filter(|u| !u.to_ascii_lowercase().starts_with("rad")).as_deref())
        };
        let x = Axis::of_degrees(
            label(self.geography.longitude(), "longitude"),
            Role::Longitude,
            raster.x.0,
            raster.x.1,
            raster.width,
        );
        let y = Axis::of_degrees(
            label(self.geography.latitude(), "latitude"),
            Role::Latitude,
            raster.y.0,
            raster.y.1,
            raster.height,
        );
        Ok(Some((x, y, raster.values)))
    }
}

/// Returns the western end of the shortest range that contains all longitudes: the end of the widest gap
/// between them.
fn begin(lon: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = lon.iter().filter(|v| v.is_finite()).map(|v| v.rem_euclid(360.0)).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    let (mut widest, mut begin) = (first + 360.0 - last, first);
    for pair in sorted.windows(2) {
        if pair[1] - pair[0] > widest {
            (widest, begin) = (pair[1] - pair[0], pair[1]);
        }
    }
    // Without a wide gap the map covers the whole globe, from the usual western end.
    if widest < 20.0 {
        return Some(if lon.iter().any(|v| *v < 0.0) { -180.0 } else { 0.0 });
    }
    Some(if begin >= 180.0 { begin - 360.0 } else { begin })
}

/// A parallelogram around a middle, or an ellipse.
struct Cell {
    middle: (f64, f64),
    /// Half the vectors to the next column and to the next row. For an ellipse, its semi-axes.
    sides: [(f64, f64); 2],
    value: f64,
    /// Where ellipses overlap, the one with the nearest middle is drawn.
    is_ellipse: bool,
}

/// Returns cells with the width of the distance to their neighbours.
fn curvilinear(lon: &[f64], lat: &[f64], values: &[f64], rows: usize, columns: usize) -> Vec<Cell> {
    let at = |row: usize, column: usize| (lon[row * columns + column], lat[row * columns + column]);
    // Half of the distance to the neighbours. If the two distances differ much, the shorter one, since grids
    // may be folded or cut.
    let half = |here: (f64, f64), before: Option<(f64, f64)>, after: Option<(f64, f64)>| {
        let way = |from: (f64, f64), to: (f64, f64)| {
            let across = (to.0 - from.0 + 180.0).rem_euclid(360.0) - 180.0;
            (across / 2.0, (to.1 - from.1) / 2.0)
        };
        let length = |v: (f64, f64)| v.0.abs() + v.1.abs();
        let before = before.map(|b| way(b, here)).filter(|v| length(*v).is_finite());
        let after = after.map(|a| way(here, a)).filter(|v| length(*v).is_finite());
        match (before, after) {
            (Some(b), Some(a)) if length(b) > 3.0 * length(a) => a,
            (Some(b), Some(a)) if length(a) > 3.0 * length(b) => b,
            (Some(b), Some(a)) => (f64::midpoint(a.0, b.0), f64::midpoint(a.1, b.1)),
            (one, other) => one.or(other).unwrap_or((0.0, 0.0)),
        }
    };
    let mut cells = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            let (middle, value) = (at(row, column), values[row * columns + column]);
            if !(middle.0.is_finite() && value.is_finite()) {
                continue;
            }
            let columns_beside = (column.checked_sub(1), Some(column + 1).filter(|c| *c < columns));
            let rows_beside = (row.checked_sub(1), Some(row + 1).filter(|r| *r < rows));
            let sides = [
                half(middle, columns_beside.0.map(|c| at(row, c)), columns_beside.1.map(|c| at(row, c))),
                half(middle, rows_beside.0.map(|r| at(r, column)), rows_beside.1.map(|r| at(r, column))),
            ];
            // Slightly enlarged, so that no line stays empty between cells whose sides do not match exactly.
            let sides = sides.map(|s| (s.0 * 1.05, s.1 * 1.05));
            cells.push(Cell { middle, sides, value, is_ellipse: false });
        }
    }
    cells
}

/// Returns cells of the size at which they cover their common range.
fn loose(lon: &[f64], lat: &[f64], values: &[f64]) -> Vec<Cell> {
    let places = || lon.iter().zip(lat).filter(|(lon, lat)| lon.is_finite() && lat.is_finite());
    #[expect(clippy::cast_precision_loss, reason = "a number of cells")]
    let count = places().count().max(1) as f64;
    let (west, east) = ends(places().map(|p| *p.0));
    let (south, north) = ends(places().map(|p| *p.1));
    let middle = f64::midpoint(south, north).to_radians().cos().max(0.1);
    let apart = if count < FEW {
        (east - west).max(north - south) * DOT
    } else {
        ((east - west) * middle * (north - south) / count).sqrt()
    };
    let all = lon
        .iter()
        .zip(lat)
        .zip(values)
        .filter(|((lon, lat), v)| lon.is_finite() && lat.is_finite() && v.is_finite());
    let cell = |((&lon, &lat), &value): ((&f64, &f64), &f64)| {
        // Stations are round. The width of other cells depends on the latitude.
        let wide = if count < FEW { 1.0 } else { lat.to_radians().cos().max(0.05) };
        let across = apart * 1.3 / wide;
        Cell { middle: (lon, lat), sides: [(across, 0.0), (0.0, apart * 1.3)], value, is_ellipse: true }
    };
    all.map(cell).collect()
}

fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
}

/// A regular raster, row after row, from south to north.
struct Raster {
    x: (f64, f64),
    y: (f64, f64),
    width: usize,
    height: usize,
    values: Vec<f64>,
    /// The distance of a pixel from the middle of the cell drawn there, in units of the cell's size.
    distance: Vec<f64>,
    left: u64,
}

impl Raster {
    /// Makes a raster for the positions of all cells and half a cell around them.
    fn around(lon: &[f64], lat: &[f64], cells: &[Cell], is_loose: bool) -> Self {
        let places = || lon.iter().zip(lat).filter(|(lon, lat)| lon.is_finite() && lat.is_finite());
        let (mut west, mut east) = ends(places().map(|p| *p.0));
        let (mut south, mut north) = ends(places().map(|p| *p.1));
        // Half of the median cell: cells at a pole are not representative.
        let around = |size: &dyn Fn(&Cell) -> f64, span: f64| {
            let mut sizes: Vec<f64> = cells.iter().map(size).collect();
            sizes.sort_unstable_by(f64::total_cmp);
            let half = sizes.get(sizes.len() / 2).copied().unwrap_or(0.0);
            // Dots must be completely inside.
            let least = if is_loose { span * 0.03 } else { span * 0.005 };
            half.min(span.max(1.0)).max(least).max(1e-6)
        };
        let wide = around(&|c| c.sides[0].0.abs() + c.sides[1].0.abs(), east - west);
        let high = around(&|c| c.sides[0].1.abs() + c.sides[1].1.abs(), north - south);
        (west, east) = (west - wide, east + wide);
        if east - west > 360.0 {
            let middle = f64::midpoint(west, east);
            (west, east) = (middle - 180.0, middle + 180.0);
        }
        (south, north) = ((south - high).max(-90.0), (north + high).min(90.0));
        let shape = ((north - south) / (east - west)).clamp(0.3, 1.2);
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most RASTER"
        )]
        let height = (RASTER as f64 * shape.min(1.0)).round() as usize;
        let len = RASTER * height;
        Raster {
            x: (west, east),
            y: (south, north),
            width: RASTER,
            height,
            values: vec![f64::NAN; len],
            distance: vec![f64::INFINITY; len],
            left: MOST,
        }
    }

    /// Draws a cell, and a second time if it crosses the map's edge.
    fn draw(&mut self, cell: &Cell) {
        for around in [0.0, -360.0, 360.0] {
            self.draw_at(cell, around);
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to the raster"
    )]
    fn draw_at(&mut self, cell: &Cell, around: f64) {
        let (dx, dy) =
            ((self.x.1 - self.x.0) / self.width as f64, (self.y.1 - self.y.0) / self.height as f64);
        // In cells of the raster.
        let (x, y) = ((cell.middle.0 + around - self.x.0) / dx, (cell.middle.1 - self.y.0) / dy);
        let mut sides = cell.sides.map(|s| (s.0 / dx, s.1 / dy));
        if cell.is_ellipse {
            let half = |v: f64, most: f64| v.clamp(1.0, most.max(1.0));
            let flat = (sides[0].0 / sides[1].1.max(1e-9)).clamp(1.0, 20.0);
            let tall = half(sides[1].1, FARTHEST);
            sides = [((tall * flat).max(1.0), 0.0), (0.0, tall)];
        }
        let reach = (sides[0].0.abs() + sides[1].0.abs(), sides[0].1.abs() + sides[1].1.abs());
        let range = |middle: f64, reach: f64, most: usize| {
            let from = (middle - reach).floor().clamp(0.0, most as f64) as usize;
            let to = (middle + reach).ceil().clamp(0.0, most as f64) as usize;
            from..to
        };
        let (columns, rows) = (range(x, reach.0, self.width), range(y, reach.1, self.height));
        let looked = (columns.len() * rows.len()) as u64;
        let area = sides[0].0 * sides[1].1 - sides[0].1 * sides[1].0;
        let is_spent = looked > self.left;
        if !is_spent && area.abs() > 1e-12 {
            self.left -= looked;
            for row in rows.clone() {
                for column in columns.clone() {
                    let (u, v) = (column as f64 + 0.5 - x, row as f64 + 0.5 - y);
                    let a = (u * sides[1].1 - v * sides[1].0) / area;
                    let b = (v * sides[0].0 - u * sides[0].1) / area;
                    let distance = if cell.is_ellipse { a * a + b * b } else { a.abs().max(b.abs()) };
                    if distance <= 1.0 {
                        self.put(row * self.width + column, distance, cell.value);
                    }
                }
            }
        }
        // The cell is smaller than a cell of the raster, or the limit of tests is reached.
        if x >= 0.0 && y >= 0.0 && (x as usize) < self.width && (y as usize) < self.height {
            self.put(y as usize * self.width + x as usize, 0.5, cell.value);
        }
    }

    fn put(&mut self, at: usize, distance: f64, value: f64) {
        if distance < self.distance[at] {
            (self.distance[at], self.values[at]) = (distance, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longitudes_begin_behind_the_widest_gap() {
        assert_eq!(begin(&[350.0, 10.0, 0.0, f64::NAN]), Some(-10.0));
        assert_eq!(begin(&[170.0, -170.0, 180.0]), Some(170.0));
        assert_eq!(begin(&[f64::NAN]), None);
        let around: Vec<f64> = (0..360).map(f64::from).collect();
        assert_eq!(begin(&around), Some(0.0));
    }

    #[test]
    fn any_coordinates_end_soon() {
        let wild: Vec<f64> = (0..40_000).map(|i| f64::from((i * 7919) % 360)).collect();
        let lat: Vec<f64> = (0..40_000).map(|i| f64::from((i * 10_473) % 180) - 90.0).collect();
        let cells = curvilinear(&wild, &lat, &wild, 200, 200);
        let mut raster = Raster::around(&wild, &lat, &cells, false);
        cells.iter().for_each(|c| raster.draw(c));
        assert!(raster.values.iter().any(|v| v.is_finite()));
    }
}
