//! Members of a bundle written as files of their own.

use super::{Bundle, inside};
use crate::error::{Error, Result};
use crate::pack::{LostPart, PackedMember};
use nc3z_format::archive::constants::MAGIC;
use nc3z_reader::source::{ByteSource, SharedSource};
use nc3z_reader::{Archive, OpenOptions};
use nc3z_writer::{AtomicFile, WriterOptions, archive_source};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The number of bytes copied at once.
const COPY_LEN: u64 = 4 << 20;

/// The form in which members are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberForm {
    /// The original files.
    Originals,
    /// Archives, and other members as they are.
    Archives,
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
    if let Some(packed) = bundle.packed_member(name)? {
        return match form {
            MemberForm::Originals => write_packed(&packed, &output.join(name_inside), force),
            MemberForm::Archives => {
                let target = parented(output.join(format!("{name_inside}.nc3z")))?;
                let options = WriterOptions::default().with_force(force);
                archive_source(Arc::new(packed), &target, &options, &())?;
                Ok(Vec::new())
            }
        };
    }
    let source = bundle.member(name)?.ok_or_else(|| Error::refused("it is not there"))?;
    let mut magic = [0; MAGIC.len()];
    if source.len() >= magic.len() as u64 {
        source.read_into(0, &mut magic)?;
    }
    if magic == MAGIC && form == MemberForm::Originals {
        let archive = if bundle.fills_lost() {
            Archive::open_filled(&source, open, &())?.0
        } else {
            Archive::from_source(source, open)?
        };
        let target = parented(output.join(name_inside.strip_suffix(".nc3z").unwrap_or(&name_inside)))?;
        let file = AtomicFile::create_with_mode(&target, force, 0o666)?;
        archive.restore_to_file(file.file(), &target, &())?;
        file.commit(None)?;
        return Ok(LostPart::of_archive(&archive));
    }
    copy(&source, &parented(output.join(name_inside))?, force)?;
    Ok(Vec::new())
}

/// Writes the original file of a packed member, and compares its digest. Returns the parts that are lost and have fill values.
///
/// # Errors
/// The member is damaged; the file exists or cannot be written.
pub fn write_packed(packed: &PackedMember, target: &Path, force: bool) -> Result<Vec<LostPart>> {
    let mut hash = Sha256::new();
    let target = parented(target.to_owned())?;
    let file = AtomicFile::create_with_mode(&target, force, 0o666)?;
    pieces(packed, &mut |bytes| {
        hash.update(bytes);
        file.file().write_all(bytes).map_err(Error::Output)
    })?;
    let lost = packed.lost()?;
    if lost.is_empty() && hash.finalize()[..] != packed.sha256() {
        return Err(damaged(packed.name()).into());
    }
    file.commit(None)?;
    Ok(lost)
}

/// Checks that a packed member has the bytes that were packed.
///
/// # Errors
/// It is damaged.
pub(super) fn check_packed(packed: &PackedMember) -> Result<()> {
    let mut hash = Sha256::new();
    pieces(packed, &mut |bytes| {
        hash.update(bytes);
        Ok(())
    })?;
    if hash.finalize()[..] == packed.sha256() { Ok(()) } else { Err(damaged(packed.name()).into()) }
}

fn damaged(name: &str) -> nc3z_reader::Error {
    let found = "another one".to_owned();
    let error = nc3z_format::Error::corrupt(name, None, "SHA-256", "that of the file that was packed", found);
    error.into()
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

fn copy(source: &SharedSource, target: &Path, force: bool) -> Result<()> {
    let file = AtomicFile::create_with_mode(target, force, 0o666)?;
    pieces(source.as_ref(), &mut |bytes| file.file().write_all(bytes).map_err(Error::Output))?;
    file.commit(None)?;
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
