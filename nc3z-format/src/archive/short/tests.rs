use super::directory::{Directory, MemberRow, Payload, Record};
use super::prefix::{Form, Prefix, TEXT};
use super::*;
use crate::archive::section_codec::{self, pack_frame};
use crate::archive::{
    ArrayId, BlockHeader, BlockKind, ConstantsBuilder, Head, HeadParts, Metadata, SUPERBLOCK_LEN,
    TileLayoutSpec,
};
use crate::bytes::put_varint;
use crate::codec::{ChainSpec, StageSpec};
use crate::limits::Limits;

const PAYLOAD: &[u8] = b"a payload behind the directory";

/// A directory with a block of each kind; the head's layouts do not fit a header, which nothing here asks for.
fn sample() -> Directory {
    let head = Head {
        header: b"CDF a header".to_vec(),
        chains: vec![
            ChainSpec::default(),
            ChainSpec(vec![StageSpec::zstd(9)]),
            ChainSpec(vec![StageSpec::shuffle(2)]),
            ChainSpec(vec![StageSpec::num(None)]),
        ],
        layouts: vec![TileLayoutSpec::Linear(3)],
        padding_tile_lens: Vec::new(),
        gap_tile_len: 1,
    };
    let metadata = Metadata { writer: "a test".into(), ..Metadata::default() };
    let mut list = ConstantsBuilder::default();
    list.push(ArrayId::variable(4), 0, &[1, 2]);
    list.push(ArrayId::variable(4), 1, &[1, 2]);
    let row = |array, len, chain, decoded: &[u8]| MemberRow {
        array,
        tile: 0,
        chain,
        len,
        check: crc32fast::hash(decoded),
    };
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
    let members = vec![
        row(ArrayId::variable(2), 2, 0, b"ab"),
        row(ArrayId::variable(1), 0, 0, b""),
        row(ArrayId::variable(3), 4, 2, b"cedf"),
        row(ArrayId::GAP, 3, 3, b"what these bytes stand for"),
    ];
    let blocks = vec![
        inside(BlockKind::Definition, ArrayId::definitions(9), b"values", Vec::new()),
        record.clone(),
        inside(BlockKind::Container, ArrayId::CONTAINERS, b"abcdefghi", members),
        inside(BlockKind::Constants, ArrayId::CONSTANTS, &list.finish(), Vec::new()),
    ];
    Directory { required: 0, original_len: 1000, head: head.encode(), metadata: metadata.encode(), blocks }
}

fn stored(directory: &Directory) -> Vec<u8> {
    let frame = pack_frame(&directory.encode()).unwrap();
    [&short(Form::Directory, &frame)[..], PAYLOAD].concat()
}

fn short(form: Form, content: &[u8]) -> Vec<u8> {
    [&Prefix { form, sha256: [3; 32] }.encode(content).unwrap()[..], content].concat()
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
    // Unused chains are omitted: here those of the tile that is stored raw.
    let mut fewer = sample();
    fewer.blocks[1].chain = 0;
    let long = expand(&stored(&fewer)).unwrap();
    let again = shorten(&long.bytes, SHORT_LEN).unwrap().expect("it has one");
    let chains = |short: &[u8]| {
        let directory =
            Directory::decode(&section_codec::unpack(Prefix::split(short).unwrap().1, CONTENT_LEN).unwrap())
                .unwrap();
        let numbers = directory.blocks[2].members.iter().map(|m| m.chain).collect::<Vec<_>>();
        (HeadParts::split(&directory.head, &Limits::default()).unwrap().chains().len(), numbers)
    };
    assert_eq!(chains(&stored(&fewer)), (4, vec![0, 0, 2, 3]));
    assert_eq!(chains(&again), (3, vec![0, 0, 1, 2]));
    let long = expand(&short).unwrap();
    // A truncated or changed long form has no short form.
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
    let limits = include_str!("../../../../spec/conformance.md");
    let text = String::from_utf8_lossy(&TEXT[..14]);
    assert!(spec.contains(&format!("`{text}\\r\\n`")));
    let row = "short form: bytes of the content, unpacked; tiles of an array; tiles of all arrays | 2^20; 32; 2^14 |";
    assert!(limits.contains(row) && CONTENT_LEN == 1 << 20 && ENTRIES == 1 << 14);
    assert!(limits.contains("| bytes of a short form | 65536 |") && SHORT_LEN == 65_536);
    assert!(spec.contains("| 68 | | content |") && SHORT_PREFIX_LEN == 68 && SUPERBLOCK_LEN == 160);
}

