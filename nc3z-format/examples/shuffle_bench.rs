//! How fast the byte shuffle is, either way: `cargo run --release -p nc3z-format --example shuffle_bench`.

use nc3z_format::codec::{shuffle, unshuffle};
use std::time::Instant;

type Turn = fn(usize, &[u8], &mut Vec<u8>);

fn main() {
    let input: Vec<u8> = (0..1_u32 << 18).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    println!("element  shuffle  unshuffle   (GB/s, best of 200 turns of {} KiB)", input.len() >> 10);
    for size in [2, 4, 8] {
        println!("{size:>7}  {:>7.2}  {:>9.2}", best(shuffle, size, &input), best(unshuffle, size, &input));
    }
}

fn best(turn: Turn, size: usize, input: &[u8]) -> f64 {
    let mut out = Vec::with_capacity(input.len());
    let mut best = f64::INFINITY;
    for _ in 0..200 {
        out.clear();
        let start = Instant::now();
        turn(size, input, &mut out);
        best = best.min(start.elapsed().as_secs_f64());
        assert_eq!(out.len(), input.len());
    }
    f64::from(u32::try_from(input.len()).unwrap_or(u32::MAX)) / best / 1e9
}
