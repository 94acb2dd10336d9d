//! The original file as a forward stream of windows, in parallel and in bounded memory.
//!
//! A window is a byte range of the original, filled by [`super::window`]. Tiles inside a window are decoded in
//! place, in parallel. Tiles that extend into other windows are decoded once and held until the stream has passed them. Record
//! variables interleave: their tiles together hold at most 64 MiB (a rule of the writer), which limits the
//! held bytes. [`super::chunks`] handles chunks. The stored bytes of the next windows are fetched meanwhile,
//! where the source says that this saves time ([`super::ahead`]).

use super::ahead::Ahead;
use super::chunks::{Chunks, is_chunked};
use super::retained_tiles::RetainedTiles;
use super::window;
use crate::archive::Archive;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::parallel;
use nc3z_format::classic::{Segment, SegmentKind};

/// Bytes of a window for each thread, unless one tile is larger: small enough that what was decoded is still in the
/// cache when it is hashed and written.
const WINDOW_LEN: u64 = 2 << 20;

/// The original file window by window, in order.
///
/// ```
/// # let archive = nc3z_reader::Archive::open("../testdata/archives/v1_0_0/etopo120.fast.nc3z".as_ref())?;
/// let mut stream = archive.restore_stream();
/// let (mut window, mut original) = (Vec::new(), Vec::new());
/// loop {
///     stream.next_window(&mut window)?;
///     if window.is_empty() {
///         break;
///     }
///     original.extend_from_slice(&window);
/// }
/// assert_eq!(original.len() as u64, archive.original_len());
/// # Ok::<(), nc3z_reader::Error>(())
/// ```
pub struct RestoreStream {
    archive: Archive,
    /// Decoded tiles that later windows need again.
    held: RetainedTiles,
    /// The way in which chunked arrays are restored, decided with the first window.
    chunks: Option<Chunks>,
    /// Stored bytes fetched for later windows.
    ahead: Ahead,
    at: u64,
    window_len: u64,
    /// The stream is refused if the archive holds lost tiles ([`Archive::require_whole`]).
    needs_whole: bool,
}

impl Archive {
    /// The original file as a stream of windows. The first window is an error if the archive holds lost tiles
    /// ([`Archive::require_whole`]).
    pub fn restore_stream(&self) -> RestoreStream {
        RestoreStream { needs_whole: true, ..self.restore_stream_from(0) }
    }

    /// The original file from byte `at` on, as a stream of windows.
    pub(crate) fn restore_stream_from(&self, at: u64) -> RestoreStream {
        RestoreStream {
            archive: self.clone(),
            held: RetainedTiles::default(),
            chunks: None,
            ahead: Ahead::default(),
            at,
            window_len: WINDOW_LEN * parallel::threads() as u64,
            needs_whole: false,
        }
    }

    /// Passes the original file's bytes to `sink`, window after window, in order. The next window is restored
    /// while the sink works, if rayon's current pool has more than one thread.
    ///
    /// # Errors
    /// Damage, lost tiles ([`Archive::require_whole`]), a cancelled monitor, and errors of the sink.
    pub fn restore_into<E: From<Error> + Send>(
        &self,
        monitor: &dyn Monitor,
        sink: &mut (dyn FnMut(u64, &[u8]) -> Result<(), E> + Send),
    ) -> Result<(), E> {
        self.require_whole()?;
        self.windows_into(monitor, sink)
    }

    /// As [`Archive::restore_into`], also where the archive holds lost tiles.
    pub(super) fn windows_into<E: From<Error> + Send>(
        &self,
        monitor: &dyn Monitor,
        sink: &mut (dyn FnMut(u64, &[u8]) -> Result<(), E> + Send),
    ) -> Result<(), E> {
        let mut stream = self.restore_stream_from(0);
        let mut offset = 0;
        let (mut ready, mut spare) = (Vec::new(), Vec::new());
        stream.next_window(&mut ready)?;
        while !ready.is_empty() {
            if monitor.is_cancelled() {
                return Err(Error::interrupted().into());
            }
            let len = ready.len() as u64;
            if parallel::threads() > 1 {
                let (written, next) =
                    parallel::join(|| sink(offset, &ready), || stream.next_window(&mut spare));
                written?;
                next?;
                std::mem::swap(&mut ready, &mut spare);
            } else {
                sink(offset, &ready)?;
                stream.next_window(&mut ready)?;
            }
            offset += len;
            monitor.advance(len);
        }
        Ok(())
    }
}

impl RestoreStream {
    /// Fills `window` with the next bytes of the original. The window is empty at the end of the file.
    ///
    /// # Errors
    /// Damage, with its place.
    pub fn next_window(&mut self, window: &mut Vec<u8>) -> Result<()> {
        if self.chunks.is_none() {
            if self.needs_whole {
                self.archive.require_whole()?;
            }
            self.chunks = Some(Chunks::new(&self.archive)?);
        }
        let begin = self.at;
        let end = self.window_end(begin);
        window.resize(usize::try_from(end - begin).expect("a window fits in memory"), 0);
        let chunks = self.chunks.as_ref();
        let nearby = self.ahead.fetch(&self.archive, begin..end, |array| {
            chunks.is_some_and(|chunks| chunks.fetches_itself(array))
        })?;
        let chunks = self.chunks.as_mut().expect("made above");
        window::fill(&self.archive, chunks, &mut self.held, &nearby, begin, window)?;
        chunks.release(&self.archive, end);
        self.held.release(&self.archive.inner.store, self.archive.layout(), end);
        self.at = end;
        Ok(())
    }

    /// The end of the window that begins at `begin`: about `window_len` bytes later, at a border of tiles or
    /// records.
    fn window_end(&self, begin: u64) -> u64 {
        let (store, inner) = (&self.archive.inner.store, &self.archive.inner);
        let len = inner.trailer.original_len;
        let target = begin.saturating_add(self.window_len).min(len);
        let border = match inner.layout.segment_at(target.saturating_sub(1).max(begin)) {
            Some(&Segment { kind: SegmentKind::Fixed(var), offset, .. }) => {
                let info = store.arrays.variable(var);
                if is_chunked(info) {
                    let chunks = self.chunks.as_ref().expect("next_window made it");
                    let border = chunks.border(info.id, begin.saturating_sub(offset), target - offset);
                    return border.map_or(target, |border| offset + border);
                }
                info.linear_tile_len().map(|tile| {
                    let done = (target - offset) / tile * tile;
                    // At least one tile after the beginning of the window.
                    let done =
                        if offset + done > begin { done } else { (begin - offset) / tile * tile + tile };
                    (offset + done).min(offset + info.total_bytes())
                })
            }
            Some(&Segment { kind: SegmentKind::Records, .. }) => inner.layout.records.as_ref().map(|r| {
                let done = (target - r.begin) / r.stride;
                if r.begin + done * r.stride > begin { r.begin + done * r.stride } else { target }
            }),
            _ => None,
        };
        border.unwrap_or(target).clamp(begin.saturating_add(1), len.max(begin.saturating_add(1))).min(len)
    }
}
