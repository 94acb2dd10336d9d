//! The plug-in of netCDF-C, a library of this project: where it is, and the file `.ncrc` that makes netCDF-C load it.

mod library;
mod ncrc;

pub use library::{LIBRARY_NAME, LIBRARY_VARIABLE, LibraryError, find_library, library_places};
pub use ncrc::{Ncrc, NcrcError, Override, place};
