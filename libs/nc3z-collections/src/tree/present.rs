//! `--skip-existing`: decides whether an existing archive is that of the source, and an existing file that of the archive.

use crate::tree::error::Context as _;
use crate::tree::refusal::{Mismatch, Refusal, RestoredMismatch};
use crate::tree::{ErrorKind, Result, sha256_of_file};
use nc3z_reader::source::{self, open_regular};
use nc3z_reader::{Archive, Digest, Monitor, OpenOptions};
use nc3z_writer::Attributes;
use std::io::Read;
use std::path::Path;

/// The test by which an existing archive counts as that of its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Evidence {
    /// It is complete and has the source's header and length, and the source is not newer.
    Header,
    /// It is complete, and its stored SHA-256 is the source's.
    Digest,
    /// It has the right name.
    Name,
}

/// Returns whether the output exists, if its name decides: where there is none, or where the name is evidence enough.
fn known_by_name(output: &Path, how: Evidence) -> Result<Option<bool>> {
    match std::fs::symlink_metadata(output) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Some(false)),
        Err(e) => Err(e).with_context(|| format!("look at `{}`", output.display())),
        Ok(_) => Ok((how == Evidence::Name).then_some(true)),
    }
}

/// Returns true if `output` exists and is the archive of `input`, by the test `how`; false if it does not
/// exist. If `input` does not exist, a complete archive is its archive.
///
/// # Errors
/// Another file has this name. It is kept, and the error gives the reason.
pub fn is_present(
    input: &Path,
    output: &Path,
    how: Evidence,
    options: &OpenOptions,
    monitor: &dyn Monitor,
) -> Result<bool> {
    if let Some(known) = known_by_name(output, how)? {
        return Ok(known);
    }
    let there = || format!("`{}` exists, and", output.display());
    // By position: a file that shrinks gives an error and no signal.
    let archive = source::open(output, false)
        .and_then(|source| Archive::from_source(source, options))
        .map_err(|source| ErrorKind::Archive {
            what: format!("{} is not a complete archive", there()),
            is_output: true,
            source,
        })?;
    let opened = open_regular(input);
    // A source that was removed or retired after it was archived is listed in the unit of its plan, all the same.
    if opened.as_ref().is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound) {
        return Ok(true);
    }
    let mut source = opened.with_context(|| format!("open `{}`", input.display()))?;
    let meta = source.metadata().with_context(|| format!("look at `{}`", input.display()))?;
    let mut header = vec![0; archive.header_bytes().len()];
    let is_same_header = meta.len() == archive.original_len()
        && source.read_exact(&mut header).is_ok()
        && header == archive.header_bytes();
    let differs = |why| {
        let has_versions = archive.versions(2).is_ok_and(|versions| versions.len() > 1);
        let why = if has_versions { Mismatch::Edited } else { why };
        Err(Refusal::NotItsArchive { archive: output.to_owned(), why }.into())
    };
    if !is_same_header {
        return differs(Mismatch::OtherFile);
    }
    if how == Evidence::Digest {
        let Digest::Sha256(recorded) = archive.digest() else {
            return Err(Refusal::NotItsArchive { archive: output.to_owned(), why: Mismatch::NoDigest }.into());
        };
        if sha256_of_file(input, monitor)? != recorded {
            return differs(Mismatch::OtherData);
        }
        return Ok(true);
    }
    // An archive has the modification time of its source.
    let made = std::fs::metadata(output).and_then(|m| m.modified());
    if let (Ok(source), Ok(made)) = (meta.modified(), made)
        && source > made
    {
        return Err(Refusal::NotItsArchive { archive: output.to_owned(), why: Mismatch::Older }.into());
    }
    Ok(true)
}

/// # Errors
/// The output is an archive of several versions, which a new archive would not have.
pub(in crate::tree) fn refuse_history(output: &Path, options: &OpenOptions) -> Result<()> {
    // A file that is not an archive has no versions that could be lost.
    let versions = source::open(output, false)
        .and_then(|source| Archive::from_source(source, options))
        .and_then(|archive| archive.versions(2));
    if versions.is_ok_and(|versions| versions.len() > 1) {
        return Err(Refusal::NotItsArchive { archive: output.to_owned(), why: Mismatch::Versions }.into());
    }
    Ok(())
}

/// Returns true if `output` exists and is the original of an archive, by the test `how`; false if it does not exist. `like` is the
/// metadata of the archive's file, whose time a restored file has. Without them, `Header` compares the digest.
///
/// # Errors
/// Another file has this name. It is kept, and the error gives the reason.
pub fn is_restored(
    archive: &Archive,
    like: Option<Attributes>,
    output: &Path,
    how: Evidence,
    monitor: &dyn Monitor,
) -> Result<bool> {
    if let Some(known) = known_by_name(output, how)? {
        return Ok(known);
    }
    let differs = |why| Err(Refusal::NotItsOriginal { file: output.to_owned(), why }.into());
    let mut file = open_regular(output).with_context(|| format!("open `{}`", output.display()))?;
    let meta = file.metadata().with_context(|| format!("look at `{}`", output.display()))?;
    let mut header = vec![0; archive.header_bytes().len()];
    let is_same_header = meta.len() == archive.original_len()
        && file.read_exact(&mut header).is_ok()
        && header == archive.header_bytes();
    if !is_same_header {
        return differs(RestoredMismatch::OtherFile);
    }
    if how == Evidence::Header
        && let Some(like) = like
    {
        let is_same_time = meta.modified().ok() == like.modified;
        return if is_same_time { Ok(true) } else { differs(RestoredMismatch::OtherTime) };
    }
    match archive.digest() {
        Digest::Sha256(recorded) if sha256_of_file(output, monitor)? == recorded => Ok(true),
        Digest::Sha256(_) => differs(RestoredMismatch::OtherData),
        _ => differs(RestoredMismatch::NoDigest),
    }
}
