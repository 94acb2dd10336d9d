//! Archives and classic files as C programs read them: variables by number, hyperslabs into untyped buffers, and the conversions
//! and checks of the netCDF library. The netCDF plug-in and the C library share this crate; both only add pointers to it.
//!
//! * [`File`]: an input, opened by any name that nc3z has ([`nc3z::Name`]). A forked child opens it again, with its own cache and threads.
//! * [`Read`]: a checked request for a hyperslab, as numbers of some type.
//! * [`convert`]: from big-endian bytes to native numbers by C's rules.

pub mod convert;
mod fault;
mod file;
mod handles;
mod names;
mod process;
mod read;
mod request;

pub use convert::Fit;
pub use fault::{Fault, is_not_found, is_wrong_kind, words};
pub use file::{File, Opened, verify};
pub use handles::Handles;
pub use names::{c_name, find_attribute, find_dimension, find_variable};
pub use process::{cache, enter_pool, set_up};
pub use read::Read;
pub use request::{Asked, check_block, check_mapped, check_strided};
