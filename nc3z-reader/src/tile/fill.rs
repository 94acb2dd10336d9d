//! Fill values for tiles that are damaged or lost. They are used only if the caller asked for them, and each
//! one is reported.

use crate::error::{Error, Result};
use nc3z_format::archive::{ArrayId, Role};
use nc3z_format::array::TileKey;
use nc3z_format::array_table::Arrays;
use nc3z_format::classic::Header;
use nc3z_format::{Error as FormatError, NcType};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Tiles whose message is kept.
const MESSAGES: usize = 10_000;

/// Tiles that were filled, and why.
pub(crate) struct Fills {
    /// The largest number of tiles that are filled.
    most: u64,
    all: Mutex<BTreeMap<(ArrayId, u64), Fill>>,
    /// Fill values of arrays with missing tiles. Each is looked up once: a header of a few KB can have a
    /// million attributes, and a quarter of a million tiles may be lost.
    values: Mutex<BTreeMap<ArrayId, Arc<[u8]>>>,
}

/// One tile that was replaced by fill values.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fill {
    /// The error of the tile. Empty after very many filled tiles.
    pub message: String,
    /// True if the tile may be intact, but uses a chain that this build does not know.
    pub unsupported: bool,
}

impl Fills {
    /// No filled tiles yet, and at most `most` later.
    pub(crate) fn new(most: u64) -> Self {
        Fills { most, all: Mutex::default(), values: Mutex::default() }
    }

    /// Fills `out`, whose length is that of the tile, and records the tile. Returns errors that no fill value
    /// may hide.
    pub(crate) fn fill(
        &self,
        header: &Header,
        arrays: &Arrays,
        key: TileKey,
        error: Error,
        out: &mut [u8],
    ) -> Result<()> {
        let Some(info) = arrays.get(key.array) else { return Err(error) };
        if error.is_interrupted() || error.is_replaced() {
            return Err(error);
        }
        let filled = self.all.lock().unwrap_or_else(PoisonError::into_inner).len() as u64;
        if filled >= self.most {
            let what = "lost tiles of one archive";
            return Err(FormatError::limit("archive", None, what, self.most, filled.saturating_add(1)).into());
        }
        let value = self.value(header, arrays, key.array, info.ty);
        out.chunks_mut(value.len()).for_each(|c| c.copy_from_slice(&value[..c.len()]));
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        // Messages take memory: only the first ones are kept.
        let message = if all.len() < MESSAGES { error.with_causes() } else { String::new() };
        all.insert((key.array, key.tile), Fill { message, unsupported: error.is_unsupported() });
        Ok(())
    }

    fn value(&self, header: &Header, arrays: &Arrays, array: ArrayId, ty: NcType) -> Arc<[u8]> {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(values.entry(array).or_insert_with(|| fill_value(header, arrays, array, ty).into()))
    }

    /// All filled tiles so far.
    pub(crate) fn all(&self) -> BTreeMap<(ArrayId, u64), Fill> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The fill value of an array: the variable's `_FillValue`, otherwise the type's default. Zero for other
/// bytes.
fn fill_value(header: &Header, arrays: &Arrays, array: ArrayId, ty: NcType) -> Vec<u8> {
    if !matches!(array.role(), Role::Variable(_)) {
        return vec![0; ty.size()];
    }
    let variable = arrays.variable_of(array).map(|v| &header.variables[v.index()]);
    variable.map_or_else(|| ty.default_fill().to_vec(), |v| v.fill_value().to_vec())
}
