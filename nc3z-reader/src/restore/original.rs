//! The original file inside an archive, as a byte source: what reads classic files reads archives too.

use super::stream::RestoreStream;
use crate::archive::Archive;
use crate::error::Result;
use crate::source::{ByteSource, check_range};
use std::sync::Mutex;

/// A read that begins at most this many bytes after the stream's place waits for the stream.
const SKIP_LEN: u64 = 16 << 20;

/// The original file's bytes, restored on demand.
///
/// Forward reads use one forward stream, so that each tile is decoded once even if variables interleave.
/// Other reads decode the tiles that they touch. Memory is that of a stream (see [`RestoreStream`]).
pub struct OriginalSource {
    archive: Archive,
    stream: Mutex<Stream>,
}

/// The forward stream between two reads.
#[derive(Default)]
struct Stream {
    /// None before the first window, and after one that failed.
    forward: Option<RestoreStream>,
    /// The window that was restored last, and where it begins.
    window: Vec<u8>,
    begin: u64,
    /// The end of the last read. A read that begins here is a forward read.
    last_end: u64,
}

impl Archive {
    /// The original file as a byte source: what reads classic files reads it too.
    pub fn original(&self) -> OriginalSource {
        OriginalSource::new(self.clone())
    }
}

impl OriginalSource {
    /// The original of this archive.
    pub fn new(archive: Archive) -> Self {
        OriginalSource { archive, stream: Mutex::new(Stream::default()) }
    }

    /// Returns the archive.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }
}

impl Stream {
    fn end(&self) -> u64 {
        self.begin + self.window.len() as u64
    }

    fn read(&mut self, archive: &Archive, offset: u64, buf: &mut [u8]) -> Result<()> {
        let is_ahead = self.begin <= offset && offset <= self.end().saturating_add(SKIP_LEN);
        if !is_ahead && offset != self.last_end {
            self.last_end = offset + buf.len() as u64;
            return archive.read_original(offset, buf);
        }
        if !is_ahead {
            // The second read of a row begins a stream here.
            *self = Stream { begin: offset, ..Stream::default() };
        }
        let mut done = 0;
        while done < buf.len() {
            let at = offset + done as u64;
            if at >= self.end() {
                self.advance(archive)?;
                continue;
            }
            let from = usize::try_from(at - self.begin).expect("inside the window");
            let n = (buf.len() - done).min(self.window.len() - from);
            buf[done..done + n].copy_from_slice(&self.window[from..from + n]);
            done += n;
        }
        self.last_end = offset + buf.len() as u64;
        Ok(())
    }

    fn advance(&mut self, archive: &Archive) -> Result<()> {
        let end = self.end();
        let mut stream = self.forward.take().unwrap_or_else(|| archive.restore_stream_from(end));
        // If this fails, no part of the stream can be mistaken for data.
        self.begin = end;
        let mut window = std::mem::take(&mut self.window);
        stream.next_window(&mut window)?;
        self.window = window;
        self.forward = Some(stream);
        Ok(())
    }
}

impl ByteSource for OriginalSource {
    fn len(&self) -> u64 {
        self.archive.original_len()
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        check_range(self.len(), offset, buf.len())?;
        // Never wait: the thread that holds the stream may be decoding in the pool to which this thread
        // belongs.
        match self.stream.try_lock() {
            Ok(mut stream) => stream.read(&self.archive, offset, buf),
            Err(_) => self.archive.read_original(offset, buf),
        }
    }
}
