//! What belongs to the files and directories of a tree besides their bytes: owner, group, mode, ACL, and the attributes of users. Two text
//! files have it, in the notation of `getfacl -n -R` and `getfattr -R -d -e hex`, so that `setfacl --restore` and `setfattr --restore` read
//! them, too:
//!
//! ```text
//! acl.txt      # file: 1979/a.nc       xattr.txt    # file: 1979/a.nc
//!              # owner: 1000                        user.comment=0x6f6c64
//!              # group: 100
//!              user::rw-
//!              user:1001:r--
//!              group::r--
//!              mask::r--
//!              other::---
//! ```
//! Names are relative to the root of the tree. Attributes outside of `user.` are those of the system, and are left out.

use crate::tree::error::Context as _;
use crate::tree::refusal::Refusal;
use crate::tree::{Error, Result};
use nc3z_format::bytes::hex;
use nc3z_reader::platform::path_of;
use nc3z_writer::AtomicFile;
use std::fmt::Write as _;
use std::fs::{File, Metadata};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Component, Path, PathBuf};
use walkdir::WalkDir;

/// The names of the two files.
pub const FILES: [&str; 2] = ["acl.txt", "xattr.txt"];

/// The two kinds of ACLs: the prefix of their lines, and the attribute with their bytes.
const KINDS: [(&str, &str); 2] = [("", "system.posix_acl_access"), ("default:", "system.posix_acl_default")];
/// The words for the tags of entries.
const TAGS: [(u16, &str); 6] =
    [(1, "user"), (2, "user"), (4, "group"), (8, "group"), (0x10, "mask"), (0x20, "other")];
/// The version in the bytes of an ACL.
const VERSION: [u8; 4] = 2_u32.to_le_bytes();
/// The ID of an entry that has none.
const NO_ID: u32 = u32::MAX;
/// The beginning of the line with a file's name.
const NAME: &str = "# file: ";
/// The attribute of an ACL of another kind, which is not POSIX.
const OTHER_ACL: &str = "system.nfs4_acl";

/// The results of a run.
#[derive(Debug, Default)]
pub struct Done {
    /// The number of files and directories.
    pub files: u64,
    /// Those of them that have an NFSv4 ACL, which is left out.
    pub other_acls: u64,
    /// Files and directories whose attributes could not be read, or not be set.
    pub failures: Vec<(PathBuf, Error)>,
}

/// An entry of an ACL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    tag: u16,
    id: u32,
    permissions: u16,
}

/// A file of `acl.txt`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Block {
    owner: Option<u32>,
    group: Option<u32>,
    /// The bits of setuid, setgid and sticky.
    flags: u32,
    /// The ACL, and the default ACL of a directory.
    acls: [Vec<Entry>; 2],
}

/// Writes both files about all files and directories of `roots` into `directory`. Entries that are there stay if their
/// files are gone: their archives may be all that is left of them.
///
/// # Errors
/// A file cannot be written, or the system has no such attributes. Files that cannot be read are in the result.
pub fn write(roots: &[PathBuf], directory: &Path) -> Result<Done> {
    let mut done = Done::default();
    let paths = FILES.map(|name| directory.join(name));
    let targets = [
        AtomicFile::create_with_mode(&paths[0], true, 0o600)?,
        AtomicFile::create_with_mode(&paths[1], true, 0o600)?,
    ];
    let mut acls = BufWriter::new(targets[0].file());
    let mut attributes = BufWriter::new(targets[1].file());
    for root in roots {
        for entry in WalkDir::new(root).follow_links(false).sort_by_file_name() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(e) => {
                    done.failures.push((e.path().unwrap_or(root).to_owned(), e.into()));
                    continue;
                }
            };
            let kind = entry.file_type();
            if !kind.is_file() && !kind.is_dir() {
                continue;
            }
            let name = entry.path().strip_prefix(root).unwrap_or(entry.path());
            let name = if name.as_os_str().is_empty() { Path::new(".") } else { name };
            match of_file(entry.path(), name, &mut done) {
                Ok([acl, own]) => {
                    done.files += 1;
                    let writing = |n: usize| format!("write `{}`", paths[n].display());
                    acls.write_all(&acl).with_context(|| writing(0))?;
                    attributes.write_all(&own).with_context(|| writing(1))?;
                }
                Err(e) => done.failures.push((entry.path().to_owned(), e)),
            }
        }
    }
    for (path, out) in paths.iter().zip([&mut acls, &mut attributes]) {
        keep(path, roots, out)?;
    }
    for (n, out) in [acls, attributes].iter_mut().enumerate() {
        out.flush().with_context(|| format!("write `{}`", paths[n].display()))?;
    }
    for target in targets {
        target.commit(None)?;
    }
    Ok(done)
}

