//! The trailer: the last 128 bytes of a generation.

use super::constants::{
    ALIGN, END_MARKER, HEAD_OFFSET, KNOWN_REQUIRED, SECTION_ENTRY_LEN, TRAILER_LEN, TRAILER_MARKER,
};
use super::salt::Salt;
use crate::bytes::{ByteCursor, spaced_hex};
use crate::error::{Error, Result};

const SECTION: &str = "trailer";
const CRC_AT: usize = 120;

/// The recorded digest of the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Digest {
    /// None was recorded.
    None,
    /// SHA-256 of the original.
    Sha256([u8; 32]),
    /// A digest was recorded for an earlier commit. The original changed, and its digest was not computed again.
    Stale,
}

impl Digest {
    /// The digest, if it is recorded and valid.
    pub fn sha256(self) -> Option<[u8; 32]> {
        if let Digest::Sha256(digest) = self { Some(digest) } else { None }
    }

    /// The state as a word of JSON reports: `none`, `valid` or `stale`.
    pub fn state(self) -> &'static str {
        match self {
            Digest::None => "none",
            Digest::Sha256(_) => "valid",
            Digest::Stale => "stale",
        }
    }
}

/// The trailer. Layout: `spec/archive.md`, "Trailer".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trailer {
    /// Number of the commit.
    pub generation: u32,
    /// As in the superblock.
    pub salt: Salt,
    /// Features a reader must know.
    pub required: u32,
    /// Features a reader may ignore.
    pub optional: u32,
    /// Where the section table is.
    pub sections_offset: u64,
    /// The length of the section table in bytes.
    pub sections_len: u32,
    /// The salted CRC of the section table.
    pub sections_crc: u32,
    /// First block of this generation.
    pub blocks_begin: u64,
    /// End of its blocks.
    pub blocks_end: u64,
    /// Offset of the previous trailer, or 0.
    pub previous: u64,
    /// Offset of this trailer + 128.
    pub archive_len: u64,
    /// Bytes of the original.
    pub original_len: u64,
    /// The digest of the original.
    pub digest: Digest,
}

