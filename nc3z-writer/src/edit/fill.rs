//! The effect of another `_FillValue` on the data: values that equaled the old one become data, unless they are replaced.

use super::{BAND_LEN, Edit};
use crate::error::Result;
use nc3z_format::classic::Variable;
use nc3z_format::decode_value::Decoding;
use nc3z_format::tile::element_count;
use nc3z_format::{Hyperslab, NcType, selection};
use std::ops::Range;

/// The effect of edited attributes on the values of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FillChange {
    /// The variable's name.
    pub variable: String,
    /// The number of its values.
    pub elements: u64,
    /// Values that were missing and are data now.
    pub became_data: u64,
    /// Values that were data and are missing now.
    pub became_missing: u64,
    /// True if the variable had another `_FillValue` and has one now, so that [`Edit::replace_fill`] can replace values.
    pub is_replaceable: bool,
}

/// A variable whose `_FillValue` was edited.
struct Changed {
    at: usize,
    name: String,
    /// The old and the new decoding.
    decodings: [Decoding; 2],
    /// The old and the new `_FillValue`.
    fills: [Option<Vec<u8>>; 2],
}

impl Edit {
    /// Returns the variables whose `_FillValue` was edited since the last commit, with the number of values that thereby became
    /// data, or missing. Reads these variables.
    ///
    /// # Errors
    /// Data to be read are damaged.
    pub fn fill_changes(&mut self) -> Result<Vec<FillChange>> {
        let mut changes = Vec::new();
        for changed in self.changed() {
            let size = self.header.variables[changed.at].ty.size();
            let [old, new] = &changed.decodings;
            let (mut elements, mut became_data, mut became_missing) = (0, 0, 0);
            self.for_bands(changed.at, &mut |_, _, bytes| {
                for item in bytes.chunks_exact(size) {
                    elements += 1;
                    match (old.is_missing(item), new.is_missing(item)) {
                        (true, false) => became_data += 1,
                        (false, true) => became_missing += 1,
                        _ => {}
                    }
                }
                Ok(())
            })?;
            let is_replaceable = changed.fills.iter().all(Option::is_some);
            let variable = changed.name;
            changes.push(FillChange { variable, elements, became_data, became_missing, is_replaceable });
        }
        Ok(changes)
    }

    /// Writes the new `_FillValue` in the place of the old one, in all variables whose `_FillValue` was edited since the last commit.
    /// Returns the number of replaced values.
    ///
    /// # Errors
    /// Data to be read are damaged.
    pub fn replace_fill(&mut self) -> Result<u64> {
        let mut replaced = 0;
        for changed in self.changed() {
            let [Some(old), Some(new)] = &changed.fills else { continue };
            let (ty, size) = (self.header.variables[changed.at].ty, old.len());
            let (old_is_nan, shape) = (is_nan(ty, old), self.shape(changed.at));
            self.for_bands(changed.at, &mut |edit, first, bytes| {
                let is_old = |item: &[u8]| item == &old[..] || (old_is_nan && is_nan(ty, item));
                let places = bytes.chunks_exact(size).enumerate().filter(|(_, item)| is_old(item));
                let places: Vec<usize> = places.map(|(at, _)| at).collect();
                let (Some(&low), Some(&high)) = (places.first(), places.last()) else { return Ok(()) };
                for &at in &places {
                    bytes[at * size..][..size].copy_from_slice(new);
                }
                replaced += places.len() as u64;
                let range = first + low as u64..first + high as u64 + 1;
                edit.set_run(&changed.name, &shape, range, &bytes[low * size..(high + 1) * size])
            })?;
        }
        Ok(replaced)
    }

    fn changed(&self) -> Vec<Changed> {
        let archive = self.place.archive();
        let of = |at: usize| {
            let (new, old) = (&self.header.variables[at], self.variables[at].origin?);
            let old = &archive.header().variables[old.index()];
            let fill = |v: &Variable| v.own_fill_value().map(<[u8]>::to_vec);
            let (fills, ty) = ([fill(old), fill(new)], new.ty);
            (fills[0] != fills[1] && ty == old.ty && ty != NcType::Char).then(|| Changed {
                at,
                name: new.name_lossy().into_owned(),
                decodings: [Decoding::without_bounds(old), Decoding::without_bounds(new)],
                fills,
            })
        };
        (0..self.variables.len()).filter_map(of).collect()
    }

    /// Calls `each` with all elements of a variable, a few MB at a time: the number of the first, and the bytes.
    fn for_bands(
        &mut self,
        at: usize,
        each: &mut dyn FnMut(&mut Self, u64, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let (total, size) = (element_count(&self.shape(at))?, self.header.variables[at].ty.size());
        let band = (BAND_LEN / size as u64).max(1);
        let mut bytes = Vec::new();
        for first in (0..total).step_by(usize::try_from(band).unwrap_or(usize::MAX)) {
            let len = usize::try_from(band.min(total - first)).expect("a band is short");
            bytes.resize(len * size, 0);
            let archive = self.place.archive().clone();
            self.variables[at].read_flat(&archive, first * size as u64, &mut bytes)?;
            each(self, first, &mut bytes)?;
        }
        Ok(())
    }

    /// Stages elements of a variable's flattened array.
    fn set_run(&mut self, name: &str, shape: &[u64], range: Range<u64>, bytes: &[u8]) -> Result<()> {
        if shape.is_empty() {
            return self.set(name, &Hyperslab::all(shape), bytes);
        }
        let elements = usize::try_from(range.end - range.start).expect("they are in memory");
        let (size, mut rest) = (bytes.len() / elements.max(1), bytes);
        for slab in selection::boxes(shape, range.start, range.end) {
            let elements = usize::try_from(slab.count.iter().product::<u64>()).expect("as above");
            let (here, after) = rest.split_at(elements * size);
            rest = after;
            self.set(name, &slab, here)?;
        }
        Ok(())
    }
}

fn is_nan(ty: NcType, item: &[u8]) -> bool {
    match (ty, item) {
        (NcType::Float, &[a, b, c, d]) => f32::from_be_bytes([a, b, c, d]).is_nan(),
        (NcType::Double, item) => item.first_chunk().is_some_and(|item| f64::from_be_bytes(*item).is_nan()),
        _ => false,
    }
}
