//! Detects mount points whose server has ended.

use std::path::Path;

/// `ENOTCONN`, which the kernel answers for everything below a mount whose server has died.
const NOT_CONNECTED: i32 = 107;
const NOT_CONNECTED_BSD: i32 = 57;

/// Returns true if there is a mount whose server has ended. The kernel may cache the root's attributes for a
/// while, but calls the server for each `statvfs`.
pub fn is_stale(mountpoint: &Path) -> bool {
    let expected = if cfg!(target_os = "linux") { NOT_CONNECTED } else { NOT_CONNECTED_BSD };
    rustix::fs::statvfs(mountpoint).is_err_and(|e| e.raw_os_error() == expected)
}
