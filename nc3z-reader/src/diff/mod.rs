//! The differences between two files: dimensions, attributes, types, and values, variable by variable.
//!
//! Items are matched by name, in any order. A removed variable and a new one with the same type, lengths and
//! bits count as one renamed variable.

mod blocks;
mod values;

pub use values::{Extreme, ValueDiff};

use crate::dataset::{Dataset, Variable};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use nc3z_format::NcType;
use nc3z_format::classic::{Attribute, Dimension, Header};
use std::collections::{HashMap, HashSet};

/// A part of each file that is compared.
pub trait Part: std::fmt::Debug + Send + Sync {
    /// The hyperslabs of a variable of the first file (0) or the second one (1), in order. `None` if the
    /// whole variable is compared.
    ///
    /// # Errors
    /// The part to compare does not exist.
    fn slabs(&self, file: usize, variable: &Variable) -> Result<Option<Vec<nc3z_format::Hyperslab>>>;

    /// Returns true if only a part of this dimension is compared. Its length is then no difference.
    fn is_over(&self, dimension: &[u8]) -> bool;
}

/// Options for comparing files.
#[derive(Debug, Clone, Default)]
pub struct DiffOptions {
    /// Largest absolute difference of values that counts as equal. Without `abs` and `rel` every bit counts.
    pub abs: Option<f64>,
    /// Largest relative difference that counts as equal, as a fraction of the larger magnitude.
    pub rel: Option<f64>,
    /// Only these variables, and nothing else.
    pub variables: Option<HashSet<Vec<u8>>>,
    /// Compares headers, but no values.
    pub header_only: bool,
    /// Largest number of differing elements that are listed for each variable.
    pub listed: usize,
    /// Also compares properties that names and values do not show: the kind of file, order, padding, gaps.
    pub exact: bool,
    /// Only this part of each variable.
    pub part: Option<std::sync::Arc<dyn Part>>,
    /// True if both are versions in the same archive file: a tile that both share is equal.
    pub same_archive: bool,
}

/// The states before and after. One of them is `None` if the item was added or removed.
#[derive(Debug, Clone, PartialEq)]
pub struct Change<T> {
    /// Before.
    pub before: Option<T>,
    /// After.
    pub after: Option<T>,
}

/// A dimension that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct DimensionDiff {
    /// Its name, or its old name if it was renamed.
    pub name: Vec<u8>,
    /// Its new name, if it was renamed.
    pub renamed: Option<Vec<u8>>,
    /// Its length, and true if it is the record dimension.
    pub change: Change<(u64, bool)>,
}

/// An attribute that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct AttributeDiff {
    /// The name of the attribute.
    pub name: Vec<u8>,
    /// Type and values.
    pub change: Change<Attribute>,
}

/// Type, dimensions and lengths of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableShape {
    /// The type of the variable.
    pub ty: NcType,
    /// Names of its dimensions.
    pub dimensions: Vec<Vec<u8>>,
    /// Their lengths.
    pub shape: Vec<u64>,
}

/// A variable that differs.
#[derive(Debug, Clone)]
pub struct VariableDiff {
    /// Its name, or its old name if it was renamed.
    pub name: Vec<u8>,
    /// Its new name, if it was renamed.
    pub renamed: Option<Vec<u8>>,
    /// Type, dimensions and lengths. Equal if they do not differ.
    pub change: Change<VariableShape>,
    /// Attributes that differ.
    pub attributes: Vec<AttributeDiff>,
    /// The differences of the elements that both have. `None` if they were not compared or are equal.
    pub values: Option<ValueDiff>,
}

/// All differences.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Dimensions.
    pub dimensions: Vec<DimensionDiff>,
    /// Global attributes.
    pub attributes: Vec<AttributeDiff>,
    /// Variables. Removed ones are last.
    pub variables: Vec<VariableDiff>,
    /// Other differences, as messages. They count only if [`DiffOptions::exact`] is set.
    pub layout: Vec<String>,
    /// Elements that were compared.
    pub compared: u64,
}

impl Report {
    /// Returns true if nothing differs except the layout.
    pub fn is_equal(&self) -> bool {
        self.dimensions.is_empty() && self.attributes.is_empty() && self.variables.is_empty()
    }
}

