//! The facts that all further steps need: the salt, the original's length, and the last trailer if there is
//! one.

use crate::error::{Error, Result};
use crate::foreign::or_foreign;
use crate::newest::{Newest, lost};
use crate::options::OpenOptions;
use crate::source::lenient::Lenient;
use crate::source::short::{ShortFacts, expanded};
use crate::source::truncated::TruncatedSource;
use crate::source::{ByteSource, SharedSource};
use crate::trailers;
use nc3z_format::Error as FormatError;
use nc3z_format::archive::constants::{REQUIRED_LATER_HEAD, TRAILER_MARKER};
use nc3z_format::archive::{
    CommitSlots, SUPERBLOCK_LEN, Salt, SectionEncoding, SectionEntry, SectionKind, Superblock, TRAILER_LEN,
    Trailer,
};
use std::sync::Arc;

/// Bytes searched backwards in one step.
const SEARCH_LEN: u64 = 1 << 20;

/// The facts on which all further steps depend.
pub(crate) struct EntryPoints {
    /// The source; where the file lost its beginning, with the offsets it had.
    pub(crate) source: SharedSource,
    /// Facts about an archive in the short form. The source is then its long form.
    pub(crate) short: Option<ShortFacts>,
    /// Bytes missing before the file's first.
    pub(crate) missing: u64,
    /// The superblock, or its error.
    pub(crate) superblock: Result<Superblock>,
    pub(crate) trailer: Option<(u64, Trailer)>,
    /// The commit slots. Empty if they cannot be read.
    pub(crate) slots: CommitSlots,
    /// The error if a generation after that of the trailer is lost: the slots name one, or cannot be read.
    pub(crate) lost: Option<Error>,
    /// The error if the last 128 bytes are not a trailer.
    pub(crate) trailer_error: Option<Error>,
    /// The salt. It is not certain if neither superblock nor trailer is intact.
    pub(crate) salt: Salt,
    /// The number of bytes of the original. It is as certain as the salt.
    pub(crate) original_len: u64,
    /// Length, CRC and compression of the stored head copy, from the superblock.
    pub(crate) head: Option<HeadFacts>,
}

/// The facts about the head copy in the superblock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeadFacts {
    pub(crate) stored_len: u32,
    pub(crate) crc: u32,
    pub(crate) compressed: bool,
}

impl HeadFacts {
    /// A head of these facts at this offset.
    pub(crate) fn entry(self, offset: u64) -> SectionEntry {
        let encoding = if self.compressed { SectionEncoding::Zstd } else { SectionEncoding::Raw };
        SectionEntry { kind: SectionKind::Head, encoding, crc: self.crc, offset, len: self.stored_len.into() }
    }
}

impl EntryPoints {
    /// Reads both ends, and everything between them if necessary.
    ///
    /// # Errors
    /// Unsupported: another format, a newer version, a feature this build lacks. Corrupt: no structure from
    /// which the salt is known.
    pub(crate) fn find(source: &SharedSource, options: &OpenOptions) -> Result<Self> {
        let (source, short) = &expanded(source)?;
        let found = Self::find_in_long(source, options)?;
        Ok(EntryPoints { short: short.clone(), ..found })
    }

    fn find_in_long(source: &SharedSource, options: &OpenOptions) -> Result<Self> {
        let mut start = [0; SUPERBLOCK_LEN];
        let whole = source.len() >= SUPERBLOCK_LEN as u64;
        let superblock = if whole {
            source.read_into(0, &mut start).and_then(|()| Superblock::decode(&start).map_err(Error::from))
        } else {
            let needed = SUPERBLOCK_LEN as u64 - source.len();
            let mut first = [0; 10];
            let len = usize::try_from(source.len()).map_or(first.len(), |len| len.min(first.len()));
            let first = &mut first[..len];
            source.read_into(0, first).and_then(|()| {
                // A short form of another version may be this short.
                if Superblock::check_magic(first).is_ok() {
                    Superblock::check_version(first)?;
                }
                Err(FormatError::truncated("archive", source.len(), "superblock", needed, source.len())
                    .into())
            })
        };
        match superblock {
            Ok(superblock) => Self::with_superblock(source, superblock, options),
            Err(e) if e.is_unsupported() => Err(e),
            Err(e) => {
                Self::without_superblock(source, &start, e, options).map_err(|e| or_foreign(&**source, e))
            }
        }
    }

    fn with_superblock(source: &SharedSource, superblock: Superblock, options: &OpenOptions) -> Result<Self> {
        let mut trailer = None;
        let mut missing_newest = None;
        let trailer_error = if source.len() >= (SUPERBLOCK_LEN + TRAILER_LEN) as u64 {
            let tail = Lenient::new(&**source);
            let last_error = trailers::last_trailer_error(&tail, &superblock.salt);
            match Newest::find(&tail, &superblock, &options.limits) {
                Ok(Newest { last: Ok(found), lost }) => {
                    (trailer, missing_newest) = (Some(found), lost);
                    last_error
                }
                Ok(Newest { last: Err(e), lost }) => {
                    missing_newest = lost;
                    last_error.or(Some(e))
                }
                Err(e) if e.is_unsupported() => return Err(e),
                Err(e) => last_error.or(Some(e)),
            }
        } else {
            let needed = (SUPERBLOCK_LEN + TRAILER_LEN) as u64 - source.len();
            let e = FormatError::truncated("archive", source.len(), "trailer", needed, source.len());
            Some(e.into())
        };
        Ok(EntryPoints {
            source: Arc::clone(source),
            short: None,
            missing: 0,
            trailer,
            slots: superblock.slots,
            lost: missing_newest,
            trailer_error,
            salt: superblock.salt,
            original_len: superblock.original_len,
            head: Some(HeadFacts {
                stored_len: superblock.head_stored_len,
                crc: superblock.head_crc,
                compressed: superblock.head_stored_len != superblock.head_decoded_len,
            }),
            superblock: Ok(superblock),
        })
    }

