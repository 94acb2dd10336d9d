//! Fields broken by hand, with checksums that fit: each rule of the specification is enforced, and by name.

use super::constants::{PAGE_HEADER_LEN, PAGE_LEN};
use super::{
    ArrayId, BlockHeader, BlockKind, Digest, Head, HeadParts, IndexEntry, Page, PageTreeBuilder, Row, Salt,
    SectionEncoding, SectionEntry, SectionKind, SectionTable, Trailer, VariableTable,
};
use crate::codec::{ChainSpec, StageSpec, encode_zstd_frame};
use crate::error::{Error, Result};
use crate::limits::Limits;

const SALT: Salt = Salt(*b"saltsalt");

#[track_caller]
fn names<T: std::fmt::Debug>(result: Result<T, Error>, what: &str) {
    let message = result.unwrap_err().to_string();
    assert!(message.contains(what), "{message:?} does not name {what:?}");
}

/// `bytes` with `field` at `at`.
fn with<const N: usize>(mut bytes: [u8; N], at: usize, field: &[u8]) -> [u8; N] {
    bytes[at..at + field.len()].copy_from_slice(field);
    bytes
}

const TABLE_AT: u64 = 12288;

fn sections() -> SectionTable {
    let entry = |kind, offset| SectionEntry {
        kind,
        encoding: SectionEncoding::Raw,
        crc: crc32fast::hash(&[1; 16]),
        offset,
        len: 16,
    };
    let pages = SectionEntry {
        kind: SectionKind::IndexPages,
        encoding: SectionEncoding::SelfChecked,
        crc: 0,
        offset: 4096,
        len: 8192,
    };
    SectionTable::new(vec![
        entry(SectionKind::Head, 160),
        entry(SectionKind::Metadata, 192),
        SectionEntry { encoding: SectionEncoding::Zstd, ..entry(SectionKind::VariableTable, 176) },
        pages,
        entry(SectionKind::Optional(0x9000), 256),
        SectionEntry {
            encoding: SectionEncoding::SelfChecked,
            crc: 0,
            ..entry(SectionKind::Optional(0x9000), 272)
        },
        SectionEntry { encoding: SectionEncoding::SelfChecked, crc: 0, ..entry(SectionKind::Parity, 288) },
    ])
}

fn decode_table(bytes: &[u8], limits: &Limits) -> Result<SectionTable> {
    let trailer = Trailer {
        sections_offset: TABLE_AT,
        sections_len: u32::try_from(bytes.len()).unwrap(),
        sections_crc: SALT.crc(TABLE_AT, bytes),
        ..trailer()
    };
    SectionTable::decode(bytes, &trailer, TABLE_AT + bytes.len() as u64, &SALT, limits)
}

#[test]
fn section_table_rules_are_enforced_by_name() {
    let limits = Limits::default();
    let good = sections().encode();
    assert_eq!(decode_table(&good, &limits).unwrap(), sections());
    let broken = |at: usize, field: &[u8]| {
        let mut bytes = good.clone();
        bytes[at..at + field.len()].copy_from_slice(field);
        decode_table(&bytes, &limits)
    };
    assert!(broken(0, &[6]).unwrap_err().is_unsupported());
    names(broken(0, &[2]), "sections of one kind");
    names(broken(2, &[3]), "encoding");
    // A head, table or metadata that claims checksums of its own would have none.
    for row in 0..3 {
        names(broken(row * 24 + 2, &[2, 0, 0, 0, 0, 0]), "encoding");
    }
    names(broken(74, &[0]), "encoding");
    names(broken(74, &[1]), "encoding");
    names(broken(76, &[1]), "CRC");
    names(broken(88, &[1]), "4096");
    names(broken(8, &[161]), "offset");
    names(broken(8, &[8, 0]), "place of a section");
    names(broken(16, &[17]), "place of a section");
    names(broken(16, &[0xFF; 8]), "place of a section");
    names(broken(88, &[0, 0x30]), "place of a section");
    names(broken(0, &[1, 0x90]), "head copy");
    names(broken(48, &[0, 0x90]), "variable table");
    names(broken(24, &[0, 0x90]), "metadata");
    names(decode_table(&[0; 23], &limits), "length");
    for bit in 0..good.len() * 8 {
        let mut flipped = good.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let _ = decode_table(&flipped, &limits);
    }
}

