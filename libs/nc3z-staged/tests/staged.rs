//! Compares staged arrays with printed examples of versioned-hdf5, with traces of it, and with plain arrays.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "staged/plain.rs"]
mod plain;

use nc3z_format::selection::{Placed, Row, Run, Segment, Selection};
use nc3z_staged::{BaseSlab, Place, StagedArray, Table, Transfers};
use plain::{Index, Op, Plain, chosen, counts, lens, ops, positions, select};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

fn slice(start: i64, stop: i64) -> Index {
    Index::Slice { start: Some(start), stop: Some(stop), step: 1 }
}

fn transfers(groups: &[Transfers]) -> Vec<(Place, Place, usize)> {
    groups.iter().map(|g| (g.from, g.to, g.boxes.len())).collect()
}

#[test]
fn a_set_prints_as_in_the_example() {
    let array = StagedArray::from_base([8, 8], [2, 2], (0..64).collect::<Vec<i32>>(), 0).unwrap();
    let selection = select(&[slice(2, 5), slice(3, 6)], array.shape()).unwrap();
    // The same text that `nc3z-writer/tests/edits.rs` expects of a real archive.
    let expected = include_str!("set.txt").trim_end();
    assert_eq!(array.plan_set(&selection).to_string(), expected);
}

#[test]
fn whole_and_partial_chunks_are_told_apart() {
    use Place::{Slab, Value};
    let array = StagedArray::from_base([30, 50], [10, 10], vec![1_u8; 1500], 0).unwrap();
    let to_end = Index::Slice { start: Some(30), stop: None, step: 1 };
    let selection = select(&[slice(5, 20), to_end], array.shape()).unwrap();
    let plan = array.plan_set(&selection);
    assert_eq!(plan.changes.append, [[20, 10], [20, 10]]);
    assert_eq!(
        transfers(&plan.changes.transfers),
        [(Slab(1), Slab(2), 2), (Value, Slab(3), 2), (Value, Slab(2), 2)]
    );
    let cells = [1, 1, 1, 2, 2, 1, 1, 1, 3, 3, 1, 1, 1, 1, 1];
    assert_eq!(plan.changes.slab_indices, Table::new(&[3, 5], cells.to_vec()).unwrap());
    let text = plan.to_string();
    for line in ["slabs[2][0:10, 0:10] = slabs[1][30:40, 0:10]", "slabs[3][10:20, 0:10] = value[5:15, 10:20]"]
    {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn too_many_chunks_are_refused_before_tables_are_made() {
    let mut array = StagedArray::from_base([5, 4], [2, 2], vec![1; 20], -1).unwrap();
    for len in [1 << 23, 1 << 40, usize::MAX] {
        assert!(array.check_resize(&[len, 4]).is_err());
        assert!(array.resize(&[len, 4]).unwrap_err().to_string().contains("use a smaller length"));
        assert!(StagedArray::full([len, 4], [2, 2], 0).is_err());
        assert_eq!(array.shape(), [5, 4]);
    }
    array.resize(&[1000, 4]).unwrap();
}

#[test]
fn growing_fills_the_edge_and_shrinking_touches_nothing() {
    let mut array = StagedArray::from_base([25, 45], [10, 10], (0..1125).collect::<Vec<i32>>(), -1).unwrap();
    let plan = array.plan_resize(&[30, 50]);
    assert_eq!(plan.changes.append, [[50, 10], [20, 10]]);
    assert_eq!(plan.changes.transfers.iter().map(|g| g.boxes.len()).sum::<usize>(), 15);
    assert!(plan.to_string().contains("slabs[2][5:10, 0:10] = slabs[0][5:10, 0:10]"), "{plan}");
    let plan = array.plan_resize(&[11, 10]);
    assert!(plan.changes.append.is_empty() && plan.changes.transfers.is_empty());
    array.resize(&[11, 10]).unwrap();
    array.resize(&[13, 12]).unwrap();
    let all = select(&[], array.shape()).unwrap();
    let got = array.get(&all).unwrap();
    for (i, value) in got.into_iter().enumerate() {
        let (y, x) = (i / 12, i % 12);
        let kept = i32::try_from(y * 45 + x).unwrap();
        assert_eq!(value, if y < 11 && x < 10 { kept } else { -1 });
    }
    // The elements of staged slabs are dropped with their chunks.
    assert!(array.has_changes());
    array.resize(&[0, 0]).unwrap();
    assert!(!array.has_changes());
}

#[test]
fn a_commit_stores_what_is_staged_and_no_more() {
    let mut array = StagedArray::from_base([5], [2], vec![1, 2, 3, 4, 5], 0).unwrap();
    array.set(&select(&[Index::At(-1)], &[5]).unwrap(), &[1], &[9]).unwrap();
    array.resize(&[8]).unwrap();
    let plan = array.plan_commit();
    assert_eq!((plan.store.len(), plan.keep.len(), plan.full.len()), (1, 2, 1));
    assert_eq!(array.read_chunk(&plan.store[0].at).unwrap(), [9, 0]);
    assert!(plan.to_string().contains("chunk (2,) = slabs[2][0:2]"), "{plan}");
    assert!(array.read_chunk(&[4]).is_err());
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut array = StagedArray::full([4, 3], [2, 2], 0).unwrap();
    let all = select(&[], &[4, 3]).unwrap();
    assert!(array.set(&all, &[4, 2], &[0; 8]).is_err());
    assert!(array.set(&all, &[4, 3], &[0; 8]).is_err());
    assert!(array.set(&all, &[2, 4, 3], &[0; 24]).is_err());
    array.set(&all, &[4, 1], &[1, 2, 3, 4]).unwrap();
    assert_eq!(array.get(&all).unwrap(), [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]);
    for bad in [vec![Index::At(4)], vec![Index::Mask(vec![true; 5])], vec![Index::List(vec![-5])]] {
        assert!(select(&bad, &[4, 3]).is_err(), "{bad:?}");
    }
    let lists = [Index::List(vec![3, 1]), Index::List(vec![2, 0])];
    let lists = select(&lists, &[4, 3]).unwrap();
    array.set(&lists, &[2, 2], &[7, 8, 9, 10]).unwrap();
    assert_eq!(array.get(&all).unwrap(), [1, 1, 1, 10, 2, 9, 3, 3, 3, 8, 4, 7]);
    let run = |low, count| vec![Run::new(low, count, 0)];
    for (rows, columns) in [(run(0, 5), run(0, 1)), (run(0, 1), run(3, 1)), (run(0, 0), run(0, 1))] {
        assert!(Placed::grid(vec![rows, columns], &[4, 3]).is_err());
    }
    assert!(Placed::grid(vec![run(0, 1)], &[4, 3]).is_err());
    let grid = Placed::grid(vec![run(1, 2), run(0, 3)], &[4, 3]).unwrap();
    assert!(array.set(&grid, &[2, 2], &[0; 4]).is_err());
    assert!(array.get_into(&grid, &[1, 3], &mut [0; 3]).is_err());
    for (at, count) in [(vec![4, 0], 1), (vec![0, 2], 2), (vec![0, 0], 0), (vec![0], 1)] {
        assert!(Placed::rows(vec![Row { at, count, place: 0 }], &[4, 3]).is_err());
    }
    assert!(array.resize(&[4]).is_err());
    assert!(StagedArray::full([4], [0], 0).is_err());
    let one = Table::new(&[2], vec![1, 1]).unwrap();
    assert!(StagedArray::<u8>::new([4], [2], vec![], one.clone(), one, 0).is_err());
}

/// A base slab that counts which chunks are read, and may fail.
struct Counting {
    cells: Vec<i64>,
    shape: Vec<usize>,
    chunk0: usize,
    read: Arc<Mutex<BTreeSet<usize>>>,
    broken: Arc<Mutex<bool>>,
}

impl BaseSlab<i64> for Counting {
    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn read(
        &self,
        start: &[usize],
        count: &[usize],
        out: &mut [i64],
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        if *self.broken.lock().unwrap() {
            return Err("broken".into());
        }
        self.read.lock().unwrap().insert(start[0] / self.chunk0);
        for (n, out) in out.iter_mut().enumerate() {
            let (mut at, mut rest) = (vec![0; count.len()], n);
            for (i, &len) in at.iter_mut().zip(count).rev() {
                *i = rest % len;
                rest /= len;
            }
            let position = at.iter().zip(start).zip(&self.shape).fold(0, |p, ((i, s), n)| p * n + i + s);
            *out = self.cells[position];
        }
        Ok(())
    }
}

/// A slab that was moved out of memory.
struct Away {
    shape: Vec<usize>,
    cells: Vec<i64>,
}

impl BaseSlab<i64> for Away {
    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn read(
        &self,
        start: &[usize],
        count: &[usize],
        out: &mut [i64],
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        for (n, out) in out.iter_mut().enumerate() {
            let (mut rest, mut position, mut unit) = (n, 0, 1);
            for axis in (0..count.len()).rev() {
                position += (start[axis] + rest % count[axis]) * unit;
                rest /= count[axis];
                unit *= self.shape[axis];
            }
            *out = self.cells[position];
        }
        Ok(())
    }
}

type Counted = (StagedArray<i64>, Arc<Mutex<BTreeSet<usize>>>, Arc<Mutex<bool>>);

/// Makes every chunk part of one base slab, row-major. Elements beyond the edges have a value that must never
/// be returned.
fn counted(shape: &[usize], chunk: &[usize]) -> Counted {
    let grid: Vec<usize> = shape.iter().zip(chunk).map(|(n, c)| n.div_ceil(*c)).collect();
    let chunks: usize = grid.iter().product();
    let mut slab_shape = chunk.to_vec();
    slab_shape[0] *= chunks;
    let mut cells = vec![-999; slab_shape.iter().product()];
    for n in 0..shape.iter().product::<usize>() {
        let (mut at, mut rest) = (vec![0; shape.len()], n);
        for (i, &len) in at.iter_mut().zip(shape).rev() {
            *i = rest % len;
            rest /= len;
        }
        let number = at.iter().zip(chunk).zip(&grid).fold(0, |p, ((i, c), g)| p * g + i / c);
        let inside = at.iter().zip(chunk).enumerate().fold(0, |p, (axis, (i, c))| {
            p * slab_shape[axis] + i % c + if axis == 0 { number * c } else { 0 }
        });
        cells[inside] = i64::try_from(n).unwrap() + 1;
    }
    let (read, broken) = (Arc::default(), Arc::default());
    let base = Counting {
        cells,
        shape: slab_shape,
        chunk0: chunk[0],
        read: Arc::clone(&read),
        broken: Arc::clone(&broken),
    };
    let offsets = Table::new(&grid, (0..chunks).map(|n| n * chunk[0]).collect()).unwrap();
    let ones = Table::new(&grid, vec![1; chunks]).unwrap();
    let array =
        StagedArray::new(shape, chunk, vec![Box::new(base) as Box<dyn BaseSlab<i64>>], ones, offsets, -1)
            .unwrap();
    (array, read, broken)
}

/// Replays programs that versioned-hdf5 2.6.0 ran. Each line is a program, as recorded by that library;
/// NC3Z_STAGED_TRACE names another file. The results must be the same. No operation may read a base chunk
/// that versioned-hdf5 did not read for this operation or for an earlier shrinking: it copies edge chunks
/// when the array shrinks, whereas here they are read only when needed.
#[test]
fn programs_of_versioned_hdf5_give_the_same_and_read_no_more() {
    let path = std::env::var("NC3Z_STAGED_TRACE")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs.jsonl").to_owned());
    let text = std::fs::read_to_string(&path).unwrap();
    let (mut programs, mut totals) = (0, (0, 0));
    for line in text.lines() {
        let program: serde_json::Value = serde_json::from_str(line).unwrap();
        let numbers = |v: &serde_json::Value| -> Vec<usize> {
            v.as_array().unwrap().iter().map(|n| usize::try_from(n.as_u64().unwrap()).unwrap()).collect()
        };
        let (mut array, read, _) = counted(&numbers(&program["shape"]), &numbers(&program["chunk"]));
        let mut copied = BTreeSet::new();
        for (k, op) in program["ops"].as_array().unwrap().iter().enumerate() {
            let context = format!("program {}, operation {k}: {op}", program["seed"]);
            read.lock().unwrap().clear();
            let selection = op.get("index").map(|index| {
                let index: Vec<Index> = index.as_array().unwrap().iter().map(index_of).collect();
                select(&index, array.shape()).unwrap()
            });
            let first = 1_000_000 * (i64::try_from(k).unwrap() + 1);
            let mut result = None;
            match op["op"].as_str().unwrap() {
                "get" => result = Some(array.get(selection.as_ref().unwrap()).unwrap()),
                "set" => {
                    let selection = selection.unwrap();
                    let shape = counts(&selection);
                    let len = i64::try_from(shape.iter().product::<usize>()).unwrap();
                    let values: Vec<i64> = (first..first + len).collect();
                    array.set(&selection, &shape, &values).unwrap();
                }
                "scalar" => {
                    let selection = selection.unwrap();
                    array.set(&selection, &vec![1; array.shape().len()], &[first]).unwrap();
                }
                "resize" => array.resize(&numbers(&op["shape"])).unwrap(),
                _ => array.load().unwrap(),
            }
            let theirs: BTreeSet<usize> = numbers(&op["base"]).into_iter().collect();
            let allowed: BTreeSet<usize> = theirs.union(&copied).copied().collect();
            let read = read.lock().unwrap().clone();
            assert!(read.is_subset(&allowed), "{context}: read {read:?}");
            totals.0 += read.len();
            totals.1 += theirs.len();
            if op["op"] == "resize" {
                copied.extend(theirs);
            }
            let cells = result.unwrap_or_else(|| array.get(&select(&[], array.shape()).unwrap()).unwrap());
            let bytes: Vec<u8> = cells.iter().flat_map(|cell| cell.to_le_bytes()).collect();
            assert_eq!(u64::from(crc32fast::hash(&bytes)), op["crc"].as_u64().unwrap(), "{context}");
        }
        programs += 1;
    }
    assert!(programs >= 40);
    assert!(totals.0 <= totals.1, "more chunks read than by versioned-hdf5: {totals:?}");
    println!("{programs} programs: {} base chunks read, versioned-hdf5 {}", totals.0, totals.1);
}

fn index_of(index: &serde_json::Value) -> Index {
    let signed = |v: &serde_json::Value| v.as_i64();
    if let Some(part) = index.as_array() {
        return Index::Slice {
            start: signed(&part[0]),
            stop: signed(&part[1]),
            step: signed(&part[2]).unwrap_or(1),
        };
    }
    if let Some(at) = index.get("int") {
        return Index::At(at.as_i64().unwrap());
    }
    let list = index["list"].as_array().unwrap();
    if list.first().is_some_and(serde_json::Value::is_boolean) {
        return Index::Mask(list.iter().map(|b| b.as_bool().unwrap()).collect());
    }
    Index::List(list.iter().map(|n| n.as_i64().unwrap()).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(std::env::var("NC3Z_STAGED_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300)))]

    #[test]
    fn any_program_is_what_it_is_for_a_plain_array(
        shape in proptest::collection::vec(1..9_usize, 1..4),
        chunk in proptest::collection::vec(1..5_usize, 3),
        ops in ops(),
    ) {
        let chunk = &chunk[..shape.len()];
        let (mut array, _, broken) = counted(&shape, chunk);
        let cells = (1..=i64::try_from(shape.iter().product::<usize>()).unwrap()).collect();
        let mut plain = Plain { shape: shape.clone(), cells };
        for op in ops {
            match op {
                Op::Get(picks) => {
                    let (indices, all) = chosen(&picks, &plain.shape);
                    let selection = select(&indices, array.shape()).unwrap();
                    let expected: Vec<i64> = positions(&plain, &all).into_iter().map(|p| plain.cells[p]).collect();
                    prop_assert_eq!(array.get(&selection).unwrap(), expected);
                }
                Op::Set(picks, value) => {
                    let (indices, all) = chosen(&picks, &plain.shape);
                    let selection = select(&indices, array.shape()).unwrap();
                    let positions = positions(&plain, &all);
                    let values: Vec<i64> = (value..).take(positions.len()).collect();
                    array.set(&selection, &counts(&selection), &values).unwrap();
                    positions.iter().zip(values).for_each(|(&p, v)| plain.cells[p] = v);
                }
                Op::Broadcast(picks, value) => {
                    // One value for each index of the last axis that is kept.
                    let (indices, all) = chosen(&picks, &plain.shape);
                    let selection = select(&indices, array.shape()).unwrap();
                    let positions = positions(&plain, &all);
                    let kept = all.iter().rposition(|(_, at)| !at);
                    let mut shape = vec![1; all.len()];
                    kept.into_iter().for_each(|axis| shape[axis] = all[axis].0.len());
                    let inner = shape.iter().product();
                    let values: Vec<i64> = (value..).take(inner).collect();
                    array.set(&selection, &shape, &values).unwrap();
                    positions.iter().enumerate().for_each(|(n, &p)| plain.cells[p] = values[n % inner]);
                }
                Op::Points(bits, value) => {
                    let mask: Vec<bool> = (0..plain.cells.len()).map(|n| bits >> (n % 61) & 1 == 1).collect();
                    let selected = (0..mask.len()).filter(|n| mask[*n]);
                    let rows = selected.zip(0..).map(|(n, place)| Row { at: lens(&plain.at(n)), count: 1, place });
                    let selection = Placed::rows(rows.collect(), &lens(array.shape())).unwrap();
                    let expected: Vec<i64> = plain.cells.iter().zip(&mask).filter(|(_, m)| **m).map(|(c, _)| *c).collect();
                    prop_assert_eq!(array.get(&selection).unwrap(), expected);
                    array.set(&selection, &[1], &[value]).unwrap();
                    plain.cells.iter_mut().zip(&mask).filter(|(_, m)| **m).for_each(|(c, _)| *c = value);
                }
                Op::Resize(shape) => {
                    let shape = &shape[..plain.shape.len()];
                    array.resize(shape).unwrap();
                    plain.resize(shape);
                }
                Op::Load => array.load().unwrap(),
                Op::Spill => {
                    array.spill(|shape, cells| Ok(Box::new(Away { shape: shape.to_vec(), cells: cells.to_vec() }))).unwrap();
                    prop_assert_eq!(array.staged_len(), 0);
                }
                Op::Runs(picks, back, value) => {
                    let mut runs: Vec<Run> = Vec::new();
                    let (mut at, mut places) = (0, Vec::new());
                    for (gap, step, count) in picks {
                        let first = at + gap;
                        at = first + step * (count - 1) + 1;
                        places.extend((0..count).map(|n| first + n * step));
                        runs.push(Run { step: step as u64, reversed: back, ..Run::new(first as u64, count as u64, 0) });
                    }
                    let values: Vec<i64> = (value..).take(places.len()).collect();
                    let mut next = 0;
                    for run in &mut runs {
                        run.place = if back { values.len() as u64 - 1 - next } else { next };
                        next += run.count;
                    }
                    let made = Placed::grid(vec![runs], &lens(array.shape()));
                    let fits = array.shape().len() == 1 && at <= plain.cells.len();
                    prop_assert_eq!(made.is_ok(), fits);
                    if let Ok(selection) = made {
                        array.set(&selection, &[values.len()], &values).unwrap();
                        for (n, at) in places.into_iter().enumerate() {
                            plain.cells[at] = values[if back { values.len() - 1 - n } else { n }];
                        }
                    }
                }
                Op::Segments(picks, value) => {
                    // At any positions, also overlapping; the last value is kept.
                    let (mut rows, mut places) = (Vec::new(), Vec::new());
                    for (at, count) in picks {
                        let Some(last) = plain.shape.last().filter(|_| !plain.cells.is_empty()) else { break };
                        let first = at % plain.cells.len();
                        let count = count.min(last - first % last);
                        rows.push(Row { at: lens(&plain.at(first)), count: count as u64, place: places.len() as u64 });
                        places.extend(first..first + count);
                    }
                    let selection = Placed::rows(rows, &lens(array.shape())).unwrap();
                    let expected: Vec<i64> = places.iter().map(|&p| plain.cells[p]).collect();
                    prop_assert_eq!(array.get(&selection).unwrap(), expected);
                    let values: Vec<i64> = (value..).take(places.len()).collect();
                    array.set(&selection, &[values.len()], &values).unwrap();
                    places.iter().zip(values).for_each(|(&p, v)| plain.cells[p] = v);
                }
                Op::Part(picks, value) => {
                    // A box from an array of values that is longer by two along each axis.
                    let mut axes = Vec::new();
                    for (&len, (gap, step, count)) in plain.shape.iter().zip(picks) {
                        let at = gap.min(len.saturating_sub(1));
                        let count = count.min(len.saturating_sub(at).div_ceil(step));
                        axes.push(Run { step: step as u64, ..Run::new(at as u64, count as u64, 2) });
                    }
                    if axes.iter().any(|run| run.count == 0) {
                        continue;
                    }
                    let shape: Vec<usize> = axes.iter().map(|run| usize::try_from(run.count).unwrap() + 2).collect();
                    let selection = Placed::grid(axes.iter().map(|run| vec![*run]).collect(), &lens(array.shape())).unwrap();
                    let values: Vec<i64> = (value..).take(shape.iter().product()).collect();
                    array.set(&selection, &shape, &values).unwrap();
                    let from = Plain { shape: shape.clone(), cells: values.clone() };
                    let mut back = vec![0; values.len()];
                    array.get_into(&selection, &shape, &mut back).unwrap();
                    for n in 0..values.len() {
                        let at = from.at(n);
                        if at.iter().all(|&i| i >= 2) {
                            let there = at.iter().zip(&axes).map(|(i, run)| usize::try_from(run.index(*i as u64 - 2)).unwrap());
                            let there: Vec<usize> = there.collect();
                            let position = plain.position(&there);
                            plain.cells[position] = values[n];
                            prop_assert_eq!(back[n], values[n]);
                        } else {
                            prop_assert_eq!(back[n], 0);
                        }
                    }
                }
                Op::Fail(picks) => {
                    // A base that cannot be read: either it was not needed, or nothing has changed.
                    let (indices, all) = chosen(&picks, &plain.shape);
                    let selection = select(&indices, array.shape()).unwrap();
                    *broken.lock().unwrap() = true;
                    let done = array.set(&selection, &vec![1; plain.shape.len()], &[7]);
                    *broken.lock().unwrap() = false;
                    if done.is_ok() {
                        positions(&plain, &all).into_iter().for_each(|p| plain.cells[p] = 7);
                    }
                }
            }
            let all = select(&[], array.shape()).unwrap();
            prop_assert_eq!(array.get(&all).unwrap(), &plain.cells[..]);
            prop_assert_eq!(array.shape(), &plain.shape[..]);
        }
    }
}
