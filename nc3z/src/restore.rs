//! Restores the original file of an archive.

use crate::dataset::open_archive;
use crate::error::{At, Error, Result};
use crate::options::RestoreOptions;
use nc3z_writer::{Attributes, is_same_file, restore_file};
use std::path::Path;

/// The result of [`restore`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestoreReport {
    /// Bytes of the restored file.
    pub len: u64,
    /// SHA-256 of the restored file.
    pub sha256: [u8; 32],
    /// True if this is the SHA-256 that the archive records. False if the archive records none, or if fill values replace
    /// lost values ([`crate::OpenOptions::with_fill_lost`]).
    pub matches_record: bool,
}

/// Restores the original file of the archive `source` as `target`, byte by byte, and checks its SHA-256.
///
/// # Errors
/// `source` is not an archive, or it is damaged. `target` exists or cannot be written.
pub fn restore(source: impl AsRef<Path>, target: impl AsRef<Path>) -> Result<RestoreReport> {
    restore_with(source, target, &RestoreOptions::default())
}

/// Restores a file with options; see [`restore`].
///
/// # Errors
/// As [`restore`].
pub fn restore_with(
    source: impl AsRef<Path>,
    target: impl AsRef<Path>,
    options: &RestoreOptions,
) -> Result<RestoreReport> {
    let source = source.as_ref();
    write(source, target.as_ref(), options).at(source)
}

fn write(source: &Path, target: &Path, options: &RestoreOptions) -> Result<RestoreReport> {
    let monitor = options.monitor();
    let archive = open_archive(source, &options.open)?;
    let like = std::fs::metadata(source).map_err(|e| nc3z_writer::Error::io("open", source, e))?;
    if is_same_file(&like, target) {
        return Err(Error::invalid(format!("archive and target are the same file `{}`", target.display())));
    }
    let restored =
        restore_file(&archive, Some(Attributes::of_path(source, &like)), target, options.force, monitor)?;
    Ok(RestoreReport { len: restored.len, sha256: restored.sha256, matches_record: restored.matches_record })
}
