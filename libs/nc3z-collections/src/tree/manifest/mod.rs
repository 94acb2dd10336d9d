//! Manifests of trees: lists of files with their SHA-256, in the form of `sha256sum` or of a BagIt bag.
//! Writes, reads and updates them, and keeps the log of their checks.

pub mod bag;
pub mod changed;
pub mod compare;
pub mod entries;
pub mod fixity;
pub mod from_log;
pub mod output;
pub mod relist;
pub mod sha256sums;

use crate::tree::Result;
use crate::tree::error::Context as _;
use crate::tree::refusal::{ManifestFault, NotThere};
use nc3z_format::bytes::hex;
use nc3z_reader::platform::path_of;
use nc3z_writer::AtomicFile;
use std::collections::HashSet;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};
use walkdir::WalkDir;

/// The maximal length of a manifest in bytes, since it is read as a whole. It suffices for twenty million
/// files with names of a hundred bytes.
const MAX_LEN: u64 = 4 << 30;

/// One file of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The name relative to the manifest's directory.
    pub path: PathBuf,
    /// Its SHA-256.
    pub sha256: [u8; 32],
}

impl Entry {
    fn new(path: &[u8], sha256: [u8; 32]) -> Self {
        Entry { path: path_of(path), sha256 }
    }
}

/// Writes a file completely or not at all, and replaces an existing one.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let file = AtomicFile::create_with_mode(path, true, 0o666)?;
    file.file().write_all(bytes).with_context(|| format!("write `{}`", path.display()))?;
    Ok(file.commit(None)?)
}

/// Reads a manifest or a tag file.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let name = path.display();
    if path.parent().is_some_and(Path::is_dir) && !path.exists() && path.ends_with(sha256sums::NAME) {
        return Err(ManifestFault::None(path.to_owned()).into());
    }
    let meta = std::fs::metadata(path).with_context(|| format!("open `{name}`"))?;
    if !meta.is_file() || meta.len() > MAX_LEN {
        return Err(ManifestFault::NoFile { path: path.to_owned(), most: MAX_LEN }.into());
    }
    let bytes = std::fs::read(path).with_context(|| format!("read `{name}`"))?;
    if bytes.starts_with(&nc3z_format::archive::constants::MAGIC) {
        return Err(ManifestFault::Archive(path.to_owned()).into());
    }
    Ok(bytes)
}

/// Returns the file that a manifest names, which must be inside the directory: a manifest is not trusted, and
/// may contain any path.
pub fn inside(root: &Path, name: &Path) -> Result<PathBuf, NotThere> {
    let plain = name.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    if !plain {
        return Err(NotThere::LeadsOut);
    }
    let path = root.join(name);
    let found = path.canonicalize().map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => NotThere::Missing,
        _ => NotThere::System(e.to_string()),
    })?;
    if !root.canonicalize().is_ok_and(|root| found.starts_with(root)) {
        return Err(NotThere::LinkOut);
    }
    if found.is_file() { Ok(path) } else { Err(NotThere::NoFile) }
}

/// Lists the regular files below a directory, sorted, with names relative to it. Links are not followed.
fn files_below(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in WalkDir::new(root).follow_links(false).sort_by_file_name() {
        let entry = entry?;
        if entry.file_type().is_file() {
            files.push(entry.path().strip_prefix(root).unwrap_or(entry.path()).to_owned());
        }
    }
    Ok(files)
}

/// Lists archives below a directory that the manifest does not contain.
pub fn unlisted(root: &Path, listed: &HashSet<&Path, impl std::hash::BuildHasher>) -> Result<Vec<PathBuf>> {
    let mut files = files_below(root)?;
    files.retain(|f| f.extension().is_some_and(|e| e == "nc3z") && !listed.contains(f.as_path()));
    Ok(files)
}

fn push_line(out: &mut Vec<u8>, escaped: bool, sha256: &[u8; 32], name: &[u8]) {
    out.extend_from_slice(if escaped { b"\\" } else { b"" });
    out.extend_from_slice(hex(sha256).as_bytes());
    out.extend_from_slice(b"  ");
    out.extend_from_slice(name);
    out.push(b'\n');
}
