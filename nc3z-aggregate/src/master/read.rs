//! Hyperslabs of a master array: which partitions they meet, each read by itself, several at once.

use super::conform::{Bound, Wanted};
use super::copy::{Way, copy, strides};
use super::{Data, MasterArray};
use crate::error::{Error, Result};
use crate::fragments::Fragments;
use nc3z_format::Hyperslab;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;

/// Bytes of partitions that are read before they are copied.
const BATCH_LEN: u64 = 64 << 20;
/// Partitions that are read before they are copied.
const BATCH: usize = 512;

/// Fragments on servers that are read at once.
const WAITING: usize = 16;

/// Values, and the distance between neighbours along each dimension of the master.
type Fetched = (Vec<u8>, Vec<usize>);

/// Along one dimension: a part of the request that lies in one partition.
struct Segment {
    /// The partition's number along the dimension, and its length.
    cell: usize,
    extent: u64,
    /// Where the part begins in the output.
    at: usize,
    wanted: Wanted,
}

/// What one partition contributes to a request.
struct Task {
    cell: usize,
    extent: Vec<u64>,
    at: Vec<usize>,
    wanted: Vec<Wanted>,
}

/// A partition that a request meets, as [`MasterArray::explain`] tells.
#[derive(Debug, Clone)]
pub struct Touched {
    /// Its number in the matrix.
    pub partition: usize,
    /// Its file, if it has one.
    pub file: Option<String>,
    /// Elements wanted of it.
    pub elements: u64,
    /// Bytes that they are in the fragment's own type.
    pub bytes: u64,
}

impl MasterArray {
    /// Fills `out` with a hyperslab's elements, big-endian. Nothing of a partition that the hyperslab does not meet is read.
    ///
    /// # Errors
    /// A hyperslab that does not lie in the array; what is wrong with a fragment, which is named.
    pub fn read(&self, files: &Fragments, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        let shape = self.shape();
        let elements = slab.resolve(&shape)?.elements();
        let size = self.ty.size();
        if elements.checked_mul(size as u64) != Some(out.len() as u64) {
            return Err(Error::refused(format!(
                "a buffer of {} bytes for {elements} elements of {size}",
                out.len()
            )));
        }
        if elements == 0 {
            return Ok(());
        }
        let counts: Vec<usize> = slab.count.iter().map(|n| in_memory(*n)).collect();
        let to = strides(&counts);
        let mut tasks = self.tasks(slab);
        loop {
            let mut batch = Vec::new();
            let mut bytes = 0;
            while bytes < BATCH_LEN && batch.len() < BATCH {
                let Some(task) = tasks.next() else { break };
                bytes += task.elements() * size as u64;
                batch.push(task);
            }
            if batch.is_empty() {
                return Ok(());
            }
            for (task, done) in batch.iter().zip(self.fetch_each(files, &batch)) {
                let (bytes, from) = done?;
                let each = task.wanted.iter().zip(from).zip(&to);
                let ways: Vec<Way> =
                    each.map(|((w, from), to)| Way { count: in_memory(w.count), from, to: *to }).collect();
                let at = task.at.iter().zip(&to).map(|(at, to)| at * to).sum();
                copy(&ways, size, &bytes, out, at);
            }
        }
    }

    /// The partitions that a hyperslab meets. Their fragments are opened, and nothing is read.
    ///
    /// # Errors
    /// As [`MasterArray::read`].
    pub fn explain(&self, files: &Fragments, slab: &Hyperslab) -> Result<Vec<Touched>> {
        slab.resolve(&self.shape())?;
        if slab.count.contains(&0) {
            return Ok(Vec::new());
        }
        let tasks: Vec<Task> = self.tasks(slab).collect();
        let each = tasks.par_iter().map(|task| {
            let partition = self.partitions.get(task.cell)?;
            let touched = Touched { partition: task.cell, file: None, elements: task.elements(), bytes: 0 };
            let Data::Array(sub) = &partition.data else { return Ok(touched) };
            Ok(match Bound::new(self, &partition, sub, &task.extent, files)? {
                None => touched,
                Some(bound) => Touched {
                    file: Some(bound.file().to_owned()),
                    bytes: bound.bytes_of(&task.wanted),
                    ..touched
                },
            })
        });
        each.collect()
    }

