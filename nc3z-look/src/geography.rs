//! Finds the variables with the longitudes and latitudes of another variable's cells, and returns their
//! values in degrees.
//!
//! They are named by the attribute `coordinates` (names between blanks or commas), or by the attributes of a
//! UGRID mesh. Otherwise they are variables over the same dimensions whose attributes or names identify them,
//! such as WRF's `XLONG`, MPAS's `lonCell` and SCRIP's `grid_center_lon`. They may have leading dimensions,
//! such as the time of a moving nest.

use crate::coordinate::{Coordinate, direction};
use crate::selection::{Segment, Selection, coordinate_variable};
use nc3z_format::NcType;
use nc3z_format::classic::{self, DimId, VarId};
use nc3z_format::decode_value::{self, Decoding};
use nc3z_reader::{Dataset, Result, Variable};

/// Coastlines: Natural Earth's map of 1:50 million, as written by `scripts/coastline.py`, which describes the
/// format.
pub const COASTLINE: &[u8] = include_bytes!("../assets/coastline.bin");

/// Names of longitudes in lower case, in models that write few or no attributes.
const LONGITUDES: [&str; 15] = [
    "lon",
    "longitude",
    "xlong",
    "xlong_m",
    "xlong_u",
    "xlong_v",
    "loncell",
    "lonvertex",
    "lonedge",
    "nav_lon",
    "tlong",
    "ulong",
    "grid_center_lon",
    "lon2d",
    "clon",
];
/// Names of latitudes in lower case, in models that write few or no attributes.
const LATITUDES: [&str; 15] = [
    "lat",
    "latitude",
    "xlat",
    "xlat_m",
    "xlat_u",
    "xlat_v",
    "latcell",
    "latvertex",
    "latedge",
    "nav_lat",
    "tlat",
    "ulat",
    "grid_center_lat",
    "lat2d",
    "clat",
];
/// Names in MPAS. Its angles are radians where no attribute gives the unit.
const RADIANS: [&str; 6] = ["loncell", "latcell", "lonvertex", "latvertex", "lonedge", "latedge"];

/// The longitudes and latitudes of cells over one dimension or two.
#[derive(Debug, Clone)]
pub struct Geography {
    lon: Variable,
    lat: Variable,
    dims: Vec<DimId>,
}

impl Geography {
    /// Finds longitudes and latitudes over one or two neighbouring dimensions of a variable among `dims`. The
    /// last dimensions are preferred. Dimensions with coordinates of their own are not considered.
    pub fn of(dataset: &Dataset, variable: &Variable, dims: &[DimId]) -> Option<Self> {
        Candidates::of(dataset, variable).anywhere(dataset, dims)
    }

    /// Like [`Geography::of`], but the variable may be the longitude or the latitude itself.
    pub(crate) fn of_any(dataset: &Dataset, variable: &Variable, dims: &[DimId]) -> Option<Self> {
        Candidates::with_itself(dataset, variable).anywhere(dataset, dims)
    }

    /// Like [`Geography::of`], over the last two of `dims`, or the last one.
    pub fn at_end(dataset: &Dataset, variable: &Variable, dims: &[DimId]) -> Option<Self> {
        let candidates = Candidates::of(dataset, variable);
        [2, 1]
            .into_iter()
            .find_map(|rank| candidates.over(dataset, &dims[dims.len().checked_sub(rank)?..], dims))
    }

    /// The dimensions of the cells.
    pub fn dims(&self) -> &[DimId] {
        &self.dims
    }

    /// The variable of longitudes.
    pub fn longitude(&self) -> &Variable {
        &self.lon
    }

    /// The variable of latitudes.
    pub fn latitude(&self) -> &Variable {
        &self.lat
    }

    pub(crate) fn variables(&self) -> [VarId; 2] {
        [self.lon.id(), self.lat.id()]
    }

    /// The number of cells along each dimension.
    pub fn shape(&self) -> Vec<u64> {
        let len = |d: &DimId| {
            let at = self.lon.header().dimensions.iter().position(|own| own == d);
            at.and_then(|at| self.lon.shape().get(at).copied()).unwrap_or(0)
        };
        self.dims.iter().map(len).collect()
    }

    /// Returns longitudes and latitudes of all cells, in degrees, at the first index of other dimensions.
    ///
    /// # Errors
    /// A read error.
    pub fn all(&self) -> Result<(Vec<f64>, Vec<f64>)> {
        let whole: Vec<(DimId, Vec<Segment>)> = self
            .dims
            .iter()
            .zip(self.shape())
            .map(|(d, count)| (*d, vec![Segment { start: 0, count, stride: 1 }]))
            .collect();
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
    fn of(dataset: &Dataset, variable: &Variable) -> Self {
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
        let find = |list: &[Variable], is: &dyn Fn(&Variable) -> bool| {
            list.iter().find(|v| fits(v) && is(v)).cloned()
        };
        let pair = |list: &[Variable], is_named: bool| {
            let lon =
                find(list, &|v| is_place(v, "longitude", "east", &LONGITUDES, is_named.then_some("lon")))?;
            let lat =
                find(list, &|v| is_place(v, "latitude", "north", &LATITUDES, is_named.then_some("lat")))?;
            (lon.header().dimensions == lat.header().dimensions).then_some((lon, lat))
        };
        let (lon, lat) = pair(&self.named, true).or_else(|| pair(&self.others, false))?;
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

/// Decides by attributes; otherwise by name. For a variable that `coordinates` names, a part of the name is
/// enough.
fn is_place(v: &Variable, standard: &str, towards: &str, known: &[&str], part: Option<&str>) -> bool {
    let name = v.name().to_ascii_lowercase();
    let by_name = || known.contains(&name.as_str()) || part.is_some_and(|part| name.contains(part));
    direction(v.header(), standard, towards).unwrap_or_else(by_name)
}

/// Returns whether a coordinate is a longitude, by its attributes or by its name.
pub(crate) fn is_longitude_axis(c: &Coordinate) -> bool {
    is_axis(c.variable().header(), "longitude", "east", &["lon", "longitude"])
}

/// Returns whether a coordinate is a latitude, by its attributes or by its name.
pub(crate) fn is_latitude_axis(c: &Coordinate) -> bool {
    is_axis(c.variable().header(), "latitude", "north", &["lat", "latitude"])
}

fn is_axis(v: &classic::Variable, standard: &str, towards: &str, known: &[&str]) -> bool {
    let name = v.name_lossy().to_ascii_lowercase();
    direction(v, standard, towards).unwrap_or_else(|| known.contains(&name.as_str()))
}

/// Returns angles in degrees at some indices.
fn degrees(variable: &Variable, indices: &[(DimId, Vec<Segment>)]) -> Result<Vec<f64>> {
    let segments = variable.header().dimensions.iter().map(|id| {
        let found = indices.iter().find(|(d, _)| d == id);
        found.map_or_else(|| vec![Segment { start: 0, count: 1, stride: 1 }], |(_, s)| s.clone())
    });
    let decoding = Decoding::without_bounds(variable.header());
    let mut values = crate::values::read(variable, &decoding, &Selection::new(segments.collect()))?;
    if is_radians(variable.header()) {
        values.iter_mut().for_each(|v| *v = v.to_degrees());
    }
    Ok(values)
}

fn is_radians(v: &classic::Variable) -> bool {
    match decode_value::text(v, b"units") {
        Some(units) => matches!(units.to_ascii_lowercase().as_str(), "rad" | "radian" | "radians"),
        None => RADIANS.contains(&v.name_lossy().to_ascii_lowercase().as_str()),
    }
}