#[test]
fn a_record_says_what_it_may_say_and_nothing_else() {
    let bytes = sample().encode();
    // The container's record: its kind and its place, then the number of its members.
    let at = bytes.windows(2).rposition(|w| w == [5, 4]).unwrap();
    for code in [3, 8, 9, 13, 15, 16, 128] {
        let mut bad = bytes.clone();
        bad[at] = code;
        let e = Directory::decode(&bad).unwrap_err().to_string();
        assert!(e.contains("constants list") || e.contains("kind of block"), "{code}: {e}");
    }
}

/// A classic file with a fixed variable, two record variables of which one has padding, a gap before the values and a tail.
fn classic_file() -> Vec<u8> {
    let u32s = |numbers: &[u32]| numbers.iter().flat_map(|n| n.to_be_bytes()).collect::<Vec<_>>();
    let name = |name: &[u8; 4]| [&4u32.to_be_bytes()[..], name].concat();
    let variable = |n: &[u8; 4], dims: &[u32], ty: u32, vsize: u32, begin: u32| {
        let dims = [u32s(&[u32::try_from(dims.len()).unwrap()]), u32s(dims)].concat();
        [name(n), dims, u32s(&[0, 0, ty, vsize, begin])].concat()
    };
    let dims = [name(b"time"), u32s(&[0]), name(b"node"), u32s(&[3])].concat();
    let begin = 200;
    let variables = [
        variable(b"area", &[1], 3, 8, begin),
        variable(b"flag", &[0, 1], 1, 4, begin + 8),
        variable(b"temp", &[0, 1], 5, 12, begin + 12),
    ]
    .concat();
    let mut file = [b"CDF\x01".to_vec(), u32s(&[2, 10, 2]), dims, u32s(&[0, 0, 11, 3]), variables].concat();
    assert!(file.len() < begin as usize, "{}", file.len());
    file.resize(begin as usize, 0xEE);
    file.extend((0..8 + 2 * 16 + 5u8).map(|i| i.wrapping_mul(7)));
    file
}

#[test]
fn a_file_as_a_whole_stands_for_an_archive_of_its_arrays() {
    let file = classic_file();
    let metadata = Metadata { writer: "a test".into(), ..Metadata::default() }.encode();
    let content = whole::content(0, &metadata, &file);
    let directory = whole::directory(&content).unwrap();
    assert_eq!((directory.original_len, &directory.metadata), (file.len() as u64, &metadata));
    let [container] = &directory.blocks[..] else { panic!("one container") };
    let ids: Vec<_> = container.members.iter().map(|m| (m.array, m.len)).collect();
    let variable = ArrayId::variable;
    let gap = u32::try_from(file.len() as u64 - header_len(&file)).unwrap() - 8 - 2 * 16 + 2;
    let expected = [
        (variable(0), 6),
        (variable(1), 6),
        (variable(2), 24),
        (ArrayId::padding(1), 2),
        (ArrayId::GAP, gap),
    ];
    assert_eq!(ids, expected);
    let Payload::Inside(payload) = &container.payload else { panic!("inside") };
    assert_eq!(&payload[..6], &file[200..206]);
    assert_eq!(&payload[6..12], &[&file[208..211], &file[224..227]].concat()[..]);
    let long = expand(&short(Form::Whole, &pack_frame(&content).unwrap())).unwrap().bytes;
    let again = shorten_whole(&long, &file, SHORT_LEN).unwrap().expect("it has one");
    assert_eq!(expand(&again).unwrap().bytes, long);
    assert!(shorten_whole(&long, &file, again.len() - 1).unwrap().is_none());
}

fn header_len(file: &[u8]) -> u64 {
    crate::classic::parse(file, file.len() as u64, &Limits::default()).unwrap().header_len
}

#[test]
fn damage_to_a_file_as_a_whole_is_an_error() {
    let content = whole::content(0, b"{}", &classic_file());
    let whole = short(Form::Whole, &pack_frame(&content).unwrap());
    assert!(expand(&whole).is_ok());
    for bit in 0..whole.len() * 8 {
        let mut bad = whole.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(expand(&bad).is_err(), "bit {bit}");
    }
    for len in 0..whole.len() {
        assert!(expand(&whole[..len]).is_err(), "{len}");
    }
    // With a checksum that fits, too, no cut content is more than it is.
    for len in 0..content.len() {
        let _ = expand(&short(Form::Whole, &pack_frame(&content[..len]).unwrap()));
    }
    assert!(error(&short(Form::Whole, b"no frame")).contains("zstd"));
    let many = pack_frame(&vec![7; 2 << 20]).unwrap();
    assert!(error(&short(Form::Whole, &many)).contains("limit"));
}
