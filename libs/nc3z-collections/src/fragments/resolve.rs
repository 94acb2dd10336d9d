//! Resolves the name of a fragment to a path. Relative names are relative to the aggregation's own directory.
//! They are taken literally first, and percent-decoded if there is no such file. Files outside that directory
//! are refused unless they are allowed.

use super::Refused;
use crate::error::Error;
use nc3z_reader::platform::path_of;
use nc3z_writer::Advice;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Bytes that a URI cannot contain, or that readers do not accept. Blanks are not encoded: readers do not
/// decode them.
const ENCODED: &AsciiSet = &CONTROLS.add(b'%').add(b'#').add(b'?');

/// A relative path as a URI reference.
pub(crate) fn to_uri(path: &str) -> String {
    utf8_percent_encode(path, ENCODED).to_string()
}

/// The names that a relative URI of a fragment may stand for, without and with the ending of archives.
pub fn names_of(uri: &str) -> Vec<String> {
    let decoded = percent_decode_str(uri).decode_utf8_lossy();
    [uri, &*decoded].iter().flat_map(|name| [(*name).to_owned(), format!("{name}.nc3z")]).collect()
}

pub(super) fn resolve(uri: &str, base: Option<&Path>, outside: bool) -> Result<PathBuf, Refused> {
    let wrong = |what: &str| Refused::Other(Error::fragment(uri, what));
    let outside_of = |what: &str| Refused::Other(Error::fragment(uri, what).advised(Advice::TrustOutside));
    if uri.is_empty() || uri.contains('\0') {
        return Err(wrong("its name is empty or holds a zero byte"));
    }
    let literal: &str = match uri.split_once("://") {
        None => uri,
        Some(("file", rest)) => {
            let path = rest.strip_prefix("localhost").unwrap_or(rest);
            if !path.starts_with('/') {
                return Err(wrong("a file on another host cannot be opened"));
            }
            path
        }
        Some((scheme, _)) => return Err(wrong(&format!("this program opens no `{scheme}:` fragments"))),
    };
    let decoded: Vec<u8> = percent_decode_str(literal).collect();
    let mut names = vec![PathBuf::from(literal)];
    if decoded != literal.as_bytes() && !decoded.contains(&0) {
        names.push(path_of(&decoded));
    }
    // The file may have been archived after the aggregation was made.
    for n in 0..names.len() {
        let mut archived = names[n].clone().into_os_string();
        archived.push(".nc3z");
        names.push(archived.into());
    }
    let absolute = names[0].is_absolute();
    let base = match base {
        Some(base) => base,
        None if absolute && outside => Path::new("/"),
        None if absolute => {
            return Err(outside_of("it is outside the place of the aggregation"));
        }
        None => return Err(wrong("a relative name, and the aggregation has no directory")),
    };
    let mut found = None;
    for path in names.iter().map(|name| base.join(name)) {
        match path.canonicalize() {
            Ok(path) => {
                found = Some(path);
                break;
            }
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            // It may be there: in a directory without permission, or on a file system that does not answer.
            Err(e) => return Err(wrong(&format!("file `{}`: {e}", path.display()))),
        }
    }
    let Some(found) = found else {
        let place = base.join(&names[0]);
        return Err(Refused::Absent(Error::fragment(
            uri,
            format!("file `{}` does not exist", place.display()),
        )));
    };
    let home = if base.as_os_str().is_empty() { Path::new(".") } else { base };
    let home = home.canonicalize().map_err(|e| Refused::Other(Error::io(home, e)))?;
    if !outside && !found.starts_with(&home) {
        return Err(outside_of(&format!(
            "it is `{}`, outside the directory of the aggregation, `{}`",
            found.display(),
            home.display()
        )));
    }
    if !found.is_file() {
        return Err(wrong("it is not a file"));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(uri: &str, base: &Path, outside: bool) -> Result<PathBuf, String> {
        resolve(uri, Some(base), outside).map_err(|e| match e {
            Refused::Absent(e) => format!("absent: {e}"),
            Refused::Other(e) => e.to_string(),
        })
    }

    #[test]
    fn names_are_found_below_the_own_directory() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (base, sub) = (root.join("agg"), root.join("agg/sub dir"));
        std::fs::create_dir_all(&sub).unwrap();
        for file in ["agg/a.nc", "agg/sub dir/b c.nc", "agg/x%20y.nc", "agg/z.nc.nc3z", "out.nc"] {
            std::fs::write(root.join(file), b"").unwrap();
        }
        std::os::unix::fs::symlink(root.join("out.nc"), base.join("link.nc")).unwrap();
        let is = |uri: &str, path: &str| assert_eq!(found(uri, &base, false), Ok(root.join(path)), "{uri}");
        is("a.nc", "agg/a.nc");
        is("./a.nc", "agg/a.nc");
        is("../agg/a.nc", "agg/a.nc");
        is("sub dir/b c.nc", "agg/sub dir/b c.nc");
        is("sub%20dir/b%20c.nc", "agg/sub dir/b c.nc");
        is("x%20y.nc", "agg/x%20y.nc");
        is("z.nc", "agg/z.nc.nc3z");
        is(&format!("file://{}/agg/a.nc", root.display()), "agg/a.nc");
        is(&format!("file://localhost{}/agg/a.nc", root.display()), "agg/a.nc");
        is(&format!("{}/agg/a.nc", root.display()), "agg/a.nc");
        for outside in
            ["../out.nc", "link.nc", "../../../../../../../../etc/passwd", "/etc/passwd", "%2e%2e/out.nc"]
        {
            let error = found(outside, &base, false).unwrap_err();
            assert!(error.contains("outside the directory"), "{outside}: {error}");
        }
        assert_eq!(found("../out.nc", &base, true), Ok(root.join("out.nc")));
        assert!(found("none.nc", &base, false).unwrap_err().starts_with("absent"));
        // An aggregation in a bundle, or in memory, has no directory.
        let passwd = |outside| resolve("/etc/passwd", None, outside).is_ok();
        assert_eq!((passwd(false), passwd(true)), (false, true));
        assert!(resolve("file:///etc/passwd", None, false).is_err() && resolve("a.nc", None, true).is_err());
        for wrong in ["", "s3://bucket/a.nc", "file://elsewhere/a.nc", "a\0b", "sub dir"] {
            assert!(found(wrong, &base, true).is_err(), "{wrong}");
        }
        assert_eq!(to_uri("a b#c%.nc"), "a b%23c%25.nc");
    }
}
