//! The elements of one variable that is edited: a staged array over its tiles, whatever the size of an element.
//!
//! Linear tiles are chunks of one axis: a hyperslab of the variable is then the runs that it has in the flattened array.

use super::base::{ChunkTiles, LinearTiles, SpillFile};
use crate::error::{Error, ErrorKind, Result};
use crate::tiles::fill_up;
use nc3z_format::archive::{ArrayId, TileLayoutSpec};
use nc3z_format::{Error as FormatError, Hyperslab, runs};
use nc3z_reader::Archive;
use nc3z_staged::{BaseSlab, FlatRun, Index, Selection, StagedArray, Table};

/// Runs that are written in one operation, at least, before it is ended at the next tile.
const RUNS_AT_ONCE: usize = 1 << 14;

/// Carries out the same for each size of element.
macro_rules! each {
    ($cells:expr, $array:ident => $body:expr) => {
        match $cells {
            Elements::One($array) => $body,
            Elements::Two($array) => $body,
            Elements::Four($array) => $body,
            Elements::Eight($array) => $body,
        }
    };
}

/// Staged arrays by the size of their elements, which are big-endian.
enum Elements {
    One(StagedArray<[u8; 1]>),
    Two(StagedArray<[u8; 2]>),
    Four(StagedArray<[u8; 4]>),
    Eight(StagedArray<[u8; 8]>),
}

/// A variable's elements.
pub(super) struct Cells {
    elements: Elements,
    /// Lengths of the variable.
    shape: Vec<u64>,
    spec: TileLayoutSpec,
    size: usize,
}

/// What a commit does with a tile.
pub(super) enum Fate {
    /// It is stored; so many elements along each axis are in the array.
    Store,
    /// It holds the fill value alone.
    Fill,
    /// It is as it was.
    Keep,
}

impl From<nc3z_staged::Error> for Error {
    fn from(e: nc3z_staged::Error) -> Self {
        match e {
            nc3z_staged::Error::Base(e) => match e.downcast::<nc3z_reader::Error>() {
                Ok(e) => (*e).into(),
                Err(e) => ErrorKind::Staged(e).into(),
            },
            e => FormatError::invalid(e.to_string()).into(),
        }
    }
}

fn narrow(lens: &[u64]) -> Result<Vec<usize>> {
    let lens: Result<Vec<usize>, _> = lens.iter().map(|&n| usize::try_from(n)).collect();
    lens.map_err(|_| FormatError::invalid("an array of more elements than this machine can address").into())
}

impl Cells {
    /// The elements of an array of an archive, tile by tile.
    pub(super) fn over(
        archive: &Archive,
        array: ArrayId,
        spec: &TileLayoutSpec,
        fill: &[u8],
    ) -> Result<Self> {
        let info = archive.arrays().get(array).expect("the caller has it from the archive");
        Self::new(info.tiling.shape(), spec, fill, Some((archive, array)))
    }

    /// An array of the fill value.
    pub(super) fn full(shape: &[u64], spec: &TileLayoutSpec, fill: &[u8]) -> Result<Self> {
        Self::new(shape, spec, fill, None)
    }

    fn new(
        shape: &[u64],
        spec: &TileLayoutSpec,
        fill: &[u8],
        base: Option<(&Archive, ArrayId)>,
    ) -> Result<Self> {
        let elements = match fill.len() {
            1 => Elements::One(staged(shape, spec, fill, base)?),
            2 => Elements::Two(staged(shape, spec, fill, base)?),
            4 => Elements::Four(staged(shape, spec, fill, base)?),
            _ => Elements::Eight(staged(shape, spec, fill, base)?),
        };
        Ok(Cells { elements, shape: shape.to_vec(), spec: spec.clone(), size: fill.len() })
    }

    pub(super) fn shape(&self) -> &[u64] {
        &self.shape
    }

    pub(super) fn spec(&self) -> &TileLayoutSpec {
        &self.spec
    }

    fn is_linear(&self) -> bool {
        matches!(self.spec, TileLayoutSpec::Linear(_))
    }

    /// Bytes in memory.
    pub(super) fn staged_len(&self) -> u64 {
        each!(&self.elements, a => a.staged_len() as u64) * self.size as u64
    }

    /// Puts what is staged away.
    pub(super) fn spill(&mut self, file: &SpillFile) -> Result<()> {
        each!(&mut self.elements, a => a.spill(|shape, cells| file.put(shape, cells))?);
        Ok(())
    }

