//! Reads the same variable by the same patterns through nc3z and its peers; prints a line of JSON for each measurement.
//!
//! `access DIR [--threads N]`, DIR made by `bench/access_prepare.py`. Every element is compared with the raw
//! dump in the same folder. "cold" is the first read through a handle just opened, "warm" the same read again through that handle.

mod clock;
mod contender;
mod pattern;
mod peers;

use anyhow::{Context, Result, ensure};
use clock::{Spent, least};
use contender::{Contender, Manifest};
use pattern::{Pattern, Slab};
use serde_json::json;

/// Runs of each measurement; the least time counts.
const RUNS: usize = 3;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().context("access DIR [--threads N]")?;
    let threads = match args.next().as_deref() {
        Some("--threads") => args.next().context("a number of threads")?.parse()?,
        _ => 1,
    };
    let only = args.next();
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let manifest = Manifest::read(&folder)?;
    let raw = manifest.raw(&folder)?;
    let patterns = pattern::all(&manifest.shape);
    memory(&raw, threads);
    for contender in &manifest.contenders {
        if only.as_deref().is_some_and(|o| !contender.name.contains(o)) {
            continue;
        }
        if let Err(error) = measure(contender, &manifest.shape, &patterns, &raw, threads) {
            println!("{}", json!({"contender": contender.name, "threads": threads, "error": format!("{error:#}")}));
        }
    }
    Ok(())
}

/// One copy of the whole variable in memory, the limit of every row.
fn memory(raw: &[f32], threads: usize) {
    let mut out = vec![0f32; raw.len()];
    let spent = least(RUNS, || {
        out.copy_from_slice(std::hint::black_box(raw));
        Ok(())
    })
    .expect("a copy");
    report("memcpy", 4 * raw.len() as u64, "whole", "warm", threads, 4 * raw.len() as u64, spent);
}

fn measure(c: &Contender, shape: &[u64], patterns: &[Pattern], raw: &[f32], threads: usize) -> Result<()> {
    let open = least(20, || c.open(threads).map(drop))?;
    report(&c.name, c.bytes, "open", "warm", threads, 0, open);
    for p in patterns {
        let wanted: Vec<Vec<f32>> = p.slabs.iter().map(|s| s.pick(shape, raw)).collect();
        let mut outs: Vec<Vec<f32>> = wanted.iter().map(|w| vec![f32::NAN; w.len()]).collect();
        let bytes: u64 = wanted.iter().map(|w| 4 * w.len() as u64).sum();
        let (mut cold, mut warm) = (Spent::MOST, Spent::MOST);
        for _ in 0..RUNS {
            let mut handle = c.open(threads)?;
            cold = cold.min(clock::time(|| read_all(&mut *handle, &p.slabs, &mut outs, c, threads))?);
            warm = warm.min(clock::time(|| read_all(&mut *handle, &p.slabs, &mut outs, c, threads))?);
        }
        for (got, want) in outs.iter().zip(&wanted) {
            let same = got.iter().zip(want).all(|(a, b)| a.to_bits() == b.to_bits());
            ensure!(same, "{}: pattern {} came back changed", c.name, p.name);
        }
        report(&c.name, c.bytes, p.name, "cold", threads, bytes, cold);
        report(&c.name, c.bytes, p.name, "warm", threads, bytes, warm);
    }
    Ok(())
}

/// One slab is read by the library's own threads; many slabs are distributed over `threads` threads of this program.
fn read_all(
    handle: &mut dyn contender::Handle,
    slabs: &[Slab],
    outs: &mut [Vec<f32>],
    c: &Contender,
    threads: usize,
) -> Result<()> {
    if threads == 1 || slabs.len() < threads {
        return slabs.iter().zip(outs).try_for_each(|(s, o)| handle.read(s, o));
    }
    let share = slabs.len().div_ceil(threads);
    // The first share uses this handle; each other share uses its own handle if the library cannot share one.
    let mut forks = (1..threads).map(|_| handle.fork().unwrap_or_else(|| c.open(1))).collect::<Result<Vec<_>>>()?;
    let mut work: Vec<_> = slabs.chunks(share).zip(outs.chunks_mut(share)).collect();
    let rest = work.split_off(1);
    std::thread::scope(|scope| {
        let running: Vec<_> = forks
            .iter_mut()
            .zip(rest)
            .map(|(h, (s, o))| scope.spawn(move || s.iter().zip(o).try_for_each(|(s, o)| h.read(s, o))))
            .collect();
        for (s, o) in work {
            s.iter().zip(o).try_for_each(|(s, o)| handle.read(s, o))?;
        }
        running.into_iter().try_for_each(|r| r.join().expect("a reader does not panic"))
    })
}

fn report(name: &str, stored: u64, pattern: &str, cache: &str, threads: usize, bytes: u64, spent: Spent) {
    println!(
        "{}",
        json!({"contender": name, "stored": stored, "pattern": pattern, "cache": cache, "threads": threads,
               "bytes": bytes, "wall": spent.wall, "cpu": spent.cpu})
    );
}
