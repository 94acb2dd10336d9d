//! Opening files by name without waiting for anybody.

use std::fs::{self, File, FileType};
use std::io;
use std::path::Path;

/// Opens a file that can be read by position. Opening a named pipe would wait for a writer and ignore
/// signals, and a device has no length. Both are refused before they are opened.
///
/// # Errors
/// No regular file (a directory fails when it is read), and errors of the operating system.
pub fn open_regular(path: &Path) -> io::Result<File> {
    if let Some(name) = special_name(fs::metadata(path)?.file_type()) {
        let why = format!("it is {name}; files are read by position, and only regular files can be");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    File::open(path)
}

/// The name for messages of something that is not a file, directory or link.
pub fn special_name(kind: FileType) -> Option<&'static str> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        match kind {
            k if k.is_fifo() => return Some("a named pipe"),
            k if k.is_socket() => return Some("a socket"),
            k if k.is_char_device() || k.is_block_device() => return Some("a device"),
            _ => {}
        }
    }
    let plain = kind.is_file() || kind.is_dir() || kind.is_symlink();
    (!plain).then_some("no file")
}
