//! Reads of a smooth float field, 120 x 180 x 360, from an archive with default options and from the classic file:
//! beside a plain copy of as many bytes, in which every read would end if decoding cost nothing.
//!
//! `cargo bench -p nc3z-reader` runs all; `cargo bench -p nc3z-reader -- element` some. Throughput counts the bytes read.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use nc3z_format::Hyperslab;
use nc3z_format::NcType;
use nc3z_format::classic::{DimId, Dimension, Header, NumRecs, Variable, Version, encode};
use nc3z_reader::cache::TileCache;
use nc3z_reader::{Dataset, OpenOptions};
use nc3z_writer::{WriterOptions, archive_file};
use std::hint::black_box;
use std::path::{Path, PathBuf};

const SHAPE: [u64; 3] = [120, 180, 360];

/// A classic file with one variable `tas(time, lat, lon)`.
fn field() -> Vec<u8> {
    let dimensions = [("time", SHAPE[0]), ("lat", SHAPE[1]), ("lon", SHAPE[2])];
    let dimensions = dimensions
        .iter()
        .map(|(name, len)| Dimension { name: name.as_bytes().to_vec(), len: *len })
        .collect();
    let count: u64 = SHAPE.iter().product();
    let variable = |begin| Variable {
        name: b"tas".to_vec(),
        dimensions: (0..3).map(DimId).collect(),
        attributes: vec![],
        ty: NcType::Float,
        vsize: count * 4,
        begin,
    };
    let mut header = Header {
        version: Version::Cdf2,
        numrecs: NumRecs::Count(0),
        dimensions,
        attributes: vec![],
        variables: vec![variable(0)],
    };
    let len = encode(&header).map_or(0, |h| h.len() as u64);
    header.variables[0].begin = len;
    let mut bytes = encode(&header).unwrap_or_default();
    let mut noise = 0x9E37_79B9_7F4A_7C15_u64;
    for t in 0..SHAPE[0] {
        for y in 0..SHAPE[1] {
            for x in 0..SHAPE[2] {
                noise ^= noise << 13;
                noise ^= noise >> 7;
                noise ^= noise << 17;
                #[expect(clippy::cast_precision_loss, reason = "a made-up field")]
                let (t, y, x, e) = (t as f32, y as f32, x as f32, (noise % 1000) as f32);
                let value = 280.0 + 20.0 * (x / 50.0 + t / 9.0).sin() * (y / 40.0).cos() + e / 20_000.0;
                bytes.extend(value.to_be_bytes());
            }
        }
    }
    bytes
}

fn files(dir: &Path) -> (PathBuf, PathBuf) {
    let (classic, archive) = (dir.join("tas.nc"), dir.join("tas.nc3z"));
    std::fs::write(&classic, field()).expect("a temporary directory");
    archive_file(&classic, &archive, &WriterOptions::default(), &()).expect("a sound file");
    (classic, archive)
}

fn slab(start: [u64; 3], count: [u64; 3], stride: [i64; 3]) -> Hyperslab {
    Hyperslab::new(start, count, stride).expect("lists of three")
}

fn reads(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (classic, archive) = files(dir.path());
    let warm = Dataset::open(&archive, &OpenOptions::default().with_cache(TileCache::new(256 << 20)));
    let cold = Dataset::open(&archive, &OpenOptions::default().with_cache(TileCache::new(0)));
    let plain = Dataset::open(&classic, &OpenOptions::default());
    let [warm, cold, plain] =
        [warm, cold, plain].map(|d| d.and_then(|d| d.variable("tas")).expect("just written"));

    let [t, y, x] = SHAPE;
    let requests = [
        ("element", slab([60, 90, 180], [1, 1, 1], [1, 1, 1])),
        ("map", slab([60, 0, 0], [1, y, x], [1, 1, 1])),
        ("series", slab([0, 90, 180], [t, 1, 1], [1, 1, 1])),
        ("box", slab([20, 30, 40], [30, 60, 90], [1, 1, 1])),
        ("overview", slab([0, 0, 0], [t / 8, y / 4, x / 4], [8, 4, 4])),
        ("backwards", slab([t - 1, y - 1, x - 1], [t, y, x], [-1, -1, -1])),
        ("whole", Hyperslab::all(&SHAPE)),
    ];
    for (name, slab) in requests {
        let count = slab.count.iter().product::<u64>();
        let mut out = vec![0_f32; usize::try_from(count).expect("in memory")];
        let source = vec![1_f32; out.len()];
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Bytes(count * 4)).sample_size(20);
        group.bench_function("memcpy", |b| {
            b.iter(|| black_box(&mut out[..]).copy_from_slice(black_box(&source)));
        });
        for (kind, variable) in [("warm", &warm), ("cold", &cold), ("classic", &plain)] {
            group.bench_function(kind, |b| {
                b.iter(|| variable.read_into(black_box(&slab), black_box(&mut out)).expect("sound"));
            });
        }
        if count > 1 << 20 {
            let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
            group.bench_function("cold, one thread", |b| {
                b.iter(|| one.install(|| cold.read_into(&slab, black_box(&mut out))).expect("sound"));
            });
            let mut wide = vec![0_f64; out.len()];
            group.bench_function("cold, as f64", |b| {
                b.iter(|| cold.read_into(&slab, black_box(&mut wide)).expect("sound"));
            });
        }
        group.finish();
    }

    let options = OpenOptions::default();
    c.bench_function("open/classic", |b| {
        b.iter(|| drop(Dataset::open(&classic, &options).expect("sound")));
    });
    c.bench_function("open/archive", |b| {
        b.iter(|| drop(Dataset::open(&archive, &options).expect("sound")));
    });
}

criterion_group!(benches, reads);
criterion_main!(benches);
