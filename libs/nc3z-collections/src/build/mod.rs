//! Makes an aggregation from metadata alone: decides which arrays of which files are one variable, and finds
//! the indices of each.
//!
//! Arrays are joined where their identity, units, cell methods and axes agree. Along each axis a file's
//! coordinates give its indices. The files may be given in any order, and may differ along several axes at
//! once.

mod alike;
mod attributes;
mod axis;
mod check;
mod choose;
mod constant;
mod dimensions;
mod existing;
mod identity;
mod join;
mod scalars;
mod scan;
mod settle;
mod sharing;
mod stored;

pub use axis::Tolerance;
pub(crate) use choose::REFERENCES;
pub use identity::Identity;
pub(crate) use stored::promote_all;

use crate::error::{Error, Result};
use crate::file::{Convention, as_aggregation};
use crate::fragments::{Options, to_uri};
use crate::write::NewAggregation;
use bytes::Bytes;
use join::Making;
use nc3z_format::url::is_url;
use nc3z_reader::{Dataset, Monitor};
use rayon::prelude::*;
use scan::Scanned;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The number of files that are scanned at a time.
const AT_A_TIME: usize = 4096;

/// The options for joining files.
#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct Rules {
    /// The convention to write. None means CF-1.13 if it can express the files' positions, otherwise NCA-0.1.
    pub convention: Option<Convention>,
    /// The rule by which arrays of different files are one variable.
    pub identity: Identity,
    /// Variables to join, with the variables that their attributes name. An empty list means all.
    pub variables: Vec<String>,
    /// Dimensions along which files may be joined. An empty list means all. Where files have no coordinates
    /// along one of these, they are joined in the order given.
    pub along: Vec<String>,
    /// A dimension that no file has. Files are joined along it in the order given.
    pub new_dimension: Option<String>,
    /// Leaves out files that do not fit the others, and reports them with the reason.
    pub skip_misfits: bool,
    /// The tolerance for equal coordinates.
    pub tolerance: Tolerance,
    /// Refuses gaps between cells. Otherwise they are only noted.
    pub contiguous: bool,
    /// Names fragments by absolute `file://` URIs, for readers that resolve relative names from another
    /// directory.
    pub absolute: bool,
    /// Stores the length and digests of each file, so that a change is detected.
    pub fingerprints: bool,
    /// Reads the aggregation back before it is reported.
    pub verify: bool,
    /// A line for the attribute `history`.
    pub history: Option<String>,
    /// The options for opening files.
    pub options: Options,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            convention: None,
            identity: Identity::default(),
            variables: Vec::new(),
            along: Vec::new(),
            new_dimension: None,
            skip_misfits: false,
            tolerance: Tolerance::default(),
            contiguous: false,
            absolute: false,
            fingerprints: true,
            verify: true,
            history: None,
            options: Options::default(),
        }
    }
}

/// A file to join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// The path of the file, or its URL if `options.opener` of the [`Rules`] opens it.
    pub path: PathBuf,
    /// True where the file was found in a directory or by a pattern. An aggregation that was found so is left
    /// out.
    pub found: bool,
}

/// The result of a run, besides the aggregation itself.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Files that were read and joined.
    pub files: usize,
    /// Files that were already in the aggregation.
    pub known: usize,
    /// Each aggregated variable: name, dimensions, shape, matrix of fragments.
    pub arrays: Vec<Joined>,
    /// Files that were left out, each with the reason.
    pub skipped: Vec<(String, String)>,
    /// Notes for the user, and what was left out.
    pub notes: Vec<String>,
}

/// An aggregated variable of a [`Report`].
#[derive(Debug, Clone)]
pub struct Joined {
    /// The name of the variable.
    pub name: String,
    /// Names of its dimensions.
    pub dimensions: Vec<String>,
    /// Their lengths.
    pub shape: Vec<u64>,
    /// The number of fragments along each.
    pub fragments: Vec<u64>,
}

/// A new aggregation.
#[derive(Debug, Clone)]
pub struct Made {
    /// The bytes of the file.
    pub bytes: Bytes,
    /// The convention that it is written in.
    pub convention: Convention,
    /// The notes and counts.
    pub report: Report,
}

