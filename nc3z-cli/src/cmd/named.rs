//! Files as named on the command line: a path, a URL, a member of a bundle or `-`; and after an `@` the version of an archive.

use super::{Input, aggregated, member, stdin, url};
use crate::args::OpenArgs;
use crate::output::message;
use anyhow::{Context, Result, anyhow, bail};
use nc3z_format::Limits;
use nc3z_reader::source::{self, SharedSource};
use nc3z_reader::{Archive, ClassicFile, Dataset, FileName, OpenOptions};
use std::fs::Metadata;
use std::path::Path;

/// Splits a name into file and version.
pub(crate) fn of(path: &Path) -> Result<FileName> {
    Ok(url::of(path).map_or_else(|| FileName::on_disk(path), FileName::of_url)?)
}

/// Opens files with the arguments of a command.
pub(crate) trait Opens {
    /// Returns the bytes of the file.
    fn source(&self, args: &OpenArgs) -> Result<SharedSource>;
    /// Returns the system's metadata of the file, or of a member's bundle. None for a URL and for standard
    /// input.
    fn metadata(&self) -> Result<Option<Metadata>>;
    /// Opens an archive.
    fn open_archive(&self, args: &OpenArgs) -> Result<Archive>;
    /// Opens an archive or a classic file.
    fn open_input(&self, args: &OpenArgs) -> Result<Input>;
    /// Opens the variables of either kind of file.
    fn open_dataset(&self, args: &OpenArgs) -> Result<Dataset>;
}

impl Opens for FileName {
    fn source(&self, args: &OpenArgs) -> Result<SharedSource> {
        if stdin::is(&self.file) {
            return stdin::source();
        }
        if let Some((bundle, name)) = member::of(&self.file) {
            return member::source(&bundle, &name, args);
        }
        match url::of(&self.file) {
            Some(url) => url::open_for(url, args),
            None => Ok(source::open(&self.file, args.mmap)?),
        }
    }

    fn metadata(&self) -> Result<Option<Metadata>> {
        if url::of(&self.file).is_some() || stdin::is(&self.file) {
            return Ok(None);
        }
        let file = member::on_disk(&self.file);
        Ok(Some(std::fs::metadata(&file).with_context(|| format!("open `{}`", file.display()))?))
    }

    fn open_archive(&self, args: &OpenArgs) -> Result<Archive> {
        Ok(Archive::from_source(self.source(args)?, &options(self, args)?)?)
    }

    fn open_input(&self, args: &OpenArgs) -> Result<Input> {
        let source = self.source(args)?;
        if is_archive(self, &source, args)? {
            return Ok(Input::Archive(Archive::from_source(source, &options(self, args)?)?));
        }
        let classic = ClassicFile::from_source(source, &Limits::default()).map_err(|e| no_archive(&e))?;
        Ok(Input::Classic(Box::new(classic)))
    }

    fn open_dataset(&self, args: &OpenArgs) -> Result<Dataset> {
        let source = self.source(args)?;
        let archive = is_archive(self, &source, args)?;
        let dataset = Dataset::from_source(source, &options(self, args)?);
        let dataset = dataset.map_err(|e| if archive { e.into() } else { no_archive(&e) })?;
        aggregated::present(dataset, &self.file, args)
    }
}

/// Returns the options for opening it.
fn options(named: &FileName, args: &OpenArgs) -> Result<OpenOptions> {
    if named.version.is_some() && args.older {
        refuse!("a version is named already; --older reads another one");
    }
    let options = args.options().with_version(named.version.clone());
    Ok(if args.as_it_is { options } else { crate::registry::with_read_repair(options, &named.file) })
}

/// Returns whether a source is an archive. If a state was requested that only archives have, another file is an error.
fn is_archive(named: &FileName, source: &SharedSource, args: &OpenArgs) -> Result<bool> {
    let found = Archive::is_one(&**source)?;
    if !found && named.version.is_some() {
        bail!("`{}` is not an archive: only archives have versions", url::shown(&named.file));
    }
    if !found && args.older {
        bail!("it is not an archive; only archives have versions, and --older is for them");
    }
    Ok(found)
}

/// Returns the error for a file that is not an archive: exit code 3 is only for corrupt archives.
fn no_archive(e: &nc3z_reader::Error) -> anyhow::Error {
    anyhow!("{}", message::of_reader(e))
}
