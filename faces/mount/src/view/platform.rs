//! Differences between operating systems. On systems without permissions and owners, all users may read.

#[cfg(not(unix))]
use super::attr::NodeKind;
use super::attr::{Stat, kind_of, number};
use std::fs::{DirEntry, File, Metadata};
use std::io;
use std::path::Path;

/// Converts metadata of the system. None for anything but files, directories and links.
#[cfg(unix)]
pub(super) fn stat_of(meta: &Metadata) -> Option<Stat> {
    use std::os::unix::fs::MetadataExt;
    let mode = u16::try_from(meta.mode() & 0o7777).expect("twelve bits");
    Some(Stat {
        kind: kind_of(meta.file_type())?,
        len: meta.len(),
        blocks: meta.blocks(),
        mode,
        uid: meta.uid(),
        gid: meta.gid(),
        accessed: time(meta.atime(), meta.atime_nsec()),
        modified: time(meta.mtime(), meta.mtime_nsec()),
        changed: time(meta.ctime(), meta.ctime_nsec()),
        file: file_number(meta.dev(), meta.ino()),
    })
}

/// Converts metadata of the system. None for anything but files, directories and links.
#[cfg(not(unix))]
pub(super) fn stat_of(meta: &Metadata) -> Option<Stat> {
    use std::time::SystemTime;
    let kind = kind_of(meta.file_type())?;
    let modified = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    let created = meta.created().unwrap_or(SystemTime::UNIX_EPOCH);
    let since = created.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Some(Stat {
        kind,
        len: meta.len(),
        blocks: meta.len().div_ceil(super::attr::BLOCK_LEN),
        mode: if kind == NodeKind::Directory { 0o555 } else { 0o444 },
        uid: 0,
        gid: 0,
        accessed: meta.accessed().unwrap_or(modified),
        modified,
        changed: modified,
        file: number(&[b"created", &since.as_nanos().to_le_bytes(), &meta.len().to_le_bytes()]),
    })
}

/// Returns a file number made from a device's and an inode's number.
#[cfg(unix)]
fn file_number(device: u64, inode: u64) -> u64 {
    number(&[b"file", &device.to_le_bytes(), &inode.to_le_bytes()])
}

/// The identity of the files in a directory, as far as listing returns it.
pub(super) struct Listed(#[cfg(unix)] u64);

impl Listed {
    pub(super) fn new(directory: &Path) -> io::Result<Self> {
        #[cfg(unix)]
        return Ok(Listed(std::os::unix::fs::MetadataExt::dev(&directory.metadata()?)));
        #[cfg(not(unix))]
        directory.metadata().map(|_| Listed())
    }

    pub(super) fn file(&self, entry: &DirEntry) -> u64 {
        #[cfg(unix)]
        return file_number(self.0, std::os::unix::fs::DirEntryExt::ino(entry));
        #[cfg(not(unix))]
        number(&[b"name", entry.path().as_os_str().as_encoded_bytes()])
    }
}

/// Reads from `offset` until the buffer is full or the file ends.
pub(super) fn read_at(file: &File, offset: u64, out: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < out.len() {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(file, &mut out[done..], offset + done as u64);
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(file, &mut out[done..], offset + done as u64);
        match read {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}

/// Converts seconds and nanoseconds since 1970. A time that cannot be represented becomes 1970.
#[cfg(unix)]
fn time(seconds: i64, nanoseconds: i64) -> std::time::SystemTime {
    use std::time::{Duration, SystemTime};
    let nanoseconds = Duration::from_nanos(nanoseconds.try_into().unwrap_or(0));
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let epoch = SystemTime::UNIX_EPOCH;
    let base = if seconds < 0 { epoch.checked_sub(whole) } else { epoch.checked_add(whole) };
    base.and_then(|t| t.checked_add(nanoseconds)).unwrap_or(epoch)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    #[test]
    fn times_before_1970_keep_their_fraction() {
        let t = time(-2, 500_000_000);
        assert_eq!(SystemTime::UNIX_EPOCH.duration_since(t).unwrap(), Duration::from_millis(1500));
    }
}
