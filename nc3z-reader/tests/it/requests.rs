//! What a source is asked for: how many requests, in how many rounds, and that the answers make the same values.

use crate::classic::{Model, Var};
use crate::support::{archive_bytes, paged, small};
use bytes::Bytes;
use nc3z_format::Hyperslab;
use nc3z_format::NcType;
use nc3z_format::archive::constants::REQUIRED_LOST;
use nc3z_format::classic::{VarId, Version};
use nc3z_reader::cache::TileCache;
use nc3z_reader::source::{ByteSource, EndsSource, MemorySource, Reach, SharedSource};
use nc3z_reader::{Archive, Dataset, Error, OpenOptions, Result};
use nc3z_writer::WriterOptions;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A source in memory that counts requests.
struct Counting {
    bytes: Bytes,
    reach: Reach,
    requests: AtomicU64,
    rounds: AtomicU64,
    len: AtomicU64,
    /// True if another object has replaced the source.
    replaced: AtomicBool,
    /// Reading any of these fails.
    bad: Range<u64>,
}

impl Counting {
    fn new(bytes: &[u8], reach: Reach) -> Self {
        let zero = || AtomicU64::new(0);
        Counting {
            bytes: Bytes::copy_from_slice(bytes),
            reach,
            requests: zero(),
            rounds: zero(),
            len: zero(),
            replaced: AtomicBool::new(false),
            bad: 0..0,
        }
    }

    /// Requests, rounds and bytes since the last time.
    fn taken(&self) -> (u64, u64, u64) {
        let take = |n: &AtomicU64| n.swap(0, Ordering::Relaxed);
        (take(&self.requests), take(&self.rounds), take(&self.len))
    }

    fn answer(&self, range: &Range<u64>) -> Result<Bytes> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.len.fetch_add(range.end - range.start, Ordering::Relaxed);
        if self.bad.start < range.end && range.start < self.bad.end {
            return Err(Error::io("read", None, std::io::Error::from_raw_os_error(5)));
        }
        let at = |n: u64| usize::try_from(n).unwrap();
        let bytes = self.bytes.slice(at(range.start)..at(range.end));
        if self.replaced.load(Ordering::Relaxed) {
            return Ok(bytes.iter().map(|b| b ^ 0x55).collect::<Vec<u8>>().into());
        }
        Ok(bytes)
    }
}

impl ByteSource for Counting {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        buf.copy_from_slice(&self.answer(&(offset..offset + buf.len() as u64))?);
        Ok(())
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        ranges.iter().map(|range| self.answer(range)).collect()
    }

    fn reach(&self) -> Reach {
        self.reach
    }

    fn identity(&self) -> Option<Arc<str>> {
        Some(if self.replaced.load(Ordering::Relaxed) { "second".into() } else { "first".into() })
    }
}

/// A remote source that gives little of its ends, so that reads are counted.
fn far() -> Reach {
    Reach::REMOTE.with_ends(256, 128)
}

fn open(bytes: &[u8], reach: Reach) -> (Arc<Counting>, Archive) {
    let source = Arc::new(Counting::new(bytes, reach));
    let options = OpenOptions::default().with_cache(TileCache::new(0));
    let archive = Archive::from_source(source.clone(), &options).unwrap();
    (source, archive)
}

/// 64 tiles of noise, 16 KiB each, and the archive.
fn many_tiles() -> (Vec<u8>, Vec<u8>) {
    let vars = vec![Var::fixed(NcType::Char, &[64 << 14]), Var::fixed(NcType::Char, &[64 << 14])];
    let mut original = Model::new(Version::Cdf2, 0, vars).build().bytes;
    let mut state = 1_u64;
    let begin = original.len() - (128 << 14);
    for byte in &mut original[begin..] {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *byte = state.to_be_bytes()[0];
    }
    let archive = archive_bytes(&original, &WriterOptions::default().with_tile_len(16 << 10));
    assert!(archive.len() > 100 << 14, "noise does not shrink");
    (original, archive)
}

