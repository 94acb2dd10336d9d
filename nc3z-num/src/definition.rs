//! Decodes the stored form of a dictionary, which is a definition of its own.

use crate::bits::Cursor;
use crate::dictionary::{Dictionary, MAX_DICTIONARY};
use crate::element::ElementType;
use crate::error::{Result, bad};
use crate::geometry::Geometry;
use crate::payload::decode_tile;
use crate::scratch::Scratch;
use crate::transform::sort_key;
use crate::word::{Word, index};

impl Dictionary {
    /// Reads the stored form.
    ///
    /// # Errors
    /// The bytes are not a dictionary of this type: count 1 to 65536, patterns strictly ascending.
    pub fn decode_definition(bytes: &[u8], ty: ElementType) -> Result<Self> {
        match ty.size() {
            1 => Self::decode_words::<u8>(bytes, ty),
            2 => Self::decode_words::<u16>(bytes, ty),
            4 => Self::decode_words::<u32>(bytes, ty),
            _ => Self::decode_words::<u64>(bytes, ty),
        }
    }

    fn decode_words<W: Word>(bytes: &[u8], ty: ElementType) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        let len = index(cursor.varint()?);
        if !(1..=MAX_DICTIONARY).contains(&len) {
            return Err(bad("dictionary length", "1 to 65536", len));
        }
        let mut patterns = vec![W::default(); len];
        let scratch = &mut Scratch::new();
        let of = (ty, &Geometry::default());
        decode_tile(cursor.rest(), of, None, None, scratch, &mut patterns)?;
        if patterns.windows(2).any(|w| sort_key(w[0], ty) >= sort_key(w[1], ty)) {
            return Err(bad("dictionary", "ascending patterns", "others"));
        }
        Ok(Self::of_sorted(patterns))
    }
}