    /// Makes the first axis longer or shorter; new elements are the fill value.
    pub(super) fn set_len(&mut self, len: u64) -> Result<()> {
        let mut shape = self.shape.clone();
        shape[0] = len;
        let wanted =
            if self.is_linear() { vec![nc3z_format::tile::element_count(&shape)?] } else { shape.clone() };
        let wanted = narrow(&wanted)?;
        each!(&mut self.elements, a => a.resize(&wanted)?);
        self.shape = shape;
        Ok(())
    }

    /// Writes values, big-endian, row-major in the order of the hyperslab; one value serves for all.
    pub(super) fn set(&mut self, slab: &Hyperslab, values: &[u8]) -> Result<()> {
        let wanted = slab.resolve(&self.shape)?.elements();
        let given = (values.len() / self.size) as u64;
        if !values.len().is_multiple_of(self.size) || (given != wanted && given != 1) {
            let bytes = values.len();
            return Err(FormatError::invalid(format!(
                "{bytes} bytes for {wanted} elements of {} bytes",
                self.size
            ))
            .into());
        }
        if wanted == 0 {
            return Ok(());
        }
        if let TileLayoutSpec::Chunked { .. } = self.spec {
            return each!(&mut self.elements, a => set_box(a, slab, values));
        }
        let scalar = given == 1;
        let TileLayoutSpec::Linear(tile_len) = self.spec else { unreachable!("chunks are set above") };
        let mut pending: Vec<FlatRun> = Vec::new();
        let tile_len = usize::try_from(tile_len).unwrap_or(usize::MAX);
        for run in flat_runs(&self.shape, slab)? {
            // Ended between tiles, so that none is set in two parts, which would have it read.
            let ended = pending.len() >= RUNS_AT_ONCE
                && pending.last().is_some_and(|last| {
                    (last.at + (last.count - 1) * last.step) / tile_len < run.at / tile_len
                });
            if ended {
                let now = std::mem::take(&mut pending);
                each!(&mut self.elements, a => set_runs(a, now, values, scalar)?);
            }
            pending.push(run);
        }
        each!(&mut self.elements, a => set_runs(a, pending, values, scalar))
    }

    /// Reads a hyperslab, big-endian.
    pub(super) fn get(&self, slab: &Hyperslab) -> Result<Vec<u8>> {
        if slab.resolve(&self.shape)?.elements() == 0 {
            return Ok(Vec::new());
        }
        if !self.is_linear() {
            return each!(&self.elements, a => {
                let selection = Selection::new(&indices(slab)?, a.shape())?;
                Ok(a.get(&selection)?.into_flattened())
            });
        }
        let runs = flat_runs(&self.shape, slab)?.collect();
        each!(&self.elements, a => {
            let selection = Selection::runs(runs, a.shape())?;
            Ok(a.get(&selection)?.into_flattened())
        })
    }

