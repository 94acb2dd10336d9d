//! Names of inputs: a path, a URL or `-`, followed by the name of a member of a bundle and by a version, if any.

use crate::version::VersionName;
use nc3z_format::url;
use nc3z_reader::platform::path_of;
use nc3z_reader::{FileName, Result};
use std::fmt;
use std::path::{Path, PathBuf};

/// The separator of a bundle and a member in it.
const MEMBER: &str = "!/";

/// A name that was taken apart: `tas.nc`, `tas.nc.nc3z@2`, `https://host/tas.nc.nc3z`, `set.zip!/tas.nc`, `-`.
///
/// ```
/// let name = nc3z::Name::parse("s3://bucket/set.zip!/tas.nc.nc3z@2")?;
/// assert_eq!((name.file().to_str(), name.member()), (Some("s3://bucket/set.zip"), Some("tas.nc.nc3z")));
/// assert_eq!(name.version(), Some(nc3z::VersionName::Number(2)));
/// # Ok::<(), nc3z::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    file: PathBuf,
    member: Option<String>,
    version: Option<nc3z_reader::VersionName>,
}

impl Name {
    /// Takes a name apart. A file with the whole name takes precedence over a version or a member. At a URL, and of a member, a
    /// version follows the name of an archive (`.nc3z@`).
    ///
    /// # Errors
    /// The text after the `@` is not a version.
    pub fn parse(name: impl AsRef<Path>) -> crate::Result<Self> {
        let name = name.as_ref();
        Name::from_path(name).map_err(|e| crate::Error::from(e).at(Path::new(&shown(name))))
    }

    /// Takes a name apart, with the reader's error.
    ///
    /// # Errors
    /// As [`Name::parse`].
    #[doc(hidden)]
    pub fn from_path(name: &Path) -> Result<Self> {
        if let Some(url) = url_of(name) {
            // The name of the bundle may have a version of its own.
            if let Some((bundle, member)) = split(name) {
                let FileName { file: member, version } = FileName::of_url(&member)?;
                let member = member.to_string_lossy().into_owned();
                return Ok(Name { file: bundle, member: Some(member), version });
            }
            let FileName { file, version } = FileName::of_url(url)?;
            return Ok(Name { file, member: None, version });
        }
        if let Some((bundle, member)) = split_member(name) {
            let FileName { file: member, version } = FileName::of_url(&member)?;
            let member = member.to_string_lossy().into_owned();
            return Ok(Name { file: bundle, member: Some(member), version });
        }
        let FileName { file, version } = FileName::on_disk(name)?;
        Ok(Name { file, member: None, version })
    }

    /// The name of a whole file, whatever characters it has.
    pub fn whole(file: impl Into<PathBuf>) -> Self {
        Name { file: file.into(), member: None, version: None }
    }

    /// The file or the URL that is opened; for a member, its bundle.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The member of the bundle.
    pub fn member(&self) -> Option<&str> {
        self.member.as_deref()
    }

    /// The requested version of the archive.
    pub fn version(&self) -> Option<VersionName> {
        self.version.clone().map(VersionName::from_reader)
    }

    /// Returns the name of another version of the same file.
    #[must_use]
    pub fn with_version(self, version: impl Into<VersionName>) -> Self {
        self.with_requested(Some(version.into().into_reader()))
    }

    /// The version, as the reader's type.
    #[doc(hidden)]
    pub fn requested(&self) -> Option<&nc3z_reader::VersionName> {
        self.version.as_ref()
    }

    /// Returns the name with the reader's version, or without one.
    #[doc(hidden)]
    #[must_use]
    pub fn with_requested(mut self, version: Option<nc3z_reader::VersionName>) -> Self {
        self.version = version;
        self
    }

    /// Returns the name of a member of this bundle.
    #[must_use]
    pub fn with_member(&self, member: impl Into<String>) -> Self {
        Name { file: self.file.clone(), member: Some(member.into()), version: None }
    }

    /// The URL of the file that is opened, if it is one.
    pub fn url(&self) -> Option<&str> {
        url_of(&self.file)
    }

    /// True for `-`, standard input.
    pub fn is_standard_input(&self) -> bool {
        self.member.is_none() && self.file.as_os_str() == "-"
    }

    /// True for a file on this machine that is opened as a whole.
    pub fn is_on_disk(&self) -> bool {
        self.member.is_none() && self.url().is_none() && !self.is_standard_input()
    }