impl Trailer {
    /// The 128 bytes of a trailer at `offset`.
    pub fn encode(&self, salt: &Salt, offset: u64) -> [u8; TRAILER_LEN] {
        let mut out = [0; TRAILER_LEN];
        out[0..4].copy_from_slice(&TRAILER_MARKER);
        out[4..8].copy_from_slice(&self.generation.to_le_bytes());
        out[8..16].copy_from_slice(&self.salt.0);
        out[16..20].copy_from_slice(&self.required.to_le_bytes());
        out[20..24].copy_from_slice(&self.optional.to_le_bytes());
        out[24..32].copy_from_slice(&self.sections_offset.to_le_bytes());
        out[32..36].copy_from_slice(&self.sections_len.to_le_bytes());
        out[36..40].copy_from_slice(&self.sections_crc.to_le_bytes());
        out[40..48].copy_from_slice(&self.blocks_begin.to_le_bytes());
        out[48..56].copy_from_slice(&self.blocks_end.to_le_bytes());
        out[56..64].copy_from_slice(&self.previous.to_le_bytes());
        out[64..72].copy_from_slice(&self.archive_len.to_le_bytes());
        out[72..80].copy_from_slice(&self.original_len.to_le_bytes());
        out[80..112].copy_from_slice(&self.digest.sha256().unwrap_or_default());
        let state: u32 = match self.digest {
            Digest::None => 0,
            Digest::Sha256(_) => 1,
            Digest::Stale => 2,
        };
        out[112..116].copy_from_slice(&state.to_le_bytes());
        let crc = salt.crc(offset, &out[..CRC_AT]);
        out[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
        out[124..128].copy_from_slice(&END_MARKER);
        out
    }

    /// The CRC at the end of its bytes.
    pub fn crc(&self) -> u32 {
        let bytes = self.encode(&self.salt, self.archive_len.saturating_sub(TRAILER_LEN as u64));
        u32::from_le_bytes(*bytes[CRC_AT..].first_chunk().expect("four bytes and the end marker"))
    }

    /// Reads and checks the trailer at `offset` of an archive with this salt.
    ///
    /// # Errors
    /// The bytes are not a trailer, a damaged one, or one of another archive. Unsupported if the CRC holds but
    /// the trailer needs a feature that this build does not know. No older trailer may then replace it,
    /// whatever its other fields are.
    pub fn decode(bytes: &[u8; TRAILER_LEN], offset: u64, salt: &Salt) -> Result<Self> {
        let mut c = ByteCursor::new(SECTION, offset, bytes);
        let hex = spaced_hex;
        let marker = c.split("marker", 4)?;
        if marker != TRAILER_MARKER {
            let (expected, found) = (hex(&TRAILER_MARKER), hex(marker));
            return Err(Error::corrupt(
                SECTION,
                offset,
                "marker (the archive may be cut short; a repair saves what is whole)",
                expected,
                found,
            ));
        }
        let crc = ByteCursor::new(SECTION, offset, &bytes[CRC_AT..]).u32("CRC")?;
        let expected = salt.crc(offset, &bytes[..CRC_AT]);
        if crc != expected {
            let at = offset + CRC_AT as u64;
            return Err(Error::corrupt(SECTION, at, "CRC", format!("{expected:08x}"), format!("{crc:08x}")));
        }
        // Checked first: with an unknown feature, the other fields may follow other rules.
        check_features(ByteCursor::new(SECTION, offset, &bytes[16..]).u32("required features")?, offset)?;
        if bytes[124..] != END_MARKER {
            return Err(Error::corrupt(
                SECTION,
                offset + 124,
                "end marker",
                hex(&END_MARKER),
                hex(&bytes[124..]),
            ));
        }
        let generation = c.u32("generation")?;
        let stored_salt = c.split("salt", 8)?;
        if stored_salt != salt.0 {
            return Err(Error::corrupt(SECTION, offset + 8, "salt", hex(&salt.0), hex(stored_salt)));
        }
        let (required, optional) = (c.u32("required features")?, c.u32("optional features")?);
        let (sections_offset, sections_len) =
            (c.u64("section table offset")?, c.u32("section table length")?);
        let sections_crc = c.u32("section table CRC")?;
        let (blocks_begin, blocks_end) = (c.u64("blocks begin")?, c.u64("blocks end")?);
        let (previous, archive_len) = (c.u64("previous trailer")?, c.u64("archive length")?);
        let original_len = c.u64("original length")?;
        let sha256: [u8; 32] = c.array("SHA-256")?;
        let digest = match c.u32("digest state")? {
            0 => Digest::None,
            1 => Digest::Sha256(sha256),
            2 => Digest::Stale,
            n => return Err(Error::corrupt(SECTION, offset + 112, "digest state", "0, 1 or 2", n)),
        };
        if digest.sha256().is_none() && sha256 != [0; 32] {
            return Err(Error::corrupt(
                SECTION,
                offset + 80,
                "SHA-256 without a valid digest",
                "zeros",
                hex(&sha256),
            ));
        }
        c.reserved(4)?;
        let trailer = Trailer {
            generation,
            salt: *salt,
            required,
            optional,
            sections_offset,
            sections_len,
            sections_crc,
            blocks_begin,
            blocks_end,
            previous,
            archive_len,
            original_len,
            digest,
        };
        trailer.check_places(offset)?;
        Ok(trailer)
    }

    fn check_places(&self, offset: u64) -> Result<()> {
        let wrong =
            |what, expected: String, found: u64| Err(Error::corrupt(SECTION, offset, what, expected, found));
        if self.archive_len != offset + TRAILER_LEN as u64 {
            return wrong("archive length", (offset + TRAILER_LEN as u64).to_string(), self.archive_len);
        }
        let places = |n: u64, least: u64| n >= least && n.is_multiple_of(ALIGN);
        let between = |least: u64, most: u64| format!("a multiple of {ALIGN} from {least} to {most}");
        if !places(offset, HEAD_OFFSET) {
            return wrong("offset", format!("a multiple of {ALIGN} behind the superblock"), offset);
        }
        if self.generation == 0 {
            return wrong("generation", "at least 1".into(), 0);
        }
        if !u64::from(self.sections_len).is_multiple_of(SECTION_ENTRY_LEN as u64) {
            return wrong(
                "section table length",
                format!("a multiple of {SECTION_ENTRY_LEN}"),
                self.sections_len.into(),
            );
        }
        let end = self.sections_offset.checked_add(self.sections_len.into());
        if end.is_none_or(|e| e > offset) || !places(self.sections_offset, HEAD_OFFSET) {
            return wrong("section table offset", between(HEAD_OFFSET, offset), self.sections_offset);
        }
        if !places(self.blocks_end, HEAD_OFFSET) || self.blocks_end > self.sections_offset {
            return wrong("end of blocks", between(HEAD_OFFSET, self.sections_offset), self.blocks_end);
        }
        if !places(self.blocks_begin, HEAD_OFFSET) {
            return wrong("begin of blocks", between(HEAD_OFFSET, self.blocks_end), self.blocks_begin);
        }
        if self.blocks_begin > self.blocks_end {
            return wrong("end of blocks", between(self.blocks_begin, self.sections_offset), self.blocks_end);
        }
        let previous_end = self.previous.checked_add(TRAILER_LEN as u64);
        let before =
            places(self.previous, HEAD_OFFSET) && previous_end.is_some_and(|end| end <= self.blocks_begin);
        if self.previous != 0 && !before {
            let expected =
                format!("0, or a multiple of {ALIGN} and {TRAILER_LEN} bytes before {}", self.blocks_begin);
            return wrong("previous trailer", expected, self.previous);
        }
        Ok(())
    }

    /// Refuses required features that this build does not know.
    ///
    /// # Errors
    /// An unknown feature is required.
    pub fn check_features(&self) -> Result<()> {
        check_features(self.required, self.archive_len.saturating_sub(TRAILER_LEN as u64))
    }

    /// The last valid trailer within a window of an archive. The window begins at `base`. A search continues
    /// backwards with windows that overlap by at least 120 bytes.
    ///
    /// # Errors
    /// Unsupported if the last trailer with a valid CRC needs a feature that this build does not know.
    pub fn find_last(window: &[u8], base: u64, salt: &Salt) -> Result<Option<(u64, Trailer)>> {
        let Some(last) = window.len().checked_sub(TRAILER_LEN) else { return Ok(None) };
        // Trailers are at multiples of 8 in the archive.
        let askew = usize::try_from(base.wrapping_add(last as u64) % ALIGN).unwrap_or(0);
        let mut next = last.checked_sub(askew);
        while let Some(at) = next {
            next = at.checked_sub(8);
            if window[at..at + 4] != TRAILER_MARKER {
                continue;
            }
            let mut bytes = [0; TRAILER_LEN];
            bytes.copy_from_slice(&window[at..at + TRAILER_LEN]);
            let offset = base + at as u64;
            match Trailer::decode(&bytes, offset, salt) {
                Ok(trailer) => return Ok(Some((offset, trailer))),
                Err(e) if e.is_unsupported() => return Err(e),
                Err(_) => {}
            }
        }
        Ok(None)
    }
}

/// `offset` is that of the trailer.
fn check_features(required: u32, offset: u64) -> Result<()> {
    match required & !KNOWN_REQUIRED {
        0 => Ok(()),
        bits => Err(Error::unsupported(
            SECTION,
            offset.saturating_add(16),
            format!("required features {bits:#x}; a newer nc3z may read it"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (Trailer, Salt, u64) {
        let salt = Salt([5; 8]);
        let trailer = Trailer {
            generation: 1,
            salt,
            required: 0,
            optional: 0,
            sections_offset: 800,
            sections_len: 72,
            sections_crc: 1,
            blocks_begin: 200,
            blocks_end: 704,
            previous: 0,
            archive_len: 1128,
            original_len: 77,
            digest: Digest::Sha256([9; 32]),
        };
        (trailer, salt, 1000)
    }

    #[test]
    fn round_trip_and_every_flipped_bit_is_seen() {
        let (t, salt, at) = sample();
        let bytes = t.encode(&salt, at);
        assert_eq!(Trailer::decode(&bytes, at, &salt).unwrap(), t);
        for bit in 0..bytes.len() * 8 {
            let mut b = bytes;
            b[bit / 8] ^= 1 << (bit % 8);
            assert!(Trailer::decode(&b, at, &salt).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn last_of_several_is_found_behind_garbage_and_only_in_its_own_place() {
        let (t, salt, at) = sample();
        let mut file = vec![0u8; 1000];
        file.extend(t.encode(&salt, at));
        file.extend([0xAA; 40]);
        assert_eq!(Trailer::find_last(&file, 0, &salt).unwrap(), Some((at, t.clone())));
        file.splice(0..0, [0; 8]);
        assert_eq!(Trailer::find_last(&file, 0, &salt).unwrap(), None);
    }

    #[test]
    fn last_trailer_is_found_in_windows_of_any_begin_and_end() {
        let (t, salt, at) = sample();
        let mut window = vec![0xB1; 7];
        window.extend(t.encode(&salt, at));
        for torn in 0..40 {
            assert_eq!(Trailer::find_last(&window, at - 7, &salt).unwrap(), Some((at, t.clone())), "{torn}");
            assert_eq!(Trailer::find_last(&window, at - 7, &Salt([0; 8])).unwrap(), None);
            window.push(0x4E);
        }
        for short in 0..7 + TRAILER_LEN {
            assert_eq!(Trailer::find_last(&window[..short], at - 7, &salt).unwrap(), None);
        }
    }

    #[test]
    fn no_older_trailer_is_taken_for_one_that_needs_an_unknown_feature() {
        let (t, salt, at) = sample();
        let mut file = vec![0; 1000];
        file.extend(t.encode(&salt, at));
        let newer = Trailer { required: 8, archive_len: at + 256, ..t.clone() };
        file.extend(newer.encode(&salt, at + 128));
        file.extend([0xAA; 40]);
        assert!(Trailer::find_last(&file, 0, &salt).unwrap_err().is_unsupported());
        // Torn, it is none.
        file[1200] ^= 1;
        assert_eq!(Trailer::find_last(&file, 0, &salt).unwrap(), Some((at, t)));
    }

    #[test]
    fn unknown_required_feature_is_named() {
        let (mut t, ..) = sample();
        t.required = 0x10;
        assert!(t.check_features().unwrap_err().to_string().contains("0x10"));
    }
}
