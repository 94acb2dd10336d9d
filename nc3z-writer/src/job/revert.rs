//! Adds a version that repeats an older one.

use super::commit::{CommitNote, CommitReport, commit_file};
use crate::atomic::AtomicFile;
use crate::error::Result;
use crate::options::WriterOptions;
use nc3z_reader::{Archive, Monitor};
use std::path::Path;

/// Adds a version to the archive at `path` that repeats `old`, the same archive opened at an older version. Without a message in `note`,
/// the message is "version N again".
///
/// # Errors
/// The old version is damaged; those of [`commit_file`].
pub fn revert_file(
    path: &Path,
    old: &Archive,
    mut note: CommitNote,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<CommitReport> {
    let version = old.version()?.number;
    note.message.get_or_insert_with(|| format!("version {version} again"));
    // An older version always belongs to the archive, even if it differs much from the newest.
    let options = options.clone().with_force(true);
    // A temporary file in the directory of the archive, deleted with its handle. A dry run does not touch the directory.
    let mut name = path.as_os_str().to_owned();
    name.push(".reverted");
    if options.dry_run {
        name = std::env::temp_dir().join(Path::new(&name).file_name().unwrap_or_default()).into();
    }
    let spool = AtomicFile::create(Path::new(&name), false)?;
    old.restore_to_file(spool.file(), spool.temporary_path(), monitor)?;
    commit_file(path, spool.temporary_path(), &note, &options, monitor)
}
