//! The headers of files, which files with the same header share, and the files of a collection.

use super::Head;
use crate::build::REFERENCES;
use crate::file::has_aggregations;
use nc3z_format::Limits;
use nc3z_format::classic::{Header, Parse, VarId, parse_prefix};
use nc3z_reader::Dataset;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Attributes of coordinate variables that name others.
const BOUNDS: [&str; 2] = ["bounds", "climatology"];

/// The headers of a file's variables.
#[derive(Debug)]
pub(super) struct Schema {
    pub(super) heads: Vec<Head>,
    pub(super) unlimited: Vec<String>,
    /// Dimensions of variables.
    pub(super) dimensions: Vec<Used>,
    /// The position of each coordinate variable in `heads`.
    pub(super) coordinates: Vec<usize>,
    /// The meanings of all variables: equal for files that may be one dataset.
    pub(super) key: BTreeSet<Vec<u8>>,
}

/// A dimension that a variable has.
#[derive(Debug)]
pub(super) struct Used {
    /// Its position in the header.
    number: usize,
    pub(super) name: String,
    /// True where only the characters of texts are along it. Its length does not count.
    pub(super) is_text: bool,
}

impl Schema {
    fn new(header: &Header) -> Self {
        let (heads, names) = Head::all(header);
        let texts: HashSet<&String> =
            heads.iter().filter(|h| h.is_text()).filter_map(|h| h.dimensions().last()).collect();
        let own = |h: &Head| h.dimensions().len() - usize::from(h.is_text() && !h.dimensions().is_empty());
        let others: HashSet<&String> = heads.iter().flat_map(|h| &h.dimensions()[..own(h)]).collect();
        let mut known = HashSet::new();
        let used = names
            .iter()
            .enumerate()
            .filter(|(_, name)| (texts.contains(name) || others.contains(name)) && known.insert(*name));
        let dimensions = used.map(|(number, name)| Used {
            number,
            name: name.clone(),
            is_text: texts.contains(name) && !others.contains(name),
        });
        let dimensions = dimensions.collect();
        let records = names.iter().zip(&header.dimensions).filter(|(_, d)| d.is_record());
        Schema {
            dimensions,
            unlimited: records.map(|(name, _)| name.clone()).collect(),
            coordinates: (0..heads.len()).filter(|n| heads[*n].is_coordinate()).collect(),
            key: heads.iter().map(|h| h.meaning().to_vec()).collect(),
            heads,
        }
    }

    pub(super) fn head(&self, name: &str) -> Option<&Head> {
        self.heads.iter().find(|h| h.name() == name)
    }

    /// Dimensions whose coordinates are times.
    pub(super) fn times(&self) -> BTreeSet<&str> {
        let times = self.heads.iter().filter(|h| h.is_coordinate() && h.since().is_some());
        times.map(Head::name).collect()
    }
}

/// The words of attributes that name other variables.
fn words(head: &Head, names: &[&str]) -> Vec<String> {
    let all = names.iter().filter_map(|name| head.words(name));
    all.flat_map(|text| text.split([' ', ':']).map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// The variables that others name as their coordinates.
pub(super) fn named_coordinates<'h>(heads: impl IntoIterator<Item = &'h Head>) -> BTreeSet<String> {
    heads.into_iter().flat_map(|h| words(h, &["coordinates"])).filter(|word| !word.is_empty()).collect()
}

/// The data variables: those that are not coordinates, bounds, or otherwise named by other variables.
pub(super) fn data_variables<'h>(heads: &[&'h Head]) -> Vec<&'h str> {
    let named: HashSet<String> =
        heads.iter().flat_map(|h| [words(h, &REFERENCES), words(h, &BOUNDS)]).flatten().collect();
    let data = heads.iter().filter(|h| !named.contains(h.name()) && !h.is_coordinate());
    data.map(|h| h.name()).collect()
}

/// A file of a collection.
#[derive(Debug)]
pub struct Member {
    /// The path or URL by which it is opened.
    pub path: String,
    /// The path in the collection, with `/` between directories, for names of groups.
    pub name: String,
    /// A value that changes with its content.
    pub token: Vec<u8>,
    pub(super) schema: Arc<Schema>,
    /// The lengths of the schema's dimensions.
    sizes: Vec<u64>,
    /// The stored values of the schema's coordinate variables, big-endian. Files with equal values share them.
    coordinates: Vec<Arc<[u8]>>,
}

impl Member {
    /// The length of a dimension.
    pub(super) fn size(&self, dimension: &str) -> Option<u64> {
        let at = self.schema.dimensions.iter().position(|d| d.name == dimension)?;
        self.sizes.get(at).copied()
    }

    /// The coordinate variable of a dimension, and its values.
    pub(super) fn coordinate(&self, dimension: &str) -> Option<(&Head, &Arc<[u8]>)> {
        let mut each = self.schema.coordinates.iter().map(|n| &self.schema.heads[*n]).zip(&self.coordinates);
        each.find(|(head, _)| head.name() == dimension)
    }

