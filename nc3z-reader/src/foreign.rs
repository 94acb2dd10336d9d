//! Distinguishes a damaged archive from a file that never was an archive.

use crate::error::Error;
use crate::source::ByteSource;
use crate::source::lenient::Lenient;
use nc3z_format::Error as FormatError;
use nc3z_format::archive::TRAILER_LEN;
use nc3z_format::archive::constants::{BLOCK_MARKER, END_MARKER, MAGIC, TRAILER_MARKER};
use nc3z_format::classic::sniff;

/// Bytes that are searched at each end.
const WINDOW: u64 = 1 << 20;
/// Bytes at the beginning from which other kinds of files are recognized.
const HEAD: u64 = 4096;

/// Returns the error, or names the kind of file if it is not an archive at all.
pub(crate) fn or_foreign(source: &dyn ByteSource, error: Error) -> Error {
    if !error.is_corrupt() || looks_like_archive(source) {
        return error;
    }
    FormatError::unsupported("superblock", 0, what_it_is(source)).into()
}

/// Names the kind of a file that is not an archive.
fn what_it_is(source: &dyn ByteSource) -> String {
    if source.is_empty() {
        return "the file is empty, not an nc3z archive".to_owned();
    }
    let mut head = vec![0; usize::try_from(source.len().min(HEAD)).expect("at most 4 KiB")];
    Lenient::new(source).read(0, &mut head);
    match sniff(&head) {
        Some(foreign) => format!("this is {}, not an nc3z archive", foreign.name),
        None => "not an nc3z archive: neither its beginning nor its end looks like one".to_owned(),
    }
}

/// Returns true if the file has half of the magic, a trailer's mark at the end, or a mark of a block or a
/// trailer near either end.
fn looks_like_archive(source: &dyn ByteSource) -> bool {
    let len = source.len();
    let take = usize::try_from(len.min(WINDOW)).expect("at most 1 MiB");
    let (mut first, mut last) = (vec![0; take], vec![0; take]);
    let (lenient, begin) = (Lenient::new(source), len - take as u64);
    lenient.read(0, &mut first);
    lenient.read(begin, &mut last);
    let as_it_should_be = first.iter().zip(MAGIC).filter(|(found, magic)| **found == *magic).count();
    let needed = take.min(MAGIC.len()).div_ceil(2).max(1);
    let ends = last.ends_with(&END_MARKER)
        || take.checked_sub(TRAILER_LEN).is_some_and(|at| last[at..].starts_with(&TRAILER_MARKER));
    // Blocks and trailers are at multiples of 8, but not in a file that lost its beginning.
    let marked = |bytes: &[u8]| bytes.windows(4).any(|word| word == BLOCK_MARKER || word == TRAILER_MARKER);
    as_it_should_be >= needed || ends || marked(&first) || marked(&last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::MemorySource;

    #[test]
    fn half_a_magic_or_one_mark_is_enough() {
        let looks = |bytes: &[u8]| looks_like_archive(&MemorySource::new(bytes.to_vec()));
        for foreign in [&b""[..], b"\0", b"# a text\n", &[0; 5000], &[0xFF; 5000], b"CDF\x01 and more of it"]
        {
            assert!(!looks(foreign), "{foreign:?}");
        }
        let mut long = vec![0; 3 << 20];
        assert!(!looks(&long));
        for (at, mark) in [
            (0, &MAGIC[..4]),
            (4096, &BLOCK_MARKER),
            ((3 << 20) - 4, &END_MARKER),
            ((3 << 20) - 128, &TRAILER_MARKER),
        ] {
            long.fill(0);
            long[at..at + 4].copy_from_slice(mark);
            assert!(looks(&long), "{at}");
        }
        assert!(looks(&MAGIC[..1]) && looks(&MAGIC[..7]));
    }

    #[test]
    fn files_of_other_kinds_are_named() {
        let what = |bytes: &[u8]| what_it_is(&MemorySource::new(bytes.to_vec()));
        assert_eq!(what(b""), "the file is empty, not an nc3z archive");
        assert_eq!(what(b"\x1f\x8b\x08\0"), "this is a gzip file, not an nc3z archive");
        assert_eq!(
            what(&[0x80; 64]),
            "not an nc3z archive: neither its beginning nor its end looks like one"
        );
    }
}
