//! Serves originals of nc3z archives by HTTP, to programs that do not know nc3z.
//!
//! ```text
//! View (names, versions, exact bytes) ─▶ Site: path ─▶ byte ranges | DAP2 | Zarr | JSON | page ─▶ HTTP/1.1
//! ```
//! [`serve`] answers until its caller stops it. Requests are answered on threads that may block. A reply is
//! made in pieces, each after the client has taken the previous one. Therefore a reply of any length needs
//! only the memory of a piece, and a slow client blocks no thread.
//!
//! Nothing is ever written, and no path and no symbolic link leads out of the directory that is served.

mod body;
mod dap;
mod failure;
mod file_bytes;
mod files;
mod listing;
mod log;
mod meta;
mod metrics;
mod options;
mod page;
mod patient;
mod pieces;
mod ranges;
mod reply;
mod request;
mod server;
mod site;
mod target;
mod zarr;

pub use log::Access;
pub use options::Options;
pub use server::serve;
