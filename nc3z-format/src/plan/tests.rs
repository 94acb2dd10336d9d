//! Plans against a plain array, hand-worked plans, and sizes near 2^63.

use proptest::prelude::*;

use super::copy::copy_tile;
use super::*;
use crate::tile::{Edge, MAX_ELEMENTS, TileExtent};

/// A shape, a layout for it, and a hyperslab inside it.
fn cases() -> impl Strategy<Value = (Vec<u64>, TileLayout, Hyperslab)> {
    let dim =
        (prop_oneof![4 => 1_u64..7, 1 => Just(1), 1 => 0_u64..2], 1_u64..9, any::<[u64; 3]>(), any::<bool>());
    let edge = prop_oneof![Just(Edge::Clipped), Just(Edge::Padded)];
    (prop::collection::vec(dim, 0..=6), 1_u64..60, any::<bool>(), edge).prop_map(
        |(dims, len, linear, edge)| {
            let shape: Vec<u64> = dims.iter().map(|d| d.0).collect();
            let chunk: Vec<u64> = dims.iter().map(|d| d.1).collect();
            let layout = if linear { TileLayout::linear(len) } else { TileLayout::chunked(chunk, edge) };
            let mut slab = Hyperslab::new([], [], []).unwrap();
            for (n, _, [a, b, c], plain) in dims {
                let step = if plain { 1 } else { 1 + c % 4 };
                let lo = if plain && a % 2 == 0 { 0 } else { a % (n + 1) };
                let most = (n - lo).div_ceil(step);
                let count = if plain && b % 8 != 0 { most } else { b % (most + 1) };
                let back = c % 5 == 0 && count > 0;
                let step = i64::try_from(step).unwrap();
                slab.start.push(if back { lo + (count - 1) * step.unsigned_abs() } else { lo });
                slab.count.push(count);
                slab.stride.push(if back { -step } else { step });
            }
            (shape, layout, slab)
        },
    )
}

/// Row-major indices of a box.
fn indices(shape: &[u64]) -> Vec<Vec<u64>> {
    shape.iter().fold(vec![vec![]], |all, n| {
        all.iter().flat_map(|at| (0..*n).map(move |i| [&at[..], &[i]].concat())).collect()
    })
}

fn flat(shape: &[u64], at: &[u64]) -> u64 {
    shape.iter().zip(at).fold(0, |p, (n, i)| p * n + i)
}

/// The flat source index of every output element.
fn oracle(shape: &[u64], slab: &Hyperslab) -> Vec<u64> {
    let source = |at: &Vec<u64>| -> Vec<u64> {
        (0..at.len())
            .map(|d| slab.start[d].wrapping_add_signed(slab.stride[d] * i64::try_from(at[d]).unwrap()))
            .collect()
    };
    indices(&slab.count).iter().map(|at| flat(shape, &source(at))).collect()
}

/// Decoded tile `tile` of the array whose elements are their own flat indices; padding is `u64::MAX`.
fn decode(tiling: &Tiling, tile: u64) -> Vec<u64> {
    match tiling.extent(tile).unwrap() {
        TileExtent::Linear { first, count } => (first..first + count).collect(),
        TileExtent::Chunk { start, shape } => {
            let full = match tiling.layout() {
                TileLayout::Chunked { shape: full, edge: Edge::Padded } => full.clone(),
                _ => shape.clone(),
            };
            let one = |at: Vec<u64>| {
                let inside = at.iter().zip(&shape).all(|(i, n)| i < n);
                let at: Vec<u64> = at.iter().zip(&start).map(|(i, s)| i + s).collect();
                if inside { flat(tiling.shape(), &at) } else { u64::MAX }
            };
            indices(&full).into_iter().map(one).collect()
        }
    }
}

