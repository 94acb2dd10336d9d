//! The file `.ncrc`: lines `key=value`. Lines of other programs are kept, byte for byte.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The first five bytes of an archive. The file cannot contain all eight, since the next one is a line end.
const MAGIC: &[u8] = b"\x89NC3Z";
/// The slots of user-defined formats.
const SLOTS: std::ops::Range<u8> = 0..10;
const TITLE: &[u8] = b"# nc3z: archives of classic netCDF files (nc3z netcdf-plugin install)";

/// A reason why the file is not read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NcrcError {
    /// The file cannot be read.
    #[error("read `{}`", path.display())]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("write `{}`", path.display())]
    Write {
        /// The path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The path of the library cannot be a value in the file.
    #[error("the library's path has blanks at its ends or control characters, which .ncrc cannot hold")]
    Unsayable,
}

/// Returns the file, in the directory that netCDF-C uses as home directory. None if it uses no directory.
pub fn place() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = set("NCRCENV_HOME").or_else(|| set("HOME"))?;
    Some(Path::new(&home).join(".ncrc"))
}

/// Another file, or none, that environment variables make netCDF-C read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Override {
    /// `NCRCENV_IGNORE` is set: netCDF-C reads none.
    Ignored,
    /// `NCRCENV_RC` names another file.
    Other(PathBuf),
}

impl Override {
    /// Returns what the environment says instead of `path`.
    pub fn from_path(path: &Path) -> Option<Self> {
        if std::env::var_os("NCRCENV_IGNORE").is_some() {
            return Some(Override::Ignored);
        }
        let other = std::env::var_os("NCRCENV_RC").filter(|other| Path::new(other) != path)?;
        Some(Override::Other(other.into()))
    }
}

/// The lines of the file.
#[derive(Debug)]
pub struct Ncrc {
    lines: Vec<Vec<u8>>,
    before: Option<Vec<u8>>,
}

/// Returns the key of a slot for this kind of line.
fn key(slot: u8, kind: &str) -> String {
    format!("NETCDF.UDF{slot}.{kind}")
}

/// Returns the entry point of a slot.
fn entry_point(slot: u8) -> String {
    format!("nc3z_udf{slot}_init")
}

/// Returns the value of a line, if it has this key.
fn value<'l>(line: &'l [u8], key: &str) -> Option<&'l [u8]> {
    let at = line.iter().position(|b| *b == b'=')?;
    (line[..at].trim_ascii().eq_ignore_ascii_case(key.as_bytes())).then(|| line[at + 1..].trim_ascii())
}

