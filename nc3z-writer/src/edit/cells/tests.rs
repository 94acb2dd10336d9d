//! Compares the elements of a variable with a plain array.

use super::*;
use nc3z_format::Hyperslab;
use nc3z_format::selection::Segment;
use proptest::prelude::*;

proptest! {
    /// Compares any hyperslab, with both kinds of tiles, with a plain array.
    #[test]
    fn any_hyperslab_is_written_as_in_a_plain_array(
        shape in proptest::collection::vec(1..6_u64, 0..4),
        chunk in proptest::collection::vec(1..5_u64, 3),
        linear in any::<bool>(),
        tile_len in 1..9_u64,
        ops in proptest::collection::vec((proptest::collection::vec((any::<u64>(), any::<u64>(), 1..4_i64, any::<bool>()), 3), any::<bool>(), any::<u8>(), 0..7_u64), 0..8),
    ) {
        let spec = if linear { TileLayoutSpec::Linear(tile_len) } else {
            TileLayoutSpec::Chunked { shape: chunk[..shape.len()].to_vec(), padded: false }
        };
        let fill = [9, 9];
        let mut cells = Cells::full(&shape, &spec, &fill).unwrap();
        let mut shape = shape;
        let total = |shape: &[u64]| usize::try_from(shape.iter().product::<u64>()).unwrap();
        let mut plain = vec![[9_u8; 2]; total(&shape)];
        let file = SpillFile::default();
        for (picks, scalar, value, len) in ops {
            if len > 4 && !shape.is_empty() {
                shape[0] = len - 4;
                cells.set_len(len - 4).unwrap();
                plain.resize(total(&shape), [9; 2]);
            }
            if len == 0 {
                cells.spill(&file).unwrap();
            }
            let mut slab = Hyperslab { start: vec![], count: vec![], stride: vec![] };
            for (&n, (a, b, step, back)) in shape.iter().zip(picks) {
                let low = a % n;
                let most = (n - 1 - low) / step.unsigned_abs() + 1;
                let count = 1 + b % most;
                let high = low + (count - 1) * step.unsigned_abs();
                slab.start.push(if back { high } else { low });
                slab.count.push(count);
                slab.stride.push(if back { -step } else { step });
            }
            let n = total(&slab.count);
            let values: Vec<[u8; 2]> =
                (0..if scalar { 1 } else { n }).map(|i| [value, u8::try_from(i % 250).unwrap()]).collect();
            let mut places = Vec::new();
            for i in 0..n {
                let (mut rest, mut position, mut unit) = (i as u64, 0, 1);
                for axis in (0..shape.len()).rev() {
                    let k = i64::try_from(rest % slab.count[axis]).unwrap();
                    rest /= slab.count[axis];
                    position += slab.start[axis].checked_add_signed(k * slab.stride[axis]).unwrap() * unit;
                    unit *= shape[axis];
                }
                places.push(usize::try_from(position).unwrap());
            }
            let before: Vec<u8> = places.iter().flat_map(|&p| plain[p]).collect();
            prop_assert_eq!(cells.get(&AnySelection::from(&slab)).unwrap(), before);
            cells.set(&AnySelection::from(&slab), values.as_flattened(), &file, 40).unwrap();
            for (i, p) in places.into_iter().enumerate() {
                plain[p] = values[if scalar { 0 } else { i }];
            }
            let mut out = vec![0; plain.len() * 2];
            cells.read_flat(0, &mut out).unwrap();
            prop_assert_eq!(&out[..], plain.as_flattened());
            let mut some = vec![0; out.len() / 2];
            cells.read_flat((out.len() / 4) as u64, &mut some).unwrap();
            prop_assert_eq!(&some[..], &out[out.len() / 4..][..some.len()]);
        }
    }

    /// Compares lists along each axis, masks and boxes at points with a plain array.
    #[test]
    fn lists_masks_and_points_are_written_as_in_a_plain_array(
        shape in proptest::collection::vec(1..7_u64, 1..4),
        chunk in proptest::collection::vec(1..5_u64, 3),
        linear in any::<bool>(),
        tile_len in 1..9_u64,
        ops in proptest::collection::vec((0..3_u8, any::<[u64; 3]>(), proptest::collection::vec(any::<[u64; 3]>(), 0..6), any::<bool>(), any::<u8>()), 0..8),
    ) {
        let spec = if linear { TileLayoutSpec::Linear(tile_len) } else {
            TileLayoutSpec::Chunked { shape: chunk[..shape.len()].to_vec(), padded: false }
        };
        let mut cells = Cells::full(&shape, &spec, &[9, 9]).unwrap();
        let total = usize::try_from(shape.iter().product::<u64>()).unwrap();
        let mut plain = vec![[9_u8; 2]; total];
        let file = SpillFile::default();
        for (kind, bits, points, scalar, value) in ops {
            // The positions along each axis: for lists, the bits of a number; for points, a box of every second
            // position.
            // In any order, and some twice.
            let of_bits = |axis: usize| {
                let picked = (0..shape[axis]).filter(|n| bits[axis] >> n & 1 == 1);
                let again = (0..shape[axis]).rev().filter(|n| bits[axis] >> (n + 8) & 3 == 3);
                picked.chain(again).collect::<Vec<u64>>()
            };
            let mask: Vec<bool> = (0..total).map(|n| bits[n % 3] >> (n / 3 % 64) & 1 == 1).collect();
            let boxed: Vec<bool> = (0..shape.len()).map(|axis| bits[axis] % 3 == 0).collect();
            let back = bits[0] % 2 == 1;
            let starts: Vec<u64> = points.iter().flat_map(|point| {
                (0..shape.len()).map(|axis| if boxed[axis] { if back { (shape[axis] - 1) / 2 * 2 } else { 0 } } else { point[axis] % shape[axis] }).collect::<Vec<_>>()
            }).collect();
            let count: Vec<u64> = shape.iter().zip(&boxed).map(|(n, boxed)| if *boxed { n.div_ceil(2) } else { 1 }).collect();
            let (picks, places) = match kind {
                0 => {
                    let lists: Vec<Vec<u64>> = (0..shape.len()).map(of_bits).collect();
                    let segments = lists.iter().enumerate().map(|(axis, list)| {
                        if bits[axis] % 5 == 0 { vec![Segment::new(0, shape[axis])] } else { Segment::of_list(list.iter().copied()) }
                    });
                    let picks = Selection::new(segments.collect());
                    let all = |axis: usize| if bits[axis] % 5 == 0 { (0..shape[axis]).collect() } else { lists[axis].clone() };
                    let axes: Vec<Vec<u64>> = (0..shape.len()).map(all).collect();
                    (AnySelection::Grid(picks), product(&shape, &axes))
                }
                1 => (AnySelection::Mask(&mask), (0..total).filter(|&n| mask[n]).collect()),
                _ => {
                    let places = starts.chunks(shape.len()).flat_map(|start| {
                        let axes: Vec<Vec<u64>> = start.iter().zip(&count).map(|(s, n)| (0..*n).map(|k| if back { s - 2 * k } else { s + 2 * k }).collect()).collect();
                        product(&shape, &axes)
                    });
                    let places: Vec<usize> = places.collect();
                    (AnySelection::Points { starts: &starts, count: count.clone(), stride: vec![if back { -2 } else { 2 }; shape.len()] }, places)
                }
            };
            prop_assert!(picks.check(&shape, &[]).is_ok());
            let before: Vec<u8> = places.iter().flat_map(|&p| plain[p]).collect();
            prop_assert_eq!(cells.get(&picks).unwrap(), before);
            let n = if scalar { 1 } else { places.len() };
            let values: Vec<[u8; 2]> = (0..n).map(|i| [value, u8::try_from(i % 250).unwrap()]).collect();
            // Tiles that the plan calls whole are written whole.
            let plan = cells.plans(&picks).unwrap().0;
            let touched: usize = plan.touched.iter().filter(|tile| tile.whole).map(|tile| each!(&cells.elements, a => a.read_chunk(&tile.at).unwrap().len())).sum();
            let mut distinct = places.clone();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert!(touched <= distinct.len());
            cells.set(&picks, values.as_flattened(), &file, 40).unwrap();
            for (i, p) in places.into_iter().enumerate() {
                plain[p] = values[if scalar { 0 } else { i }];
            }
            let mut out = vec![0; plain.len() * 2];
            cells.read_flat(0, &mut out).unwrap();
            prop_assert_eq!(&out[..], plain.as_flattened());
        }
    }
}

