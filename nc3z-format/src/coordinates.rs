//! Which variables are coordinates: longitudes, latitudes, vertical positions, times.
//!
//! This is the only module that decides it. Regions (`--box`), searches in catalogues, dates, lists and pictures call it. The rules are
//! those of the CF conventions (chapter 4): attributes decide. Where they do not, names decide that models without such attributes
//! use: WRF and WPS, MPAS, ROMS, NEMO, POP, MOM, ICON, FVCOM, SCRIP, Argo.

use crate::NcType;
use crate::classic::{DimId, Header, VarId, Variable};
use crate::decode_value::{text, time_unit};
use crate::units::{TextTimes, TimeUnit, Unit};

/// The direction of an angle on the globe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Degrees or radians towards the east.
    Longitude,
    /// Degrees or radians towards the north.
    Latitude,
}

impl Direction {
    /// Its name: `longitude`, `latitude`.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Longitude => "longitude",
            Direction::Latitude => "latitude",
        }
    }

    /// The name of the direction of a variable in degrees.
    pub fn name_of(v: &Variable) -> Option<&'static str> {
        direction(v).filter(|_| !is_radians(v)).map(Direction::name)
    }
}

/// Names of longitudes and latitudes in small letters, in pairs.
const NAMES: [(&str, &str); 34] = [
    ("lon", "lat"),
    ("longitude", "latitude"),
    ("lons", "lats"),
    ("xlong", "xlat"),
    ("xlong_m", "xlat_m"),
    ("xlong_u", "xlat_u"),
    ("xlong_v", "xlat_v"),
    ("xlong_c", "xlat_c"),
    ("xlong_d", "xlat_d"),
    ("loncell", "latcell"),
    ("lonvertex", "latvertex"),
    ("lonedge", "latedge"),
    ("lon_rho", "lat_rho"),
    ("lon_u", "lat_u"),
    ("lon_v", "lat_v"),
    ("lon_psi", "lat_psi"),
    ("nav_lon", "nav_lat"),
    ("glamt", "gphit"),
    ("glamu", "gphiu"),
    ("glamv", "gphiv"),
    ("glamf", "gphif"),
    ("tlong", "tlat"),
    ("tlon", "tlat"),
    ("ulong", "ulat"),
    ("ulon", "ulat"),
    ("geolon", "geolat"),
    ("geolon_t", "geolat_t"),
    ("geolon_c", "geolat_c"),
    ("grid_center_lon", "grid_center_lat"),
    ("lon2d", "lat2d"),
    ("clon", "clat"),
    ("vlon", "vlat"),
    ("elon", "elat"),
    ("lonc", "latc"),
];
/// Names in MPAS, whose angles are radians if no attribute gives the unit.
const RADIANS: [&str; 6] = ["loncell", "latcell", "lonvertex", "latvertex", "lonedge", "latedge"];
/// Names of times in small letters, where units are a time since a date and no standard name says otherwise.
const TIMES: [&str; 5] = ["time", "juld", "ocean_time", "xtime", "times"];

/// An attribute in small letters.
fn lower(v: &Variable, name: &[u8]) -> Option<String> {
    text(v, name).map(|text| text.to_lowercase())
}

/// Longitude or latitude by units: `degrees_east`, `degree_N`, `degreesE`, `degrees latitude`.
fn of_units(units: &str) -> Option<Direction> {
    let rest = units.strip_prefix("deg")?;
    let rest = rest.strip_prefix("ree").unwrap_or(rest);
    match rest.trim_start_matches('s').trim_start_matches(['_', ' ']) {
        "e" | "east" | "lon" | "longitude" => Some(Direction::Longitude),
        "n" | "north" | "lat" | "latitude" => Some(Direction::Latitude),
        _ => None,
    }
}

/// Returns true if a unit is neither a unit of angles nor that of a plain number.
fn is_other(units: &str) -> bool {
    let angle = Unit::parse("degree").ok();
    let other = Unit::parse(units).ok().zip(angle).is_some_and(|(unit, angle)| unit.to(&angle).is_none());
    // `degrees_true`, `degrees_west`: angles from another direction.
    let words = units.to_lowercase();
    let is_directed = words.strip_prefix("degree").is_some_and(|rest| !["", "s"].contains(&rest));
    other || is_directed || TimeUnit::is_time(units)
}

