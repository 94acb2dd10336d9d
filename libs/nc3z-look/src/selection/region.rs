//! A region in degrees. If latitudes and longitudes have one dimension each, it selects their indices.
//! Otherwise it selects the smallest box of indices around the cells inside, and masks the other cells.

use super::request::{Error, Result};
use super::search::{Place, Sector, Sorted};
use super::{BoxArg, Mask, Segment};
use crate::coordinate::Coordinate;
use crate::geography::Geography;
use crate::text;
use nc3z_format::NcType;
use nc3z_format::classic::{DimId, VarId};
use nc3z_format::coordinates::{Direction, is_bounds};
use nc3z_reader::{Dataset, Variable};

/// The maximal number of cells whose positions are read.
const MAX_CELLS: u64 = 1 << 28;

/// The selection of a region.
#[derive(Debug, Clone)]
pub struct Region {
    ranges: Vec<(DimId, Vec<Segment>)>,
    cells: Option<Cells>,
}

/// Cells whose latitudes and longitudes are arrays.
#[derive(Debug, Clone)]
struct Cells {
    dims: Vec<DimId>,
    shape: Vec<u64>,
    outside: Vec<bool>,
    /// The variables with the positions of the cells, and all bounds: they are never masked.
    places: Vec<VarId>,
}

impl Region {
    /// The selected indices of each dimension of the region.
    pub fn ranges(&self) -> &[(DimId, Vec<Segment>)] {
        &self.ranges
    }

    /// Returns the mask of a variable over its cells.
    pub fn mask(&self, variable: &Variable) -> Option<std::sync::Arc<Mask>> {
        let cells = self.cells.as_ref()?;
        if cells.places.contains(&variable.id()) || variable.ty() == NcType::Char {
            return None;
        }
        let own = &variable.header().dimensions;
        let dims: Option<Vec<usize>> = cells.dims.iter().map(|d| own.iter().position(|o| o == d)).collect();
        Some(std::sync::Arc::new(Mask::new(dims?, cells.shape.clone(), cells.outside.clone())))
    }
}

/// Returns the selection of a region in a variable.
pub(super) fn region_of(dataset: &Dataset, variable: &Variable, area: &BoxArg) -> Result<Region> {
    let dims = &variable.header().dimensions;
    let axis = |direction: Direction| {
        dims.iter()
            .copied()
            .find(|d| Coordinate::own(dataset, *d).and_then(|c| c.direction()) == Some(direction))
    };
    if let (Some(lon), Some(lat)) = (axis(Direction::Longitude), axis(Direction::Latitude)) {
        return of_axes(dataset, (lon, lat), area);
    }
    let Some(geography) = Geography::of_any(dataset, variable, dims) else {
        return Err(Error::wrong(format!(
            "variable `{}` has no latitudes and longitudes that a region could be looked for in (as coordinates of its \
             dimensions, or named by its attribute `coordinates`)",
            text::safe(&variable.name())
        )));
    };
    of_cells(dataset, &geography, area)
}

fn of_axes(dataset: &Dataset, (lon, lat): (DimId, DimId), area: &BoxArg) -> Result<Region> {
    let range = |dim: DimId, low: f64, high: f64| -> Result<(DimId, Vec<Segment>)> {
        let sorted = Sorted::of_degrees(dataset, dim)?;
        match sorted.between(Some(low), Some(high))?.0 {
            Place::Nothing(why) => Err(Error::wrong(format!("the region is empty: {why}"))),
            Place::Range(first, last) => {
                let len = sorted.len();
                Ok((dim, super::dimension::walk(first, last, len, 1)))
            }
        }
    };
    let ranges = vec![range(lon, area.west, area.east)?, range(lat, area.south, area.north)?];
    Ok(Region { ranges, cells: None })
}

fn of_cells(dataset: &Dataset, geography: &Geography, area: &BoxArg) -> Result<Region> {
    let shape = geography.shape();
    let count = super::elements(&shape);
    if count > MAX_CELLS {
        return Err(Error::wrong(format!(
            "the grid has {count} cells, of which at most {MAX_CELLS} are looked at"
        )));
    }
    let (lon, lat) = geography.all().map_err(Error::read("read latitudes and longitudes"))?;
    let sector = Sector::new(area.west, area.east, true);
    let inside = |(lon, lat): (&f64, &f64)| {
        (area.south..=area.north).contains(lat) && lon.is_finite() && sector.offset(*lon).is_some()
    };
    let outside: Vec<bool> = lon.iter().zip(&lat).map(|place| !inside(place)).collect();
    let columns = usize::try_from(*shape.last().unwrap_or(&1)).unwrap_or(usize::MAX).max(1);
    let mut ends: Vec<Option<(u64, u64)>> = vec![None; shape.len()];
    for (n, _) in outside.iter().enumerate().filter(|(_, outside)| !**outside) {
        let index = if shape.len() == 2 { vec![n / columns, n % columns] } else { vec![n] };
        for (end, i) in ends.iter_mut().zip(index) {
            let i = i as u64;
            *end = Some(end.map_or((i, i), |(low, high)| (low.min(i), high.max(i))));
        }
    }
    let ranges: Option<Vec<(DimId, Vec<Segment>)>> = geography
        .dims()
        .iter()
        .zip(ends)
        .map(|(d, end)| end.map(|(low, high)| (*d, vec![Segment::new(low, high - low + 1)])))
        .collect();
    let ranges = ranges.ok_or_else(|| Error::wrong("the region is empty: it contains no cell"))?;
    let bounds = dataset.variables().filter(|v| is_bounds(dataset.header(), v.header())).map(|v| v.id());
    let places = geography.variables().into_iter().chain(bounds).collect();
    Ok(Region { ranges, cells: Some(Cells { dims: geography.dims().to_vec(), shape, outside, places }) })
}

/// Returns the regions of some variables, one for each of their grids. Variables without latitudes and
/// longitudes have none.
///
/// # Errors
/// No variable has latitudes and longitudes, the region is empty on one of the grids, or a read error.
pub fn of_all(dataset: &Dataset, variables: &[Variable], area: &BoxArg) -> Result<Vec<Region>> {
    let mut found: Vec<Region> = Vec::new();
    let mut error = None;
    for variable in variables.iter().filter(|v| v.shape().len() > 1 || has_place(dataset, v)) {
        let dims = &variable.header().dimensions;
        let known = found.iter().any(|r| r.ranges.iter().all(|(d, _)| dims.contains(d)));
        if known {
            continue;
        }
        match region_of(dataset, variable, area) {
            Ok(region) => found.push(region),
            Err(e) => error = error.or(Some(e)),
        }
    }
    match error {
        Some(e) if found.is_empty() => Err(e),
        None if found.is_empty() => Err(Error::wrong("no variable has latitudes and longitudes")),
        _ => Ok(found),
    }
}

fn has_place(dataset: &Dataset, variable: &Variable) -> bool {
    Geography::new(dataset, variable, &variable.header().dimensions).is_some()
}