/// Writes the entries of an older text whose files are in none of the roots.
fn keep(older: &Path, roots: &[PathBuf], out: &mut impl Write) -> Result<()> {
    if !older.exists() {
        return Ok(());
    }
    let mut written = Ok(());
    each_block(older, &mut |name, lines| {
        let is_there = roots.iter().any(|root| root.join(name).symlink_metadata().is_ok());
        if !is_there && written.is_ok() {
            let mut text = NAME.as_bytes().to_vec();
            quote(name, &mut text);
            for line in lines {
                text.push(b'\n');
                text.extend_from_slice(line);
            }
            text.extend_from_slice(b"\n\n");
            written = out.write_all(&text);
        }
        Some(())
    })?;
    written.with_context(|| format!("write `{}`", older.display()))
}

/// Returns the text about a file in both files.
fn of_file(path: &Path, name: &Path, done: &mut Done) -> Result<[Vec<u8>; 2]> {
    let looking = || format!("read the attributes of `{}`", path.display());
    let meta = path.symlink_metadata().with_context(looking)?;
    let names = sys::names(path).with_context(looking)?;
    let block = Block::read(path, &meta, &names).with_context(looking)?;
    let mut head = NAME.as_bytes().to_vec();
    quote(name, &mut head);
    let mut acl = head.clone();
    acl.extend_from_slice(block.to_text().as_bytes());
    let mut own = Vec::new();
    for attribute in names.iter().filter(|name| name.starts_with(b"user.")) {
        let value = sys::get(path, attribute).with_context(looking)?.unwrap_or_default();
        if own.is_empty() {
            own.extend_from_slice(&head);
            own.push(b'\n');
        }
        quote(&path_of(attribute), &mut own);
        own.extend_from_slice(format!("=0x{}\n", hex(&value)).as_bytes());
    }
    if !own.is_empty() {
        own.push(b'\n');
    }
    done.other_acls += u64::from(names.iter().any(|name| name == OTHER_ACL.as_bytes()));
    Ok([acl, own])
}

/// Sets the owners, modes, ACLs and attributes of files and directories below `root`, which the files in `directory` list. Directories are
/// set last, inner ones first. Listed names that do not exist below `root` are left out.
///
/// # Errors
/// One of the files in `directory` cannot be read, or is not in the notation. Changes that the system refuses are in the result.
pub fn apply(directory: &Path, root: &Path) -> Result<Done> {
    let mut done = Done::default();
    each_block(&directory.join(FILES[1]), &mut |name, lines| {
        let Some((path, meta)) = target(root, name) else { return Some(()) };
        let values: Vec<_> = lines.iter().map(|line| attribute(line)).collect::<Option<_>>()?;
        if let Err(e) = set_attributes(&path, &meta, &values) {
            done.failures.push((path, e));
        }
        Some(())
    })?;
    let mut directories = Vec::new();
    each_block(&directory.join(FILES[0]), &mut |name, lines| {
        let block = Block::parse(lines)?;
        let Some((path, meta)) = target(root, name) else { return Some(()) };
        if meta.is_dir() {
            directories.push((path, block));
        } else {
            done.note(block.apply(&path), path);
        }
        Some(())
    })?;
    for (path, block) in directories.into_iter().rev() {
        done.note(block.apply(&path), path);
    }
    Ok(done)
}

