//! An open file, and the part of it that belongs to one process.

use crate::process;
use nc3z::Name;
use nc3z::opener::{Kind, Opener, archive_of};
use nc3z_collections::{FragmentBase, Options};
use nc3z_reader::platform::{FileIdentity, identity};
use nc3z_reader::source::SharedSource;
use nc3z_reader::verify::{Examination, Report, examine};
use nc3z_reader::{Archive, Dataset, Error, OpenOptions, PerProcess, Result};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of bytes in messages.
const NAMELESS: &str = "input";

/// An open file. All methods may be called from any number of threads.
pub struct File {
    opened: PerProcess<Opened>,
    options: OpenOptions,
    /// The name by which it was opened. None for bytes.
    name: Option<Name>,
}

/// A file as one process has it open.
pub struct Opened {
    /// The file that was opened first: of a member, its bundle.
    outer: SharedSource,
    source: SharedSource,
    dataset: Dataset,
    /// The file on a disk that it is read from, by its name and as it was when it was opened, if there is one.
    on_disk: Option<(PathBuf, FileIdentity)>,
}

impl Opened {
    fn new(outer: SharedSource, name: Option<&Name>, options: &OpenOptions) -> Result<Self> {
        process::set_up();
        let opener = opener(&options.clone().with_cache(process::cache()));
        let nameless = Name::whole(NAMELESS);
        let (source, base) = match name {
            Some(name) => opener.located_in(&outer, name)?,
            None => (Arc::clone(&outer), FragmentBase::Memory),
        };
        let on_disk = name.and_then(|name| Some((name.file().to_owned(), found_at(name.file())?)));
        let name = name.unwrap_or(&nameless);
        let stored = opener.stored_from(Arc::clone(&source), name)?;
        let dataset = opener.present_at(stored, &base, &name.to_string())?;
        Ok(Opened { outer, source, dataset, on_disk })
    }

    /// Returns whether the file at `path` is the one that this is read from: of a member, its bundle.
    pub fn is_at(&self, path: &Path) -> bool {
        let (Some(found), Some((name, opened))) = (found_at(path), &self.on_disk) else { return false };
        // An edit may have put another file there since.
        found == *opened || found_at(name) == Some(found)
    }

    /// The bytes that it is read from.
    pub fn source(&self) -> &SharedSource {
        &self.source
    }

    /// The archive that is open, or that an open aggregation is stored in.
    pub fn archive(&self) -> Option<&Archive> {
        archive_of(&self.dataset)
    }
}

impl Deref for Opened {
    type Target = Dataset;

    fn deref(&self) -> &Dataset {
        &self.dataset
    }
}

impl File {
    /// Opens an input by its name: a path, a URL, a member of a bundle, each with or without a version. Files are read by position: a map
    /// of a file that another program cuts short would end the host's process.
    ///
    /// # Errors
    /// The system refuses; the file is damaged, or of another kind.
    pub fn open(name: &Path, options: &OpenOptions) -> Result<Self> {
        let name = Name::from_path(name)?;
        let opened = Opened::new(opener(options).outer(&name)?, Some(&name), options)?;
        Ok(File { opened: PerProcess::new(opened), options: options.clone(), name: Some(name) })
    }

    /// Opens a file from any source of bytes.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn from_source(source: SharedSource, options: &OpenOptions) -> Result<Self> {
        let opened = Opened::new(source, None, options)?;
        Ok(File { opened: PerProcess::new(opened), options: options.clone(), name: None })
    }

    /// The file for this process: a forked child opens it again, since threads of its parent may hold locks that are never released.
    ///
    /// # Errors
    /// Opening it again failed.
    pub fn get(&self) -> Result<Arc<Opened>> {
        self.opened.get(|parent| {
            let parent = parent.expect("both constructors put one there, and nothing takes it away");
            Opened::new(Arc::clone(&parent.outer), self.name.as_ref(), &self.options)
        })
    }
}

/// Checks an archive by its name.
///
/// # Errors
/// As [`File::open`].
pub fn verify(name: &Path, deep: bool) -> Result<Report> {
    let name = Name::from_path(name)?;
    // Reads a single file once: forged archives must not keep it busy for ever.
    let options = OpenOptions::of_command();
    let opener = opener(&options);
    let source = opener.source(&name)?;
    // A ZIP or a tar is not an archive, although blocks of archives in it would be found.
    if matches!(Kind::from_source(&source), Ok(Kind::Bundle)) {
        return Err(Error::other(opener.wrong_kind(Kind::Bundle, Kind::Archive, source, &name)));
    }
    let what = Examination { version: name.requested().cloned(), deep, all_versions: false };
    let found = examine(&source, &what, &options, &());
    Ok(found.map_err(|e| opener.explained(e, source, &name, Kind::Archive))?.report)
}

fn found_at(path: &Path) -> Option<FileIdentity> {
    std::fs::metadata(path).ok().map(|meta| identity(&meta))
}

fn opener(options: &OpenOptions) -> Opener {
    let options = options.clone().with_mmap(false);
    let mut fragments = Options::default();
    fragments.open = options.clone().with_version(None);
    Opener::new(options).with_fragments(fragments)
}
