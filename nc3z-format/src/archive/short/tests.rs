use super::directory::{Directory, MemberRow, Payload, Record};
use super::expand::prefix;
use super::*;
use crate::archive::section_codec::pack_frame;
use crate::archive::{
    ArrayId, BlockHeader, BlockKind, ConstantsBuilder, Head, Metadata, SUPERBLOCK_LEN, TileLayoutSpec,
};
use crate::bytes::put_varint;
use crate::codec::ChainSpec;

const PAYLOAD: &[u8] = b"a payload behind the directory";

/// A directory with a block of each kind; the head's layouts do not fit a header, which nothing here asks for.
fn sample() -> Directory {
    let head = Head {
        header: b"CDF a header".to_vec(),
        chains: vec![ChainSpec::default()],
        layouts: vec![TileLayoutSpec::Linear(3)],
        padding_tile_lens: Vec::new(),
        gap_tile_len: 1,
    };
    let metadata = Metadata { writer: "a test".into(), ..Metadata::default() };
    let mut list = ConstantsBuilder::default();
    list.push(ArrayId::variable(4), 0, &[1, 2]);
    list.push(ArrayId::variable(4), 1, &[1, 2]);
    let row = |array, len| MemberRow { array, tile: 0, chain: 0, len, check: 7 };
    let outside = Payload::Outside {
        len: u32::try_from(PAYLOAD.len()).unwrap(),
        crc: BlockHeader::payload_crc(ArrayId::variable(9), 0, PAYLOAD),
    };
    let record = Record {
        kind: BlockKind::Tile,
        array: ArrayId::variable(9),
        tile: 0,
        chain: 1,
        decoded_len: 99,
        decoded_crc: 5,
        payload: outside,
        members: Vec::new(),
    };
    let inside = |kind, array, payload: &[u8], members| Record {
        kind,
        array,
        chain: 0,
        decoded_len: 0,
        decoded_crc: 0,
        payload: Payload::Inside(payload.to_vec()),
        members,
        ..record.clone()
    };
    let members = vec![row(ArrayId::variable(2), 2), row(ArrayId::variable(1), 0), row(ArrayId::GAP, 3)];
    let blocks = vec![
        inside(BlockKind::Definition, ArrayId::definitions(9), b"values", Vec::new()),
        record.clone(),
        inside(BlockKind::Container, ArrayId::CONTAINERS, b"abcde", members),
        inside(BlockKind::Constants, ArrayId::CONSTANTS, &list.finish(), Vec::new()),
    ];
    Directory { required: 0, original_len: 1000, head: head.encode(), metadata: metadata.encode(), blocks }
}

fn stored(directory: &Directory) -> Vec<u8> {
    let frame = pack_frame(&directory.encode()).unwrap();
    [&prefix(&frame, &[3; 32]).unwrap()[..], &frame, PAYLOAD].concat()
}

fn error(stored: &[u8]) -> String {
    expand(stored).unwrap_err().to_string()
}

#[test]
fn a_directory_comes_back_and_every_prefix_of_it_is_an_error() {
    let bytes = sample().encode();
    assert_eq!(Directory::decode(&bytes).unwrap(), sample());
    for len in 0..bytes.len() {
        assert!(Directory::decode(&bytes[..len]).is_err(), "{len}");
    }
}

#[test]
fn the_long_form_has_the_same_short_form_again() {
    let short = stored(&sample());
    let long = expand(&short).unwrap();
    assert_eq!((long.missing, long.extra), (0, 0));
    assert!(is_short(&short) && !is_short(&long.bytes));
    let again = shorten(&long.bytes, SHORT_LEN).unwrap().expect("it has one");
    assert_eq!(expand(&again).unwrap().bytes, long.bytes);
    // Whoever cut the long one or changed it does not get a short one.
    assert!(shorten(&long.bytes[..long.bytes.len() - 8], SHORT_LEN).is_err());
}