/// Compares two files.
///
/// # Errors
/// Damage of one of them; a requested variable that neither has; a cancelled monitor.
pub fn diff(a: &Dataset, b: &Dataset, options: &DiffOptions, monitor: &dyn Monitor) -> Result<Report> {
    let mut report = Report::default();
    if let Some(names) = &options.variables {
        for name in names {
            if [a, b].iter().all(|file| file.header().variable(name).is_none()) {
                let name = String::from_utf8_lossy(name);
                let known = a.header().variables.iter().map(|v| String::from_utf8_lossy(&v.name));
                let known = nc3z_format::spelling::suggest(&name, known);
                return Err(
                    nc3z_format::Error::invalid(format!("neither has a variable \"{name}\"{known}")).into()
                );
            }
        }
    } else {
        report.dimensions = dimensions(a, b);
        if let Some(part) = &options.part {
            report.dimensions.retain(|d| d.renamed.is_some() || !part.is_over(&d.name));
        }
        report.attributes = attributes(a.attributes(), b.attributes());
    }
    let renamed: HashMap<&[u8], &[u8]> =
        report.dimensions.iter().filter_map(|d| Some((&d.name[..], d.renamed.as_deref()?))).collect();
    let renamed: HashMap<Vec<u8>, Vec<u8>> =
        renamed.into_iter().map(|(from, to)| (from.to_owned(), to.to_owned())).collect();
    let mut compare = Compare { options, monitor, renamed, compared: 0 };
    report.variables = compare.variables(a, b)?;
    report.compared = compare.compared;
    report.layout = layout(a.header(), b.header());
    if options.exact && report.layout.is_empty() && report.is_equal() && !is_same_bytes(a, b, monitor)? {
        report.layout.push("bytes that belong to no variable, or lengths, differ".to_owned());
    }
    Ok(report)
}

/// Returns true if two variables have the same type, lengths and bits. The length of the first dimension may
/// differ, by half at most.
///
/// # Errors
/// As [`diff`].
pub fn is_same(v: &Variable, w: &Variable, monitor: &dyn Monitor) -> Result<bool> {
    if !is_alike(v, w) {
        return Ok(false);
    }
    Ok(values::compare(v, w, &DiffOptions::default(), true, monitor)?.differing == 0)
}

/// Returns true if two variables may be the same one, renamed.
fn is_alike(v: &Variable, w: &Variable) -> bool {
    let (a, b) = (v.shape(), w.shape());
    let (Some(&first), Some(&other)) = (a.first(), b.first()) else { return v.ty() == w.ty() && a == b };
    let (less, more) = (first.min(other), first.max(other));
    v.ty() == w.ty() && a[1..] == b[1..] && (less == more || (less > 0 && more / 2 <= less))
}

/// The first item of each name.
fn by_name<'a, T>(items: impl Iterator<Item = (&'a [u8], T)>) -> HashMap<&'a [u8], T> {
    let mut all = HashMap::new();
    for (name, item) in items {
        all.entry(name).or_insert(item);
    }
    all
}

fn dimensions(a: &Dataset, b: &Dataset) -> Vec<DimensionDiff> {
    let of =
        |file: &Dataset, d: &Dimension| (if d.is_record() { file.records() } else { d.len }, d.is_record());
    let old = by_name(a.dimensions().iter().map(|d| (&d.name[..], of(a, d))));
    let new = by_name(b.dimensions().iter().map(|d| (&d.name[..], of(b, d))));
    let mut gone: Vec<&Dimension> = Vec::new();
    let mut found = Vec::new();
    for d in a.dimensions() {
        match (old.get(&d.name[..]), new.get(&d.name[..])) {
            (Some(before), Some(after)) if before != after => found.push(DimensionDiff {
                name: d.name.clone(),
                renamed: None,
                change: Change { before: Some(*before), after: Some(*after) },
            }),
            (_, None) => gone.push(d),
            _ => {}
        }
    }
    for (at, d) in b.dimensions().iter().enumerate().filter(|(_, d)| !old.contains_key(&d.name[..])) {
        let after = of(b, d);
        // The same length at the same position: renamed.
        let same = gone
            .iter()
            .position(|g| of(a, g) == after && a.dimensions().get(at).is_some_and(|was| was.name == g.name));
        let same = same.or_else(|| {
            let alike: Vec<usize> = (0..gone.len()).filter(|&i| of(a, gone[i]) == after).collect();
            if let [only] = alike[..] { Some(only) } else { None }
        });
        found.push(match same.map(|at| gone.remove(at)) {
            Some(was) => DimensionDiff {
                name: was.name.clone(),
                renamed: Some(d.name.clone()),
                change: Change { before: Some(after), after: Some(after) },
            },
            None => DimensionDiff {
                name: d.name.clone(),
                renamed: None,
                change: Change { before: None, after: Some(after) },
            },
        });
    }
    found.extend(gone.into_iter().map(|d| DimensionDiff {
        name: d.name.clone(),
        renamed: None,
        change: Change { before: Some(of(a, d)), after: None },
    }));
    found
}