#[test]
fn sections_keep_to_length_limit_and_checksum() {
    let bytes = vec![7; 5000];
    for (encoding, stored) in [
        (SectionEncoding::Raw, bytes.clone()),
        (SectionEncoding::Zstd, encode_zstd_frame(&bytes, 3).unwrap()),
    ] {
        let crc = crc32fast::hash(&stored);
        let entry = SectionEntry {
            kind: SectionKind::Metadata,
            encoding,
            crc,
            offset: 160,
            len: stored.len() as u64,
        };
        assert_eq!(entry.decode(&stored, 5000).unwrap(), bytes);
        names(entry.decode(&stored, 4999), "the limit is 4999");
        names(entry.decode(&stored[1..], 5000), "length");
        // The CRC holds for these bytes, but they are not as many as the table says.
        let longer = SectionEntry { len: entry.len + 1, ..entry.clone() };
        names(longer.decode(&stored, 5000), "length");
        let mut wrong = stored.clone();
        wrong[1] ^= 1;
        names(entry.decode(&wrong, 5000), "CRC");
    }
    // Made by hand, past SectionTable::decode: still nothing goes unchecked.
    let entry = SectionEntry {
        kind: SectionKind::VariableTable,
        encoding: SectionEncoding::SelfChecked,
        crc: 0,
        offset: 160,
        len: 5000,
    };
    names(entry.decode(&bytes, 5000), "encoding");
}

fn trailer() -> Trailer {
    Trailer {
        generation: 2,
        salt: SALT,
        required: 3,
        optional: 0xFF,
        sections_offset: 1024,
        sections_len: 48,
        sections_crc: 5,
        blocks_begin: 400,
        blocks_end: 800,
        previous: 200,
        archive_len: 2128,
        original_len: 99,
        digest: Digest::Sha256([7; 32]),
    }
}

/// The trailer with a field broken and a CRC that fits.
fn broken_trailer(at: usize, field: &[u8]) -> [u8; 128] {
    let bytes = with(trailer().encode(&SALT, 2000), at, field);
    let crc = SALT.crc(2000, &bytes[..120]);
    with(bytes, 120, &crc.to_le_bytes())
}

#[test]
fn trailer_rules_are_enforced_by_name() {
    let broken = |at, field: &[u8]| Trailer::decode(&broken_trailer(at, field), 2000, &SALT);
    assert_eq!(broken(0, b"").unwrap(), trailer());
    names(broken(4, &[0; 4]), "generation");
    names(broken(8, b"other"), "salt");
    names(broken(24, &[1]), "section table offset");
    names(broken(24, &[8, 0]), "section table offset");
    names(broken(24, &u64::MAX.to_le_bytes()), "section table offset");
    names(broken(32, &[47]), "section table length");
    names(broken(32, &[0xC0, 0xFF]), "section table");
    names(broken(40, &[0x91]), "begin of blocks");
    names(broken(40, &[8, 0]), "begin of blocks");
    names(broken(48, &[0x21]), "end of blocks");
    names(broken(48, &u64::MAX.to_le_bytes()), "end of blocks");
    names(broken(48, &[0, 1]), "end of blocks");
    names(broken(56, &[201]), "previous trailer");
    names(broken(56, &[8]), "previous trailer");
    names(broken(56, &280_u64.to_le_bytes()), "previous trailer");
    names(broken(56, &(u64::MAX - 7).to_le_bytes()), "previous trailer");
    assert!(broken(56, &272_u64.to_le_bytes()).is_ok());
    assert!(broken(56, &[0]).is_ok());
    names(broken(64, &[1]), "archive length");
    names(broken(112, &[0]), "SHA-256");
    names(broken(112, &[2]), "SHA-256");
    names(broken(112, &[3]), "digest state");
    names(broken(116, &[1]), "reserved");
    names(broken(124, b"x"), "end marker");
    // Trailers stand on multiples of 8.
    let askew = Trailer { archive_len: 2132, ..trailer() }.encode(&SALT, 2004);
    names(Trailer::decode(&askew, 2004, &SALT), "offset");
}

#[test]
fn unknown_required_features_are_refused_before_all_else() {
    let unsupported = |at, field: &[u8]| {
        let bytes = broken_trailer(16, &[8]);
        let bytes = with(bytes, at, field);
        let crc = SALT.crc(2000, &bytes[..120]);
        Trailer::decode(&with(bytes, 120, &crc.to_le_bytes()), 2000, &SALT).unwrap_err().is_unsupported()
    };
    assert!(unsupported(0, b""));
    // A newer version may have other rules for other fields.
    assert!(unsupported(116, &[1]));
    assert!(unsupported(4, &[0; 4]));
    assert!(unsupported(124, b"x"));
}

#[test]
fn block_headers_have_a_generation() {
    let header = BlockHeader {
        generation: 0,
        array: ArrayId::GAP,
        kind: BlockKind::Tile,
        lossy: false,
        chain: 0,
        tile: 0,
        decoded_len: 1,
        stored_len: 1,
        payload_crc: 0,
        decoded_crc: 0,
    };
    names(BlockHeader::decode(&header.encode(&SALT, 160), &SALT, 160), "generation");
}

