//! Repairs of archives that are cut, overwritten, or only partly readable: all that is whole is saved, and nothing else is given
//! for data.

use crate::classic::{Model, Var, content};
use crate::faulty::Faulty;
use crate::generations::second;
use crate::support::{archive_bytes, exhaustive, paged, small};
use nc3z_format::NcType;
use nc3z_format::archive::{ArrayId, BlockHeader, BlockKind, IndexEntry, PackEffort, SectionKind};
use nc3z_format::array_table::byte_run;
use nc3z_format::classic::Version;
use nc3z_reader::recover::RecoverOptions;
use nc3z_reader::source::{MemorySource, SharedSource};
use nc3z_reader::verify::{deep, quick};
use nc3z_reader::{Archive, OpenOptions};
use nc3z_writer::{BlockRepairOptions, RepairedBlocks, RepairedDigest, WriterOptions, repair_blocks};
use std::collections::BTreeSet;
use std::sync::Arc;

type Tiles = BTreeSet<(ArrayId, u64)>;

fn source(bytes: &[u8]) -> SharedSource {
    Arc::new(MemorySource::new(bytes.to_vec()))
}

fn open(bytes: &[u8]) -> Archive {
    Archive::from_source(source(bytes), &OpenOptions::default()).unwrap()
}

fn filling() -> OpenOptions {
    OpenOptions::default().with_fill_lost(true)
}

/// Salvages, rebuilds with fill values; gives the bytes and what was filled.
fn salvage(source: &SharedSource, uncommitted: bool) -> nc3z_reader::Result<(Vec<u8>, Tiles)> {
    let options = RecoverOptions { open: filling(), uncommitted };
    let (archive, _) = Archive::recover(source, &options, &())?;
    let mut out = Vec::new();
    archive.restore_to_stream(&mut out, &())?;
    Ok((out, archive.filled().into_keys().collect()))
}