fn attributes(a: &[Attribute], b: &[Attribute]) -> Vec<AttributeDiff> {
    let new = by_name(b.iter().map(|x| (&x.name[..], x)));
    let old = by_name(a.iter().map(|x| (&x.name[..], x)));
    let same = |x: &Attribute, y: &Attribute| x.ty == y.ty && x.values == y.values;
    let mut found = Vec::new();
    for before in a {
        let after = new.get(&before.name[..]);
        if !after.is_some_and(|after| same(before, after)) {
            let change = Change { before: Some(before.clone()), after: after.map(|&after| after.clone()) };
            found.push(AttributeDiff { name: before.name.clone(), change });
        }
    }
    for after in b.iter().filter(|x| !old.contains_key(&x.name[..])) {
        let change = Change { before: None, after: Some(after.clone()) };
        found.push(AttributeDiff { name: after.name.clone(), change });
    }
    found
}

/// The names that both have, in their order.
fn common<'n>(names: &[&'n [u8]], others: &[&[u8]]) -> Vec<&'n [u8]> {
    let others: HashSet<&[u8]> = others.iter().copied().collect();
    names.iter().copied().filter(|name| others.contains(name)).collect()
}

/// The differences that names and values do not show.
fn layout(a: &Header, b: &Header) -> Vec<String> {
    let mut found = Vec::new();
    if a.version != b.version {
        found.push(format!("{} -> {}", a.version, b.version));
    }
    let mut order = |what: &str, a: Vec<&[u8]>, b: Vec<&[u8]>| {
        if common(&a, &b) != common(&b, &a) {
            found.push(format!("order of {what}"));
        }
    };
    order(
        "dimensions",
        a.dimensions.iter().map(|d| &d.name[..]).collect(),
        b.dimensions.iter().map(|d| &d.name[..]).collect(),
    );
    order(
        "variables",
        a.variables.iter().map(|v| &v.name[..]).collect(),
        b.variables.iter().map(|v| &v.name[..]).collect(),
    );
    order(
        "global attributes",
        a.attributes.iter().map(|x| &x.name[..]).collect(),
        b.attributes.iter().map(|x| &x.name[..]).collect(),
    );
    found
}

fn is_same_bytes(a: &Dataset, b: &Dataset, monitor: &dyn Monitor) -> Result<bool> {
    const WINDOW: u64 = 4 << 20;
    let len = a.original_len();
    if b.original_len() != len {
        return Ok(false);
    }
    let window = usize::try_from(WINDOW.min(len)).expect("at most 4 MiB");
    let (mut x, mut y) = (vec![0; window], vec![0; window]);
    let mut at = 0;
    while at < len {
        if monitor.is_cancelled() {
            return Err(Error::interrupted());
        }
        let n = usize::try_from((len - at).min(WINDOW)).expect("at most 4 MiB");
        a.read_bytes(at, &mut x[..n]).map_err(|e| e.needed_by(values::FILES[0]))?;
        b.read_bytes(at, &mut y[..n]).map_err(|e| e.needed_by(values::FILES[1]))?;
        if x[..n] != y[..n] {
            return Ok(false);
        }
        at += n as u64;
    }
    Ok(true)
}

/// The state of a comparison.
struct Compare<'a> {
    options: &'a DiffOptions,
    monitor: &'a dyn Monitor,
    renamed: HashMap<Vec<u8>, Vec<u8>>,
    compared: u64,
}

