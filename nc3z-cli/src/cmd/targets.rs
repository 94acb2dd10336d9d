//! Which file becomes which: names as gzip and zstd make them, trees kept.

use crate::output::text;
use anyhow::{Result, bail};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// The ending of archives.
pub(crate) const SUFFIX: &str = ".nc3z";

/// One input and where its output goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) input: PathBuf,
    pub(crate) output: PathBuf,
}

/// What a command turns into what.
pub(crate) struct Naming<'a> {
    /// The output name for an input's file name; an error says why there is none.
    pub(crate) rename: &'a dyn Fn(&Path) -> Result<PathBuf>,
    /// Which files of a tree take part.
    pub(crate) wanted: &'a dyn Fn(&Path) -> bool,
}

/// Jobs, and what went wrong while looking for them (a directory that cannot be read).
pub(crate) struct Jobs {
    pub(crate) jobs: Vec<Job>,
    pub(crate) failures: Vec<(PathBuf, anyhow::Error)>,
}

/// Pairs inputs with outputs. `output` is a file for one plain input, a directory otherwise.
pub(crate) fn pair(
    inputs: &[PathBuf],
    output: Option<&Path>,
    recursive: bool,
    naming: &Naming<'_>,
) -> Result<Jobs> {
    let several = inputs.len() > 1 || inputs.iter().any(|i| i.is_dir());
    if several && output.is_some_and(|o| o.exists() && !o.is_dir()) {
        bail!(
            "several inputs need a directory as output; `{}` is a file",
            output.unwrap_or(Path::new("")).display()
        );
    }
    let mut jobs = Jobs { jobs: Vec::new(), failures: Vec::new() };
    for input in inputs {
        if input.is_dir() {
            if !recursive {
                bail!("`{}` is a directory; --recursive goes into it", input.display());
            }
            walk(input, output, naming, &mut jobs);
            continue;
        }
        let target = match output {
            Some(o) if several || o.is_dir() || o.as_os_str().as_bytes().ends_with(b"/") => {
                o.join(file_name(&(naming.rename)(input)?))
            }
            Some(o) => o.to_owned(),
            None => (naming.rename)(input)?,
        };
        jobs.jobs.push(Job { input: input.clone(), output: target });
    }
    refuse_collisions(&jobs.jobs)?;
    Ok(jobs)
}

/// Two inputs must not become one output: the second would replace the first.
fn refuse_collisions(jobs: &[Job]) -> Result<()> {
    let mut seen = HashMap::new();
    for job in jobs {
        if let Some(other) = seen.insert(&job.output, &job.input) {
            let (a, b, out) = (other.display(), job.input.display(), job.output.display());
            bail!("`{a}` and `{b}` would both become `{out}`; nothing was done");
        }
    }
    Ok(())
}

fn file_name(path: &Path) -> PathBuf {
    path.file_name().map(PathBuf::from).unwrap_or_default()
}

/// Files of a tree, sorted. Links are not followed: what lies in the tree is found where it is, what lies outside is none of its files.
fn walk(root: &Path, output: Option<&Path>, naming: &Naming<'_>, jobs: &mut Jobs) {
    let resolved = root.canonicalize();
    for entry in WalkDir::new(root).follow_links(false).sort_by_file_name() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(e) => {
                let path = e.path().unwrap_or(root).to_owned();
                jobs.failures.push((path, e.into()));
                continue;
            }
        };
        // The root itself may be a link: the user named it.
        if entry.depth() > 0
            && entry.path_is_symlink()
            && !is_taken(entry.path(), resolved.as_deref().ok(), naming)
        {
            continue;
        }
        if entry.path().is_dir() || !(naming.wanted)(entry.path()) {
            continue;
        }
        let inside = entry.path().strip_prefix(root).unwrap_or(entry.path());
        let base = output.map_or_else(|| root.join(inside), |o| o.join(inside));
        match (naming.rename)(&base) {
            Ok(output) => jobs.jobs.push(Job { input: entry.path().to_owned(), output }),
            Err(error) => jobs.failures.push((entry.path().to_owned(), error)),
        }
    }
}

/// Whether a link takes part in a tree: where it leads nowhere, so that this is reported; or to a file of the tree that would not take part by its
/// own name. A link that leads out of the tree is told of, and left alone.
fn is_taken(link: &Path, root: Option<&Path>, naming: &Naming<'_>) -> bool {
    let Ok(target) = link.canonicalize() else { return true };
    if root.is_some_and(|root| target.starts_with(root)) {
        return target.is_file() && !(naming.wanted)(&target);
    }
    if target.is_dir() || (naming.wanted)(link) {
        let link = text::safe(&link.to_string_lossy());
        eprintln!("nc3z: warning: {link}: a link that leads out of the tree; not followed");
    }
    false
}

/// Files that a command reads, and what went wrong while looking for them.
pub(crate) struct Listed {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) failures: Vec<(PathBuf, anyhow::Error)>,
}

/// The files named, and with `recursive` those of directories that take part.
pub(crate) fn list(inputs: &[PathBuf], recursive: bool, wanted: &dyn Fn(&Path) -> bool) -> Result<Listed> {
    let keep = |p: &Path| Ok(p.to_owned());
    let naming = Naming { rename: &keep, wanted };
    let mut jobs = Jobs { jobs: Vec::new(), failures: Vec::new() };
    for input in inputs {
        if !input.is_dir() {
            jobs.jobs.push(Job { input: input.clone(), output: PathBuf::new() });
        } else if recursive {
            walk(input, None, &naming, &mut jobs);
        } else {
            bail!("`{}` is a directory; --recursive goes into it", input.display());
        }
    }
    let files = jobs.jobs.into_iter().map(|job| job.input).collect();
    Ok(Listed { files, failures: jobs.failures })
}

/// The first eight bytes of a file; of a pipe, a socket or a device none: they would block or have no end.
pub(crate) fn first_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if fs::metadata(path)?.is_file() {
        File::open(path)?.take(8).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// In a tree, classic netCDF files are told by their first bytes; what cannot be read takes part, so that it is reported.
pub(crate) fn looks_classic(path: &Path) -> bool {
    first_bytes(path).map_or(true, |b| matches!(b[..], [b'C', b'D', b'F', 1 | 2 | 5, ..]))
}

/// `x.nc` becomes `x.nc.nc3z`.
pub(crate) fn archive_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(SUFFIX);
    name.into()
}

/// `x.nc.nc3z` becomes `x.nc`.
pub(crate) fn restored_name(path: &Path) -> Result<PathBuf> {
    let stem = path.as_os_str().as_bytes().strip_suffix(SUFFIX.as_bytes());
    match stem.filter(|p| !p.is_empty() && !p.ends_with(b"/")) {
        Some(name) => Ok(OsStr::from_bytes(name).into()),
        None => bail!("`{}` does not end in {SUFFIX}; name the output with -o", path.display()),
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
    fn several_inputs_go_into_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        let rename = |p: &Path| Ok(archive_name(p));
        let naming = Naming { rename: &rename, wanted: &|_| true };
        let inputs = ["x/a.nc".into(), "y/b.nc".into()];
        let jobs = pair(&inputs, Some(dir.path()), false, &naming).unwrap().jobs;
        assert_eq!(jobs[1].output, dir.path().join("b.nc.nc3z"));
    }
}
