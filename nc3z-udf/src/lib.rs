//! Archives as a user-defined format of the netCDF C library: programs that use it open them as they open any file.
//!
//! netCDF-C (from 4.10.1) loads this library where `.ncrc` names it, calls `nc3z_udfN_init`, and gets a table of 77 functions. Older
//! libraries get the table by preloading (module `preload`). No symbol of libnetcdf is needed: Python packages bring their own copy
//! of it, whose symbols other libraries do not see.
//!
//! No function of the table panics, and none uses a thread that a forked child would lack: see [`nc3z_cmodel::File`].
//! `NC3Z_LOG=1` in the environment has causes of failures written to standard error.

mod attributes;
mod code;
mod file;
mod inquire;
mod preload;
mod read;
mod refuse;
mod table;

pub use table::NcDispatch;
