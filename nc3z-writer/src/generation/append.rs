//! Appends to an existing archive. The order is: everything but the end, sync, section table and trailer, sync,
//! commit slot, sync. Until the trailer is written, the archive is unchanged. If an append fails, the file is cut
//! back. The slots name the last generation before anything is appended, and the new one before success is reported:
//! a generation that they do not name was not acknowledged.

use super::ending::Unsealed;
use super::locked::LockedArchive;
use super::medium::Medium;
use super::slots;
use crate::atomic::{AtomicFile, Attributes, is_same_file};
use crate::error::{Error, ErrorKind, Result};
use crate::executor::copy_tiles;
use crate::leftovers::is_temporary_name;
use crate::platform;
use nc3z_format::archive::TRAILER_LEN;
use nc3z_reader::source::{FileSource, SharedSource};
use nc3z_reader::{Archive, OpenOptions};
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Appends a generation to an archive of `end` bytes. `write` writes everything but section table and trailer,
/// starting at `end`. Returns the new length.
///
/// # Errors
/// `write` fails, or the system refuses an operation. The archive is then cut back to `end`.
pub(crate) fn append(medium: &Medium<'_>, end: u64, write: impl FnOnce() -> Result<Unsealed>) -> Result<u64> {
    let committed = write().and_then(|unsealed| {
        let at = unsealed.trailer.sections_offset;
        if let Some((offset, bytes)) = unsealed.patch()? {
            medium.write_at(offset, &bytes)?;
        }
        // Everything that the trailer commits must be on disk before the trailer.
        medium.sync()?;
        medium.write_at(at, &[unsealed.table(), &unsealed.sealed()].concat())?;
        medium.sync()?;
        Ok(unsealed)
    });
    let (error, is_undone) = match committed {
        Err(error) => (error, true),
        Ok(unsealed) => match slots::change(medium, &unsealed.trailer.salt, &unsealed.slots()) {
            Ok(()) => return Ok(unsealed.trailer.archive_len),
            Err(failed) => (failed.error, failed.is_undone),
        },
    };
    // A slot must not name a part that is cut off.
    if is_undone {
        medium.set_len(end)?;
    }
    Err(error)
}

/// An archive that is changed in place.
pub(crate) struct InPlace {
    file: File,
    path: PathBuf,
    /// The locked file; `None` in a dry run.
    held: Option<LockedArchive>,
    /// The options for opening it, also after an append.
    options: OpenOptions,
    archive: Archive,
    /// In a dry run, the file for the appended bytes; the archive stays unchanged.
    over: Option<File>,
    /// True if the file continues after the open generation. The rest is cut off before an append.
    uncut: bool,
}

/// Prevents other processes from changing the archive at `path`, which is open as `file`, as long as any handle
/// of `file` is open. Readers need no lock. The archive must be read after this call.
///
/// # Errors
/// Another process has the lock or has replaced the file, the file's mode forbids writing, or the file system
/// has no locks.
pub fn lock(file: &File, path: &Path) -> Result<()> {
    // The run that creates a temporary file has its lock, and other runs do not use the file.
    if path.file_name().is_some_and(is_temporary_name) {
        return Ok(());
    }
    match platform::try_lock(file) {
        Ok(true) => {}
        Ok(false) => return Err(ErrorKind::Busy(path.to_owned()).into()),
        // If a system has no locks, the caller must prevent concurrent writes.
        Err(_) if cfg!(not(unix)) => {}
        Err(e) => return Err(Error::io("lock", path, e)),
    }
    let locked = file.metadata().map_err(|e| Error::io("look at", path, e))?;
    check_mode(&locked, path)?;
    // If the file was replaced, this lock belongs to a file that no longer has a name.
    if is_same_file(&locked, path) { Ok(()) } else { Err(ErrorKind::Busy(path.to_owned()).into()) }
}

