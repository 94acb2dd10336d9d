//! Refuses mount points that hide the source or are inside it: the server would wait for its own answers.

use std::io;
use std::path::{Path, PathBuf};

/// Refuses a mount point that is the source, is below it, or is a directory above it, by any name that it has. Both
/// paths are canonical.
pub(super) fn refuse(mountpoint: &Path, source: &Path) -> io::Result<()> {
    let mounts = mounts();
    let is_below = |a: &Path, b: &Path| names_of(a, &mounts).iter().any(|name| name.starts_with(b));
    let why = if mountpoint == source {
        "it is the source itself"
    } else if is_below(mountpoint, source) {
        "it is inside the source"
    } else if is_below(source, mountpoint) {
        "the source is inside it"
    } else {
        return Ok(());
    };
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{why}, and the mount would show itself; mount at a directory elsewhere"),
    ))
}

/// A mounted file system, or a part of one (a bind mount).
struct Mount {
    device: String,
    /// The mounted directory's path in its file system.
    root: PathBuf,
    place: PathBuf,
}

/// Returns all paths that lead to a file: one for each mount that shows it.
fn names_of(path: &Path, mounts: &[Mount]) -> Vec<PathBuf> {
    let mut names = vec![path.to_owned()];
    // Of several mounts at one place, the last one is visible.
    let own = mounts.iter().rev().filter(|mount| path.starts_with(&mount.place));
    let own = own.reduce(|a, b| if b.place.as_os_str().len() > a.place.as_os_str().len() { b } else { a });
    let Some(own) = own else { return names };
    let Ok(rest) = path.strip_prefix(&own.place) else { return names };
    let inner = own.root.join(rest);
    for other in mounts.iter().filter(|mount| mount.device == own.device) {
        if let Ok(rest) = inner.strip_prefix(&other.root) {
            names.push(other.place.join(rest));
        }
    }
    names
}

/// Returns the device of the file system that is mounted at a path, such as `0:42`, by the system's list of mounts. A look at the path itself
/// would be a request to that file system: a process that serves it and is killed meanwhile waits for its own answer for ever.
pub(super) fn device_at(mountpoint: &Path) -> Option<String> {
    mounts().into_iter().rev().find(|mount| mount.place == mountpoint).map(|mount| mount.device)
}

/// Returns the mounts of this process. Empty on systems that do not list them in this way.
fn mounts() -> Vec<Mount> {
    let text = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    text.split(|b| *b == b'\n').filter_map(mount_of).collect()
}

/// Parses a line: number, parent, device, root, place, and more, between blanks.
fn mount_of(line: &[u8]) -> Option<Mount> {
    let mut words = line.split(|b| *b == b' ').skip(2);
    let device = String::from_utf8(words.next()?.to_vec()).ok()?;
    Some(Mount { device, root: unescaped(words.next()?), place: unescaped(words.next()?) })
}

/// Returns a path whose blanks, line ends and backslashes are written as `\040`.
fn unescaped(mut word: &[u8]) -> PathBuf {
    let mut path = Vec::with_capacity(word.len());
    while let Some((&first, rest)) = word.split_first() {
        let code = (first == b'\\').then(|| rest.get(..3)).flatten();
        let code = code.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        path.push(code.unwrap_or(first));
        word = if code.is_some() { &rest[3..] } else { rest };
    }
    nc3z_reader::platform::path_of(&path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mount_that_shows_a_file_gives_a_name() {
        let lines = [
            "22 1 8:1 / / rw - ext4 /dev/sda1 rw",
            "23 22 8:1 /data/a\\040b /mnt/x rw - ext4 /dev/sda1 rw",
            "24 22 0:5 / /mnt/other rw - tmpfs none rw",
            "",
        ];
        let mounts: Vec<Mount> = lines.iter().filter_map(|line| mount_of(line.as_bytes())).collect();
        assert_eq!(mounts.len(), 3);
        let names = |path: &str| names_of(Path::new(path), &mounts);
        assert!(names("/mnt/x/inner").contains(&"/data/a b/inner".into()));
        assert!(names("/data/a b/c").contains(&"/mnt/x/c".into()));
        assert_eq!(names("/mnt/other/d"), [PathBuf::from("/mnt/other/d"), "/mnt/other/d".into()]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_device_of_a_mount_is_listed() {
        use std::os::unix::fs::MetadataExt;
        let device = std::fs::metadata("/proc").unwrap().dev();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        assert_eq!(device_at(Path::new("/proc")), Some(format!("{major}:{minor}")));
        assert_eq!(device_at(Path::new("/proc/self")), None);
    }
}
