//! Text in classic files: arrays of characters whose last dimension runs along each string, padded with zeros
//! or blanks.

use crate::error::{Error, Result};
use nc3z_format::NcType;
use nc3z_reader::Variable;

/// The maximal number of bytes of text that are read.
const MAX_LEN: u64 = 1 << 30;

pub(super) struct Strings {
    bytes: Vec<u8>,
    len: usize,
    /// The shape of the array, without the dimension along the strings.
    pub(super) shape: Vec<u64>,
}

impl Strings {
    /// Reads a variable of characters.
    pub(super) fn read(of: &str, variable: &Variable) -> Result<Self> {
        let wrong = |what: String| Error::malformed(of, format!("`{}` {what}", variable.name()));
        if variable.ty() != NcType::Char {
            return Err(wrong(format!("should be text and is {}", variable.ty())));
        }
        let (len, shape) = match variable.shape() {
            [] => (1, vec![]),
            [shape @ .., len] => (*len, shape.to_vec()),
        };
        let total = variable.shape().iter().try_fold(1_u64, |n, len| n.checked_mul(*len));
        if total.is_none_or(|n| n > MAX_LEN) {
            return Err(wrong(format!("has the shape {:?}, more text than is read", variable.shape())));
        }
        let bytes = variable.read_bytes(&variable.all())?;
        let len = usize::try_from(len).map_err(|_| wrong("is too long".into()))?;
        Ok(Strings { bytes, len, shape })
    }

    pub(super) fn count(&self) -> u64 {
        self.shape.iter().product()
    }

    /// Returns the `n`-th string without its padding. An index past the end gives the empty string.
    pub(super) fn get(&self, n: usize) -> String {
        let bytes = n.checked_mul(self.len).and_then(|at| self.bytes.get(at..at + self.len)).unwrap_or(&[]);
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).trim_end().to_owned()
    }
}