    /// Finds the salt without an intact superblock: in the trailer, or without a trailer in the bytes of the damaged superblock.
    /// The head copy decides whether these are right, since the salt is a hash of it.
    fn without_superblock(
        source: &SharedSource,
        start: &[u8; SUPERBLOCK_LEN],
        e: Error,
        options: &OpenOptions,
    ) -> Result<Self> {
        let (found, trailer_error) = last_trailer(&**source)?;
        let u32_at = |at: usize| u32::from_le_bytes([start[at], start[at + 1], start[at + 2], start[at + 3]]);
        let mut long = [0; 8];
        long.copy_from_slice(&start[24..32]);
        let head =
            HeadFacts { stored_len: u32_at(32), crc: u32_at(40), compressed: u32_at(32) != u32_at(36) };
        let Some((at, trailer)) = found else {
            let e = or_foreign(&**source, e);
            if start.iter().all(|&b| b == 0) || e.is_unsupported() {
                return Err(e);
            }
            let mut salt = [0; 8];
            salt.copy_from_slice(&start[16..24]);
            let slots = Superblock::slots(start, &Salt(salt));
            return Ok(EntryPoints {
                source: Arc::clone(source),
                short: None,
                missing: 0,
                superblock: Err(e),
                trailer: None,
                slots,
                lost: lost(&**source, &slots, None, &options.limits),
                trailer_error,
                salt: Salt(salt),
                original_len: u64::from_le_bytes(long),
                head: Some(head),
            });
        };
        let place = trailer.archive_len - TRAILER_LEN as u64;
        // The file is shorter than its intact trailer says, so it has lost bytes from its beginning.
        let missing = place - at;
        let view = if missing == 0 {
            Arc::clone(source)
        } else {
            Arc::new(TruncatedSource::new(Arc::clone(source), missing))
        };
        let last = (place, trailer);
        let original_len = first_len(&*view, &last.1).unwrap_or(u64::from_le_bytes(long));
        let slots = match missing {
            0 => Superblock::slots(start, &last.1.salt),
            _ => CommitSlots::default(),
        };
        Ok(EntryPoints {
            lost: lost(&*view, &slots, Some(&last), &options.limits),
            slots,
            source: view,
            short: None,
            missing,
            superblock: Err(e),
            salt: last.1.salt,
            original_len,
            trailer: Some(last),
            trailer_error,
            head: (missing == 0).then_some(head),
        })
    }
}

/// The length of the file to which the salt belongs: that of the first generation. The trailer of a generation with a later head has the
/// length of another file. None if the trailers before it are damaged.
fn first_len(source: &dyn ByteSource, last: &Trailer) -> Option<u64> {
    let mut this = last.clone();
    while this.required & REQUIRED_LATER_HEAD != 0 {
        if this.previous == 0 {
            return None;
        }
        this = trailers::read_previous(source, &this).ok()?.1;
    }
    Some(this.original_len)
}

/// The last trailer that is valid under its own salt, with its offset in the file. It is at the end, where it
/// may show that the file lost its beginning, or earlier, in its own place.
fn last_trailer(source: &dyn ByteSource) -> Result<(Option<(u64, Trailer)>, Option<Error>)> {
    let len = source.len();
    let Some(last) = len.checked_sub(TRAILER_LEN as u64) else { return Ok((None, None)) };
    let mut bytes = [0; TRAILER_LEN];
    let at_end = source.read_into(last, &mut bytes).and_then(|()| by_its_own_salt(&bytes));
    let error = match at_end {
        Ok(trailer) if trailer.archive_len >= len => return Ok((Some((last, trailer)), None)),
        Ok(trailer) => {
            FormatError::corrupt("trailer", last, "archive length", len, trailer.archive_len).into()
        }
        Err(e) if e.is_unsupported() => return Err(e),
        Err(e) => e,
    };
    let mut end = len;
    while end > 0 {
        let begin = end.saturating_sub(SEARCH_LEN) & !7;
        let stop = (end + TRAILER_LEN as u64).min(len);
        let mut window = vec![0; usize::try_from(stop - begin).expect("at most SEARCH_LEN and a trailer")];
        Lenient::new(source).read(begin, &mut window);
        let starts = (0..=window.len().saturating_sub(TRAILER_LEN)).rev().filter(|at| at % 8 == 0);
        for at in starts {
            if window.len() < TRAILER_LEN || window[at..at + 4] != TRAILER_MARKER {
                continue;
            }
            bytes.copy_from_slice(&window[at..at + TRAILER_LEN]);
            match by_its_own_salt(&bytes) {
                // The trailer of an archive inside this one names another place.
                Ok(t) if t.archive_len == begin + (at + TRAILER_LEN) as u64 => {
                    return Ok((Some((begin + at as u64, t)), Some(error)));
                }
                Err(e) if e.is_unsupported() => return Err(e),
                Ok(_) | Err(_) => {}
            }
        }
        end = begin;
    }
    Ok((None, Some(error)))
}

/// Reads a trailer with the salt and the place in its own fields.
fn by_its_own_salt(bytes: &[u8; TRAILER_LEN]) -> Result<Trailer> {
    let (mut salt, mut len) = ([0; 8], [0; 8]);
    salt.copy_from_slice(&bytes[8..16]);
    len.copy_from_slice(&bytes[64..72]);
    let place = u64::from_le_bytes(len).saturating_sub(TRAILER_LEN as u64);
    Ok(Trailer::decode(bytes, place, &Salt(salt))?)
}
