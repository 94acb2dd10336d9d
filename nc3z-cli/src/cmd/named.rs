//! Files as named on the command line: a path, and after an `@` the version of an archive, by number or tag.

use crate::args::OpenArgs;
use crate::cmd::{Input, stdin, url};
use crate::output::words;
use anyhow::{Context, Result, anyhow, bail};
use nc3z_format::Limits;
use nc3z_reader::platform::path_of;
use nc3z_reader::source::{self, SharedSource};
use nc3z_reader::{Archive, ClassicFile, Dataset, OpenOptions, VersionName};
use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// A file, and the version of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    /// The file.
    pub(crate) file: PathBuf,
    /// The requested version.
    pub(crate) version: Option<VersionName>,
}

impl Named {
    /// Splits a name. A file with the whole name takes precedence over a version of another file.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let whole = || Named { file: path.to_owned(), version: None };
        if let Some(url) = url::of(path) {
            return Self::of_url(url);
        }
        let bytes = path.as_os_str().as_encoded_bytes();
        let Some(at) = bytes.iter().rposition(|&b| b == b'@').filter(|&at| at > 0) else {
            return Ok(whole());
        };
        let (file, version) = (path_of(&bytes[..at]), &bytes[at + 1..]);
        if path.symlink_metadata().is_ok() || !file.is_file() {
            return Ok(whole());
        }
        let version = std::str::from_utf8(version).ok().context("a version is a number or a tag")?;
        Ok(Named { file, version: Some(version.parse()?) })
    }

    /// Splits a URL. Hosts and objects may contain an `@`, too: a version must follow the name of an archive.
    fn of_url(url: &str) -> Result<Self> {
        let (object, version) = match url.rsplit_once(".nc3z@") {
            Some((name, version)) if !name.contains(['?', '#']) => (&url[..name.len() + 5], Some(version)),
            _ => (url, None),
        };
        Ok(Named { file: object.into(), version: version.map(str::parse).transpose()? })
    }

    /// Returns the bytes of the file.
    pub(crate) fn source(&self, args: &OpenArgs) -> Result<SharedSource> {
        if stdin::is(&self.file) {
            return stdin::source();
        }
        if let Some(member) = super::member::source(&self.file, args)? {
            return Ok(member);
        }
        if let Some(url) = url::of(&self.file) {
            return url::open_for(url, args);
        }
        Ok(source::open(&self.file, args.mmap)?)
    }

    /// Returns the system's metadata of the file, or of a member's bundle. None for a URL and for standard
    /// input.
    pub(crate) fn metadata(&self) -> Result<Option<Metadata>> {
        if url::of(&self.file).is_some() || stdin::is(&self.file) {
            return Ok(None);
        }
        let file = super::member::on_disk(&self.file);
        let read = std::fs::metadata(&file);
        Ok(Some(read.with_context(|| format!("open `{}`", file.display()))?))
    }

    /// Returns the options for opening it.
    fn options(&self, args: &OpenArgs) -> Result<OpenOptions> {
        if self.version.is_some() && args.names_state() {
            bail!("a version is named already; --generation and --older name another state");
        }
        Ok(args.options().with_version(self.version.clone()))
    }

    /// Opens an archive.
    pub(crate) fn open_archive(&self, args: &OpenArgs) -> Result<Archive> {
        Ok(Archive::from_source(self.source(args)?, &self.options(args)?)?)
    }

    /// Opens an archive or a classic file.
    pub(crate) fn open_input(&self, args: &OpenArgs) -> Result<Input> {
        let source = self.source(args)?;
        if self.is_archive(&source, args)? {
            return Ok(Input::Archive(Archive::from_source(source, &self.options(args)?)?));
        }
        let classic = ClassicFile::from_source(source, &Limits::default()).map_err(|e| no_archive(&e))?;
        Ok(Input::Classic(Box::new(classic)))
    }

    /// Opens the variables of either kind of file.
    pub(crate) fn open_dataset(&self, args: &OpenArgs) -> Result<Dataset> {
        let source = self.source(args)?;
        let archive = self.is_archive(&source, args)?;
        let dataset = Dataset::from_source(source, &self.options(args)?);
        let dataset = dataset.map_err(|e| if archive { e.into() } else { no_archive(&e) })?;
        super::aggregated::present(dataset, &self.file, args)
    }

    /// Returns whether the first bytes are those of an archive. If a state was requested that only archives
    /// have, another file is an error.
    fn is_archive(&self, source: &SharedSource, args: &OpenArgs) -> Result<bool> {
        let mut magic = [0; 8];
        let len = usize::try_from(source.len().min(8)).context("eight bytes at most")?;
        source.read_into(0, &mut magic[..len])?;
        let found = magic == nc3z_format::archive::constants::MAGIC;
        if !found && self.version.is_some() {
            bail!("`{}` is no archive: only archives have versions", url::shown(&self.file));
        }
        if !found && args.names_state() {
            bail!("it is no archive, and has one state only; --generation and --older are for archives");
        }
        Ok(found)
    }
}

/// Returns the error for a file that is not an archive: exit code 3 is only for corrupt archives.
fn no_archive(e: &nc3z_reader::Error) -> anyhow::Error {
    anyhow!("{}", words::of_reader(e))
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
        // A file with that name; a version of another; a file that does not exist.
        assert_eq!(of("b@2"), named("b@2", None));
        assert_eq!(of("b@2@7"), named("b@2", Some(VersionName::Number(7))));
        assert_eq!(of("c@2"), named("c@2", None));
        assert!(Named::of(&path("a@")).is_err() && Named::of(&path("a@0")).is_err());
    }

    #[test]
    fn a_url_names_a_version_behind_the_name_of_an_archive() {
        let of = |url: &str| Named::of(Path::new(url)).unwrap();
        let named = |file: &str, version| Named { file: file.into(), version };
        for url in ["https://me@host/a.nc", "s3://bucket/a@b.nc", "https://host/a.nc3z?sig=b.nc3z@3"] {
            assert_eq!(of(url), named(url, None));
        }
        let good = Some(VersionName::Tag("good".into()));
        assert_eq!(of("s3://bucket/a.nc.nc3z@good"), named("s3://bucket/a.nc.nc3z", good));
        assert!(Named::of(Path::new("https://host/a.nc3z@0")).is_err());
    }
}
