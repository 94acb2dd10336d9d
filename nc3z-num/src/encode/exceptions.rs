//! Writes the exceptions of a transform, in the better of two forms.

use super::bits::put_varint;
use super::frame::{self, Compressor};
use crate::error::Result;
use crate::exceptions::ExceptionForm;
use crate::word::{Word, low8};

/// If fewer than 1/`SPARSE` of the elements are exceptions, they are always a list.
const SPARSE: usize = 64;
/// Marks are applied several times as fast as a list, so they may take 1/`WORTH` more bytes.
const WORTH: usize = 32;

/// Exceptions: ascending positions on the grid, with the difference to add to the mapped key there.
#[derive(Debug, Default)]
pub(crate) struct Exceptions<W> {
    pub(crate) list: Vec<(usize, W)>,
}

impl<W: Word> Exceptions<W> {
    /// Appends the part of a tile of `n` elements; returns its form.
    pub(crate) fn put(
        &self,
        n: usize,
        level: i32,
        zstd: &mut Compressor,
        out: &mut Vec<u8>,
    ) -> Result<ExceptionForm> {
        let start = out.len();
        self.put_list(level, zstd, out)?;
        if self.list.len() < n / SPARSE {
            return Ok(ExceptionForm::Listed);
        }
        let mut marked = Vec::new();
        self.put_marked(n, level, zstd, &mut marked)?;
        let listed = out.len() - start;
        if marked.len() > listed + listed / WORTH {
            return Ok(ExceptionForm::Listed);
        }
        out.truncate(start);
        out.extend_from_slice(&marked);
        Ok(ExceptionForm::Marked)
    }

    /// Count, distances of positions, zigzag differences.
    fn put_list(&self, level: i32, zstd: &mut Compressor, out: &mut Vec<u8>) -> Result<()> {
        let mut content = Vec::with_capacity(3 * self.list.len() + 8);
        put_varint(&mut content, self.list.len() as u64);
        let mut next = 0;
        for &(at, _) in &self.list {
            put_varint(&mut content, (at - next) as u64);
            next = at + 1;
        }
        for &(_, difference) in &self.list {
            put_varint(&mut content, difference.zigzag().to_u64());
        }
        frame::put_bytes(&content, level, zstd, out)
    }

    /// Width of the differences, marks, planes of zigzag differences.
    fn put_marked(&self, n: usize, level: i32, zstd: &mut Compressor, out: &mut Vec<u8>) -> Result<()> {
        let mut marks = vec![0u8; n.div_ceil(8)];
        for &(at, _) in &self.list {
            marks[at / 8] |= 1 << (at % 8);
        }
        let all = self.list.iter().fold(W::default(), |all, (_, difference)| all.or(difference.zigzag()));
        let width = (u64::BITS - all.to_u64().leading_zeros()).div_ceil(8);
        let planes = (0..width).flat_map(|plane| {
            self.list.iter().map(move |(_, difference)| difference.zigzag().shr(8 * plane).low())
        });
        let planes: Vec<u8> = planes.collect();
        out.push(low8(u64::from(width)));
        let mut string = Vec::new();
        frame::put_bytes(&marks, level, zstd, &mut string)?;
        put_varint(out, string.len() as u64);
        out.extend_from_slice(&string);
        frame::put_bytes(&planes, level, zstd, out)
    }
}
