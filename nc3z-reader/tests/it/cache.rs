//! The cache of decoded tiles: decoded once, within its budget, gone with the archive.

use crate::classic::{Model, Var};
use crate::support::archive_bytes;
use nc3z_format::classic::Version;
use nc3z_format::{Hyperslab, NcType};
use nc3z_reader::cache::TileCache;
use nc3z_reader::source::MemorySource;
use nc3z_reader::{Dataset, OpenOptions};
use nc3z_writer::WriterOptions;
use std::sync::{Arc, Barrier};

/// Ten tiles of 1,000 bytes of noise, in a cache of its own.
fn noisy(cache: &TileCache) -> (Vec<u8>, Dataset) {
    let sample =
        Model { fill: 3, ..Model::new(Version::Cdf1, 0, vec![Var::fixed(NcType::Short, &[10, 500])]) }
            .build();
    let archive = archive_bytes(&sample.bytes, &WriterOptions::default().with_tile_len(1000));
    let options = OpenOptions::default().with_cache(cache.clone());
    let dataset = Dataset::from_source(Arc::new(MemorySource::new(archive)), &options).unwrap();
    (sample.variable(0).unwrap(), dataset)
}

fn element(row: u64, column: u64) -> Hyperslab {
    Hyperslab::new([row, column], [1, 1], [1, 1]).unwrap()
}

#[test]
fn many_threads_decode_a_tile_once() {
    let cache = TileCache::new(1 << 20);
    let (array, dataset) = noisy(&cache);
    let variable = dataset.variable("v0").unwrap();
    let threads = 8;
    let barrier = Barrier::new(threads);
    std::thread::scope(|scope| {
        for t in 0..threads {
            let (variable, barrier, array) = (variable.clone(), &barrier, &array);
            scope.spawn(move || {
                for row in 0..10 {
                    barrier.wait();
                    let found = variable.read_bytes(&element(row as u64, t as u64)).unwrap();
                    assert_eq!(found, array[row * 1000 + t * 2..][..2]);
                }
            });
        }
    });
    let stats = cache.stats();
    assert_eq!((stats.misses, stats.hits, stats.decoded_bytes), (10, 70, 10_000));
    assert_eq!((stats.copied_bytes, stats.entries, stats.evictions), (160, 10, 0));
}

#[test]
fn budget_is_kept_whatever_is_read() {
    for budget in [0, 1, 1500, 5000, 1 << 20] {
        let cache = TileCache::new(budget);
        let (array, dataset) = noisy(&cache);
        let variable = dataset.variable("v0").unwrap();
        for n in 0..200_u64 {
            let (row, column) = (n * 7 % 10, n * 31 % 500);
            let at = usize::try_from((row * 500 + column) * 2).unwrap();
            assert_eq!(variable.read_bytes(&element(row, column)).unwrap(), array[at..at + 2]);
            let column = Hyperslab::new([9, column], [10, 1], [-1, 1]).unwrap();
            assert_eq!(variable.read_bytes(&column).unwrap().len(), 20);
            assert!(cache.stats().used_bytes <= budget, "{:?}", cache.stats());
        }
        let stats = cache.stats();
        assert_eq!(stats.hits + stats.misses, 200 * 11);
        assert_eq!(stats.decoded_bytes, stats.misses * 1000);
        match budget {
            0 | 1 => assert_eq!((stats.entries, stats.hits), (0, 0)),
            1500 | 5000 => assert!(stats.evictions > 0, "{stats:?}"),
            _ => assert_eq!((stats.entries, stats.misses, stats.evictions), (10, 10, 0)),
        }
    }
}

#[test]
fn hot_tiles_survive_a_scan() {
    let cache = TileCache::new(5 * 1256);
    let (_, dataset) = noisy(&cache);
    let variable = dataset.variable("v0").unwrap();
    let hot = || drop(variable.read_bytes(&element(0, 0)).unwrap());
    (0..5).for_each(|_| hot());
    for row in 1..10 {
        let _ = variable.read_bytes(&element(row, 3)).unwrap();
    }
    let before = cache.stats().misses;
    hot();
    assert_eq!(cache.stats().misses, before, "the tile that is read often is still there");
}