/// Returns the positions of a grid in a flattened array.
fn product(shape: &[u64], axes: &[Vec<u64>]) -> Vec<usize> {
    let mut found = vec![0_u64];
    for (axis, list) in axes.iter().enumerate() {
        found = found.iter().flat_map(|at| list.iter().map(move |i| at * shape[axis] + i)).collect();
    }
    found.into_iter().map(|at| usize::try_from(at).unwrap()).collect()
}

#[test]
fn selections_outside_the_variable_are_refused() {
    let names = ["lat".to_owned(), "lon".to_owned()];
    let list = |list: &[u64]| Segment::of_list(list.iter().copied());
    let grid = |dims| AnySelection::Grid(Selection::new(dims));
    for (picks, words) in [
        (grid(vec![list(&[0, 4]), list(&[0])]), "lat"),
        (
            grid(vec![list(&[0]), list(&[1, 1, 3])]),
            "dimension 1 (`lon`) has length 3, asked for start 1, count 2, stride 2",
        ),
        (grid(vec![list(&[0])]), "dimension"),
        (AnySelection::Mask(&[true; 11]), "a mask of 11 elements for a variable of 12"),
        (AnySelection::Points { starts: &[0, 0, 1], count: vec![1, 1], stride: vec![1, 1] }, "points"),
        (AnySelection::Points { starts: &[0, 0, 4, 0], count: vec![1, 1], stride: vec![1, 1] }, "lat"),
        (AnySelection::Points { starts: &[3, 1], count: vec![1, 2], stride: vec![1, 2] }, "lon"),
        (AnySelection::Points { starts: &[0, 0], count: vec![1, 1], stride: vec![0, 1] }, "stride"),
    ] {
        let refused = picks.check(&[4, 3], &names).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
}
