//! The values of a part of a variable, from words, from text, or of another variable.

use super::encode;
use crate::edit::PartValues;
use nc3z_format::classic::Variable as Header;
use nc3z_format::{Error, NcType, Result};
use nc3z_reader::Variable;

/// The word for a variable's fill value.
const FILL: &str = "_";

impl PartValues {
    /// Values from words, in the syntax of [`encode`]; `_` is the fill value of `variable`. There are `wanted` words, or one for all
    /// elements.
    ///
    /// # Errors
    /// Invalid: another number of words; a word that is not a value of the variable's type.
    pub fn of_words<'w>(
        variable: &Header,
        words: impl IntoIterator<Item = &'w str>,
        wanted: u64,
    ) -> Result<Self> {
        let (mut bytes, mut count) = (Vec::new(), 0);
        for word in words {
            count += 1;
            match word {
                FILL => bytes.extend(missing(variable)?),
                word => bytes.extend(encode(variable.ty, word)?),
            }
        }
        match count {
            1 => Ok(PartValues::One(bytes)),
            n if n == wanted => Ok(PartValues::All(bytes)),
            n => Err(Error::invalid(format!("{n} values are given, but {wanted} are selected"))),
        }
    }

    /// Characters, padded with zero bytes to `wanted` bytes.
    ///
    /// # Errors
    /// Invalid: the text is longer, or the part does not fit in memory.
    pub fn of_text(value: &str, wanted: u64) -> Result<Self> {
        let mut bytes = value.as_bytes().to_vec();
        let wanted = usize::try_from(wanted).map_err(|_| Error::invalid("too much is selected"))?;
        if bytes.len() > wanted {
            let len = bytes.len();
            return Err(Error::invalid(format!("the text has {len} bytes, but {wanted} are selected")));
        }
        bytes.resize(wanted, 0);
        Ok(PartValues::All(bytes))
    }

    /// The values of another variable, for a part of type `ty` with the lengths `counts`. Dimensions of one element may be missing.
    ///
    /// # Errors
    /// Invalid: the variable has another type or other lengths.
    pub fn of_variable(other: Variable, ty: NcType, counts: &[u64]) -> Result<Self> {
        let name = other.name();
        if other.ty() != ty {
            return Err(Error::invalid(format!("`{name}` is of type {}, and {ty} is wanted", other.ty())));
        }
        let long = |lens: &[u64]| lens.iter().copied().filter(|&n| n != 1).collect::<Vec<u64>>();
        if long(other.shape()) != long(counts) {
            let lens = other.shape();
            let what = format!("`{name}` has the lengths {lens:?}, and {counts:?} is selected");
            return Err(Error::invalid(what));
        }
        drop(name);
        Ok(PartValues::Of(Box::new(other)))
    }
}

/// Returns the value that reads as missing: the fill value, else the first `missing_value`, else the default of the type. Bytes have no
/// default, since all their values may be data (NUG, appendix B).
fn missing(variable: &Header) -> Result<&[u8]> {
    let own = variable.own_fill_value().or_else(|| variable.missing_values().next());
    match own {
        Some(value) => Ok(value),
        None if matches!(variable.ty, NcType::Byte | NcType::UByte) => Err(Error::invalid(format!(
            "`{}` is of type {} and has no `_FillValue` and no `missing_value`, so `{FILL}` does not stand for a value; give a number, or set the attribute first",
            variable.name_lossy(),
            variable.ty
        ))),
        None => Ok(variable.ty.default_fill()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(ty: NcType) -> Header {
        Header { name: b"v".to_vec(), dimensions: Vec::new(), attributes: Vec::new(), ty, vsize: 0, begin: 0 }
    }

    #[test]
    fn there_is_a_word_for_each_element_or_one_for_all() {
        let of = |words: &[&str], wanted| {
            PartValues::of_words(&header(NcType::Short), words.iter().copied(), wanted)
        };
        assert!(matches!(of(&["7"], 9), Ok(PartValues::One(bytes)) if bytes == [0, 7]));
        assert!(matches!(of(&["7", "-1"], 2), Ok(PartValues::All(bytes)) if bytes == [0, 7, 255, 255]));
        let fill = NcType::Short.default_fill();
        assert!(matches!(of(&["_"], 1), Ok(PartValues::One(bytes)) if bytes == fill));
        assert!(of(&["7", "8"], 3).is_err() && of(&["x"], 1).is_err());
    }

    #[test]
    fn text_is_padded_and_never_cut() {
        assert!(matches!(PartValues::of_text("ab", 4), Ok(PartValues::All(bytes)) if bytes == *b"ab\0\0"));
        assert!(PartValues::of_text("abcde", 4).is_err());
    }
}
