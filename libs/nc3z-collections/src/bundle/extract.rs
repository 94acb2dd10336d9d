//! Members of a bundle written as files of their own.

use super::{Bundle, Member, SUFFIX, Stamp, inside};
use crate::error::{Error, Result};
use crate::pack::{LostPart, PackedMember};
use nc3z_format::archive::constants::MAGIC;
use nc3z_reader::source::ByteSource;
use nc3z_reader::{Archive, OpenOptions};
use nc3z_writer::{AtomicFile, WriterOptions, archive_to};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The number of bytes copied at once.
const COPY_LEN: u64 = 4 << 20;

/// The form in which members are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberForm {
    /// Writes the original files.
    Originals,
    /// Archives, and other members as they are.
    Archives,
}

/// A member whose bytes are those of a file: a packed one, or one that is not an archive.
pub enum MemberFile {
    /// A member of a group.
    Packed(Box<PackedFile>),
    /// A file that is stored as it is.
    Stored {
        /// The name in the bundle.
        name: String,
        /// The stored bytes, with their CRC-32.
        member: Member,
    },
}

/// A packed member, and what the bundle records of its file.
pub struct PackedFile {
    /// The bytes of the original file.
    pub packed: PackedMember,
    sha256: [u8; 32],
    stamp: Stamp,
}

impl PackedFile {
    /// Gives all bytes to `to`. Returns whether they have the recorded SHA-256.
    fn copy(&self, to: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<bool> {
        let mut hash = Sha256::new();
        pieces(&self.packed, &mut |bytes| {
            hash.update(bytes);
            to(bytes)
        })?;
        Ok(hash.finalize()[..] == self.sha256)
    }

    /// Checks that the member has the bytes that were packed.
    ///
    /// # Errors
    /// It is damaged.
    pub(super) fn check(&self) -> Result<()> {
        if self.copy(&mut |_| Ok(()))? { Ok(()) } else { Err(damaged(self.packed.name()).into()) }
    }
}

impl MemberFile {
    /// The length of the file in bytes.
    #[expect(clippy::len_without_is_empty, reason = "a length, not that of a collection")]
    pub fn len(&self) -> u64 {
        self.source().len()
    }

    fn stamp(&self) -> Stamp {
        match self {
            MemberFile::Packed(file) => file.stamp,
            MemberFile::Stored { member, .. } => member.stamp(),
        }
    }

    fn source(&self) -> &dyn ByteSource {
        match self {
            MemberFile::Packed(file) => &file.packed,
            MemberFile::Stored { member, .. } => member,
        }
    }

    /// The checksum that the bundle records: its name. None in a tar.
    pub fn recorded(&self) -> Option<&'static str> {
        match self {
            MemberFile::Packed(_) => Some("SHA-256"),
            MemberFile::Stored { member, .. } => member.crc32().map(|_| "CRC-32"),
        }
    }

    /// Returns the parts of the file that reads replaced by fill values so far.
    ///
    /// # Errors
    /// As [`PackedMember::lost`].
    pub fn lost(&self) -> Result<Vec<LostPart>> {
        match self {
            MemberFile::Packed(file) => file.packed.lost(),
            MemberFile::Stored { .. } => Ok(Vec::new()),
        }
    }

