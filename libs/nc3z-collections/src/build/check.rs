//! Reads the new aggregation back before it is reported. Compares names, types and shapes, and of each
//! fragment its last element.

use super::join::Group;
use super::scan::{Array, FileId};
use super::{Made, Report, Rules, url_of};
use crate::error::{Error, Result};
use crate::file::as_aggregation;
use crate::fragments::Notes;
use crate::master::conform::{Conform, text};
use crate::master::{FileRef, MasterArray};
use crate::write::NewAggregation;
use nc3z_format::Hyperslab;
use nc3z_format::units::conversion;
use nc3z_reader::source::MemorySource;
use nc3z_reader::{Dataset, Variable};
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;

/// The last element of a member of a group, and its place in the master array.
#[derive(Clone, Copy)]
struct Check<'a> {
    group: &'a Group<'a>,
    member: usize,
    /// The name of the aggregated variable.
    array: &'a str,
}

impl<'a> Check<'a> {
    /// The member's array.
    fn own(&self) -> &'a Array {
        self.group.members[self.member]
    }

    fn id(&self) -> &'a FileId {
        &self.own().id
    }

    /// The index of the element in the file.
    fn stored(&self) -> Vec<u64> {
        let order = self.group.orders[self.member].iter().zip(&self.own().shape);
        let last = order.map(|(d, len)| {
            let reversed = self.group.axes[*d].places.get(self.member).1;
            if reversed { 0 } else { len.saturating_sub(1) }
        });
        last.collect()
    }

    /// The index of the element in the master array.
    fn at(&self) -> Vec<u64> {
        self.group.axes.iter().map(|axis| axis.places.get(self.member).0.end.saturating_sub(1)).collect()
    }
}

/// Reads the aggregation back, as it will be in `directory`.
pub(super) fn read_back(
    made: &Made,
    aggregation: &NewAggregation<'_>,
    joined: &[(Arc<Group<'_>>, String)],
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
    // A file that is already in the aggregation is not read again.
    let all = joined.iter().flat_map(|(group, array)| {
        let (group, array): (&Group<'_>, &str) = (group, array);
        (0..group.members.len()).map(move |member| Check { group, member, array })
    });
    let mut checks: Vec<Check<'_>> = all.filter(|check| !check.own().known).collect();
    checks.sort_by_key(|check| check.id().uri());
    let files: Vec<&[Check<'_>]> = checks.chunk_by(|a, b| a.id().uri() == b.id().uri()).collect();
    let outside: Vec<Option<&str>> = files
        .par_iter()
        .with_max_len(1)
        .map(|checks| {
            let outside = place(&dataset, checks[0].id())?;
            checks.iter().try_for_each(|check| element(&dataset, *check))?;
            Ok(outside.then_some(checks[0].id().file()))
        })
        .collect::<Result<_>>()?;
    let outside: Vec<&str> = outside.into_iter().flatten().collect();
    if let Some(first) = outside.first().filter(|first| url_of(Path::new(first)).is_some()) {
        let what = format!("fragments on servers, such as `{first}`, are read with `--outside` only");
        report.notes.push(what);
    } else if let Some(first) = outside.first() {
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
fn metadata(dataset: &Dataset, aggregation: &NewAggregation<'_>) -> Result<()> {
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
/// the aggregation. An object of a server always is.
fn place(dataset: &Dataset, id: &FileId) -> Result<bool> {
    let Some(aggregation) = as_aggregation(dataset) else { return Ok(false) };
    let (file, uri) = (id.file(), id.uri());
    if url_of(Path::new(file)).is_some() {
        return Ok(true);
    }
    let found = aggregation.fragments().path(uri, true)?;
    let given = Path::new(file).canonicalize().map_err(|e| Error::io(Path::new(file), e))?;
    if found != given {
        let what = format!("`{file}` is called `{uri}` there, which is `{}`", found.display());
        return Err(Error::misfit(file, what));
    }
    Ok(aggregation.fragments().path(uri, false).is_err())
}

/// Compares an element of the master array with the element in the file.
fn element(dataset: &Dataset, check: Check<'_>) -> Result<()> {
    let (id, variable) = (check.id(), &check.own().name);
    let misfit = |what: String| Error::misfit(id.file(), format!("`{}`: {what}", id.file()));
    let whole = dataset.variable(check.array)?;
    let Some(aggregation) = as_aggregation(dataset) else { return Ok(()) };
    let Some((_, master)) = aggregation.master(whole.id()) else {
        return Err(wrong(&format!("`{}` has no fragments", check.array)));
    };
    let one = |at: &[u64]| Hyperslab::new(at.to_vec(), vec![1; at.len()], vec![1; at.len()]);
    let found = whole.read_bytes(&one(&check.at())?).map_err(|e| misfit(e.with_causes()))?;
    let fingerprint = Some(id.fingerprint()).filter(|f| !f.is_empty());
    let file = aggregation.fragments().open(&FileRef::Uri(id.uri().to_owned()), fingerprint)?;
    let Some(file) = file else { return Err(misfit("it is not there".into())) };
    let v = file.variable(variable)?;
    let bytes = v.read_bytes(&one(&check.stored())?).map_err(|e| misfit(e.with_causes()))?;
    let expected = conform(&v, master)
        .and_then(|c| c.apply(bytes).map_err(|(_, what)| what))
        .map_err(|what| misfit(format!("variable `{variable}`: {what}")))?;
    if found != expected {
        return Err(wrong(&format!(
            "the element {:?} of `{}` is not {:?} of `{}` in `{}`",
            check.at(),
            check.array,
            check.stored(),
            variable,
            id.file()
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
    Conform::new(v.header(), master.ty, &master.fill, unit, &master.limits)
}
