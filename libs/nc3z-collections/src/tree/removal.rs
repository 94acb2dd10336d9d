//! `--remove-source`: deletes a source only if nothing indicates that it differs from its archive.
//!
//! A program that writes through a memory map changes the modification time of the file only once for each
//! page, until the page is written back. Therefore pages are written back before the source is read, the
//! source's bytes are compared again before it is deleted, and a file that another process can write to is
//! kept. Not covered are a process of another user or container, which this process cannot see, and what such
//! a process writes after the comparison.

use crate::tree::Result;
use crate::tree::error::Context as _;
use crate::tree::refusal::{Refusal, SourceKept};
use nc3z_reader::source::{self, Stamp, open_regular};
use nc3z_reader::{Archive, Monitor, OpenOptions, platform, verify};
use nc3z_writer::ArchiveReport;
use sha2::{Digest, Sha256};
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;

/// The number of bytes hashed at a time.
const PIECE: usize = 1 << 20;

/// Writes back changes of other processes through memory maps, so that later changes are visible in the
/// file's times.
pub fn prepare(input: &Path) {
    // A file that cannot be opened is reported when it is read.
    if let Ok(file) = open_regular(input) {
        let _ = file.sync_data();
    }
}

/// Deletes the source, if its name still refers to the file that was archived, with the bytes that the
/// archive contains, and no other process can write to it.
pub fn remove(input: &Path, before: Option<&Metadata>, done: &ArchiveReport) -> Result<()> {
    let file = open_regular(input).with_context(|| format!("open `{}`", input.display()))?;
    let look = || file.metadata().with_context(|| format!("look at `{}`", input.display()));
    file.sync_data().with_context(|| format!("sync `{}`", input.display()))?;
    check_same(before, &look()?)?;
    if let Some(process) = writer_of(&look()?) {
        return Err(SourceKept::Open(process).into());
    }
    if hash(&file).with_context(|| format!("read `{}`", input.display()))? != done.sha256 {
        return Err(SourceKept::Written.into());
    }
    check_same(before, &look()?)?;
    std::fs::remove_file(input).with_context(|| format!("remove `{}`", input.display()))
}

/// Deletes the source of an archive that an earlier run has written, after both were read again and compared. A source that does not
/// exist was removed before.
pub fn remove_archived(
    input: &Path,
    archive: &Path,
    options: &OpenOptions,
    monitor: &dyn Monitor,
) -> Result<()> {
    if input.symlink_metadata().is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound) {
        return Ok(());
    }
    let before = compare(archive, input, options, monitor)?;
    let now = std::fs::metadata(input).with_context(|| format!("look at `{}`", input.display()))?;
    check_same(Some(&before), &now)?;
    std::fs::remove_file(input).with_context(|| format!("remove `{}`", input.display()))
}

/// Reads archive and file, and compares all bytes. Returns the metadata of the file, to which no other process may write.
pub(in crate::tree) fn compare(
    archive: &Path,
    file: &Path,
    options: &OpenOptions,
    monitor: &dyn Monitor,
) -> Result<Metadata> {
    prepare(file);
    let opened = open_regular(file).with_context(|| format!("open `{}`", file.display()))?;
    let look = || opened.metadata().with_context(|| format!("look at `{}`", file.display()));
    let before = look()?;
    if let Some(process) = writer_of(&before) {
        return Err(SourceKept::Open(process).into());
    }
    // By position: a failing disk gives an error and no signal.
    let opening = || format!("open `{}`", archive.display());
    let source = source::open(archive, false).with_context(opening)?;
    let held = Archive::from_source(source.clone(), options).with_context(opening)?;
    // The comparison does not need all bytes, such as second copies and parity.
    if !verify::quick(&source, options, monitor)?.is_sound() {
        return Err(Refusal::Damaged { archive: archive.to_owned(), file: file.to_owned() }.into());
    }
    let difference = held.compare_original(&opened, file, monitor)?;
    if difference.is_some() {
        return Err(Refusal::NotEqual { archive: archive.to_owned(), file: file.to_owned() }.into());
    }
    let now = look()?;
    if Stamp::new(&before).change(&now).is_some() {
        return Err(SourceKept::Written.into());
    }
    Ok(now)
}

fn check_same(before: Option<&Metadata>, now: &Metadata) -> Result<()> {
    let is_same = |before: &Metadata| {
        platform::identity(before) == platform::identity(now) && Stamp::new(before).change(now).is_none()
    };
    if before.is_some_and(is_same) {
        return Ok(());
    }
    Err(SourceKept::Replaced.into())
}

fn hash(mut file: &File) -> std::io::Result<[u8; 32]> {
    let (mut sha, mut buffer) = (Sha256::new(), vec![0; PIECE]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(sha.finalize().into()),
            n => sha.update(&buffer[..n]),
        }
    }
}

/// Returns another process that has opened or mapped the file for writing, as far as the system shows it
/// (Linux).
fn writer_of(file: &Metadata) -> Option<u32> {
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(|&process| process != std::process::id()).find(|&process| writes(process, file))
}

#[cfg(unix)]
fn writes(process: u32, file: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let base = Path::new("/proc").join(process.to_string());
    let is_it =
        |path: &Path| std::fs::metadata(path).is_ok_and(|m| (m.dev(), m.ino()) == (file.dev(), file.ino()));
    let mut open = std::fs::read_dir(base.join("fd")).into_iter().flatten().flatten();
    let opened = open.any(|entry| {
        is_it(&entry.path()) && {
            let info = std::fs::read_to_string(base.join("fdinfo").join(entry.file_name()));
            // The access mode is the last two bits of the flags, in octal: 0 means read-only.
            let flags = info.unwrap_or_default();
            let flags = flags.lines().find_map(|l| l.strip_prefix("flags:"));
            flags.and_then(|f| u32::from_str_radix(f.trim(), 8).ok()).is_some_and(|f| f & 3 != 0)
        }
    });
    opened || maps_writable(&std::fs::read_to_string(base.join("maps")).unwrap_or_default(), file.ino())
}

#[cfg(not(unix))]
fn writes(_: u32, _: &Metadata) -> bool {
    false
}

/// Returns whether a list of maps has a shared writable map of this inode. (Device numbers are printed in
/// another form there: a file with the same number on another device is taken for this one, and the source is
/// then kept.)
#[cfg(unix)]
fn maps_writable(maps: &str, inode: u64) -> bool {
    maps.lines().any(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (mode, found) = (fields.nth(1).unwrap_or_default(), fields.nth(2).unwrap_or_default());
        mode.contains('w') && mode.ends_with('s') && found.parse() == Ok(inode)
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn shared_maps_that_can_be_written_are_found() {
        let maps = "7f0-7f1 rw-s 00000000 fd:01 77 /data/a.nc\n7f2-7f3 rw-p 0 fd:01 78 /b\n7f4-7f5 r--s 0 fd:01 79 /c\n";
        assert!(maps_writable(maps, 77));
        assert!(!maps_writable(maps, 78) && !maps_writable(maps, 79) && !maps_writable("", 77));
    }
}
