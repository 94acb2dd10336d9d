//! Divides files into groups that can be joined, by their headers and coordinates.

use super::line::{Line, numbered, places};
use super::schema::{Member, Schema, data_variables, named_coordinates};
use super::{Form, Head};
use nc3z_format::NcType;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Files that are parts of one dataset.
#[derive(Debug, Clone)]
pub struct Group {
    /// The files, sorted by their places.
    pub files: Vec<Arc<Member>>,
    /// For each joined dimension the place of each file's part along it.
    pub positions: Vec<(String, Vec<usize>)>,
    /// A joined dimension that the files themselves do not have: each file is one element of it.
    pub stacked: Option<String>,
}

/// Groups files. Each is in one group. Along `along`, files without coordinates are joined in the order given; if no file has this
/// dimension, it is a new one.
pub fn groups(files: &[Arc<Member>], along: Option<&str>) -> Vec<Group> {
    let is_new = along.filter(|d| files.iter().all(|file| file.size(d).is_none()));
    let keys = numbered(files.iter().map(|file| &file.schema.key));
    let parts = parts(files, &keys);
    let groups = parts.into_iter().flat_map(|part| match is_new {
        Some(dimension) => stack(&part, dimension),
        None => arrange(part, along),
    });
    groups.map(Group::sorted).collect()
}

/// Returns the reason for each file that has nothing to add to the others with the same variables: a dimension has length 0.
pub fn without_records(files: &[Arc<Member>]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for part in parts(files, &numbered(files.iter().map(|file| &file.schema.key))) {
        let empty: Vec<(&Member, &str)> =
            part.iter().filter_map(|file| Some((&**file, file.without_records()?))).collect();
        let left = part.iter().any(|file| file.without_records().is_none());
        // If all are empty, the first one shows the variables.
        for (file, dimension) in empty.iter().filter(|(file, _)| left || file.path != part[0].path) {
            let why = format!("it has no records: the length of its dimension {dimension} is 0");
            found.push((file.path.clone(), why));
        }
    }
    found
}

/// Divides files by the label of each, in the order of the first file of each part.
fn parts(files: &[Arc<Member>], labels: &[usize]) -> Vec<Vec<Arc<Member>>> {
    let mut parts: Vec<Vec<Arc<Member>>> = Vec::new();
    let mut known = HashMap::new();
    for (label, file) in labels.iter().zip(files) {
        let at = *known.entry(label).or_insert_with(|| {
            parts.push(Vec::new());
            parts.len() - 1
        });
        parts[at].push(Arc::clone(file));
    }
    parts
}

/// The dimensions of files with the same variables, without those of characters.
fn dimensions(file: &Member) -> impl Iterator<Item = &str> {
    file.schema.dimensions.iter().filter(|d| !d.is_text).map(|d| d.name.as_str())
}

/// Joins files with the same variables along a dimension that they do not have. Files with different coordinates are different
/// groups.
fn stack(files: &[Arc<Member>], dimension: &str) -> Vec<Group> {
    let lines: Vec<Line> = dimensions(&files[0]).map(|d| Line::new(files, d)).collect();
    let labels = (0..files.len()).map(|n| lines.iter().map(|line| line.numbers[n]).collect::<Vec<_>>());
    let parts = parts(files, &numbered(labels));
    let group = |files: Vec<Arc<Member>>| Group {
        positions: vec![(dimension.to_owned(), (0..files.len()).collect())],
        stacked: Some(dimension.to_owned()),
        files,
    };
    parts.into_iter().map(group).collect()
}

