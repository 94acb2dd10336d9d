//! The base of staged arrays: the tiles of an archive, decoded when they are touched, and a temporary file.

use nc3z_format::archive::ArrayId;
use nc3z_format::tile::{Edge, TileExtent, TileLayout};
use nc3z_reader::Archive;
use nc3z_reader::platform;
use nc3z_staged::BaseSlab;
use std::error::Error;
use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The linear tiles of an archive's array: one axis with the tiles in order.
pub(super) struct LinearTiles {
    archive: Archive,
    array: ArrayId,
    tile_len: usize,
    /// The length if all tiles were whole.
    shape: [usize; 1],
}

impl LinearTiles {
    pub(super) fn new(archive: &Archive, array: ArrayId, tile_len: usize, tiles: usize) -> Self {
        LinearTiles { archive: archive.clone(), array, tile_len, shape: [tiles.saturating_mul(tile_len)] }
    }
}

impl<const N: usize> BaseSlab<[u8; N]> for LinearTiles {
    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn read(&self, start: &[usize], count: &[usize], out: &mut [[u8; N]]) -> Result<()> {
        let out = out.as_flattened_mut();
        let tile = (start[0] / self.tile_len) as u64;
        let whole = start[0].is_multiple_of(self.tile_len)
            && self.archive.arrays().get(self.array).is_some_and(|info| {
                info.tile_len(tile).is_ok_and(|len| len == out.len()) && count[0] <= self.tile_len
            });
        // A commit compares the tile with the written one, and may code that relative to it, so the tile is
        // cached.
        if whole {
            out.copy_from_slice(&self.archive.cached_tile(self.array, tile)?);
            return Ok(());
        }
        Ok(self.archive.read_array_bytes(self.array, start[0] as u64 * N as u64, out)?)
    }
}

/// The chunks of an archive's array, stacked along one axis.
pub(super) struct ChunkTiles {
    archive: Archive,
    array: ArrayId,
    chunk: Vec<usize>,
    shape: Vec<usize>,
}

impl ChunkTiles {
    pub(super) fn new(archive: &Archive, array: ArrayId, chunk: &[usize], tiles: usize) -> Self {
        let mut shape = chunk.to_vec();
        if let Some(first) = shape.first_mut() {
            *first = first.saturating_mul(tiles);
        }
        ChunkTiles { archive: archive.clone(), array, chunk: chunk.to_vec(), shape }
    }
}

impl<const N: usize> BaseSlab<[u8; N]> for ChunkTiles {
    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn read(&self, start: &[usize], count: &[usize], out: &mut [[u8; N]]) -> Result<()> {
        let (Some(first), Some(along)) = (start.first(), self.chunk.first()) else {
            out.as_flattened_mut().copy_from_slice(&self.archive.cached_tile(self.array, 0)?);
            return Ok(());
        };
        let tile = (first / along) as u64;
        let info = self.archive.arrays().get(self.array).ok_or("the array is gone")?;
        // The lengths of the stored tile.
        let stored: Vec<usize> = match (info.tiling.layout(), info.tiling.extent(tile)?) {
            (TileLayout::Chunked { edge: Edge::Clipped, .. }, TileExtent::Chunk { shape, .. }) => {
                shape.iter().map(|&n| usize::try_from(n)).collect::<std::result::Result<_, _>>()?
            }
            _ => self.chunk.clone(),
        };
        let bytes = self.archive.cached_tile(self.array, tile)?;
        let mut inside = start.to_vec();
        inside[0] %= along;
        copy_box(&bytes, &stored, &inside, count, out);
        Ok(())
    }
}

/// Copies a box of a row-major array.
fn copy_box<const N: usize>(
    from: &[u8],
    shape: &[usize],
    start: &[usize],
    count: &[usize],
    out: &mut [[u8; N]],
) {
    let Some((&row, outer)) = count.split_last() else { return };
    if row == 0 {
        return;
    }
    for (n, out) in out.chunks_exact_mut(row).enumerate() {
        let (mut rest, mut position, mut unit) = (n, start[outer.len()], shape[outer.len()]);
        for axis in (0..outer.len()).rev() {
            position += (start[axis] + rest % count[axis]) * unit;
            rest /= count[axis];
            unit *= shape[axis];
        }
        let out = out.as_flattened_mut();
        out.copy_from_slice(&from[position * N..position * N + out.len()]);
    }
}

/// A temporary file for staged slabs.
#[derive(Default)]
pub(super) struct SpillFile(Mutex<Option<(Arc<File>, u64)>>);

impl SpillFile {
    /// Moves a slab to the file.
    pub(super) fn put<const N: usize>(
        &self,
        shape: &[usize],
        cells: &[[u8; N]],
    ) -> Result<Box<dyn BaseSlab<[u8; N]>>> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, end) = match &mut *state {
            Some(state) => state,
            none => none.insert((Arc::new(tempfile::tempfile()?), 0)),
        };
        let bytes = cells.as_flattened();
        platform::write_all_at(file, bytes, *end)?;
        let slab = Spilled { file: Arc::clone(file), begin: *end, shape: shape.to_vec() };
        *end += bytes.len() as u64;
        Ok(Box::new(slab))
    }
}

/// A slab in the temporary file.
struct Spilled {
    file: Arc<File>,
    begin: u64,
    shape: Vec<usize>,
}

impl<const N: usize> BaseSlab<[u8; N]> for Spilled {
    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn read(&self, start: &[usize], count: &[usize], out: &mut [[u8; N]]) -> Result<()> {
        // As many axes as form one contiguous run.
        let rank = self.shape.len();
        let mut run = 1;
        let mut axes = 0;
        for axis in (0..rank).rev() {
            run *= count[axis];
            axes += 1;
            if count[axis] != self.shape[axis] {
                break;
            }
        }
        let outer = rank - axes;
        if run == 0 {
            return Ok(());
        }
        for (n, out) in out.chunks_exact_mut(run).enumerate() {
            let (mut rest, mut position, mut unit) = (n, 0, 1);
            for axis in (0..rank).rev() {
                let moved = if axis < outer {
                    let at = rest % count[axis];
                    rest /= count[axis];
                    at
                } else {
                    0
                };
                position += (start[axis] + moved) * unit;
                unit *= self.shape[axis];
            }
            let at = self.begin + (position * N) as u64;
            platform::read_exact_at(&self.file, out.as_flattened_mut(), at)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_come_back_out_of_the_file() {
        let cells: Vec<[u8; 2]> = (0..60_u16).map(u16::to_be_bytes).collect();
        let file = SpillFile::default();
        let shape = [5, 4, 3];
        let slab = [file.put(&shape, &cells).unwrap(), file.put(&shape, &cells).unwrap()]
            .into_iter()
            .last()
            .unwrap();
        for (start, count) in
            [([0, 0, 0], [5, 4, 3]), ([1, 0, 0], [2, 4, 3]), ([1, 1, 0], [3, 2, 3]), ([4, 3, 1], [1, 1, 2])]
        {
            let mut out = vec![[0; 2]; count.iter().product()];
            slab.read(&start, &count, &mut out).unwrap();
            let mut expected = vec![[0; 2]; out.len()];
            copy_box(cells.as_flattened(), &shape, &start, &count, &mut expected);
            assert_eq!(out, expected);
            assert_eq!(out[0], cells[(start[0] * 4 + start[1]) * 3 + start[2]]);
        }
    }
}
