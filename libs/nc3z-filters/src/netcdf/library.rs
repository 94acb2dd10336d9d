//! Finds the plug-in's library.

use std::io;
use std::path::{Path, PathBuf};

/// The library's file name.
pub const LIBRARY_NAME: &str =
    if cfg!(target_os = "macos") { "libnc3z_netcdf_plugin.dylib" } else { "libnc3z_netcdf_plugin.so" };

/// The variable that names the library.
pub const LIBRARY_VARIABLE: &str = "NC3Z_UDF_LIBRARY";

/// A reason why the library is not found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// The named file does not exist.
    #[error("library `{}` does not exist", .0.display())]
    Missing(PathBuf),
    /// The name cannot be made absolute.
    #[error("`{}`", path.display())]
    Path {
        /// The path of the named file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// None is in the usual places.
    #[error("{LIBRARY_NAME} was not found")]
    NotFound,
}

/// Returns the library: the named one, that of the environment, or the first of the usual places; an absolute
/// path.
///
/// # Errors
/// The file does not exist.
pub fn find_library(named: Option<&Path>) -> Result<PathBuf, LibraryError> {
    let from_env = std::env::var_os(LIBRARY_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = named.map(Path::to_owned).or(from_env) {
        if !path.is_file() {
            return Err(LibraryError::Missing(path));
        }
        return std::path::absolute(&path).map_err(|source| LibraryError::Path { path, source });
    }
    library_places().into_iter().find(|path| path.is_file()).ok_or(LibraryError::NotFound)
}

/// Returns the usual places of the library: the program's directory, and the library directory of its prefix.
pub fn library_places() -> Vec<PathBuf> {
    let Ok(program) = std::env::current_exe().and_then(|path| path.canonicalize()) else { return Vec::new() };
    let Some(folder) = program.parent() else { return Vec::new() };
    let mut places = vec![folder.to_owned()];
    if let Some(prefix) = folder.parent() {
        places.extend([prefix.join("lib"), prefix.join("lib/nc3z")]);
    }
    places.into_iter().map(|place| place.join(LIBRARY_NAME)).collect()
}
