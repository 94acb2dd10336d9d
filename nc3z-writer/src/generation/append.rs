//! Appending to an archive that exists: everything but the end, sync, section table and trailer, sync, commit slot. Until the trailer is written the
//! archive is what it was; what fails is cut off again.

use super::ending::Unsealed;
use super::medium::Medium;
use super::slots;
use crate::atomic::{AtomicFile, is_same_file};
use crate::carry::carry_over;
use crate::error::{Error, ErrorKind, Result};
use crate::leftovers::is_temporary_name;
use crate::platform;
use nc3z_reader::source::{FileSource, SharedSource};
use nc3z_reader::{Archive, Digest, OpenOptions};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Appends a generation to an archive of `end` bytes: `write` writes all but section table and trailer, from `end` on. Gives the new length.
///
/// # Errors
/// What `write` or the system says; the archive is then cut back to `end`.
pub(crate) fn append(medium: &Medium<'_>, end: u64, write: impl FnOnce() -> Result<Unsealed>) -> Result<u64> {
    let committed = write().and_then(|unsealed| {
        let at = unsealed.trailer.sections_offset;
        if let Some((offset, bytes)) = unsealed.patch()? {
            medium.write_at(offset, &bytes)?;
        }
        // What the trailer commits is on disk before it.
        medium.sync()?;
        medium.write_at(at, &[unsealed.table(), &unsealed.sealed()].concat())?;
        medium.sync()?;
        Ok(unsealed)
    });
    // No sync follows the slot: one that is lost is older than the trailer, and the next commit writes it anew.
    let (error, is_undone) = match committed {
        Err(error) => (error, true),
        Ok(unsealed) => match slots::change(medium, &unsealed.trailer.salt, &unsealed.slots()) {
            Ok(()) => return Ok(unsealed.trailer.archive_len),
            Err(failed) => (failed.error, failed.is_undone),
        },
    };
    // A slot must not name what is cut off.
    if is_undone {
        medium.set_len(end)?;
    }
    Err(error)
}

/// An archive that is being changed in place.
pub(crate) struct InPlace {
    file: File,
    path: PathBuf,
    /// How it is opened, also after what was appended.
    options: OpenOptions,
    archive: Archive,
    /// What a rehearsal writes behind the archive, which stays as it is.
    over: Option<File>,
    /// Whether the file goes on behind the generation that is open: that is cut off before anything is appended.
    uncut: bool,
}

/// Keeps others from changing the archive at `path`, which `file` is, as long as any handle of `file` is open. Who only reads asks for no
/// lock. What is known of the archive must be read after this.
///
/// # Errors
/// Another process has the lock, or has put another file in the place of this one; the file system has no locks.
pub(crate) fn lock(file: &File, path: &Path) -> Result<()> {
    // The run that makes a temporary file holds its lock, and nobody else has any business with it.
    if path.file_name().is_some_and(is_temporary_name) {
        return Ok(());
    }
    match platform::try_lock(file) {
        Ok(true) => {}
        Ok(false) => return Err(ErrorKind::Busy(path.to_owned()).into()),
        // Where a system has no locks at all, whoever writes is to see that nobody else does.
        Err(_) if cfg!(not(unix)) => {}
        Err(e) => return Err(Error::io("lock", path, e)),
    }
    let locked = file.metadata().map_err(|e| Error::io("look at", path, e))?;
    // Who replaced it held the lock of a file that has no name any more.
    if is_same_file(&locked, path) { Ok(()) } else { Err(ErrorKind::Busy(path.to_owned()).into()) }
}

impl InPlace {
    /// Opens the archive at `path` for reading and writing, and locks it. One in the short form is given the long one, to which a
    /// generation can be appended: by another file in its place, so that there is a whole archive at any moment.
    pub(crate) fn open(path: &Path, options: &OpenOptions) -> Result<Self> {
        let place = Self::open_as_it_is(path, options)?;
        if !place.archive.is_short() {
            return Ok(place);
        }
        place.lengthen()?;
        Self::open_as_it_is(path, options)
    }

    /// The same, in whatever form it is: for who only takes away.
    pub(crate) fn open_as_it_is(path: &Path, options: &OpenOptions) -> Result<Self> {
        // What is no file is refused before it is opened.
        let file = nc3z_reader::source::open_regular(path)
            .and_then(|_| File::options().read(true).write(true).open(path))
            .map_err(|e| Error::io("open for writing", path, e))?;
        lock(&file, path)?;
        let archive = Archive::from_source(shared(&file, path)?, options)?;
        Ok(InPlace {
            file,
            path: path.to_owned(),
            options: options.clone(),
            archive,
            over: None,
            uncut: false,
        })
    }

    /// The archive in the long form, where it is in the short one; it takes the short one's place.
    pub(crate) fn longer(&self) -> Result<Option<Self>> {
        if !self.archive.is_short() {
            return Ok(None);
        }
        self.lengthen()?;
        Self::open_as_it_is(&self.path, &self.options).map(Some)
    }

