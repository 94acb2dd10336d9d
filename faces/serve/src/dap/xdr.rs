//! Values in XDR. Big-endian int, float and double are unchanged. Short is widened, and bytes are padded to a
//! multiple of four.

use super::{Asked, Projection, variable};
use crate::failure::{Answer, Failure};
use crate::pieces::{PIECE_LEN, Pieces, pieces_of};
use bytes::Bytes;
use nc3z_format::{Hyperslab, NcType};
use nc3z_reader::Variable;
use std::collections::VecDeque;

/// The maximal number of elements of an array that a client can count.
const ELEMENTS: u64 = i32::MAX as u64;

/// All requested values, one after the other.
pub(crate) struct Values {
    asked: Asked,
    /// The projection that is being sent, and its remaining pieces.
    at: usize,
    left: VecDeque<Hyperslab>,
    /// The number of bytes sent of the variable's values: an array of bytes is padded at its end, and a piece may end within a string.
    bytes: u64,
    begun: bool,
    len: u64,
}

impl Values {
    pub(crate) fn new(asked: Asked) -> Answer<Self> {
        let mut len = 0_u64;
        for projection in &asked.projections {
            let variable = variable(&asked, projection);
            // If the file does not have the elements, the error comes before anything is sent.
            variable.plan(&projection.slab)?;
            let Some(more) = encoded_len(&variable, projection) else {
                let why =
                    format!("`{}` has more elements than DAP2 can count; ask for a part", variable.name());
                return Err(Failure::bad(why));
            };
            len = len.saturating_add(more);
        }
        Ok(Values { asked, at: 0, left: VecDeque::new(), bytes: 0, begun: false, len })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }
}

impl Pieces for Values {
    fn next(&mut self) -> Answer<Option<Bytes>> {
        let mut out = Vec::new();
        while (out.len() as u64) < PIECE_LEN / 2 {
            let Some(projection) = self.asked.projections.get(self.at) else { break };
            let variable = variable(&self.asked, projection);
            let whole = &projection.slab;
            if !self.begun {
                self.begun = true;
                self.bytes = 0;
                self.left = pieces_of(whole, piece_elements(&variable));
                head(&mut out, &variable, whole);
            }
            if let Some(slab) = self.left.pop_front() {
                let values = variable.read_bytes(&slab)?;
                encode(&mut out, &variable, whole, self.bytes, &values);
                self.bytes += values.len() as u64;
                continue;
            }
            if is_bytes(variable.ty()) && !whole.count.is_empty() {
                out.resize(out.len() + padding(self.bytes), 0);
            }
            self.begun = false;
            self.at += 1;
        }
        Ok((!out.is_empty()).then(|| out.into()))
    }
}

fn is_bytes(ty: NcType) -> bool {
    matches!(ty, NcType::Byte | NcType::UByte)
}

/// The number of bytes that pad to a multiple of four.
fn padding(len: u64) -> usize {
    usize::try_from(len.wrapping_neg() % 4).expect("less than four")
}

/// The length of each string of text, and the number of them.
fn strings(variable: &Variable, slab: &Hyperslab) -> (u64, u64) {
    let width = slab.count.last().copied().unwrap_or(1);
    let rank = variable.shape().len();
    (width, slab.count.iter().take(rank.saturating_sub(1)).product())
}

/// The number of bytes of an encoded array; nothing if it cannot be counted.
fn encoded_len(variable: &Variable, projection: &Projection) -> Option<u64> {
    let slab = &projection.slab;
    let is_scalar = slab.count.is_empty();
    let elements = slab.count.iter().try_fold(1_u64, |n, count| n.checked_mul(*count))?;
    if elements > ELEMENTS {
        return None;
    }
    Some(match variable.ty() {
        NcType::Char => {
            let (width, count) = strings(variable, slab);
            if width > ELEMENTS || count > ELEMENTS {
                return None;
            }
            let each = 4 + width + padding(width) as u64;
            (if slab.count.len() > 1 { 4 } else { 0 }) + each * count
        }
        ty => {
            let width = if is_bytes(ty) { 1 } else { ty.size().max(4) as u64 };
            let data = elements * width;
            (if is_scalar { 0 } else { 8 }) + data + padding(data) as u64
        }
    })
}

/// Writes the prefix of the values: their number, twice; for strings in arrays, once.
fn head(out: &mut Vec<u8>, variable: &Variable, slab: &Hyperslab) {
    let count = |n: u64| u32::try_from(n).expect("checked before anything is sent").to_be_bytes();
    if variable.ty() == NcType::Char {
        if slab.count.len() > 1 {
            out.extend(count(strings(variable, slab).1));
        } else if slab.count.contains(&0) {
            // A string without characters has no piece.
            out.extend(count(0));
        }
    } else if !slab.count.is_empty() {
        let n = count(slab.count.iter().product());
        out.extend([n, n].concat());
    }
}

/// Encodes the values behind the first `before` bytes.
fn encode(out: &mut Vec<u8>, variable: &Variable, whole: &Hyperslab, before: u64, values: &[u8]) {
    match variable.ty() {
        NcType::Char => {
            let width = strings(variable, whole).0.max(1);
            let len = u32::try_from(width).expect("checked before anything is sent").to_be_bytes();
            let (mut at, mut rest) = (before % width, values);
            while !rest.is_empty() {
                if at == 0 {
                    out.extend(len);
                }
                let step = usize::try_from(width - at).map_or(rest.len(), |left| left.min(rest.len()));
                out.extend(&rest[..step]);
                (at, rest) = (at + step as u64, &rest[step..]);
                if at == width {
                    out.resize(out.len() + padding(width), 0);
                    at = 0;
                }
            }
        }
        // A single byte is a number of four bytes; bytes of an array are packed.
        NcType::Byte | NcType::UByte if whole.count.is_empty() => {
            out.extend([0, 0, 0]);
            out.extend(values);
        }
        NcType::Short => {
            for value in values.chunks_exact(2) {
                let value = i16::from_be_bytes([value[0], value[1]]);
                out.extend(i32::from(value).to_be_bytes());
            }
        }
        NcType::UShort => {
            for value in values.chunks_exact(2) {
                out.extend([0, 0, value[0], value[1]]);
            }
        }
        _ => out.extend(values),
    }
}

/// The number of elements of a piece. A piece may end within a string.
fn piece_elements(variable: &Variable) -> u64 {
    (PIECE_LEN / variable.ty().size().max(4) as u64).max(1)
}
