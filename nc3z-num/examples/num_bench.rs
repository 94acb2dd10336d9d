//! Ratio and speed of `nc3z.num` on raw files of native-endian elements, each tile verified.
//!
//! `num_bench [--effort fast|default|max] [--tile BYTES] [--json] FILE:TYPE:DIMS ...`, as in `tas.bin:float:120,64,128`.
//!
//! A time is the sum over tiles of each tile's shortest time; each pass goes over all tiles. So most interruptions
//! by other work are not counted, and the clock is the thread's own if the system has one. For comparison: a copy
//! of the elements, and zstd's decoder on the same tiles, packed at level 3.

#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use nc3z_num::{
    DictionaryBuilder, Effort, ElementType, EncodePlan, Extent, Geometry, Scratch, TransformPlan, Width,
    choose_with, decode, encode,
};
use std::sync::Arc;
use std::time::Duration;
#[cfg(not(unix))]
use std::time::Instant;

struct Options {
    effort: Effort,
    tile: usize,
    verbose: bool,
    json: bool,
}

struct Report {
    raw: usize,
    stored: usize,
    choosing: Duration,
    encoding: Duration,
    decoding: Duration,
    copying: Duration,
    /// zstd level 3 on the plain tiles: its bytes, and its decoder's time.
    zstd: (usize, Duration),
    plan: String,
}

fn words<W: Width>(bytes: &[u8]) -> Vec<W> {
    let mut out = vec![W::default(); bytes.len() / W::BYTES];
    W::get_le(&bytes[..out.len() * W::BYTES], &mut out);
    out
}

/// A type by its name in CDL.
fn type_of(name: &str) -> Option<ElementType> {
    Some(match name {
        "byte" => ElementType::I8,
        "char" | "ubyte" => ElementType::U8,
        "short" => ElementType::I16,
        "ushort" => ElementType::U16,
        "int" => ElementType::I32,
        "uint" => ElementType::U32,
        "int64" => ElementType::I64,
        "uint64" => ElementType::U64,
        "float" => ElementType::F32,
        "double" => ElementType::F64,
        _ => return None,
    })
}

fn tile_len<W: Width>(geom: &Geometry, options: &Options) -> usize {
    let most = (options.tile / W::BYTES).max(1);
    let unit = [geom.plane, geom.row]
        .into_iter()
        .filter_map(|s| usize::try_from(s?).ok())
        .find(|&s| s > 1 && s <= most)
        .unwrap_or(1);
    most / unit * unit
}

fn run<W: Width>(bytes: &[u8], ty: ElementType, dims: &[u64], options: &Options) -> Report {
    let elements: Vec<W> = words(bytes);
    let geom = Geometry::new(dims);
    let tiles: Vec<&[W]> = elements.chunks(tile_len::<W>(&geom, options)).collect();
    let mut picks = vec![0, tiles.len() / 2, tiles.len() - 1];
    picks.dedup();
    if picks.len() > 1 && tiles[tiles.len() - 1].len() < tiles[0].len() / 2 {
        picks.pop();
    }
    let samples: Vec<&[W]> = picks.iter().map(|&i| tiles[i]).collect();
    let extent = Extent { elements: elements.len() as u64, ..Extent::default() };
    let start = thread_time();
    let mut found = choose_with(&samples, ty, &geom, options.effort, &[], extent, None).expect("a plan");
    let first = thread_time().saturating_sub(start);
    if found.scan_dictionary && std::env::var_os("NO_DICT").is_none() {
        let mut builder = DictionaryBuilder::default();
        if tiles.iter().all(|t| builder.add(t, found.mask))
            && let Some(dict) = builder.finish(ty)
        {
            let known = Arc::new(dict);
            found =
                choose_with(&samples, ty, &geom, options.effort, &[], extent, Some(&known)).expect("a plan");
        }
    }
    let choosing = thread_time().saturating_sub(start);
    let plan = &found.plans[0];
    if options.verbose {
        println!("    choose {first:?}, with dictionary {choosing:?}");
    }
    let (payloads, encoding) = encode_all(&tiles, ty, &geom, plan);
    let definition = plan.dictionary().map_or(0, |d| d.encode_definition(ty).expect("a definition").len());
    let decoding = decode_all(&tiles, &payloads, ty, &geom, plan);
    let mut copy = elements.clone();
    let parts: Vec<&mut [W]> = copy.chunks_mut(tile_len::<W>(&geom, options)).collect();
    let copying = least(REPEATS, parts, &tiles, |to, from| to.copy_from_slice(std::hint::black_box(from)));
    let zstd = zstd_beside(&tiles);
    let transform = match &plan.transform {
        TransformPlan::Dictionary(d) => format!("Rank({})", d.len()),
        other => format!("{other:?}"),
    };
    Report {
        raw: elements.len() * W::BYTES,
        stored: payloads.iter().map(|p| p.len() + 8).sum::<usize>() + definition,
        choosing,
        encoding,
        decoding,
        copying,
        zstd,
        plan: format!("{transform} {:?} {:?} mask {:x?}", plan.axes, plan.coder, plan.mask),
    }
}