#[test]
fn hot_tiles_survive_scans_however_often_they_were_read_before() {
    let cache = TileCache::new(5 * 1256);
    let (_, dataset) = noisy(&cache);
    let variable = dataset.variable("v0").unwrap();
    let hot = || drop(variable.read_bytes(&element(0, 0)).unwrap());
    (0..100).for_each(|_| hot());
    // A scan that leaves it unread drives it out in the end; one that does not, never.
    for row in (1..10).cycle().take(90) {
        let _ = variable.read_bytes(&element(row, 3)).unwrap();
        let before = cache.stats().misses;
        hot();
        assert_eq!(cache.stats().misses, before, "row {row}");
    }
    assert!(cache.stats().evictions >= 40, "{:?}", cache.stats());
}

#[test]
fn every_tile_of_a_series_is_counted_however_often_it_is_read() {
    let cache = TileCache::new(1 << 20);
    let (array, dataset) = noisy(&cache);
    let variable = dataset.variable("v0").unwrap();
    let series = |column: u64, back: bool| {
        let (start, stride) = if back { (9, -1) } else { (0, 1) };
        let found =
            variable.read_bytes(&Hyperslab::new([start, column], [10, 2], [stride, 1]).unwrap()).unwrap();
        let mut expected: Vec<&[u8]> = array.chunks(1000).collect();
        if back {
            expected.reverse();
        }
        let at = usize::try_from(column * 2).unwrap();
        assert_eq!(found, expected.iter().map(|row| &row[at..at + 4]).collect::<Vec<_>>().concat());
    };
    for n in 1..=20 {
        series(n * 7, n % 3 == 0);
        let stats = cache.stats();
        assert_eq!((stats.misses, stats.hits), (10, (n - 1) * 10));
        assert_eq!((stats.copied_bytes, stats.decoded_bytes, stats.entries), (n * 40, 10_000, 10));
    }
    // A request of which one tile is gone is read like any other.
    cache.clear();
    assert_eq!((cache.stats().entries, cache.stats().used_bytes), (0, 0));
    let _ = variable.read_bytes(&element(3, 3)).unwrap();
    series(1, false);
    let stats = cache.stats();
    assert_eq!((stats.misses, stats.hits, stats.copied_bytes), (20, 191, 842));
}

#[test]
fn series_read_by_many_threads_while_tiles_come_and_go() {
    let cache = TileCache::new(8 * 1256);
    let (array, dataset) = noisy(&cache);
    let variable = dataset.variable("v0").unwrap();
    let reads = 2000_u64;
    std::thread::scope(|scope| {
        for t in 0..4_u64 {
            let (variable, array, cache) = (variable.clone(), &array, &cache);
            scope.spawn(move || {
                for n in 0..reads {
                    // Usually rows that all fit. Sometimes rows that do not, which evict others.
                    let (row, column) =
                        if n % 50 == 0 { (n / 50 % 10, n % 500) } else { (n % 4, (n * t) % 500) };
                    let at = usize::try_from((row * 500 + column) * 2).unwrap();
                    assert_eq!(variable.read_bytes(&element(row, column)).unwrap(), array[at..at + 2]);
                    if t == 0 && n % 300 == 299 {
                        cache.clear();
                    }
                    assert!(cache.stats().used_bytes <= cache.budget());
                }
            });
        }
    });
    let stats = cache.stats();
    assert_eq!((stats.hits + stats.misses, stats.copied_bytes), (4 * reads, 8 * reads));
    assert_eq!(stats.decoded_bytes, stats.misses * 1000);
    drop((variable, dataset));
    assert_eq!((cache.stats().entries, cache.stats().used_bytes), (0, 0));
}

