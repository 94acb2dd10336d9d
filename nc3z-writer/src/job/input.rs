//! An archive that is read to be written anew, to a file of its own or in its own place.

use crate::atomic::{AtomicFile, is_same_file};
use crate::error::{Error, ErrorKind, Result};
use crate::generation::lock;
use crate::options::WriterOptions;
use crate::platform;
use nc3z_reader::source::FileSource;
use std::fs::{File, Metadata};
use std::path::Path;
use std::sync::Arc;

/// The archive as it was found, and where the new one goes.
pub(super) struct Input<'a> {
    path: &'a Path,
    output: Option<&'a Path>,
    /// What the file system says of it.
    pub(super) before: Metadata,
    /// Its bytes, by position: an archive that another process cuts short gives an error and no signal.
    pub(super) source: Arc<FileSource>,
}

impl<'a> Input<'a> {
    /// Opens the archive at `path`, whose new form goes to `output`, or in its place where there is none: then it is locked.
    ///
    /// # Errors
    /// It cannot be opened; the output is the same file; another process changes it.
    pub(super) fn open(path: &'a Path, output: Option<&'a Path>) -> Result<Self> {
        let read = |what, e| Error::from(nc3z_reader::Error::io(what, Some(path), e));
        let file = nc3z_reader::source::open_regular(path).map_err(|e| read("open", e))?;
        let before = file.metadata().map_err(|e| read("read the length of", e))?;
        if output.is_some_and(|o| is_same_file(&before, o)) {
            return Err(ErrorKind::SameFile(path.to_owned()).into());
        }
        if output.is_none() {
            lock(&file, path)?;
            // A directory in which files may be replaced does not make its files ours.
            File::options().write(true).open(path).map_err(|e| Error::io("open for writing", path, e))?;
        }
        let source = Arc::new(FileSource::from_file(file, path)?);
        Ok(Input { path, output, before, source })
    }

    /// The file that will be the new archive.
    ///
    /// # Errors
    /// It exists or cannot be made.
    pub(super) fn target(&self, options: &WriterOptions) -> Result<AtomicFile> {
        // Through links: it is the file that is replaced, not a link to it.
        let find = |e| Error::from(nc3z_reader::Error::io("find", Some(self.path), e));
        let resolved = self.path.canonicalize().map_err(find)?;
        AtomicFile::create(self.output.unwrap_or(&resolved), self.output.is_none() || options.force)
    }

    /// Gives the new archive its name, and in place the owner of the old one.
    ///
    /// # Errors
    /// In place, the name leads to another file now: what took its place is not ours to replace.
    pub(super) fn put(&self, target: AtomicFile) -> Result<()> {
        if self.output.is_none() {
            platform::keep_owner(target.file(), &self.before);
            if !is_same_file(&self.before, self.path) {
                let what = "another file took its name".to_owned();
                return Err(ErrorKind::SourceChanged { path: self.path.to_owned(), what }.into());
            }
        }
        target.commit(Some(&self.before))
    }
}
