//! Patterns as names of inputs (`'data/*.nc'`, `'data/**/*.nc'`): if they are quoted, or match too many files
//! for the shell, the tool finds the files.

use super::{member, targets, url};
use crate::output::text;
use anyhow::{Context, Result, anyhow, bail};
use glob::{MatchOptions, Pattern};
use nc3z_writer::is_temporary_name;
use std::path::{Component, Path, PathBuf};
use walkdir::WalkDir;

/// As in a shell, a wildcard does not match `/`, nor the dot of a hidden file.
const OPTIONS: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

/// A file that was named, or that matches a pattern.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) path: PathBuf,
    /// The directory before the first wildcard, for files that were found by a pattern.
    pub(crate) root: Option<PathBuf>,
}

/// Replaces patterns by the matching files, in alphabetical order. A file with exactly this name takes
/// precedence.
pub(crate) fn expand(inputs: &[PathBuf]) -> Result<Vec<Named>> {
    let mut out = Vec::new();
    for input in inputs {
        let Some(pattern) = pattern(input) else {
            out.push(Named { path: input.clone(), root: None });
            continue;
        };
        let name = text::safe(pattern);
        let root = literal(input);
        let found =
            find(pattern, &root).with_context(|| format!("find the files of the pattern `{name}`"))?;
        if found.is_empty() {
            bail!("no file fits the pattern `{name}`");
        }
        out.extend(found.into_iter().map(|path| Named { path, root: Some(root.clone()) }));
    }
    Ok(out)
}

/// Returns the name as a pattern, if it is one and no file has this name.
fn pattern(input: &Path) -> Option<&str> {
    let name = input.to_str().filter(|name| has_wildcards(name))?;
    let is_name = input.symlink_metadata().is_ok() || url::of(input).is_some() || member::of(input).is_some();
    (!is_name).then_some(name)
}

fn has_wildcards(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// Returns the components before the first one with a wildcard.
fn literal(pattern: &Path) -> PathBuf {
    let is_plain = |c: &Component<'_>| c.as_os_str().to_str().is_some_and(|c| !has_wildcards(c));
    pattern.components().take_while(is_plain).collect()
}

fn find(pattern: &str, root: &Path) -> Result<Vec<PathBuf>> {
    let wrong = |e: glob::PatternError| anyhow!("it is wrong: {} at its character {}", e.msg, e.pos + 1);
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
        if is_wanted && path.is_file() && (!all || targets::is_netcdf(path)) {
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
            let found = expand(&[at(name)]).map_err(|e| format!("{e:#}"))?;
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
            [("*.cdf", "no file fits"), ("**/y*", "no file fits"), ("x[", "wrong"), ("**x", "wrong")]
        {
            assert!(found(pattern).unwrap_err().contains(words), "{pattern}");
        }
        for name in ["https://host/a*.nc", "s3://bucket/x?.nc"] {
            let name = PathBuf::from(name);
            assert_eq!(expand(std::slice::from_ref(&name)).unwrap(), [Named { path: name, root: None }]);
        }
    }
}
