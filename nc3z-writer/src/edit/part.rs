//! Values of a part of a variable that is not one hyperslab.

use super::Edit;
use crate::error::Result;
use nc3z_format::Hyperslab;
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
    /// The values of a variable, whose lengths are those of the part. Dimensions of one element may be missing.
    Of(Box<Variable>),
}

impl Edit {
    /// Sets the values of a part: hyperslabs of the variable, each with the position of its first element in the part. `counts` has the
    /// lengths of the part.
    ///
    /// # Errors
    /// Those of [`Edit::set`]; the values of the other variable cannot be read.
    pub fn set_part(
        &mut self,
        name: &str,
        slabs: &[(Hyperslab, Vec<u64>)],
        counts: &[u64],
        values: &PartValues,
    ) -> Result<()> {
        for (slab, place) in slabs {
            match values {
                PartValues::One(value) => self.set(name, slab, value)?,
                PartValues::All(all) => {
                    let elements: u64 = counts.iter().product();
                    let size = all.len() / in_memory(elements).max(1);
                    self.set(name, slab, &part_of(all, size, counts, place, &slab.count))?;
                }
                PartValues::Of(variable) => copy(self, name, slab, place, counts, variable)?,
            }
        }
        if let PartValues::Of(variable) = values {
            variable.check_unchanged()?;
        }
        Ok(())
    }
}

/// Converts a count of values that are in memory.
fn in_memory(count: u64) -> usize {
    usize::try_from(count).expect("the values are in memory")
}

/// Returns a box of row-major values.
fn part_of(all: &[u8], size: usize, lens: &[u64], place: &[u64], counts: &[u64]) -> Vec<u8> {
    let total: u64 = counts.iter().product();
    let mut out = Vec::with_capacity(in_memory(total) * size);
    for n in 0..total {
        let (mut rest, mut position, mut unit) = (n, 0, 1);
        for axis in (0..lens.len()).rev() {
            position += (place[axis] + rest % counts[axis]) * unit;
            rest /= counts[axis];
            unit *= lens[axis];
        }
        let at = in_memory(position) * size;
        out.extend_from_slice(&all[at..at + size]);
    }
    out
}

/// Copies from another file's variable, some indices of the first dimension at a time.
fn copy(
    edit: &mut Edit,
    name: &str,
    slab: &Hyperslab,
    place: &[u64],
    counts: &[u64],
    variable: &Variable,
) -> Result<()> {
    let size = variable.ty().size() as u64;
    let row: u64 = slab.count.iter().skip(1).product::<u64>() * size;
    let rows = slab.count.first().copied().unwrap_or(1);
    let step = BAND_LEN.checked_div(row).unwrap_or(rows).max(1);
    let mut done = 0;
    while done < rows {
        let take = step.min(rows - done);
        let mut to = slab.clone();
        let mut from =
            Hyperslab { start: place.to_vec(), count: slab.count.clone(), stride: vec![1; place.len()] };
        if !to.start.is_empty() {
            to.start[0] = to.start[0].wrapping_add(to.stride[0].cast_unsigned().wrapping_mul(done));
            to.count[0] = take;
            from.start[0] += done;
            from.count[0] = take;
        }
        // Its dimensions of one element may differ from those of the selection.
        let from = fitted(&from, counts, variable.shape());
        edit.set(name, &to, &variable.read_bytes(&from)?)?;
        done += take;
    }
    Ok(())
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