/// Divides files with the same variables into groups.
///
/// Files that follow one another along any dimensions, without overlap or hole, are one group. If they do not, they are divided by
/// the spacing of coordinates, by the pattern of their names, by directory, and finally by coordinates.
fn arrange(files: Vec<Arc<Member>>, along: Option<&str>) -> Vec<Group> {
    if files.len() == 1 {
        return vec![Group { files, positions: Vec::new(), stacked: None }];
    }
    let first = Arc::clone(&files[0]);
    let mut lines: Vec<(&str, Line)> = dimensions(&first).map(|d| (d, Line::new(&files, d))).collect();
    if let Some((_, line)) = lines.iter_mut().find(|(d, line)| Some(*d) == along && !line.has_values) {
        line.join_in_order();
    }
    let varying: Vec<&(&str, Line)> = lines.iter().filter(|(_, line)| line.distinct() > 1).collect();
    let mut bad = Vec::new();
    let mut positions: Vec<(String, Vec<usize>)> = Vec::new();
    for both in &varying {
        let (d, line) = (both.0, &both.1);
        match line.order() {
            Some(order) => positions.push((d.to_owned(), line.numbers.iter().map(|n| order[*n]).collect())),
            None => bad.push(*both),
        }
    }
    if bad.is_empty() && fills_its_box(&positions, files.len()) {
        return vec![Group { files, positions, stacked: None }];
    }
    let times = first.schema.times();
    let mut by_coordinates = if bad.is_empty() { varying.clone() } else { bad.clone() };
    by_coordinates.sort_by_key(|(d, line)| (line.distinct(), times.contains(d)));
    // The ways to divide files that do not fit together, best first.
    let ways = bad.iter().map(|(_, line)| line.spacings());
    let ways = ways.chain(std::iter::once_with(|| numbered(files.iter().map(|file| pattern(&file.name)))));
    let ways = ways.chain(std::iter::once_with(|| numbered(files.iter().map(|file| directory(&file.name)))));
    let mut ways = ways.chain(by_coordinates.iter().map(|(_, line)| line.numbers.clone()));
    let labels = ways.find(|labels| labels.iter().any(|label| *label != labels[0]));
    let labels = labels.unwrap_or_else(|| (0..files.len()).collect());
    parts(&files, &labels).into_iter().flat_map(|part| arrange(part, along)).collect()
}

/// Returns true if files are at all places of a box, each at another one.
fn fills_its_box(positions: &[(String, Vec<usize>)], files: usize) -> bool {
    let place = |n: usize| positions.iter().map(|(_, numbers)| numbers[n]).collect::<Vec<_>>();
    let places: HashSet<Vec<usize>> = (0..files).map(place).collect();
    let len = |numbers: &Vec<usize>| numbers.iter().max().map_or(1, |n| n + 1);
    let volume = positions.iter().fold(1_usize, |n, (_, numbers)| n.saturating_mul(len(numbers)));
    places.len() == files && volume == files
}

/// A name with `#` in place of each number.
fn pattern(name: &str) -> String {
    let mut found = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            c if !c.is_numeric() => found.push(c),
            _ if !found.ends_with('#') => found.push('#'),
            _ => {}
        }
    }
    found
}

pub(super) fn directory(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(directory, _)| directory)
}

impl Group {
    pub(super) fn schema(&self) -> &Schema {
        &self.files[0].schema
    }

    /// Sorts files by their places, so that the first file is the first one along all dimensions.
    fn sorted(self) -> Self {
        let mut order: Vec<usize> = (0..self.files.len()).collect();
        order.sort_by_key(|n| self.positions.iter().map(|(_, numbers)| numbers[*n]).collect::<Vec<_>>());
        Group {
            files: order.iter().map(|n| Arc::clone(&self.files[*n])).collect(),
            positions: self
                .positions
                .into_iter()
                .map(|(d, numbers)| (d, order.iter().map(|n| numbers[*n]).collect()))
                .collect(),
            stacked: self.stacked,
        }
    }

    /// The variables of its first file.
    pub fn heads(&self) -> &[Head] {
        &self.schema().heads
    }

    /// A variable of its first file.
    pub fn head(&self, name: &str) -> Option<&Head> {
        self.schema().head(name)
    }

    /// The names of unlimited dimensions.
    pub fn unlimited(&self) -> &[String] {
        &self.schema().unlimited
    }

    /// Variables that others name as coordinates, and coordinate variables.
    pub fn coordinates(&self) -> BTreeSet<String> {
        let mut found = named_coordinates(self.heads());
        found.extend(self.heads().iter().filter(|h| h.is_coordinate()).map(|h| h.name().to_owned()));
        found
    }

    /// The data variables: those that are not coordinates, bounds, or otherwise named by other variables.
    pub fn data(&self) -> Vec<&str> {
        data_variables(&self.heads().iter().collect::<Vec<_>>())
    }

    /// The place of each file along a dimension.
    fn numbers(&self, dimension: &str) -> Option<&[usize]> {
        self.positions.iter().find(|(d, _)| d == dimension).map(|(_, numbers)| &numbers[..])
    }

    /// The first file at each place along a dimension.
    fn along(&self, dimension: &str) -> Vec<&Arc<Member>> {
        let Some(numbers) = self.numbers(dimension) else { return vec![&self.files[0]] };
        let mut first = BTreeMap::new();
        for (number, file) in numbers.iter().zip(&self.files) {
            first.entry(number).or_insert(file);
        }
        first.into_values().collect()
    }