impl Done {
    fn note(&mut self, result: Result<()>, path: PathBuf) {
        match result {
            Ok(()) => self.files += 1,
            Err(e) => self.failures.push((path, e)),
        }
    }
}

/// Returns the file or directory that a name is in the restored tree; none for a link, and where there is none.
fn target(root: &Path, name: &Path) -> Option<(PathBuf, Metadata)> {
    if !name.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return None;
    }
    let path = if name == Path::new(".") { root.to_owned() } else { root.join(name) };
    let meta = path.symlink_metadata().ok()?;
    (meta.is_file() || meta.is_dir()).then_some((path, meta))
}

/// Sets attributes of users. A file that its owner may not write to is writable meanwhile.
fn set_attributes(path: &Path, meta: &Metadata, values: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
    let setting = || format!("set the attributes of `{}`", path.display());
    let mode = sys::mode(meta);
    if mode & 0o200 == 0 {
        sys::set_mode(path, mode | 0o200).with_context(setting)?;
    }
    let set = values.iter().try_for_each(|(name, value)| sys::set(path, name, value));
    if mode & 0o200 == 0 {
        sys::set_mode(path, mode).with_context(setting)?;
    }
    set.with_context(setting)
}

/// Calls `with` for each file of a text: its name, and the lines behind it.
fn each_block(path: &Path, with: &mut dyn FnMut(&Path, &[Vec<u8>]) -> Option<()>) -> Result<()> {
    let reading = || format!("read `{}`", path.display());
    let (mut name, mut lines, mut number) = (None::<PathBuf>, Vec::new(), 0_u64);
    let mut end = |name: &mut Option<PathBuf>, lines: &mut Vec<Vec<u8>>, number: u64| {
        let given = name.take().map_or(Some(()), |name| with(&name, lines));
        lines.clear();
        given.ok_or_else(|| Error::from(Refusal::NoAcl { path: path.to_owned(), line: number }))
    };
    for line in BufReader::new(File::open(path).with_context(reading)?).split(b'\n') {
        let line = line.with_context(reading)?;
        number += 1;
        if let Some(quoted) = line.strip_prefix(NAME.as_bytes()) {
            end(&mut name, &mut lines, number)?;
            name = Some(path_of(&unquoted(quoted)));
        } else if !line.is_empty() {
            lines.push(line);
        }
    }
    end(&mut name, &mut lines, number)
}

impl Block {
    fn read(path: &Path, meta: &Metadata, names: &[Vec<u8>]) -> std::io::Result<Self> {
        let (owner, group) = sys::owner(meta);
        let mode = sys::mode(meta);
        let mut block = Block {
            owner: Some(owner),
            group: Some(group),
            flags: mode & 0o7000,
            acls: <[Vec<Entry>; 2]>::default(),
        };
        for ((_, attribute), acl) in KINDS.iter().zip(&mut block.acls) {
            if names.iter().any(|name| name == attribute.as_bytes()) {
                let bytes = sys::get(path, attribute.as_bytes())?.unwrap_or_default();
                *acl = entries(&bytes).ok_or(std::io::ErrorKind::InvalidData)?;
            }
        }
        if block.acls[0].is_empty() {
            let entry = |(tag, shift): (u16, u32)| {
                let permissions = u16::try_from(mode >> shift & 7).expect("three bits");
                Entry { tag, id: NO_ID, permissions }
            };
            block.acls[0] = [(1, 6), (4, 3), (0x20, 0)].map(entry).to_vec();
        }
        Ok(block)
    }

