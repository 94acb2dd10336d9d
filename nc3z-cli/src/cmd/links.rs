//! Symbolic links of a tree, made again in the tree that a command writes.

use super::{places, tree::Summary};
use crate::cmd::tree::{Kind, Other};
use crate::output::text;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// What became of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Made {
    /// It was made.
    New,
    /// The same link was there.
    Present,
    /// Its target has no name in the other tree: it is an absolute path.
    Absolute,
}

/// Makes the link `from` again at `to`. Where it leads to a file, `rename` gives its name and its target's name in the other tree.
///
/// # Errors
/// Another file has the name and `force` is not set; a name that `rename` refuses; the system refuses.
pub(crate) fn make(
    from: &Path,
    to: &Path,
    rename: &dyn Fn(&Path) -> Result<PathBuf>,
    force: bool,
) -> Result<Made> {
    let target = fs::read_link(from).with_context(|| format!("read the link `{}`", from.display()))?;
    if target.is_absolute() {
        return Ok(Made::Absolute);
    }
    let (to, target) = if from.is_dir() { (to.to_owned(), target) } else { (rename(to)?, rename(&target)?) };
    places::prepare(&to)?;
    if let Ok(meta) = to.symlink_metadata() {
        if fs::read_link(&to).is_ok_and(|there| there == target) {
            return Ok(Made::Present);
        }
        if !force || meta.is_dir() {
            bail!("`{}` exists; replace it with --force", to.display());
        }
        fs::remove_file(&to).with_context(|| format!("remove `{}`", to.display()))?;
    }
    symlink(&target, &to).with_context(|| format!("make the link `{}`", to.display()))?;
    Ok(Made::New)
}

/// Makes a link again and counts it.
///
/// # Errors
/// As [`make`].
pub(crate) fn make_counted(
    other: &Other,
    to: &Path,
    rename: &dyn Fn(&Path) -> Result<PathBuf>,
    force: bool,
    summary: &mut Summary,
) -> Result<()> {
    match make(&other.path, to, rename, force)? {
        Made::New => summary.link_made(),
        Made::Present => summary.link_present(),
        Made::Absolute => note!(
            "{}: a link to an absolute path; it is not made again",
            text::safe(&other.path.to_string_lossy())
        ),
    }
    Ok(())
}

/// What a link is, in words: where it leads to.
pub(crate) fn words(other: &Other) -> String {
    match (other.kind, fs::read_link(&other.path)) {
        (Kind::InsideLink, Ok(target)) => {
            format!("a link to `{}`, which is in the tree", text::safe(&target.to_string_lossy()))
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
