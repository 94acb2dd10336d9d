//! Prints what planning costs: nanoseconds per one-tile plan, per tile and per run of large ones.
//!
//! `cargo run --release -p nc3z-format --example plan_bench`

use std::hint::black_box;
use std::time::Instant;

use nc3z_format::tile::Edge;
use nc3z_format::{Hyperslab, Plan, Result, TileLayout, Tiling};

fn plan_one(name: &str, tiling: &Tiling, slab: &Hyperslab) -> Result<()> {
    const TIMES: u32 = 500_000;
    let mut runs = 0;
    let start = Instant::now();
    for _ in 0..TIMES {
        let plan = Plan::with_tiling(black_box(tiling), black_box(slab))?;
        for tile in plan.tiles() {
            runs += black_box(tile.runs()).count();
        }
    }
    let each = start.elapsed() / TIMES;
    println!("{name:<34} {each:>8?} a plan, {} runs", runs / usize::try_from(TIMES).unwrap_or(1));
    Ok(())
}

fn walk(name: &str, tiling: &Tiling, slab: &Hyperslab) -> Result<()> {
    let start = Instant::now();
    let plan = Plan::with_tiling(tiling, slab)?;
    let tiles =
        plan.tiles().map(|t| black_box(t.runs().count())).fold((0_u32, 0), |(n, r), k| (n + 1, r + k));
    let each = start.elapsed() / tiles.0.max(1);
    println!("{name:<34} {each:>8?} a tile, {} tiles, {} runs", tiles.0, tiles.1);
    Ok(())
}

fn main() -> Result<()> {
    let shape = [1000, 720, 1440];
    let elements = shape.iter().product();
    let linear = TileLayout::linear(1440 * 180).bind(&shape, elements)?;
    let chunks = TileLayout::chunked([1, 180, 1440], Edge::Clipped).bind(&shape, elements)?;
    let small = TileLayout::chunked([10, 10, 100], Edge::Clipped).bind(&shape, elements)?;
    let point = Hyperslab::new([500, 300, 700], [1, 1, 1], [1, 1, 1])?;
    let patch = Hyperslab::new([500, 200, 700], [1, 10, 30], [1, 1, -2])?;
    let series = Hyperslab::new([0, 300, 700], [1000, 1, 1], [1, 1, 1])?;
    let all = Hyperslab::all(&shape);
    for (name, tiling) in [("linear", &linear), ("chunked", &chunks)] {
        plan_one(&format!("{name}: one point"), tiling, &point)?;
        plan_one(&format!("{name}: patch of one tile"), tiling, &patch)?;
        walk(&format!("{name}: point at all times"), tiling, &series)?;
        walk(&format!("{name}: everything"), tiling, &all)?;
    }
    walk("chunks of 10 x 10 x 100: everything", &small, &all)?;
    let tiny = TileLayout::linear(1000).bind(&shape, elements)?;
    walk("linear 1000: everything", &tiny, &all)
}
