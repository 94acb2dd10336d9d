//! The files that a bundle is made of: their names in it, and those whose data are on tape.

use crate::bundle::Bundled;
use crate::tree::offline::is_offline;
use crate::tree::patterns::Named;
use crate::tree::refusal::Refusal;
use crate::tree::walk::{self, Notice};
use crate::tree::{Error, Other, Result};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The files for a bundle.
#[derive(Default)]
pub struct Members {
    /// The files in the order in which they were named or listed, with their names in the bundle.
    pub files: Vec<Bundled>,
    /// Files of directories that are neither archives nor classic files.
    pub others: Vec<Other>,
    /// Files and directories that could not be read or named.
    pub failures: Vec<(PathBuf, Error)>,
    /// Files that the user should know of.
    pub notices: Vec<Notice>,
}

/// Finds the files of a bundle: those named, and archives and classic files in directories, without the bundle itself (`output`).
/// Offline files in directories are known by their names. A file whose name is not valid UTF-8 is a failure.
///
/// # Errors
/// An input cannot be listed.
pub fn members(inputs: Vec<Named>, output: &Path) -> Result<Members> {
    let output = output.canonicalize().ok();
    let mut all = Members::default();
    let named: HashSet<PathBuf> = inputs.iter().map(|input| input.path.clone()).collect();
    for Named { path: input, root } in inputs {
        let (found, own) = if input.is_dir() {
            let listed = walk::list(std::slice::from_ref(&input), true, &|path: &Path| is_member(path, &[]))?;
            all.failures.extend(listed.failures);
            all.notices.extend(listed.notices);
            let is_output = |other: &Other| output.is_some() && other.path.canonicalize().ok() == output;
            all.others.extend(listed.others.into_iter().filter(|other| !is_output(other)));
            (listed.files, input.as_path())
        } else {
            (vec![input.clone()], input.parent().unwrap_or(Path::new("")))
        };
        // A file found by a pattern keeps its directories after the first wildcard.
        let root = root.as_deref().unwrap_or(own);
        for path in found {
            if output.is_some() && path.canonicalize().ok() == output {
                continue;
            }
            let inside = path.strip_prefix(root).unwrap_or(&path);
            let inside = inside.strip_prefix(".").unwrap_or(inside);
            match inside.to_str() {
                Some(name) => all.files.push(Bundled { name: name.to_owned(), path }),
                None => all.failures.push((path.clone(), Refusal::MemberName(path).into())),
            }
        }
    }
    // Files that are named explicitly are not left out.
    all.others.retain(|other| !named.contains(&other.path));
    Ok(all)
}

/// Returns whether a file of a directory is an archive or a classic file. An offline file is not read: its name must end in one of
/// the usual ways, or in one of `more`.
pub fn is_member(path: &Path, more: &[&str]) -> bool {
    let has_ending = || path.extension().is_some_and(|e| more.iter().any(|known| e == *known));
    walk::is_netcdf(path) || is_offline(path) && has_ending()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_directories_and_the_bundle_is_none_of_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::create_dir(path("sub")).unwrap();
        for name in ["a.nc", "sub/b.nc"] {
            std::fs::write(path(name), b"CDF\x01\0\0\0\0").unwrap();
        }
        std::fs::write(path("readme.txt"), "text").unwrap();
        std::fs::write(path("more.txt"), "text").unwrap();
        std::fs::write(path("out.nc"), b"CDF\x01\0\0\0\0").unwrap();
        let named = |path: PathBuf| Named { path, root: None };
        let inputs = vec![named(dir.path().to_owned()), named(path("readme.txt"))];
        let found = members(inputs, &path("out.nc")).unwrap();
        let names: Vec<&str> = found.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["a.nc", "sub/b.nc", "readme.txt"]);
        assert!(found.failures.is_empty());
        assert_eq!(Other::words(&found.others).as_deref(), Some("1 passed over (1 other file)"));
    }

    #[cfg(unix)]
    #[test]
    fn a_long_file_without_blocks_is_offline() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hole.nc");
        std::fs::File::create(&path).unwrap().set_len(1 << 20).unwrap();
        assert!(is_offline(&path) && is_member(&path, &[]));
        std::fs::rename(&path, dir.path().join("hole.zip")).unwrap();
        let bundle = dir.path().join("hole.zip");
        assert!(!is_member(&bundle, &[]) && is_member(&bundle, &["zip"]));
        std::fs::write(&path, "here").unwrap();
        assert!(!is_offline(&path) && !is_member(&path, &[]));
    }
}
