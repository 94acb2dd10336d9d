//! Reads a variable's values in row-major order, in pieces: from an archive or a classic file, complete or
//! truncated.

use nc3z_format::Error;
use nc3z_format::classic::{VarId, VarLayout};
use nc3z_format::tile::TileLayout;
use nc3z_reader::{Dataset, Result, Variable};

/// The number of bytes read at once: enough to decode several tiles in parallel.
const PIECE_LEN: u64 = 4 << 20;
/// The maximal number of bytes read at once, for large chunks: a row of chunks should be decoded only once.
const MAX_PIECE_LEN: u64 = 64 << 20;

/// Reads one variable from its first value to its last.
#[derive(Debug)]
pub struct Feed<'a> {
    dataset: &'a Dataset,
    id: VarId,
    place: &'a VarLayout,
    /// All bytes according to the header, the bytes of complete elements in the file, and the number of these
    /// that were returned.
    total: u64,
    present: u64,
    at: u64,
    piece_len: u64,
    buffer: Vec<u8>,
}

impl<'a> Feed<'a> {
    /// Begins at the first value of a variable.
    ///
    /// # Errors
    /// Its header claims too many bytes; its tiling cannot be read.
    pub fn new(dataset: &'a Dataset, id: VarId) -> Result<Self> {
        let place = &dataset.layout().variables[id.index()];
        let size = place.element_size();
        let total = place.elements.and_then(|n| n.checked_mul(size));
        let total = total.ok_or_else(|| {
            let name = dataset.header().variables[id.index()].name_lossy();
            Error::invalid(format!("variable `{name}` claims 2^64 bytes or more"))
        })?;
        let piece_len = piece_len(&dataset.variable_at(id).expect("the header has the variable"))?;
        let present = place.present * size;
        Ok(Feed { dataset, id, place, total, present, at: 0, piece_len, buffer: Vec::new() })
    }

    /// Returns the number of values according to the header.
    pub fn value_count(&self) -> u64 {
        self.total / self.place.element_size()
    }

    /// Returns the number of values that the file does not contain completely.
    pub fn missing(&self) -> u64 {
        (self.total - self.present) / self.place.element_size()
    }

    /// Returns the next complete values; `None` after the last.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn next_piece(&mut self) -> Result<Option<&[u8]>> {
        let len = self.piece_len.min(self.total - self.at);
        if len == 0 {
            return Ok(None);
        }
        let len = usize::try_from(len).expect("a piece is short");
        self.buffer.resize(len, 0);
        let here = usize::try_from(self.present.saturating_sub(self.at)).map_or(len, |n| n.min(len));
        let (present, absent) = self.buffer.split_at_mut(here);
        self.dataset.source().read_range(self.id, self.at, present)?;
        absent.fill(0);
        if !absent.is_empty() && self.at + here as u64 == self.present {
            self.read_cut_element(here)?;
        }
        self.at += len as u64;
        Ok(Some(&self.buffer))
    }

    /// Reads the element that the end of the file cuts: only its first bytes exist.
    fn read_cut_element(&mut self, at: usize) -> Result<()> {
        let (place, size) = (self.place, self.place.element_size());
        let (record, within) = if place.is_record {
            (place.present / place.slot_elements(), place.present % place.slot_elements())
        } else {
            (0, place.present)
        };
        let offset = record
            .checked_mul(place.stride)
            .and_then(|begin| begin.checked_add(within * size)?.checked_add(place.begin));
        let left = offset.and_then(|offset| self.dataset.original_len().checked_sub(offset)).unwrap_or(0);
        let Some(offset) = offset.filter(|_| left > 0) else { return Ok(()) };
        let out =
            &mut self.buffer[at..at + usize::try_from(left.min(size - 1)).expect("an element is short")];
        self.dataset.read_bytes(offset, out)
    }
}

/// Returns the number of bytes to read at once: whole tiles, whole rows of chunks.
fn piece_len(variable: &Variable) -> Result<u64> {
    let size = variable.ty().size() as u64;
    let unit = match variable.tiling()?.layout() {
        TileLayout::Linear { len } => len.saturating_mul(size),
        TileLayout::Chunked { shape: chunk, .. } => {
            let level = chunk.iter().position(|&n| n > 1).unwrap_or(0);
            let inner = variable.shape().iter().skip(level + 1).copied();
            inner.fold(size.saturating_mul(chunk.get(level).copied().unwrap_or(1)), u64::saturating_mul)
        }
    };
    if unit == 0 || unit > MAX_PIECE_LEN {
        return Ok(PIECE_LEN);
    }
    Ok(unit * (PIECE_LEN / unit).max(1))
}
