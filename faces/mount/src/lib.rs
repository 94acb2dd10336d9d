//! Presents originals of nc3z archives as files, to programs that do not know nc3z.
//!
//! ```text
//! directory | archive | bundle ─▶ tree ─▶ View (names, inodes, versions, exact bytes) ─▶ FUSE
//! ```
//! [`view`] is the file tree independent of a protocol: it names files, numbers them, and reads any range of
//! an original. Implementations of protocols use only this interface. `fuse` serves it to the kernel.
//!
//! Nothing is ever written.

#[cfg(all(feature = "fuse", any(target_os = "linux", target_os = "freebsd")))]
pub mod fuse;
#[cfg(unix)]
mod system_log;
pub mod view;

#[cfg(unix)]
pub use system_log::SystemLog;
pub use view::{Attr, Event, NodeKind, View, ViewOptions};
