//! Chooses a chunk shape for a variable that is read in two ways: whole *maps* (all of the last two
//! dimensions at one index of the others) and *series* (all of the first dimension at one index of the
//! others).
//!
//! The cost of a read is the bytes of all tiles it touches, because tiles are fetched and decoded whole. Take
//! a chunk of `c0` indices of the first dimension and `a` elements across the others. A map of `m` elements
//! costs `m · c0` (times the chunk's length in the dimensions between); a series of `n` elements costs `n ·
//! a`. For a tile of `c0 · a = t` elements the larger cost is least if both are `sqrt(m · n · t)`. Smaller
//! tiles make both reads cheaper but the archive larger. So the tile is halved, down to a quarter, only while
//! the larger cost exceeds `AFFORDABLE`.

use crate::layout::TileChoice;
use nc3z_format::NcType;
use nc3z_format::tile::Edge;

/// A read that decodes at most this many bytes is affordable: it takes some hundredths of a second.
const AFFORDABLE: u64 = 16 << 20;
/// Chunks must make the costlier read cheaper by this factor. Otherwise tiles stay linear: linear tiles
/// compress and restore better.
const GAIN: u64 = 4;
/// Rows of chunks are not cut shorter than this many elements: codecs use the previous row.
const LEAST_ROW: u64 = 64;
/// Tiles of whole maps have at least this many bytes, if there are enough records.
const LEAST_MAP_LEN: u64 = 64 << 10;

/// An array to cut into tiles.
pub(super) struct Subject<'a> {
    /// Its shape, without zeros.
    pub(super) shape: &'a [u64],
    pub(super) ty: NcType,
    /// Elements of its linear tiles.
    pub(super) linear: u64,
    /// The content of chunks at the edges.
    pub(super) edge: Edge,
}

/// Sizes in bytes.
pub(super) struct Bounds {
    /// A tile, unless a smaller one is needed.
    pub(super) target: u64,
    pub(super) least: u64,
    /// A layer of chunks: writing and restoring keep a layer in memory. One index of the first dimension is
    /// always allowed.
    pub(super) layer: u64,
}

/// Bytes decoded for the two reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cost {
    map: u64,
    series: u64,
}

impl Cost {
    fn worse(self) -> u64 {
        self.map.max(self.series)
    }
}

/// The chunk shape for a choice; `None` for linear tiles.
pub(super) fn choose(choice: TileChoice, subject: &Subject<'_>, bounds: &Bounds) -> Option<Vec<u64>> {
    // Text is read whole; its last dimension is the length of a string.
    let flat = subject.shape.iter().filter(|n| **n > 1).count() < 2 || subject.ty == NcType::Char;
    match choice {
        TileChoice::Linear => None,
        TileChoice::Chunked if flat => Some(run(subject, bounds)),
        TileChoice::Chunked => Some(balanced(subject, bounds).0),
        _ if flat => None,
        TileChoice::Auto => {
            let linear = linear_cost(subject).worse();
            let (shape, cost) = balanced(subject, bounds);
            let pays = linear > AFFORDABLE / GAIN && cost.worse().saturating_mul(GAIN) <= linear;
            (pays && !is_run(&shape, subject)).then_some(shape)
        }
        TileChoice::Series => {
            let target = bounds.least / size(subject);
            let shape = across(subject, longest(subject, bounds).min(target.max(1)), target);
            (!is_run(&shape, subject)).then_some(shape)
        }
        // With two dimensions, the map is the whole array.
        TileChoice::Map if subject.shape.iter().filter(|n| **n > 1).count() < 3 => None,
        TileChoice::Map => map(subject, bounds),
    }
}

fn size(subject: &Subject<'_>) -> u64 {
    subject.ty.size() as u64
}

fn elements(shape: &[u64]) -> u64 {
    shape.iter().product()
}

/// The first dimension that has more than one index: series run along it.
fn along(shape: &[u64]) -> usize {
    shape.iter().position(|n| *n > 1).unwrap_or(0)
}

