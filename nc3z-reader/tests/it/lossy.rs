//! Archives of rounded values say that they are, whatever is lost of them.

use crate::classic::{Model, Var};
use crate::support::archive_bytes;
use nc3z_format::NcType;
use nc3z_format::archive::constants::REQUIRED_LOSSY;
use nc3z_format::archive::{BlockHeader, SectionKind};
use nc3z_format::classic::Version;
use nc3z_reader::recover::{RecoverOptions, Recovered};
use nc3z_reader::source::{MemorySource, SharedSource};
use nc3z_reader::verify::quick;
use nc3z_reader::{Archive, OpenOptions};
use nc3z_writer::{
    BlockRepairOptions, PerVariable, ReplacePolicy, WriterOptions, recompress_file, repair_blocks,
};
use std::sync::Arc;

/// An archive with two heads, blocks of tiles, a container and a constants list; of rounded values or not.
fn archive(rounded: bool) -> Vec<u8> {
    let vars = vec![
        Var::fixed(NcType::Float, &[9_000]),
        Var::fixed(NcType::Short, &[40]),
        Var::record(NcType::Float, &[300]),
        Var::record(NcType::Byte, &[3]),
    ];
    let mut original = Model { fill: 3, ..Model::new(Version::Cdf2, 30, vars) }.build().bytes;
    let len = original.len();
    original[len - 9_000..].fill(0);
    let mut options = WriterOptions::default().with_tile_len(9_000);
    if rounded {
        let mut wanted = PerVariable::default();
        wanted.push("*", "bitround:7".parse().unwrap());
        options = options.with_quantize(wanted);
    }
    archive_bytes(&original, &options)
}

fn source(bytes: &[u8]) -> SharedSource {
    Arc::new(MemorySource::new(bytes.to_vec()))
}

fn salvage(bytes: &[u8]) -> (bool, Recovered) {
    let (archive, salvaged) = Archive::recover(&source(bytes), &RecoverOptions::default(), &()).unwrap();
    (archive.trailer().required & REQUIRED_LOSSY != 0, salvaged)
}

fn open(bytes: &[u8]) -> Archive {
    Archive::from_source(source(bytes), &OpenOptions::default()).unwrap()
}

fn at(offset: u64) -> usize {
    usize::try_from(offset).unwrap()
}

fn blocks(bytes: &[u8]) -> Vec<usize> {
    let archive = open(bytes);
    let (salt, trailer) = (archive.superblock().salt, archive.trailer());
    let mut all = Vec::new();
    let mut offset = trailer.blocks_begin;
    while offset < trailer.blocks_end {
        let from = at(offset);
        let header = bytes[from..from + 44].try_into().unwrap();
        let (header, _) = BlockHeader::decode(header, &salt, offset).unwrap();
        assert_eq!(header.lossy, trailer.required & REQUIRED_LOSSY != 0, "{header:?}");
        all.push(from);
        offset = (offset + 44 + u64::from(header.stored_len)).next_multiple_of(8);
    }
    all
}

#[test]
fn every_block_says_so_and_any_one_is_enough() {
    let bytes = archive(true);
    let found = open(&bytes);
    let blocks = blocks(&bytes);
    assert!(blocks.len() > 5);
    // Neither trailer nor section table nor metadata, and of the blocks only one.
    let mut tail = bytes.clone();
    tail[at(found.trailer().blocks_end)..].fill(0);
    for &one in &blocks {
        let mut bad = tail.clone();
        blocks.iter().filter(|&&b| b != one).for_each(|&b| bad[b..b + 44].fill(0));
        let (lossy, salvaged) = salvage(&bad);
        assert!(lossy && salvaged.blocks == 1, "block at {one}");
        assert!(salvaged.notes.iter().any(|n| n.contains("rounded")), "{:?}", salvaged.notes);
    }
    // Superblock and first head lost as well: the trailer's word, or a block's.
    let mut bad = bytes.clone();
    bad[..at(found.trailer().blocks_begin)].fill(0);
    assert!(salvage(&bad).0);
    // Cut anywhere behind the first block.
    for len in (blocks[1]..bytes.len()).step_by(997) {
        assert!(salvage(&bytes[..len]).0, "cut to {len}");
    }
    // All blocks lost, and the trailer: the metadata say so too.
    let mut bad = bytes.clone();
    blocks.iter().for_each(|&b| bad[b..b + 44].fill(0));
    assert!(salvage(&bad).0);
}

#[test]
fn exact_archives_do_not_say_so() {
    let bytes = archive(false);
    let found = open(&bytes);
    blocks(&bytes);
    assert!(!salvage(&bytes).0);
    let (lossy, salvaged) = salvage(&bytes[..at(found.trailer().blocks_end)]);
    assert!(!lossy && !salvaged.notes.iter().any(|n| n.contains("rounded")));
}

#[test]
fn repaired_and_recompressed_archives_say_so_in_every_block() {
    let bytes = archive(true);
    let end = at(open(&bytes).trailer().blocks_end);
    let dir = tempfile::tempdir().unwrap();
    let (bad, good) = (dir.path().join("bad.nc3z"), dir.path().join("good.nc3z"));
    std::fs::write(&bad, &bytes[..end]).unwrap();
    let done = repair_blocks(&bad, &good, &BlockRepairOptions::default(), &()).unwrap();
    assert_eq!(done.lost_tiles, 0);
    let repaired = std::fs::read(&good).unwrap();
    assert!(open(&repaired).trailer().required & REQUIRED_LOSSY != 0);
    blocks(&repaired);
    assert!(salvage(&repaired[..at(open(&repaired).trailer().blocks_end)]).0);
    recompress_file(
        &good,
        None,
        &WriterOptions::default().with_tile_len(3_000),
        ReplacePolicy::default(),
        &(),
    )
    .unwrap();
    let again = std::fs::read(&good).unwrap();
    assert!(open(&again).trailer().required & REQUIRED_LOSSY != 0);
    blocks(&again);
    assert!(quick(&source(&again), &OpenOptions::default(), &()).unwrap().is_sound());
}

#[test]
fn a_block_and_a_trailer_that_differ_are_found() {
    for rounded in [true, false] {
        let mut bytes = archive(rounded);
        let one = blocks(&bytes)[2];
        let salt = open(&bytes).superblock().salt;
        // A flag with a right checksum: the index knows that it is another header too.
        bytes[one + 13] ^= 1;
        let crc = salt.crc(one as u64, &bytes[one..one + 40]);
        bytes[one + 40..one + 44].copy_from_slice(&crc.to_le_bytes());
        let report = quick(&source(&bytes), &OpenOptions::default(), &()).unwrap();
        let named =
            report.findings.iter().any(|f| f.message.contains("rounded") && f.bytes.start == one as u64);
        assert!(named, "{:?}", report.findings);
    }
    // Without metadata the trailer still says so.
    let mut bytes = archive(true);
    let metadata = open(&bytes).sections().find(SectionKind::Metadata).unwrap().offset;
    bytes[at(metadata)] ^= 1;
    assert!(salvage(&bytes).0);
}
