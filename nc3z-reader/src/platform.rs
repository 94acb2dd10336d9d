//! The differences between operating systems: positioned reads and writes of files, names as bytes, and the
//! identity of files.
//!
//! The tools are run and tested on Unix. Elsewhere this module does what the standard library offers, and
//! documents where that is less.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Fills `buffer` from `offset` on. Does not depend on the file's current position.
///
/// # Errors
/// The error of the operating system; `UnexpectedEof` if the file ends earlier.
pub fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset);
    #[cfg(windows)]
    {
        let mut done = 0;
        while done < buffer.len() {
            match std::os::windows::fs::FileExt::seek_read(file, &mut buffer[done..], offset + done as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(some) => done += some,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
    #[cfg(not(any(unix, windows)))]
    {
        let _ = (file, buffer, offset);
        Err(io::Error::new(io::ErrorKind::Unsupported, "files are not read by position on this system"))
    }
}

/// Writes all of `bytes` from `offset` on.
///
/// # Errors
/// The error of the operating system.
pub fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::write_all_at(file, bytes, offset);
    #[cfg(windows)]
    {
        let mut done = 0;
        while done < bytes.len() {
            match std::os::windows::fs::FileExt::seek_write(file, &bytes[done..], offset + done as u64) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(some) => done += some,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
    #[cfg(not(any(unix, windows)))]
    {
        let _ = (file, bytes, offset);
        Err(io::Error::new(io::ErrorKind::Unsupported, "files are not written by position on this system"))
    }
}

/// The path with these bytes: any bytes on Unix. Elsewhere UTF-8, and other bytes become a name that no file
/// has.
pub fn path_of(bytes: &[u8]) -> PathBuf {
    #[cfg(unix)]
    return PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes));
    #[cfg(not(unix))]
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

/// The identity of a file, independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity(FileKey);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileKey {
    #[cfg_attr(not(unix), expect(dead_code, reason = "told by Unix alone"))]
    Inode { device: u64, inode: u64 },
    #[cfg_attr(unix, expect(dead_code, reason = "where the system tells no inode"))]
    Times { created: Option<SystemTime>, modified: Option<SystemTime>, len: u64 },
}

/// Device and inode. If the system reports neither: the times when the file was made and written, and its
/// length.
pub fn identity(meta: &Metadata) -> FileIdentity {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        FileIdentity(FileKey::Inode { device: meta.dev(), inode: meta.ino() })
    }
    #[cfg(not(unix))]
    {
        FileIdentity(FileKey::Times {
            created: meta.created().ok(),
            modified: meta.modified().ok(),
            len: meta.len(),
        })
    }
}

/// The time of the last change of a file's inode (by a write, a link or a new name), in seconds and
/// nanoseconds. `None` if the system does not report it.
pub fn inode_changed(meta: &Metadata) -> Option<(i64, i64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some((meta.ctime(), meta.ctime_nsec()))
    }
    #[cfg(not(unix))]
    {
        let _ = meta;
        None
    }
}

/// Returns whether an output is a device that accepts a stream, such as `/dev/null`: it is written to, not
/// replaced.
pub fn takes_stream(output: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        std::fs::metadata(output).is_ok_and(|meta| meta.file_type().is_char_device())
    }
    #[cfg(not(unix))]
    {
        let _ = output;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_itself_by_any_name_and_no_other_file() {
        let dir = tempfile::tempdir().unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|name| dir.path().join(name));
        std::fs::write(&a, b"x").unwrap();
        std::fs::hard_link(&a, &b).unwrap();
        std::fs::write(&c, b"xy").unwrap();
        let of = |path| identity(&std::fs::metadata(path).unwrap());
        assert_eq!(of(&a), of(&b));
        assert_ne!(of(&a), of(&c));
    }

    #[test]
    fn positions_are_those_asked_for() {
        let file = tempfile::tempfile().unwrap();
        write_all_at(&file, b"abcdef", 10).unwrap();
        let mut back = [9; 4];
        read_exact_at(&file, &mut back, 8).unwrap();
        assert_eq!(&back, b"\0\0ab");
        assert_eq!(read_exact_at(&file, &mut back, 13).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn names_that_are_text_come_back() {
        assert_eq!(path_of("ä/b.nc".as_bytes()).as_os_str().as_encoded_bytes(), "ä/b.nc".as_bytes());
    }
}