    /// Returns true if it has coordinates along a dimension.
    pub fn has_coordinates(&self, dimension: &str) -> bool {
        self.coordinate(dimension).is_some()
    }

    /// The name of a dimension of length 0, if there is one.
    pub(super) fn without_records(&self) -> Option<&str> {
        let mut each = self.schema.dimensions.iter().zip(&self.sizes);
        each.find(|(d, size)| **size == 0 && !d.is_text).map(|(d, _)| d.name.as_str())
    }
}

/// Makes the files of a collection. They share headers and coordinates. Any number of threads may scan at once.
#[derive(Debug, Default)]
pub struct Scan {
    known: Mutex<SchemaCache>,
}

#[derive(Debug, Default)]
struct SchemaCache {
    /// By header, without the number of records. `None` for a header that does not describe its file.
    schemas: HashMap<Vec<u8>, Option<Arc<Schema>>>,
    values: HashSet<Arc<[u8]>>,
}

/// Returns the header's bytes without the number of records.
fn without_count(bytes: &[u8]) -> Vec<u8> {
    let rest = if bytes.get(3) == Some(&5) { 12 } else { 8 };
    [bytes.get(..4).unwrap_or_default(), bytes.get(rest..).unwrap_or_default()].concat()
}

impl Scan {
    fn known(&self) -> MutexGuard<'_, SchemaCache> {
        // Stored values are complete at any time.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shared(&self, values: Vec<u8>) -> Arc<[u8]> {
        let mut known = self.known();
        if let Some(found) = known.values.get(&values[..]) {
            return Arc::clone(found);
        }
        let values: Arc<[u8]> = values.into();
        known.values.insert(Arc::clone(&values));
        values
    }

    fn schema(&self, dataset: &Dataset) -> Arc<Schema> {
        let bytes = dataset.archive().map(nc3z_reader::Archive::header_bytes);
        let bytes = bytes.or_else(|| dataset.classic().map(nc3z_reader::ClassicFile::header_bytes));
        // The header of an aggregation does not have the variables as they are shown.
        let Some(key) = bytes.map(without_count) else { return Arc::new(Schema::new(dataset.header())) };
        if let Some(Some(schema)) = self.known().schemas.get(&key) {
            return Arc::clone(schema);
        }
        let schema = Arc::new(Schema::new(dataset.header()));
        self.known().schemas.insert(key, Some(Arc::clone(&schema)));
        schema
    }

    /// Reads the header and the coordinates of an open file.
    ///
    /// # Errors
    /// The coordinates cannot be read.
    pub fn file(
        &self,
        dataset: &Dataset,
        path: &str,
        name: &str,
        token: &[u8],
    ) -> nc3z_reader::Result<Member> {
        let schema = self.schema(dataset);
        let coordinate = |n: &usize| -> nc3z_reader::Result<Arc<[u8]>> {
            let found = dataset.variable_at(schema.heads[*n].id());
            let values = found.map(|v| v.read_bytes(&v.all())).transpose()?.unwrap_or_default();
            Ok(self.shared(values))
        };
        let coordinates = schema.coordinates.iter().map(coordinate).collect::<nc3z_reader::Result<_>>()?;
        let size = |d: &Used| {
            let dimension = &dataset.dimensions()[d.number];
            if dimension.is_record() { dataset.records() } else { dimension.len }
        };
        let sizes = schema.dimensions.iter().map(size).collect();
        Ok(Member { path: path.into(), name: name.into(), token: token.into(), schema, sizes, coordinates })
    }

    /// Returns a file by its description: its header, the lengths of all dimensions, and the values of variables by their number.
    /// `None` where the description lacks coordinates, so that the file must be opened.
    pub fn described(
        &self,
        header: &[u8],
        lengths: &[u64],
        values: impl Fn(VarId) -> Option<Vec<u8>>,
        path: &str,
        name: &str,
        token: &[u8],
    ) -> Option<Member> {
        let key = without_count(header);
        let found = self.known().schemas.get(&key).cloned();
        let schema = found.unwrap_or_else(|| {
            let schema = match parse_prefix(header, u64::MAX, &Limits::default()) {
                Ok(Parse::Done(header, _)) if !has_aggregations(&header) => {
                    Some(Arc::new(Schema::new(&header)))
                }
                _ => None,
            };
            self.known().schemas.insert(key, schema.clone());
            schema
        })?;
        let size = |d: &Used| lengths.get(d.number).copied();
        let sizes = schema.dimensions.iter().map(size).collect::<Option<Vec<u64>>>()?;
        let mut member = Member {
            path: path.into(),
            name: name.into(),
            token: token.into(),
            schema,
            sizes,
            coordinates: Vec::new(),
        };
        let mut coordinates = Vec::new();
        for n in &member.schema.coordinates {
            let head = &member.schema.heads[*n];
            let values = values(head.id()).unwrap_or_default();
            let len = member.size(head.name())?.checked_mul(head.variable().ty.size() as u64)?;
            if head.is_text() || values.len() as u64 != len {
                return None;
            }
            coordinates.push(self.shared(values));
        }
        member.coordinates = coordinates;
        Some(member)
    }
}
