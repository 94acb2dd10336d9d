//! Scans one file: its arrays, each with the coordinates of its axes. Only headers and coordinates are read.

use super::stored::STORED;
use crate::error::{Error, Result};
use crate::file::as_aggregation;
use crate::fragments::fingerprint;
use crate::master::conform::{doubles, inexact, packing, text};
use nc3z_format::NcType;
use nc3z_format::classic::Attribute;
use nc3z_format::decode_value::{Decoding, Shown};
use nc3z_reader::{Dataset, Variable};
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

/// The maximal number of elements of a coordinate variable, or of its bounds, that are read.
const MAX_COORDINATES: u64 = 100_000_000;
/// The maximal length in bytes of an array that is copied into the aggregation.
pub(super) const MAX_STATIC: u64 = 64 << 20;

/// Attributes. Files of one kind have most attributes in common, and share these.
pub(super) type Attributes = Vec<Arc<Attribute>>;

/// Returns attributes that can be shared.
pub(super) fn shared(attributes: &[Attribute]) -> Attributes {
    attributes.iter().cloned().map(Arc::new).collect()
}

/// Returns the attributes themselves.
pub(super) fn unshared(attributes: &[Arc<Attribute>]) -> Vec<Attribute> {
    attributes.iter().map(|a| (**a).clone()).collect()
}

/// The names and the fingerprint of a file, in one text: a million files may be joined.
pub(super) struct FileId {
    text: Box<str>,
    /// The begins of the second and the third part.
    begins: [usize; 2],
}

impl FileId {
    pub(super) fn new(file: &str, uri: &str, fingerprint: &str) -> Arc<Self> {
        let begins = [file.len(), file.len() + uri.len()];
        Arc::new(FileId { text: [file, uri, fingerprint].concat().into(), begins })
    }

    /// The name as it was given.
    pub(super) fn file(&self) -> &str {
        &self.text[..self.begins[0]]
    }

    /// The name in the aggregation.
    pub(super) fn uri(&self) -> &str {
        &self.text[self.begins[0]..self.begins[1]]
    }

    /// The fingerprint. Empty where none is stored.
    pub(super) fn fingerprint(&self) -> &str {
        &self.text[self.begins[1]..]
    }
}

pub(super) struct Scanned {
    pub(super) id: Arc<FileId>,
    /// True where the file was found in a directory, and is an aggregation itself.
    pub(super) found_aggregation: bool,
    /// True where the file is already in the aggregation.
    pub(super) known: bool,
    pub(super) attributes: Arc<Attributes>,
    pub(super) arrays: Vec<Array>,
    /// Arrays without dimensions that are not coordinates: grid mappings and numbers.
    pub(super) scalars: Vec<Scalar>,
    /// The scalars again, as arrays: in another file the variable may have dimensions.
    pub(super) points: Vec<Array>,
    /// Numbers without dimensions that no attribute `coordinates` names. In another file one of them may be a
    /// coordinate variable.
    pub(super) loose: Vec<Arc<Coordinate>>,
}

/// An array of a file, or an array that is already in the aggregation.
#[derive(Clone)]
pub(super) struct Array {
    pub(super) form: Arc<Form>,
    /// True where it belongs to other variables: an auxiliary coordinate, a cell measure.
    pub(super) helper: bool,
    /// True where it is already in the aggregation.
    pub(super) known: bool,
    pub(super) id: Arc<FileId>,
    pub(super) axes: Vec<Axis>,
    pub(super) scalars: Vec<Axis>,
}

/// The header of an array. Files of one kind share it.
#[derive(Clone, PartialEq)]
pub(super) struct Form {
    pub(super) name: String,
    /// Type of the unpacked values.
    pub(super) ty: NcType,
    /// The stored type, where nothing is packed.
    pub(super) raw: Option<NcType>,
    pub(super) fill: Vec<u8>,
    pub(super) attributes: Attributes,
    /// The stored shape of the array.
    pub(super) shape: Vec<u64>,
}

impl Deref for Array {
    type Target = Form;

    fn deref(&self) -> &Form {
        &self.form
    }
}