    /// Returns the lines behind the name, and an empty one.
    fn to_text(&self) -> String {
        let mut out = String::from("\n");
        for (word, id) in [("owner", self.owner), ("group", self.group)] {
            out.extend(id.map(|id| format!("# {word}: {id}\n")));
        }
        if self.flags != 0 {
            let flag = |bit: u32, letter: char| if self.flags & bit != 0 { letter } else { '-' };
            let flags: String = [flag(0o4000, 's'), flag(0o2000, 's'), flag(0o1000, 't')].iter().collect();
            let _ = writeln!(out, "# flags: {flags}");
        }
        for ((prefix, _), acl) in KINDS.iter().zip(&self.acls) {
            for Entry { tag, id, permissions } in acl {
                let word = TAGS.iter().find(|(known, _)| known == tag).map_or("", |(_, word)| word);
                let id = if *id == NO_ID { String::new() } else { id.to_string() };
                let letter = |bit: u16, letter: char| if permissions & bit != 0 { letter } else { '-' };
                let letters: String = [letter(4, 'r'), letter(2, 'w'), letter(1, 'x')].iter().collect();
                let _ = writeln!(out, "{prefix}{word}:{id}:{letters}");
            }
        }
        out.push('\n');
        out
    }

    fn parse(lines: &[Vec<u8>]) -> Option<Self> {
        let mut block = Block::default();
        for line in lines {
            let line = std::str::from_utf8(line).ok()?;
            if let Some(comment) = line.strip_prefix("# ") {
                match comment.split_once(": ")? {
                    ("owner", id) => block.owner = Some(id.parse().ok()?),
                    ("group", id) => block.group = Some(id.parse().ok()?),
                    ("flags", flags) => {
                        let bits = flags.chars().zip([0o4000, 0o2000, 0o1000]);
                        block.flags = bits.filter(|(c, _)| *c != '-').map(|(_, bit)| bit).sum();
                    }
                    _ => return None,
                }
                continue;
            }
            // `getfacl` adds the permissions that the mask leaves.
            let line = line.split('\t').next()?;
            let (kind, line) = line.strip_prefix(KINDS[1].0).map_or((0, line), |line| (1, line));
            let mut fields = line.split(':');
            let (word, id, letters) = (fields.next()?, fields.next()?, fields.next()?);
            let tag = TAGS.iter().filter(|(_, known)| *known == word).nth(usize::from(!id.is_empty()))?.0;
            let id = if id.is_empty() { NO_ID } else { id.parse().ok()? };
            let permissions = letters.bytes().try_fold(0, |all, letter| {
                Some(
                    all | match letter {
                        b'r' => 4,
                        b'w' => 2,
                        b'x' => 1,
                        b'-' => 0,
                        _ => return None,
                    },
                )
            })?;
            block.acls[kind].push(Entry { tag, id, permissions });
        }
        Some(block)
    }

    /// Gives a file or directory what the block says.
    fn apply(&self, path: &Path) -> Result<()> {
        let setting = || format!("set owner, mode and ACL of `{}`", path.display());
        let meta = path.symlink_metadata().with_context(setting)?;
        let (owner, group) = sys::owner(&meta);
        let changed = (self.owner.filter(|id| *id != owner), self.group.filter(|id| *id != group));
        let owned = if changed == (None, None) { Ok(()) } else { sys::set_owner(path, changed.0, changed.1) };
        let permissions = |tags: &[u16]| {
            let found = tags.iter().find_map(|tag| self.acls[0].iter().find(|entry| entry.tag == *tag));
            u32::from(found.map_or(0, |entry| entry.permissions))
        };
        // If the ACL cannot be set, the group has no more than its entry and the mask allow. The system sets these bits with the ACL.
        let mode = permissions(&[1]) << 6
            | (permissions(&[4]) & permissions(&[0x10, 4])) << 3
            | permissions(&[0x20]);
        let is_plain = self.acls[0].iter().all(|entry| matches!(entry.tag, 1 | 4 | 0x20));
        let modes = || {
            // A directory may have inherited a default ACL from the one in which it was restored.
            KINDS.iter().for_each(|(_, attribute)| sys::remove(path, attribute.as_bytes()));
            if !self.acls[0].is_empty() {
                sys::set_mode(path, mode | self.flags)?;
            }
            for (n, ((_, attribute), acl)) in KINDS.iter().zip(&self.acls).enumerate() {
                let is_in_mode = n == 0 && is_plain;
                if !acl.is_empty() && !is_in_mode {
                    sys::set(path, attribute.as_bytes(), &bytes_of(acl))?;
                }
            }
            Ok(())
        };
        // A mode is set also where the owner may not be.
        modes().and(owned).with_context(setting)
    }
}

