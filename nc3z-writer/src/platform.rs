//! Operations on files that differ between systems: locks, modes, owners, sync of directories.
//!
//! On other systems than Unix these are not available. Nothing is locked, so two writers of one archive can
//! conflict. Temporary files of killed runs stay until they are removed by hand. Files have the system's
//! default mode and owner.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// Requests the lock of a file without waiting; false if another process has it. The system releases the lock
/// when the process ends.
///
/// # Errors
/// The system's error; `Unsupported` on systems without locks.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    #[cfg(unix)]
    match rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(e) => Err(e.into()),
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// True if an open file no longer has a name.
pub(crate) fn is_nameless(file: &File) -> io::Result<bool> {
    #[cfg(unix)]
    return Ok(std::os::unix::fs::MetadataExt::nlink(&file.metadata()?) == 0);
    #[cfg(not(unix))]
    {
        let _ = file;
        Ok(false)
    }
}

/// Sets the mode for temporary files, less the process's umask.
pub(crate) fn with_mode<'a, 'b, 'c>(
    builder: &'c mut tempfile::Builder<'a, 'b>,
    mode: u32,
) -> &'c mut tempfile::Builder<'a, 'b> {
    #[cfg(unix)]
    return builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    {
        let _ = mode;
        builder
    }
}

/// Returns the mode of a file, without special bits such as set-user-id.
#[cfg_attr(unix, expect(clippy::unnecessary_wraps, reason = "other systems have none"))]
pub(crate) fn mode_of(like: &Metadata) -> Option<u32> {
    #[cfg(unix)]
    return Some(std::os::unix::fs::PermissionsExt::mode(&like.permissions()) & 0o777);
    #[cfg(not(unix))]
    {
        let _ = like;
        None
    }
}

pub(crate) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    #[cfg(unix)]
    return file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    {
        let _ = (file, mode);
        Ok(())
    }
}

/// Copies the owner of another file, if the system allows it: root preserves the owner; other users become
/// the owner of the files they replace.
pub(crate) fn keep_owner(file: &File, like: &Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        if fchown(file, Some(like.uid()), Some(like.gid())).is_err() {
            // The owner cannot be changed, but perhaps the group can.
            let _ = fchown(file, None, Some(like.gid()));
        }
    }
    #[cfg(not(unix))]
    let _ = (file, like);
}

/// Makes sure that new names in a directory are on disk. Windows has no such call.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    return File::open(path)?.sync_all();
    #[cfg(not(unix))]
    {
        let _ = path;
        Ok(())
    }
}
