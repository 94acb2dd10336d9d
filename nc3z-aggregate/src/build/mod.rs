//! Making an aggregation from metadata alone: which arrays of which files are one, where each lies, and what keeps them apart.
//!
//! Arrays are one where their identity, units, cell methods and axes agree; along each axis a file's coordinates tell its place. The
//! files need not be given in order, and may differ along several axes at once.

mod axis;
mod existing;
mod groups;
mod scalars;
mod scan;

pub use axis::Tolerance;

use crate::error::{Error, Result};
use crate::file::Convention;
use crate::fragments::{Options, to_uri};
use crate::write::{NewAggregation, text_attribute};
use nc3z_format::classic::Attribute;
use nc3z_reader::Dataset;
use rayon::prelude::*;
use scan::Scanned;
use std::collections::{BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How files are joined.
#[derive(Clone)]
pub struct Rules {
    /// The convention to write.
    pub convention: Convention,
    /// Dimensions along which files may be joined; without any, all. Where files have no coordinates along one of these, they are
    /// joined in the order given.
    pub along: Vec<String>,
    /// How near coordinates are equal.
    pub tolerance: Tolerance,
    /// Gaps between cells are refused, and not only noted.
    pub contiguous: bool,
    /// Fragments are named by absolute `file://` URIs, which readers understand that count relative ones from elsewhere.
    pub absolute: bool,
    /// Notes length and digests of each file, so that a changed one is found out.
    pub fingerprints: bool,
    /// A line for the attribute `history`.
    pub history: Option<String>,
    /// How files are opened.
    pub options: Options,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            convention: Convention::Cf,
            along: Vec::new(),
            tolerance: Tolerance::default(),
            contiguous: false,
            absolute: false,
            fingerprints: true,
            history: None,
            options: Options::default(),
        }
    }
}

/// What was found out, besides the aggregation itself.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Files that were read.
    pub files: usize,
    /// Files that the aggregation had already.
    pub known: usize,
    /// Each aggregated variable: name, dimensions, shape, matrix of fragments.
    pub arrays: Vec<Joined>,
    /// What people should know, and what was left out.
    pub notes: Vec<String>,
}

/// An aggregated variable of a [`Report`].
#[derive(Debug, Clone)]
pub struct Joined {
    /// Its name.
    pub name: String,
    /// Names of its dimensions.
    pub dimensions: Vec<String>,
    /// Their lengths.
    pub shape: Vec<u64>,
    /// Fragments along each.
    pub fragments: Vec<u64>,
}

/// Puts files together. `output` is where the aggregation will be: names of files count from its directory. `existing` is an
/// aggregation whose files are taken over without being read again. `seen` counts files while they are read.
///
/// # Errors
/// Files that do not make one: which, and why.
pub fn aggregate(
    files: &[PathBuf],
    output: &Path,
    existing: Option<&Dataset>,
    rules: &Rules,
    seen: &AtomicU64,
) -> Result<(NewAggregation, Report)> {
    let mut report = Report::default();
    let mut scanned = Vec::new();
    let mut known = BTreeSet::new();
    if let Some(existing) = existing {
        let old = existing::scan(existing, &output.to_string_lossy())?;
        known.extend(old.iter().flat_map(|s| s.arrays.iter().map(|a| a.uri.to_string())));
        scanned.extend(old);
        report.known = known.len();
    }
    let directory = home(output)?;
    let uris = files.iter().map(|file| uri(file, &directory, rules.absolute)).collect::<Result<Vec<_>>>()?;
    let new: Vec<(&PathBuf, String)> =
        files.iter().zip(uris).filter(|(_, uri)| !known.contains(uri)).collect();
    report.files = new.len();
    let found: Vec<Result<Scanned>> = new
        .par_iter()
        .map(|(file, uri)| {
            let dataset = crate::file::open(file, &rules.options).map_err(|e| match e {
                Error::Reader(e) => Error::refused(format!("`{}`: {}", file.display(), e.with_causes())),
                e => e,
            })?;
            seen.fetch_add(1, Ordering::Relaxed);
            scan::scan(&dataset, &file.to_string_lossy(), uri)
        })
        .collect();
    for found in found {
        let mut found = found?;
        if !rules.fingerprints {
            found.arrays.iter_mut().for_each(|a| a.fingerprint = "".into());
        }
        scanned.push(found);
    }
    if scanned.is_empty() {
        return Err(Error::refused("there is no file to aggregate"));
    }
    share_coordinates(&mut scanned);
    let mut out = NewAggregation::default();
    out.own.attributes = globals(&scanned, rules, &mut report);
    groups::join(&scanned, rules, &mut out, &mut report)?;
    scalars::add(&scanned, rules, &mut out, &mut report);
    Ok((out, report))
}