/// Parses the bytes of an ACL.
fn entries(bytes: &[u8]) -> Option<Vec<Entry>> {
    let (records, rest) = bytes.strip_prefix(&VERSION)?.as_chunks::<8>();
    let entry = |r: &[u8; 8]| Entry {
        tag: u16::from_le_bytes([r[0], r[1]]),
        permissions: u16::from_le_bytes([r[2], r[3]]),
        id: u32::from_le_bytes([r[4], r[5], r[6], r[7]]),
    };
    rest.is_empty().then(|| records.iter().map(entry).collect())
}

fn bytes_of(acl: &[Entry]) -> Vec<u8> {
    let mut out = VERSION.to_vec();
    for Entry { tag, id, permissions } in acl {
        out.extend_from_slice(&tag.to_le_bytes());
        out.extend_from_slice(&permissions.to_le_bytes());
        out.extend_from_slice(&id.to_le_bytes());
    }
    out
}

/// Parses a line of `xattr.txt`.
fn attribute(line: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let at = line.iter().position(|&b| b == b'=')?;
    let digits = std::str::from_utf8(line[at + 1..].strip_prefix(b"0x")?).ok()?;
    let name = unquoted(&line[..at]);
    name.starts_with(b"user.").then_some((name, crate::tree::journal::unhex(digits)?))
}

/// Appends a name, in which a line break, a backslash and `=` are octal digits.
fn quote(name: &Path, out: &mut Vec<u8>) {
    for &byte in name.as_os_str().as_encoded_bytes() {
        if matches!(byte, b'\n' | b'\r' | b'\\' | b'=') {
            out.extend_from_slice(format!("\\{byte:03o}").as_bytes());
        } else {
            out.push(byte);
        }
    }
}

/// Returns a name without octal digits. `getfacl` writes a backslash as two.
fn unquoted(text: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some((&first, more)) = rest.split_first() {
        let octal = |digits: &[u8]| {
            let digits = digits.iter().map(|d| (b'0'..=b'7').contains(d).then(|| u32::from(d - b'0')));
            let value = digits.collect::<Option<Vec<u32>>>()?.iter().fold(0, |all, digit| all * 8 + digit);
            u8::try_from(value).ok()
        };
        match (first, more.first(), more.get(..3).and_then(octal)) {
            (b'\\', _, Some(byte)) => {
                out.push(byte);
                rest = &more[3..];
            }
            (b'\\', Some(b'\\'), _) => {
                out.push(b'\\');
                rest = &more[1..];
            }
            _ => {
                out.push(first);
                rest = more;
            }
        }
    }
    out
}

/// The calls of Linux. Links are never followed.
#[cfg(target_os = "linux")]
mod sys {
    use rustix::io::Errno;
    use std::ffi::OsStr;
    use std::fs::{Metadata, Permissions};
    use std::io::Result;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
    use std::path::Path;

    /// The largest length of a value, and of all names of a file.
    const LARGEST: usize = 64 << 10;

    /// Returns the names of all attributes; none where the file system has no attributes.
    pub(super) fn names(path: &Path) -> Result<Vec<Vec<u8>>> {
        let mut all = vec![0_u8; LARGEST];
        match rustix::fs::llistxattr(path, &mut all[..]) {
            Ok(len) => Ok(all[..len]
                .split(|&b| b == 0)
                .filter(|name| !name.is_empty())
                .map(<[u8]>::to_vec)
                .collect()),
            Err(Errno::OPNOTSUPP) => Ok(Vec::new()),
            Err(e) => Err(e.into()),
        }
    }

