//! Reads the new aggregation back before it is reported. Compares names, types and shapes, and of each
//! fragment its last element.

use super::join::Group;
use super::{Made, Report, Rules};
use crate::error::{Error, Result};
use crate::file::as_aggregation;
use crate::fragments::Notes;
use crate::master::values::{Conform, text};
use crate::master::{FileRef, MasterArray};
use crate::write::NewAggregation;
use nc3z_format::Hyperslab;
use nc3z_format::units::conversion;
use nc3z_reader::source::MemorySource;
use nc3z_reader::{Dataset, Variable};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// An element of a fragment, and its index in the master array.
#[derive(Debug, Clone)]
pub(super) struct Check {
    file: Arc<str>,
    uri: Arc<str>,
    fingerprint: Arc<str>,
    /// The name of the variable in the file, and of the aggregated one.
    variable: String,
    array: String,
    /// The index of the element in the file, and in the master array.
    stored: Vec<u64>,
    at: Vec<u64>,
}

impl Check {
    /// The last element of a member of a group. None for a file that is not read again.
    pub(super) fn new(group: &Group<'_>, n: usize, array: &str) -> Option<Self> {
        let m = group.members[n];
        let stored = group.orders[n].iter().zip(&m.shape).map(|(d, len)| {
            let reversed = group.axes[*d].places[n].1;
            if reversed { 0 } else { len.saturating_sub(1) }
        });
        (!m.known).then(|| Check {
            file: m.file.clone(),
            uri: m.uri.clone(),
            fingerprint: m.fingerprint.clone(),
            variable: m.name.clone(),
            array: array.to_owned(),
            stored: stored.collect(),
            at: group.axes.iter().map(|axis| axis.places[n].0.end.saturating_sub(1)).collect(),
        })
    }
}

/// Reads the aggregation back, as it will be in `directory`.
pub(super) fn read_back(
    made: &Made,
    aggregation: &NewAggregation,
    checks: &[Check],
    directory: &Path,
    rules: &Rules,
    report: &mut Report,
) -> Result<()> {
    let mut options = rules.options.clone();
    options.notes = Notes::default();
    let source = Arc::new(MemorySource::new(made.bytes.clone()));
    let own = Dataset::from_source(source, &options.open)?;
    let dataset = if crate::file::is_aggregation(&own) {
        crate::file::wrap(own, "the aggregation", Some(directory), &options)?
    } else {
        own
    };
    metadata(&dataset, aggregation)?;
    let mut files: BTreeMap<&str, Vec<&Check>> = BTreeMap::new();
    checks.iter().for_each(|check| files.entry(&check.uri).or_default().push(check));
    let files: Vec<Vec<&Check>> = files.into_values().collect();
    let outside: Vec<Option<&str>> = files
        .par_iter()
        .with_max_len(1)
        .map(|checks| {
            let outside = place(&dataset, checks[0])?;
            checks.iter().try_for_each(|check| element(&dataset, check))?;
            Ok(outside.then_some(&*checks[0].file))
        })
        .collect::<Result<_>>()?;
    let outside: Vec<&str> = outside.into_iter().flatten().collect();
    if let Some(first) = outside.first() {
        let more = if outside.len() > 1 { format!(" and {} more", outside.len() - 1) } else { String::new() };
        report.notes.push(format!(
            "`{first}`{more} lies outside the directory of the aggregation: it is read with `--outside` only; write the aggregation into a \
             directory above its files, and it is read without"
        ));
    }
    Ok(())
}

fn wrong(what: &str) -> Error {
    Error::refused(format!("reading the aggregation back: {what}; nothing is written"))
}

/// Compares names, types, shapes, and the values that are stored in the aggregation itself.
fn metadata(dataset: &Dataset, aggregation: &NewAggregation) -> Result<()> {
    let dims = |v: &Variable| -> Vec<(String, u64)> {
        let names = v.dimensions().map(|d| d.name_lossy().into_owned());
        names.zip(v.shape().iter().copied()).collect()
    };
    for array in &aggregation.arrays {
        let v = dataset.variable(&array.name)?;
        let expected: Vec<_> =
            array.dimensions.iter().map(|d| aggregation.own.dimensions[*d].clone()).collect();
        if v.ty() != array.ty || dims(&v) != expected {
            return Err(wrong(&format!("`{}` is {} {:?} there", array.name, v.ty(), dims(&v))));
        }
    }
    for own in &aggregation.own.variables {
        let v = dataset.variable(&own.name)?;
        if v.ty() != own.ty || v.read_bytes(&v.all())? != own.values {
            return Err(wrong(&format!("`{}` has other values there", own.name)));
        }
    }
    Ok(())
}

/// Checks that the fragment's name resolves to the file. Returns whether the file is outside the directory of
/// the aggregation.
fn place(dataset: &Dataset, check: &Check) -> Result<bool> {
    let Some(aggregation) = as_aggregation(dataset) else { return Ok(false) };
    let found = aggregation.fragments().path(&check.uri, true)?;
    let given = Path::new(&*check.file).canonicalize().map_err(|e| Error::io(Path::new(&*check.file), e))?;
    if found != given {
        return Err(Error::misfit(
            &check.file,
            format!("`{}` is called `{}` there, which is `{}`", check.file, check.uri, found.display()),
        ));
    }
    Ok(aggregation.fragments().path(&check.uri, false).is_err())
}

/// Compares an element of the master array with the element in the file.
fn element(dataset: &Dataset, check: &Check) -> Result<()> {
    let misfit = |what: String| Error::misfit(&check.file, format!("`{}`: {what}", check.file));
    let whole = dataset.variable(&check.array)?;
    let Some(aggregation) = as_aggregation(dataset) else { return Ok(()) };
    let Some((_, master)) = aggregation.master(whole.id()) else {
        return Err(wrong(&format!("`{}` has no fragments", check.array)));
    };
    let one = |at: &[u64]| Hyperslab::new(at.to_vec(), vec![1; at.len()], vec![1; at.len()]);
    let found = whole.read_bytes(&one(&check.at)?).map_err(|e| misfit(e.with_causes()))?;
    let fingerprint = Some(&*check.fingerprint).filter(|f| !f.is_empty());
    let file = aggregation.fragments().open(&FileRef::Uri(check.uri.to_string()), fingerprint)?;
    let Some(file) = file else { return Err(misfit("it is not there".into())) };
    let v = file.variable(&check.variable)?;
    let bytes = v.read_bytes(&one(&check.stored)?).map_err(|e| misfit(e.with_causes()))?;
    let expected = conform(&v, master)
        .and_then(|c| c.apply(bytes).map_err(|(_, what)| what))
        .map_err(|what| misfit(format!("variable `{}`: {what}", check.variable)))?;
    if found != expected {
        return Err(wrong(&format!(
            "the element {:?} of `{}` is not {:?} of `{}` in `{}`",
            check.at, check.array, check.stored, check.variable, check.file
        )));
    }
    Ok(())
}

/// Returns the conversion from a file's variable to the master array.
fn conform(v: &Variable, master: &MasterArray) -> Result<Conform, String> {
    let own = |name: &str| v.attribute(name).map(text);
    let calendar = own("calendar").or_else(|| master.calendar.clone());
    let unit = match (own("units"), &master.units) {
        (Some(from), Some(to)) => conversion(&from, calendar.as_deref(), to, master.calendar.as_deref())
            .map_err(|e| e.to_string())?,
        _ => nc3z_format::units::Conversion::IDENTITY,
    };
    Conform::new(v.header(), master.ty, &master.fill, unit)
}