/// Elements of a map: the last two dimensions, without the one that series run along.
fn map_elements(shape: &[u64]) -> u64 {
    let first = (along(shape) + 1).max(shape.len().saturating_sub(2));
    elements(&shape[first.min(shape.len())..])
}

/// Chunks that are row-major runs, for text and arrays with at most one dimension longer than 1.
fn run(subject: &Subject<'_>, bounds: &Bounds) -> Vec<u64> {
    let mut room = (bounds.target / size(subject)).max(1);
    let mut chunk: Vec<u64> = subject.shape.to_vec();
    for c in chunk.iter_mut().rev() {
        *c = even(*c, room);
        room = (room / *c).max(1);
    }
    if let (Some(c), Some(n)) = (chunk.first_mut(), subject.shape.first()) {
        *c = (*c).min((bounds.layer / size(subject) / (elements(subject.shape) / n)).max(1));
    }
    chunk
}

/// Returns the shape with the least cost of the costlier read, and that cost.
fn balanced(subject: &Subject<'_>, bounds: &Bounds) -> (Vec<u64>, Cost) {
    let mut target = bounds.target;
    loop {
        let found = candidates(subject, bounds, (target / size(subject)).max(1));
        let best = found.into_iter().min_by_key(|(shape, cost)| (cost.worse(), cost.map, shape.clone()));
        let best = best.expect("a chunk of one index along the first dimension is always a candidate");
        if best.1.worse() <= AFFORDABLE || target / 2 < bounds.least {
            return best;
        }
        target /= 2;
    }
}

fn candidates(subject: &Subject<'_>, bounds: &Bounds, target: u64) -> Vec<(Vec<u64>, Cost)> {
    let longest = longest(subject, bounds).min(target);
    let n = subject.shape[along(subject.shape)];
    // Lengths that cut the dimension evenly, in steps of about a quarter.
    let mut lengths: Vec<u64> = Vec::new();
    let mut length = 1;
    while length < longest {
        lengths.push(even(n, length));
        length += (length / 4).max(1);
    }
    lengths.push(even(n, longest));
    lengths.dedup();
    let shapes = lengths.into_iter().map(|length| across(subject, length, target));
    shapes.map(|shape| (chunk_cost(subject, &shape), shape)).map(|(cost, shape)| (shape, cost)).collect()
}

/// The longest chunk along the first dimension whose layer may be kept in memory.
fn longest(subject: &Subject<'_>, bounds: &Bounds) -> u64 {
    let d = along(subject.shape);
    // Dimensions before it have length 1, so a layer along it is one along the first dimension.
    let one = elements(&subject.shape[d + 1..]).saturating_mul(size(subject));
    (bounds.layer / one).clamp(1, subject.shape[d])
}

/// Returns a chunk of `length` indices along the first dimension and about `target` elements in all. The last
/// two dimensions are cut into similar numbers of parts, and rows are not too short. Dimensions between are
/// longer than 1 only if the tile has room for whole maps.
fn across(subject: &Subject<'_>, length: u64, target: u64) -> Vec<u64> {
    let shape = subject.shape;
    let d = along(shape);
    let mut chunk = vec![1; shape.len()];
    chunk[d] = length;
    let mut room = (target / length).max(1);
    let (last, second) = (shape.len() - 1, shape.len().wrapping_sub(2));
    if second > d && second < last {
        let (rows, columns) = (shape[second], shape[last]);
        // The number of parts is the same in both dimensions: columns / parts · rows / parts = room.
        let parts = (rows.saturating_mul(columns) / room).max(1).isqrt().max(1);
        chunk[last] = even(columns, (columns / parts).max(LEAST_ROW).min(room));
        chunk[second] = even(rows, (room / chunk[last]).max(1));
        room /= chunk[last] * chunk[second];
        let whole = chunk[last] == columns && chunk[second] == rows;
        for i in (d + 1..second).rev() {
            if !whole || room < 2 {
                break;
            }
            chunk[i] = even(shape[i], room);
            room /= chunk[i];
        }
    } else if last > d {
        chunk[last] = even(shape[last], room);
    }
    chunk
}

