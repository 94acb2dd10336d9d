//! Opens an archive that is written anew, to another file or in place.

use crate::atomic::{AtomicFile, Attributes, is_same_file};
use crate::error::{Error, ErrorKind, Result};
use crate::generation::lock;
use crate::options::WriterOptions;
use crate::platform;
use nc3z_reader::source::FileSource;
use std::fs::{File, Metadata};
use std::path::Path;
use std::sync::Arc;

/// The old archive, and the place of the new one.
pub(super) struct Input<'a> {
    path: &'a Path,
    output: Option<&'a Path>,
    /// The old archive's file metadata.
    pub(super) before: Metadata,
    /// The old archive's bytes, read by position: if another process shortens the file, reading gives an
    /// error instead of a signal.
    pub(super) source: Arc<FileSource>,
}

impl<'a> Input<'a> {
    /// Opens the archive at `path`. Its new form is written to `output`. Without `output` it replaces the
    /// archive, which is then locked.
    ///
    /// # Errors
    /// It cannot be opened, the output is the same file, or another process changes it.
    pub(super) fn open(path: &'a Path, output: Option<&'a Path>) -> Result<Self> {
        let read = |what, e| Error::from(nc3z_reader::Error::io(what, Some(path), e));
        let file = nc3z_reader::source::open_regular(path).map_err(|e| read("open", e))?;
        let before = file.metadata().map_err(|e| read("read the length of", e))?;
        if output.is_some_and(|o| is_same_file(&before, o)) {
            return Err(ErrorKind::SameFile(path.to_owned()).into());
        }
        if output.is_none() {
            lock(&file, path)?;
            // Permission to replace files in the directory is not permission to change this file.
            File::options().write(true).open(path).map_err(|e| Error::io("open for writing", path, e))?;
        }
        let source = Arc::new(FileSource::from_file(file, path)?);
        Ok(Input { path, output, before, source })
    }

    /// Creates the temporary file for the new archive.
    ///
    /// # Errors
    /// It exists or cannot be created.
    pub(super) fn target(&self, options: &WriterOptions) -> Result<AtomicFile> {
        // Links are followed: the file is replaced, not a link to it.
        let find = |e| Error::from(nc3z_reader::Error::io("find", Some(self.path), e));
        let resolved = self.path.canonicalize().map_err(find)?;
        AtomicFile::create(self.output.unwrap_or(&resolved), self.output.is_none() || options.force)
    }

    /// Renames the new archive to its target; in place, the new file keeps the owner of the old one.
    ///
    /// # Errors
    /// In place, the name now belongs to another file, which must not be replaced.
    pub(super) fn put(&self, target: AtomicFile) -> Result<()> {
        if self.output.is_none() {
            platform::keep_owner(target.file(), &self.before);
            if !is_same_file(&self.before, self.path) {
                let what = "another file took its name".to_owned();
                return Err(ErrorKind::SourceChanged { path: self.path.to_owned(), what }.into());
            }
        }
        target.commit_as(Attributes::of_file(self.source.file(), &self.before))
    }
}