/// One axis of an array.
#[derive(Clone)]
pub(super) struct Axis {
    pub(super) form: Arc<AxisForm>,
    pub(super) coordinate: Option<Arc<Coordinate>>,
}

/// The names and the length of an axis. Files of one kind share them.
#[derive(Clone, PartialEq)]
pub(super) struct AxisForm {
    /// The key of the axis: the standard name of its coordinate, otherwise its own name.
    pub(super) key: String,
    pub(super) name: String,
    pub(super) len: u64,
}

impl Deref for Axis {
    type Target = AxisForm;

    fn deref(&self) -> &AxisForm {
        &self.form
    }
}

/// The values of a coordinate variable.
#[derive(Clone, PartialEq)]
pub(super) struct Coordinate {
    pub(super) form: Arc<CoordinateForm>,
    pub(super) values: Vec<f64>,
    pub(super) bounds: Option<Box<Bounds>>,
}

/// The header of a coordinate variable. Files of one kind share it.
#[derive(Clone, PartialEq)]
pub(super) struct CoordinateForm {
    pub(super) name: String,
    pub(super) ty: NcType,
    pub(super) attributes: Attributes,
}

impl Deref for Coordinate {
    type Target = CoordinateForm;

    fn deref(&self) -> &CoordinateForm {
        &self.form
    }
}

/// The cells of a coordinate.
#[derive(Clone, PartialEq)]
pub(super) struct Bounds {
    /// True for the bounds of a climatology, whose cells overlap.
    pub(super) climatology: bool,
    pub(super) name: String,
    pub(super) ty: NcType,
    pub(super) vertices: u64,
    pub(super) values: Vec<f64>,
    pub(super) attributes: Attributes,
}

/// A variable without dimensions.
pub(super) struct Scalar {
    pub(super) name: String,
    /// True where it belongs to other variables: a grid mapping, a term of a formula.
    pub(super) helper: bool,
    pub(super) ty: NcType,
    pub(super) attributes: Attributes,
    pub(super) values: Vec<u8>,
}

impl Axis {
    pub(super) fn new(key: String, name: String, len: u64, coordinate: Option<Arc<Coordinate>>) -> Self {
        Axis { form: Arc::new(AxisForm { key, name, len }), coordinate }
    }

    /// Makes an axis of a scalar coordinate.
    pub(super) fn of_scalar(c: Arc<Coordinate>) -> Self {
        let key = c.attribute("standard_name").unwrap_or_else(|| c.name.clone());
        Axis::new(key, c.name.clone(), 1, Some(c))
    }
}

impl Coordinate {
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        self.attributes.iter().find(|a| a.name == name.as_bytes()).map(|a| text(a))
    }

    /// `Some(true)` where values ascend, `Some(false)` where they descend, `None` for a single value.
    ///
    /// # Errors
    /// Values that neither ascend nor descend.
    pub(super) fn direction(&self) -> Result<Option<bool>, ()> {
        let each = || self.values.windows(2);
        match self.values.len() {
            0 | 1 => Ok(None),
            _ if each().all(|p| p[0] < p[1]) => Ok(Some(true)),
            _ if each().all(|p| p[0] > p[1]) => Ok(Some(false)),
            _ => Err(()),
        }
    }
}

