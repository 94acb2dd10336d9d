//! A second generation behind an archive, as a commit writes it: a tile anew, a constant instead of another, sections, trailer.

use nc3z_format::archive::{
    ArrayId, BlockHeader, BlockKind, ConstantsBuilder, IndexEntry, Row, SectionEncoding, SectionEntry,
    SectionKind, SectionTable, Trailer, VariableTable,
};
use nc3z_reader::source::MemorySource;
use nc3z_reader::{Archive, OpenOptions};
use std::sync::Arc;

/// The changes of the second generation.
pub(crate) struct Changed {
    /// The archive of two generations.
    pub(crate) bytes: Vec<u8>,
    /// A tile whose payload was written again, with all bytes zero.
    pub(crate) block: (ArrayId, u64),
}

fn align(bytes: &mut Vec<u8>) -> u64 {
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes.len() as u64
}

fn block(
    bytes: &mut Vec<u8>,
    old: &Archive,
    kind: BlockKind,
    array: ArrayId,
    tile: u64,
    payload: &[u8],
) -> IndexEntry {
    let offset = align(bytes);
    let len = u32::try_from(payload.len()).unwrap();
    let header = BlockHeader {
        generation: 2,
        array,
        kind,
        lossy: false,
        chain: 0,
        tile,
        decoded_len: len,
        stored_len: len,
        payload_crc: BlockHeader::payload_crc(array, tile, payload),
        decoded_crc: crc32fast::hash(payload),
    };
    let encoded = header.encode(&old.superblock().salt, offset);
    bytes.extend(encoded);
    bytes.extend(payload);
    IndexEntry::Stored { offset, len, chain: 0, check: BlockHeader::header_crc(&encoded) }
}

/// Appends a generation to an archive whose first array with a block has its entries in the variable table.
pub(crate) fn second(first: &[u8]) -> Changed {
    let old = Archive::from_source(Arc::new(MemorySource::new(first.to_vec())), &<_>::default()).unwrap();
    let mut bytes = first.to_vec();
    let begin = bytes.len() as u64;
    let rows: Vec<Row> = old.variable_table().rows().to_vec();
    let inline: Vec<(ArrayId, u64)> =
        rows.iter().filter(|r| r.root == 0).flat_map(|r| (0..r.tile_count).map(|t| (r.array, t))).collect();
    let mut entries: Vec<IndexEntry> = inline.iter().map(|&(a, t)| old.entry(a, t).unwrap()).collect();
    let at = entries.iter().position(|e| matches!(e, IndexEntry::Stored { .. })).unwrap();
    let (array, tile) = inline[at];
    let payload = vec![0; old.arrays().get(array).unwrap().tile_len(tile).unwrap()];
    entries[at] = block(&mut bytes, &old, BlockKind::Tile, array, tile, &payload);
    let other = (0..entries.len()).find(|&i| i != at).unwrap();
    let size = old.arrays().get(inline[other].0).unwrap().ty.size();
    let mut list = ConstantsBuilder::default();
    list.push(inline[other].0, inline[other].1, &[5; 8][..size]);
    block(&mut bytes, &old, BlockKind::Constants, ArrayId::CONSTANTS, 7, &list.finish());
    let mut value = [0; 8];
    value[..size].fill(5);
    entries[other] = IndexEntry::Constant { value };
    let blocks_end = align(&mut bytes);
    let table = VariableTable::new(rows, entries).encode();
    let mut sections: Vec<SectionEntry> = old.sections().entries().to_vec();
    sections.retain(|e| e.kind != SectionKind::VariableTable);
    sections.push(SectionEntry {
        kind: SectionKind::VariableTable,
        encoding: SectionEncoding::Raw,
        crc: crc32fast::hash(&table),
        offset: blocks_end,
        len: table.len() as u64,
    });
    bytes.extend(&table);
    let sections_offset = align(&mut bytes);
    let sections = SectionTable::new(sections).encode();
    bytes.extend(&sections);
    let at_trailer = align(&mut bytes);
    let salt = old.superblock().salt;
    let trailer = Trailer {
        generation: 2,
        sections_offset,
        sections_len: u32::try_from(sections.len()).unwrap(),
        sections_crc: salt.crc(sections_offset, &sections),
        blocks_begin: begin,
        blocks_end,
        previous: old.trailer_offset(),
        archive_len: at_trailer + 128,
        digest: nc3z_format::archive::Digest::Stale,
        ..old.trailer().clone()
    };
    bytes.extend(trailer.encode(&salt, at_trailer));
    Changed { bytes, block: (array, tile) }
}

