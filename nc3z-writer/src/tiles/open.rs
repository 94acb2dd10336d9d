//! The parts that are filled while records are read: a linear tile, or a layer of chunks.

use super::chunks::Chunked;
use super::raw::RawTile;
use crate::error::Result;
use nc3z_format::array_table::ArrayInfo;

pub(super) struct OpenTile<'a> {
    info: &'a ArrayInfo,
    tile: u64,
    len: usize,
    bytes: Vec<u8>,
}

impl<'a> OpenTile<'a> {
    pub(super) fn new(info: &'a ArrayInfo) -> Result<Self> {
        let len = if info.tiling.tile_count() == 0 { 0 } else { info.tile_bytes(0)?.1 };
        Ok(OpenTile { info, tile: 0, len, bytes: Vec::new() })
    }

    pub(super) fn room(&self) -> usize {
        self.len - self.bytes.len()
    }

    /// Returns the next `n` bytes, to be filled; at most [`Self::room`].
    pub(super) fn take(&mut self, n: usize) -> &mut [u8] {
        grow(&mut self.bytes, self.len, n)
    }

    pub(super) fn emit_if_full(&mut self, sink: &mut dyn FnMut(RawTile) -> Result<()>) -> Result<()> {
        if self.room() > 0 || self.len == 0 {
            return Ok(());
        }
        let info = self.info;
        sink(RawTile { array: info.id, tile: self.tile, bytes: std::mem::take(&mut self.bytes) })?;
        self.tile += 1;
        self.len = if self.tile < info.tiling.tile_count() { info.tile_bytes(self.tile)?.1 } else { 0 };
        Ok(())
    }
}

/// A layer of chunks: all chunks with one index along the record dimension.
pub(super) struct OpenLayer<'a> {
    chunked: Chunked<'a>,
    layer: u64,
    len: usize,
    bytes: Vec<u8>,
}

impl<'a> OpenLayer<'a> {
    /// Opens the first layer of an array whose layers each fit in memory.
    pub(super) fn new(chunked: Chunked<'a>) -> Self {
        let mut open = OpenLayer { chunked, layer: 0, len: 0, bytes: Vec::new() };
        open.len = open.layer_len();
        open
    }

    fn layer_len(&self) -> usize {
        if self.layer == self.chunked.layers() {
            return 0;
        }
        usize::try_from(self.chunked.layer_len(self.layer)).expect("layers fit in RECORD_TILES_LEN")
    }

    pub(super) fn room(&self) -> usize {
        self.len - self.bytes.len()
    }

    /// Returns the next `n` bytes, to be filled; at most [`Self::room`].
    pub(super) fn take(&mut self, n: usize) -> &mut [u8] {
        grow(&mut self.bytes, self.len, n)
    }

    pub(super) fn emit_if_full(&mut self, sink: &mut dyn FnMut(RawTile) -> Result<()>) -> Result<()> {
        if self.room() > 0 || self.len == 0 {
            return Ok(());
        }
        self.chunked.cut_layer(self.layer, &self.bytes, sink)?;
        // The next layer of one record comes after all other variables of this record.
        if self.chunked.is_of_one_record() {
            self.bytes = Vec::new();
        }
        self.bytes.clear();
        self.layer += 1;
        self.len = self.layer_len();
        Ok(())
    }
}

/// Returns `n` more bytes of a buffer that will have `len`.
fn grow(bytes: &mut Vec<u8>, len: usize, n: usize) -> &mut [u8] {
    if bytes.capacity() == 0 {
        bytes.reserve_exact(len);
    }
    let at = bytes.len();
    bytes.resize(at + n, 0);
    &mut bytes[at..]
}
