//! Turns tiles into stored tiles and hands them to the writer. Every command that writes an archive ends here.
//!
//! ```text
//! archive, recompress ─▶ fresh   (the array's plan encodes a tile) ─┐
//! commit, edits       ─▶ changed (plan, or difference to an older) ─┼─▶ Executor ─▶ GenerationWriter
//! gc, repair          ─▶ copied  (stored bytes stay as they are)   ─┘
//! ```
//! Each of the three encodes a tile in its own way ([`Encode`]). All else is done by one [`Executor`]: batches bound the
//! memory, the caller's threads encode the tiles of a batch in parallel, cancelling ends the work between two tiles, and
//! tiles are written in the order in which they were passed. So neither the number of threads nor the memory changes the
//! archive.

mod changed;
mod copied;
mod fresh;

use crate::error::{ErrorKind, Result};
use crate::generation::GenerationWriter;
pub(crate) use changed::ChangedTiles;
pub(crate) use copied::{copy_tiles, restored_sha256};
pub(crate) use fresh::write_tiles;
use nc3z_reader::Monitor;
use rayon::prelude::*;
use std::io::Write;

/// The encoding of one kind of items: raw tiles, changed tiles, or stored pieces of another archive.
pub(crate) trait Encode {
    /// An item that waits to be encoded.
    type Item: Send;
    /// An item in the form in which it is written.
    type Encoded: Send;

    /// Encodes a batch. The results are in the order of the items.
    fn encode(&mut self, batch: Vec<Self::Item>, monitor: &dyn Monitor) -> Result<Vec<Self::Encoded>>;

    /// Writes one result.
    fn write<W: Write>(&mut self, encoded: Self::Encoded, writer: &mut GenerationWriter<'_, W>)
    -> Result<()>;
}

/// Encodes items in batches and writes them in their order.
pub(crate) struct Executor<'a, E: Encode> {
    encoder: E,
    monitor: &'a dyn Monitor,
    /// Items of the next batch, and their bytes.
    waiting: Vec<E::Item>,
    len: u64,
    /// A batch with this many bytes is encoded.
    limit: u64,
}

impl<'a, E: Encode> Executor<'a, E> {
    /// Creates an executor for batches of `limit` bytes.
    pub(crate) fn new(encoder: E, limit: u64, monitor: &'a dyn Monitor) -> Self {
        Executor { encoder, monitor, waiting: Vec::new(), len: 0, limit }
    }

    /// Takes an item of `len` bytes, and writes the batch if it is full.
    ///
    /// # Errors
    /// Encoding or writing fails, or the monitor cancelled.
    pub(crate) fn push<W: Write>(
        &mut self,
        item: E::Item,
        len: u64,
        writer: &mut GenerationWriter<'_, W>,
    ) -> Result<()> {
        self.waiting.push(item);
        self.len += len;
        if self.len < self.limit { Ok(()) } else { self.flush(writer) }
    }

    /// Writes all items so far.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub(crate) fn flush<W: Write>(&mut self, writer: &mut GenerationWriter<'_, W>) -> Result<()> {
        self.len = 0;
        let batch = std::mem::take(&mut self.waiting);
        let encoded = self.encoder.encode(batch, self.monitor)?;
        encoded.into_iter().try_for_each(|encoded| self.encoder.write(encoded, writer))
    }

    /// Writes all items, and returns the encoder.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub(crate) fn finish<W: Write>(mut self, writer: &mut GenerationWriter<'_, W>) -> Result<E> {
        self.flush(writer)?;
        Ok(self.encoder)
    }
}

/// Does `work` for each item, in parallel. Returns the results in the order of the items.
///
/// # Errors
/// The first error in that order; [`ErrorKind::Interrupted`] if the monitor cancelled.
pub(crate) fn for_all<I, R>(
    items: I,
    monitor: &dyn Monitor,
    work: impl Fn(I::Item) -> Result<R> + Sync + Send,
) -> Result<Vec<R>>
where
    I: IntoParallelIterator,
    I::Iter: IndexedParallelIterator,
    R: Send,
{
    let one = |item| {
        if monitor.is_cancelled() { Err(ErrorKind::Interrupted.into()) } else { work(item) }
    };
    // All results are collected before the first error is looked for: which error is reported does not depend on
    // the threads.
    items.into_par_iter().map(one).collect::<Vec<Result<R>>>().into_iter().collect()
}
