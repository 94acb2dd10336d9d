//! The head of a later state, which continues the head copy: read by every build that reads zstd, by the C library or in Rust.
#![cfg(any(feature = "zstd", feature = "ruzstd"))]

use nc3z_format::Limits;
use nc3z_format::archive::{
    LaterHeadPlace, SectionEntry, SectionKind, SectionTable, Superblock, TRAILER_LEN, Trailer, VariableTable,
};

const BYTES: &[u8] = include_bytes!("../../testdata/archives/v1_0_0/states.later.nc3z");

#[test]
fn the_head_of_the_second_state_is_read() {
    let limits = Limits::default();
    let range = |offset: u64, len: u64| {
        let begin = usize::try_from(offset).unwrap();
        &BYTES[begin..begin + usize::try_from(len).unwrap()]
    };
    let salt = Superblock::decode(BYTES.first_chunk().unwrap()).unwrap().salt;
    let at = BYTES.len() - TRAILER_LEN;
    let trailer = Trailer::decode(BYTES[at..].first_chunk().unwrap(), at as u64, &salt).unwrap();
    let stored = range(trailer.sections_offset, trailer.sections_len.into());
    let sections = SectionTable::decode(stored, &trailer, at as u64, &salt, &limits).unwrap();
    let section = |kind| {
        let entry = sections.find(kind).unwrap();
        let older = |older: &SectionEntry| Ok::<_, nc3z_format::Error>(range(older.offset, older.len));
        entry.decode_with(range(entry.offset, entry.len), 1 << 20, older).unwrap()
    };
    let (head, table) = (section(SectionKind::Head), section(SectionKind::VariableTable));
    let place = LaterHeadPlace::find(&VariableTable::decode(&table).unwrap(), &trailer).unwrap().unwrap();
    let block = range(place.offset, place.block_len());
    let later = place.read(block, &salt, &head, &limits).unwrap();
    assert_eq!(later.original_len, trailer.original_len);
    assert!(later.header.starts_with(b"CDF\x02"));
}
