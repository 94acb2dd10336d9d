//! Stored bytes for the windows to come, fetched while the ones before are decoded.

use crate::archive::Archive;
use crate::error::Result;
use crate::parallel::Beside;
use crate::source::Near;
use nc3z_format::archive::ArrayId;
use nc3z_format::array::{TileKey, tiles_of_original};
use std::collections::VecDeque;
use std::ops::Range;

/// Bytes of the original whose tiles are fetched together, once the stream has gone on for a while.
const SPAN_LEN: u64 = 64 << 20;
/// The same where it begins: not every stream is read to its end.
const FIRST_LEN: u64 = 8 << 20;
/// Windows of tiles that one span is at most; what is beyond is read when it is needed.
const MOST_WINDOWS: usize = 4;

/// What was fetched, and what is on its way.
#[derive(Default)]
pub(super) struct Ahead {
    /// By the byte of the original up to which they reach.
    spans: VecDeque<(u64, Near)>,
    /// The tiles of the last span; those that reach into the next are held when it comes.
    last: Vec<TileKey>,
    /// Bytes of the span before.
    span_len: u64,
    /// The span that is being fetched.
    coming: Option<(u64, Beside<Result<Near>>)>,
}

impl Ahead {
    /// The stored bytes that a window needs: nothing, where the source is local. Windows come in order. `is_apart` tells the arrays
    /// that are fetched otherwise.
    ///
    /// # Errors
    /// Another object stands in the place of the source.
    pub(super) fn fetch(
        &mut self,
        archive: &Archive,
        window: Range<u64>,
        is_apart: impl Fn(ArrayId) -> bool,
    ) -> Result<Near> {
        if !archive.inner.store.fetches_ahead() {
            return Ok(Near::default());
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
        Ok(self.spans.iter().fold(Near::default(), |all, (_, near)| all.and(near)))
    }

    /// Up to where there is something.
    fn end(&self, window: &Range<u64>) -> u64 {
        self.spans.back().map_or(window.start, |(end, _)| *end)
    }

    /// The tiles of the span that begins at a byte, and where it ends.
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

    /// Fetches the next span on a thread of its own: it waits more than it works.
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

/// What these tiles need, window by window of them.
fn fetch(archive: &Archive, mut keys: &[TileKey]) -> Result<Near> {
    let mut near = Near::default();
    for _ in 0..MOST_WINDOWS {
        if keys.is_empty() {
            break;
        }
        let (taken, fetched) = archive.inner.store.fetch(keys)?;
        near = near.and(&fetched);
        keys = &keys[taken.min(keys.len())..];
    }
    Ok(near)
}
