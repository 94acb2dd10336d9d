//! Members by name: `set.zip!/a.nc`.

use nc3z_reader::platform::path_of;
use std::path::{Path, PathBuf};

/// Splits a name at its first `!/` into bundle and member. No file is looked at.
pub fn split_name(path: &Path) -> Option<(PathBuf, String)> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let at = bytes.windows(2).position(|pair| pair == b"!/")?;
    Some((path_of(&bytes[..at]), String::from_utf8_lossy(&bytes[at + 2..]).into_owned()))
}

/// Splits the name of a member on disk into bundle and member. None if there is a file with the whole name, or no such bundle.
pub fn split_member(path: &Path) -> Option<(PathBuf, String)> {
    split_name(path).filter(|(bundle, _)| path.symlink_metadata().is_err() && bundle.is_file())
}