/// The direction of a variable by its attributes.
enum Said {
    Is(Direction),
    None,
    Nothing,
}

impl Said {
    fn or_else(self, name: impl FnOnce() -> Option<Direction>) -> Option<Direction> {
        match self {
            Said::Is(direction) => Some(direction),
            Said::None => None,
            Said::Nothing => name(),
        }
    }
}

fn of_attributes(v: &Variable) -> Said {
    if v.ty == NcType::Char {
        return Said::None;
    }
    match lower(v, b"standard_name").as_deref() {
        Some("longitude" | "geographic_longitude") => return Said::Is(Direction::Longitude),
        Some("latitude" | "geographic_latitude") => return Said::Is(Direction::Latitude),
        Some(_) => return Said::None,
        None => {}
    }
    if let Some(units) = text(v, b"units") {
        if let Some(found) = of_units(&units.to_lowercase()) {
            return Said::Is(found);
        }
        if is_other(&units) {
            return Said::None;
        }
    }
    match lower(v, b"long_name").as_deref() {
        Some("longitude") => Said::Is(Direction::Longitude),
        Some("latitude") => Said::Is(Direction::Latitude),
        _ => Said::Nothing,
    }
}

fn of_name(v: &Variable) -> Option<Direction> {
    let name = v.name_lossy().to_lowercase();
    if NAMES.iter().any(|(lon, _)| *lon == name) {
        return Some(Direction::Longitude);
    }
    NAMES.iter().any(|(_, lat)| *lat == name).then_some(Direction::Latitude)
}

/// Returns whether a variable has longitudes or latitudes.
pub fn direction(v: &Variable) -> Option<Direction> {
    of_attributes(v).or_else(|| of_name(v))
}

/// Like [`direction`], of a variable that is named as a coordinate of another one: a part of its name is enough.
pub fn direction_of_named(v: &Variable) -> Option<Direction> {
    of_attributes(v).or_else(|| {
        let name = v.name_lossy().to_lowercase();
        let has = |part: &str, found: Direction| name.contains(part).then_some(found);
        of_name(v).or_else(|| has("lon", Direction::Longitude)).or_else(|| has("lat", Direction::Latitude))
    })
}

/// Returns true if angles are radians: by their units, and in MPAS without units.
pub fn is_radians(v: &Variable) -> bool {
    match lower(v, b"units") {
        Some(units) => matches!(units.as_str(), "rad" | "rads" | "radian" | "radians"),
        None => RADIANS.contains(&v.name_lossy().to_lowercase().as_str()),
    }
}

/// Returns the dimension of the two columns if a variable has a longitude and a latitude in each row, as the coordinates of ESMF
/// meshes: `nodeCoords(nodeCount, coordDim)`.
pub fn columns(header: &Header, v: &Variable) -> Option<DimId> {
    let [_, columns] = v.dimensions[..] else { return None };
    let is_named = ["nodecoords", "centercoords"].contains(&v.name_lossy().to_lowercase().as_str());
    let is_angle = text(v, b"units").is_none_or(|units| !is_other(&units));
    let two = header.dimensions.get(columns.index()).is_some_and(|d| !d.is_record() && d.len == 2);
    (is_named && is_angle && two && v.ty != NcType::Char).then_some(columns)
}

/// A vertical coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vertical {
    /// True if values grow downwards: by the attribute `positive`, otherwise of depths and pressures.
    pub downwards: bool,
}

/// Names of heights and depths in small letters, where units are a length and no attributes say more: MITgcm's `Z`, NEMO's `deptht`.
const HEIGHTS: [&str; 13] =
    ["z", "zc", "zf", "zl", "zu", "zt", "zw", "zp1", "lev", "level", "height", "altitude", "alt"];

