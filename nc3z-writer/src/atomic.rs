//! Output files that appear complete or not at all: temporary file in the target's directory, sync, rename,
//! sync of the directory.

use crate::error::{Error, ErrorKind, Result};
use crate::generation::Medium;
use crate::leftovers::{self, TEMPORARY_SUFFIX};
use crate::platform::{self, sync_directory};
use nc3z_reader::platform::identity;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;
use tempfile::NamedTempFile;

/// The largest number of threads that wait for the disk at once.
const WAITING: usize = 16;

/// A file that gets the name `target` once it is complete. Until then, and if this value is dropped, no new
/// file has that name.
#[derive(Debug)]
pub struct AtomicFile {
    temp: NamedTempFile,
    target: PathBuf,
    force: bool,
    noted: Noted,
}

/// Temporary files of this process, for [`remove_temporary_files`].
static TEMPORARY: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Lists the name of a temporary file in `TEMPORARY` as long as the file has that name.
#[derive(Debug)]
struct Noted(PathBuf);

impl Noted {
    fn new(path: &Path) -> Self {
        TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        Noted(path.to_owned())
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// Removes the temporary files of this process. Call it last, before the process ends in the middle of its
/// work.
pub fn remove_temporary_files() {
    let files = TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner);
    for path in files.iter() {
        // A file that was renamed in the meantime is complete.
        let _ = fs::remove_file(path);
    }
}

/// Returns whether a link is one of the system to an open file, such as `/dev/stdout`, or leads to a device, a pipe or a socket.
fn leads_to_stream(link: &Path) -> bool {
    let is_systems = |directory: PathBuf| directory == Path::new("/dev") || directory.starts_with("/proc");
    directory_of(link).canonicalize().is_ok_and(is_systems)
        || link.metadata().is_ok_and(|meta| !(meta.is_file() || meta.is_dir()))
}

/// Refuses the name of an output that is meant as a URL: as a path it would be a directory such as `./s3:`. Called with the name
/// that the user gave, before anything is read.
///
/// # Errors
/// The name is meant as a URL.
pub fn refuse_url(target: &Path) -> Result<()> {
    match target.to_str().filter(|name| nc3z_format::url::is_meant_as_url(name)) {
        Some(name) => Err(ErrorKind::UrlTarget(name.to_owned()).into()),
        None => Ok(()),
    }
}

impl AtomicFile {
    /// Creates the temporary file in the directory of `target`.
    ///
    /// # Errors
    /// The target exists (unless `force`), its name is meant as a URL, or the system refuses an operation.
    pub fn create(target: &Path, force: bool) -> Result<Self> {
        // The file is private until it is complete, because its source may be private.
        Self::create_with_mode(target, force, 0o600)
    }

    /// Creates the temporary file with the mode `mode`, less the process's umask, for an output whose mode
    /// comes from no source.
    ///
    /// # Errors
    /// As [`AtomicFile::create`].
    pub fn create_with_mode(target: &Path, force: bool, mode: u32) -> Result<Self> {
        refuse_url(target)?;
        match fs::symlink_metadata(target) {
            Ok(meta) if meta.is_dir() => {
                let e = io::Error::new(io::ErrorKind::IsADirectory, "is a directory");
                return Err(Error::io("create", target, e));
            }
            Ok(meta) if meta.is_symlink() && leads_to_stream(target) => {
                let e = io::Error::new(io::ErrorKind::AlreadyExists, "it leads to a stream or a device");
                return Err(Error::io("create", target, e));
            }
            // Another link is replaced, not followed. A device, a pipe or a socket is never replaced.
            Ok(meta) if !(meta.is_file() || meta.is_symlink()) => {
                let what = nc3z_reader::source::special_name(meta.file_type()).unwrap_or("no file");
                let e = io::Error::new(io::ErrorKind::AlreadyExists, format!("there is {what} of that name"));
                return Err(Error::io("create", target, e));
            }
            Ok(_) if !force => return Err(ErrorKind::Exists(target.to_owned()).into()),
            _ => {}
        }
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(target.file_name().unwrap_or_default());
        // Names may have up to 255 bytes; this leaves room for the random part.
        if prefix.len() > 200 {
            prefix = ".nc3z".into();
        }
        prefix.push(".");
        let create = || {
            let mut builder = tempfile::Builder::new();
            platform::with_mode(builder.prefix(&prefix).suffix(TEMPORARY_SUFFIX), mode)
                .tempfile_in(directory_of(target))
        };
        let temp = leftovers::create_locked(create)
            .map_err(|e| Error::io("create a temporary file beside", target, e))?;
        let noted = Noted::new(temp.path());
        Ok(AtomicFile { temp, target: target.to_owned(), force, noted })
    }

