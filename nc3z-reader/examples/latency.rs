//! A window of 64 tiles over a source where each request takes 20 ms: one by one, and as it is planned.
//!
//! `cargo run --release -p nc3z-reader --example latency` prints both times and their ratio, beside the least that is possible:
//! one request.

use bytes::Bytes;
use nc3z_format::NcType;
use nc3z_format::classic::{DimId, Dimension, Header, NumRecs, Variable, Version, encode};
use nc3z_reader::cache::TileCache;
use nc3z_reader::source::{ByteSource, MemorySource, Reach};
use nc3z_reader::{Archive, Dataset, OpenOptions, Result};
use nc3z_writer::{WriterOptions, archive_file};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

const DELAY: Duration = Duration::from_millis(20);
const TILES: u64 = 64;
const TILE_LEN: u64 = 64 << 10;

/// Bytes behind a network: each round of requests takes its time.
struct Delayed(MemorySource, Reach);

impl ByteSource for Delayed {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        std::thread::sleep(DELAY);
        self.0.read_into(offset, buf)
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let rounds = ranges.len().div_ceil(self.1.requests.max(1));
        std::thread::sleep(DELAY * u32::try_from(rounds).unwrap_or(u32::MAX));
        self.0.read_ranges(ranges)
    }

    fn reach(&self) -> Reach {
        self.1
    }
}

/// A classic file of noise in one variable `x(n)`.
fn noise() -> Vec<u8> {
    let len = TILES * TILE_LEN;
    let variable = |begin| Variable {
        name: b"x".to_vec(),
        dimensions: vec![DimId(0)],
        attributes: vec![],
        ty: NcType::Char,
        vsize: len,
        begin,
    };
    let mut header = Header {
        version: Version::Cdf2,
        numrecs: NumRecs::Count(0),
        dimensions: vec![Dimension { name: b"n".to_vec(), len }],
        attributes: vec![],
        variables: vec![variable(0)],
    };
    header.variables[0].begin = encode(&header).map_or(0, |h| h.len() as u64);
    let mut bytes = encode(&header).unwrap_or_default();
    let mut state = 1_u64;
    bytes.extend((0..len).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    }));
    bytes
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let (classic, path) = (dir.path().join("x.nc"), dir.path().join("x.nc3z"));
    std::fs::write(&classic, noise())?;
    archive_file(&classic, &path, &WriterOptions::default().with_tile_len(TILE_LEN), &())?;
    let bytes = std::fs::read(&path)?;

    // One thread: that several workers wait at once is not what is measured.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let time = |reach: Reach| -> Result<Duration> {
        let source = Arc::new(Delayed(MemorySource::new(bytes.clone()), reach));
        let options = OpenOptions::default().with_cache(TileCache::new(0));
        let variable = Dataset::from(Archive::from_source(source, &options)?).variable("x")?;
        let begin = Instant::now();
        pool.install(|| variable.read_bytes(&variable.all()))?;
        Ok(begin.elapsed())
    };
    let planned = time(Reach::REMOTE)?;
    // Requests that lie apart: a gap of nothing, 16 at once.
    let apart = time(Reach::REMOTE.with_gap(0).with_request_len(TILE_LEN))?;
    let single = time(Reach::LOCAL)?;
    let ratio = |t: Duration| single.as_secs_f64() / t.as_secs_f64();
    println!("{TILES} tiles of {TILE_LEN} bytes, {DELAY:?} a request (least possible: one request)");
    println!("one by one           {single:>10.1?}");
    println!("planned              {planned:>10.1?}   {:.1} times as fast", ratio(planned));
    println!("planned, not merged  {apart:>10.1?}   {:.1} times as fast", ratio(apart));
    Ok(())
}
