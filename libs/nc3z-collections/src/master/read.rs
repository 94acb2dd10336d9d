//! Reads hyperslabs of a master array: finds the partitions that a hyperslab meets, and reads several of them
//! at once.

use super::bound::Bound;
use super::copy::{Way, copy, strides};
use super::{Data, FileRef, MasterArray, Partition};
use crate::error::{Error, Result};
use crate::fragments::{Fragments, Gathering};
use nc3z_format::Hyperslab;
use nc3z_format::selection::Segment;
use nc3z_reader::Dataset;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::HashMap;

/// The number of bytes of partitions that are read before they are copied.
const BATCH_LEN: u64 = 64 << 20;
/// The number of partitions that are read before they are copied.
const BATCH: usize = 512;

/// The number of fragments on servers that are read at once.
const WAITING: usize = 16;

/// The maximal number of rounds of merged requests to one object. After them each fragment sends its own
/// requests.
const ROUNDS: usize = 12;

/// Values, and the stride along each dimension of the master.
type Fetched = (Vec<u8>, Vec<usize>);

/// The part of a request along one dimension that is inside one partition.
struct PartOfRequest {
    /// The partition's number along the dimension, and its length.
    cell: usize,
    extent: u64,
    /// The position of the part in the output.
    at: usize,
    /// The indices, which count from the start of the partition.
    wanted: Segment,
}

/// The contribution of one partition to a request.
struct Task {
    cell: usize,
    extent: Vec<u64>,
    at: Vec<usize>,
    wanted: Vec<Segment>,
}

/// Tasks whose partitions are in the same file, which is opened once for all of them, or in no file.
struct Group<'a> {
    file: Option<(FileRef, Option<String>)>,
    /// The tasks with their numbers, which ascend.
    tasks: Vec<(usize, &'a Task, Cow<'a, Partition>)>,
}

/// Opens the file of a group.
type Open<'a> = dyn Fn(&FileRef, Option<&str>) -> Result<Option<Dataset>> + Sync + 'a;

impl Group<'_> {
    /// Returns the result of each task with its number. If the file cannot be opened, the first task returns
    /// the error for all.
    fn each<T: Send>(
        &self,
        open: &Open<'_>,
        give: &(impl Fn(&Task, &Partition, Option<&Dataset>) -> Result<T> + Sync),
    ) -> Vec<(usize, Result<T>)> {
        // None without a file, or if it does not exist and that is allowed.
        let opened = self.file.as_ref().map_or(Ok(None), |(file, print)| open(file, print.as_deref()));
        let dataset = match opened {
            Ok(dataset) => dataset,
            Err(e) => return self.tasks.first().map(|(n, ..)| (*n, Err(e))).into_iter().collect(),
        };
        let tasks = self.tasks.par_iter().with_max_len(1);
        tasks.map(|(n, task, partition)| (*n, give(task, partition, dataset.as_ref()))).collect()
    }
}

/// A partition that a request meets, as returned by [`MasterArray::explain`].
#[derive(Debug, Clone)]
pub struct Touched {
    /// Its number in the matrix.
    pub partition: usize,
    /// Its file, if it has one.
    pub file: Option<String>,
    /// The number of elements that are requested.
    pub elements: u64,
    /// The length of these elements in bytes, in the fragment's own type.
    pub bytes: u64,
}