/// Refuses a file whose mode forbids writing. The system would allow its owner to replace it, and root to write
/// to it.
fn check_mode(file: &Metadata, path: &Path) -> Result<()> {
    if !file.permissions().readonly() {
        return Ok(());
    }
    let why = "it is read-only; `chmod u+w` allows changes in place, and -o writes a new file";
    Err(Error::io("open for writing", path, io::Error::new(io::ErrorKind::PermissionDenied, why)))
}

impl InPlace {
    /// Opens and locks the archive in its present form. Callers that append make it [longer](Self::longer) when nothing can refuse the
    /// change any more.
    pub(crate) fn open(path: &Path, options: &OpenOptions) -> Result<Self> {
        // A path that is not a regular file is refused before it is opened.
        let file = nc3z_reader::source::open_regular(path)
            .and_then(|_| File::options().read(true).write(true).open(path))
            .map_err(|e| Error::io("open for writing", path, e))?;
        lock(&file, path)?;
        let held = LockedArchive::new(&file, path)?;
        let archive = Archive::from_source(shared(&file, path)?, options)?;
        Ok(InPlace {
            file,
            path: path.to_owned(),
            held: Some(held),
            options: options.clone(),
            archive,
            over: None,
            uncut: false,
        })
    }

    /// Replaces an archive in the short form by its long form.
    pub(crate) fn longer(&self) -> Result<Option<Self>> {
        if !self.archive.is_short() {
            return Ok(None);
        }
        self.lengthened().map(Some)
    }

    /// Opens the archive again after an append.
    pub(crate) fn reload(&mut self) -> Result<()> {
        self.archive = Archive::from_source(self.source()?, &self.options)?;
        self.uncut = false;
        Ok(())
    }

    /// Opens an older generation. The next append replaces the generations after it.
    pub(crate) fn go_back(&mut self, generation: u32) -> Result<()> {
        let options = self.options.clone().with_generation(u64::from(generation));
        self.archive = Archive::from_source(self.source()?, &options)?;
        self.uncut = true;
        Ok(())
    }

    /// Returns the archive for a dry run: appended bytes go to a temporary file.
    pub(crate) fn rehearsal(&self) -> Result<Self> {
        let scratch = |e| Error::io("make a temporary file for", &self.path, e);
        let over = tempfile::tempfile().map_err(scratch)?;
        let (path, options) = (self.path.clone(), self.options.clone());
        if self.archive.is_short() {
            // The whole long form, which is small.
            self.write_long(&Medium::File { file: &over, name: &path, path: None })?;
            let archive = Archive::from_source(shared(&over, &path)?, &options)?;
            return Ok(InPlace { file: over, path, held: None, options, archive, over: None, uncut: false });
        }
        let file = self.file.try_clone().map_err(|e| Error::io("open", &path, e))?;
        let archive = self.archive.clone();
        Ok(InPlace { file, path, held: None, options, archive, over: Some(over), uncut: false })
    }

    /// Writes the archive in the long form to an empty medium. Returns its length.
    fn write_long(&self, medium: &Medium<'_>) -> Result<u64> {
        let digest = self.archive.digest().sha256();
        let (unsealed, _) = copy_tiles(&self.archive, &|_, _| false, medium, self.archive.metadata(), &())?;
        unsealed.end(medium, digest)
    }

    /// Replaces the short form by the long form, and opens the result.
    fn lengthened(&self) -> Result<Self> {
        let len = self.lengthen()?;
        let place = Self::open(&self.path, &self.options)?;
        // The new file has a new lock. If another process took it in between, it has changed the archive.
        if place.end() == len { Ok(place) } else { Err(ErrorKind::Busy(self.path.clone()).into()) }
    }

    /// Replaces the short form by the long form. Returns its length.
    fn lengthen(&self) -> Result<u64> {
        let read = |e| Error::io("find", &self.path, e);
        let before = self.file.metadata().map_err(read)?;
        // Links are followed: the file is replaced, not a link to it.
        let target = AtomicFile::create(&self.path.canonicalize().map_err(read)?, true)?;
        let len = self.write_long(&target.medium())?;
        platform::keep_owner(target.file(), &before);
        self.check()?;
        target.commit_as(Attributes::of_file(&self.file, &before))?;
        Ok(len)
    }

