//! Files as the command line names them: a path, and behind an `@` the version of an archive, by number or tag.

use crate::cmd::Input;
use anyhow::{Context, Result, bail};
use nc3z_reader::source::{self, SharedSource};
use nc3z_reader::{Archive, ClassicFile, Dataset, OpenOptions, VersionName};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file, and which version of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    /// The file.
    pub(crate) file: PathBuf,
    /// The version that was asked for.
    pub(crate) version: Option<VersionName>,
}

impl Named {
    /// Splits a name. A file that has the whole name is meant before a version of another one.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let whole = || Named { file: path.to_owned(), version: None };
        let bytes = path.as_os_str().as_bytes();
        let Some(at) = bytes.iter().rposition(|&b| b == b'@').filter(|&at| at > 0) else {
            return Ok(whole());
        };
        let (file, version) = (Path::new(OsStr::from_bytes(&bytes[..at])), &bytes[at + 1..]);
        if path.symlink_metadata().is_ok() || !file.is_file() {
            return Ok(whole());
        }
        let version = std::str::from_utf8(version).ok().context("a version is a number or a tag")?;
        Ok(Named { file: file.to_owned(), version: Some(version.parse()?) })
    }

    /// The bytes of the file.
    pub(crate) fn source(&self, mapped: bool) -> Result<SharedSource> {
        Ok(source::open(&self.file, mapped)?)
    }

    /// How to open it.
    fn options(&self, mapped: bool) -> OpenOptions {
        OpenOptions::of_command().with_mmap(mapped).with_version(self.version.clone())
    }

    /// Opens an archive.
    pub(crate) fn open_archive(&self, mapped: bool) -> Result<Archive> {
        Ok(Archive::from_source(self.source(mapped)?, &self.options(mapped))?)
    }

    /// Opens an archive or a classic file.
    pub(crate) fn open_input(&self, mapped: bool) -> Result<Input> {
        let source = self.source(mapped)?;
        let mut magic = [0; 8];
        let len = usize::try_from(source.len().min(8)).context("eight bytes at most")?;
        source.read_into(0, &mut magic[..len])?;
        if magic == nc3z_format::archive::constants::MAGIC {
            return Ok(Input::Archive(Archive::from_source(source, &self.options(mapped))?));
        }
        self.check_classic()?;
        Ok(Input::Classic(Box::new(ClassicFile::from_source(source, &nc3z_format::Limits::default())?)))
    }

    /// Opens a file of either kind for reading.
    pub(crate) fn open_dataset(&self, mapped: bool) -> Result<Dataset> {
        let dataset = Dataset::open(&self.file, &self.options(mapped))?;
        if dataset.archive().is_none() {
            self.check_classic()?;
        }
        Ok(dataset)
    }

    fn check_classic(&self) -> Result<()> {
        if self.version.is_some() {
            bail!("`{}` is a classic netCDF file: only archives have versions", self.file.display());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_stands_behind_the_last_at_sign() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in ["a", "b@2"] {
            std::fs::write(path(name), b"").unwrap();
        }
        let of = |name: &str| Named::of(&path(name)).unwrap();
        let named = |file: &str, version| Named { file: path(file), version };
        assert_eq!(of("a"), named("a", None));
        assert_eq!(of("a@3"), named("a", Some(VersionName::Number(3))));
        assert_eq!(of("a@good"), named("a", Some(VersionName::Tag("good".into()))));
        // A file of that name; a version of it; a file that is not there.
        assert_eq!(of("b@2"), named("b@2", None));
        assert_eq!(of("b@2@7"), named("b@2", Some(VersionName::Number(7))));
        assert_eq!(of("c@2"), named("c@2", None));
        assert!(Named::of(&path("a@")).is_err() && Named::of(&path("a@0")).is_err());
    }
}