/// Names that some attribute of some variable lists.
fn listed(dataset: &Dataset, attributes: &[&str]) -> BTreeSet<String> {
    let all = dataset
        .header()
        .variables
        .iter()
        .flat_map(|v| attributes.iter().filter_map(|a| v.attribute(a.as_bytes())));
    all.flat_map(|a| text(a).split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Scans a file, which the aggregation calls `uri`. Its fingerprint is kept where `fingerprints` is true.
pub(super) fn scan(dataset: &Dataset, name: &str, uri: &str, fingerprints: bool) -> Result<Scanned> {
    let in_file = |e: nc3z_reader::Error| Error::misfit(name, format!("`{name}`: {}", e.with_causes()));
    let bounds_names = listed(dataset, &["bounds", "climatology"]);
    let auxiliary = listed(dataset, &["coordinates"]);
    let helpers: BTreeSet<String> = listed(dataset, &["cell_measures", "grid_mapping", "formula_terms"])
        .union(&auxiliary)
        .cloned()
        .collect();
    // Of an aggregation, the file itself.
    let stored = as_aggregation(dataset).map_or(dataset, |aggregation| aggregation.fragments().own());
    let print = if fingerprints { fingerprint(stored)? } else { String::new() };
    let coordinates: Vec<Option<Arc<Coordinate>>> = dataset
        .dimensions()
        .iter()
        .map(|d| {
            let found = dataset.header().variable(&d.name).and_then(|(id, _)| dataset.variable_at(id));
            let Some(v) = found.filter(|v| v.shape().len() == 1 && v.ty() != NcType::Char) else {
                return Ok(None);
            };
            let own = v.dimensions().next().is_some_and(|own| own.name == d.name);
            own.then(|| coordinate(dataset, &v).map(Arc::new)).transpose()
        })
        .collect::<Result<_, _>>()
        .map_err(in_file)?;
    let mut out = Scanned {
        id: FileId::new(name, uri, &print),
        found_aggregation: false,
        known: false,
        attributes: Arc::new(shared(dataset.attributes())),
        arrays: Vec::new(),
        scalars: Vec::new(),
        points: Vec::new(),
        loose: Vec::new(),
    };
    for v in dataset.variables() {
        let own_name = v.name().into_owned();
        let is_coordinate = v.shape().len() == 1
            && v.dimensions().next().is_some_and(|d| d.name == v.header().name)
            && v.ty() != NcType::Char;
        if is_coordinate || bounds_names.contains(&own_name) {
            continue;
        }
        let point = v.shape().is_empty();
        if point && auxiliary.contains(&own_name) && v.ty() != NcType::Char {
            continue;
        }
        let dims = v.header().dimensions.iter().zip(v.dimensions()).zip(v.shape());
        let axes = dims.map(|((id, d), len)| {
            let coordinate = coordinates.get(id.index()).cloned().flatten();
            let key = coordinate.as_ref().and_then(|c| c.attribute("standard_name"));
            let name = d.name_lossy().into_owned();
            Axis::new(key.unwrap_or_else(|| name.clone()), name, *len, coordinate)
        });
        let mut array =
            array(&v, axes.collect()).map_err(|what| Error::misfit(name, format!("`{name}`: {what}")))?;
        array.scalars = scalar_axes(dataset, &v).map_err(in_file)?;
        array.helper = helpers.contains(&own_name);
        array.id = out.id.clone();
        if !point {
            out.arrays.push(array);
            continue;
        }
        let number = scalar(&v, array.helper).map_err(in_file)?;
        // A number that no double equals is kept. Files cannot be joined by it.
        if !array.helper && v.ty() != NcType::Char && inexact(v.ty(), &number.values).is_none() {
            out.loose.push(Arc::new(coordinate(dataset, &v).map_err(in_file)?));
        }
        out.scalars.push(number);
        out.points.push(array);
    }
    // Most files have one array, and a list that grows has room for four.
    out.arrays.shrink_to_fit();
    out.points.shrink_to_fit();
    out.scalars.shrink_to_fit();
    Ok(out)
}

/// Returns the scalar coordinates that the attribute `coordinates` of a variable names.
pub(super) fn scalar_axes(dataset: &Dataset, v: &Variable) -> nc3z_reader::Result<Vec<Axis>> {
    let names = v.attribute("coordinates").map(text).unwrap_or_default();
    let found = names.split_whitespace().filter_map(|name| dataset.variable(name).ok());
    let scalars = found.filter(|c| c.shape().is_empty() && c.ty() != NcType::Char);
    scalars.map(|c| Ok(Axis::of_scalar(Arc::new(coordinate(dataset, &c)?)))).collect()
}

/// Returns an array as described in its header.
pub(super) fn array(v: &Variable, axes: Vec<Axis>) -> Result<Array, String> {
    let header = v.header();
    let packed = packing(header).map_err(|what| format!("variable `{}`: {what}", v.name()))?.is_some();
    let name = v.name().into_owned();
    let decoding = Decoding::without_bounds(header);
    let unsigned = decoding.has_other_sign();
    let ty = match decoding.shown() {
        Shown::Single => NcType::Float,
        Shown::Double => NcType::Double,
        // Types that each version of the classic format has.
        Shown::AsStored(_) if unsigned => match v.ty() {
            NcType::UByte => NcType::Byte,
            NcType::Byte | NcType::UShort => NcType::Short,
            NcType::Short | NcType::UInt => NcType::Int,
            _ => NcType::Double,
        },
        Shown::AsStored(ty) => ty,
    };
    let form = Form {
        name,
        ty,
        raw: (!packed && !unsigned).then(|| v.ty()),
        fill: header
            .own_fill_value()
            .or_else(|| header.missing_values().next())
            .unwrap_or(v.ty().default_fill())
            .to_vec(),
        attributes: shared(v.attributes()),
        shape: v.shape().to_vec(),
    };
    Ok(Array {
        form: Arc::new(form),
        helper: false,
        known: false,
        id: FileId::new("", "", ""),
        axes,
        scalars: Vec::new(),
    })
}

pub(super) fn coordinate(dataset: &Dataset, v: &Variable) -> nc3z_reader::Result<Coordinate> {
    let values = unpacked(v)?;
    let named = |name: &str| v.attribute(name).map(text);
    let climatology = named("bounds").is_none() && named("climatology").is_some();
    let bounds = named("bounds").or_else(|| named("climatology"));
    let bounds = bounds.and_then(|name| dataset.variable(&name).ok());
    let bounds = bounds.filter(|b| {
        b.shape().len() == v.shape().len() + 1 && b.shape().starts_with(v.shape()) && b.ty() != NcType::Char
    });
    let bounds = bounds.map(|b| {
        let (ty, attributes) = unpacked_form(&b);
        Ok::<_, nc3z_reader::Error>(Box::new(Bounds {
            climatology,
            name: b.name().into_owned(),
            ty,
            vertices: b.shape().last().copied().unwrap_or(0),
            values: unpacked(&b)?,
            attributes,
        }))
    });
    let (ty, attributes) = unpacked_form(v);
    let form = CoordinateForm { name: v.name().into_owned(), ty, attributes };
    Ok(Coordinate { form: Arc::new(form), values, bounds: bounds.transpose()? })
}

/// Returns type and attributes of the unpacked values of a coordinate or of its bounds.
fn unpacked_form(v: &Variable) -> (NcType, Attributes) {
    let packed = packing(v.header()).ok().flatten().is_some();
    let mut attributes = shared(v.attributes());
    attributes.retain(|a| !packed || !STORED.iter().any(|n| n.as_bytes() == a.name));
    (if packed { NcType::Double } else { v.ty() }, attributes)
}

/// Reads the values of a coordinate or of its bounds.
fn unpacked(v: &Variable) -> nc3z_reader::Result<Vec<f64>> {
    let count = nc3z_format::selection::elements(v.shape());
    if count > MAX_COORDINATES {
        let what = format!("the coordinate `{}` has {count} values, more than are read", v.name());
        return Err(nc3z_format::Error::invalid(what).into());
    }
    let bytes = v.read_bytes(&v.all())?;
    let decoding = Decoding::without_bounds(v.header());
    if decoding.is_packed() {
        return Ok(decoding.numbers(&bytes));
    }
    if let Some(what) = inexact(v.ty(), &bytes) {
        let what = format!("the coordinate `{}`: {what}, and files are joined by doubles", v.name());
        return Err(nc3z_format::Error::invalid(what).into());
    }
    Ok(doubles(v.ty(), &bytes))
}

fn scalar(v: &Variable, helper: bool) -> nc3z_reader::Result<Scalar> {
    let (name, ty) = (v.name().into_owned(), v.ty());
    Ok(Scalar { name, helper, ty, attributes: shared(v.attributes()), values: v.read_bytes(&v.all())? })
}