#[test]
fn index_entries_stay_in_the_archive() {
    let stored = IndexEntry::Stored { offset: 160, len: 3, chain: 1, check: 9 };
    let packed = IndexEntry::Shared { offset: 160, start: 4, len: 3, chain: 1, check: 9 };
    for entry in [stored, packed] {
        let broken = |at, field: &[u8]| IndexEntry::decode(&with(entry.encode(), at, field), 0);
        assert_eq!(broken(0, b"").unwrap(), entry);
        names(broken(8, &[0; 8]), "offset");
        names(broken(8, &[152]), "offset");
        names(broken(8, &[161]), "offset");
        names(broken(4, &0x4010_0001_u32.to_le_bytes()), "length");
        assert!(broken(4, &0x4010_0000_u32.to_le_bytes()).is_ok());
    }
    for entry in [IndexEntry::Absent, IndexEntry::Lost, IndexEntry::Constant { value: [0; 8] }] {
        for at in [1, 2, 4, 16, 20] {
            names(IndexEntry::decode(&with(entry.encode(), at, &[1]), 0), "index entry");
        }
    }
}

#[test]
fn tables_have_roots_just_for_more_than_32_tiles() {
    let decode = |tile_count, root, entries: usize| {
        let row = Row { array: ArrayId::GAP, tile_count, root };
        let mut bytes = VariableTable::new(vec![Row { tile_count: 1, root: 0, ..row }], vec![]).encode();
        bytes[4..8].copy_from_slice(&u32::try_from(entries).unwrap().to_le_bytes());
        bytes[12..20].copy_from_slice(&u64::to_le_bytes(tile_count));
        bytes[20..28].copy_from_slice(&u64::to_le_bytes(root));
        bytes.extend(vec![0; entries * 24]);
        VariableTable::decode(&bytes)
    };
    decode(32, 0, 32).unwrap();
    decode(33, 160, 0).unwrap();
    names(decode(33, 0, 33), "tile count");
    names(decode(0, 0, 0), "tile count");
    names(decode(32, 4096, 0), "root");
    names(decode(33, 4097, 0), "root");
    names(decode(33, 152, 0), "root");
    names(decode(2, 0, 1), "number of entries");
    names(decode(2, 0, 3), "number of entries");
}

fn tree(tiles: u64) -> (u64, Vec<[u8; PAGE_LEN]>) {
    let mut pages = Vec::new();
    let mut sink = |page: &[u8]| -> Result<()> {
        pages.push(page.try_into().unwrap());
        Ok(())
    };
    let mut builder = PageTreeBuilder::new(ArrayId::variable(5), SALT, 4000);
    for _ in 0..tiles {
        builder.push(&IndexEntry::Lost, &mut sink).unwrap();
    }
    let root = builder.finish(&mut sink).unwrap();
    (root, pages)
}

#[test]
fn pages_are_never_asked_beyond_their_array() {
    let (root, pages) = tree(170);
    let page = Page::new(&pages[2], root).unwrap();
    page.expect(ArrayId::variable(5), 1, 169, 170).unwrap();
    for (tile, tiles) in [(170, 170), (u64::MAX, 170), (u64::MAX, 0), (169 * 509, 170)] {
        assert!(page.expect(ArrayId::variable(5), 1, tile, tiles).is_err(), "{tile} of {tiles}");
    }
    for level in [0, 2, 7, u16::MAX] {
        assert!(page.expect(ArrayId::variable(5), level, u64::MAX - 1, u64::MAX).is_err());
    }
}

#[test]
fn child_pages_stand_in_the_archive_before_their_parent() {
    let (root, pages) = tree(170);
    let child = |offset: u64| {
        let page = with(pages[2], PAGE_HEADER_LEN, &offset.to_le_bytes());
        Page::new(&page, root)?.child(0)
    };
    assert_eq!(child(4000).unwrap(), 4000);
    for bad in [0, 152, 4001, root, root + 4096, u64::MAX - 7] {
        names(child(bad), "offset of a child page");
    }
}

#[test]
fn chain_0_of_a_head_is_empty() {
    let head = |chains| Head {
        header: b"CDF".to_vec(),
        chains,
        layouts: vec![],
        padding_tile_lens: vec![],
        gap_tile_len: 1,
    };
    let split = |chains| HeadParts::split(&head(chains).encode(), &Limits::default());
    split(vec![ChainSpec::default()]).unwrap();
    names(split(vec![]), "chain 0");
    names(split(vec![ChainSpec(vec![StageSpec::zstd(3)])]), "chain 0");
    let no_gap = Head { gap_tile_len: 0, ..head(vec![ChainSpec::default()]) };
    names(HeadParts::split(&no_gap.encode(), &Limits::default()).unwrap().layouts(&[], 0), "gap tile length");
}
