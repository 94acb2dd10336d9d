//! Finds the variables with the longitudes and latitudes of another variable's cells, and returns their
//! values in degrees.
//!
//! They are named by the attribute `coordinates` (names between blanks or commas), or by the attributes of a
//! UGRID mesh. Otherwise they are variables over the same dimensions whose attributes or names identify them,
//! such as WRF's `XLONG`, MPAS's `lonCell` and SCRIP's `grid_center_lon`. They may have leading dimensions,
//! such as the time of a moving nest. Longitudes and latitudes may be columns of one variable, as in ESMF meshes.

use crate::selection::{Segment, Selection, coordinate_variable};
use nc3z_format::NcType;
use nc3z_format::classic::{self, DimId, VarId};
use nc3z_format::coordinates::{Direction, columns, direction, direction_of_named, is_radians};
use nc3z_format::decode_value::{self, Decoding};
use nc3z_reader::{Dataset, Result, Variable};

/// Coastlines: Natural Earth's map of 1:50 million, as written by `scripts/coastline.py`, which describes the
/// format.
pub const COASTLINE: &[u8] = include_bytes!("../assets/coastline.bin");

/// A variable with longitudes or latitudes.
#[derive(Debug, Clone)]
struct Place {
    variable: Variable,
    /// The column that has them, if longitudes and latitudes are columns of one variable, and its dimension.
    column: Option<(DimId, u64)>,
}

/// The longitudes and latitudes of cells over one dimension or two.
#[derive(Debug, Clone)]
pub struct Geography {
    lon: Place,
    lat: Place,
    dims: Vec<DimId>,
}

impl Geography {
    /// Finds longitudes and latitudes over one or two neighbouring dimensions of a variable among `dims`. The
    /// last dimensions are preferred. Dimensions with coordinates of their own are not considered.
    pub fn new(dataset: &Dataset, variable: &Variable, dims: &[DimId]) -> Option<Self> {
        Candidates::new(dataset, variable).anywhere(dataset, dims)
    }

    /// Like [`Geography::new`], but the variable may be the longitude or the latitude itself.
    pub(crate) fn of_any(dataset: &Dataset, variable: &Variable, dims: &[DimId]) -> Option<Self> {
        Candidates::with_itself(dataset, variable).anywhere(dataset, dims)
    }

    /// Like [`Geography::new`], over the last two of `dims`, or the last one.
    pub fn at_end(dataset: &Dataset, variable: &Variable, dims: &[DimId]) -> Option<Self> {
        let candidates = Candidates::new(dataset, variable);
        [2, 1]
            .into_iter()
            .find_map(|rank| candidates.over(dataset, &dims[dims.len().checked_sub(rank)?..], dims))
    }

    /// The dimensions of the cells.
    pub fn dims(&self) -> &[DimId] {
        &self.dims
    }

    /// Returns true if longitudes and latitudes are columns of one variable.
    pub fn is_in_columns(&self) -> bool {
        self.lon.column.is_some()
    }

    /// The variable of longitudes.
    pub fn longitude(&self) -> &Variable {
        &self.lon.variable
    }

    /// The variable of latitudes.
    pub fn latitude(&self) -> &Variable {
        &self.lat.variable
    }

    pub(crate) fn variables(&self) -> [VarId; 2] {
        [self.lon.variable.id(), self.lat.variable.id()]
    }

    /// The number of cells along each dimension.
    pub fn shape(&self) -> Vec<u64> {
        let len = |d: &DimId| {
            let lon = &self.lon.variable;
            let at = lon.header().dimensions.iter().position(|own| own == d);
            at.and_then(|at| lon.shape().get(at).copied()).unwrap_or(0)
        };
        self.dims.iter().map(len).collect()
    }

    /// Returns longitudes and latitudes of all cells, in degrees, at the first index of other dimensions.
    ///
    /// # Errors
    /// A read error.
    pub fn all(&self) -> Result<(Vec<f64>, Vec<f64>)> {
        let whole: Vec<(DimId, Vec<Segment>)> =
            self.dims.iter().zip(self.shape()).map(|(d, count)| (*d, vec![Segment::new(0, count)])).collect();
        self.at(&whole)
    }

    /// Returns longitudes and latitudes at some indices of each dimension. For dimensions that are not named,
    /// the first index is used.
    ///
    /// # Errors
    /// A read error.
    pub fn at(&self, indices: &[(DimId, Vec<Segment>)]) -> Result<(Vec<f64>, Vec<f64>)> {
        Ok((degrees(&self.lon, indices)?, degrees(&self.lat, indices)?))
    }
}

/// Variables that may be the longitudes or latitudes of another variable.
struct Candidates {
    /// The dimensions of the other variable.
    own: Vec<DimId>,
    named: Vec<Variable>,
    others: Vec<Variable>,
}

