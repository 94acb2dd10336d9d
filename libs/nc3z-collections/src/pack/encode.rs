//! Makes a group of files that fit in memory, and verifies that each can be restored.

use super::choose::Member;
use super::columns::Columns;
use super::read::{Group, PackedRow};
use crate::error::{Error, Result};
use bytes::Bytes;
use nc3z_reader::OpenOptions;
use nc3z_reader::source::{ByteSource, MemorySource};
use nc3z_writer::{WriterOptions, archive_to_vec};
use std::sync::Arc;

/// Headers longer than this are not packed.
pub(super) const MAX_HEADER: u64 = 1 << 20;

/// The archive of a group, from which each member was read back. None if its members have no arrays.
pub(super) fn group(files: &[&Member], options: &WriterOptions) -> Result<Option<Vec<u8>>> {
    let archive = encoded(files, options)?;
    archive.iter().try_for_each(|archive| prove(archive, files))?;
    Ok(archive)
}

/// The archive of a group. None if its members have no arrays.
pub(super) fn encoded(files: &[&Member], options: &WriterOptions) -> Result<Option<Vec<u8>>> {
    let mut columns = Columns::default();
    for member in files {
        columns.add(&member.classic()?)?;
    }
    let arranged = columns.arranged();
    if arranged.list.arrays() == 0 {
        return Ok(None);
    }
    let file = arranged.file()?;
    let (archive, _) = archive_to_vec(Arc::new(MemorySource::new(file)), options, &()).map_err(of_writer)?;
    Ok(Some(archive))
}

/// Reads each member from the archive and compares it with its file.
fn prove(archive: &[u8], files: &[&Member]) -> Result<()> {
    let source = Arc::new(MemorySource::new(archive.to_vec()));
    let group = Group::open(source, &OpenOptions::default())?;
    for (number, member) in files.iter().enumerate() {
        let (name, len) = (member.name.clone(), member.bytes.len());
        let header = Bytes::copy_from_slice(member.classic()?.header_bytes());
        let found = group.member(PackedRow { name, number, len: len as u64, header })?;
        if found.read_at(0, len)? != member.bytes {
            let name = &member.name;
            return Err(Error::refused(format!(
                "`{name}` differs when read back from its group; this is a bug"
            )));
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