    /// The file to write into.
    pub fn file(&self) -> &File {
        self.temp.as_file()
    }

    /// The file, to read and write at any position.
    pub(crate) fn medium(&self) -> Medium<'_> {
        Medium::File { file: self.temp.as_file(), name: &self.target, path: Some(self.temp.path()) }
    }

    /// The path until the file is complete.
    pub fn temporary_path(&self) -> &Path {
        self.temp.path()
    }

    /// The path of the complete file.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// As [`AtomicFile::commit`], with attributes that are not those of a file.
    ///
    /// # Errors
    /// As [`AtomicFile::commit`].
    pub fn commit_as(self, attributes: Attributes) -> Result<()> {
        copy_attributes(self.temp.as_file(), attributes, &self.target)?;
        self.commit(None)
    }

    /// Gives the temporary file the mode and the modification time of another file, before it is read as an archive.
    pub(crate) fn look_like(&self, like: &fs::Metadata) -> Result<()> {
        copy_attributes(self.temp.as_file(), Attributes::from(like), &self.target)
    }

    /// Sets the file's mode and modification time, syncs it, renames it, and syncs the directory.
    ///
    /// # Errors
    /// The system refuses an operation. Then the target is unchanged.
    pub fn commit(self, like: Option<&fs::Metadata>) -> Result<()> {
        let synced = self.synced(like.map(Attributes::from).unwrap_or_default())?;
        let target = synced.renamed()?;
        sync_directory(&directory_of(&target)).map_err(|e| Error::io("sync the directory of", &target, e))
    }

    /// Writes mode, time and content to disk.
    fn synced(self, like: Attributes) -> Result<Self> {
        let file = self.temp.as_file();
        copy_attributes(file, like, &self.target)?;
        file.sync_all().map_err(|e| Error::io("sync", &self.target, e))?;
        Ok(self)
    }

    /// Renames the file. The new name is not on disk yet.
    fn renamed(self) -> Result<PathBuf> {
        let AtomicFile { temp, target, force, noted: _noted } = self;
        let persisted = if force { temp.persist(&target) } else { temp.persist_noclobber(&target) };
        match persisted {
            Ok(_) => Ok(target),
            Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => Err(ErrorKind::Exists(target).into()),
            Err(e) => Err(Error::io("rename the finished file to", &target, e.error)),
        }
    }
}

/// Commits many files with few waits for the disk. Several threads sync all contents at once, and the file
/// system merges their waits. Then each file whose content is on disk is renamed. Then each directory is
/// synced once. The guarantees are those for one file: no file gets its name before its content is on disk,
/// and a file is reported as done after its name is on disk.
pub fn commit_all(files: Vec<(AtomicFile, Option<Attributes>)>) -> Vec<Result<()>> {
    let synced = at_once(files, &|(file, like): (AtomicFile, Option<Attributes>)| {
        file.synced(like.unwrap_or_default())
    });
    let named: Vec<Result<PathBuf>> =
        synced.into_iter().map(|file| file.and_then(AtomicFile::renamed)).collect();
    let directories: BTreeSet<PathBuf> = named.iter().flatten().map(|target| directory_of(target)).collect();
    let sync = |directory: PathBuf| {
        let done = sync_directory(&directory);
        (directory, done)
    };
    let done: BTreeMap<PathBuf, io::Result<()>> =
        at_once(directories.into_iter().collect(), &sync).into_iter().collect();
    let of_directory = |target: PathBuf| match &done[&directory_of(&target)] {
        Ok(()) => Ok(()),
        // Each file of the directory gets this error, and errors cannot be cloned.
        Err(e) => Err(Error::io("sync the directory of", &target, io::Error::new(e.kind(), e.to_string()))),
    };
    named.into_iter().map(|target| target.and_then(of_directory)).collect()
}

/// Runs `work`, which waits for the disk, on all jobs, several at once. The results are in the order of the
/// jobs. This thread does the last share: for one job, no thread is started.
fn at_once<J: Send, T: Send>(jobs: Vec<J>, work: &(impl Fn(J) -> T + Sync)) -> Vec<T> {
    let share = jobs.len().div_ceil(WAITING).max(1);
    let mut jobs = jobs.into_iter();
    let shares =
        std::iter::from_fn(|| Some(jobs.by_ref().take(share).collect::<Vec<J>>()).filter(|s| !s.is_empty()));
    let mut shares: Vec<Vec<J>> = shares.collect();
    let own = shares.pop().unwrap_or_default();
    std::thread::scope(|scope| {
        let run = |share: Vec<J>| share.into_iter().map(work).collect::<Vec<T>>();
        let threads: Vec<_> = shares.into_iter().map(|share| scope.spawn(move || run(share))).collect();
        let own = run(own);
        let others =
            threads.into_iter().flat_map(|t| t.join().expect("a thread's panic is its caller's panic"));
        others.chain(own).collect()
    })
}