    /// Reads bytes of the flattened array.
    pub(super) fn read_flat(&self, first: u64, out: &mut [u8]) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let size = self.size as u64;
        let (begin, end) = (first / size, (first + out.len() as u64).div_ceil(size));
        let bytes = if self.is_linear() {
            let (at, count) = (narrow(&[begin])?[0], narrow(&[end - begin])?[0]);
            let run = FlatRun { at, step: 1, value: 0, value_step: 1, count };
            each!(&self.elements, a => a.get(&Selection::runs(vec![run], a.shape())?)?.into_flattened())
        } else {
            let mut bytes = Vec::new();
            if self.shape.is_empty() {
                bytes = self.get(&Hyperslab::all(&[]))?;
            } else {
                for slab in runs::boxes(&self.shape, begin, end) {
                    bytes.extend(self.get(&slab)?);
                }
            }
            bytes
        };
        let skip = usize::try_from(first % size).expect("less than an element");
        out.copy_from_slice(&bytes[skip..skip + out.len()]);
        Ok(())
    }

    /// What a commit does with each tile, in the order of their numbers.
    pub(super) fn fates(&self) -> Vec<Fate> {
        let plan = each!(&self.elements, a => a.plan_commit());
        let grid = each!(&self.elements, a => a.slab_indices().shape().to_vec());
        let number = |at: &[usize]| at.iter().zip(&grid).fold(0_usize, |number, (i, n)| number * n + i);
        let count = plan.store.len() + plan.keep.len() + plan.full.len();
        let mut fates: Vec<Fate> = (0..count).map(|_| Fate::Keep).collect();
        plan.store.iter().for_each(|chunk| fates[number(&chunk.at)] = Fate::Store);
        plan.full.iter().for_each(|at| fates[number(at)] = Fate::Fill);
        fates
    }

    /// The bytes of a tile: what the array has of it.
    pub(super) fn read_tile(&self, tile: u64) -> Result<Vec<u8>> {
        let grid: Vec<usize> = each!(&self.elements, a => a.slab_indices().shape().to_vec());
        let mut rest = narrow(&[tile])?[0];
        let mut at = vec![0; grid.len()];
        for (k, n) in at.iter_mut().zip(&grid).rev() {
            *k = rest % n.max(&1);
            rest /= n.max(&1);
        }
        Ok(each!(&self.elements, a => a.read_chunk(&at)?.into_flattened()))
    }

    /// The same of padded chunks, filled up to the whole chunk.
    pub(super) fn read_padded_tile(&self, tile: u64, extent: &[u64]) -> Result<Vec<u8>> {
        let bytes = self.read_tile(tile)?;
        let TileLayoutSpec::Chunked { shape, padded: true } = &self.spec else { return Ok(bytes) };
        if extent == shape.as_slice() {
            return Ok(bytes);
        }
        let (chunk, present) = (narrow(shape)?, narrow(extent)?);
        let mut out = vec![0; chunk.iter().product::<usize>() * self.size];
        let Some((&row, outer)) = present.split_last() else { return Ok(bytes) };
        for (n, from) in bytes.chunks_exact(row.max(1) * self.size).enumerate() {
            let (mut rest, mut position, mut unit) = (n, 0, chunk[outer.len()]);
            for axis in (0..outer.len()).rev() {
                position += rest % outer[axis] * unit;
                rest /= outer[axis];
                unit *= chunk[axis];
            }
            out[position * self.size..][..from.len()].copy_from_slice(from);
        }
        fill_up(&mut out, extent, shape, self.size);
        Ok(out)
    }

    /// The plan that a hyperslab would be written by, as text: shapes and indices, no data.
    pub(super) fn plan_of_set(&self, slab: &Hyperslab) -> Result<String> {
        slab.resolve(&self.shape)?;
        each!(&self.elements, a => {
            let selection = if self.is_linear() {
                Selection::runs(flat_runs(&self.shape, slab)?.collect(), a.shape())?
            } else {
                Selection::new(&indices(slab)?, a.shape())?
            };
            Ok(a.plan_set(&selection).to_string())
        })
    }
}

fn staged<const N: usize>(
    shape: &[u64],
    spec: &TileLayoutSpec,
    fill: &[u8],
    base: Option<(&Archive, ArrayId)>,
) -> Result<StagedArray<[u8; N]>> {
    let fill: [u8; N] = fill.try_into().expect("the caller has looked at its length");
    let (shape, chunk) = match spec {
        TileLayoutSpec::Linear(len) => {
            (narrow(&[nc3z_format::tile::element_count(shape)?])?, narrow(&[*len])?)
        }
        TileLayoutSpec::Chunked { shape: chunk, .. } => (narrow(shape)?, narrow(chunk)?),
    };
    let Some((archive, array)) = base else { return Ok(StagedArray::full(shape, chunk, fill)?) };
    let grid: Vec<usize> = shape.iter().zip(&chunk).map(|(n, c)| n.div_ceil(*c)).collect();
    let tiles: usize = grid.iter().product();
    let slab: Box<dyn BaseSlab<[u8; N]>> = match spec {
        TileLayoutSpec::Linear(_) => Box::new(LinearTiles::new(archive, array, chunk[0], tiles)),
        TileLayoutSpec::Chunked { .. } => Box::new(ChunkTiles::new(archive, array, &chunk, tiles)),
    };
    let along = chunk.first().copied().unwrap_or(1);
    let offsets = (0..tiles).map(|tile| tile.saturating_mul(along)).collect();
    let offsets = Table::new(&grid, offsets).expect("a number for each tile");
    let ones = Table::new(&grid, vec![1; tiles]).expect("a number for each tile");
    Ok(StagedArray::new(shape, chunk, vec![slab], ones, offsets, fill)?)
}

fn elements<const N: usize>(bytes: &[u8]) -> &[[u8; N]] {
    bytes.as_chunks::<N>().0
}

fn set_box<const N: usize>(array: &mut StagedArray<[u8; N]>, slab: &Hyperslab, values: &[u8]) -> Result<()> {
    let selection = Selection::new(&indices(slab)?, array.shape())?;
    let values = elements::<N>(values);
    if values.len() == 1 {
        return Ok(array.set_scalar(&selection, values[0])?);
    }
    Ok(array.set(&selection, &selection.shape(), values)?)
}

