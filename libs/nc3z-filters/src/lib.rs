//! Filter plug-ins of HDF5, and codec plug-ins of netCDF-C's NCZarr, as codecs of nc3z.
//!
//! ```text
//! directories ─▶ scan ─▶ interrogate each library ─▶ pair by HDF5's numbers ─▶ Plugins (a table) ─▶ Registry with them
//!                              └────────────── in a worker process, as every call of a filter ──────────────┘
//! ```
//! Plug-ins are machine code from third parties. This process loads none of it: a child process
//! ([`worker_main`]) opens and calls the libraries, over pipes, with limits on time and memory. Processes
//! that plug-ins start end with it. If a plug-in crashes, hangs or reports a wrong length, the call returns
//! an error that names it. Plug-ins are loaded only if the caller names directories; an archive cannot cause
//! it.
//!
//! [`netcdf`] finds this project's own plug-in of netCDF-C, and the file that makes netCDF-C load it.
//!
//! `unsafe` code is only in `ffi.rs`. On systems other than Unix no plug-in is called (`elsewhere.rs`).

mod built_in;
#[cfg(unix)]
mod child;
#[cfg(not(unix))]
#[path = "elsewhere.rs"]
mod child;
#[cfg(unix)]
mod ffi;
mod host;
mod kind;
#[cfg(unix)]
mod memory;
pub mod netcdf;
mod notations;
mod plugins;
mod translate;
#[cfg_attr(not(unix), expect(dead_code, reason = "no worker reads what is asked"))]
mod wire;
#[cfg(unix)]
mod worker;

pub use built_in::{BuiltIn, built_in};
#[cfg(not(unix))]
pub use child::worker_main;
pub use host::Launcher;
pub use notations::{BothNotations, NotationError, translate};
pub use plugins::{Codec, Exports, Filter, Library, Plugins, Row, Use};
#[cfg(unix)]
pub use worker::worker_main;