    /// Reads what was appended.
    pub(crate) fn reload(&mut self) -> Result<()> {
        self.archive = Archive::from_source(self.source()?, &self.options)?;
        self.uncut = false;
        Ok(())
    }

    /// Goes back to an older generation: what is appended next takes the place of those after it.
    pub(crate) fn go_back(&mut self, generation: u32) -> Result<()> {
        let options = self.options.clone().with_generation(u64::from(generation));
        self.archive = Archive::from_source(self.source()?, &options)?;
        self.uncut = true;
        Ok(())
    }

    /// The same archive, to find out what a change would do: what is written goes to a temporary file.
    pub(crate) fn rehearsal(&self) -> Result<Self> {
        let scratch = |e| Error::io("make a temporary file for", &self.path, e);
        let over = tempfile::tempfile().map_err(scratch)?;
        let (path, options) = (self.path.clone(), self.options.clone());
        if self.archive.is_short() {
            // All of the long form, which is small.
            self.write_long(&Medium::File { file: &over, name: &path, path: None })?;
            let archive = Archive::from_source(shared(&over, &path)?, &options)?;
            return Ok(InPlace { file: over, path, options, archive, over: None, uncut: false });
        }
        let file = self.file.try_clone().map_err(|e| Error::io("open", &path, e))?;
        Ok(InPlace { file, path, options, archive: self.archive.clone(), over: Some(over), uncut: false })
    }

    /// Writes the archive in the long form to an empty medium.
    fn write_long(&self, medium: &Medium<'_>) -> Result<()> {
        let digest = match self.archive.digest() {
            Digest::Sha256(sha256) => Some(sha256),
            Digest::None | Digest::Stale => None,
        };
        let (unsealed, _) = carry_over(&self.archive, &|_, _| false, medium, self.archive.metadata(), &())?;
        unsealed.end(medium, digest).map(|_| ())
    }

    /// Puts the long form in the place of the short one.
    fn lengthen(&self) -> Result<()> {
        let read = |e| Error::io("find", &self.path, e);
        let before = self.file.metadata().map_err(read)?;
        // Through links: it is the file that is replaced, not a link to it.
        let target = AtomicFile::create(&self.path.canonicalize().map_err(read)?, true)?;
        self.write_long(&target.medium())?;
        platform::keep_owner(target.file(), &before);
        target.commit(Some(&before))
    }

    /// The archive as it was found.
    pub(crate) fn archive(&self) -> &Archive {
        &self.archive
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file, by position.
    pub(crate) fn source(&self) -> Result<SharedSource> {
        match self.over {
            Some(_) => self.medium().source(),
            None => shared(&self.file, &self.path),
        }
    }

    pub(crate) fn medium(&self) -> Medium<'_> {
        match &self.over {
            Some(over) => Medium::Over { file: &self.file, over, end: self.end(), name: &self.path },
            None => Medium::File { file: &self.file, name: &self.path, path: None },
        }
    }

    /// How it is opened: for who opens it again.
    pub(crate) fn options(&self) -> &OpenOptions {
        &self.options
    }

    /// The end of the last trailer.
    pub(crate) fn end(&self) -> u64 {
        self.archive.trailer().archive_len
    }

    /// Cuts the file behind an older generation, or behind the last one; what is left of it is on disk afterwards. The commit slots name what is left
    /// before the rest is gone.
    pub(crate) fn cut(&self, len: u64) -> Result<()> {
        let medium = self.medium();
        if self.archive.is_short() {
            medium.set_len(len)?;
            return medium.sync();
        }
        let superblock = self.archive.superblock();
        let left = nc3z_reader::slots_at(&*self.source()?, len, superblock)?;
        slots::write(&medium, &superblock.salt, &left)?;
        if let Err(e) = medium.sync().and_then(|()| medium.set_len(len)) {
            // Nothing is cut off: the slots are what they were.
            slots::write(&medium, &superblock.salt, &superblock.slots)?;
            return Err(e);
        }
        medium.sync()
    }

    /// Appends a generation where the last trailer ends; what a commit left there that did not finish is no part of the archive.
    pub(crate) fn append(&self, write: impl FnOnce(&Medium<'_>) -> Result<Unsealed>) -> Result<u64> {
        let medium = self.medium();
        if self.over.is_some() {
            return Ok(write(&medium)?.trailer.archive_len);
        }
        if self.uncut {
            self.cut(self.end())?;
        }
        medium.set_len(self.end())?;
        append(&medium, self.end(), || write(&medium))
    }
}

fn shared(file: &File, path: &Path) -> Result<SharedSource> {
    let file = file.try_clone().map_err(|e| Error::io("open", path, e))?;
    Ok(Arc::new(FileSource::from_file(file, path)?))
}