fn set_runs<const N: usize>(
    array: &mut StagedArray<[u8; N]>,
    mut runs: Vec<FlatRun>,
    values: &[u8],
    scalar: bool,
) -> Result<()> {
    let values = elements::<N>(values);
    if scalar {
        runs.iter_mut().for_each(|run| (run.value, run.value_step) = (0, 0));
        return Ok(array.set_runs(&Selection::runs(runs, array.shape())?, values)?);
    }
    // Of the values those that these runs name.
    let span = |run: &FlatRun| run.value_step.unsigned_abs() * (run.count - 1);
    let low = |run: &FlatRun| if run.value_step < 0 { run.value - span(run) } else { run.value };
    let high = |run: &FlatRun| if run.value_step < 0 { run.value } else { run.value + span(run) };
    let (Some(first), Some(last)) = (runs.iter().map(low).min(), runs.iter().map(high).max()) else {
        return Ok(());
    };
    runs.iter_mut().for_each(|run| run.value -= first);
    let selection = Selection::runs(runs, array.shape())?;
    Ok(array.set_runs(&selection, &values[first..=last])?)
}

/// A hyperslab as the staged array names it.
fn indices(slab: &Hyperslab) -> Result<Vec<Index>> {
    let signed = |n: u64| i64::try_from(n).map_err(|_| FormatError::invalid("an index of 2^63 or more"));
    let each = slab.start.iter().zip(&slab.count).zip(&slab.stride).map(|((&start, &count), &step)| {
        let (start, count) = (signed(start)?, signed(count)?);
        let stop = start.saturating_add(count.saturating_mul(step));
        // Backwards down to the first: no number says that.
        let stop = (stop >= 0).then_some(stop);
        let start = Some(start);
        if count == 0 {
            return Ok(Index::Slice { start: Some(0), stop: Some(0), step: 1 });
        }
        Ok(Index::Slice { start, stop, step })
    });
    each.collect::<Result<_>>()
}

/// The runs that a hyperslab, which lies in the array, has in the flattened array: ascending, whatever its strides.
fn flat_runs(shape: &[u64], slab: &Hyperslab) -> Result<impl Iterator<Item = FlatRun> + use<>> {
    struct Line {
        low: usize,
        step: usize,
        count: usize,
        value: usize,
        value_step: isize,
        unit: usize,
    }
    let (start, count, lens) = (narrow(&slab.start)?, narrow(&slab.count)?, narrow(shape)?);
    let mut lines: Vec<Line> = Vec::with_capacity(lens.len());
    let (mut unit, mut value_unit) = (1_usize, 1_usize);
    for axis in (0..lens.len()).rev() {
        let step = usize::try_from(slab.stride[axis].unsigned_abs())
            .map_err(|_| FormatError::invalid("a stride beyond all lengths"))?;
        let span = count[axis].saturating_sub(1);
        let backwards = slab.stride[axis] < 0 && span > 0;
        let signed = isize::try_from(value_unit).expect("values are in memory");
        lines.push(Line {
            low: if backwards { start[axis] - span * step } else { start[axis] },
            step: if span == 0 { 1 } else { step },
            count: count[axis],
            value: if backwards { span * value_unit } else { 0 },
            value_step: if backwards { -signed } else { signed },
            unit,
        });
        unit = unit.saturating_mul(lens[axis]);
        value_unit = value_unit.saturating_mul(count[axis]);
    }
    // The innermost run: the last axis, and those before it that it is whole in.
    let mut inner = Line { low: 0, step: 1, count: 1, value: 0, value_step: 1, unit: 1 };
    let mut taken = 0;
    for (n, line) in lines.iter().enumerate() {
        let whole = inner.low == 0 && inner.step == 1 && inner.value_step == 1 && inner.count == line.unit;
        let plain = line.step == 1 && line.value_step >= 0;
        if n == 0 {
            inner = Line { unit: 1, ..*line };
        } else if whole && plain {
            inner = Line {
                low: line.low * line.unit,
                step: 1,
                count: line.count * line.unit,
                value: 0,
                value_step: 1,
                unit: 1,
            };
        } else {
            break;
        }
        taken = n + 1;
    }
    let outer: Vec<Line> = lines.into_iter().skip(taken).rev().collect();
    let total: usize = outer.iter().map(|line| line.count).product();
    Ok((0..total).map(move |mut n| {
        let (mut at, mut value) = (inner.low, inner.value);
        for line in outer.iter().rev() {
            let k = n % line.count;
            n /= line.count;
            at += (line.low + k * line.step) * line.unit;
            let moved = line.value_step.unsigned_abs() * k;
            value += if line.value_step < 0 { line.value - moved } else { line.value + moved };
        }
        FlatRun { at, step: inner.step, value, value_step: inner.value_step, count: inner.count }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Both kinds of tiles, and any hyperslab, against a plain array.
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
                prop_assert_eq!(cells.get(&slab).unwrap(), before);
                cells.set(&slab, values.as_flattened()).unwrap();
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
    }
}
