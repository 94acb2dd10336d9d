//! What of files the writer asks systems for in different words: locks, modes, owners, directories that are synced.
//!
//! Elsewhere than on Unix there are none of these: nothing is locked, so that two writers of one archive are not kept apart, temporary
//! files of killed runs stay until somebody removes them, and files have the mode and owner that the system gives them.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// Asks for the lock of a file, without waiting; false where another process has it. The system drops it with the process.
///
/// # Errors
/// Whatever the system says; `Unsupported` where there are no locks.
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

/// Whether a file that is open has no name any more.
pub(crate) fn is_nameless(file: &File) -> io::Result<bool> {
    #[cfg(unix)]
    return Ok(std::os::unix::fs::MetadataExt::nlink(&file.metadata()?) == 0);
    #[cfg(not(unix))]
    {
        let _ = file;
        Ok(false)
    }
}

/// Temporary files are made with this mode, less the process's umask.
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

/// The mode of another file, without set-user-id and the like.
pub(crate) fn copy_mode(file: &File, like: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(std::fs::Permissions::from_mode(like.permissions().mode() & 0o777))
    }
    #[cfg(not(unix))]
    {
        let _ = (file, like);
        Ok(())
    }
}

/// The owner of another file, as far as the system lets us: root keeps files their owners', others own what they replace.
pub(crate) fn keep_owner(file: &File, like: &Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        if fchown(file, Some(like.uid()), Some(like.gid())).is_err() {
            // Not ours to give away; the group may still be.
            let _ = fchown(file, None, Some(like.gid()));
        }
    }
    #[cfg(not(unix))]
    let _ = (file, like);
}

/// Names made in a directory are on disk afterwards. Windows has no such call.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    return File::open(path)?.sync_all();
    #[cfg(not(unix))]
    {
        let _ = path;
        Ok(())
    }
}
