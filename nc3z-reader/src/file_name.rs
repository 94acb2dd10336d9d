//! Names of files with versions: `tas.nc3z@3`, `s3://bucket/tas.nc3z@release`.

use crate::error::Result;
use crate::platform::path_of;
use crate::versions::VersionName;
use nc3z_format::Error as FormatError;
use std::path::{Path, PathBuf};

/// A file, and the version of it that a name requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileName {
    /// The file or its URL.
    pub file: PathBuf,
    /// The requested version; none means the newest.
    pub version: Option<VersionName>,
}

impl FileName {
    /// A file without a requested version.
    pub fn whole(file: impl Into<PathBuf>) -> Self {
        FileName { file: file.into(), version: None }
    }

    /// Splits the name of a file on disk at its last `@`. A file with the whole name takes precedence over a version of another file.
    ///
    /// # Errors
    /// The text after the `@` is not a version.
    pub fn on_disk(path: &Path) -> Result<Self> {
        let bytes = path.as_os_str().as_encoded_bytes();
        let Some(at) = bytes.iter().rposition(|&b| b == b'@').filter(|&at| at > 0) else {
            return Ok(FileName::whole(path));
        };
        let (file, version) = (path_of(&bytes[..at]), &bytes[at + 1..]);
        if path.symlink_metadata().is_ok() || !file.is_file() {
            return Ok(FileName::whole(path));
        }
        let version = std::str::from_utf8(version)
            .map_err(|_| FormatError::invalid("a version is a number or a tag"))?
            .parse()?;
        Ok(FileName { file, version: Some(version) })
    }

    /// Splits a URL. Hosts and objects may also contain an `@`, so a version must follow the name of an archive.
    ///
    /// # Errors
    /// The text after the `@` is not a version.
    pub fn of_url(url: &str) -> Result<Self> {
        let (object, version) = match url.rsplit_once(".nc3z@") {
            Some((name, version)) if !name.contains(['?', '#']) => (&url[..name.len() + 5], Some(version)),
            _ => (url, None),
        };
        Ok(FileName { file: object.into(), version: version.map(str::parse).transpose()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_behind_the_last_at_sign_of_a_name_without_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in ["a", "b@2"] {
            std::fs::write(path(name), b"").unwrap();
        }
        let of = |name: &str| FileName::on_disk(&path(name)).unwrap();
        let named = |file: &str, version| FileName { file: path(file), version };
        assert_eq!(of("a"), named("a", None));
        assert_eq!(of("a@3"), named("a", Some(VersionName::Number(3))));
        assert_eq!(of("a@good"), named("a", Some(VersionName::Tag("good".into()))));
        // A file with that name; a version of another; a file that does not exist.
        assert_eq!(of("b@2"), named("b@2", None));
        assert_eq!(of("b@2@7"), named("b@2", Some(VersionName::Number(7))));
        assert_eq!(of("c@2"), named("c@2", None));
        assert!(FileName::on_disk(&path("a@")).is_err() && FileName::on_disk(&path("a@0")).is_err());
    }

    #[test]
    fn a_url_names_a_version_behind_the_name_of_an_archive() {
        let of = |url: &str| FileName::of_url(url).unwrap();
        for url in ["https://me@host/a.nc", "s3://bucket/a@b.nc", "https://host/a.nc3z?sig=b.nc3z@3"] {
            assert_eq!(of(url), FileName::whole(url));
        }
        let good = Some(VersionName::Tag("good".into()));
        let expected = FileName { file: "s3://bucket/a.nc.nc3z".into(), version: good };
        assert_eq!(of("s3://bucket/a.nc.nc3z@good"), expected);
        assert!(FileName::of_url("https://host/a.nc3z@0").is_err());
    }
}
