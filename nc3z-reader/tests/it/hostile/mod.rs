//! Authors who fix their checksums: claims that do not fit, bombs, cycles.

mod claims;

use crate::classic::{Model, Var};
use crate::support::{archive_bytes, open, paged, restore};
use crate::targets::reseal;
use nc3z_format::NcType;
use nc3z_format::archive::{
    ArrayId, BlockHeader, BlockKind, ContainerBuilder, Digest, Head, IndexEntry, Metadata, PAGE_LEN, Row,
    SUPERBLOCK_LEN, Salt, SectionEncoding, SectionEntry, SectionKind, SectionTable, Superblock, TRAILER_LEN,
    TileLayoutSpec, Trailer, VariableTable,
};
use nc3z_format::array_table::{Arrays, padded_variables};
use nc3z_format::classic::{Layout, VarId, Version};
use nc3z_format::codec::{ChainSpec, encode_zstd_frame};
use nc3z_reader::OpenOptions;
use nc3z_reader::source::{MemorySource, SharedSource};
use nc3z_writer::WriterOptions;
use std::sync::Arc;

/// An archive put together by hand: whatever it claims, its checksums hold.
struct Forge {
    head: Head,
    table: Vec<u8>,
    metadata: Vec<u8>,
    original_len: u64,
    /// Bytes between head and sections, at [`Forge::body_at`].
    body: Vec<u8>,
    encoding: SectionEncoding,
}

impl Forge {
    /// One char variable of `count` bytes, with nothing after it, in tiles of `tile_len`.
    fn chars(count: u64, tile_len: u64) -> Self {
        // CDF-5, so that the length is 64 bits wide.
        let mut header = b"CDF\x05".to_vec();
        let mut words = |words: &[u64], tags: &[(usize, u32)]| {
            for (i, w) in words.iter().enumerate() {
                tags.iter().filter(|t| t.0 == i).for_each(|t| header.extend(t.1.to_be_bytes()));
                header.extend(w.to_be_bytes());
            }
        };
        // numrecs; dimensions: one, named "d"; no attributes; one variable "v".
        words(&[0, 1, 1], &[(1, 10)]);
        header.extend(b"d\0\0\0");
        header.extend(count.to_be_bytes());
        header.extend([0; 12]);
        header.extend(11u32.to_be_bytes());
        header.extend(1u64.to_be_bytes());
        header.extend(1u64.to_be_bytes());
        header.extend(b"v\0\0\0");
        header.extend(1u64.to_be_bytes());
        header.extend(0u64.to_be_bytes());
        header.extend([0; 12]);
        header.extend(2u32.to_be_bytes());
        header.extend(count.to_be_bytes());
        let begin = header.len() as u64 + 8;
        header.extend(begin.to_be_bytes());
        Forge {
            head: Head {
                header,
                chains: vec![ChainSpec::default()],
                layouts: vec![TileLayoutSpec::Linear(tile_len)],
                padding_tile_lens: vec![],
                gap_tile_len: 1 << 20,
            },
            table: VariableTable::default().encode(),
            metadata: Metadata { writer: "forge".into(), ..Metadata::default() }.encode(),
            original_len: begin + count,
            body: vec![],
            encoding: SectionEncoding::Raw,
        }
    }

    fn salt(&self) -> Salt {
        Salt::of_file(&self.head.header, self.original_len, &[0; 32])
    }

    fn body_at(&self) -> u64 {
        (SUPERBLOCK_LEN as u64 + self.head.encode().len() as u64).next_multiple_of(8)
    }

    fn row(mut self, tile_count: u64, root: u64, entries: Vec<IndexEntry>) -> Self {
        self.table =
            VariableTable::new(vec![Row { array: ArrayId::variable(0), tile_count, root }], entries).encode();
        self
    }