/// Checks all a plan promises; returns what it wrote, `None` where nothing was.
fn execute(tiling: &Tiling, plan: &Plan) -> Vec<Option<u64>> {
    let mut out = vec![None; usize::try_from(plan.selected()).unwrap()];
    let (mut before, mut tiles, mut elements) = (None, 0, 0);
    for tile in plan.tiles() {
        assert!(before < Some(tile.tile), "ascending and unique");
        before = Some(tile.tile);
        (tiles, elements) = (tiles + 1, elements + tile.elements);
        let data = decode(tiling, tile.tile);
        assert_eq!(u64::try_from(data.len()).unwrap(), tile.decoded);
        let mut positions = Vec::new();
        for run in tile.runs() {
            assert!(run.len > 0 && run.src_step > 0);
            for i in 0..run.len {
                positions.push((run.src + i * run.src_step, moved(run.dst, run.dst_step, i)));
            }
        }
        assert!(positions.is_sorted_by(|a, b| a.0 < b.0));
        for (src, dst) in &positions {
            let slot = &mut out[usize::try_from(*dst).unwrap()];
            assert!(slot.is_none(), "written once");
            *slot = Some(data[usize::try_from(*src).unwrap()]);
        }
        let whole = positions.len() == data.len() && positions.windows(2).all(|w| w[0].1 + 1 == w[1].1);
        assert_eq!(tile.whole, whole.then(|| positions[0].1));
        assert_eq!(tile.elements, u64::try_from(positions.len()).unwrap());
        assert_eq!(tile.single(), positions.first().copied().filter(|_| positions.len() == 1));
        assert_eq!(tile.runs().run_count(), u64::try_from(tile.runs().count()).unwrap());
        // Runs end only with a row of the innermost axis: all but the first and the last are full.
        let longest = tile.runs().map(|r| r.len).max().unwrap();
        assert!(tile.runs().run_count() <= tile.elements / longest + 2 || tile.runs().run_count() <= 2);
    }
    assert_eq!((tiles, elements), (plan.tile_count(), plan.elements()));
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn plan_reads_what_a_plain_array_would((shape, layout, slab) in cases()) {
        let tiling = layout.bind(&shape, element_count(&shape).unwrap()).unwrap();
        let plan = Plan::new(&shape, &layout, &slab).unwrap();
        prop_assert!(plan.is_complete());
        let want: Vec<_> = oracle(&shape, &slab).into_iter().map(Some).collect();
        prop_assert_eq!(&execute(&tiling, &plan), &want);
        let mut out = vec![0; want.len()];
        for tile in plan.tiles() {
            copy_tile(&tile, &decode(&tiling, tile.tile), &mut out).unwrap();
        }
        prop_assert_eq!(out.into_iter().map(Some).collect::<Vec<_>>(), want);
    }

    #[test]
    fn what_is_not_present_is_left_out((shape, layout, slab) in cases(), cut in any::<u64>()) {
        let present = cut % (element_count(&shape).unwrap() + 1);
        let tiling = layout.bind(&shape, present).unwrap();
        let got = execute(&tiling, &Plan::with_tiling(&tiling, &slab).unwrap());
        let held: std::collections::HashSet<u64> =
            (0..tiling.tile_count()).flat_map(|t| decode(&tiling, t)).collect();
        let want: Vec<_> = oracle(&shape, &slab).into_iter().map(|i| held.contains(&i).then_some(i)).collect();
        prop_assert_eq!(got, want);
        prop_assert!((0..present).all(|i| held.contains(&i)));
    }

    #[test]
    fn shares_are_the_whole((shape, layout, slab) in cases(), parts in 0_usize..6) {
        let tiling = layout.bind(&shape, element_count(&shape).unwrap()).unwrap();
        let (mut got, mut tiles) = (Vec::new(), Vec::new());
        let shares = split(&tiling, &slab, parts).unwrap();
        prop_assert!(shares.len() <= parts.max(1));
        for share in &shares {
            prop_assert_eq!(share.dst.start, u64::try_from(got.len()).unwrap());
            got.extend(oracle(&shape, &share.slab));
            prop_assert_eq!(share.dst.end, u64::try_from(got.len()).unwrap());
            tiles.extend(Plan::with_tiling(&tiling, &share.slab).unwrap().tiles().map(|t| t.tile));
        }
        prop_assert_eq!(got, oracle(&shape, &slab));
        let dim = slab.count.iter().position(|n| *n > 1).unwrap_or(0);
        let shared = tiles.len();
        tiles.sort_unstable();
        tiles.dedup();
        prop_assert!(shared == tiles.len() || tiling.rows_per_tile(dim) == 1, "no tile twice");
    }
}

#[test]
fn hand_worked_chunks() {
    // 5 x 7 in chunks of 2 x 3; rows 3, 1; columns 1, 3, 5.
    let slab = Hyperslab::new([3, 1], [2, 3], [-2, 2]).unwrap();
    let plan = Plan::new(&[5, 7], &TileLayout::chunked([2, 3], Edge::Clipped), &slab).unwrap();
    assert_eq!(
        plan.to_string(),
        "6 elements from 4 of 9 tiles (chunked [2, 3])\n\
         tile 0: 1 run\n  src 4.. -> dst 3.., 1 element\n\
         tile 1: 1 run\n  src 3.. by 2 -> dst 4.., 2 elements\n\
         tile 3: 1 run\n  src 4.. -> dst 0.., 1 element\n\
         tile 4: 1 run\n  src 3.. by 2 -> dst 1.., 2 elements\n"
    );
}

#[test]
fn dimensions_that_continue_each_other_are_one_run() {
    let one = |shape: &[u64], slab: &Hyperslab| {
        let plan = Plan::new(shape, &TileLayout::linear(1 << 20), slab).unwrap();
        let runs: Vec<_> = plan.tiles().next().unwrap().runs().collect();
        (runs.len(), runs[0].len)
    };
    let slab =
        |start: [u64; 3], count: [u64; 3], stride: [i64; 3]| Hyperslab::new(start, count, stride).unwrap();
    assert_eq!(one(&[4, 6, 8], &slab([1, 0, 0], [2, 6, 8], [1, 1, 1])), (1, 96));
    assert_eq!(one(&[4, 6, 8], &slab([0, 0, 1], [4, 6, 4], [1, 1, 2])), (1, 96));
    assert_eq!(one(&[4, 6, 8], &slab([3, 5, 7], [4, 6, 8], [-1, -1, -1])), (1, 192));
    assert_eq!(one(&[4, 6, 8], &slab([0, 2, 3], [4, 1, 1], [1, 1, 1])), (1, 4));
    assert_eq!(one(&[4, 6, 8], &slab([0, 1, 0], [4, 5, 8], [1, 1, 1])), (4, 40));
}

