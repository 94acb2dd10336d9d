//! Dense arrays in memory, and boxes of them.

use crate::plan::Transfer;

#[derive(Debug, Clone)]
pub(crate) struct Dense<T> {
    pub(crate) shape: Vec<usize>,
    pub(crate) cells: Vec<T>,
}

impl<T> Dense<T> {
    pub(crate) fn position(&self, at: &[usize]) -> usize {
        at.iter().zip(&self.shape).fold(0, |position, (i, n)| position * n + i)
    }
}

/// Calls `each` with the positions of a box in a dense array of `shape`, row-major. Axes of one element are
/// repeated. An array with fewer axes than the box has the box's last axes; along the others the box has one
/// element.
pub(crate) fn for_each_position(
    shape: &[usize],
    start: &[usize],
    step: &[isize],
    count: &[usize],
    mut each: impl FnMut(usize),
) {
    if count.contains(&0) {
        return;
    }
    // The distance between two neighbours along each axis.
    let mut unit = 1;
    let mut strides = vec![0; shape.len()];
    let mut first = 0;
    for axis in (0..shape.len()).rev() {
        let n = shape[axis];
        if n != 1 {
            strides[axis] = step[axis] * isize::try_from(unit).expect("inside an array in memory");
            first += start[axis] * unit;
        }
        unit *= n;
    }
    let count = &count[count.len().saturating_sub(shape.len())..];
    let Some((&inner, outer)) = count.split_last() else { return each(first) };
    let stride = strides[outer.len()];
    let mut at = vec![0; outer.len()];
    let mut row = first;
    loop {
        let mut position = row;
        for n in 0..inner {
            each(position);
            if n + 1 < inner {
                position = position.wrapping_add_signed(stride);
            }
        }
        // Moves to the next row, like an odometer.
        let mut axis = outer.len();
        loop {
            let Some(next) = axis.checked_sub(1) else { return };
            axis = next;
            at[axis] += 1;
            if at[axis] < outer[axis] {
                row = row.wrapping_add_signed(strides[axis]);
                break;
            }
            let back = isize::try_from(outer[axis] - 1).expect("inside an array in memory");
            row = row.wrapping_add_signed(-strides[axis] * back);
            at[axis] = 0;
        }
    }
}

/// Returns the elements that a transfer reads from an array of `shape`.
pub(crate) fn gather<T: Copy>(shape: &[usize], from: &[T], t: &Transfer) -> Vec<T> {
    let mut cells = Vec::with_capacity(t.count.iter().product());
    for_each_position(shape, &t.from, &t.from_step, &t.count, |at| cells.push(from[at]));
    cells
}

/// Writes the elements of a transfer into an array of `shape`.
pub(crate) fn scatter<T: Copy>(shape: &[usize], to: &mut [T], t: &Transfer, cells: &[T]) {
    let mut cells = cells.iter();
    for_each_position(shape, &t.to, &t.to_step, &t.count, |at| {
        if let Some(cell) = cells.next() {
            to[at] = *cell;
        }
    });
}