impl Candidates {
    fn new(dataset: &Dataset, variable: &Variable) -> Self {
        let mut all = Candidates::with_itself(dataset, variable);
        for list in [&mut all.named, &mut all.others] {
            list.retain(|v| v.id() != variable.id());
        }
        all
    }

    fn with_itself(dataset: &Dataset, variable: &Variable) -> Self {
        let names = names(dataset, variable);
        let is_named = |v: &Variable| names.iter().any(|n| n.as_bytes() == v.header().name);
        let all = dataset.variables().filter(|v| v.ty() != NcType::Char);
        let (named, others) = all.partition(is_named);
        Candidates { own: variable.header().dimensions.clone(), named, others }
    }

    /// Finds longitudes and latitudes over one or two neighbouring dimensions among `dims`. The last ones are
    /// preferred.
    fn anywhere(&self, dataset: &Dataset, dims: &[DimId]) -> Option<Geography> {
        [2, 1]
            .into_iter()
            .find_map(|rank| dims.windows(rank).rev().find_map(|window| self.over(dataset, window, dims)))
    }

    fn over(&self, dataset: &Dataset, cells: &[DimId], long: &[DimId]) -> Option<Geography> {
        if cells.iter().all(|d| coordinate_variable(dataset, *d).is_some()) {
            return None;
        }
        let fits = |v: &Variable| {
            let dims = &v.header().dimensions;
            let over: Vec<DimId> = dims.iter().copied().filter(|d| cells.contains(d)).collect();
            let rest = dims.iter().filter(|d| !cells.contains(d));
            // A leading dimension is fixed: its index is the variable's own, or there is only one.
            over == cells
                && rest.clone().all(|d| self.own.contains(d))
                && rest.clone().all(|d| Some(d) != long.last())
        };
        let pair = |list: &[Variable], direction: fn(&classic::Variable) -> Option<Direction>| {
            let find =
                |wanted| list.iter().find(|v| fits(v) && direction(v.header()) == Some(wanted)).cloned();
            let (lon, lat) = (find(Direction::Longitude)?, find(Direction::Latitude)?);
            let place = |variable: Variable| Place { variable, column: None };
            (lon.header().dimensions == lat.header().dimensions).then(|| (place(lon), place(lat)))
        };
        let columns = || {
            let [cell] = cells[..] else { return None };
            let two = |v: &Variable| {
                columns(dataset.header(), v.header()).filter(|_| v.header().dimensions[0] == cell)
            };
            let (variable, dim) = self.others.iter().find_map(|v| Some((v.clone(), two(v)?)))?;
            let place = |column| Place { variable: variable.clone(), column: Some((dim, column)) };
            Some((place(0), place(1)))
        };
        let (lon, lat) = pair(&self.named, direction_of_named)
            .or_else(|| pair(&self.others, direction))
            .or_else(columns)?;
        Some(Geography { lon, lat, dims: cells.to_vec() })
    }
}

/// Returns the names of a variable's coordinates, its own or those of its mesh.
fn names(dataset: &Dataset, variable: &Variable) -> Vec<String> {
    let words = |text: &str| {
        text.split([' ', ',', '\t', '\n', '\0'])
            .filter(|w| !w.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let mut names =
        decode_value::text(variable.header(), b"coordinates").map(|t| words(&t)).unwrap_or_default();
    // UGRID: `mesh` names the topology, `location` the kind of its elements.
    let mesh = decode_value::text(variable.header(), b"mesh").and_then(|mesh| dataset.variable(&mesh).ok());
    if let Some(mesh) = mesh {
        let location = decode_value::text(variable.header(), b"location");
        let locations = location.as_deref().map_or(vec!["face", "node", "edge"], |l| vec![l]);
        for location in locations {
            let key = format!("{location}_coordinates");
            names.extend(
                decode_value::text(mesh.header(), key.as_bytes()).map(|t| words(&t)).unwrap_or_default(),
            );
        }
    }
    names
}

/// Returns angles in degrees at some indices.
fn degrees(place: &Place, indices: &[(DimId, Vec<Segment>)]) -> Result<Vec<f64>> {
    let segments = place.variable.header().dimensions.iter().map(|id| {
        let column = place.column.filter(|(d, _)| d == id).map(|(_, column)| column);
        let found = indices.iter().find(|(d, _)| d == id).filter(|_| column.is_none());
        let one = || vec![Segment::new(column.unwrap_or(0), 1)];
        found.map_or_else(one, |(_, segments)| segments.clone())
    });
    let decoding = Decoding::without_bounds(place.variable.header());
    let selection = Selection::new(segments.collect());
    let mut values = crate::values::read(&place.variable, &decoding, &selection)?;
    if is_radians(place.variable.header()) {
        values.iter_mut().for_each(|v| *v = v.to_degrees());
    }
    Ok(values)
}
