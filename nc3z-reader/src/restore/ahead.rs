//! Stored bytes for the next windows, fetched while the earlier windows are decoded.

use crate::archive::Archive;
use crate::error::Result;
use crate::parallel::Beside;
use crate::source::Nearby;
use nc3z_format::archive::ArrayId;
use nc3z_format::array::{TileKey, tiles_of_original};
use std::collections::VecDeque;
use std::ops::Range;

/// Bytes of the original whose tiles are fetched together, in all spans but the first ones.
const SPAN_LEN: u64 = 64 << 20;
/// Length of the first span: not every stream is read to its end.
const FIRST_LEN: u64 = 8 << 20;
/// Largest number of windows of tiles in one span. Further tiles are read when they are needed.
const MOST_WINDOWS: usize = 4;

/// The stored bytes that were fetched, and those that are being fetched.
#[derive(Default)]
pub(super) struct Ahead {
    /// The fetched bytes, each with the byte of the original up to which they suffice.
    spans: VecDeque<(u64, Nearby)>,
    /// The tiles of the last span. Those that extend into the next span are held when it begins.
    last: Vec<TileKey>,
    /// Length of the previous span in bytes.
    span_len: u64,
    /// The span that is being fetched.
    coming: Option<(u64, Beside<Result<Nearby>>)>,
}

impl Ahead {
    /// The stored bytes that a window needs, or none if the source is local. Windows come in order.
    /// `is_apart` returns true for arrays that are fetched separately.
    ///
    /// # Errors
    /// Another object is in the place of the source.
    pub(super) fn fetch(
        &mut self,
        archive: &Archive,
        window: Range<u64>,
        is_apart: impl Fn(ArrayId) -> bool,
    ) -> Result<Nearby> {
        if !archive.inner.store.fetches_ahead() {
            return Ok(Nearby::default());
        }
        self.spans.retain(|(end, _)| *end > window.start);
        while self.end(&window) < window.end {
            let span = if let Some((end, coming)) = self.coming.take() {
                (end, coming.wait()?)
            } else {
                let (end, keys) = self.plan(archive, self.end(&window), &is_apart)?;
                (end, fetch(archive, &keys)?)
            };
            self.spans.push_back(span);
        }
        self.begin_next(archive, &window, &is_apart)?;
        Ok(self.spans.iter().fold(Nearby::default(), |all, (_, nearby)| all.and(nearby)))
    }

    /// The byte of the original up to which bytes have been fetched.
    fn end(&self, window: &Range<u64>) -> u64 {
        self.spans.back().map_or(window.start, |(end, _)| *end)
    }

    /// The tiles of the span that begins at a byte, and the end of the span.
    fn plan(
        &mut self,
        archive: &Archive,
        begin: u64,
        is_apart: &impl Fn(ArrayId) -> bool,
    ) -> Result<(u64, Vec<TileKey>)> {
        self.span_len = (self.span_len * 2).clamp(FIRST_LEN, SPAN_LEN);
        let end = begin.saturating_add(self.span_len).min(archive.original_len());
        let mut keys = tiles_of_original(archive.layout(), archive.arrays(), begin..end)?;
        let before = std::mem::replace(&mut self.last, keys.clone());
        keys.retain(|key| !is_apart(key.array) && before.binary_search(key).is_err());
        Ok((end, keys))
    }

    /// Fetches the next span on a separate thread, which mainly waits.
    fn begin_next(
        &mut self,
        archive: &Archive,
        window: &Range<u64>,
        is_apart: &impl Fn(ArrayId) -> bool,
    ) -> Result<()> {
        let begin = self.end(window);
        if self.coming.is_none() && begin < archive.original_len() {
            let (end, keys) = self.plan(archive, begin, is_apart)?;
            let archive = archive.clone();
            self.coming = Some((end, Beside::begin(move || fetch(&archive, &keys))));
        }
        Ok(())
    }
}

/// Fetches the bytes that these tiles need, window by window.
fn fetch(archive: &Archive, mut keys: &[TileKey]) -> Result<Nearby> {
    let mut nearby = Nearby::default();
    for _ in 0..MOST_WINDOWS {
        if keys.is_empty() {
            break;
        }
        let (taken, fetched) = archive.inner.store.fetch(keys)?;
        nearby = nearby.and(&fetched);
        keys = &keys[taken.min(keys.len())..];
    }
    Ok(nearby)
}