    fn build(&self) -> Vec<u8> {
        let (salt, head) = (self.salt(), self.head.encode());
        let head_len = u32::try_from(head.len()).unwrap();
        let superblock = Superblock {
            minor: 1,
            salt,
            original_len: self.original_len,
            head_stored_len: head_len,
            head_decoded_len: head_len,
            head_crc: crc32fast::hash(&head),
            slots: nc3z_format::archive::CommitSlots::default(),
        };
        let mut out = superblock.encode().to_vec();
        let align = |out: &mut Vec<u8>| out.resize(out.len().next_multiple_of(8), 0);
        let mut sections = Vec::new();
        let mut section = |out: &mut Vec<u8>, kind, encoding, bytes: &[u8]| {
            align(out);
            let (offset, len, crc) = (out.len() as u64, bytes.len() as u64, crc32fast::hash(bytes));
            sections.push(SectionEntry { kind, encoding, crc, offset, len });
            out.extend(bytes);
        };
        section(&mut out, SectionKind::Head, SectionEncoding::Raw, &head);
        align(&mut out);
        let blocks_begin = out.len() as u64;
        out.extend(&self.body);
        align(&mut out);
        let blocks_end = out.len() as u64;
        section(&mut out, SectionKind::VariableTable, self.encoding, &self.table);
        section(&mut out, SectionKind::Metadata, SectionEncoding::Raw, &self.metadata);
        align(&mut out);
        let sections_offset = out.len() as u64;
        let table = SectionTable::new(sections).encode();
        out.extend(&table);
        align(&mut out);
        let offset = out.len() as u64;
        let trailer = Trailer {
            generation: 1,
            salt,
            required: 0,
            optional: 0,
            sections_offset,
            sections_len: u32::try_from(table.len()).unwrap(),
            sections_crc: salt.crc(sections_offset, &table),
            blocks_begin,
            blocks_end,
            previous: 0,
            archive_len: offset + TRAILER_LEN as u64,
            original_len: self.original_len,
            digest: Digest::None,
        };
        out.extend(trailer.encode(&salt, offset));
        out
    }
}

fn constants(tiles: u64) -> Vec<IndexEntry> {
    (0..tiles).map(|_| IndexEntry::Constant { value: [7, 0, 0, 0, 0, 0, 0, 0] }).collect()
}

#[test]
fn forged_archive_is_sound_before_it_is_broken() {
    let forge = Forge::chars(100, 10).row(10, 0, constants(10));
    let found = restore(forge.build()).unwrap();
    assert_eq!(found.len() as u64, forge.original_len);
    assert!(found.ends_with(&[7; 100]));
}

#[test]
fn an_index_that_says_of_a_member_what_its_container_does_not_is_found() {
    // Two chains that do the same: what differs is the number alone, and all tiles can be read.
    let forge = |said: u16| {
        let mut forge = Forge::chars(20, 10);
        forge.head.chains.push(ChainSpec::default());
        let (offset, array) = (forge.body_at(), ArrayId::variable(0));
        let mut builder = ContainerBuilder::default();
        (0..2u8).for_each(|tile| builder.push(array, tile.into(), 1, &[b'a' + tile; 10]));
        let (payload, starts) = builder.finish();
        let crc = crc32fast::hash(&payload);
        let header = BlockHeader {
            generation: 1,
            array: ArrayId::CONTAINERS,
            kind: BlockKind::Container,
            lossy: false,
            chain: 0,
            tile: 0,
            decoded_len: u32::try_from(payload.len()).unwrap(),
            stored_len: u32::try_from(payload.len()).unwrap(),
            payload_crc: BlockHeader::payload_crc(ArrayId::CONTAINERS, 0, &payload),
            decoded_crc: crc,
        };
        forge.body = [&header.encode(&forge.salt(), offset)[..], &payload].concat();
        let entry = |tile: u8, chain| IndexEntry::Shared {
            offset,
            start: starts[usize::from(tile)],
            len: 10,
            chain,
            check: crc32fast::hash(&[b'a' + tile; 10]),
        };
        forge.row(2, 0, vec![entry(0, 1), entry(1, said)]).build()
    };
    let checked = |bytes: &[u8]| {
        let source: SharedSource = Arc::new(MemorySource::new(bytes.to_vec()));
        nc3z_reader::verify::deep(&source, &OpenOptions::default(), &()).unwrap()
    };
    let (good, bad) = (forge(1), forge(0));
    assert!(checked(&good).is_sound(), "{:?}", checked(&good).findings);
    assert_eq!(restore(bad.clone()).unwrap(), restore(good).unwrap());
    let report = checked(&bad);
    let [finding] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert!(
        finding.message.contains("by chain 1") && finding.message.contains("by chain 0"),
        "{}",
        finding.message
    );
    assert_eq!(finding.places[0].tiles, 1..2);
}