#[test]
fn whole_tiles_pass_the_cache_by_unless_they_are_in_it() {
    let cache = TileCache::new(1 << 20);
    let sample =
        Model { fill: 3, ..Model::new(Version::Cdf1, 0, vec![Var::fixed(NcType::Short, &[4, 50_000])]) }
            .build();
    let archive = archive_bytes(&sample.bytes, &WriterOptions::default().with_tile_len(100_000));
    let options = OpenOptions::default().with_cache(cache.clone());
    let dataset = Dataset::from_source(Arc::new(MemorySource::new(archive)), &options).unwrap();
    let variable = dataset.variable("v0").unwrap();
    assert_eq!(variable.read_bytes(&variable.all()).unwrap(), sample.variable(0).unwrap());
    let stats = cache.stats();
    assert_eq!((stats.misses, stats.entries, stats.copied_bytes), (4, 0, 0));
    let _ = variable.read_bytes(&element(2, 9)).unwrap();
    assert_eq!(variable.read_bytes(&variable.all()).unwrap(), sample.variable(0).unwrap());
    let stats = cache.stats();
    assert_eq!((stats.misses, stats.hits, stats.entries), (8, 1, 1));
}

#[test]
fn tiles_leave_with_their_archive() {
    let cache = TileCache::new(1 << 20);
    let (_, first) = noisy(&cache);
    let (_, second) = noisy(&cache);
    for dataset in [&first, &second] {
        let variable = dataset.variable("v0").unwrap();
        let _ = variable.read_bytes(&element(0, 1)).unwrap();
        let _ = variable.read_bytes(&element(1, 1)).unwrap();
    }
    assert_eq!(
        (cache.stats().entries, cache.stats().misses),
        (4, 4),
        "the same file opened twice is two archives"
    );
    let variable = first.variable("v0").unwrap();
    drop(first);
    assert_eq!(cache.stats().entries, 4, "a variable keeps its archive open");
    drop(variable);
    assert_eq!(cache.stats().entries, 2);
    drop(second);
    assert_eq!((cache.stats().entries, cache.stats().used_bytes), (0, 0));
}

#[test]
fn budget_may_change_and_tiles_may_be_dropped() {
    let cache = TileCache::new(0);
    let (_, dataset) = noisy(&cache);
    let variable = dataset.variable("v0").unwrap();
    let column = Hyperslab::new([0, 5], [10, 1], [1, 1]).unwrap();
    let read = || drop(variable.read_bytes(&column).unwrap());
    read();
    assert_eq!(cache.stats().entries, 0);
    cache.set_budget(1 << 20);
    read();
    assert_eq!(cache.stats().entries, 10);
    cache.clear();
    assert_eq!(cache.stats().entries, 0);
    read();
    cache.set_budget(0);
    assert_eq!((cache.stats().entries, cache.stats().budget), (0, 0));
    read();
    assert_eq!(cache.stats().entries, 0);
}

#[test]
fn damage_is_an_error_for_every_reader_and_is_not_kept() {
    let cache = TileCache::new(1 << 20);
    let sample =
        Model { fill: 3, ..Model::new(Version::Cdf1, 0, vec![Var::fixed(NcType::Short, &[9_000])]) }.build();
    let mut archive = archive_bytes(&sample.bytes, &WriterOptions::default().with_tile_len(18_000));
    let array = sample.variable(0).unwrap();
    let at = archive.windows(16).position(|w| w == &array[5000..5016]).expect("noise is stored as it is");
    archive[at] ^= 1;
    let options = OpenOptions::default().with_cache(cache.clone());
    let dataset = Dataset::from_source(Arc::new(MemorySource::new(archive)), &options).unwrap();
    let variable = dataset.variable("v0").unwrap();
    let one = Hyperslab::new([5], [1], [1]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    assert!(variable.read_bytes(&one).unwrap_err().is_corrupt());
                }
            });
        }
    });
    assert_eq!(cache.stats().entries, 0);
}