/// Repairs through files; gives what was done and the new archive.
fn repair(bytes: &[u8], options: &BlockRepairOptions) -> nc3z_writer::Result<(RepairedBlocks, Vec<u8>)> {
    let dir = tempfile::tempdir().unwrap();
    let (bad, good) = (dir.path().join("bad.nc3z"), dir.path().join("good.nc3z"));
    std::fs::write(&bad, bytes).unwrap();
    let repaired = repair_blocks(&bad, &good, options, &())?;
    assert!(std::fs::read(&bad).unwrap() == bytes, "the input is never written");
    Ok((repaired, std::fs::read(good).unwrap()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|b| [b >> 4, b & 15]).map(|n| char::from_digit(n.into(), 16).unwrap()).collect()
}

/// What the new archive gives with fill values, after it was checked that it is sound and says what it lost.
fn check_repaired(repaired: &RepairedBlocks, good: &[u8]) -> (Vec<u8>, Tiles) {
    let report = deep(&source(good), &OpenOptions::default(), &()).unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
    let said: u64 = report.lost.iter().map(|p| p.tiles.end - p.tiles.start).sum();
    assert_eq!(said, repaired.lost_tiles);
    let archive = open(good);
    let note = &archive.metadata().extra["repair"];
    assert_eq!(note["lost_tiles"], repaired.lost_tiles);
    assert_eq!(archive.trailer().required & 2 != 0, repaired.lost_tiles > 0);
    let mut out = Vec::new();
    let strict = archive.restore_to_stream(&mut out, &());
    assert_eq!(strict.is_ok(), repaired.lost_tiles == 0);
    let archive = Archive::from_source(source(good), &filling()).unwrap();
    let mut out = Vec::new();
    let restored = archive.restore_to_stream(&mut out, &()).unwrap();
    assert_eq!(restored.sha256, repaired.sha256);
    if repaired.lost_tiles > 0 {
        assert_eq!(note["filled_sha256"], hex(&repaired.sha256));
        let listed: u64 = note["lost"]
            .as_array()
            .unwrap()
            .iter()
            .map(|l| l["tiles"][1].as_u64().unwrap() - l["tiles"][0].as_u64().unwrap())
            .sum();
        assert_eq!(listed, repaired.lost_tiles);
    }
    (out, archive.filled().into_keys().collect())
}

/// The original with fill values in the place of these tiles, worked out from layout and types alone.
fn filled(original: &[u8], archive: &Archive, lost: &Tiles) -> Vec<u8> {
    let mut out = original.to_vec();
    for &(array, tile) in lost {
        let info = archive.arrays().get(array).unwrap();
        let variable = (array.0 < 1 << 30).then_some(info.ty.default_fill());
        let (first, len) = info.tile_bytes(tile).unwrap();
        for byte in first..first + len as u64 {
            let (at, _) = byte_run(archive.layout(), array, byte).unwrap();
            let size = info.ty.size() as u64;
            out[usize::try_from(at).unwrap()] =
                variable.map_or(0, |fill| fill[usize::try_from(byte % size).unwrap()]);
        }
    }
    out
}

/// Where each tile's bytes end in the archive: of its block, its container, the constants list that names it.
fn ends(bytes: &[u8]) -> Vec<((ArrayId, u64), std::ops::Range<u64>)> {
    let archive = open(bytes);
    let salt = archive.superblock().salt;
    let header = |at: u64| {
        let at_ = usize::try_from(at).unwrap();
        BlockHeader::decode(bytes[at_..at_ + 44].try_into().unwrap(), &salt, at).unwrap().0
    };
    let mut list = 0..0;
    let mut at = archive.trailer().blocks_begin;
    while at < archive.trailer().blocks_end {
        let h = header(at);
        let end = at + 44 + u64::from(h.stored_len);
        if h.kind == BlockKind::Constants {
            list = at..end;
        }
        at = end.next_multiple_of(8);
    }
    let mut all = Vec::new();
    for info in archive.arrays().iter() {
        for tile in 0..info.tiling.tile_count() {
            let range = match archive.entry(info.id, tile).unwrap() {
                IndexEntry::Stored { offset, len, .. } => offset..offset + 44 + u64::from(len),
                IndexEntry::Shared { offset, .. } => {
                    offset..offset + 44 + u64::from(header(offset).stored_len)
                }
                IndexEntry::Constant { .. } => list.clone(),
                other => panic!("{other:?}"),
            };
            all.push(((info.id, tile), range));
        }
    }
    all
}

/// Where the head copy ends.
fn head_end(archive: &Archive) -> usize {
    160 + archive.superblock().head_stored_len as usize
}

/// Cut anywhere with `NC3Z_EXHAUSTIVE=1`; at every seventh byte, and around the end of every block, otherwise.
#[test]
fn every_cut_saves_every_whole_block() {
    for (original, bytes) in [small(), paged()] {
        let archive = open(&bytes);
        let tiles = ends(&bytes);
        let edge = |len: usize| tiles.iter().any(|(_, range)| range.end.abs_diff(len as u64) < 3);
        for len in (0..bytes.len()).filter(|&len| exhaustive() || len % 7 == 0 || edge(len)) {
            let cut = source(&bytes[..len]);
            if len < head_end(&archive) {
                assert!(salvage(&cut, false).is_err(), "{len}");
                continue;
            }
            let (found, lost) = salvage(&cut, false).unwrap_or_else(|e| panic!("cut to {len}: {e}"));
            let expected: Tiles =
                tiles.iter().filter(|(_, range)| range.end > len as u64).map(|(t, _)| *t).collect();
            assert_eq!(lost, expected, "cut to {len}");
            assert!(found == filled(&original, &archive, &lost), "cut to {len}: wrong data");
        }
    }
}

#[test]
fn cut_archives_are_repaired_into_sound_ones() {
    for (original, bytes) in [small(), paged()] {
        let archive = open(&bytes);
        let tiles = ends(&bytes);
        let from = head_end(&archive);
        let step = (bytes.len() - from) / 40;
        for len in (from..=bytes.len()).step_by(step).chain([bytes.len() - 1, bytes.len()]) {
            let (repaired, good) = repair(&bytes[..len], &BlockRepairOptions::default()).unwrap();
            let (found, lost) = check_repaired(&repaired, &good);
            let expected: Tiles =
                tiles.iter().filter(|(_, range)| range.end > len as u64).map(|(t, _)| *t).collect();
            assert_eq!(lost, expected, "cut to {len}");
            assert!(found == filled(&original, &archive, &lost), "cut to {len}: wrong data");
            let worth = match (lost.is_empty(), len == bytes.len()) {
                (false, _) => RepairedDigest::Lost,
                (true, false) => RepairedDigest::Recomputed,
                (true, true) => RepairedDigest::Confirmed,
            };
            assert_eq!(repaired.digest, worth, "cut to {len}");
        }
    }
}

/// An archive larger than two times 64 KiB, of tiles of 12 KB in blocks and small ones in containers.
fn large() -> (Vec<u8>, Vec<u8>) {
    let vars = vec![
        Var::fixed(NcType::Char, &[300_000]),
        Var::fixed(NcType::Double, &[7]),
        Var::record(NcType::Short, &[300]),
        Var::record(NcType::Byte, &[3]),
    ];
    let original = Model { fill: 3, tail: 11, ..Model::new(Version::Cdf2, 120, vars) }.build().bytes;
    let archive = archive_bytes(&original, &WriterOptions::default().with_tile_len(12_000));
    assert!(archive.len() > 3 * 65_536);
    (original, archive)
}

/// Damages `[from, to)` in some way; all tiles that do not touch it are saved.
fn check_damage(original: &[u8], bytes: &[u8], bad: &[u8], from: u64, to: u64) {
    let archive = open(bytes);
    let (repaired, good) =
        repair(bad, &BlockRepairOptions::default()).unwrap_or_else(|e| panic!("{from} to {to}: {e}"));
    let (found, lost) = check_repaired(&repaired, &good);
    let touched = |r: &std::ops::Range<u64>| r.start < to && from < r.end;
    let expected: Tiles = ends(bytes).into_iter().filter(|(_, r)| touched(r)).map(|(t, _)| t).collect();
    // Constants are in the index too.
    assert!(lost.is_subset(&expected), "{from} to {to}");
    let constants = |(array, tile): &(ArrayId, u64)| {
        matches!(archive.entry(*array, *tile).unwrap(), IndexEntry::Constant { .. })
    };
    assert!(expected.difference(&lost).all(constants), "{from} to {to}: {lost:?}");
    assert!(found == filled(original, &archive, &lost), "{from} to {to}: wrong data");
}

#[test]
fn first_and_last_64_kib_may_be_lost() {
    let (original, bytes) = large();
    let (n, k) = (bytes.len(), 65_536);
    for fill in [0u8, 0xB1] {
        let mut bad = bytes.clone();
        bad[..k].fill(fill);
        check_damage(&original, &bytes, &bad, 0, k as u64);
        let mut bad = bytes.clone();
        bad[n - k..].fill(fill);
        check_damage(&original, &bytes, &bad, (n - k) as u64, n as u64);
    }
    // Cut off at the end, then at the beginning, so that nothing is at its original offset.
    check_damage(&original, &bytes, &bytes[..n - k], (n - k) as u64, n as u64);
    for cut in [1, 8, 4096, k - 3, k, k + 77] {
        check_damage(&original, &bytes, &bytes[cut..], 0, cut as u64);
    }
    // Both ends: no head copy is left, and that is said.
    let mut bad = bytes.clone();
    bad[..k].fill(0);
    bad[n - k..].fill(0);
    assert!(repair(&bad, &BlockRepairOptions::default()).is_err());
}

#[test]
fn random_damage_costs_what_it_touches() {
    let (original, bytes) = large();
    let mut random = 88_172_645_463_325_252u64;
    let mut next = move |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let n = bytes.len() as u64;
    for trial in 0..60 {
        let len = 1 + next([8, 512, 4096, 60_000][trial % 4]);
        let from = next(n - len);
        let mut bad = bytes.clone();
        let range = usize::try_from(from).unwrap()..usize::try_from(from + len).unwrap();
        let noise = content(8, range.len());
        // Every byte differs.
        bad[range].iter_mut().zip(noise).for_each(|(b, x)| *b ^= x | 1);
        check_damage(&original, &bytes, &bad, from, from + len);
    }
}

#[test]
fn the_head_copy_may_be_lost_with_the_section_table() {
    let (original, bytes) = large();
    let archive = open(&bytes);
    let at = |offset: u64| usize::try_from(offset).unwrap();
    // The superblock knows length and checksum of the second copy, wherever it is.
    let mut bad = bytes.clone();
    bad[200..240].fill(0);
    bad[at(archive.trailer().sections_offset)] ^= 1;
    let (repaired, good) = repair(&bad, &BlockRepairOptions::default()).unwrap();
    assert_eq!(repaired.digest, RepairedDigest::Confirmed);
    assert!(check_repaired(&repaired, &good).0 == original);
    // Only the superblock is lost: trailer and head copy replace it.
    let mut bad = bytes.clone();
    bad[..160].fill(0xFF);
    let (repaired, good) = repair(&bad, &BlockRepairOptions::default()).unwrap();
    assert_eq!(repaired.digest, RepairedDigest::Confirmed);
    assert!(check_repaired(&repaired, &good).0 == original);
    // Superblock damaged but legible, trailer lost: the head copy's hash is the salt.
    let mut bad = bytes.clone();
    bad[100] ^= 1;
    bad.truncate(bytes.len() - 128);
    let (repaired, good) = repair(&bad, &BlockRepairOptions::default()).unwrap();
    assert_eq!(repaired.digest, RepairedDigest::Recomputed);
    assert!(check_repaired(&repaired, &good).0 == original);
}

#[test]
fn lost_metadata_and_variable_table_cost_nothing() {
    for (original, bytes) in [small(), paged(), large()] {
        let archive = open(&bytes);
        for kind in [SectionKind::Metadata, SectionKind::VariableTable, SectionKind::IndexPages] {
            let Ok(section) = archive.sections().find(kind) else { continue };
            let mut bad = bytes.clone();
            let at = usize::try_from(section.offset).unwrap();
            bad[at..at + usize::try_from(section.len).unwrap()].fill(0xAA);
            let (repaired, good) = repair(&bad, &BlockRepairOptions::default()).unwrap();
            assert_eq!(repaired.digest, RepairedDigest::Confirmed, "{kind:?}");
            assert!(check_repaired(&repaired, &good).0 == original, "{kind:?}");
        }
    }
}

#[test]
fn the_newest_generation_wins_and_old_values_do_not_come_back() {
    let (first_original, first) = small();
    let changed = second(&first);
    let whole = open(&changed.bytes);
    let mut newest = Vec::new();
    whole.restore_to_stream(&mut newest, &()).unwrap();
    assert!(newest != first_original);
    // The index of the second generation is lost: the blocks show which is newer.
    let table = whole.sections().find(SectionKind::VariableTable).unwrap();
    let mut bad = changed.bytes.clone();
    bad[usize::try_from(table.offset).unwrap()] ^= 1;
    let (found, lost) = salvage(&source(&bad), false).unwrap();
    assert!(lost.is_empty() && found == newest);
    // Its trailer is lost: it counts as uncommitted, unless the user decides otherwise.
    let cut = &changed.bytes[..changed.bytes.len() - 128];
    let (found, lost) = salvage(&source(cut), false).unwrap();
    assert!(lost.is_empty() && found == first_original);
    let (found, lost) = salvage(&source(cut), true).unwrap();
    assert!(lost.is_empty() && found == newest);
    // The new block is damaged: the tile is lost, though an older version is whole.
    let at = usize::try_from(whole.stored_offset(changed.block.0, changed.block.1).unwrap()).unwrap();
    for skip in [20, 50] {
        let mut bad = changed.bytes.clone();
        bad[at + skip] ^= 1;
        let (found, lost) = salvage(&source(&bad), false).unwrap();
        assert_eq!(lost, [changed.block].into());
        assert!(found == filled(&newest, &whole, &lost));
    }
    // Without an index, a payload that is damaged behind a whole header is still known to be the newest.
    let mut bad = changed.bytes.clone();
    bad[at + 50] ^= 1;
    bad[usize::try_from(table.offset).unwrap()] ^= 1;
    let (_, lost) = salvage(&source(&bad), false).unwrap();
    assert_eq!(lost, [changed.block].into());
}

#[test]
fn an_archive_inside_an_archive_is_not_brought_back_as_blocks() {
    let (_, inner) = small();
    let vars = vec![Var::fixed(NcType::Char, &[inner.len() as u64]), Var::fixed(NcType::Char, &[9_000])];
    let mut original = Model { fill: 3, ..Model::new(Version::Cdf1, 0, vars) }.build().bytes;
    let at = original.len() - 9_000 - inner.len().next_multiple_of(4);
    original[at..at + inner.len()].copy_from_slice(&inner);
    let outer = archive_bytes(&original, &WriterOptions::default().with_tile_len(1 << 20));
    let archive = open(&outer);
    let block = archive.stored_offset(ArrayId::variable(0), 0).unwrap();
    // The block that holds it loses its header, so that probing goes through its payload; trailer and index are gone too.
    let mut bad = outer[..outer.len() - 128].to_vec();
    bad[usize::try_from(block).unwrap()] ^= 1;
    let (found, lost) = salvage(&source(&bad), false).unwrap();
    assert_eq!(lost, [(ArrayId::variable(0), 0)].into());
    assert!(found == filled(&original, &archive, &lost));
}

#[test]
fn sectors_that_cannot_be_read_cost_their_tiles() {
    let (original, bytes) = large();
    let archive = open(&bytes);
    let tiles = ends(&bytes);
    for at in (0..bytes.len() as u64).step_by(3 * 4096) {
        let bad = at..at + 4096;
        let faulty: SharedSource = Arc::new(Faulty { bytes: bytes.clone(), bad });
        let (found, lost) = salvage(&faulty, false).unwrap_or_else(|e| panic!("sector at {at}: {e}"));
        let touched: Tiles =
            tiles.iter().filter(|(_, r)| r.start < at + 4096 && at < r.end).map(|(t, _)| *t).collect();
        assert!(lost.is_subset(&touched), "sector at {at}: {lost:?}");
        assert!(found == filled(&original, &archive, &lost), "sector at {at}");
    }
}

#[test]
fn a_repaired_archive_can_be_repaired_again() {
    let (original, bytes) = large();
    let archive = open(&bytes);
    let first = usize::try_from(archive.stored_offset(ArrayId::variable(0), 2).unwrap()).unwrap();
    let mut bad = bytes.clone();
    bad[first + 60] ^= 1;
    let (once, good) = repair(&bad, &BlockRepairOptions::default()).unwrap();
    assert_eq!(once.lost_tiles, 1);
    let second = open(&good).stored_offset(ArrayId::variable(0), 7).unwrap();
    let mut bad = good;
    bad[usize::try_from(second).unwrap() + 60] ^= 1;
    let (twice, good) = repair(&bad, &BlockRepairOptions::default()).unwrap();
    assert_eq!(twice.lost_tiles, 2);
    let (found, lost) = check_repaired(&twice, &good);
    assert_eq!(lost, [(ArrayId::variable(0), 2), (ArrayId::variable(0), 7)].into());
    assert!(found == filled(&original, &archive, &lost));
    // The digest of the true original is kept for the day when the lost tiles turn up.
    let expected = hex(&archive.digest().sha256().unwrap());
    assert_eq!(open(&good).metadata().extra["repair"]["original_sha256"], expected);
    assert!(quick(&source(&good), &OpenOptions::default(), &()).unwrap().is_sound());
}

#[test]
fn the_filled_file_of_a_repaired_archive_is_checked_too() {
    let (_, bytes) = large();
    let at = usize::try_from(open(&bytes).stored_offset(ArrayId::variable(0), 2).unwrap()).unwrap();
    let mut bad = bytes;
    bad[at + 60] ^= 1;
    let (_, mut good) = repair(&bad, &BlockRepairOptions::default()).unwrap();
    let archive = open(&good);
    let entry = archive.sections().find(SectionKind::Metadata).unwrap().clone();
    let range = usize::try_from(entry.offset).unwrap()..usize::try_from(entry.offset + entry.len).unwrap();
    let decoded = entry.decode(&good[range.clone()], 1 << 20).unwrap();
    let text = String::from_utf8(decoded).unwrap();
    let digest = text.split("\"filled_sha256\":\"").nth(1).unwrap()[..64].to_owned();
    // Digits turned about until the section has the same length, so that everything else stays in place.
    let stored = (1..digest.len()).find_map(|n| {
        let forged = text.replace(&digest, &[&digest[n..], &digest[..n]].concat());
        let (encoding, stored) =
            nc3z_format::archive::encode_section(forged.as_bytes(), PackEffort::Full).unwrap();
        (encoding == entry.encoding && stored.len() == range.len()).then_some(stored)
    });
    let stored = stored.unwrap();
    good[range].copy_from_slice(&stored);
    let trailer = archive.trailer().clone();
    let mut sections = archive.sections().entries().to_vec();
    let forged = sections.iter_mut().find(|e| e.kind == SectionKind::Metadata).unwrap();
    forged.crc = crc32fast::hash(&stored);
    let table = nc3z_format::archive::SectionTable::new(sections).encode();
    let salt = archive.superblock().salt;
    let at = usize::try_from(trailer.sections_offset).unwrap();
    good[at..at + table.len()].copy_from_slice(&table);
    let sections_crc = salt.crc(trailer.sections_offset, &table);
    let end = good.len() - 128;
    let sealed = nc3z_format::archive::Trailer { sections_crc, ..trailer }.encode(&salt, end as u64);
    good[end..].copy_from_slice(&sealed);
    // The commit slots name the trailer by its checksum: without slots, the trailer counts.
    good[112..160].fill(0);
    assert!(quick(&source(&good), &OpenOptions::default(), &()).unwrap().is_sound());
    let report = deep(&source(&good), &OpenOptions::default(), &()).unwrap();
    assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
}

#[test]
fn chunks_are_saved_and_named_as_boxes() {
    use nc3z_format::tile::Edge;
    use nc3z_writer::{ChunkRequest, TileChoice};
    let vars = vec![Var::fixed(NcType::Short, &[30, 70, 50])];
    let original = Model { fill: 3, ..Model::new(Version::Cdf1, 0, vars) }.build().bytes;
    let header =
        nc3z_format::classic::parse(&original, original.len() as u64, &<_>::default()).unwrap().header;
    let names: Vec<String> =
        header.dimensions.iter().map(|d| String::from_utf8(d.name.clone()).unwrap()).collect();
    let lengths = [13, 32, 20];
    let of_variable = header.variables[0].dimensions.iter().map(|d| names[d.0 as usize].as_str());
    let chunks: Vec<(&str, u64)> = of_variable.zip(lengths).collect();
    for edge in [Edge::Clipped, Edge::Padded] {
        let options = WriterOptions::default().with_layout(TileChoice::Chunked).with_edge(edge);
        let bytes = archive_bytes(&original, &options.with_chunks(ChunkRequest::new(chunks.clone())));
        let archive = open(&bytes);
        let id = ArrayId::variable(0);
        assert_eq!(archive.arrays().get(id).unwrap().tiling.tile_count(), 27);
        let mut bad = bytes.clone();
        // Whole chunks, which have blocks of their own.
        for tile in [0, 1, 4, 13] {
            let at = usize::try_from(archive.stored_offset(id, tile).unwrap()).unwrap();
            bad[at + 50] ^= 1;
        }
        let (repaired, good) = repair(&bad, &BlockRepairOptions::default()).unwrap();
        assert_eq!(repaired.lost_tiles, 4);
        let (found, _) = check_repaired(&repaired, &good);
        let mut expected = original.clone();
        let begin = original.len() - 30 * 70 * 50 * 2;
        for slab in repaired.lost.iter().flat_map(|l| &l.place.slabs) {
            let range = |d: usize| slab.start[d]..slab.start[d] + slab.count[d];
            for (i, j, k) in
                range(0).flat_map(|i| range(1).flat_map(move |j| range(2).map(move |k| (i, j, k))))
            {
                let at = begin + usize::try_from(((i * 70 + j) * 50 + k) * 2).unwrap();
                expected[at..at + 2].copy_from_slice(NcType::Short.default_fill());
            }
        }
        assert!(found == expected);
        assert_eq!(repaired.lost[0].place.slabs[0].count, lengths);
    }
}
