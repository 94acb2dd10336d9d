//! Archives a classic file.

use crate::error::{At, Result};
use crate::options::ArchiveOptions;
use std::path::Path;

/// The result of [`archive`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArchiveReport {
    /// Bytes of the classic file.
    pub original_len: u64,
    /// Bytes of the archive.
    pub stored_len: u64,
    /// Bytes of the archive that are parity.
    pub parity_len: u64,
    /// SHA-256 of the classic file.
    pub sha256: [u8; 32],
    /// True if the archive was read back and compared with the source.
    pub is_verified: bool,
    /// Irregularities of the classic file.
    pub warnings: Vec<String>,
}

/// Archives the classic netCDF file `source` as `target`, and checks that the archive restores it.
///
/// # Errors
/// `source` is not a classic netCDF file, or it changed during the work. `target` exists or cannot be written.
pub fn archive(source: impl AsRef<Path>, target: impl AsRef<Path>) -> Result<ArchiveReport> {
    archive_with(source, target, &ArchiveOptions::default())
}

/// Archives a file with options; see [`archive()`].
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let (source, target) = ("../testdata/classic/record_padding.nc", dir.path().join("a.nc3z"));
/// use nc3z::{ArchiveOptions, Preset};
/// let options = ArchiveOptions::default().with_preset(Preset::Max).with_parity(5.0)?;
/// let done = nc3z::archive_with(source, target, &options)?;
/// assert!(done.is_verified && done.parity_len > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`archive()`].
pub fn archive_with(
    source: impl AsRef<Path>,
    target: impl AsRef<Path>,
    options: &ArchiveOptions,
) -> Result<ArchiveReport> {
    let source = source.as_ref();
    let done =
        nc3z_writer::archive_file(source, target.as_ref(), &options.writer, options.monitor()).at(source)?;
    Ok(ArchiveReport {
        original_len: done.original_len,
        stored_len: done.stored_len,
        parity_len: done.parity_len,
        sha256: done.sha256,
        is_verified: done.proven,
        warnings: done.warnings,
    })
}
