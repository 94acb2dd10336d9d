//! Exceptions: elements that a transform does not reproduce. A separate part of the payload stores the differences
//! between their keys and the keys from the transform: as a list of positions and numbers, or as a bit for each element
//! and bytes for each exception.

use crate::bits::Cursor;
use crate::element::ElementType;
use crate::error::{Result, bad};
use crate::frame::{self, Zstd};
use crate::mask::pack;
use crate::planes;
use crate::transform::key;
use crate::word::{Pool, Word, index};
use multiversion::multiversion;

/// The form in which a payload stores its exceptions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ExceptionForm {
    /// There are none.
    #[default]
    None = 0,
    /// Positions and differences, each a number of variable length: shorter where exceptions are few.
    Listed = 1,
    /// A bit for each element, and planes of differences: decodes faster where exceptions are many.
    Marked = 2,
}

impl ExceptionForm {
    /// The form that the two bits of a payload name.
    pub(crate) fn from_bits(bits: u8) -> Option<Self> {
        [Self::None, Self::Listed, Self::Marked].get(usize::from(bits)).copied()
    }
}

/// The valid elements of a tile and their number; `None` if all are valid.
pub(crate) type Valid<'a> = Option<(&'a [u8], usize)>;

/// Reads `count` positions of a list for a tile of `n` elements; they must be valid positions.
fn positions(cursor: &mut Cursor<'_>, count: usize, n: usize, valid: Valid<'_>) -> Result<Vec<usize>> {
    let mut positions = Vec::with_capacity(count);
    let mut next = 0usize;
    let mut push = |distance: u64, positions: &mut Vec<usize>| {
        let at = next.saturating_add(index(distance));
        if at >= n || valid.is_some_and(|(valid, _)| valid[at] == 0) {
            return Err(bad("exception position", "a valid element", at));
        }
        positions.push(at);
        next = at + 1;
        Ok(())
    };
    while positions.len() < count {
        // Nearly all distances are short: eight of them then have eight bytes.
        let eight = if count - positions.len() < 8 { None } else { cursor.eight_short() };
        if let Some(distances) = eight {
            for distance in distances {
                push(u64::from(distance), &mut positions)?;
            }
        } else {
            push(cursor.varint()?, &mut positions)?;
        }
    }
    Ok(positions)
}

/// Checks a number of exceptions.
fn check_count(count: usize, grid: usize, valid: Valid<'_>) -> Result<()> {
    let most = valid.map_or(grid, |(_, count)| count);
    if count == 0 || count > most {
        return Err(bad("exception count", format_args!("1 to {most}"), count));
    }
    Ok(())
}

/// Applies a list to the patterns in `grid`.
pub(crate) fn apply_list<W: Word>(
    part: &[u8],
    grid: &mut [W],
    valid: Valid<'_>,
    ty: ElementType,
    zstd: &mut Zstd,
    content: &mut Vec<u8>,
) -> Result<()> {
    // A count, and for each exception a position of at most 5 bytes and a value of at most 10.
    let most = grid.len().saturating_mul(15).saturating_add(5);
    frame::take_bytes(part, 3..=most, zstd, content)?;
    let mut cursor = Cursor::new(content);
    let count = index(cursor.varint()?);
    check_count(count, grid.len(), valid)?;
    if count > content.len() {
        return Err(bad("exception count", format_args!("at most {}", content.len()), count));
    }
    let positions = positions(&mut cursor, count, grid.len(), valid)?;
    for at in positions {
        let z = cursor.varint()?;
        let w = W::from_u64(z);
        if w.to_u64() != z || z == 0 {
            return Err(bad(VALUE, NOT_ZERO, z));
        }
        grid[at] = key(key(grid[at], ty).plus(w.unzigzag()), ty);
    }
    cursor.finish("exceptions")
}

const VALUE: &str = "exception value";
const NOT_ZERO: &str = "a word that is not 0";

/// Applies exceptions in the form of marks to the patterns in `grid`.
pub(crate) fn apply_marked<W: Word>(
    part: &[u8],
    grid: &mut [W],
    valid: Valid<'_>,
    ty: ElementType,
    zstd: &mut Zstd,
    (marks, bytes, pool): (&mut Vec<u8>, &mut Vec<u8>, &mut Pool),
) -> Result<()> {
    let mut cursor = Cursor::new(part);
    let width = usize::from(cursor.byte()?);
    if width == 0 || width > W::BYTES {
        return Err(bad("exception width", format_args!("1 to {}", W::BYTES), width));
    }
    let len = index(cursor.varint()?);
    let n = grid.len();
    frame::take_bytes(cursor.take(len)?, n.div_ceil(8)..=n.div_ceil(8), zstd, marks)?;
    // Words of 64 marks.
    marks.resize(marks.len().next_multiple_of(8), 0);
    let (words, _) = marks.as_chunks::<8>();
    let count = words.iter().map(|&word| u64::from_le_bytes(word).count_ones() as usize).sum();
    check_count(count, n, valid)?;
    let beyond = |valid: &[u8], word: [u8; 8]| u64::from_le_bytes(word) & !pack(valid) != 0;
    let outside = match valid {
        Some((valid, _)) => valid.chunks(64).zip(words).any(|(valid, &word)| beyond(valid, word)),
        None => {
            !n.is_multiple_of(64)
                && words.last().is_some_and(|&word| u64::from_le_bytes(word) >> (n % 64) != 0)
        }
    };
    if outside {
        return Err(bad("exception position", "valid elements", "others"));
    }
    let size = count * width;
    frame::take_bytes(cursor.rest(), size..=size, zstd, bytes)?;
    // Planes that are not stored are zero.
    bytes.resize(count * W::BYTES, 0);
    let differences = W::pool(pool);
    differences.clear();
    differences.resize(count, W::default());
    planes::unshuffle(bytes, true, differences);
    if differences.contains(&W::default()) {
        return Err(bad(VALUE, NOT_ZERO, 0));
    }
    add(grid, words, differences, ty);
    Ok(())
}

/// Adds the differences, in their order, to the keys of the marked elements.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn add<W: Word>(grid: &mut [W], marks: &[[u8; 8]], differences: &[W], ty: ElementType) {
    let mut differences = differences.iter();
    for (block, &marks) in grid.chunks_mut(64).zip(marks) {
        let mut marks = u64::from_le_bytes(marks);
        while marks != 0 {
            let at = marks.trailing_zeros() as usize;
            if let (Some(w), Some(&difference)) = (block.get_mut(at), differences.next()) {
                *w = key(key(*w, ty).plus(difference), ty);
            }
            marks &= marks - 1;
        }
    }
}
