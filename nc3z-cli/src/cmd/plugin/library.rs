//! Finds the plug-in's library.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// The library's file name.
pub(super) const NAME: &str = if cfg!(target_os = "macos") { "libnc3z_udf.dylib" } else { "libnc3z_udf.so" };

/// The variable that names the library.
const VARIABLE: &str = "NC3Z_UDF_LIBRARY";

/// Returns the library: the named one, that of the environment, or the first of the usual places; an absolute
/// path.
pub(super) fn find(named: Option<&Path>) -> Result<PathBuf> {
    let from_env = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = named.map(Path::to_owned).or(from_env) {
        let shown = super::super::shown(&path);
        if !path.is_file() {
            bail!("there is no library `{shown}`");
        }
        return std::path::absolute(&path).with_context(|| format!("`{shown}`"));
    }
    let candidates = candidates();
    if let Some(found) = candidates.iter().find(|path| path.is_file()) {
        return Ok(found.clone());
    }
    bail!("{NAME} was not found: {}; name it with --library or {VARIABLE}", places())
}

/// Returns the usual places: the program's directory, and the library directory of its prefix.
fn candidates() -> Vec<PathBuf> {
    let Ok(program) = std::env::current_exe().and_then(|path| path.canonicalize()) else { return Vec::new() };
    let Some(folder) = program.parent() else { return Vec::new() };
    let mut places = vec![folder.to_owned()];
    if let Some(prefix) = folder.parent() {
        places.extend([prefix.join("lib"), prefix.join("lib/nc3z")]);
    }
    places.into_iter().map(|place| place.join(NAME)).collect()
}

/// Returns the places that are searched, for messages.
pub(super) fn places() -> String {
    let candidates: Vec<String> = candidates().iter().map(|path| super::super::shown(path)).collect();
    format!("looked for {}", candidates.join(", "))
}
