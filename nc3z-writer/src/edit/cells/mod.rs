//! The elements of one edited variable: a staged array over its tiles, for any element size.
//!
//! Linear tiles are chunks of one axis. A hyperslab of the variable is then a set of runs in the flattened
//! array.

use super::bands::Bands;
use super::base::{ChunkTiles, LinearTiles, SpillFile};
use crate::error::{Error, ErrorKind, Result};
use crate::tiles::fill_up;
use nc3z_format::archive::{ArrayId, TileLayoutSpec};
use nc3z_format::selection::{self, AnySelection, Placed, Run, Selection};
use nc3z_format::{Error as FormatError, Hyperslab};
use nc3z_reader::Archive;
use nc3z_staged::{BaseSlab, StagedArray, Table};

/// Runs the same code for each element size.
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

/// Staged arrays by element size; the elements are big-endian.
enum Elements {
    One(StagedArray<[u8; 1]>),
    Two(StagedArray<[u8; 2]>),
    Four(StagedArray<[u8; 4]>),
    Eight(StagedArray<[u8; 8]>),
}

/// A variable's elements.
pub(super) struct Cells {
    elements: Elements,
    shape: Vec<u64>,
    spec: TileLayoutSpec,
    size: usize,
    /// The value of elements that were never written.
    fill: Vec<u8>,
    /// True if there is a base slab, the archive's tiles.
    is_over_archive: bool,
}

mod touched;

/// Converts lengths to those of an array in memory.
fn narrow(lens: &[u64]) -> Result<Vec<usize>> {
    let lens: Result<Vec<usize>, _> = lens.iter().map(|&n| usize::try_from(n)).collect();
    lens.map_err(|_| FormatError::invalid("an array of more elements than this machine can address").into())
}

/// Returns the lengths of the staged array, whose linear tiles are chunks of one axis.
fn staged_shape(shape: &[u64], spec: &TileLayoutSpec) -> Result<Vec<usize>> {
    match spec {
        TileLayoutSpec::Linear(_) => narrow(&[nc3z_format::tile::element_count(shape)?]),
        TileLayoutSpec::Chunked { .. } => narrow(shape),
    }
}

fn chunk_of(spec: &TileLayoutSpec) -> Result<Vec<usize>> {
    match spec {
        TileLayoutSpec::Linear(len) => narrow(&[*len]),
        TileLayoutSpec::Chunked { shape, .. } => narrow(shape),
    }
}

/// Refuses lengths with more tiles than an edit can have. `present` are the lengths in the archive.
pub(super) fn check_tiles(shape: &[u64], spec: &TileLayoutSpec, present: Option<&[u64]>) -> Result<()> {
    let chunk = chunk_of(spec)?;
    let mut tiles = 0;
    if let Some(present) = present {
        let lens = staged_shape(present, spec)?;
        tiles = lens.iter().zip(&chunk).map(|(n, c)| n.div_ceil(*c)).product();
    }
    nc3z_staged::check_grid(&staged_shape(shape, spec)?, &chunk, tiles)?;
    Ok(())
}

/// The action of a commit for a tile.
pub(super) enum Fate {
    /// The tile is stored.
    Store,
    /// All its elements are the fill value.
    Fill,
    /// It is unchanged.
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

impl Cells {
    /// Creates the elements of an archive's array, tile by tile.
    pub(super) fn over(
        archive: &Archive,
        array: ArrayId,
        spec: &TileLayoutSpec,
        fill: &[u8],
    ) -> Result<Self> {
        let info = archive.arrays().get(array).expect("the caller has it from the archive");
        Self::new(info.tiling.shape(), spec, fill, Some((archive, array)))
    }

    /// Creates an array of the fill value.
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
        let is_over_archive = base.is_some();
        let (shape, spec, size, fill) = (shape.to_vec(), spec.clone(), fill.len(), fill.to_vec());
        Ok(Cells { elements, shape, spec, size, fill, is_over_archive })
    }

    pub(super) fn shape(&self) -> &[u64] {
        &self.shape
    }

    pub(super) fn spec(&self) -> &TileLayoutSpec {
        &self.spec
    }

    pub(super) fn is_linear(&self) -> bool {
        matches!(self.spec, TileLayoutSpec::Linear(_))
    }

    /// Returns the bytes of staged values in memory.
    pub(super) fn staged_len(&self) -> u64 {
        each!(&self.elements, a => a.staged_len() as u64) * self.size as u64
    }

    /// Moves staged values to the file.
    pub(super) fn spill(&mut self, file: &SpillFile) -> Result<()> {
        each!(&mut self.elements, a => a.spill(|shape, cells| file.put(shape, cells))?);
        Ok(())
    }