/// Joins files. `output` is the path of the new aggregation: names of files are relative to its directory.
/// `existing` is an aggregation whose files are taken over without being read again. `monitor` counts the
/// files that are read, and may stop the run.
///
/// # Errors
/// Files that cannot be joined: the error names them and gives the reason. The monitor cancels.
pub fn aggregate(
    files: Vec<Input>,
    output: &Path,
    existing: Option<&Dataset>,
    rules: &Rules,
    monitor: &dyn Monitor,
) -> Result<Made> {
    let mut report = Report::default();
    let directory = home(output)?;
    let mut scanned = match existing {
        Some(existing) => existing::scan(existing, &output.to_string_lossy())?,
        None => Vec::new(),
    };
    scan_all(files, &directory, rules, monitor, &mut scanned, &mut report)?;
    choose::variables(&mut scanned, &rules.variables)?;
    choose::with_values(&mut scanned, &mut report)?;
    if scanned.is_empty() {
        return Err(Error::refused("no file to aggregate"));
    }
    if let Some(name) = &rules.new_dimension {
        choose::new_dimension(&mut scanned, name)?;
    }
    settle::settle(&mut scanned, &rules.along);
    share_coordinates(&mut scanned);
    let mut rules = rules.clone();
    rules.convention = rules.convention.or_else(|| existing.and_then(convention_of));
    loop {
        report.files = scanned.iter().filter(|s| !s.known).count();
        match put_together(&scanned, &directory, &rules, &report) {
            Err(Error::Misfit { file, what, .. }) if rules.skip_misfits => {
                let before = scanned.len();
                scanned.retain(|s| s.known || *s.id.file() != *file);
                if scanned.len() == before || scanned.is_empty() {
                    return Err(Error::refused(what));
                }
                report.skipped.push((file, what));
            }
            done => return done,
        }
    }
}

/// Scans all files that are not yet in the aggregation.
fn scan_all(
    files: Vec<Input>,
    directory: &Path,
    rules: &Rules,
    monitor: &dyn Monitor,
    scanned: &mut Vec<Scanned>,
    report: &mut Report,
) -> Result<()> {
    let known: BTreeSet<String> = scanned.iter().map(|s| s.id.uri().to_owned()).collect();
    report.known = known.len();
    let alike = sharing::SharedParts::default();
    scanned.iter_mut().for_each(|known| alike.share(known));
    scanned.reserve_exact(files.len());
    let scan_one = |file: Input| -> Result<Option<Scanned>> {
        if monitor.is_cancelled() {
            return Err(nc3z_reader::Error::interrupted().into());
        }
        let uri = uri(&file.path, directory, rules.absolute)?;
        if known.contains(&uri) {
            return Ok(None);
        }
        let name = file.path.to_string_lossy();
        let dataset = open(&file.path, &rules.options).map_err(|e| match e {
            Error::Reader(e) => Error::misfit(&name, format!("`{name}`: {}", e.with_causes())),
            e => Error::misfit(&name, format!("`{name}`: {e}")),
        })?;
        monitor.advance(1);
        let mut found = scan::scan(&dataset, &name, &uri, rules.fingerprints)?;
        alike.share(&mut found);
        found.found_aggregation = file.found && as_aggregation(&dataset).is_some();
        Ok(Some(found))
    };
    let mut files = files.into_iter();
    loop {
        let part: Vec<Input> = files.by_ref().take(AT_A_TIME).collect();
        if part.is_empty() {
            return Ok(());
        }
        let found: Vec<Result<Option<Scanned>>> = part.into_par_iter().map(&scan_one).collect();
        for found in found {
            match found {
                Ok(found) => scanned.extend(found),
                Err(Error::Misfit { file, what, .. }) if rules.skip_misfits => {
                    report.skipped.push((file, what));
                }
                Err(e) => return Err(e),
            }
        }
    }
}

/// The convention of an existing aggregation that gets more files.
fn convention_of(existing: &Dataset) -> Option<Convention> {
    let (_, convention, _) = as_aggregation(existing)?.masters().next()?;
    (convention != Convention::Cfa).then_some(convention)
}

/// Joins all files, and reads the result back. Where no convention was requested, NCA is used for what
/// CF-1.13 cannot express.
fn put_together(scanned: &[Scanned], directory: &Path, rules: &Rules, report: &Report) -> Result<Made> {
    let first = rules.convention.unwrap_or(Convention::Cf);
    match made(scanned, directory, rules, report, first) {
        Err(Error::Unsayable(what)) if rules.convention.is_none() => {
            let mut report = report.clone();
            report.notes.push(format!("written as NCA-0.1, which other programs do not read: {what}"));
            made(scanned, directory, rules, &report, Convention::Nca)
        }
        made => made,
    }
}

