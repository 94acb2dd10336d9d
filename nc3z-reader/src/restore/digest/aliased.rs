//! Variables that own no bytes: their values are read from the file, one variable after another.

use super::stream::{Trees, absorb, hasher};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::source::ByteSource;
use nc3z_format::Error as FormatError;
use nc3z_format::archive::ArrayId;
use nc3z_format::array_table::byte_run;
use nc3z_format::classic::{Layout, VarId, VarLayout};
use nc3z_format::digest::ValuesHasher;

/// Bytes of the file that are read at a time.
const PIECE_LEN: u64 = 8 << 20;
/// Runs with a length and a distance below this are read many at a time.
const SHORT_RUN: u64 = 64 << 10;
/// Bytes that are read at a time for short runs.
const WINDOW_LEN: u64 = 1 << 20;
/// Aliased variables may span this multiple of the file's length in total, plus [`FREE_LEN`]. A header of one
/// megabyte can define ten thousand variables that each span the whole file.
const MAX_SPANS: u64 = 64;
/// Bytes that aliased variables may span in any file: a few seconds of work.
const FREE_LEN: u64 = 8 << 30;

fn aliased(layout: &Layout) -> impl Iterator<Item = (VarId, &VarLayout)> {
    (0..).map(VarId).zip(&layout.variables).filter(|(_, v)| !v.owned && v.present > 0)
}

/// Refuses a file whose aliased variables together are out of proportion to its length.
pub(super) fn check_work(layout: &Layout) -> Result<()> {
    let limit = layout.file_len.saturating_mul(MAX_SPANS).saturating_add(FREE_LEN);
    let span = |v: &VarLayout| v.element_run(v.present - 1).map_or(0, |last| last.offset - v.begin);
    let spans = aliased(layout).fold(0_u64, |sum, (_, v)| sum.saturating_add(span(v)));
    if spans > limit {
        let what = "bytes spanned by variables that overlap others";
        return Err(FormatError::limit("digest", None, what, limit, spans).into());
    }
    Ok(())
}

/// Fills in the trees of all aliased variables.
pub(super) fn fill(
    layout: &Layout,
    source: &dyn ByteSource,
    monitor: &dyn Monitor,
    trees: &mut Trees,
) -> Result<()> {
    // One window for all variables: if a million variables are the same bytes, these are read once.
    let mut window = Window { source, begin: 0, bytes: Vec::new() };
    for (id, v) in aliased(layout) {
        if monitor.is_cancelled() {
            return Err(Error::interrupted());
        }
        let hasher = hash(layout, id, v, trees.nodes.is_some(), &mut window, monitor)?;
        trees.put(id, hasher);
    }
    Ok(())
}

fn hash(
    layout: &Layout,
    id: VarId,
    v: &VarLayout,
    tree: bool,
    window: &mut Window<'_>,
    monitor: &dyn Monitor,
) -> Result<ValuesHasher> {
    let mut hasher = hasher(layout, id, tree);
    let total = v.present * v.element_size();
    let mut at = 0;
    while at < total {
        let (offset, run) =
            byte_run(layout, ArrayId::variable(id.0), at).expect("the present part is inside the file");
        let run = run.min(PIECE_LEN).min(total - at);
        let ahead = if run < SHORT_RUN && v.stride < SHORT_RUN { WINDOW_LEN } else { run };
        if window.fill(offset, run, ahead)? && monitor.is_cancelled() {
            return Err(Error::interrupted());
        }
        absorb(&mut hasher, window.bytes(offset, run));
        at += run;
    }
    Ok(hasher)
}

/// The part of the file that was read last.
struct Window<'a> {
    source: &'a dyn ByteSource,
    begin: u64,
    bytes: Vec<u8>,
}

impl Window<'_> {
    /// Reads `[offset, offset + len)` into the window, and `ahead` bytes, unless the window has them. Returns
    /// true if it read.
    fn fill(&mut self, offset: u64, len: u64, ahead: u64) -> Result<bool> {
        if self.begin <= offset && offset + len <= self.begin + self.bytes.len() as u64 {
            return Ok(false);
        }
        let take = ahead.max(len).min(self.source.len() - offset);
        self.bytes.resize(usize::try_from(take).expect("at most PIECE_LEN"), 0);
        self.begin = offset;
        if let Err(e) = self.source.read_into(offset, &mut self.bytes) {
            self.bytes.clear();
            return Err(e);
        }
        Ok(true)
    }

    fn bytes(&self, offset: u64, len: u64) -> &[u8] {
        let at = |x: u64| usize::try_from(x).expect("inside the window");
        &self.bytes[at(offset - self.begin)..at(offset - self.begin + len)]
    }
}
