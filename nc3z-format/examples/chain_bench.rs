//! What decoding a small tile costs besides its content: 10,000 tiles of 128 bytes by each of a few chains.
//!
//! `cargo run --release -p nc3z-format --example chain_bench`; the least of 50 rounds.

use nc3z_format::codec::{
    ChainSpec, CodecScratch, Dependencies, Registry, StageSpec, TileCoder, TileShape, encode_tile,
};
use nc3z_format::num::EncodePlan;
use nc3z_format::tile::Geometry;
use nc3z_format::{NcType, Result};
use std::hint::black_box;
use std::time::{Duration, Instant};

fn main() -> Result<()> {
    let shape = TileShape { ty: NcType::Float, geometry: Geometry::new(&[4, 8]) };
    let bytes: Vec<u8> = (0..32u8).flat_map(|i| (f32::from(i) * 0.25).to_be_bytes()).collect();
    let given = Dependencies::default();
    let mut scratch = CodecScratch::default();
    let shuffle = || StageSpec::shuffle(4);
    for (name, stages) in [
        ("store", vec![]),
        ("shuffle", vec![shuffle()]),
        ("shuffle+zstd", vec![shuffle(), StageSpec::zstd(3)]),
        ("shuffle+lz4", vec![shuffle(), StageSpec::lz4(1)]),
        ("num", vec![StageSpec::num(None)]),
    ] {
        let chain = Registry::default().bind(ChainSpec(stages));
        let plan = EncodePlan::default();
        let coder = if chain.is_numeric() { TileCoder::Num(&plan) } else { TileCoder::Bytes(&chain) };
        let mut payload = Vec::new();
        encode_tile(coder, &bytes, &shape, &mut scratch, &mut payload)?;
        let mut out = vec![0; bytes.len()];
        let mut best = Duration::MAX;
        for _ in 0..50 {
            let begin = Instant::now();
            for _ in 0..10_000 {
                chain.decode_tile(black_box(&payload), &shape, &given, &mut scratch, &mut out)?;
            }
            best = best.min(begin.elapsed());
        }
        println!("{name:14} {:6.1} ns for a tile of {} bytes", best.as_secs_f64() * 1e5, bytes.len());
    }
    Ok(())
}
