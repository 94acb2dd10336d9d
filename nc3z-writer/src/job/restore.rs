//! Restores an original to a file or a device.

use crate::atomic::{AtomicFile, Attributes};
use crate::error::Result;
use nc3z_reader::platform::takes_stream;
use nc3z_reader::{Archive, Monitor, RestoreReport};
use std::path::Path;

/// Writes the original of an archive to `output`, completely or not at all. An existing file is replaced if `force` is true. Mode and
/// times are those of `like`; without it, they are those of a new file. A device that accepts a stream, such as `/dev/null`, is written
/// to and not replaced.
///
/// # Errors
/// Damage of the archive; the output exists or cannot be written; the monitor cancelled.
pub fn restore_file(
    archive: &Archive,
    like: Option<Attributes>,
    output: &Path,
    force: bool,
    monitor: &dyn Monitor,
) -> Result<RestoreReport> {
    if takes_stream(output) {
        return Ok(archive.restore_to_device(output, monitor)?);
    }
    let mode = if like.is_some() { 0o600 } else { 0o666 };
    let target = AtomicFile::create_with_mode(output, force, mode)?;
    let restored = archive.restore_to_file(target.file(), output, monitor)?;
    if monitor.is_cancelled() {
        return Err(nc3z_reader::Error::interrupted().into());
    }
    target.commit_as(like.unwrap_or_default())?;
    Ok(restored)
}
