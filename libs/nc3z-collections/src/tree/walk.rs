//! Assigns outputs to inputs: names as in gzip and zstd, trees with their structure.

use crate::bundle::Bundle;
use crate::tree::offline::{is_classic_name, is_netcdf_name, is_offline};
use crate::tree::refusal::Refusal;
use crate::tree::{Error, FileKind, Other, Result};
use nc3z_format::archive::constants::MAGIC;
use nc3z_reader::platform::path_of;
use nc3z_reader::source::special_name;
use nc3z_writer::is_temporary_name;
use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use walkdir::WalkDir;

/// The ending of archives.
pub const SUFFIX: &str = ".nc3z";
/// Suffixes of files, and not of directories to create.
const ENDINGS: [&str; 5] = ["nc3z", "nc", "cdf", "nc4", "netcdf"];

/// One of several parts of the files, by their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// The part, from 0.
    pub index: u64,
    /// The number of parts.
    pub count: u64,
}

/// A file of a tree whose content is not in the result, which is reported to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The path of the file.
    pub path: PathBuf,
    /// The kind of the file.
    pub what: Skipped,
}

/// The kinds of files that a [`Notice`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Skipped {
    /// A named pipe, a socket or a device, by its name.
    Special(&'static str),
    /// A link that leads out of the tree.
    LeadsOut,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Skipped::Special(what) => write!(f, "{what}, passed over"),
            Skipped::LeadsOut => f.write_str("a link that leads out of the tree; not followed"),
        }
    }
}

/// An input and its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The file that is read.
    pub input: PathBuf,
    /// The file that is written.
    pub output: PathBuf,
    /// The input's name in its tree, or as it was given.
    pub name: PathBuf,
}

/// The rule by which a command names its outputs.
pub struct Naming<'a> {
    /// Returns the output name for an input's file name; an error gives the reason why there is none.
    pub rename: &'a dyn Fn(&Path) -> Result<PathBuf>,
    /// Which files of a tree take part.
    pub wanted: &'a dyn Fn(&Path) -> bool,
}

/// Jobs, errors of finding them (a directory that cannot be read), and files that the command does not
/// process.
#[derive(Default)]
pub struct Found {
    /// The inputs with their outputs.
    pub jobs: Vec<Job>,
    /// Files and directories that could not be read or named.
    pub failures: Vec<(PathBuf, Error)>,
    /// Files of trees that the command has no use for.
    pub others: Vec<Other>,
    /// True if any directory was entered: the run then ends with a summary.
    pub is_tree: bool,
    /// Files that the user should know of.
    pub notices: Vec<Notice>,
}

/// Assigns outputs to inputs. `output` is a file for a single plain input, and a directory otherwise.
pub fn pair(
    inputs: &[PathBuf],
    output: Option<&Path>,
    recursive: bool,
    naming: &Naming<'_>,
) -> Result<Found> {
    let several = inputs.len() > 1 || inputs.iter().any(|i| i.is_dir());
    if let Some(file) = output.filter(|o| several && !is_directory_name(o)) {
        // Another run may have created the directory meanwhile.
        if file.exists() && !file.is_dir() {
            return Err(Refusal::OneFile(file.to_owned()).into());
        }
        if file.extension().is_some_and(|e| ENDINGS.iter().any(|known| e == *known)) {
            return Err(Refusal::OneName(file.to_owned()).into());
        }
    }
    let mut jobs = Found::default();
    for input in inputs {
        if input.is_dir() {
            if !recursive {
                return Err(Refusal::Directory(input.clone()).into());
            }
            walk(input, output, naming, &mut jobs);
            continue;
        }
        let target = match output {
            Some(o) if several || is_directory_name(o) => o.join(file_name(&(naming.rename)(input)?)),
            Some(o) => o.to_owned(),
            None => (naming.rename)(input)?,
        };
        jobs.jobs.push(Job { input: input.clone(), output: target, name: input.clone() });
    }
    refuse_collisions(&jobs.jobs)?;
    Ok(jobs)
}

