//! Encodes the stored form of a dictionary.

use super::bits::put_varint;
use super::plan::{Coder, EncodePlan};
use super::tile::encode_tile;
use crate::dictionary::Dictionary;
use crate::element::ElementType;
use crate::error::{Error, Result};
use crate::geometry::{DeltaAxes, Geometry};
use crate::scratch::Scratch;
use crate::word::Word;

impl Dictionary {
    /// Returns the stored form: a count, then a payload of this codec.
    ///
    /// # Errors
    /// The dictionary has words of another width.
    pub fn encode_definition(&self, ty: ElementType) -> Result<Vec<u8>> {
        self.encode_at(ty, 9, &mut Scratch::new())
    }

    /// Estimates the bytes of the stored form; quicker than encoding it.
    pub(crate) fn definition_estimate(&self, ty: ElementType, scratch: &mut Scratch) -> Result<u64> {
        Ok(self.encode_at(ty, 3, scratch)?.len() as u64)
    }

    fn encode_at(&self, ty: ElementType, level: i32, scratch: &mut Scratch) -> Result<Vec<u8>> {
        match ty.size() {
            1 => self.encode_words::<u8>(ty, level, scratch),
            2 => self.encode_words::<u16>(ty, level, scratch),
            4 => self.encode_words::<u32>(ty, level, scratch),
            _ => self.encode_words::<u64>(ty, level, scratch),
        }
    }

    fn encode_words<W: Word>(&self, ty: ElementType, level: i32, scratch: &mut Scratch) -> Result<Vec<u8>> {
        let words = self.patterns::<W>();
        if words.len() != self.len() {
            return Err(Error::invalid("the dictionary is of another type"));
        }
        let mut best: Option<Vec<u8>> = None;
        for coder in [Coder::Ctx, Coder::Planes] {
            let plan = EncodePlan { axes: DeltaAxes::NEIGHBOURS, coder, level, ..EncodePlan::default() };
            let mut out = Vec::new();
            put_varint(&mut out, self.len() as u64);
            encode_tile(words, (ty, &Geometry::default()), &plan, None, scratch, &mut out)?;
            if best.as_ref().is_none_or(|b| out.len() < b.len()) {
                best = Some(out);
            }
        }
        Ok(best.unwrap_or_default())
    }
}
