//! Reads objects on HTTP servers and in cloud stores, as byte sources for `nc3z-reader`.
//!
//! ```no_run
//! use nc3z_reader::{Dataset, OpenOptions};
//! let source = nc3z_remote::open("https://example.org/tas.nc.nc3z", &nc3z_remote::RemoteOptions::default())?;
//! let dataset = Dataset::from_source(source, &OpenOptions::default())?;
//! # Ok::<(), nc3z_reader::Error>(())
//! ```
//! `http`, `https`, `s3`, `gs` and `az` URLs are supported. Credentials come from the environment or
//! [`RemoteOptions`]. Opening takes two requests: one for the first bytes, which also returns length and tag,
//! and one for the last bytes. No request uses a suffix range, which some stores do not support. Each request
//! names the tag of the object that was opened (`If-Match`), and the tag of the answer is compared with it,
//! so that bytes of two objects never mix. Calls block. Requests run concurrently, as many as the server
//! answers without delay (16 at the start, at most 128), on two threads of this crate.

mod credentials;
mod forward;
mod headers;
mod names;
mod object;
mod options;
mod pace;
mod paged;
mod pages;
mod prefix;
mod ranges;
mod secrets;
mod shared;
mod store;

pub use credentials::check;
pub use forward::ForwardSource;
pub use headers::HEADERS_VARIABLE;
pub use nc3z_format::url::{is_url, shown};
pub use nc3z_reader::PerProcess;
pub use object::ObjectSource;
pub use options::RemoteOptions;
pub use paged::PagedSource;
pub use prefix::list;

use nc3z_reader::Result;
use nc3z_reader::source::SharedSource;
use std::sync::Arc;

/// Opens the object of a URL.
///
/// # Errors
/// As [`ObjectSource::open`].
pub fn open(url: &str, options: &RemoteOptions) -> Result<SharedSource> {
    Ok(Arc::new(ObjectSource::open(url, options)?))
}
