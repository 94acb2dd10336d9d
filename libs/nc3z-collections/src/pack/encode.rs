//! Makes a group of files that fit in memory, and verifies that each can be restored.

use super::choose::Member;
use super::columns::Columns;
use super::group::{Group, MAX_FRAME};
use super::listing::{self, Frame, Listed, Listing};
use crate::error::{Error, Result};
use nc3z_format::Limits;
use nc3z_format::archive::pack_frame;
use nc3z_reader::source::{ByteSource, MemorySource};
use nc3z_reader::{ClassicFile, OpenOptions};
use nc3z_writer::{WriterOptions, archive_to_vec};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The approximate length of the frames in which headers are compressed. Reading the first element of a
/// member needs its frame. A mebibyte of similar headers is decompressed in about a millisecond.
const FRAME_LEN: usize = 512 << 10;
/// Headers longer than this are not packed.
pub(super) const MAX_HEADER: u64 = 1 << 20;

/// The archive of a group.
pub(super) fn group(files: &[&Member], options: &WriterOptions) -> Result<Vec<u8>> {
    let mut columns = Columns::default();
    let mut list = Listing::default();
    let mut heads = Vec::new();
    let mut frame = Vec::new();
    for Member { name, bytes, .. } in files {
        let (name, sha256) = (name.clone(), Sha256::digest(bytes).into());
        let len = bytes.len() as u64;
        let file = ClassicFile::from_source(Arc::new(MemorySource::new(bytes.clone())), &Limits::default())?;
        columns.add(&file)?;
        let header = file.header_bytes();
        if !frame.is_empty() && frame.len() + header.len() > FRAME_LEN {
            close(&mut frame, &mut heads, &mut list)?;
        }
        frame.extend_from_slice(header);
        let (frame, header_len) = (list.frames.len(), header.len() as u64);
        list.members.push(Listed { name, len, frame, header_len, sha256, places: Vec::new() });
    }
    close(&mut frame, &mut heads, &mut list)?;
    let mut arranged = columns.arranged();
    for (member, places) in list.members.iter_mut().zip(std::mem::take(&mut arranged.places)) {
        member.places = places;
    }
    let file = arranged.file(pack_frame(&listing::encode(&list))?, heads)?;
    let (archive, _) = archive_to_vec(Arc::new(MemorySource::new(file)), options, &()).map_err(of_writer)?;
    prove(&archive, &list)?;
    Ok(archive)
}

fn close(frame: &mut Vec<u8>, heads: &mut Vec<u8>, list: &mut Listing) -> Result<()> {
    if frame.is_empty() {
        return Ok(());
    }
    debug_assert!(frame.len() as u64 <= MAX_FRAME, "a frame has one header of MAX_HEADER, or FRAME_LEN");
    let packed = pack_frame(frame)?;
    list.frames.push(Frame { stored: packed.len() as u64, decoded: frame.len() as u64 });
    heads.extend(packed);
    frame.clear();
    Ok(())
}

/// Reads each member from the archive and compares its digest.
fn prove(archive: &[u8], list: &Listing) -> Result<()> {
    let source = Arc::new(MemorySource::new(archive.to_vec()));
    let group = Arc::new(Group::open(source, &OpenOptions::default())?);
    for (number, listed) in list.members.iter().enumerate() {
        let wrong = || {
            Error::refused(format!("`{}` differs when read back from its group; this is a bug", listed.name))
        };
        let member = group.member(number)?.ok_or_else(wrong)?;
        let bytes = member.read_at(0, usize::try_from(listed.len).unwrap_or(usize::MAX))?;
        if Sha256::digest(&bytes)[..] != listed.sha256 {
            return Err(wrong());
        }
    }
    Ok(())
}

/// Converts an error of the writer. An interruption stays an interruption.
pub(crate) fn of_writer(e: nc3z_writer::Error) -> Error {
    if e.is_interrupted() {
        return nc3z_reader::Error::interrupted().into();
    }
    Error::Writer(e)
}
