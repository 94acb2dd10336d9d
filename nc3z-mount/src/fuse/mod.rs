//! A view as a FUSE file system, read-only, without libfuse.
//!
//! The page cache stays from one open to the next, since a number's bytes never change ([`crate::view`]); names are asked for again after a
//! second, so that commits and replaced archives are seen. An error of a read is for the pages that it meets: a request of several pages
//! that meets a damaged one fails, and the kernel then asks for each page alone.

mod filesystem;
mod mounted;
mod stale;
mod terminal;

pub use mounted::{MountOptions, Mounted, mount};
pub use stale::is_stale;
pub use terminal::leave_terminal;