    /// Gives all bytes of the file to `to`, and compares their recorded checksum, unless some are lost and filled. `to` must not keep
    /// them after an error.
    ///
    /// # Errors
    /// The member is damaged, or is another one than the recorded; errors of `to`.
    pub fn copy(&self, to: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match self {
            MemberFile::Packed(file) => {
                if file.copy(to)? || !file.packed.lost()?.is_empty() {
                    return Ok(());
                }
                Err(damaged(file.packed.name()).into())
            }
            MemberFile::Stored { name, member } => {
                let mut crc = crc32fast::Hasher::new();
                pieces(self.source(), &mut |bytes| {
                    crc.update(bytes);
                    to(bytes)
                })?;
                match (member.crc32(), crc.finalize()) {
                    (Some(expected), found) if expected != found => {
                        Err(another_crc32(name, expected, found).into())
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    /// Writes the file. Returns the parts that are lost and have fill values.
    ///
    /// # Errors
    /// As [`MemberFile::copy`]; the file exists or cannot be written.
    pub fn write(&self, target: &Path, force: bool) -> Result<Vec<LostPart>> {
        let target = parented(target.to_owned())?;
        let file = AtomicFile::create_with_mode(&target, force, 0o666)?;
        self.copy(&mut |bytes| file.file().write_all(bytes).map_err(Error::Output))?;
        let lost = self.lost()?;
        file.commit_as(self.stamp().attributes())?;
        Ok(lost)
    }
}

impl Bundle {
    /// Returns a member whose bytes are those of a file. None for an archive, and where no member has that name.
    ///
    /// # Errors
    /// As [`Bundle::member`].
    pub fn member_file(&self, name: &str) -> Result<Option<MemberFile>> {
        if let Some(file) = self.packed_file(name)? {
            return Ok(Some(MemberFile::Packed(Box::new(file))));
        }
        let Some(member) = self.recorded(name)? else { return Ok(None) };
        if is_archive(&member)? {
            return Ok(None);
        }
        Ok(Some(MemberFile::Stored { name: name.to_owned(), member }))
    }

    /// Returns a packed member with what the table records of its file. None where no packed member has that name.
    pub(super) fn packed_file(&self, name: &str) -> Result<Option<PackedFile>> {
        let Some((number, packed)) = self.packed_row(name)? else { return Ok(None) };
        let Some(container) = self.container() else { return Ok(None) };
        let (sha256, record) = (container.sha256(number)?, container.record(number)?);
        Ok(Some(PackedFile { packed, sha256, stamp: Stamp::of_head(&record) }))
    }

    /// Returns an error if two members would be written to the same file.
    ///
    /// # Errors
    /// There are two; a member cannot be read.
    pub fn check_outputs(&self, form: MemberForm) -> Result<()> {
        let names: HashSet<&str> = self.names()?.iter().map(String::as_str).collect();
        let twice = |one: &str, other: &str| {
            Error::refused(format!(
                "`{one}` and `{other}` would be the same file; write one of them by its name"
            ))
        };
        for name in &names {
            let Some(original) = name.strip_suffix(SUFFIX).filter(|original| names.contains(original)) else {
                continue;
            };
            // Of two members with these names only one is written under the name of the other.
            let is_same = match form {
                MemberForm::Archives => self.find(original, &self.source)?.is_none(),
                MemberForm::Originals => match self.find(name, &self.source)? {
                    Some(member) => is_archive(&member)?,
                    None => false,
                },
            };
            if is_same {
                return Err(twice(original, name));
            }
        }
        Ok(())
    }
}

/// Returns whether a source begins as an archive does.
pub(crate) fn is_archive(source: &dyn ByteSource) -> Result<bool> {
    let mut magic = [0; MAGIC.len()];
    if source.len() >= magic.len() as u64 {
        source.read_into(0, &mut magic)?;
    }
    Ok(magic == MAGIC)
}

/// Writes a member of a bundle into the directory `output`. `force` replaces files. Returns the parts that are lost and have fill
/// values, which only [`Bundle::filling_lost`] allows.
///
/// # Errors
/// The name leads out of the directory; the member cannot be read or is damaged; the file exists or cannot be written.
pub fn extract(
    bundle: &Bundle,
    name: &str,
    output: &Path,
    force: bool,
    form: MemberForm,
    open: &OpenOptions,
) -> Result<Vec<LostPart>> {
    let name_inside = inside("", name).filter(|n| !n.is_empty());
    let name_inside =
        name_inside.ok_or_else(|| Error::refused(format!("`{name}` leads out of the directory")))?;
    match (bundle.member_file(name)?, form) {
        (Some(MemberFile::Packed(file)), MemberForm::Archives) => {
            file.check()?;
            let PackedFile { packed, stamp, .. } = *file;
            let target = parented(output.join(format!("{name_inside}{SUFFIX}")))?;
            let file = AtomicFile::create_with_mode(&target, force, 0o666)?;
            archive_to(Arc::new(packed), &mut file.file(), &WriterOptions::default(), &())?;
            file.commit_as(stamp.attributes())?;
            return Ok(Vec::new());
        }
        (Some(file), _) => return file.write(&output.join(name_inside), force),
        (None, _) => {}
    }
    let missing = || Error::refused("it is not there");
    if form == MemberForm::Archives {
        let member = bundle.recorded(name)?.ok_or_else(missing)?;
        let file = MemberFile::Stored { name: name.to_owned(), member };
        return file.write(&output.join(name_inside), force);
    }
    let source = bundle.member(name)?.ok_or_else(missing)?;
    let archive = if bundle.fills_lost() {
        Archive::open_filled(&source, open, &())?.0
    } else {
        Archive::from_source(source, open)?
    };
    let target = parented(output.join(name_inside.strip_suffix(SUFFIX).unwrap_or(&name_inside)))?;
    let file = AtomicFile::create_with_mode(&target, force, 0o666)?;
    archive.restore_to_file(file.file(), &target, &())?;
    file.commit_as(bundle.stamp(name)?.attributes())?;
    Ok(LostPart::of_archive(&archive))
}

fn damaged(name: &str) -> nc3z_reader::Error {
    let found = "another one".to_owned();
    let error = nc3z_format::Error::corrupt(name, None, "SHA-256", "the SHA-256 of the packed file", found);
    error.into()
}

fn another_crc32(name: &str, expected: u32, found: u32) -> nc3z_reader::Error {
    let (expected, found) = (format!("{expected:08x}"), format!("{found:08x}"));
    nc3z_format::Error::corrupt(name, None, "CRC-32", expected, found).into()
}

fn pieces(source: &dyn ByteSource, to: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut at = 0;
    while at < source.len() {
        let len = (source.len() - at).min(COPY_LEN);
        to(&source.read_at(at, usize::try_from(len).expect("at most COPY_LEN"))?)?;
        at += len;
    }
    Ok(())
}

/// Returns the path, after creating its directories.
fn parented(path: PathBuf) -> Result<PathBuf> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)
            .map_err(|source| Error::Create { path: parent.to_owned(), source })?;
    }
    Ok(path)
}