    pub(super) fn get(path: &Path, name: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut value = vec![0_u8; LARGEST];
        match rustix::fs::lgetxattr(path, OsStr::from_bytes(name), &mut value[..]) {
            Ok(len) => {
                value.truncate(len);
                Ok(Some(value))
            }
            Err(Errno::NODATA) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    pub(super) fn set(path: &Path, name: &[u8], value: &[u8]) -> Result<()> {
        Ok(rustix::fs::lsetxattr(path, OsStr::from_bytes(name), value, rustix::fs::XattrFlags::empty())?)
    }

    /// Removes an attribute, if there is one.
    pub(super) fn remove(path: &Path, name: &[u8]) {
        let _ = rustix::fs::lremovexattr(path, OsStr::from_bytes(name));
    }

    pub(super) fn owner(meta: &Metadata) -> (u32, u32) {
        (meta.uid(), meta.gid())
    }

    pub(super) fn set_owner(path: &Path, owner: Option<u32>, group: Option<u32>) -> Result<()> {
        lchown(path, owner, group)
    }

    pub(super) fn mode(meta: &Metadata) -> u32 {
        meta.mode() & 0o7777
    }

    pub(super) fn set_mode(path: &Path, mode: u32) -> Result<()> {
        std::fs::set_permissions(path, Permissions::from_mode(mode))
    }
}

/// Other systems have other attributes.
#[cfg(not(target_os = "linux"))]
mod sys {
    use std::fs::Metadata;
    use std::io::{ErrorKind, Result};
    use std::path::Path;

    pub(super) fn names(_: &Path) -> Result<Vec<Vec<u8>>> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(super) fn get(_: &Path, _: &[u8]) -> Result<Option<Vec<u8>>> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(super) fn set(_: &Path, _: &[u8], _: &[u8]) -> Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(super) fn remove(_: &Path, _: &[u8]) {}

    pub(super) fn owner(_: &Metadata) -> (u32, u32) {
        (0, 0)
    }

    pub(super) fn set_owner(_: &Path, _: Option<u32>, _: Option<u32>) -> Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    pub(super) fn mode(_: &Metadata) -> u32 {
        0o600
    }

    pub(super) fn set_mode(_: &Path, _: u32) -> Result<()> {
        Err(ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_written_as_they_are_read() {
        let text = "\n# owner: 77\n# group: 88\n# flags: -s-\nuser::rw-\nuser:1234:rwx\ngroup::r--\nmask::r--\nother::---\ndefault:user::rwx\n\n";
        let lines: Vec<Vec<u8>> =
            text.lines().filter(|l| !l.is_empty()).map(|l| l.as_bytes().to_vec()).collect();
        let block = Block::parse(&lines).unwrap();
        assert_eq!((block.owner, block.group, block.flags), (Some(77), Some(88), 0o2000));
        assert_eq!(block.acls[0][1], Entry { tag: 2, id: 1234, permissions: 7 });
        assert_eq!(block.to_text(), text);
        assert_eq!(entries(&bytes_of(&block.acls[0])).unwrap(), block.acls[0]);
        for bad in ["# owner: root", "user:x:rwx", "user::rwz", "owner::r--", "# other", "mask:7:r--"] {
            assert!(Block::parse(&[bad.as_bytes().to_vec()]).is_none(), "{bad}");
        }
        assert!(entries(b"\x02\0\0\0\x01").is_none() && entries(b"\x01\0\0\0").is_none());
    }

    #[test]
    fn names_are_quoted() {
        let name = b"a\\b\nc=\xff d";
        let mut quoted = Vec::new();
        quote(&path_of(name), &mut quoted);
        assert_eq!(quoted, b"a\\134b\\012c\\075\xff d");
        assert_eq!(unquoted(&quoted), name);
        assert_eq!(unquoted(b"a\\\\b"), b"a\\b");
        assert_eq!(attribute(b"user.a\\075=0x00ff").unwrap(), (b"user.a=".to_vec(), vec![0, 255]));
        assert!(attribute(b"trusted.a=0x00").is_none() && attribute(b"user.a=\"x\"").is_none());
    }
}