    /// Refuses lengths with more tiles than an edit can have.
    pub(super) fn check_resize(&self, shape: &[u64]) -> Result<()> {
        let wanted = staged_shape(shape, &self.spec)?;
        each!(&self.elements, a => a.check_resize(&wanted)?);
        Ok(())
    }

    /// Changes the length of the first axis. New elements are `fill`, the present fill value, which may be another than these cells
    /// were made with. Then they are staged, and values beyond `most` bytes are moved to `file`.
    pub(super) fn set_len_filled(
        &mut self,
        len: u64,
        fill: &[u8],
        file: &SpillFile,
        most: u64,
    ) -> Result<()> {
        let before = self.shape[0];
        self.set_len(len)?;
        if len <= before || fill == self.fill {
            return Ok(());
        }
        let (mut start, mut count) = (vec![0; self.shape.len()], self.shape.clone());
        (start[0], count[0]) = (before, len - before);
        let new = Hyperslab::new(start, count, vec![1; self.shape.len()])?;
        self.set(&AnySelection::from(&new), fill, file, most)
    }

    /// Changes the length of the first axis; new elements are the fill value that these cells were made with.
    pub(super) fn set_len(&mut self, len: u64) -> Result<()> {
        let mut shape = self.shape.clone();
        shape[0] = len;
        let wanted = staged_shape(&shape, &self.spec)?;
        each!(&mut self.elements, a => a.resize(&wanted)?);
        self.shape = shape;
        Ok(())
    }

    /// Writes values, big-endian, in the order of the selection; a single value is written to all elements.
    /// Whenever the staged values exceed `most` bytes, they are moved to `file`.
    pub(super) fn set(
        &mut self,
        selection: &AnySelection<'_>,
        values: &[u8],
        file: &SpillFile,
        most: u64,
    ) -> Result<()> {
        let wanted = narrow(&[selection.elements()?])?[0];
        let given = values.len() / self.size;
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
        let bands = Bands::new(&self.shape, &self.spec, self.size)?;
        let mut shape = narrow(&bands.values_shape(selection, wanted as u64))?;
        if given == 1 {
            shape.fill(1);
        }
        bands.each(selection, &mut |part| {
            each!(&mut self.elements, a => a.set(&part, &shape, elements(values))?);
            if self.staged_len() > most { self.spill(file) } else { Ok(()) }
        })
    }

    /// Reads elements, big-endian, in the order of the selection.
    pub(super) fn get(&self, selection: &AnySelection<'_>) -> Result<Vec<u8>> {
        let wanted = narrow(&[selection.elements()?])?[0];
        if wanted == 0 {
            return Ok(Vec::new());
        }
        let bands = Bands::new(&self.shape, &self.spec, self.size)?;
        let shape = narrow(&bands.values_shape(selection, wanted as u64))?;
        let mut out = vec![0; wanted.saturating_mul(self.size)];
        bands.each(selection, &mut |part| {
            each!(&self.elements, a => a.get_into(&part, &shape, out.as_chunks_mut().0)?);
            Ok(())
        })?;
        Ok(out)
    }

    /// Reads bytes of the flattened array.
    pub(super) fn read_flat(&self, first: u64, out: &mut [u8]) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let size = self.size as u64;
        let (begin, end) = (first / size, (first + out.len() as u64).div_ceil(size));
        let bytes = if self.is_linear() {
            let len = nc3z_format::tile::element_count(&self.shape)?;
            let run = Placed::grid(vec![vec![Run::new(begin, end - begin, 0)]], &[len])?;
            each!(&self.elements, a => a.get(&run)?.into_flattened())
        } else {
            let mut bytes = Vec::new();
            if self.shape.is_empty() {
                bytes = self.get(&AnySelection::Grid(Selection::new(Vec::new())))?;
            } else {
                for slab in selection::boxes(&self.shape, begin, end) {
                    bytes.extend(self.get(&AnySelection::from(&slab))?);
                }
            }
            bytes
        };
        let skip = usize::try_from(first % size).expect("less than an element");
        out.copy_from_slice(&bytes[skip..skip + out.len()]);
        Ok(())
    }

    /// Returns the bytes of a tile that are inside the array.
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

    /// Returns the bytes of a tile; padded chunks are filled up to the whole chunk.
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
}

fn staged<const N: usize>(
    shape: &[u64],
    spec: &TileLayoutSpec,
    fill: &[u8],
    base: Option<(&Archive, ArrayId)>,
) -> Result<StagedArray<[u8; N]>> {
    let fill: [u8; N] = fill.try_into().expect("the caller has looked at its length");
    let (shape, chunk) = (staged_shape(shape, spec)?, chunk_of(spec)?);
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

#[cfg(test)]
mod tests;
