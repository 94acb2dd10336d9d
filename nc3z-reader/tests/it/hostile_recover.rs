//! Archives that are made to be expensive to check or to salvage: time and memory stay in proportion to the bytes there are.

use crate::support::{paged, small};
use nc3z_format::archive::constants::{BLOCK_MARKER, HEAD_OFFSET};
use nc3z_format::archive::{
    ArrayId, BlockHeader, BlockKind, ConstantsBuilder, ContainerBuilder, Head, Salt, Superblock,
    TileLayoutSpec, align8,
};
use nc3z_format::classic::{DimId, Dimension, Header, NumRecs, Variable, Version, encode};
use nc3z_format::codec::ChainSpec;
use nc3z_format::{NcType, archive};
use nc3z_reader::recover::RecoverOptions;
use nc3z_reader::source::{MemorySource, SharedSource};
use nc3z_reader::verify::quick;
use nc3z_reader::{Archive, OpenOptions};
use nc3z_writer::{BlockRepairOptions, repair_blocks};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Superblock and head copy of a file with one byte variable of `elements` elements, in tiles of `tile`
/// bytes.
fn start(elements: u64, tile: u64) -> (Vec<u8>, Salt) {
    let dimension = Dimension { name: b"x".to_vec(), len: elements };
    let variable = |begin| Variable {
        name: b"v".to_vec(),
        dimensions: vec![DimId(0)],
        attributes: Vec::new(),
        ty: NcType::Char,
        vsize: 0,
        begin,
    };
    let header = |begin| {
        let variables = vec![variable(begin)];
        let dimensions = vec![dimension.clone()];
        let numrecs = NumRecs::Count(0);
        let header =
            Header { version: Version::Cdf5, numrecs, dimensions, attributes: Vec::new(), variables };
        encode(&header).unwrap()
    };
    let len = header(0).len() as u64;
    let head = Head {
        header: header(len),
        chains: vec![ChainSpec::default()],
        layouts: vec![TileLayoutSpec::Linear(tile)],
        padding_tile_lens: Vec::new(),
        gap_tile_len: 1,
    };
    let original_len = len + elements;
    let salt = Salt::of_file(&head.header, original_len, &[0; 32]);
    let stored = head.encode();
    let head_len = u32::try_from(stored.len()).unwrap();
    let superblock = Superblock {
        minor: archive::MINOR_VERSION,
        salt,
        original_len,
        head_stored_len: head_len,
        head_decoded_len: head_len,
        head_crc: crc32fast::hash(&stored),
        slots: archive::CommitSlots::default(),
    };
    let mut bytes = superblock.encode().to_vec();
    assert_eq!(bytes.len() as u64, HEAD_OFFSET);
    bytes.extend(stored);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    (bytes, salt)
}

fn put(bytes: &mut Vec<u8>, salt: &Salt, header: &BlockHeader, payload: &[u8]) {
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let encoded = header.encode(salt, bytes.len() as u64);
    bytes.extend(encoded);
    bytes.extend(payload);
}

fn header(kind: BlockKind, array: ArrayId, tile: u64, payload: &[u8]) -> BlockHeader {
    let len = u32::try_from(payload.len()).unwrap();
    BlockHeader {
        generation: 1,
        array,
        kind,
        lossy: false,
        chain: 0,
        tile,
        decoded_len: len,
        stored_len: len,
        payload_crc: BlockHeader::payload_crc(array, tile, payload),
        decoded_crc: crc32fast::hash(payload),
    }
}

fn salvage(bytes: &[u8]) -> nc3z_reader::Result<Archive> {
    let source: SharedSource = Arc::new(MemorySource::new(bytes.to_vec()));
    let open = OpenOptions::default().with_fill_lost(true);
    Ok(Archive::recover(&source, &RecoverOptions { open, uncommitted: false }, &())?.0)
}

/// Far more than linear work takes on a slow machine, far less than quadratic work would.
fn soon<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let done = work();
    assert!(begun.elapsed() < Duration::from_secs(200), "{what} took {:?}", begun.elapsed());
    done
}

#[test]
fn markers_everywhere_and_blocks_that_claim_to_overlap_cost_one_pass() {
    let (mut bytes, salt) = start(1000, 10);
    // Markers without a header behind them, then headers that are whole, each claiming to reach over all that follow.
    for _ in 0..500_000 {
        bytes.extend(BLOCK_MARKER);
        bytes.extend([0xA5; 4]);
    }
    let end = bytes.len() as u64 + 20_000 * 48;
    while (bytes.len() as u64) < end {
        let at = bytes.len() as u64;
        let stored_len = u32::try_from(end - at - 44).unwrap_or(0);
        let h = BlockHeader { stored_len, ..header(BlockKind::Tile, ArrayId::variable(0), 7, b"") };
        put(&mut bytes, &salt, &h, b"");
        bytes.resize(align8(bytes.len() as u64).try_into().unwrap(), 0);
    }
    let source: SharedSource = Arc::new(MemorySource::new(bytes.clone()));
    let report = soon("verify", || quick(&source, &OpenOptions::default(), &()).unwrap());
    assert!(!report.is_sound());
    // The first of them is stepped over with all that it covers.
    assert_eq!(report.blocks, 1);
    let archive = soon("salvage", || salvage(&bytes).unwrap());
    assert!(archive.stored_tile(ArrayId::variable(0), 7).is_err(), "its payload's checksum is wrong");
}

