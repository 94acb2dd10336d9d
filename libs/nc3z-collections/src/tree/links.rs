//! Creates the symbolic links of a tree in the tree that a command writes.

use crate::tree::error::Context as _;
use crate::tree::refusal::Refusal;
use crate::tree::{FileKind, Other, Result};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The result for a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Made {
    /// It was made.
    New,
    /// The same link already existed.
    Present,
    /// Its path leads out of the tree, so that its target has no name in the other tree.
    LeadsOut,
}

/// Makes a link again at `to`. Where it leads to a file, `rename` gives its name and its target's name in the other tree. `prepare`
/// makes the directory of a name.
///
/// # Errors
/// Another file has the name and `force` is not set; `rename` refuses a name; an error of the system.
pub fn make(
    other: &Other,
    to: &Path,
    rename: &dyn Fn(&Path) -> Result<PathBuf>,
    force: bool,
    prepare: &dyn Fn(&Path) -> Result<()>,
) -> Result<Made> {
    let from = &other.path;
    let target = fs::read_link(from).with_context(|| format!("read the link `{}`", from.display()))?;
    if !stays_inside(&other.name, &target) {
        return Ok(Made::LeadsOut);
    }
    let (to, target) = if from.is_dir() { (to.to_owned(), target) } else { (rename(to)?, rename(&target)?) };
    prepare(&to)?;
    if let Ok(meta) = to.symlink_metadata() {
        if fs::read_link(&to).is_ok_and(|there| there == target) {
            return Ok(Made::Present);
        }
        if !force || meta.is_dir() {
            return Err(Refusal::Exists(to).into());
        }
        fs::remove_file(&to).with_context(|| format!("remove `{}`", to.display()))?;
    }
    symlink(&target, &to).with_context(|| format!("make the link `{}`", to.display()))?;
    Ok(Made::New)
}

/// Returns whether the target of the link `name` is reached without leaving the tree.
fn stays_inside(name: &Path, target: &Path) -> bool {
    let mut depth = name.components().count().saturating_sub(1);
    target.components().all(|part| match part {
        Component::Normal(_) => {
            depth += 1;
            true
        }
        Component::CurDir => true,
        Component::ParentDir => match depth.checked_sub(1) {
            Some(above) => {
                depth = above;
                true
            }
            None => false,
        },
        Component::RootDir | Component::Prefix(_) => false,
    })
}

/// Describes a link by its target.
pub fn words(other: &Other) -> String {
    match (other.kind, fs::read_link(&other.path)) {
        (FileKind::InsideLink, Ok(target)) => {
            format!("a link to `{}`, which is in the tree", nc3z_look::text::safe(&target.to_string_lossy()))
        }
        _ => other.kind.to_string(),
    }
}

#[cfg(unix)]
fn symlink(target: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
fn symlink(_: &Path, _: &Path) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_leave_the_tree_on_the_way_are_told_from_others() {
        let inside = |name: &str, target: &str| stays_inside(Path::new(name), Path::new(target));
        assert!(
            inside("a", "b")
                && inside("d/a", "../b")
                && inside("d/a", "./../d/../b")
                && inside("a", "d/../b")
        );
        assert!(!inside("a", "/b") && !inside("a", "../tree/b") && !inside("d/a", "../../tree/b"));
    }
}