#[test]
fn rank_zero_and_nothing() {
    let none = Hyperslab::all(&[]);
    for layout in [TileLayout::linear(5), TileLayout::chunked([], Edge::Clipped)] {
        let plan = Plan::new(&[], &layout, &none).unwrap();
        assert_eq!(plan.tiles().map(|t| (t.tile, t.whole)).collect::<Vec<_>>(), [(0, Some(0))]);
    }
    let empty = Hyperslab::new([4, 0], [0, 3], [1, 1]).unwrap();
    let plan = Plan::new(&[4, 3], &TileLayout::linear(5), &empty).unwrap();
    assert_eq!((plan.tile_count(), plan.tiles().count(), plan.is_complete()), (0, 0, true));
}

#[test]
fn sizes_near_two_to_the_63() {
    const HUGE: u64 = MAX_ELEMENTS;
    let far = i64::MAX - 1;
    let ends = Hyperslab::new([HUGE - 1], [2], [-far]).unwrap();
    for layout in [TileLayout::linear(1 << 20), TileLayout::chunked([1 << 20], Edge::Padded)] {
        let plan = Plan::new(&[HUGE], &layout, &ends).unwrap();
        let got: Vec<_> = plan.tiles().map(|t| (t.tile, t.runs().next().unwrap())).collect();
        let run = |src, dst| CopyRun { src, dst, len: 1, src_step: 1, dst_step: 1 };
        assert_eq!(got, [(0, run(0, 1)), ((1 << 43) - 1, run((1 << 20) - 2, 0))]);
        let all = Plan::new(&[HUGE], &layout, &Hyperslab::all(&[HUGE])).unwrap();
        assert_eq!((all.tile_count(), all.elements()), (1 << 43, HUGE));
        assert_eq!(all.tiles().nth(1000).unwrap().whole, Some(1000 << 20));
        let back = Hyperslab::new([HUGE - 1], [HUGE], [-1]).unwrap();
        let back = Plan::new(&[HUGE], &layout, &back).unwrap();
        assert_eq!(back.tiles().next().unwrap().runs().next().unwrap().dst, HUGE - 1);
    }
    for layout in [TileLayout::linear(HUGE), TileLayout::chunked([HUGE, 1], Edge::Padded)] {
        let shape = [1 << 31, (1 << 32) - 1];
        let plan = Plan::new(&shape, &layout, &Hyperslab::all(&shape)).unwrap();
        assert_eq!(plan.tiles().next().unwrap().tile, 0);
        let corner =
            Hyperslab::new([(1 << 31) - 1, (1 << 32) - 2], [2, 2], [1 - (1 << 31), 2 - (1 << 32)]).unwrap();
        let plan = Plan::new(&shape, &layout, &corner).unwrap();
        assert_eq!(plan.tiles().map(|t| t.elements).sum::<u64>(), 4);
    }
}

proptest! {
    /// Tiles in branches are those of each branch cut on its own, and copying them gives the hyperslab.
    #[test]
    fn tiles_of_branches_are_cut_branch_by_branch((shape, layout, slab) in cases(), branch in 1_u64..80, missing in 0_u64..9) {
        let TileLayout::Linear { len } = layout else { return Ok(()) };
        let elements = element_count(&shape).unwrap();
        let tiling = layout.bind(&shape, elements.saturating_sub(missing)).unwrap();
        let plan = Plan::in_branches(&tiling, branch, &slab).unwrap();
        let mut tiles = Vec::new();
        for first in (0..tiling.present()).step_by(usize::try_from(branch).unwrap()) {
            let end = (first + branch).min(tiling.present());
            tiles.extend((first..end).step_by(usize::try_from(len).unwrap()).map(|at| at..(at + len).min(end)));
        }
        let expected = oracle(&shape, &slab);
        let mut out = vec![u64::MAX; expected.len()];
        let mut numbers = Vec::new();
        for tile in plan.tiles() {
            let decoded: Vec<u64> = tiles[usize::try_from(tile.tile).unwrap()].clone().collect();
            prop_assert_eq!(tile.decoded, decoded.len() as u64);
            let is_whole = expected.windows(decoded.len()).position(|part| part == decoded);
            if let Some(at) = tile.whole {
                prop_assert_eq!(is_whole, Some(usize::try_from(at).unwrap()));
            }
            copy_tile(&tile, &decoded, &mut out).unwrap();
            numbers.push(tile.tile);
        }
        let present = |n: &u64| if *n < tiling.present() { *n } else { u64::MAX };
        prop_assert_eq!(out, expected.iter().map(present).collect::<Vec<_>>());
        prop_assert!(numbers.is_sorted_by(|a, b| a < b));
        prop_assert_eq!(plan.tile_count(), numbers.len() as u64);
        prop_assert_eq!(plan.is_complete(), expected.iter().all(|n| *n < tiling.present()));
    }
}