fn encode_all<W: Width>(
    tiles: &[&[W]],
    ty: ElementType,
    geom: &Geometry,
    plan: &EncodePlan,
) -> (Vec<Vec<u8>>, Duration) {
    let mut payloads = vec![Vec::new(); tiles.len()];
    let mut scratch = Scratch::new();
    let time = least(3, payloads.iter_mut().collect(), tiles, |out, tile| {
        out.clear();
        encode(tile, ty, geom, plan, &mut scratch, out).expect("a payload");
    });
    (payloads, time)
}

fn decode_all<W: Width>(
    tiles: &[&[W]],
    payloads: &[Vec<u8>],
    ty: ElementType,
    geom: &Geometry,
    plan: &EncodePlan,
) -> Duration {
    let mut scratch = Scratch::new();
    let dict = plan.dictionary().map(Arc::as_ref);
    let mut out: Vec<W> = Vec::new();
    for (tile, payload) in tiles.iter().zip(payloads) {
        out.clear();
        out.resize(tile.len(), W::from_u64(1));
        decode(payload, ty, geom, dict, &mut scratch, &mut out).expect("elements");
        assert!(out == *tile, "a tile came back changed");
    }
    out.resize(tiles[0].len(), W::default());
    let tiles: Vec<_> = payloads.iter().zip(tiles).collect();
    least(REPEATS, vec![(); tiles.len()], &tiles, |(), (payload, tile)| {
        decode(payload, ty, geom, dict, &mut scratch, &mut out[..tile.len()]).expect("elements");
    })
}

/// Returns bytes and decoding time of zstd level 3 on the unchanged elements.
fn zstd_beside<W: Width>(tiles: &[&[W]]) -> (usize, Duration) {
    let plain = |tile: &[W]| {
        let mut bytes = Vec::with_capacity(tile.len() * W::BYTES);
        W::put_le(tile, &mut bytes);
        bytes
    };
    let packed: Vec<_> =
        tiles.iter().map(|t| zstd::bulk::compress(&plain(t), 3).expect("zstd packs anything")).collect();
    let mut out = plain(tiles[0]);
    let mut decoder = zstd::bulk::Decompressor::new().expect("a decoder");
    let time = least(REPEATS, vec![(); packed.len()], &packed, |(), from| {
        decoder.decompress_to_buffer(from, &mut out).expect("it was packed above");
    });
    (packed.iter().map(Vec::len).sum(), time)
}

/// The number of passes over all tiles for quick operations.
const REPEATS: usize = 7;

/// Returns the time that this thread has run, by a clock with an arbitrary origin.
#[cfg(unix)]
fn thread_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let nanos = u32::try_from(now.tv_nsec).expect("less than a second");
    Duration::new(u64::try_from(now.tv_sec).expect("threads are young"), nanos)
}

#[cfg(not(unix))]
fn thread_time() -> Duration {
    static BEGIN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed()
}

