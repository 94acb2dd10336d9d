//! The prefix of a short form: its form, its length, and its digest and checksum.

use super::{SECTION, SHORT_PREFIX_LEN};
use crate::archive::constants::{MAGIC, MAJOR_VERSION, MINOR_VERSION};
use crate::archive::superblock::{Superblock, other_version};
use crate::bytes::ByteCursor;
use crate::error::{Error, Result};

/// Readable text among the first bytes.
pub(super) const TEXT: &[u8; 16] = b"netCDF in nc3z\r\n";
/// Offset of the checksum of prefix and content.
const CRC_AT: usize = 16;
/// Offset of the version field: one byte of the major version, one of the form.
const VERSION_AT: usize = MAGIC.len();

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A directory of the archive.
    Directory = 1,
    /// The classic file itself, with the metadata.
    Whole = 2,
}

/// Form and digest of a short form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prefix {
    pub(super) form: Form,
    /// SHA-256 of the original.
    pub(super) sha256: [u8; 32],
}

impl Form {
    /// The form, from the first ten bytes of a file. `None` if the file is not a short form that this build knows.
    pub(super) fn new(start: &[u8]) -> Option<Self> {
        match start.strip_prefix(&MAGIC)? {
            [MAJOR_VERSION, 1, ..] => Some(Form::Directory),
            [MAJOR_VERSION, 2, ..] => Some(Form::Whole),
            _ => None,
        }
    }
}

impl Prefix {
    /// The bytes before a content, as it is stored.
    ///
    /// # Errors
    /// A content of 4 GiB or more.
    pub(super) fn encode(&self, content: &[u8]) -> Result<[u8; SHORT_PREFIX_LEN]> {
        let limit = || Error::limit(SECTION, None, "content length", u32::MAX.into(), content.len() as u64);
        let len = u32::try_from(content.len()).map_err(|_| limit())?;
        let mut out = [0; SHORT_PREFIX_LEN];
        out[..VERSION_AT].copy_from_slice(&MAGIC);
        out[VERSION_AT] = MAJOR_VERSION;
        out[VERSION_AT + 1] = self.form as u8;
        out[10..12].copy_from_slice(&MINOR_VERSION.to_le_bytes());
        out[12..16].copy_from_slice(&len.to_le_bytes());
        out[20..36].copy_from_slice(TEXT);
        out[36..68].copy_from_slice(&self.sha256);
        let crc = checksum(&out, content);
        out[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
        Ok(out)
    }

    /// The prefix of a short form, its stored content, and the bytes after the content.
    ///
    /// # Errors
    /// No short form, or one of another version; damage to prefix or content.
    pub(super) fn split(stored: &[u8]) -> Result<(Self, &[u8], &[u8])> {
        let mut c = ByteCursor::new(SECTION, 0, stored);
        let start: [u8; SHORT_PREFIX_LEN] = c.array("prefix")?;
        Superblock::check_magic(&start)?;
        let form =
            Form::new(&start).ok_or_else(|| other_version([start[VERSION_AT], start[VERSION_AT + 1]]))?;
        let mut fields = ByteCursor::new(SECTION, 12, &start[12..]);
        let len = fields.u32("content length")? as usize;
        let expected = fields.u32("CRC")?;
        let content = c.split("content", len)?;
        let found = checksum(&start, content);
        if found != expected {
            let (expected, found) = (format!("{expected:08x}"), format!("{found:08x}"));
            return Err(Error::corrupt(SECTION, CRC_AT as u64, "CRC of prefix and content", expected, found));
        }
        if fields.split("text", TEXT.len())? != TEXT {
            return Err(Error::corrupt(SECTION, 20, "text", "netCDF in nc3z", "another"));
        }
        let sha256 = fields.array("SHA-256")?;
        Ok((Prefix { form, sha256 }, content, c.rest()))
    }
}

/// CRC-32 of prefix and content, without the field itself.
fn checksum(prefix: &[u8; SHORT_PREFIX_LEN], content: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&prefix[..CRC_AT]);
    crc.update(&prefix[CRC_AT + 4..]);
    crc.update(content);
    crc.finalize()
}