    /// The length of a dimension in one of its files.
    fn size(&self, file: &Member, dimension: &str) -> u64 {
        if self.stacked.as_deref() == Some(dimension) { 1 } else { file.size(dimension).unwrap_or(1) }
    }

    /// The names of its dimensions, and the lengths of the files' parts along each.
    pub fn lengths(&self) -> Vec<(String, Vec<u64>)> {
        let stacked = self.stacked.iter().cloned();
        let names = self.schema().dimensions.iter().map(|d| d.name.clone()).chain(stacked);
        let lengths =
            |d: &String| self.along(d).into_iter().map(|file| self.size(file, d)).collect::<Vec<u64>>();
        names.map(|d| (d.clone(), lengths(&d))).collect()
    }

    /// The largest length of the last dimension of a variable in any file.
    pub fn width(&self, name: &str) -> u64 {
        let own = |file: &Arc<Member>| file.size(file.schema.head(name)?.dimensions().last()?);
        self.files.iter().filter_map(own).max().unwrap_or(0)
    }

    /// Returns true if a file has a variable packed, masked, or with another sign.
    pub fn is_coded(&self, name: &str) -> bool {
        self.files.iter().any(|file| file.schema.head(name).is_some_and(Head::is_coded))
    }

    /// The form in which a variable is read; `None` if all files store it in the same way.
    ///
    /// # Errors
    /// The files store it in ways that have no common form.
    pub fn form(&self, name: &str) -> Result<Option<Form>, String> {
        let schemas: HashMap<*const Schema, &Schema> =
            self.files.iter().map(|file| (Arc::as_ptr(&file.schema), &*file.schema)).collect();
        let first = self.head(name);
        let others = schemas.values().filter_map(|schema| schema.head(name));
        let heads: Vec<&Head> = first.into_iter().chain(others).collect();
        Form::joined(&heads)
            .map_err(|what| format!("variable {name} of {} and other files: {what}", self.files[0].path))
    }

    /// The variable of one of its files.
    pub fn head_of(&self, file: usize, name: &str) -> Option<&Head> {
        self.files.get(file)?.schema.head(name)
    }

    /// The big-endian values of a coordinate variable in this form; `None` if not all files have them.
    ///
    /// # Errors
    /// A value that the form does not have, with the file.
    pub fn coordinate(&self, name: &str, form: Option<Form>) -> Result<Option<Vec<u8>>, (String, String)> {
        let mut found = Vec::new();
        if self.files.iter().any(|file| file.coordinate(name).is_none()) {
            return Ok(None);
        }
        for file in self.along(name) {
            let Some((head, stored)) = file.coordinate(name) else { continue };
            match form {
                None => found.extend_from_slice(stored),
                Some(form) => {
                    let values = form.conform(head, stored.to_vec());
                    found.extend(values.map_err(|what| (file.path.clone(), what))?);
                }
            }
        }
        Ok(Some(found))
    }

    /// The coordinates of the whole group along a dimension, for comparison with other groups; the indices where there are none.
    /// `None` if they cannot be compared.
    pub(super) fn whole(&self, dimension: &str) -> Option<(Option<NcType>, Vec<u8>)> {
        let files = self.along(dimension);
        if files.iter().any(|file| file.coordinate(dimension).is_none()) {
            let len: u64 = files.iter().map(|file| self.size(file, dimension)).sum();
            return Some((None, len.to_be_bytes().to_vec()));
        }
        let (mut ty, mut found) = (None, Vec::new());
        for (head, stored) in files.iter().filter_map(|file| file.coordinate(dimension)) {
            let (own, mut values) = places(head, stored).ok()?;
            if ty.is_some_and(|ty| ty != own) {
                return None;
            }
            ty = Some(own);
            if own == NcType::Double {
                for x in values.as_chunks_mut::<8>().0 {
                    let value = f64::from_be_bytes(*x);
                    if value.is_nan() {
                        return None;
                    }
                    // Zeros of both signs are equal.
                    *x = (value + 0.0).to_be_bytes();
                }
            }
            found.extend(values);
        }
        Some((ty, found))
    }

    /// The names of its dimensions, without those of characters.
    pub(super) fn dimensions(&self) -> BTreeSet<&str> {
        dimensions(&self.files[0]).chain(self.stacked.as_deref()).collect()
    }
}