/// The largest length up to `most` that cuts `n` into parts of nearly equal length.
fn even(n: u64, most: u64) -> u64 {
    n.div_ceil(n.div_ceil(most.clamp(1, n.max(1)))).max(1)
}

fn linear_cost(subject: &Subject<'_>) -> Cost {
    let (shape, tile) = (subject.shape, subject.linear);
    let total = elements(shape);
    let map = map_elements(shape).div_ceil(tile).saturating_mul(tile).min(total);
    let n = shape[along(shape)];
    // Neighbours in a series are a whole layer apart, so each is often in a different tile.
    let series = n.saturating_mul(tile).min(total);
    Cost { map: map.saturating_mul(size(subject)), series: series.saturating_mul(size(subject)) }
}

fn chunk_cost(subject: &Subject<'_>, chunk: &[u64]) -> Cost {
    let shape = subject.shape;
    let d = along(shape);
    // The number of tiles times their elements; tiles at the edges count as whole.
    let extent = |i: usize| shape[i].div_ceil(chunk[i]) * chunk[i];
    let in_map = |i: usize| i > d && i + 2 >= shape.len();
    let map: u64 = (0..shape.len()).map(|i| if in_map(i) { extent(i) } else { chunk[i] }).product();
    let series: u64 = (0..shape.len()).map(|i| if i == d { extent(i) } else { chunk[i] }).product();
    Cost { map: map * size(subject), series: series * size(subject) }
}

/// Tiles of one or more whole maps, or of parts of a map: some rows, or boxes if a row is longer than a tile.
fn map(subject: &Subject<'_>, bounds: &Bounds) -> Option<Vec<u64>> {
    let shape = subject.shape;
    let target = (bounds.target / size(subject)).max(1);
    let maps = map_elements(shape);
    let first = (along(shape) + 1).max(shape.len().saturating_sub(2));
    let mut chunk = vec![1; shape.len()];
    let mut room = target;
    for i in (first..shape.len()).rev() {
        chunk[i] = even(shape[i], room);
        room = (room / chunk[i]).max(1);
    }
    let mut several = (LEAST_MAP_LEN / size(subject)).min(target) / maps.max(1);
    for i in (0..first).rev() {
        if several < 2 {
            break;
        }
        chunk[i] = shape[i].min(several);
        several /= chunk[i];
    }
    let d = along(shape);
    chunk[d] = chunk[d].min(longest(subject, bounds));
    (!is_run(&chunk, subject)).then_some(chunk)
}

