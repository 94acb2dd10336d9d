//! Patterns as names of inputs (`'data/*.nc'`, `'data/**/*.nc'`): if they are quoted, or match too many files
//! for the shell, the tool finds the files.

use crate::tree::refusal::Refusal;
use crate::tree::walk::is_netcdf;
use crate::tree::{ErrorKind, Result};
use glob::{MatchOptions, Pattern};
use nc3z_writer::is_temporary_name;
use std::path::{Component, Path, PathBuf};
use walkdir::WalkDir;

/// As in a shell, a wildcard does not match `/`, nor the dot of a hidden file.
const OPTIONS: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

/// A file that was named, or that matches a pattern.
#[derive(Debug, PartialEq, Eq)]
pub struct Named {
    /// The path of the file.
    pub path: PathBuf,
    /// The directory before the first wildcard, for files that were found by a pattern.
    pub root: Option<PathBuf>,
}

/// The reason why the files of a pattern were not found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// The pattern breaks a rule.
    #[error("it is wrong: {what} at its character {character}")]
    Wrong {
        /// The rule that the pattern breaks.
        what: &'static str,
        /// The character, from 1.
        character: usize,
    },
    /// A file or directory could not be examined.
    #[error(transparent)]
    Glob(#[from] glob::GlobError),
    /// A directory could not be read.
    #[error(transparent)]
    Walk(#[from] walkdir::Error),
}

/// Replaces patterns by the matching files, in alphabetical order. A file with exactly this name takes
/// precedence, and so does a name that `is_name` knows, such as a URL.
///
/// # Errors
/// A pattern is wrong, or has no file.
pub fn expand(inputs: &[PathBuf], is_name: &dyn Fn(&Path) -> bool) -> Result<Vec<Named>> {
    let mut out = Vec::new();
    for input in inputs {
        let Some(pattern) = pattern(input, is_name) else {
            out.push(Named { path: input.clone(), root: None });
            continue;
        };
        let name = nc3z_look::text::safe(pattern);
        let root = literal(input);
        let found =
            find(pattern, &root).map_err(|source| ErrorKind::Pattern { pattern: name.clone(), source })?;
        if found.is_empty() {
            return Err(Refusal::NoFile(name).into());
        }
        out.extend(found.into_iter().map(|path| Named { path, root: Some(root.clone()) }));
    }
    Ok(out)
}

/// Returns the name as a pattern, if it is one and no file has this name.
fn pattern<'a>(input: &'a Path, is_name: &dyn Fn(&Path) -> bool) -> Option<&'a str> {
    let name = input.to_str().filter(|name| has_wildcards(name))?;
    (input.symlink_metadata().is_err() && !is_name(input)).then_some(name)
}

fn has_wildcards(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// Returns the components before the first one with a wildcard.
fn literal(pattern: &Path) -> PathBuf {
    let is_plain = |c: &Component<'_>| c.as_os_str().to_str().is_some_and(|c| !has_wildcards(c));
    pattern.components().take_while(is_plain).collect()
}

fn find(pattern: &str, root: &Path) -> Result<Vec<PathBuf>, PatternError> {
    let wrong = |e: glob::PatternError| PatternError::Wrong { what: e.msg, character: e.pos + 1 };
    if !pattern.split('/').any(|part| part == "**") {
        let paths = glob::glob_with(pattern, OPTIONS).map_err(wrong)?;
        return Ok(paths.collect::<Result<_, _>>()?);
    }
    // Links to directories are not followed: they may form cycles. A pattern that ends in `**` matches
    // everything below, of which only netCDF files are used.
    let fits = Pattern::new(pattern).map_err(wrong)?;
    let all = pattern.ends_with("**");
    let start = if root.as_os_str().is_empty() { Path::new(".") } else { root };
    let mut found = Vec::new();
    for entry in WalkDir::new(start).follow_links(false).sort_by_file_name() {
        let entry = entry?;
        let path = if root.as_os_str().is_empty() {
            entry.path().strip_prefix(".").unwrap_or(entry.path())
        } else {
            entry.path()
        };
        let is_wanted = fits.matches_path_with(path, OPTIONS) && !is_temporary_name(entry.file_name());
        if is_wanted && path.is_file() && (!all || is_netcdf(path)) {
            found.push(path.to_owned());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn patterns_are_those_of_a_shell() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        for name in ["x1.nc", "x2.nc", "[odd].nc", "a/x3.nc", "a/b/x4.nc", ".hidden.nc", "a/readme.txt"] {
            fs::write(at(name), b"CDF\x01").unwrap();
        }
        fs::write(at("a/readme.txt"), b"words").unwrap();
        std::os::unix::fs::symlink(".", at("a/round")).unwrap();
        let found = |name: &str| {
            let found = expand(&[at(name)], &|_| false).map_err(|e| e.with_causes())?;
            let names = found.into_iter().map(|f| {
                let inside = f.path.strip_prefix(dir.path()).unwrap().to_str().unwrap().to_owned();
                (inside, f.root)
            });
            let (names, roots): (Vec<_>, Vec<_>) = names.unzip();
            Ok::<_, String>((names, roots[0].clone()))
        };
        let is = |pattern: &str, names: &[&str], root: &str| {
            let (found, from) = found(pattern).unwrap();
            assert_eq!(found, names, "{pattern}");
            assert_eq!(
                from.map(|from| dir.path().join(from)),
                Some(at(root).components().collect()),
                "{pattern}"
            );
        };
        is("x*.nc", &["x1.nc", "x2.nc"], "");
        is("x[!1].nc", &["x2.nc"], "");
        is("?/x?.nc", &["a/x3.nc"], "");
        is("**/x*.nc", &["a/b/x4.nc", "a/x3.nc", "x1.nc", "x2.nc"], "");
        is("a/**", &["a/b/x4.nc", "a/x3.nc"], "a");
        // Existing names are not patterns.
        assert_eq!(found("[odd].nc").unwrap(), (vec!["[odd].nc".to_owned()], None));
        assert_eq!(found("none.nc").unwrap().1, None);
        for (pattern, words) in
            [("*.cdf", "no file matches"), ("**/y*", "no file matches"), ("x[", "wrong"), ("**x", "wrong")]
        {
            assert!(found(pattern).unwrap_err().contains(words), "{pattern}");
        }
        let url = PathBuf::from("https://host/a*.nc");
        let is_url = |path: &Path| path.starts_with("https:");
        assert_eq!(expand(std::slice::from_ref(&url), &is_url).unwrap(), [Named { path: url, root: None }]);
    }
}