/// The head that a generation names.
pub(crate) enum NamedHead {
    /// That of the generation before.
    Same,
    /// These bytes, its own.
    Own(Vec<u8>),
    /// A section at another place.
    At(SectionEntry),
}

/// Appends a generation that has nothing of its own but sections: those of the one before, and a head.
pub(crate) fn append_sections(before: &[u8], head: NamedHead) -> Vec<u8> {
    let old = Archive::from_source(Arc::new(MemorySource::new(before.to_vec())), &<_>::default()).unwrap();
    let mut bytes = before.to_vec();
    let begin = align(&mut bytes);
    let mut sections: Vec<SectionEntry> = old.sections().entries().to_vec();
    let entry = sections.iter_mut().find(|e| e.kind == SectionKind::Head).unwrap();
    match head {
        NamedHead::Same => {}
        NamedHead::Own(head) => {
            let (crc, len) = (crc32fast::hash(&head), head.len() as u64);
            *entry =
                SectionEntry { encoding: SectionEncoding::Raw, crc, offset: begin, len, ..entry.clone() };
            bytes.extend(head);
        }
        NamedHead::At(place) => *entry = place,
    }
    seal(bytes, &old, begin, &SectionTable::new(sections))
}

/// Puts a section table and a trailer behind what a generation wrote.
fn seal(mut bytes: Vec<u8>, old: &Archive, begin: u64, sections: &SectionTable) -> Vec<u8> {
    let sections_offset = align(&mut bytes);
    let sections = sections.encode();
    bytes.extend(&sections);
    let at_trailer = align(&mut bytes);
    let salt = old.superblock().salt;
    let trailer = Trailer {
        generation: old.trailer().generation + 1,
        sections_offset,
        sections_len: u32::try_from(sections.len()).unwrap(),
        sections_crc: salt.crc(sections_offset, &sections),
        blocks_begin: begin,
        blocks_end: begin,
        previous: old.trailer_offset(),
        archive_len: at_trailer + 128,
        ..old.trailer().clone()
    };
    bytes.extend(trailer.encode(&salt, at_trailer));
    bytes
}

#[test]
fn any_generation_opens_and_reads_as_it_was() {
    let (original, first) = crate::support::small();
    let changed = second(&first);
    let bytes = append_sections(&changed.bytes, NamedHead::Same);
    let open = |generation: Option<u64>| {
        let options = OpenOptions::default().with_generation(generation);
        Archive::from_source(Arc::new(MemorySource::new(bytes.clone())), &options)
    };
    let restore = |archive: &Archive| {
        let mut out = Vec::new();
        archive.restore_to_stream(&mut out, &()).unwrap();
        out
    };
    let [one, two, three] = [1, 2, 3].map(|n| open(Some(n)).unwrap());
    assert!(restore(&one) == original && one.torn_tail() == 0);
    assert!(restore(&two) != original && restore(&two) == restore(&three));
    assert_eq!(open(None).unwrap().trailer().generation, 3);
    assert_eq!((one.generations().unwrap().len(), three.generations().unwrap().len()), (1, 3));
    let e = open(Some(7)).unwrap_err();
    assert_eq!(e.to_string(), "no commit 7; the archive has 1 to 3");
    assert!(open(Some(0)).is_err() && open(Some(u64::MAX)).is_err());
}

#[test]
fn a_damaged_trailer_before_the_last_is_told_when_it_is_needed() {
    let (_, first) = crate::support::small();
    let mut bytes = append_sections(&append_sections(&first, NamedHead::Same), NamedHead::Same);
    let second = {
        let source = Arc::new(MemorySource::new(bytes.clone()));
        Archive::from_source(source, &<_>::default()).unwrap().trailer().previous
    };
    bytes[usize::try_from(second).unwrap() + 20] ^= 1;
    let open = |generation: Option<u64>| {
        let options = OpenOptions::default().with_generation(generation);
        Archive::from_source(Arc::new(MemorySource::new(bytes.clone())), &options)
    };
    assert!(open(None).is_ok());
    assert!(open(Some(1)).unwrap_err().is_corrupt());
}