/// Mode and modification time of a file, as far as they are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Permission bits.
    pub mode: Option<u32>,
    /// The time of the last change.
    pub modified: Option<SystemTime>,
}

impl Attributes {
    /// The attributes of an open file. An access control list is not copied: the owning group gets what the list grants to it, and not
    /// the union of what the list grants to others, which is in the mode.
    pub fn of_file(file: &File, meta: &fs::Metadata) -> Self {
        Self::from(meta).with_group(platform::group_of_acl(file))
    }

    /// As [`Attributes::of_file`], by the file's name. Links are followed.
    pub fn of_path(path: &Path, meta: &fs::Metadata) -> Self {
        Self::from(meta).with_group(platform::group_of_acl_at(path))
    }

    fn with_group(mut self, of_list: Option<u32>) -> Self {
        if let (Some(mode), Some(group)) = (&mut self.mode, of_list) {
            *mode &= !0o070 | (group << 3);
        }
        self
    }
}

impl From<&fs::Metadata> for Attributes {
    fn from(meta: &fs::Metadata) -> Self {
        Attributes { mode: platform::mode_of(meta), modified: meta.modified().ok() }
    }
}

/// Gives mode and modification time of the source to the target, as gzip does. Without them, the target
/// keeps the mode it was created with.
fn copy_attributes(file: &File, like: Attributes, target: &Path) -> Result<()> {
    let wrap = |e| Error::io("set mode and time of", target, e);
    if let Some(mode) = like.mode {
        platform::set_mode(file, mode).map_err(wrap)?;
    }
    match like.modified {
        Some(modified) => file.set_modified(modified).map_err(wrap),
        None => Ok(()),
    }
}

fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// True if both are the same file, with links followed ([`nc3z_reader::platform::identity`]).
pub fn is_same_file(a: &fs::Metadata, b: &Path) -> bool {
    fs::metadata(b).is_ok_and(|b| identity(a) == identity(&b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn dropped_output_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let out = AtomicFile::create(&dir.path().join("x"), false).unwrap();
        out.file().write_all(b"half").unwrap();
        drop(out);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn existing_target_is_kept_without_force_and_replaced_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("x");
        fs::write(&target, b"old").unwrap();
        assert!(matches!(AtomicFile::create(&target, false).unwrap_err().kind(), ErrorKind::Exists(_)));
        let out = AtomicFile::create(&target, true).unwrap();
        out.file().write_all(b"new").unwrap();
        out.commit(None).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
    }

    #[test]
    fn of_many_at_once_each_is_there_or_told_of() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        let names: Vec<String> =
            (0..50).map(|i| format!("{}{i}", if i % 3 == 0 { "sub/" } else { "" })).collect();
        let create = |name: &String| {
            let out = AtomicFile::create(&dir.path().join(name), false).unwrap();
            out.file().write_all(name.as_bytes()).unwrap();
            (out, None)
        };
        let files: Vec<_> = names.iter().map(create).collect();
        fs::write(dir.path().join("7"), b"other").unwrap();
        fs::write(dir.path().join("sub/9"), b"other").unwrap();
        let done = commit_all(files);
        for (name, done) in names.iter().zip(done) {
            let taken = name == "7" || name == "sub/9";
            assert_eq!(done.is_err(), taken, "{name}: {done:?}");
            let content = fs::read(dir.path().join(name)).unwrap();
            assert_eq!(content, if taken { b"other" } else { name.as_bytes() });
        }
        assert_eq!(
            fs::read_dir(dir.path()).unwrap().count() + fs::read_dir(dir.path().join("sub")).unwrap().count(),
            51
        );
        assert!(commit_all(Vec::new()).is_empty());
    }

    #[test]
    fn target_that_appears_meanwhile_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("x");
        let out = AtomicFile::create(&target, false).unwrap();
        fs::write(&target, b"other").unwrap();
        assert!(matches!(out.commit(None).unwrap_err().kind(), ErrorKind::Exists(_)));
        assert_eq!(fs::read(&target).unwrap(), b"other");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
