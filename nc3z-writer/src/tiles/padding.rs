//! Fills padded chunks beyond the end of the array. Any value is allowed there, so the cheapest one is used.

/// Fills up a chunk, or its beginning, after the array's elements: each element is a copy of the one before, row by
/// row. So an edge adds no new value and no jump for predictors, and constant chunks stay constant.
///
/// `extent` and `chunk` are in elements of `size` bytes; no extent is 0.
pub(crate) fn fill_up(tile: &mut [u8], extent: &[u64], chunk: &[u64], size: usize) {
    let narrow = |n: &u64| usize::try_from(*n).expect("a tile is at most 1 GiB");
    let dims: Vec<(usize, usize)> = extent.iter().map(narrow).zip(chunk.iter().map(narrow)).collect();
    if dims.iter().any(|(extent, chunk)| extent < chunk) {
        fill_up_from(tile, &dims, size);
    }
}

fn fill_up_from(tile: &mut [u8], dims: &[(usize, usize)], size: usize) {
    let Some((&(extent, chunk), inner)) = dims.split_first() else { return };
    let slice: usize = inner.iter().map(|(_, chunk)| chunk).product::<usize>() * size;
    let whole = (chunk * slice).min(tile.len());
    let present = (extent * slice).min(whole);
    if !inner.is_empty() {
        tile[..present].chunks_mut(slice).for_each(|part| fill_up_from(part, inner, size));
    }
    let (before, after) = tile[..whole].split_at_mut(present);
    let Some(last) = before.len().checked_sub(size).map(|at| &before[at..]) else { return };
    after.chunks_mut(size).for_each(|element| element.copy_from_slice(&last[..element.len()]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_behind_the_array_is_the_one_before_it() {
        // 2 × 2 × 2 of a chunk of 3 × 3 × 4, elements of two bytes.
        let (extent, chunk) = ([2, 2, 2], [3, 3, 4]);
        let mut tile: Vec<[u8; 2]> = vec![[0, 0]; 36];
        let mut present = [false; 36];
        for (n, (i, j, k)) in
            (0..2).flat_map(|i| (0..2).flat_map(move |j| (0..2).map(move |k| (i, j, k)))).enumerate()
        {
            let at = i * 12 + j * 4 + k;
            tile[at] = [1 + u8::try_from(n).unwrap(), 7];
            present[at] = true;
        }
        let expected = tile.clone();
        fill_up(tile.as_flattened_mut(), &extent, &chunk, 2);
        for at in 0..36 {
            assert_eq!(tile[at], if present[at] { expected[at] } else { tile[at - 1] }, "{at}");
        }
        // The first slices of a chunk are padded as they are in the whole chunk.
        let whole = tile.clone();
        for slices in 1..=3 {
            let mut part = expected[..slices * 12].to_vec();
            fill_up(part.as_flattened_mut(), &extent, &chunk, 2);
            assert_eq!(part, whole[..slices * 12]);
        }
    }
}