/// Adds the files of a list to the jobs. In `output` they have the names that `place` returns, which must be relative.
pub fn pair_list(
    names: Vec<PathBuf>,
    output: Option<&Path>,
    naming: &Naming<'_>,
    place: &dyn Fn(&Path) -> PathBuf,
    jobs: &mut Found,
) -> Result<()> {
    for input in names {
        let name = place(&input);
        let target = match output {
            Some(output) if is_relative_inside(&name) => Ok(output.join(&name)),
            Some(_) => Err(Refusal::ListedName.into()),
            None => Ok(input.clone()),
        };
        match target.and_then(|target| (naming.rename)(&target)) {
            Ok(output) => jobs.jobs.push(Job { input, output, name }),
            Err(e) => jobs.failures.push((input, e)),
        }
    }
    refuse_collisions(&jobs.jobs)
}

fn is_relative_inside(path: &Path) -> bool {
    path.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir))
}

/// Keeps the jobs of one of `count` parts. A file is always in the same part, independent of other files.
pub fn keep_shard(jobs: &mut Vec<Job>, shard: Shard) {
    jobs.retain(|job| is_in_shard(&job.name, shard));
}

/// Keeps the skipped files of one of `count` parts.
pub fn keep_others_of_shard(others: &mut Vec<Other>, shard: Shard) {
    others.retain(|other| is_in_shard(&other.name, shard));
}

fn is_in_shard(name: &Path, shard: Shard) -> bool {
    fnv1a(name.as_os_str().as_encoded_bytes()) % shard.count == shard.index
}

/// FNV-1a with 64 bits. It must never change, so that runs of different builds divide the work in the same
/// way.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &b| (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// Returns true for a directory, and for a name that only a directory can have.
pub fn is_directory_name(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// Refuses two inputs with the same output: the second would replace the first.
fn refuse_collisions(jobs: &[Job]) -> Result<()> {
    let mut seen = HashMap::new();
    for job in jobs {
        if let Some(other) = seen.insert(&job.output, &job.input) {
            return Err(Refusal::Collision {
                first: (*other).clone(),
                second: job.input.clone(),
                output: job.output.clone(),
            }
            .into());
        }
    }
    Ok(())
}

fn file_name(path: &Path) -> PathBuf {
    path.file_name().map(PathBuf::from).unwrap_or_default()
}

/// Splits a list of names: one in each line, or, with `null`, each with a zero byte behind it. Empty names are skipped.
pub fn names_in(bytes: &[u8], null: bool) -> Vec<PathBuf> {
    let end = if null { 0 } else { b'\n' };
    bytes.split(|&b| b == end).filter(|name| !name.is_empty()).map(path_of).collect()
}

/// The files that [`visit`] finds in a tree.
pub enum Visited {
    /// A file that takes part, and its name in the tree.
    File(PathBuf, PathBuf),
    /// A file that the command has no use for.
    Other(Other),
    /// A file or directory that cannot be read.
    Failure(PathBuf, Error),
    /// A file that the user should know of; it is also visited as another one.
    Notice(Notice),
}

/// Adds the files of a tree to the jobs.
fn walk(root: &Path, output: Option<&Path>, naming: &Naming<'_>, jobs: &mut Found) {
    jobs.is_tree = true;
    visit(root, naming.wanted, &mut |visited| match visited {
        Visited::Other(other) => jobs.others.push(other),
        Visited::Failure(path, error) => jobs.failures.push((path, error)),
        Visited::Notice(notice) => jobs.notices.push(notice),
        Visited::File(input, name) => {
            let base = output.map_or_else(|| root.join(&name), |o| o.join(&name));
            match (naming.rename)(&base) {
                Ok(output) => jobs.jobs.push(Job { input, output, name }),
                Err(error) => jobs.failures.push((input, error)),
            }
        }
    });
}

/// Visits the files of a tree, sorted. `wanted` says which files take part. Links are not followed: a target inside the tree is found
/// by its own name, and a target outside does not belong to the tree.
pub fn visit(root: &Path, wanted: &dyn Fn(&Path) -> bool, with: &mut dyn FnMut(Visited)) {
    let resolved = root.canonicalize();
    for entry in WalkDir::new(root).follow_links(false).sort_by_file_name() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(e) => {
                let path = e.path().unwrap_or(root).to_owned();
                with(Visited::Failure(path, e.into()));
                continue;
            }
        };
        // The root itself may be a link, since the user named it.
        let inside = entry.path().strip_prefix(root).unwrap_or(entry.path());
        let other =
            |kind| Visited::Other(Other { path: entry.path().to_owned(), name: inside.to_owned(), kind });
        if entry.depth() > 0 && entry.path_is_symlink() {
            match link(entry.path(), resolved.as_deref().ok(), wanted, with) {
                Link::Taken => {}
                Link::Found => {
                    with(other(FileKind::InsideLink));
                    continue;
                }
                Link::Outside => {
                    with(other(FileKind::Link));
                    continue;
                }
            }
        }
        // Of a link, the target counts.
        let is_link = entry.path_is_symlink();
        if entry.file_type().is_dir() || is_link && entry.path().is_dir() {
            continue;
        }
        if is_temporary_name(entry.file_name()) {
            with(other(FileKind::Temporary));
            continue;
        }
        // Checked before anything opens it: opening a named pipe would wait for a writer.
        if let Some(what) = special_name(entry.file_type()) {
            with(Visited::Notice(Notice { path: entry.path().to_owned(), what: Skipped::Special(what) }));
            with(other(FileKind::Special(what)));
            continue;
        }
        if wanted(entry.path()) {
            with(Visited::File(entry.path().to_owned(), inside.to_owned()));
        } else {
            with(other(FileKind::from_path(entry.path())));
        }
    }
}