impl MasterArray {
    /// Fills `out` with a hyperslab's elements, big-endian. Partitions that the hyperslab does not meet are
    /// not read.
    ///
    /// # Errors
    /// The hyperslab is not inside the array, or a fragment cannot be read; the error names it.
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
            let done = self.give(files, &batch, |task, partition, dataset| {
                self.fetch(files, task, partition, dataset)
            })?;
            for (task, (bytes, from)) in batch.iter().zip(done) {
                let each = task.wanted.iter().zip(from).zip(&to);
                let ways: Vec<Way> =
                    each.map(|((w, from), to)| Way { count: in_memory(w.count), from, to: *to }).collect();
                let at = task.at.iter().zip(&to).map(|(at, to)| at * to).sum();
                copy(&ways, size, &bytes, out, at);
            }
        }
    }

    /// Lists the partitions that a hyperslab meets. Opens their fragments, and reads no values.
    ///
    /// # Errors
    /// As [`MasterArray::read`].
    pub fn explain(&self, files: &Fragments, slab: &Hyperslab) -> Result<Vec<Touched>> {
        slab.resolve(&self.shape())?;
        if slab.count.contains(&0) {
            return Ok(Vec::new());
        }
        let tasks: Vec<Task> = self.tasks(slab).collect();
        self.give(files, &tasks, |task, partition, dataset| {
            let touched = Touched { partition: task.cell, file: None, elements: task.elements(), bytes: 0 };
            let (Data::Array(sub), Some(dataset)) = (&partition.data, dataset) else { return Ok(touched) };
            let bound = Bound::new(self, partition, sub, &task.extent, files, dataset)?;
            let bytes = bound.bytes_of(&task.wanted);
            Ok(Touched { file: Some(bound.file().to_owned()), bytes, ..touched })
        })
    }

    /// Runs several tasks at once, and returns their results. The number of threads is the number of cores,
    /// or `WAITING` where fragments are on servers.
    fn give<T: Send>(
        &self,
        files: &Fragments,
        tasks: &[Task],
        give: impl Fn(&Task, &Partition, Option<&Dataset>) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let groups = self.groups(tasks)?;
        let open = |file: &FileRef, print: Option<&str>| files.open(file, print);
        let work = || -> Vec<(usize, Result<T>)> {
            groups.par_iter().with_max_len(1).flat_map(|group| group.each(&open, &give)).collect()
        };
        let far = || rayon::ThreadPoolBuilder::new().num_threads(WAITING.min(tasks.len())).build().ok();
        let mut done = match (&groups[..], files.are_far()) {
            ([_], _) => groups.iter().flat_map(|group| group.each(&open, &give)).collect(),
            (_, true) => match files.gathering() {
                Some(gathering) => together(files, &groups, &give, &gathering)?,
                // A separate thread pool: a caller in another pool goes on with other work there while it
                // waits.
                None => far().map_or_else(work, |pool| pool.install(work)),
            },
            (_, false) => work(),
        };
        // Of several errors, the first one is reported.
        done.sort_by_key(|(n, _)| *n);
        done.into_iter().map(|(_, done)| done).collect()
    }

    /// Groups tasks by the file that they need.
    fn groups<'a>(&'a self, tasks: &'a [Task]) -> Result<Vec<Group<'a>>> {
        let mut groups: Vec<Group<'a>> = Vec::new();
        let mut known: HashMap<Option<FileRef>, usize> = HashMap::new();
        for (n, task) in tasks.iter().enumerate() {
            let partition = self.partitions.get(task.cell)?;
            let sub = partition.sub_array();
            let at = *known.entry(sub.map(|sub| sub.file.clone())).or_insert_with(|| {
                let file = sub.map(|sub| (sub.file.clone(), sub.fingerprint.clone()));
                groups.push(Group { file, tasks: Vec::new() });
                groups.len() - 1
            });
            groups[at].tasks.push((n, task, partition));
        }
        Ok(groups)
    }

    /// Reads the values of one partition. Returns them with the stride along each dimension of the master.
    fn fetch(
        &self,
        files: &Fragments,
        task: &Task,
        partition: &Partition,
        dataset: Option<&Dataset>,
    ) -> Result<Fetched> {
        let same = |value: &[u8]| (value.to_vec(), vec![0; task.wanted.len()]);
        match (&partition.data, dataset) {
            (Data::Array(sub), Some(dataset)) => {
                Bound::new(self, partition, sub, &task.extent, files, dataset)?.read(&task.wanted)
            }
            (Data::Value(value), _) => Ok(same(value)),
            (Data::Array(_) | Data::Missing, _) => Ok(same(&self.fill)),
        }
    }

    /// Lists the tasks of all partitions that a hyperslab meets, in row-major order of the matrix. The
    /// hyperslab must be inside the array.
    fn tasks(&self, slab: &Hyperslab) -> impl Iterator<Item = Task> {
        let segments: Vec<Vec<PartOfRequest>> = self
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

/// Runs the tasks of groups whose files are in one object. The ranges that they need are fetched in merged
/// requests.
fn together<T: Send>(
    files: &Fragments,
    groups: &[Group<'_>],
    give: &(impl Fn(&Task, &Partition, Option<&Dataset>) -> Result<T> + Sync),
    gathering: &Gathering,
) -> Result<Vec<(usize, Result<T>)>> {
    let open = |file: &FileRef, print: Option<&str>| files.open_by(&gathering.opener, file, print);
    let mut done = Vec::new();
    let mut left: Vec<&Group<'_>> = groups.iter().collect();
    for round in 0.. {
        if round == ROUNDS {
            gathering.ahead.read_directly();
        }
        let tried: Vec<_> =
            left.par_iter().with_max_len(1).map(|group| (*group, group.each(&open, give))).collect();
        let (whole, broken): (Vec<_>, Vec<_>) =
            tried.into_iter().partition(|(_, each)| each.iter().all(|(_, done)| done.is_ok()));
        done.extend(whole.into_iter().flat_map(|(_, each)| each));
        // When no more ranges are needed, the remaining errors are final.
        if broken.is_empty() || round >= ROUNDS || !gathering.ahead.fetch()? {
            done.extend(broken.into_iter().flat_map(|(_, each)| each));
            break;
        }
        left = broken.into_iter().map(|(group, _)| group).collect();
    }
    Ok(done)
}

impl Task {
    fn elements(&self) -> u64 {
        self.wanted.iter().map(|w| w.count).product()
    }
}

/// Cuts a line of indices at the borders of partitions.
fn segments(cuts: &[u64], start: u64, count: u64, stride: i64) -> Vec<PartOfRequest> {
    let mut out = Vec::new();
    let mut done = 0;
    while done < count {
        // The index is inside the dimension; that was checked before.
        let index = start.wrapping_add(stride.cast_unsigned().wrapping_mul(done));
        let cell = cuts.partition_point(|c| *c <= index) - 1;
        let (low, high) = (cuts[cell], cuts[cell + 1]);
        let left = if stride > 0 { high - 1 - index } else { index - low };
        let here = (left / stride.unsigned_abs() + 1).min(count - done);
        let wanted = Segment { start: index - low, count: here, stride };
        out.push(PartOfRequest { cell, extent: high - low, at: in_memory(done), wanted });
        done += here;
    }
    out
}

fn in_memory(n: u64) -> usize {
    usize::try_from(n).expect("a position in the output, which is in memory")
}