/// Calls `f` for one tile after another, in `times` passes; returns the sum of each tile's shortest time.
fn least<S, T>(times: usize, mut states: Vec<S>, tiles: &[T], mut f: impl FnMut(&mut S, &T)) -> Duration {
    let mut best = vec![Duration::MAX; tiles.len()];
    for _ in 0..times {
        for ((best, state), tile) in best.iter_mut().zip(&mut states).zip(tiles) {
            let start = thread_time();
            f(state, tile);
            *best = thread_time().saturating_sub(start).min(*best);
        }
    }
    best.iter().sum()
}

fn main() {
    let mut options = Options { effort: Effort::Default, tile: 1 << 20, verbose: false, json: false };
    let mut args = std::env::args().skip(1);
    let mut logs = (0.0, 0.0, 0.0, 0usize);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--effort" => {
                options.effort = match args.next().as_deref() {
                    Some("fast") => Effort::Fast,
                    Some("max") => Effort::Max,
                    _ => Effort::Default,
                }
            }
            "--tile" => options.tile = args.next().and_then(|t| t.parse().ok()).unwrap_or(1 << 20),
            "-v" => options.verbose = true,
            "--json" => options.json = true,
            spec => {
                let fields: Vec<&str> = spec.rsplitn(3, ':').collect();
                let [dims, ty, file] = fields[..] else { panic!("FILE:TYPE:DIMS, not {spec}") };
                let dims: Vec<u64> = dims.split(',').map(|d| d.parse().expect("a length")).collect();
                let ty = type_of(ty).expect("a type of netCDF");
                let bytes = std::fs::read(file).expect("a readable file");
                let report = match ty.size() {
                    1 => run::<u8>(&bytes, ty, &dims, &options),
                    2 => run::<u16>(&bytes, ty, &dims, &options),
                    4 => run::<u32>(&bytes, ty, &dims, &options),
                    _ => run::<u64>(&bytes, ty, &dims, &options),
                };
                if options.json {
                    print_json(file, &report);
                } else {
                    print(file, &report, &mut logs);
                }
            }
        }
    }
    if options.json {
        return;
    }
    let n = logs.3.max(1) as f64;
    println!(
        "GEO ratio {:.4} enc {:.0} dec {:.0} MB/s over {}",
        (logs.0 / n).exp(),
        (logs.1 / n).exp(),
        (logs.2 / n).exp(),
        logs.3
    );
}

fn print_json(file: &str, r: &Report) {
    let line = serde_json::json!({
        "file": file,
        "raw": r.raw,
        "stored": r.stored,
        "choose_s": r.choosing.as_secs_f64(),
        "encode_s": r.encoding.as_secs_f64(),
        "decode_s": r.decoding.as_secs_f64(),
        "memcpy_s": r.copying.as_secs_f64(),
        "zstd3": {"stored": r.zstd.0, "decode_s": r.zstd.1.as_secs_f64()},
        "plan": r.plan,
    });
    println!("{line}");
}

fn print(file: &str, r: &Report, logs: &mut (f64, f64, f64, usize)) {
    let speed = |t: Duration| r.raw as f64 / 1e6 / t.as_secs_f64().max(1e-9);
    let ratio = r.raw as f64 / r.stored as f64;
    let name = file.rsplit('/').next().unwrap_or(file);
    if logs.3 == 0 {
        println!(
            "{:24} {:>9} {:>8} {:>8} {:>7} {:>7} {:>7}  plan",
            "file", "bytes", "ratio", "choose", "enc", "dec", "memcpy"
        );
    }
    println!(
        "{name:24} {:>9} {ratio:>8.3} {:>6.1}ms {:>7.0} {:>7.0} {:>7.0}  {}",
        r.raw,
        r.choosing.as_secs_f64() * 1e3,
        speed(r.encoding),
        speed(r.decoding),
        speed(r.copying),
        r.plan
    );
    logs.0 += ratio.ln();
    logs.1 += speed(r.encoding).ln();
    logs.2 += speed(r.decoding).ln();
    logs.3 += 1;
}