impl Compare<'_> {
    fn variables(&mut self, a: &Dataset, b: &Dataset) -> Result<Vec<VariableDiff>> {
        let wanted = |v: &Variable| {
            self.options.variables.as_ref().is_none_or(|names| names.contains(&v.header().name))
        };
        let old: Vec<Variable> = a.variables().filter(&wanted).collect();
        let new: Vec<Variable> = b.variables().filter(&wanted).collect();
        let by_old = by_name(old.iter().map(|v| (&v.header().name[..], v)));
        let by_new = by_name(new.iter().map(|v| (&v.header().name[..], v)));
        let mut gone: Vec<&Variable> =
            old.iter().filter(|v| !by_new.contains_key(&v.header().name[..])).collect();
        let mut found = Vec::new();
        for v in &old {
            if let Some(w) = by_new.get(&v.header().name[..]) {
                found.extend(self.pair(v, w, None)?);
            }
        }
        for w in new.iter().filter(|w| !by_old.contains_key(&w.header().name[..])) {
            let mut same = None;
            for (at, v) in gone.iter().enumerate() {
                if is_alike(v, w) && self.is_same(v, w)? {
                    same = Some(at);
                    break;
                }
            }
            match same.map(|at| gone.remove(at)) {
                Some(v) => found.extend(self.pair(v, w, Some(w.header().name.clone()))?),
                None => found.push(single(w, false)),
            }
        }
        found.extend(gone.into_iter().map(|v| single(v, true)));
        Ok(found)
    }

    /// Returns whether two variables have the same bits, or the same attributes if only headers are compared.
    fn is_same(&mut self, v: &Variable, w: &Variable) -> Result<bool> {
        if self.options.header_only {
            return Ok(attributes(v.attributes(), w.attributes()).is_empty());
        }
        let bits = DiffOptions { abs: None, rel: None, listed: 0, ..self.options.clone() };
        let found = values::compare(v, w, &bits, true, self.monitor)?;
        Ok(found.differing == 0)
    }

    /// The difference of two variables that are matched.
    fn pair(&mut self, v: &Variable, w: &Variable, renamed: Option<Vec<u8>>) -> Result<Option<VariableDiff>> {
        let mut before = shape_of(v);
        let mut after = shape_of(w);
        if let Some(part) = &self.options.part {
            // The lengths of the parts are compared.
            let over = before.dimensions.iter().map(|d| part.is_over(d)).collect::<Vec<_>>();
            for (d, (x, y)) in before.shape.iter_mut().zip(&mut after.shape).enumerate() {
                if over[d] {
                    (*x, *y) = ((*x).min(*y), (*x).min(*y));
                }
            }
        }
        let mut told = before.clone();
        for name in &mut told.dimensions {
            if let Some(new) = self.renamed.get(name) {
                name.clone_from(new);
            }
        }
        // A dimension with a changed length is reported once, and not with each of its variables.
        let alike = told.ty == after.ty
            && told.dimensions == after.dimensions
            && told.shape.len() == after.shape.len();
        let attributes = attributes(v.attributes(), w.attributes());
        let comparable = v.shape().len() == w.shape().len()
            && (v.ty() == w.ty() || (v.ty() != NcType::Char && w.ty() != NcType::Char));
        let mut values = None;
        if !self.options.header_only && comparable {
            let found = values::compare(v, w, self.options, false, self.monitor)?;
            self.compared += found.compared;
            values = Some(found).filter(|found| found.differing > 0);
        }
        let lengths = !alike || told.shape == after.shape || self.options.variables.is_none();
        if alike && lengths && attributes.is_empty() && values.is_none() && renamed.is_none() {
            return Ok(None);
        }
        if alike && lengths {
            before.clone_from(&after);
        }
        let change = Change { before: Some(before), after: Some(after) };
        Ok(Some(VariableDiff { name: v.header().name.clone(), renamed, change, attributes, values }))
    }
}

fn shape_of(v: &Variable) -> VariableShape {
    let dimensions = v.dimensions().map(|d| d.name.clone()).collect();
    VariableShape { ty: v.ty(), dimensions, shape: v.shape().to_vec() }
}

/// A variable that was removed or added.
fn single(v: &Variable, gone: bool) -> VariableDiff {
    let shape = Some(shape_of(v));
    let (before, after) = if gone { (shape, None) } else { (None, shape) };
    let name = v.header().name.clone();
    VariableDiff {
        name,
        renamed: None,
        change: Change { before, after },
        attributes: Vec::new(),
        values: None,
    }
}
