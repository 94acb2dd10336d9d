//! Names of archives in the view, and the check of names.

use nc3z_reader::platform::path_of;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

/// The suffix of an archive's name.
pub(crate) const SUFFIX: &[u8] = b".nc3z";
/// The directory of versions. It is in every directory, but never listed, so that a copy of the tree does not
/// contain every version.
pub(crate) const VERSIONS: &str = ".versions";

/// Returns the name of the original, if this is the name of an archive.
pub(crate) fn original_of(name: &OsStr) -> Option<OsString> {
    let bytes = name.as_encoded_bytes().strip_suffix(SUFFIX)?;
    (!bytes.is_empty()).then(|| path_of(bytes).into_os_string())
}

/// Returns the name of the archive of an original.
pub(crate) fn archive_of(name: &OsStr) -> OsString {
    path_of(&[name.as_encoded_bytes(), SUFFIX].concat()).into_os_string()
}

/// Returns the target of a link in the view: the original, if it refers to an archive.
pub(crate) fn link_target(target: PathBuf) -> PathBuf {
    let name = target.as_os_str().as_encoded_bytes();
    match name.strip_suffix(SUFFIX).filter(|rest| !rest.is_empty() && !rest.ends_with(b"/")) {
        Some(rest) => path_of(rest),
        None => target,
    }
}

/// Returns whether a name begins with a dot, as those of hidden files and of temporary files do.
pub(crate) fn is_dot_name(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Returns whether this is a single name, and neither `.` nor `..`.
pub(crate) fn is_name(name: &OsStr) -> bool {
    let mut parts = Path::new(name).components();
    let one = matches!(parts.next(), Some(Component::Normal(part)) if part == name);
    one && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_lose_their_suffix_and_nothing_else_does() {
        let of = |name: &str| original_of(name.as_ref());
        assert_eq!(of("x.nc.nc3z"), Some("x.nc".into()));
        assert_eq!(of(".nc3z"), None);
        assert_eq!(of("x.nc"), None);
        assert_eq!(archive_of("x.nc".as_ref()), "x.nc.nc3z");
    }

    #[test]
    fn links_to_archives_lead_to_originals() {
        assert_eq!(link_target("../a/x.nc.nc3z".into()), Path::new("../a/x.nc"));
        assert_eq!(link_target("a/.nc3z".into()), Path::new("a/.nc3z"));
        assert_eq!(link_target("b".into()), Path::new("b"));
    }

    #[test]
    fn paths_are_no_names() {
        for bad in ["", ".", "..", "a/b", "/", "a/"] {
            assert!(!is_name(bad.as_ref()), "{bad}");
        }
        assert!(is_name("a..b".as_ref()));
    }
}
