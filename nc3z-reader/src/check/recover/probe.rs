//! Blocks found without an index: every marker whose header checksum holds (`spec/archive.md`, "Probing").
//!
//! One pass over the bytes. The search continues after an intact block, so that nothing inside a payload is
//! taken for a block. The cost is linear in the length of the file, for any content.

use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::source::ByteSource;
use crate::source::lenient::Lenient;
use crate::tile::ProbedBlock;
use nc3z_format::archive::constants::BLOCK_MARKER;
use nc3z_format::archive::{BLOCK_HEADER_LEN, BlockHeader, Salt, align8};

/// Bytes searched in one step.
const WINDOW_LEN: usize = 1 << 20;

/// Finds the blocks of a range, in order.
pub(crate) struct Probe<'a> {
    lenient: &'a Lenient<'a>,
    salt: Salt,
    at: u64,
    end: u64,
    /// Bytes that were read ahead, from `window_at`.
    window: Vec<u8>,
    window_at: u64,
}

impl<'a> Probe<'a> {
    /// Blocks that begin at multiples of 8 in `[begin, end)` and end there too.
    pub(crate) fn new(lenient: &'a Lenient<'a>, salt: Salt, begin: u64, end: u64) -> Self {
        let begin = align8(begin);
        Probe { lenient, salt, at: begin, end: end.min(lenient.len()), window: Vec::new(), window_at: begin }
    }

    /// The next intact header at or after the current place. The bytes before it are not a block.
    ///
    /// # Errors
    /// A cancelled monitor.
    pub(crate) fn next(&mut self, monitor: &dyn Monitor) -> Result<Option<ProbedBlock>> {
        let header_len = BLOCK_HEADER_LEN as u64;
        while self.at.checked_add(header_len).is_some_and(|end| end <= self.end) {
            let from = self.window_from();
            let Some(from) = from else {
                if monitor.is_cancelled() {
                    return Err(Error::interrupted());
                }
                self.load();
                continue;
            };
            // The last place in the window where a complete header fits.
            let last = self.window.len() - BLOCK_HEADER_LEN;
            let hit = (from..=last).step_by(8).find(|&at| self.window[at..at + 4] == BLOCK_MARKER);
            let Some(hit) = hit else {
                self.at += ((last - from) / 8 * 8 + 8) as u64;
                continue;
            };
            let offset = self.at + (hit - from) as u64;
            self.at = offset + 8;
            let bytes: &[u8; BLOCK_HEADER_LEN] =
                self.window[hit..hit + BLOCK_HEADER_LEN].try_into().expect("`last` leaves room for a header");
            let Ok((header, check)) = BlockHeader::decode(bytes, &self.salt, offset) else { continue };
            let found = ProbedBlock { offset, header, check };
            if found.end() <= self.end {
                self.at = align8(found.end());
                return Ok(Some(found));
            }
        }
        self.at = self.at.max(self.end);
        Ok(None)
    }

    /// The position of the current place in the window, if the window has a complete header there.
    fn window_from(&self) -> Option<usize> {
        let from = usize::try_from(self.at.checked_sub(self.window_at)?).ok()?;
        (from.checked_add(BLOCK_HEADER_LEN)? <= self.window.len()).then_some(from)
    }

    fn load(&mut self) {
        // After a block only a few bytes are read first: the next header is usually there.
        let follows = self.at == self.window_at + self.window.len() as u64
            || self.window_at + self.window.len() as u64 > self.at;
        let want = if follows && !self.window.is_empty() { WINDOW_LEN } else { 4096 };
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        self.window.resize(want.min(left), 0);
        self.window_at = self.at;
        self.lenient.read(self.at, &mut self.window);
    }
}