/// True if linear tiles of the same length are identical to these chunks.
fn is_run(chunk: &[u64], subject: &Subject<'_>) -> bool {
    let shape = subject.shape;
    let cut = (0..shape.len()).rev().find(|&i| chunk[i] < shape[i]).unwrap_or(0);
    let outer_single = (0..cut).all(|i| chunk[i] == 1 || shape[i] == 1);
    let even = shape[..cut].iter().all(|n| *n == 1) || shape[cut].is_multiple_of(chunk[cut]);
    let unpadded =
        subject.edge == Edge::Clipped || shape.iter().zip(chunk).all(|(n, c)| n.is_multiple_of(*c));
    outer_single && even && unpadded && elements(chunk) == subject.linear
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn chosen(choice: TileChoice, shape: &[u64], linear: u64, layer: u64) -> Option<Vec<u64>> {
        let subject = Subject { shape, ty: NcType::Float, linear, edge: Edge::Clipped };
        choose(choice, &subject, &Bounds { target: MIB, least: MIB / 4, layer })
    }

    #[test]
    fn small_variables_stay_linear() {
        assert_eq!(chosen(TileChoice::Auto, &[12, 90, 180], 16 * 16_200, 64 * MIB), None);
        assert_eq!(chosen(TileChoice::Auto, &[10, 1000], 10_000, 64 * MIB), None);
        assert_eq!(chosen(TileChoice::Auto, &[100_000_000], 262_144, 64 * MIB), None);
    }

    #[test]
    fn large_ones_get_chunks_whose_two_reads_cost_alike() {
        // 10,000 steps of a 1-degree map: 2.6 GB.
        let shape = [10_000, 180, 360];
        let chunk = chosen(TileChoice::Auto, &shape, 4 * 64_800, 64 * MIB).unwrap();
        let subject = Subject { shape: &shape, ty: NcType::Float, linear: 4 * 64_800, edge: Edge::Clipped };
        let cost = chunk_cost(&subject, &chunk);
        assert!(cost.worse() * 16 < linear_cost(&subject).worse(), "{chunk:?} {cost:?}");
        assert!(cost.map < 2 * cost.series && cost.series < 2 * cost.map, "{chunk:?} {cost:?}");
        let bytes = elements(&chunk) * 4;
        assert!((MIB / 8..=MIB).contains(&bytes), "{chunk:?}");
    }

    #[test]
    fn layers_bound_the_length_along_the_first_dimension() {
        let shape = [10_000, 721, 1440];
        for (layer, most) in [(64 * MIB, 16), (8 * MIB, 2), (1, 1)] {
            for choice in [TileChoice::Auto, TileChoice::Chunked, TileChoice::Series] {
                let chunk = chosen(choice, &shape, 260_640, layer).unwrap_or(vec![1]);
                assert!(chunk[0] <= most, "{choice:?} {chunk:?}");
            }
        }
    }

    #[test]
    fn series_are_long_and_maps_are_whole() {
        let series = chosen(TileChoice::Series, &[1000, 72, 144], 25 * 10_368, 64 * MIB).unwrap();
        assert_eq!(series[0], 1000);
        assert!(elements(&series) * 4 <= MIB / 4);
        assert_eq!(
            chosen(TileChoice::Map, &[1000, 7, 72, 144], 25 * 10_368, 64 * MIB),
            Some(vec![1, 1, 72, 144])
        );
        assert_eq!(chosen(TileChoice::Map, &[1000, 20, 30], 1, 64 * MIB), Some(vec![27, 20, 30]));
        let parts = chosen(TileChoice::Map, &[10, 721, 1440], 260_640, 64 * MIB).unwrap();
        assert_eq!(parts, [1, 181, 1440]);
        assert_eq!(chosen(TileChoice::Map, &[721, 1440], 260_640, 64 * MIB), None);
    }

    #[test]
    fn chunks_of_any_shape_fit_and_are_no_larger_than_a_tile() {
        let shapes: [&[u64]; 8] = [
            &[1, 1, 1],
            &[5, 1, 1],
            &[1, 400, 3000],
            &[100_000, 3],
            &[3, 100_000_000],
            &[20, 30, 40, 50, 6],
            &[400, 17, 1, 90, 180],
            &[2, 2, 2, 2, 2, 2, 2, 100_000],
        ];
        for shape in shapes {
            for choice in [TileChoice::Auto, TileChoice::Chunked, TileChoice::Series, TileChoice::Map] {
                let Some(chunk) = chosen(choice, shape, 999, 64 * MIB) else { continue };
                assert_eq!(chunk.len(), shape.len());
                assert!(
                    chunk.iter().zip(shape).all(|(c, n)| (1..=*n).contains(c)),
                    "{choice:?} {shape:?} {chunk:?}"
                );
                assert!(elements(&chunk) * 4 <= MIB, "{choice:?} {shape:?} {chunk:?}");
            }
        }
    }

    #[test]
    fn runs_are_told_from_boxes() {
        let is = |chunk: &[u64], shape: &[u64], linear| {
            is_run(chunk, &Subject { shape, ty: NcType::Float, linear, edge: Edge::Clipped })
        };
        assert!(is(&[4, 5, 6], &[10, 5, 6], 120) && is(&[1, 5, 6], &[10, 5, 6], 30));
        assert!(is(&[1, 2, 6], &[10, 4, 6], 12) && !is(&[1, 2, 6], &[10, 5, 6], 12));
        assert!(!is(&[2, 2, 6], &[10, 4, 6], 24) && !is(&[4, 5, 6], &[10, 5, 6], 60));
        assert!(is(&[1, 2, 6], &[1, 5, 6], 12) && is(&[1, 1], &[1, 1], 1));
    }
}
