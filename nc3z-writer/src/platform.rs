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

/// True if another process changes the archive at `path` now. False where that is not known.
pub fn is_being_changed(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    #[cfg(unix)]
    {
        // A lock that others may have, too: who asks is not taken for a writer.
        use rustix::fs::{FlockOperation, flock};
        flock(&file, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        false
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

/// Returns the permissions of the owning group, if the file has an access control list: the group's bits in its mode are then those
/// that the list grants to anybody.
#[cfg(target_os = "linux")]
pub(crate) fn group_of_acl(file: &File) -> Option<u32> {
    group_in(|list| rustix::fs::fgetxattr(file, ACL, list))
}

/// As [`group_of_acl`], by a name. Links are followed.
#[cfg(target_os = "linux")]
pub(crate) fn group_of_acl_at(path: &Path) -> Option<u32> {
    group_in(|list| rustix::fs::getxattr(path, ACL, list))
}

#[cfg(target_os = "linux")]
const ACL: &str = "system.posix_acl_access";

#[cfg(target_os = "linux")]
fn group_in(read: impl FnOnce(&mut [u8]) -> rustix::io::Result<usize>) -> Option<u32> {
    // Version 2 in four bytes, then entries: tag and permissions of two bytes each, and a number of four.
    const LEN: usize = 64 << 10;
    const GROUP: [u8; 2] = 4_u16.to_le_bytes();
    let mut list = vec![0; LEN];
    let len = match read(&mut list) {
        Ok(len) => len,
        // A list that is too long to look at grants nothing.
        Err(rustix::io::Errno::RANGE) => return Some(0),
        Err(_) => return None,
    };
    let entries = list[..len].get(4..)?.as_chunks::<8>().0;
    entries.iter().find(|entry| entry[..2] == GROUP).map(|entry| u32::from(entry[2]) & 7)
}

/// Other systems have other lists.
#[cfg(not(target_os = "linux"))]
pub(crate) fn group_of_acl(_: &File) -> Option<u32> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn group_of_acl_at(_: &Path) -> Option<u32> {
    None
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