#[test]
fn every_flipped_bit_before_the_payloads_is_seen_and_later_ones_change_only_payload() {
    let short = stored(&sample());
    let whole = expand(&short).unwrap().bytes;
    for bit in 0..short.len() * 8 {
        let mut bad = short.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        match expand(&bad) {
            Err(_) => assert!(bit / 8 < short.len() - PAYLOAD.len(), "bit {bit}"),
            Ok(long) => {
                assert!(bit / 8 >= short.len() - PAYLOAD.len(), "bit {bit}");
                let differ = whole.iter().zip(&long.bytes).filter(|(a, b)| a != b).count();
                assert_eq!((differ, long.bytes.len()), (1, whole.len()), "bit {bit}");
            }
        }
    }
}

#[test]
fn what_is_missing_or_too_much_at_the_end_is_told() {
    let short = stored(&sample());
    let cut = expand(&short[..short.len() - 7]).unwrap();
    assert_eq!((cut.missing, cut.extra), (7, 0));
    let long = expand(&[&short[..], b"xyz"].concat()).unwrap();
    assert_eq!((long.missing, long.extra), (0, 3));
    assert_eq!(long.bytes, expand(&short).unwrap().bytes);
    for len in 0..short.len() - PAYLOAD.len() {
        assert!(expand(&short[..len]).is_err(), "{len}");
    }
}

#[test]
fn rules_of_the_specification_are_checked() {
    let with = |change: &dyn Fn(&mut Directory)| {
        let mut directory = sample();
        change(&mut directory);
        error(&stored(&directory))
    };
    assert!(with(&|d| d.required = 8).contains("required features"));
    assert!(with(&|d| d.required = 2).contains("required features"));
    assert!(with(&|d| d.blocks.push(d.blocks[1].clone())).contains("each once"));
    assert!(with(&|d| d.blocks[1].tile = 1).contains("tile"));
    let many = |count: u64| {
        let mut list = Vec::new();
        put_varint(&mut list, 4);
        put_varint(&mut list, 0);
        put_varint(&mut list, count);
        list.extend([1, 9]);
        list
    };
    assert!(with(&|d| d.blocks[3].payload = Payload::Inside(many(33))).contains("at most 32"));
    assert!(with(&|d| d.blocks[3].payload = Payload::Inside(many(u64::MAX))).contains("at most 32"));
    let huge = |d: &mut Directory| d.blocks[1].payload = Payload::Outside { len: u32::MAX, crc: 0 };
    assert!(with(&huge).contains("stored length"));
    assert!(with(&|d| d.blocks[1].decoded_len = u32::MAX).contains("decoded length"));
    assert!(with(&|d| d.head = vec![200]).contains("header length"));
    let lists = |d: &mut Directory| {
        let mut list = Vec::new();
        for variable in 10..600u64 {
            put_varint(&mut list, variable);
            list.extend([0, 32, 1, 9]);
        }
        d.blocks[3].payload = Payload::Inside(list);
    };
    assert!(with(&lists).contains("index entries"));
    let long = vec![0; SHORT_LEN + 1];
    assert!(error(&long).contains("limit"));
}

#[test]
fn the_specification_has_the_same_numbers_and_text() {
    let spec = include_str!("../../../../spec/archive.md");
    let text = String::from_utf8_lossy(&TEXT[..14]);
    assert!(spec.contains(&format!("`{text}\\r\\n`")));
    assert!(spec.contains("at most 2^20 bytes") && DIRECTORY_LEN == 1 << 20);
    assert!(spec.contains("all arrays at most 2^14") && ENTRIES == 1 << 14);
    assert!(spec.contains("short forms of at most 65,536 bytes") && SHORT_LEN == 65_536);
    assert!(spec.contains("| 68 | | directory |") && SHORT_PREFIX_LEN == 68 && SUPERBLOCK_LEN == 160);
}