fn goldens() -> Vec<Vec<u8>> {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/archives/v1_0_0");
    let files = std::fs::read_dir(dir).unwrap().map(|f| f.unwrap().path());
    let found: Vec<_> = files.filter(|p| p.extension().is_some_and(|e| e == "nc3z")).collect();
    assert!(found.len() >= 8);
    found.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

#[test]
fn opening_is_one_round_of_two_requests_at_most() {
    let (_, large) = many_tiles();
    for (bytes, requests) in [(small().1, 1), (paged().1, 1), (large, 2)] {
        let source = Arc::new(Counting::new(&bytes, Reach::REMOTE));
        Archive::from_source(source.clone(), &OpenOptions::default()).unwrap();
        let taken = source.taken();
        assert_eq!((taken.0, taken.1), (requests, 1));
        // Telling what it is costs nothing more.
        Dataset::from_source(source.clone(), &OpenOptions::default()).unwrap();
        let taken = source.taken();
        assert_eq!((taken.0, taken.1), (requests, 1));
    }
}

#[test]
fn sections_beyond_the_tail_are_one_request_more() {
    for bytes in goldens() {
        let (source, _) = open(&bytes, far());
        let (requests, rounds, _) = source.taken();
        // The ends; the section table; the sections; older ones that two of them continue; a later head.
        assert!(requests <= 7 && rounds <= 5, "{requests} requests in {rounds} rounds");
    }
}

#[test]
fn known_ends_are_not_asked_for() {
    let (_, bytes) = many_tiles();
    let source = Arc::new(Counting::new(&bytes, Reach::REMOTE));
    let (head, tail) = (bytes[..4096].to_vec(), bytes[bytes.len() - (64 << 10)..].to_vec());
    let known: SharedSource = Arc::new(EndsSource::new(source.clone(), head.into(), tail.into()));
    Archive::from_source(known, &OpenOptions::default()).unwrap();
    assert_eq!(source.taken(), (0, 0, 0));
}

#[test]
fn neighbouring_tiles_are_one_request_and_others_one_round() {
    let (original, bytes) = many_tiles();
    let values = &original[original.len() - (128 << 14)..][..64 << 14];
    for (reach, requests) in [(far(), 1), (far().with_gap(0), 64), (far().with_request_len(140 << 10), 8)] {
        let (source, archive) = open(&bytes, reach);
        let dataset = Dataset::from(archive.clone());
        let variable = dataset.variable("v0").unwrap();
        variable.read_bytes(&Hyperslab::new([0], [1], [1]).unwrap()).unwrap();
        let (one, rounds, _) = source.taken();
        assert!(one >= 1 && rounds >= 1);
        // Index pages are known by now.
        let read = variable.read_bytes(&variable.all()).unwrap();
        assert!(read == values);
        let taken = source.taken();
        assert!(taken.0 <= requests && taken.0 * 2 > requests, "{taken:?} for {requests}");
        assert_eq!(taken.1, 1, "{reach:?}");
        // Now by bytes of the array, and with a stride that omits no tile.
        let mut out = vec![0; values.len()];
        archive.read_variable_range(VarId(0), 0, &mut out).unwrap();
        assert!(out == values);
        assert_eq!(source.taken(), taken);
        let slab = Hyperslab::new([5], [64], [16 << 10]).unwrap();
        let read = variable.read_bytes(&slab).unwrap();
        assert!(read.iter().zip(values[5..].iter().step_by(16 << 10)).all(|(a, b)| a == b));
        assert_eq!(source.taken().1, 1);
    }
}

#[test]
fn a_local_source_is_asked_for_nothing_but_tiles() {
    let (_, bytes) = many_tiles();
    let (source, archive) = open(&bytes, Reach::LOCAL.with_ends(256, 128));
    source.taken();
    let mut out = [0; 100];
    archive.read_variable_range(VarId(1), 5 << 14, &mut out).unwrap();
    let (requests, _, len) = source.taken();
    // An index page and the block.
    assert!(requests == 2 && len < 4096 + (17 << 10), "{requests} requests, {len} bytes");
}

#[test]
fn index_pages_are_fetched_level_by_level() {
    let (original, bytes) = paged();
    let (source, archive) = open(&bytes, far().with_gap(0));
    source.taken();
    let mut out = vec![0; 400];
    archive.read_variable_range(VarId(0), 0, &mut out).unwrap();
    let (requests, rounds, _) = source.taken();
    // Pages of one level, then blocks and containers, then the missing parts of containers: never one by one.
    assert!(rounds <= 4, "{requests} requests in {rounds} rounds");
    let mut out = Vec::new();
    archive.restore_to_stream(&mut out, &()).unwrap();
    assert!(out == original);
}

#[test]
fn containers_are_read_whole_where_the_guess_was_long_enough() {
    let (_, bytes) = paged();
    let rounds = |speculative: u64| {
        let (source, archive) = open(&bytes, far().with_gap(0).with_speculative_len(speculative));
        archive.read_variable_range(VarId(0), 0, &mut [0; 4]).unwrap();
        source.taken();
        let mut out = vec![0; 400];
        archive.read_variable_range(VarId(0), 0, &mut out).unwrap();
        (source.taken().1, out)
    };
    let (short, long) = (rounds(44), rounds(1 << 20));
    assert_eq!(short.1, long.1);
    assert!(short.0 >= long.0, "{} and {}", short.0, long.0);
}

#[test]
fn originals_come_back_the_same_in_few_rounds() {
    for bytes in goldens().into_iter().chain([small().1, paged().1, many_tiles().1]) {
        let local =
            Archive::from_source(Arc::new(MemorySource::new(bytes.clone())), &<_>::default()).unwrap();
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        let restored = local.restore_to_stream(&mut expected, &());
        if local.trailer().required & REQUIRED_LOST != 0 {
            assert!(restored.is_err(), "what is lost cannot be restored");
            continue;
        }
        restored.unwrap();
        let (source, archive) = open(&bytes, far());
        source.taken();
        archive.restore_to_stream(&mut found, &()).unwrap();
        assert!(found == expected);
        let (_, rounds, _) = source.taken();
        // A span of 8 MiB, then of 16 and so on: pages, blocks, containers of each, and dictionaries.
        assert!(rounds <= 20, "{rounds} rounds for {} bytes", expected.len());
    }
}

#[test]
fn another_object_in_the_place_of_the_source_is_named() {
    let (_, bytes) = many_tiles();
    for reach in [far(), Reach::LOCAL.with_ends(256, 128)] {
        let (source, archive) = open(&bytes, reach);
        assert_eq!(archive.identity(), Some("first"));
        let dataset = Dataset::from(archive.clone());
        source.replaced.store(true, Ordering::Relaxed);
        let variable = dataset.variable("v0").unwrap();
        let e = variable.read_bytes(&variable.all()).unwrap_err();
        assert!(e.is_replaced() && e.to_string().contains("it was first and is second"), "{e}");
        let e = archive.restore_to_stream(&mut Vec::new(), &()).unwrap_err();
        assert!(e.is_replaced(), "{e}");
    }
}

#[test]
fn a_tile_that_cannot_be_read_is_the_only_one_filled() {
    let (original, bytes) = many_tiles();
    let archive = Archive::from_source(Arc::new(MemorySource::new(bytes.clone())), &<_>::default()).unwrap();
    let at = archive.stored_offset(nc3z_format::archive::ArrayId::variable(0), 7).unwrap();
    let source = Counting { bad: at + 100..at + 101, ..Counting::new(&bytes, far()) };
    let options = OpenOptions::default().with_cache(TileCache::new(0)).with_fill_lost(true);
    let archive = Archive::from_source(Arc::new(source), &options).unwrap();
    let dataset = Dataset::from(archive.clone());
    let variable = dataset.variable("v0").unwrap();
    let read = variable.read_bytes(&variable.all()).unwrap();
    let values = &original[original.len() - (128 << 14)..][..64 << 14];
    let tile = 7 << 14..8 << 14;
    assert!(read[tile.clone()].iter().all(|&b| b == 0));
    assert!(read[..tile.start] == values[..tile.start] && read[tile.end..] == values[tile.end..]);
    assert_eq!(archive.filled().len(), 1);
}
