//! Fill values in the place of tiles that are damaged or lost: only where the caller asked for them, and never in silence.

use crate::archive::{Archive, Inner};
use crate::error::{Error, Result};
use nc3z_format::NcType;
use nc3z_format::archive::{ArrayId, Role};
use nc3z_format::classic::Variable;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Tiles whose message is kept.
const MESSAGES: usize = 10_000;

/// Tiles that were filled, and why.
#[derive(Default)]
pub(crate) struct Fills(Mutex<BTreeMap<(ArrayId, u64), Fill>>);

/// One tile in whose place fill values were given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fill {
    /// Why: what is wrong with the tile. Empty where very many tiles were filled before.
    pub message: String,
    /// True where the tile may be whole, but is made with a chain that this build does not know.
    pub unsupported: bool,
}

impl Fills {
    /// Fills `out`, whose length is that of the tile, and remembers it. Errors that a fill value cannot stand in for pass.
    pub(crate) fn fill(
        &self,
        inner: &Inner,
        array: ArrayId,
        tile: u64,
        error: Error,
        out: &mut [u8],
    ) -> Result<()> {
        let Some(info) = inner.arrays.get(array) else { return Err(error) };
        if error.is_interrupted() {
            return Err(error);
        }
        let value = fill_value(inner, array, info.ty);
        out.chunks_mut(value.len()).for_each(|c| c.copy_from_slice(&value[..c.len()]));
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Words cost memory; of very many tiles the first ones' suffice.
        let message = if all.len() < MESSAGES { error.with_causes() } else { String::new() };
        all.insert((array, tile), Fill { message, unsupported: error.is_unsupported() });
        Ok(())
    }
}

impl Archive {
    /// The tiles in whose place reads so far gave fill values; see [`crate::OpenOptions::with_fill_lost`].
    pub fn filled(&self) -> BTreeMap<(ArrayId, u64), Fill> {
        let fills = self.inner.fills.as_ref();
        fills.map(|f| f.0.lock().unwrap_or_else(PoisonError::into_inner).clone()).unwrap_or_default()
    }
}

/// The value that stands for "nothing here": the variable's `_FillValue`, else the type's default; zero for other bytes.
fn fill_value(inner: &Inner, array: ArrayId, ty: NcType) -> Vec<u8> {
    let Role::Variable(v) = array.role() else { return vec![0; ty.size()] };
    inner.header.variables.get(v as usize).map_or_else(|| ty.default_fill().to_vec(), variable_fill)
}

/// A variable's fill value, big-endian: of its attribute `_FillValue` where that has its type and one value, else the default.
fn variable_fill(variable: &Variable) -> Vec<u8> {
    let size = variable.ty.size();
    let attribute = variable.attributes.iter().find(|a| a.name == b"_FillValue" && a.ty == variable.ty);
    let value = attribute.and_then(|a| a.values.get(..size)).unwrap_or(variable.ty.default_fill());
    value.to_vec()
}