/// Returns whether a variable has vertical positions: heights, depths, pressures.
pub fn vertical(v: &Variable) -> Option<Vertical> {
    let units = text(v, b"units").unwrap_or_default();
    let is_like = |other: &str| {
        let unit = |text: &str| Unit::parse(text).ok();
        unit(&units).zip(unit(other)).is_some_and(|(units, other)| units.to(&other).is_some())
    };
    // A direction is not a height, whatever `axis` says: WAVEWATCH III has Z for directions of waves.
    if ["degree", "degrees"].contains(&units.to_lowercase().as_str()) {
        return None;
    }
    let is_pressure = is_like("Pa");
    let standard = lower(v, b"standard_name").unwrap_or_default();
    let positive = lower(v, b"positive");
    let name = v.name_lossy().to_lowercase();
    let is_standard =
        ["depth", "height", "altitude", "air_pressure", "sea_water_pressure"].contains(&standard.as_str());
    let is_axis = lower(v, b"axis").is_some_and(|axis| axis == "z");
    let is_name = name.starts_with("depth") || name.starts_with("z_") || HEIGHTS.contains(&name.as_str());
    let is_depth = || is_pressure || standard == "depth" || name.contains("depth");
    let downwards = positive.as_ref().map_or_else(is_depth, |positive| positive == "down");
    let is_vertical = is_standard || is_axis || positive.is_some() || is_pressure || is_name && is_like("m");
    is_vertical.then_some(Vertical { downwards })
}

/// The form in which a variable has times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Times {
    /// As numbers.
    Numbers(TimeUnit),
    /// As text, such as WRF's `Times`.
    Words(TextTimes),
}

/// Returns true if a variable of times since a date is marked as the time of the data: by its standard name or axis, by a
/// dimension with the same name, or by a usual name of times.
pub fn is_marked_as_time(header: &Header, v: &Variable) -> bool {
    let own = |d: &DimId| header.dimensions.get(d.index()).is_some_and(|d| d.name == v.name);
    let by_name = || TIMES.contains(&v.name_lossy().to_lowercase().as_str());
    lower(v, b"standard_name").map_or_else(by_name, |name| name == "time")
        || lower(v, b"axis").is_some_and(|axis| axis == "t")
        || v.dimensions.iter().any(own)
}

/// Returns the variables with the times of a file's data: text, and numbers that are marked as times. Without any, those whose units
/// are a time since a date; but none with another standard name, such as the time of a forecast's analysis, and no bounds.
pub fn times(header: &Header) -> Vec<(VarId, Times)> {
    let (mut marked, mut others) = (Vec::new(), Vec::new());
    for (id, v) in header.variables() {
        if let Some(words) = TextTimes::new(header, v) {
            marked.push((id, Times::Words(words)));
        } else if let Some(unit) = time_unit(v).filter(|_| v.ty != NcType::Char) {
            let times = (id, Times::Numbers(unit));
            match text(v, b"standard_name") {
                _ if is_marked_as_time(header, v) => marked.push(times),
                None if !is_bounds(header, v) => others.push(times),
                _ => {}
            }
        }
    }
    if marked.is_empty() { others } else { marked }
}