/// Coordinates with equal values are one in memory, and compared at once.
fn share_coordinates(scanned: &mut [Scanned]) {
    let mut known: HashMap<(String, u64), Vec<Arc<scan::Coordinate>>> = HashMap::new();
    let axes =
        scanned.iter_mut().flat_map(|s| &mut s.arrays).flat_map(|a| a.axes.iter_mut().chain(&mut a.scalars));
    for axis in axes {
        let Some(c) = &mut axis.coordinate else { continue };
        let first = c.values.first().copied().unwrap_or(0.0).to_bits();
        let others = known.entry((c.name.clone(), first)).or_default();
        match others.iter().find(|other| Arc::ptr_eq(other, c) || ***other == **c) {
            Some(other) => *c = other.clone(),
            None => others.push(c.clone()),
        }
    }
}

/// The directory that names of fragments count from.
fn home(output: &Path) -> Result<PathBuf> {
    let parent = output.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    parent.canonicalize().map_err(|e| Error::io(parent, e))
}

/// The name of a file in an aggregation in `directory`.
fn uri(file: &Path, directory: &Path, absolute: bool) -> Result<String> {
    let path = std::path::absolute(file).map_err(|e| Error::io(file, e))?;
    // Links in the name itself stay: only its directory is resolved.
    let (parent, name) = (path.parent().unwrap_or(Path::new("/")), path.file_name().unwrap_or_default());
    let path = parent.canonicalize().map_err(|e| Error::io(file, e))?.join(name);
    let text = |path: &Path| {
        let text =
            path.to_str().ok_or_else(|| Error::refused(format!("the name `{}` is no UTF-8", path.display())));
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

/// Global attributes that all files have alike.
fn globals(scanned: &[Scanned], rules: &Rules, report: &mut Report) -> Vec<Attribute> {
    let lists: Vec<&[Attribute]> = scanned.iter().map(|s| &s.attributes[..]).collect();
    let (mut out, dropped) = common(&lists);
    let own = ["Conventions", "history"];
    out.retain(|a| !own.iter().any(|name| name.as_bytes() == a.name));
    let dropped: Vec<String> = dropped.into_iter().filter(|n| !own.contains(&n.as_str())).collect();
    if !dropped.is_empty() {
        report.notes.push(format!(
            "global attributes that are not alike in all files are left out: {}",
            dropped.join(", ")
        ));
    }
    let convention = if rules.convention == Convention::Cf { "CF-1.13" } else { "CF-1.5 NCA" };
    out.insert(0, text_attribute("Conventions", convention));
    out.extend(rules.history.iter().map(|line| text_attribute("history", line)));
    out
}

/// Attributes that all lists have alike, in the order of the first; and the names of others.
fn common(lists: &[&[Attribute]]) -> (Vec<Attribute>, Vec<String>) {
    let (mut out, mut dropped) = (Vec::new(), BTreeSet::new());
    for a in lists.iter().flat_map(|list| list.iter()) {
        let name = a.name_lossy().into_owned();
        if dropped.contains(&name) || out.iter().any(|o: &Attribute| o.name == a.name) {
            continue;
        }
        if lists.iter().all(|list| list.iter().any(|b| b == a)) {
            out.push(a.clone());
        } else {
            dropped.insert(name);
        }
    }
    (out, dropped.into_iter().collect())
}