impl Ncrc {
    /// Reads the file. A missing file counts as empty.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(path: &Path) -> Result<Self, NcrcError> {
        let before = match fs::read(path) {
            Ok(bytes) => Some(bytes),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(source) => return Err(NcrcError::Read { path: path.to_owned(), source }),
        };
        let bytes = before.as_deref().unwrap_or_default();
        let mut lines: Vec<Vec<u8>> = bytes.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
        // Removes the empty text after the last line end.
        lines.pop_if(|last| last.is_empty());
        Ok(Ncrc { lines, before })
    }

    /// Returns the value of a key. Later lines take precedence.
    fn get(&self, key: &str) -> Option<&[u8]> {
        self.lines.iter().rev().find_map(|line| value(line, key))
    }

    /// Returns the library of a slot.
    pub fn library_of(&self, slot: u8) -> Option<String> {
        self.get(&key(slot, "LIBRARY")).map(|path| String::from_utf8_lossy(path).into_owned())
    }

    /// Returns true if a slot's entry point is one of ours.
    pub fn is_ours(&self, slot: u8) -> bool {
        self.get(&key(slot, "INIT")) == Some(entry_point(slot).as_bytes())
    }

    /// Removes the lines of all our slots.
    pub fn clear(&mut self) {
        let ours: Vec<u8> = SLOTS.filter(|slot| self.is_ours(*slot)).collect();
        let is_ours = |line: &[u8]| {
            line == TITLE
                || ours.iter().any(|slot| {
                    ["LIBRARY", "INIT", "MAGIC"].iter().any(|kind| value(line, &key(*slot, kind)).is_some())
                })
        };
        self.lines.retain(|line| !is_ours(line));
    }

    /// Returns the slots of the library, with its path in each.
    pub fn ours(&self) -> Vec<(u8, String)> {
        SLOTS.filter(|slot| self.is_ours(*slot)).filter_map(|n| Some((n, self.library_of(n)?))).collect()
    }

    /// Returns the slots without a library.
    pub fn free(&self) -> Vec<u8> {
        SLOTS.filter(|slot| self.library_of(*slot).is_none()).collect()
    }

    /// Sets the library for a slot, and removes it from others.
    ///
    /// # Errors
    /// A path that the file cannot hold.
    pub fn set(&mut self, slot: u8, library: &Path) -> Result<(), NcrcError> {
        let library = library.as_os_str().as_encoded_bytes();
        if library.iter().any(u8::is_ascii_control) || library.trim_ascii() != library {
            return Err(NcrcError::Unsayable);
        }
        self.clear();
        let line = |kind, value: &[u8]| [key(slot, kind).as_bytes(), b"=", value].concat();
        self.lines.extend([
            TITLE.to_vec(),
            line("LIBRARY", library),
            line("INIT", entry_point(slot).as_bytes()),
            line("MAGIC", MAGIC),
        ]);
        Ok(())
    }

    /// Writes the file if it changes, by replacing it with a new one. Returns whether it changed.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<bool, NcrcError> {
        let mut bytes = self.lines.join(&b'\n');
        if !self.lines.is_empty() {
            bytes.push(b'\n');
        }
        let same_but_for_the_end = self.before.as_ref().is_some_and(|before| {
            *before == bytes || before.len() + 1 == bytes.len() && bytes.starts_with(before)
        });
        if same_but_for_the_end || self.before.is_none() && bytes.is_empty() {
            return Ok(false);
        }
        self.replace(path, &bytes).map_err(|source| NcrcError::Write { path: path.to_owned(), source })?;
        Ok(true)
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        // A symbolic link is kept.
        let target: PathBuf = if self.before.is_some() { path.canonicalize()? } else { path.to_owned() };
        let folder = target.parent().ok_or_else(|| io::Error::other("it has no directory"))?;
        let mut file = tempfile::Builder::new().prefix(".ncrc-").tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        if let Ok(present) = fs::metadata(&target) {
            file.as_file().set_permissions(present.permissions())?;
        }
        file.persist(&target).map_err(io::Error::other)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(ncrc: &Ncrc) -> String {
        String::from_utf8_lossy(&ncrc.lines.join(&b'\n')).into_owned()
    }

    #[test]
    fn other_lines_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".ncrc");
        let other = b"# mine\nHTTP.VERBOSE=1\nNETCDF.UDF0.LIBRARY=/x.so\nNETCDF.UDF0.INIT=other_init\nlast";
        fs::write(&path, other).unwrap();
        let mut ncrc = Ncrc::read(&path).unwrap();
        assert!(!ncrc.is_ours(0) && ncrc.library_of(0).as_deref() == Some("/x.so"));
        ncrc.set(9, Path::new("/a/libnc3z_netcdf_plugin.so")).unwrap();
        assert!(ncrc.write(&path).unwrap());
        let installed = fs::read(&path).unwrap();
        assert!(installed.starts_with(other) && installed.ends_with(b"NETCDF.UDF9.MAGIC=\x89NC3Z\n"));
        // Setting it again changes nothing; setting another slot replaces the first.
        let mut again = Ncrc::read(&path).unwrap();
        again.set(9, Path::new("/a/libnc3z_netcdf_plugin.so")).unwrap();
        assert!(!again.write(&path).unwrap());
        again.set(4, Path::new("/b/libnc3z_netcdf_plugin.so")).unwrap();
        assert!(again.is_ours(4) && !text(&again).contains("UDF9"));
        again.clear();
        assert!(again.write(&path).unwrap());
        assert_eq!(fs::read(&path).unwrap(), [other.as_slice(), b"\n"].concat());
    }

    #[test]
    fn what_the_file_cannot_hold_is_refused() {
        let mut ncrc = Ncrc { lines: Vec::new(), before: None };
        assert!(ncrc.set(9, Path::new("/a\nb.so")).is_err());
        assert!(ncrc.set(9, Path::new("/a b.so")).is_ok());
    }
}