fn made(
    scanned: &[Scanned],
    directory: &Path,
    rules: &Rules,
    report: &Report,
    convention: Convention,
) -> Result<Made> {
    let mut making = Making {
        rules,
        convention,
        out: NewAggregation::default(),
        masters: dimensions::Masters::default(),
        report: report.clone(),
        joined: Vec::new(),
    };
    making.out.own.attributes = attributes::globals(scanned, rules, convention, &mut making.report);
    join::join(scanned, &mut making)?;
    scalars::add(scanned, convention, &mut making.out, &mut making.report);
    scalars::add_coordinates(scanned, &mut making.out)?;
    let Making { out, mut report, joined, .. } = making;
    let mut told = BTreeSet::new();
    report.notes.retain(|note| told.insert(note.clone()));
    let mut made = Made { bytes: out.to_bytes(convention)?.into(), convention, report: Report::default() };
    if rules.verify {
        check::read_back(&made, &out, &joined, directory, rules, &mut report)?;
    }
    made.report = report;
    Ok(made)
}

/// Makes coordinates with equal values share memory, so that comparing them is cheap.
fn share_coordinates(scanned: &mut [Scanned]) {
    let axes =
        scanned.iter_mut().flat_map(|s| &mut s.arrays).flat_map(|a| a.axes.iter_mut().chain(&mut a.scalars));
    let mut all: Vec<&mut Arc<scan::Coordinate>> = axes.filter_map(|axis| axis.coordinate.as_mut()).collect();
    let first = |c: &scan::Coordinate| c.values.first().copied().unwrap_or(0.0).to_bits();
    all.sort_by(|a, b| (&a.name, first(a)).cmp(&(&b.name, first(b))));
    for near in all.chunk_by_mut(|a, b| a.name == b.name && first(a) == first(b)) {
        let mut known: Vec<Arc<scan::Coordinate>> = Vec::new();
        for c in near {
            match known.iter().find(|other| Arc::ptr_eq(other, c) || ***other == ***c) {
                Some(other) => **c = other.clone(),
                None => known.push(c.clone()),
            }
        }
    }
}

/// Returns the name of a file as a URL, if it is one.
fn url_of(file: &Path) -> Option<&str> {
    file.to_str().filter(|name| is_url(name))
}

/// Opens a file on this machine, or the object of a URL.
fn open(file: &Path, options: &Options) -> Result<Dataset> {
    let (Some(url), Some(opener)) = (url_of(file), &options.opener) else {
        return crate::file::open(file, options);
    };
    let source = opener.open_fragment(url)?;
    let source = source.ok_or_else(|| Error::fragment(url, "this program opens no such URL"))?;
    let dataset = Dataset::from_source(source, &options.open)?;
    if crate::file::is_aggregation(&dataset) {
        return crate::file::wrap(dataset, url, None, options);
    }
    Ok(dataset)
}

/// The directory that names of fragments are relative to.
fn home(output: &Path) -> Result<PathBuf> {
    let parent = output.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    parent.canonicalize().map_err(|e| Error::io(parent, e))
}

/// The name of a file in an aggregation in `directory`.
fn uri(file: &Path, directory: &Path, absolute: bool) -> Result<String> {
    if let Some(url) = url_of(file) {
        return Ok(url.to_owned());
    }
    let path = std::path::absolute(file).map_err(|e| Error::io(file, e))?;
    // A symbolic link in the name itself is kept: only its directory is resolved.
    let (parent, name) = (path.parent().unwrap_or(Path::new("/")), path.file_name().unwrap_or_default());
    let path = parent.canonicalize().map_err(|e| Error::io(file, e))?.join(name);
    let text = |path: &Path| {
        let text = path
            .to_str()
            .ok_or_else(|| Error::refused(format!("the name `{}` is not valid UTF-8", path.display())));
        text.map(to_uri)
    };
    if absolute {
        return Ok(format!("file://{}", text(&path)?));
    }
    if let Ok(inside) = path.strip_prefix(directory) {
        return text(inside);
    }
    let common = path.components().zip(directory.components()).take_while(|(a, b)| a == b).count();
    let ups = directory.components().count() - common;
    let mut out: PathBuf = std::iter::repeat_n(Component::ParentDir, ups).collect();
    out.extend(path.components().skip(common));
    text(&out)
}
