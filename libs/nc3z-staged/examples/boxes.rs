//! Measures the number of small boxes of a staged array that are read and written in a second.
//! `bench/versions_cost.py` compares it with versioned-hdf5.
//!
//!     cargo run --release -p nc3z-staged --example boxes

#![expect(clippy::unwrap_used, reason = "an example may panic")]

use nc3z_format::selection::{Segment, Selection};
use nc3z_staged::StagedArray;
use std::hint::black_box;
use std::time::Instant;

const BOX: usize = 4;
const COUNT: u32 = 20_000;

fn main() {
    for (shape, chunk) in [([301, 302], [3, 3]), ([1000, 1000], [50, 50])] {
        let elements = shape[0] * shape[1];
        let lens = shape.map(|n| n as u64);
        let mut array = StagedArray::from_base(shape, chunk, vec![1_i64; elements], 0).unwrap();
        let mut state = 1_u64;
        let mut selections = Vec::new();
        for _ in 0..COUNT {
            let mut begin = |len: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = usize::try_from(state >> 33).unwrap() % (len - BOX);
                vec![Segment::new(at as u64, BOX as u64)]
            };
            selections.push(Selection::new(vec![begin(shape[0]), begin(shape[1])]));
        }
        let rate = |work: &mut dyn FnMut(&Selection)| {
            let start = Instant::now();
            selections.iter().for_each(&mut *work);
            f64::from(COUNT) / start.elapsed().as_secs_f64()
        };
        let get = rate(&mut |selection| {
            black_box(array.get(&selection.placed(&lens).unwrap()).unwrap());
        });
        let values: Vec<i64> = (0..16).collect();
        let set = rate(&mut |selection| {
            array.set(&selection.placed(&lens).unwrap(), &[BOX, BOX], &values).unwrap();
        });
        println!("{shape:?} in {chunk:?}: {get:.0} gets, {set:.0} sets a second");
    }
}
