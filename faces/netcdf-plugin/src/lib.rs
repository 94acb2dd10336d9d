//! Presents archives as a user-defined format of the netCDF C library: programs that use the library open
//! them like any file.
//!
//! netCDF-C (from 4.10.1) loads this library where `.ncrc` names it, calls `nc3z_udfN_init`, and gets a table of 77 functions. Older
//! libraries get the table by preloading (module `preload`). No symbol of libnetcdf is needed: Python packages bring their own copy
//! of it, whose symbols other libraries do not see.
//!
//! No function of the table panics. None uses a thread that is missing in a forked child: see
//! [`nc3z_c_common::File`].
//! With `NC3Z_LOG=1` in the environment, causes of failures are written to standard error.

mod attributes;
mod code;
mod file;
mod inquire;
mod preload;
mod read;
mod refuse;
mod table;

pub use table::NcDispatch;
