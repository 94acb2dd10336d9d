//! The superblock: the first 160 bytes.

use super::constants::{
    LAST_OF_VERSION_0, MAGIC, MAJOR_VERSION, SLOTS_AT, SUPERBLOCK_LEN, SUPERBLOCK_TEXT_AT, TEXT,
};
use super::salt::Salt;
use super::slot::CommitSlots;
use crate::bytes::{ByteCursor, spaced_hex};
use crate::error::{Error, Result};

/// The superblock. Layout: `spec/archive.md`, "Superblock".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superblock {
    /// Minor version.
    pub minor: u16,
    /// Binds checksums to this archive.
    pub salt: Salt,
    /// Bytes of the classic file.
    pub original_len: u64,
    /// Stored bytes of the head copy, which follows the superblock.
    pub head_stored_len: u32,
    /// Decoded bytes of the head copy; equal to the stored ones: raw.
    pub head_decoded_len: u32,
    /// CRC-32 of the stored head copy.
    pub head_crc: u32,
    /// The newest generations; the superblock's CRC does not cover them.
    pub slots: CommitSlots,
}

const SECTION: &str = "superblock";
const CRC_AT: usize = 44;

/// The error for a major version, or a form of archives (0 is the long one), that this build does not read.
pub(super) fn other_version([major, form]: [u8; 2]) -> Error {
    let what = if major == 0 {
        format!(
            "format version 0, of a development build before 1.0. Restore it with the nc3z that wrote it, or with commit {LAST_OF_VERSION_0} of the source, the last one that reads it"
        )
    } else {
        format!(
            "format version {major}, form {form}; this build reads version {MAJOR_VERSION}, forms 0 to 2. A newer nc3z may read it"
        )
    };
    Error::unsupported(SECTION, 8, what)
}

