//! Values of a part of a variable that is not one hyperslab.

use super::Edit;
use crate::error::{ErrorKind, Result};
use nc3z_format::Hyperslab;
use nc3z_format::selection::{Selection, elements};
use nc3z_reader::Variable;

/// The number of bytes of values that are read and staged at a time.
const BAND_LEN: u64 = 16 << 20;

/// The values of a part.
#[derive(Debug)]
pub enum PartValues {
    /// One element for the whole part, big-endian.
    One(Vec<u8>),
    /// All values, big-endian and row-major.
    All(Vec<u8>),
    /// The values of a variable with the lengths of the part. Dimensions of one element may be missing.
    Of(Box<Variable>),
}

impl Edit {
    /// Sets the values of a selection.
    ///
    /// # Errors
    /// Those of [`Edit::set`]; the values of the other variable cannot be read.
    pub fn set_part(&mut self, name: &str, selection: &Selection, values: &PartValues) -> Result<()> {
        let variable = match values {
            PartValues::One(value) => return self.set(name, selection, value),
            PartValues::All(all) => return self.set(name, selection, all),
            PartValues::Of(variable) => variable,
        };
        let counts = selection.counts();
        let whole = Hyperslab::all(&counts);
        let Some(&rows) = counts.first() else {
            return self.set(
                name,
                selection,
                &variable
                    .read_bytes(&fitted(&whole, &counts, variable.shape()))
                    .map_err(ErrorKind::Source)?,
            );
        };
        // Some indices of the first dimension at a time.
        let row = elements(&counts[1..]).saturating_mul(variable.ty().size() as u64);
        let step = BAND_LEN.checked_div(row).unwrap_or(rows).max(1);
        let mut done = 0;
        while done < rows {
            let take = step.min(rows - done);
            let mut from = whole.clone();
            (from.start[0], from.count[0]) = (done, take);
            // Its dimensions of one element may differ from those of the selection.
            let from = fitted(&from, &counts, variable.shape());
            let bytes = variable.read_bytes(&from).map_err(ErrorKind::Source)?;
            self.set(name, &selection.part(0, done, done + take), &bytes)?;
            done += take;
        }
        Ok(variable.check_unchanged().map_err(ErrorKind::Source)?)
    }
}

/// Returns the same box for an array with other dimensions of one element.
fn fitted(slab: &Hyperslab, lens: &[u64], shape: &[u64]) -> Hyperslab {
    let mut long =
        (0..lens.len()).filter(|&n| lens[n] != 1).map(|n| (slab.start[n], slab.count[n], slab.stride[n]));
    let mut out = Hyperslab { start: vec![], count: vec![], stride: vec![] };
    for &len in shape {
        let (start, count, stride) = if len == 1 { (0, 1, 1) } else { long.next().unwrap_or((0, len, 1)) };
        out.start.push(start);
        out.count.push(count);
        out.stride.push(stride);
    }
    out
}