#[test]
fn blocks_inside_a_whole_block_are_its_payload() {
    let (mut bytes, salt) = start(20, 10);
    let at = bytes.len() as u64;
    // The inner block is valid at exactly this offset.
    let mut inner = Vec::new();
    let place = at + 48;
    inner.extend([0; 4]);
    inner.extend(header(BlockKind::Tile, ArrayId::variable(0), 1, &[9; 10]).encode(&salt, place));
    inner.extend([9; 10]);
    let outer = header(BlockKind::Tile, ArrayId::GAP, 0, &inner);
    put(&mut bytes, &salt, &outer, &inner);
    let archive = salvage(&bytes).unwrap();
    assert!(archive.read_tile(ArrayId::variable(0), 1).unwrap() == [0; 10], "filled, not the inner block's");
    assert!(archive.filled().contains_key(&(ArrayId::variable(0), 1)));
    // Once the outer one is not a block any more, the inner one is: an author who forges checksums may forge data.
    bytes[usize::try_from(at).unwrap()] ^= 1;
    assert!(salvage(&bytes).unwrap().read_tile(ArrayId::variable(0), 1).unwrap() == [9; 10]);
}

#[test]
fn an_index_of_petabytes_of_nothing_is_refused() {
    let (bytes, _) = start(1 << 50, 1);
    soon("salvage", || salvage(&bytes).unwrap());
    let dir = tempfile::tempdir().unwrap();
    let (bad, good) = (dir.path().join("bad"), dir.path().join("good"));
    std::fs::write(&bad, &bytes).unwrap();
    let e = soon("repair", || repair_blocks(&bad, &good, &BlockRepairOptions::default(), &()).unwrap_err());
    assert!(e.to_string().contains("number of tiles"), "{e}");
    assert!(!good.exists());
}

#[test]
fn constants_that_claim_everything_cost_an_entry_each() {
    let (mut bytes, salt) = start(1 << 40, 1 << 20);
    for n in 0..2000u64 {
        let mut list = ConstantsBuilder::default();
        // Nested, overlapping, reaching beyond the array.
        for i in 0..50 {
            list.push(ArrayId::variable(0), n + i * 1000, &[1]);
            list.push(ArrayId::variable(0), (1 << 20) - n - i, &[2]);
        }
        let list = list.finish();
        put(&mut bytes, &salt, &header(BlockKind::Constants, ArrayId::CONSTANTS, n, &list), &list);
    }
    soon("salvage", || salvage(&bytes).unwrap());
}

#[test]
fn directories_of_more_members_than_bytes_are_cut_short() {
    let (mut bytes, salt) = start(1 << 40, 1 << 20);
    let mut container = ContainerBuilder::default();
    for tile in 0..200_000 {
        container.push(ArrayId::variable(0), tile, 0, b"");
    }
    let (decoded, _) = container.finish();
    let packed = nc3z_format::codec::encode_zstd_frame(&decoded, 3).unwrap();
    for n in 0..20 {
        put(&mut bytes, &salt, &header(BlockKind::Container, ArrayId::CONTAINERS, n, &decoded), &decoded);
    }
    assert!(packed.len() < decoded.len());
    let archive = soon("salvage", || salvage(&bytes).unwrap());
    assert!(archive.read_tile(ArrayId::variable(0), 3).is_ok(), "filled");
}

#[test]
fn generations_that_name_the_same_bytes_over_and_over_are_read_once() {
    let (_, bytes) = small();
    let salt = Salt(bytes[16..24].try_into().unwrap());
    let first = crate::support::open(bytes.clone()).unwrap();
    let mut bytes = bytes;
    let mut previous = first.trailer().clone();
    let mut at_previous = first.trailer_offset();
    let table = first.sections().clone();
    for generation in 2..3000 {
        let offset = bytes.len() as u64;
        let sections = table.encode();
        bytes.extend(&sections);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let at = bytes.len() as u64;
        let trailer = archive::Trailer {
            generation,
            sections_offset: offset,
            sections_crc: salt.crc(offset, &sections),
            blocks_begin: offset,
            blocks_end: offset,
            previous: at_previous,
            archive_len: at + 128,
            ..previous.clone()
        };
        bytes.extend(trailer.encode(&salt, at));
        (previous, at_previous) = (trailer, at);
    }
    let source: SharedSource = Arc::new(MemorySource::new(bytes));
    let report = soon("verify", || quick(&source, &OpenOptions::default(), &()).unwrap());
    assert!(report.is_sound(), "{:?}", report.findings);
    assert_eq!(report.generations, 2999);
}

/// The check of the fuzz target, for a few hundred mutations that need no fuzzer.
#[test]
fn mutated_and_resealed_archives_are_repaired_or_refused() {
    let mut random = 0x2545_F491_4F6C_DD1Du64;
    let mut next = move |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % below as u64).unwrap()
    };
    for bytes in [small().1, paged().1] {
        for _ in 0..150 {
            let mut input = [&[0; 4], &bytes[..]].concat();
            for _ in 0..=next(4) {
                // Ends are hit as often as the middle.
                let at = match next(3) {
                    0 => 4 + next(400),
                    1 => input.len() - 1 - next(600),
                    _ => 4 + next(bytes.len()),
                };
                input[at] = [0, 1, 0x7F, 0xFF, input[at] ^ 1 << next(8)][next(5)];
            }
            if next(3) == 0 {
                let cut = u16::try_from(next(2000)).unwrap();
                input[2..4].copy_from_slice(&cut.to_le_bytes());
            }
            crate::targets::verify_repair(&input);
        }
    }
}