/// Returns true if another variable names this one as its bounds.
pub fn is_bounds(header: &Header, v: &Variable) -> bool {
    let names = |other: &Variable, key: &[u8]| text(other, key).is_some_and(|name| name.as_bytes() == v.name);
    header.variables.iter().any(|other| names(other, b"bounds") || names(other, b"climatology"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classic::{Attribute, Dimension, NumRecs, Version};

    fn variable(name: &str, dimensions: &[u32], attributes: &[(&str, &str)]) -> Variable {
        let text = |(name, values): &(&str, &str)| Attribute {
            name: (*name).into(),
            ty: NcType::Char,
            values: (*values).into(),
        };
        Variable {
            name: name.into(),
            dimensions: dimensions.iter().map(|d| DimId(*d)).collect(),
            ty: NcType::Double,
            vsize: 0,
            begin: 0,
            attributes: attributes.iter().map(text).collect(),
        }
    }

    #[test]
    fn attributes_decide_and_names_where_they_do_not() {
        use Direction::{Latitude, Longitude};
        for (name, attributes, expected) in [
            ("y", &[("units", "degrees_north")][..], Some(Latitude)),
            ("y", &[("units", "degree_N")], Some(Latitude)),
            ("x", &[("units", "degreesE")], Some(Longitude)),
            ("x", &[("units", "Degrees East")], Some(Longitude)),
            ("XLAT_M", &[("units", "degrees latitude")], Some(Latitude)),
            ("x", &[("units", "degree_east"), ("standard_name", "geographic_longitude")], Some(Longitude)),
            ("angle_dx", &[("units", "degrees_east"), ("standard_name", "grid_vertex_x_angle")], None),
            ("rlat", &[("units", "degrees"), ("standard_name", "grid_latitude")], None),
            ("lat", &[], Some(Latitude)),
            ("LONGITUDE", &[("units", "degrees")], Some(Longitude)),
            ("latCell", &[("units", "rad")], Some(Latitude)),
            ("grid_center_lon", &[("units", "radians")], Some(Longitude)),
            ("lat", &[("units", "m")], None),
            ("lat", &[("units", "degrees_true")], None),
            ("lon", &[("units", "degrees_west")], None),
            ("lon", &[("units", "days since 2000-01-01")], None),
            ("x", &[("units", "degrees"), ("long_name", "Longitude")], Some(Longitude)),
            ("direction", &[("units", "degrees")], None),
            ("t", &[("units", "degrees_Celsius")], None),
            ("plat", &[], None),
        ] {
            assert_eq!(direction(&variable(name, &[], attributes)), expected, "{name} {attributes:?}");
        }
        assert_eq!(direction_of_named(&variable("plat", &[], &[])), Some(Latitude));
        assert!(is_radians(&variable("lonCell", &[], &[])) && !is_radians(&variable("lon", &[], &[])));
        assert!(!is_radians(&variable("lonCell", &[], &[("units", "degrees")])));
    }

    #[test]
    fn vertical_positions_have_a_direction() {
        for (attributes, downwards) in [
            (&[("units", "hPa")][..], Some(true)),
            (&[("standard_name", "depth"), ("units", "m")], Some(true)),
            (&[("units", "m"), ("positive", "up")], Some(false)),
            (&[("units", "hPa"), ("positive", "up")], Some(false)),
            (&[("axis", "Z")], Some(false)),
            (&[("axis", "Z"), ("units", "degrees")], None),
            (&[("units", "s")], None),
        ] {
            let found = vertical(&variable("y", &[], attributes)).map(|v| v.downwards);
            assert_eq!(found, downwards, "{attributes:?}");
        }
        for (name, downwards) in
            [("Z", Some(false)), ("deptht", Some(true)), ("z_rho", Some(false)), ("zonal", None)]
        {
            let found = vertical(&variable(name, &[], &[("units", "m")])).map(|v| v.downwards);
            assert_eq!(found, downwards, "{name}");
        }
    }

    #[test]
    fn marked_times_come_before_others() {
        let since = ("units", "days since 2000-01-01");
        let header = |variables: Vec<Variable>| Header {
            version: Version::Cdf1,
            numrecs: NumRecs::Count(0),
            dimensions: ["time", "row", "obs"]
                .map(|name| Dimension { name: name.into(), len: if name == "row" { 19 } else { 3 } })
                .into(),
            attributes: vec![],
            variables,
        };
        let found = |variables: Vec<Variable>| -> Vec<String> {
            let header = header(variables);
            let name = |(id, _): &(VarId, Times)| header.variables[id.index()].name_lossy().into_owned();
            times(&header).iter().map(name).collect()
        };
        let text = |name: &str, dims: &[u32]| Variable { ty: NcType::Char, ..variable(name, dims, &[]) };
        assert_eq!(found(vec![variable("JULD", &[2], &[since]), variable("made", &[], &[since])]), ["JULD"]);
        assert_eq!(found(vec![variable("a", &[2, 1], &[since]), variable("b", &[], &[since])]), ["a", "b"]);
        assert_eq!(found(vec![text("Times", &[0, 1]), variable("b", &[0], &[since])]), ["Times"]);
        assert_eq!(found(vec![text("xtime", &[1])]), ["xtime"]);
        let reference = ("standard_name", "forecast_reference_time");
        assert_eq!(found(vec![variable("time", &[], &[since, reference])]), [""; 0]);
        let bounds = vec![variable("x", &[2], &[("bounds", "tb")]), variable("tb", &[2], &[since])];
        assert_eq!(found(bounds), [""; 0]);
    }
}
