//! The content of one cell of the output: a number, or for text variables a string from each row of the last
//! dimension.

use super::{Error, Result, values};
use crate::selection::Selection;
use crate::text;
use nc3z_format::NcType;
use nc3z_format::decode_value::{Decoding, Value};
use nc3z_reader::Variable;
use std::sync::Arc;

/// Divides a stream of bytes into items.
pub(super) struct Items {
    ty: NcType,
    /// The conversion of numbers; none for stored values.
    decoding: Option<Arc<Decoding>>,
    /// The length of an item in bytes.
    len: usize,
    /// The start of an item that the next block completes.
    rest: Vec<u8>,
}

impl Items {
    /// Returns the items of a selection, and their number along each dimension.
    pub(super) fn new(
        variable: &Variable,
        decoding: Option<&Decoding>,
        selection: &Selection,
    ) -> Result<(Self, Vec<u64>)> {
        let ty = variable.ty();
        let mut counts = selection.counts();
        let row = if ty == NcType::Char { counts.pop() } else { None };
        let len = row.map_or(Ok(ty.size()), usize::try_from).map_err(|_| Error::LongText)?;
        let decoding = decoding.filter(|_| ty != NcType::Char).cloned().map(Arc::new);
        Ok((Items { ty, decoding, len, rest: Vec::new() }, counts))
    }

    /// Returns the type of the variable.
    pub(super) fn ty(&self) -> NcType {
        self.ty
    }

    /// Returns the conversion of numbers; none for stored values.
    pub(super) fn decoding(&self) -> Option<Arc<Decoding>> {
        self.decoding.clone()
    }

    /// Calls `sink` with each item that the next block completes.
    pub(super) fn cut(&mut self, mut bytes: &[u8], sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if !self.rest.is_empty() {
            let missing = (self.len - self.rest.len()).min(bytes.len());
            self.rest.extend(&bytes[..missing]);
            bytes = &bytes[missing..];
            if self.rest.len() < self.len {
                return Ok(());
            }
            sink(&std::mem::take(&mut self.rest))?;
        }
        let mut items = bytes.chunks_exact(self.len.max(1));
        items.by_ref().try_for_each(sink)?;
        self.rest.extend(items.remainder());
        Ok(())
    }
}

/// Appends an item as plain text, with control characters escaped. A missing value is printed as `nothing`.
pub(super) fn show(out: &mut String, ty: NcType, decoding: Option<&Decoding>, nothing: &str, item: &[u8]) {
    match decoding.map(|decoding| decoding.value(item)) {
        Some(Value::Missing) => out.push_str(nothing),
        Some(value) => out.push_str(&value.to_string()),
        None if ty == NcType::Char => out.push_str(&text::safe(&values::string(item))),
        None => values::number(out, ty, item),
    }
}
