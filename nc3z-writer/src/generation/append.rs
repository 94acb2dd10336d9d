//! Appending to an archive that exists: everything but the end, sync, section table and trailer, sync, commit slot. Until the trailer is written the
//! archive is what it was; what fails is cut off again.

use super::ending::Unsealed;
use super::held::Held;
use super::medium::Medium;
use super::slots;
use crate::atomic::{AtomicFile, is_same_file};
use crate::carry::carry_over;
use crate::error::{Error, ErrorKind, Result};
use crate::leftovers::is_temporary_name;
use crate::platform;
use nc3z_format::archive::TRAILER_LEN;
use nc3z_reader::source::{FileSource, SharedSource};
use nc3z_reader::{Archive, Digest, OpenOptions};
use std::fs::{File, Metadata};
use std::io;
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
    /// What was locked; of a rehearsal nothing is.
    held: Option<Held>,
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
/// Another process has the lock, or has put another file in the place of this one; its mode lets nobody write; the file system has no locks.
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
    check_mode(&locked, path)?;
    // Who replaced it held the lock of a file that has no name any more.
    if is_same_file(&locked, path) { Ok(()) } else { Err(ErrorKind::Busy(path.to_owned()).into()) }
}

/// A file whose mode lets nobody write stays as it is: the system itself would let its owner replace it, and root write to it.
fn check_mode(file: &Metadata, path: &Path) -> Result<()> {
    if !file.permissions().readonly() {
        return Ok(());
    }
    let why = "its mode lets nobody write; `chmod u+w` allows changes in place, and -o writes a new file";
    Err(Error::io("open for writing", path, io::Error::new(io::ErrorKind::PermissionDenied, why)))
}

impl InPlace {
    /// Opens the archive at `path` for reading and writing, and locks it. One in the short form is given the long one, to which a
    /// generation can be appended: by another file in its place, so that there is a whole archive at any moment.
    pub(crate) fn open(path: &Path, options: &OpenOptions) -> Result<Self> {
        let place = Self::open_as_it_is(path, options)?;
        if !place.archive.is_short() {
            return Ok(place);
        }
        place.lengthened()
    }

    /// The same, in whatever form it is: for who only takes away.
    pub(crate) fn open_as_it_is(path: &Path, options: &OpenOptions) -> Result<Self> {
        // What is no file is refused before it is opened.
        let file = nc3z_reader::source::open_regular(path)
            .and_then(|_| File::options().read(true).write(true).open(path))
            .map_err(|e| Error::io("open for writing", path, e))?;
        lock(&file, path)?;
        let held = Held::new(&file, path)?;
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

    /// The archive in the long form, where it is in the short one; it takes the short one's place.
    pub(crate) fn longer(&self) -> Result<Option<Self>> {
        if !self.archive.is_short() {
            return Ok(None);
        }
        self.lengthened().map(Some)
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
            return Ok(InPlace { file: over, path, held: None, options, archive, over: None, uncut: false });
        }
        let file = self.file.try_clone().map_err(|e| Error::io("open", &path, e))?;
        let archive = self.archive.clone();
        Ok(InPlace { file, path, held: None, options, archive, over: Some(over), uncut: false })
    }

    /// Writes the archive in the long form to an empty medium. Gives its length.
    fn write_long(&self, medium: &Medium<'_>) -> Result<u64> {
        let digest = match self.archive.digest() {
            Digest::Sha256(sha256) => Some(sha256),
            Digest::None | Digest::Stale => None,
        };
        let (unsealed, _) = carry_over(&self.archive, &|_, _| false, medium, self.archive.metadata(), &())?;
        unsealed.end(medium, digest)
    }

    /// Puts the long form in the place of the short one, and opens it.
    fn lengthened(&self) -> Result<Self> {
        let len = self.lengthen()?;
        let place = Self::open_as_it_is(&self.path, &self.options)?;
        // Its lock is another one: whoever took that in between has changed the archive.
        if place.end() == len { Ok(place) } else { Err(ErrorKind::Busy(self.path.clone()).into()) }
    }

    /// Puts the long form in the place of the short one. Gives its length.
    fn lengthen(&self) -> Result<u64> {
        let read = |e| Error::io("find", &self.path, e);
        let before = self.file.metadata().map_err(read)?;
        // Through links: it is the file that is replaced, not a link to it.
        let target = AtomicFile::create(&self.path.canonicalize().map_err(read)?, true)?;
        let len = self.write_long(&target.medium())?;
        platform::keep_owner(target.file(), &before);
        self.check()?;
        target.commit(Some(&before))?;
        Ok(len)
    }

    /// Checks that the archive is still ours to change ([`Held::check`]): before the first write, and before success is reported.
    pub(crate) fn check(&self) -> Result<()> {
        self.held.as_ref().map_or(Ok(()), |held| held.check(&self.file))
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
        slots::write(&medium, &superblock.salt, &left)?;
        if let Err(e) = medium.sync().and_then(|()| medium.set_len(len)) {
            // Nothing is cut off: the slots are what they were.
            slots::write(&medium, &superblock.salt, &superblock.slots)?;
            return Err(e);
        }
        self.note_len(len);
        medium.sync()?;
        self.check()
    }

    /// Appends a generation where the last trailer ends; what a commit left there that did not finish is no part of the archive.
    pub(crate) fn append(&self, write: impl FnOnce(&Medium<'_>) -> Result<Unsealed>) -> Result<u64> {
        self.check()?;
        let (medium, end) = (self.medium(), self.end());
        if self.over.is_some() {
            return Ok(write(&medium)?.trailer.archive_len);
        }
        if self.uncut {
            self.cut(end)?;
        }
        medium.set_len(end)?;
        self.note_len(end);
        let mut trailer = [0; TRAILER_LEN];
        let len = append(&medium, end, || write(&medium).inspect(|unsealed| trailer = unsealed.sealed()))?;
        self.note_len(len);
        self.prove(&trailer, end)?;
        Ok(len)
    }

    /// Notes the length that the file has now by our own work.
    fn note_len(&self, len: u64) {
        if let Some(held) = &self.held {
            held.set_len(len);
        }
    }

    /// Checks that what was appended behind `end` is in the file of this name, to its trailer. Where the name leads to another file, it is
    /// cut off again.
    fn prove(&self, trailer: &[u8; TRAILER_LEN], end: u64) -> Result<()> {
        let Some(held) = &self.held else { return Ok(()) };
        let found = self.check().and_then(|()| held.check_trailer(&self.file, trailer));
        if found.is_err() && held.is_ours(&self.file) {
            // A slot must not name what is cut off.
            let superblock = self.archive.superblock();
            slots::write(&self.medium(), &superblock.salt, &superblock.slots)?;
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