    /// Checks that this process may still change the archive ([`LockedArchive::check`]): before the first write, and
    /// before success is reported.
    pub(crate) fn check(&self) -> Result<()> {
        self.held.as_ref().map_or(Ok(()), |held| held.check(&self.file))
    }

    /// Returns the archive in the state in which it was opened.
    pub(crate) fn archive(&self) -> &Archive {
        &self.archive
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file, read by position.
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

    /// Returns the options for opening the archive again.
    pub(crate) fn options(&self) -> &OpenOptions {
        &self.options
    }

    /// The end of the last trailer.
    pub(crate) fn end(&self) -> u64 {
        self.archive.trailer().archive_len
    }

    /// Cuts the file after an older generation, or after the last one. The remaining part is then on disk. The
    /// commit slots are set to the remaining generations before the file is cut.
    pub(crate) fn cut(&self, len: u64) -> Result<()> {
        self.check()?;
        let medium = self.medium();
        if self.archive.is_short() {
            medium.set_len(len)?;
            self.note_len(len);
            medium.sync()?;
            return self.check();
        }
        let superblock = self.archive.superblock();
        let left = nc3z_reader::slots_at(&*self.source()?, len, superblock)?;
        slots::change(&medium, &superblock.salt, &left)?;
        if let Err(e) = medium.set_len(len) {
            // Nothing is cut off, and the slots get their old content.
            slots::write(&medium, &superblock.salt, &superblock.slots)?;
            return Err(e);
        }
        self.note_len(len);
        medium.sync()?;
        self.check()
    }

    /// Appends a generation at the end of the last trailer. Bytes that an unfinished commit left there do not
    /// belong to the archive.
    pub(crate) fn append(&self, write: impl FnOnce(&Medium<'_>) -> Result<Unsealed>) -> Result<u64> {
        self.check()?;
        let (medium, end) = (self.medium(), self.end());
        if self.over.is_some() {
            return Ok(write(&medium)?.trailer.archive_len);
        }
        if self.uncut {
            self.cut(end)?;
        }
        let superblock = self.archive.superblock();
        if !superblock.slots.end_with(self.archive.trailer()) {
            // After a kill between trailer and slot, or for an archive that was written to a pipe.
            let slots = nc3z_reader::slots_at(&*self.source()?, end, superblock)?;
            slots::change(&medium, &superblock.salt, &slots)?;
        }
        medium.set_len(end)?;
        self.note_len(end);
        let mut trailer = [0; TRAILER_LEN];
        let len = append(&medium, end, || write(&medium).inspect(|unsealed| trailer = unsealed.sealed()))?;
        self.note_len(len);
        self.prove(&trailer, end)?;
        Ok(len)
    }

    /// Records the file's present length, which results from this process's work.
    fn note_len(&self, len: u64) {
        if let Some(held) = &self.held {
            held.set_len(len);
        }
    }

    /// Checks that the named file contains what was appended at `end`, including its trailer. If the name
    /// belongs to another file now, the appended part is cut off again.
    fn prove(&self, trailer: &[u8; TRAILER_LEN], end: u64) -> Result<()> {
        let Some(held) = &self.held else { return Ok(()) };
        let found = self.check().and_then(|()| held.check_trailer(&self.file, trailer));
        if found.is_err() && held.is_ours(&self.file) {
            // A slot must not name a part that is cut off.
            let superblock = self.archive.superblock();
            slots::change(&self.medium(), &superblock.salt, &superblock.slots)?;
            self.medium().set_len(end)?;
            held.set_len(end);
        }
        found
    }
}

fn shared(file: &File, path: &Path) -> Result<SharedSource> {
    let file = file.try_clone().map_err(|e| Error::io("open", path, e))?;
    Ok(Arc::new(FileSource::from_file(file, path)?))
}