/// The target of a link in a tree.
enum Link {
    /// It does not exist, so that this is reported; or it is a file of the tree that would not be processed
    /// by its own name.
    Taken,
    /// It is found by its own name.
    Found,
    /// It is outside the tree: reported, and not processed.
    Outside,
}

fn link(
    link: &Path,
    root: Option<&Path>,
    wanted: &dyn Fn(&Path) -> bool,
    with: &mut dyn FnMut(Visited),
) -> Link {
    let Ok(target) = link.canonicalize() else { return Link::Taken };
    if root.is_some_and(|root| target.starts_with(root)) {
        return if target.is_file() && !wanted(&target) { Link::Taken } else { Link::Found };
    }
    if target.is_dir() || wanted(link) {
        with(Visited::Notice(Notice { path: link.to_owned(), what: Skipped::LeadsOut }));
    }
    Link::Outside
}

/// The files that a command reads, errors of finding them, and files of a tree that it does not process.
pub struct Listed {
    /// The files, in order.
    pub files: Vec<PathBuf>,
    /// Files and directories that could not be read or named.
    pub failures: Vec<(PathBuf, Error)>,
    /// Files of trees that the command has no use for.
    pub others: Vec<Other>,
    /// Files that the user should know of.
    pub notices: Vec<Notice>,
}

/// The files named, and with `recursive` those of directories that take part.
pub fn list(inputs: &[PathBuf], recursive: bool, wanted: &dyn Fn(&Path) -> bool) -> Result<Listed> {
    let keep = |p: &Path| Ok(p.to_owned());
    let naming = Naming { rename: &keep, wanted };
    let mut jobs = Found::default();
    for input in inputs {
        if !input.is_dir() {
            jobs.jobs.push(Job { input: input.clone(), output: PathBuf::new(), name: input.clone() });
        } else if recursive {
            walk(input, None, &naming, &mut jobs);
        } else {
            return Err(Refusal::Directory(input.clone()).into());
        }
    }
    let files = jobs.jobs.into_iter().map(|job| job.input).collect();
    Ok(Listed { files, failures: jobs.failures, others: jobs.others, notices: jobs.notices })
}