impl Superblock {
    /// Returns the 160 bytes.
    pub fn encode(&self) -> [u8; SUPERBLOCK_LEN] {
        let mut out = [0; SUPERBLOCK_LEN];
        out[0..8].copy_from_slice(&MAGIC);
        out[8] = MAJOR_VERSION;
        out[10..12].copy_from_slice(&self.minor.to_le_bytes());
        out[16..24].copy_from_slice(&self.salt.0);
        out[24..32].copy_from_slice(&self.original_len.to_le_bytes());
        out[32..36].copy_from_slice(&self.head_stored_len.to_le_bytes());
        out[36..40].copy_from_slice(&self.head_decoded_len.to_le_bytes());
        out[40..44].copy_from_slice(&self.head_crc.to_le_bytes());
        out[SUPERBLOCK_TEXT_AT..SLOTS_AT].copy_from_slice(TEXT.as_bytes());
        out[SLOTS_AT..].copy_from_slice(&self.slots.encode(&self.salt));
        let crc = checksum(&out);
        out[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Reads and checks the 160 bytes.
    ///
    /// # Errors
    /// Not an archive, another major version, or damage.
    pub fn decode(bytes: &[u8; SUPERBLOCK_LEN]) -> Result<Self> {
        Self::check_magic(bytes)?;
        let mut c = ByteCursor::new(SECTION, 8, &bytes[8..]);
        let version = c.array("version")?;
        if Self::is_version_damaged(bytes) {
            let of = |[major, form]: [u8; 2]| format!("{major}, form {form}");
            return Err(Error::corrupt(SECTION, 8, "format version", of([MAJOR_VERSION, 0]), of(version)));
        }
        if version != [MAJOR_VERSION, 0] {
            return Err(other_version(version));
        }
        let minor = c.u16("minor version")?;
        c.reserved(4)?;
        let salt = Salt(c.array("salt")?);
        let (original_len, head_stored_len) = (c.u64("original length")?, c.u32("head stored length")?);
        let (head_decoded_len, head_crc) = (c.u32("head decoded length")?, c.u32("head CRC")?);
        let (expected, found) = (checksum(bytes), c.u32("superblock CRC")?);
        if expected != found {
            return Err(Error::corrupt(
                SECTION,
                CRC_AT as u64,
                "CRC",
                format!("{expected:08x}"),
                format!("{found:08x}"),
            ));
        }
        let slots = Self::slots(bytes, &salt);
        Ok(Superblock { minor, salt, original_len, head_stored_len, head_decoded_len, head_crc, slots })
    }

    /// True if these bytes are a superblock with another format version or form in its first bytes than its checksum says: that is
    /// damage, and no other version.
    pub fn is_version_damaged(bytes: &[u8; SUPERBLOCK_LEN]) -> bool {
        let mut whole = *bytes;
        whole[8..10].copy_from_slice(&[MAJOR_VERSION, 0]);
        whole != *bytes
            && whole.starts_with(&MAGIC)
            && whole[CRC_AT..CRC_AT + 4] == checksum(&whole).to_le_bytes()
    }

    /// The commit slots of an archive that begins with these bytes; they are valid whatever the other bytes are.
    pub fn slots(bytes: &[u8; SUPERBLOCK_LEN], salt: &Salt) -> CommitSlots {
        CommitSlots::decode(bytes[SLOTS_AT..].try_into().expect("two slots end the superblock"), salt)
    }

    /// Checks the first bytes of a file, which may be fewer than eight.
    ///
    /// # Errors
    /// The bytes are not the beginning of an archive.
    pub fn check_magic(bytes: &[u8]) -> Result<()> {
        let seen = &bytes[..bytes.len().min(MAGIC.len())];
        if seen == MAGIC {
            return Ok(());
        }
        let hex = spaced_hex;
        if seen.starts_with(b"CDF") {
            return Err(Error::unsupported(SECTION, 0, "not an nc3z archive but a classic netCDF file"));
        }
        Err(Error::corrupt(SECTION, 0, "magic of an nc3z archive", hex(&MAGIC), hex(seen)))
    }

    /// Checks the major version in the first bytes of an archive, which may be fewer than ten.
    ///
    /// # Errors
    /// It is another one.
    pub fn check_version(bytes: &[u8]) -> Result<()> {
        match bytes.get(8..10) {
            // Two zeros are lost bytes, and no version.
            Some(&[major, form]) if major != MAJOR_VERSION && [major, form] != [0, 0] => {
                Err(other_version([major, form]))
            }
            _ => Ok(()),
        }
    }
}

/// CRC-32 of all but the CRC field itself and the commit slots.
fn checksum(bytes: &[u8; SUPERBLOCK_LEN]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&bytes[..CRC_AT]);
    crc.update(&bytes[CRC_AT + 4..SLOTS_AT]);
    crc.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_version_is_no_other_version() {
        let whole = sample().encode();
        for (at, to) in [(8, 0), (8, 2), (8, 0x41), (9, 1), (9, 2), (9, 0x40)] {
            let mut bytes = whole;
            bytes[at] = to;
            assert!(Superblock::decode(&bytes).unwrap_err().is_corrupt(), "{at} {to}");
            // A superblock that was made with it.
            let crc = checksum(&bytes).to_le_bytes();
            bytes[CRC_AT..CRC_AT + 4].copy_from_slice(&crc);
            assert!(Superblock::decode(&bytes).unwrap_err().is_unsupported(), "{at} {to}");
        }
    }

    fn sample() -> Superblock {
        let salt = Salt::of_file(b"CDF", 7, &[0; 32]);
        let slots = CommitSlots::default();
        Superblock {
            minor: 1,
            salt,
            original_len: 7,
            head_stored_len: 3,
            head_decoded_len: 3,
            head_crc: 9,
            slots,
        }
    }

    #[test]
    fn round_trip_and_every_flipped_bit_is_seen() {
        let bytes = sample().encode();
        assert_eq!(Superblock::decode(&bytes).unwrap(), sample());
        for bit in 0..bytes.len() * 8 {
            let mut b = bytes;
            b[bit / 8] ^= 1 << (bit % 8);
            let read = Superblock::decode(&b);
            if bit / 8 < SLOTS_AT {
                assert!(read.is_err(), "bit {bit}");
            } else {
                assert!(read.unwrap().slots.are_lost(), "bit {bit}");
            }
        }
    }

    #[test]
    fn text_is_plain_ascii_that_tells_what_to_do() {
        let bytes = sample().encode();
        let text = std::str::from_utf8(&bytes[SUPERBLOCK_TEXT_AT..SLOTS_AT]).unwrap();
        assert!(text.is_ascii() && text.contains("nc3z restore FILE") && text.contains("spec/archive.md"));
    }
}
