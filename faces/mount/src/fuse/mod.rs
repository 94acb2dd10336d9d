//! A view as a FUSE file system, read-only, without libfuse.
//!
//! The page cache is kept between opens, since the bytes of a number never change ([`crate::view`]). Names
//! are looked up again after a second, so that commits and replaced archives are visible. A read error
//! affects only the damaged pages: a request of several pages with a damaged one fails, and the kernel then
//! requests each page separately.

mod filesystem;
mod mounted;
mod overlap;
mod stale;
mod terminal;

pub use mounted::{MountOptions, Mounted, mount};
pub use stale::is_stale;
pub use terminal::leave_terminal;