    /// Returns why a command that changes files cannot take this name: it is a URL, standard input, a member or a version. None for a file on
    /// this machine.
    #[doc(hidden)]
    pub fn elsewhere(&self) -> Option<Elsewhere> {
        match () {
            () if self.url().is_some() => Some(Elsewhere::Url),
            () if self.is_standard_input() => Some(Elsewhere::StandardInput),
            () if self.member.is_some() => Some(Elsewhere::Member),
            () if self.version.is_some() => Some(Elsewhere::Version),
            () => None,
        }
    }

    /// The name without the version.
    pub fn without_version(&self) -> PathBuf {
        let mut whole = self.file.clone().into_os_string();
        if let Some(member) = &self.member {
            whole.push(MEMBER);
            whole.push(member);
        }
        whole.into()
    }
}

/// The place of an input that is not a whole file on this machine.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elsewhere {
    /// It is a URL.
    Url,
    /// It is standard input.
    StandardInput,
    /// It is a member of a bundle.
    Member,
    /// It is a version of an archive.
    Version,
}

/// The name without the secrets of a URL.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.file))?;
        if let Some(member) = &self.member {
            write!(f, "{MEMBER}{member}")?;
        }
        match &self.version {
            Some(nc3z_reader::VersionName::Number(number)) => write!(f, "@{number}"),
            Some(nc3z_reader::VersionName::Tag(tag)) => write!(f, "@{tag}"),
            None => Ok(()),
        }
    }
}

/// Returns the URL, if a name is one.
pub(crate) fn url_of(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| url::is_url(text))
}

/// Returns a name without the secrets of a URL.
pub(crate) fn shown(path: &Path) -> String {
    url_of(path).map_or_else(|| path.to_string_lossy().into_owned(), url::shown)
}

/// Splits a name at its first `!/` into bundle and member. No file is looked at.
fn split(path: &Path) -> Option<(PathBuf, String)> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let at = bytes.windows(MEMBER.len()).position(|pair| pair == MEMBER.as_bytes())?;
    let member = String::from_utf8_lossy(&bytes[at + MEMBER.len()..]).into_owned();
    Some((path_of(&bytes[..at]), member))
}

/// Splits the name of a member into bundle and member; at a URL, every name with the separator. None if there is a file with the
/// whole name, or no such bundle.
#[doc(hidden)]
pub fn split_member(path: &Path) -> Option<(PathBuf, String)> {
    let is_url = url_of(path).is_some();
    let is_file = |bundle: &Path| {
        // The name of the bundle may have a version.
        bundle.is_file() || FileName::on_disk(bundle).is_ok_and(|name| name.file.is_file())
    };
    split(path).filter(|(bundle, _)| is_url || (path.symlink_metadata().is_err() && is_file(bundle)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nc3z_reader::VersionName;

    #[test]
    fn members_and_versions_are_split_from_files_on_disk() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in ["set.zip", "a.nc.nc3z", "b@2"] {
            std::fs::write(path(name), b"").unwrap();
        }
        let of = |name: &str| Name::from_path(&path(name)).unwrap();
        let number = |n| Some(VersionName::Number(n));
        let named = |file: &str, member: Option<&str>, version| Name {
            file: path(file),
            member: member.map(str::to_owned),
            version,
        };
        assert_eq!(of("a.nc.nc3z@3"), named("a.nc.nc3z", None, number(3)));
        assert_eq!(of("b@2"), named("b@2", None, None));
        assert_eq!(of("set.zip!/x/a.nc"), named("set.zip", Some("x/a.nc"), None));
        assert_eq!(of("set.zip!/a.nc.nc3z@3"), named("set.zip", Some("a.nc.nc3z"), number(3)));
        // There is no such bundle.
        assert_eq!(of("none.zip!/a.nc"), named("none.zip!/a.nc", None, None));
        assert_eq!(of("set.zip!/a.nc").without_version(), path("set.zip!/a.nc"));
        assert!(Name::from_path(Path::new("-")).unwrap().is_standard_input());
    }

    #[test]
    fn urls_are_split_without_a_request_and_shown_without_secrets() {
        let name = Name::from_path(Path::new("https://me:word@host/set.zip!/a.nc.nc3z@good")).unwrap();
        assert_eq!(name.member(), Some("a.nc.nc3z"));
        assert_eq!(name.version, Some(VersionName::Tag("good".into())));
        assert_eq!(name.to_string(), "https://host/set.zip!/a.nc.nc3z@good");
        assert_eq!(name.url(), Some("https://me:word@host/set.zip"));
    }
}