#[test]
fn tables_that_claim_more_than_they_hold_are_refused() {
    for (rows, entries) in [(u32::MAX, 0), (0, u32::MAX), (u32::MAX, u32::MAX), (1, u32::MAX / 24), (2, 10)] {
        let mut forge = Forge::chars(100, 10).row(10, 0, constants(10));
        forge.table[..4].copy_from_slice(&rows.to_le_bytes());
        forge.table[4..8].copy_from_slice(&entries.to_le_bytes());
        assert!(open(forge.build()).unwrap_err().is_corrupt());
    }
    for tiles in [9, 11] {
        let forge = Forge::chars(100, 10).row(tiles, 0, constants(tiles));
        assert!(open(forge.build()).unwrap_err().is_corrupt(), "{tiles}");
    }
}

#[test]
fn sections_that_decode_to_more_than_is_allowed_are_refused() {
    let mut forge = Forge::chars(100, 10);
    forge.table = encode_zstd_frame(&vec![0; 64 << 20], 3).unwrap();
    forge.encoding = SectionEncoding::Zstd;
    let small = forge.build();
    assert!(small.len() < 16 << 10);
    let e = open(small).unwrap_err();
    assert!(e.to_string().contains("limit") || e.to_string().contains("most"), "{e}");
}

#[test]
fn deep_json_and_endless_chains_are_refused() {
    let mut forge = Forge::chars(100, 10).row(10, 0, constants(10));
    for text in [
        "[".repeat(60_000),
        format!("{{\"a\":{}", "{\"a\":".repeat(10_000)),
        format!("{{\"chains\":[{}]}}", "[".repeat(500)),
    ] {
        forge.metadata = text.into_bytes();
        assert!(open(forge.build()).is_err());
    }
    let stage = r#"{"id":"shuffle","elementsize":2}"#;
    let chain = format!("[{}]", vec![stage; 1000].join(","));
    forge.metadata = format!(r#"{{"chains":[{chain}],"writer":"forge"}}"#).into_bytes();
    assert!(open(forge.build()).is_err(), "a chain of 1000 filters");
    forge.metadata =
        format!(r#"{{"chains":[{}],"writer":"forge"}}"#, vec!["[]"; 2000].join(",")).into_bytes();
    assert!(open(forge.build()).is_err(), "2000 chains");
}

/// A page of any content with a right checksum.
fn page(salt: Salt, at: u64, level: u16, count: u16, first: u64, body: &[u8]) -> Vec<u8> {
    let mut out = vec![0; PAGE_LEN];
    out[8..10].copy_from_slice(&level.to_le_bytes());
    out[10..12].copy_from_slice(&count.to_le_bytes());
    out[16..24].copy_from_slice(&first.to_le_bytes());
    out[24..24 + body.len()].copy_from_slice(body);
    let crc = salt.crc(at, &out[4..]);
    out[..4].copy_from_slice(&crc.to_le_bytes());
    out
}

#[test]
fn pages_that_refer_to_themselves_are_refused() {
    for child in [0, 4096, u64::MAX, u64::MAX - 4095] {
        let mut forge = Forge::chars(1000, 1);
        let at = forge.body_at();
        let target = if child < 8192 { at + child } else { child };
        let children: Vec<u8> = [target; 6].iter().flat_map(|c| c.to_le_bytes()).collect();
        forge.body = page(forge.salt(), at, 1, 6, 0, &children);
        // Room for the pages that the tiles need.
        forge.body.resize(8 * 4096, 0);
        let archive = open(forge.row(1000, at, vec![]).build()).unwrap();
        assert!(archive.entry(ArrayId::variable(0), 5).unwrap_err().is_corrupt());
        assert!(archive.entry(ArrayId::variable(0), 1000).is_err());
    }
}

#[test]
fn roots_anywhere_are_errors() {
    for root in [1, 8, 160, 4096, u64::MAX, u64::MAX - 4095] {
        let forge = Forge::chars(1000, 1).row(1000, root, vec![]);
        // Opening need not look at it; reading must.
        if let Ok(archive) = open(forge.build()) {
            assert!(archive.read_tile(ArrayId::variable(0), 0).is_err());
            assert!(archive.check_original(&()).is_err());
        }
    }
}

#[test]
fn entries_that_point_anywhere_are_errors() {
    for offset in [0, 8, 160, 200, 1 << 20, u64::MAX - 43, u64::MAX] {
        for len in [0, 10, u32::MAX] {
            let entries = [
                IndexEntry::Stored { offset, len, chain: 0, check: 0 },
                IndexEntry::Shared { offset, start: len, len: 10, chain: 0, check: 0 },
                IndexEntry::Shared { offset, start: 4, len, chain: 9, check: 0 },
            ];
            for entry in entries {
                let opened = open(Forge::chars(10, 10).row(1, 0, vec![entry]).build());
                assert!(opened.and_then(|a| a.check_original(&())).is_err(), "{entry:?}");
            }
        }
    }
    for entry in
        [IndexEntry::Absent, IndexEntry::Lost, IndexEntry::Constant { value: [1, 1, 0, 0, 0, 0, 0, 0] }]
    {
        let opened = open(Forge::chars(10, 10).row(1, 0, vec![entry]).build());
        assert!(opened.and_then(|a| a.check_original(&())).unwrap_err().is_corrupt(), "{entry:?}");
    }
}

#[test]
fn original_of_an_exbibyte_opens_and_takes_no_memory() {
    // A claim that costs the author nothing: one constant tile, as large as the format has, or larger.
    for tile_len in [1 << 30, 1 << 40, u64::MAX] {
        let forge = Forge::chars(1 << 60, tile_len).row(1, 0, constants(1));
        if let Ok(archive) = open(forge.build()) {
            let mut out = [0; 10];
            let _ = archive.read_original(archive.original_len() - 10, &mut out);
            assert!(archive.read_tile(ArrayId::variable(0), 0).is_err());
        }
    }
}

#[test]
fn resealed_sections_table_pointing_elsewhere_is_an_error_or_right() {
    let (original, bytes) = paged();
    let trailer = bytes.len() - TRAILER_LEN;
    let at =
        usize::try_from(u64::from_le_bytes(bytes[trailer + 24..trailer + 32].try_into().unwrap())).unwrap();
    for row in (at..trailer - 23).step_by(24) {
        for (field, size) in [(0, 2), (2, 2), (8, 8), (16, 8)] {
            for value in
                [0u64, 1, 2, 3, 4, 8, 24, 159, 160, 168, 4096, trailer as u64, u64::MAX, u64::MAX - 7]
            {
                let mut bad = bytes.clone();
                bad[row + field..row + field + size].copy_from_slice(&value.to_le_bytes()[..size]);
                assert!(reseal(&mut bad));
                if let Ok(found) = restore(bad) {
                    assert!(found == original, "row at {row}, field at {field}, {value}");
                }
            }
        }
    }
    let mut same = bytes.clone();
    assert!(reseal(&mut same));
    assert_eq!(same, bytes, "an archive that is right stays as it is");
}

#[test]
fn resealed_flips_are_errors_or_right_or_of_another_header() {
    let vars = vec![Var::fixed(NcType::Short, &[5]), Var::record(NcType::Byte, &[2])];
    let original = Model::new(Version::Cdf1, 3, vars).build().bytes;
    let bytes = archive_bytes(&original, &WriterOptions::default().with_tile_len(4));
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut bad = bytes.clone();
            bad[at] ^= 1 << bit;
            reseal(&mut bad);
            // An attacker may change the header and the digest too, but the length remains the declared one.
            crate::targets::open_and_restore(bad);
        }
    }
}

fn vars_of(archive: &nc3z_reader::Archive) -> usize {
    archive.header().variables.len()
}