/// Returns whether a file is an archive or a classic file by its first bytes, or cannot be read, so that this
/// is reported. The name decides for an offline file, which is not read. A bundle is an archive, and stands for other files: it is neither.
pub fn is_netcdf(path: &Path) -> bool {
    if Bundle::is_name(&path.to_string_lossy()) {
        return false;
    }
    if is_offline(path) {
        return is_netcdf_name(path);
    }
    let is_archive = |bytes: &[u8]| bytes == MAGIC && !Bundle::is_file(path);
    first_bytes(path).map_or(true, |bytes| is_classic(&bytes) || is_archive(&bytes))
}

/// Returns whether a file has the name of an archive and is not a bundle.
pub fn is_archive_name(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == &SUFFIX[1..])
        && !Bundle::is_name(&path.to_string_lossy())
        && (is_offline(path) || !Bundle::is_file(path))
}

/// Returns the first eight bytes of a file. For a pipe, a socket or a device none: reading could block or
/// never end. None of an offline file either.
pub fn first_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if fs::metadata(path)?.is_file() && !is_offline(path) {
        File::open(path)?.take(8).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Returns whether a file of a tree begins like a classic netCDF file. True if it cannot be read, so that
/// this is reported. The name decides for an offline file, which is not read.
pub fn looks_classic(path: &Path) -> bool {
    if is_offline(path) {
        return is_classic_name(path);
    }
    first_bytes(path).map_or(true, |bytes| is_classic(&bytes))
}

/// Returns whether a file with these first bytes is a classic netCDF file.
fn is_classic(bytes: &[u8]) -> bool {
    matches!(bytes, [b'C', b'D', b'F', 1 | 2 | 5, ..])
}

/// `x.nc` becomes `x.nc.nc3z`.
pub fn archive_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(SUFFIX);
    name.into()
}

/// `x.nc.nc3z` becomes `x.nc`.
pub fn restored_name(path: &Path) -> Result<PathBuf> {
    let stem = path.as_os_str().as_encoded_bytes().strip_suffix(SUFFIX.as_bytes());
    match stem.filter(|p| !p.is_empty() && !p.ends_with(b"/")) {
        Some(name) => Ok(path_of(name)),
        None => Err(Refusal::Suffix(path.to_owned()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_there_and_back() {
        assert_eq!(archive_name(Path::new("a/x.nc")), Path::new("a/x.nc.nc3z"));
        assert_eq!(restored_name(Path::new("a/x.nc.nc3z")).unwrap(), Path::new("a/x.nc"));
        assert!(restored_name(Path::new("a/.nc3z")).is_err());
        assert!(restored_name(Path::new("x.nc")).is_err());
    }

    #[test]
    fn every_file_is_in_one_shard() {
        let job =
            |n: u32| Job { input: PathBuf::new(), output: PathBuf::new(), name: format!("a/{n}.nc").into() };
        let mut seen = Vec::new();
        for index in 0..3 {
            let mut jobs: Vec<Job> = (0..300).map(job).collect();
            keep_shard(&mut jobs, Shard { index, count: 3 });
            assert!(jobs.len() > 60, "{}", jobs.len());
            seen.extend(jobs.into_iter().map(|j| j.name));
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 300);
        // Published values of the hash.
        assert_eq!((fnv1a(b""), fnv1a(b"a")), (0xcbf2_9ce4_8422_2325, 0xaf63_dc4c_8601_ec8c));
    }

    #[test]
    fn several_inputs_go_into_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        let rename = |p: &Path| Ok(archive_name(p));
        let naming = Naming { rename: &rename, wanted: &|_| true };
        let inputs = ["x/a.nc".into(), "y/b.nc".into()];
        let jobs = pair(&inputs, Some(dir.path()), false, &naming).unwrap().jobs;
        assert_eq!(jobs[1].output, dir.path().join("b.nc.nc3z"));
    }
}