    /// What each task gives, several of them at once: as many as there are cores, or, where fragments are far away, as many as it pays
    /// to wait for.
    fn fetch_each(&self, files: &Fragments, batch: &[Task]) -> Vec<Result<Fetched>> {
        if let [task] = batch {
            return vec![self.fetch(files, task)];
        }
        if !files.are_far() {
            return batch.par_iter().map(|task| self.fetch(files, task)).collect();
        }
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                let Some(task) = batch.get(n) else { return done };
                done.push((n, self.fetch(files, task)));
            }
        };
        let mut done: Vec<(usize, Result<Fetched>)> = std::thread::scope(|scope| {
            let waiting: Vec<_> = (0..WAITING.min(batch.len())).map(|_| scope.spawn(work)).collect();
            let each = waiting.into_iter().map(ScopedJoinHandle::join);
            each.flat_map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        done.sort_by_key(|(n, _)| *n);
        done.into_iter().map(|(_, done)| done).collect()
    }

    /// Values of one partition, and the distance between neighbours along each dimension of the master.
    fn fetch(&self, files: &Fragments, task: &Task) -> Result<Fetched> {
        let partition = self.partitions.get(task.cell)?;
        let same = |value: &[u8]| (value.to_vec(), vec![0; task.wanted.len()]);
        let value = match &partition.data {
            Data::Array(sub) => match Bound::new(self, &partition, sub, &task.extent, files)? {
                Some(bound) => return bound.read(&task.wanted),
                None => same(&self.fill),
            },
            Data::Value(value) => same(value),
            Data::Missing => same(&self.fill),
        };
        Ok(value)
    }

    /// What each partition that a hyperslab meets contributes, in row-major order of the matrix; the hyperslab lies in the array.
    fn tasks(&self, slab: &Hyperslab) -> impl Iterator<Item = Task> {
        let segments: Vec<Vec<Segment>> = self
            .cuts
            .iter()
            .enumerate()
            .map(|(d, cuts)| segments(cuts, slab.start[d], slab.count[d], slab.stride[d]))
            .collect();
        let matrix = self.matrix();
        let mut pick = Some(vec![0_usize; segments.len()]);
        std::iter::from_fn(move || {
            let here = pick.clone()?;
            let each = || segments.iter().zip(&here).map(|(s, n)| &s[*n]);
            let task = Task {
                cell: each().zip(&matrix).fold(0, |cell, (s, n)| cell * n + s.cell),
                extent: each().map(|s| s.extent).collect(),
                at: each().map(|s| s.at).collect(),
                wanted: each().map(|s| s.wanted).collect(),
            };
            let next = (0..here.len()).rev().find(|d| here[*d] + 1 < segments[*d].len());
            pick = next.map(|d| {
                let mut next = here;
                next[d] += 1;
                next[d + 1..].fill(0);
                next
            });
            Some(task)
        })
    }
}

impl Task {
    fn elements(&self) -> u64 {
        self.wanted.iter().map(|w| w.count).product()
    }
}

/// Cuts a line of indices at the borders of partitions.
fn segments(cuts: &[u64], start: u64, count: u64, stride: i64) -> Vec<Segment> {
    let mut out = Vec::new();
    let mut done = 0;
    while done < count {
        // Inside the dimension, as was checked.
        let index = start.wrapping_add(stride.cast_unsigned().wrapping_mul(done));
        let cell = cuts.partition_point(|c| *c <= index) - 1;
        let (low, high) = (cuts[cell], cuts[cell + 1]);
        let left = if stride > 0 { high - 1 - index } else { index - low };
        let here = (left / stride.unsigned_abs() + 1).min(count - done);
        let wanted = Wanted { start: index - low, count: here, stride };
        out.push(Segment { cell, extent: high - low, at: in_memory(done), wanted });
        done += here;
    }
    out
}

fn in_memory(n: u64) -> usize {
    usize::try_from(n).expect("a position in the output, which is in memory")
}
