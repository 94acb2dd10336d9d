//! Stage 2, the domain map: patterns of valid elements become integers whose differences are small.

use super::bad;
use super::bits::{Cursor, put_varint};
use super::dict::Dictionary;
use super::frame::{self, Zstd};
use super::lattice::{self, Segments};
use super::mask::Runs;
use super::word::{Word, index};
use crate::error::Result;
use crate::types::NcType;
use multiversion::multiversion;

/// Order-preserving integer of a float pattern whose sign bit stands `1 + trim` ones ahead of its magnitude;
/// its own inverse.
#[inline]
pub(super) fn ord<W: Word>(b: W, trim: u32) -> W {
    b.xor(b.sar(W::BITS - 1).shr(trim).shr(1))
}

/// As [`ord`] for floats; integers stay as they are.
#[inline]
pub(super) fn key<W: Word>(b: W, ty: NcType) -> W {
    if ty.is_float() { ord(b, 0) } else { b }
}

#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(super) fn ord_all<W: Word>(words: &mut [W]) {
    for w in words {
        *w = ord(*w, 0);
    }
}

#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn trim_all<W: Word>(words: &mut [W], trim: u32, float: bool) {
    for w in words {
        let shifted = w.sar(trim);
        *w = if float { ord(shifted, trim) } else { shifted };
    }
}

#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn untrim_all<W: Word>(words: &mut [W], trim: u32, float: bool) {
    for w in words {
        *w = if float { ord(*w, trim) } else { *w }.shl(trim);
    }
}

/// Low bits that are zero in all valid patterns.
pub(super) fn common_zeros<W: Word>(elements: &[W], runs: &Runs) -> u32 {
    let any = runs.list.iter().flat_map(|r| &elements[r.clone()]).fold(W::default(), |a, &e| a.or(e));
    if any == W::default() { 0 } else { any.to_u64().trailing_zeros() }
}

/// What is stored of a domain map.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) enum Map {
    #[default]
    Ord,
    Trim(u32),
    Lattice(Segments),
    Rank,
}

impl Map {
    pub(super) fn code(&self) -> u8 {
        match self {
            Map::Ord => 0,
            Map::Trim(_) => 1,
            Map::Lattice(_) => 2,
            Map::Rank => 3,
        }
    }

    /// Appends the domain part, if there is one.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        match self {
            Map::Ord | Map::Rank => {}
            Map::Trim(k) => out.push(super::word::low8(u64::from(*k))),
            Map::Lattice(segments) => segments.put(out),
        }
    }

    /// True where a domain part is stored.
    pub(super) fn has_part(code: u8) -> bool {
        code == 1 || code == 2
    }

    /// Reads the domain part of a tile of `n` elements.
    pub(super) fn take<W: Word>(code: u8, part: &[u8], n: usize, ty: NcType) -> Result<Self> {
        match (code, part) {
            (0, []) => Ok(Map::Ord),
            (3, []) => Ok(Map::Rank),
            (1, &[k]) if (1..W::BITS).contains(&u32::from(k)) => Ok(Map::Trim(u32::from(k))),
            (2, part) if ty.is_float() => Ok(Map::Lattice(Segments::take(part, n)?)),
            _ => Err(bad("domain", "a domain of this type", code)),
        }
    }
}

/// Maps `grid` (patterns in, integers out) where that needs no exceptions.
pub(super) fn simple<W: Word>(grid: &mut [W], ty: NcType, trim: u32) {
    if trim > 0 {
        trim_all(grid, trim, ty.is_float());
    } else if ty.is_float() {
        ord_all(grid);
    }
}

/// Inverse of the map: integers in, patterns out. Masked positions hold 0.
pub(super) fn invert<W: Word>(
    grid: &mut [W],
    map: &Map,
    ty: NcType,
    dict: Option<&Dictionary>,
) -> Result<()> {
    match map {
        Map::Ord => simple(grid, ty, 0),
        Map::Trim(k) => untrim_all(grid, *k, ty.is_float()),
        Map::Lattice(segments) => lattice::invert(grid, segments)?,
        Map::Rank => {
            let dict = dict.ok_or_else(|| bad("rank", "a dictionary", "none"))?;
            dict.lookup(grid)?;
        }
    }
    Ok(())
}

/// Exceptions: positions ascending on the grid, and what to add to the mapped key there.
#[derive(Debug, Default)]
pub(super) struct Exceptions<W> {
    pub(super) list: Vec<(usize, W)>,
}

impl<W: Word> Exceptions<W> {
    /// Appends the part: count, position gaps, zigzag differences.
    pub(super) fn put(&self, level: i32, zstd: &mut Zstd, out: &mut Vec<u8>) -> Result<()> {
        let mut content = Vec::with_capacity(3 * self.list.len() + 8);
        put_varint(&mut content, self.list.len() as u64);
        let mut next = 0;
        for &(at, _) in &self.list {
            put_varint(&mut content, (at - next) as u64);
            next = at + 1;
        }
        for &(_, difference) in &self.list {
            put_varint(&mut content, difference.zigzag().to_u64());
        }
        frame::put_bytes(&content, level, zstd, out)
    }
}

/// Applies the exceptions of a part to the patterns in `grid`.
pub(super) fn apply_exceptions<W: Word>(
    part: &[u8],
    grid: &mut [W],
    runs: &Runs,
    ty: NcType,
    zstd: &mut Zstd,
    content: &mut Vec<u8>,
) -> Result<()> {
    // A count, and for each exception a position of at most 5 bytes and a value of at most 10.
    let most = grid.len().saturating_mul(15).saturating_add(5);
    frame::take_bytes(part, 3..=most, zstd, content)?;
    let mut cursor = Cursor::new(content);
    let count = index(cursor.varint()?);
    if count == 0 || count > runs.valid || count > content.len() {
        return Err(bad("exception count", format_args!("1 to {}", runs.valid), count));
    }
    let mut positions = Vec::with_capacity(count);
    let (mut next, mut run) = (0usize, 0usize);
    for _ in 0..count {
        let at = next.saturating_add(index(cursor.varint()?));
        while run < runs.list.len() && runs.list[run].end <= at {
            run += 1;
        }
        if runs.list.get(run).is_none_or(|r| !r.contains(&at)) {
            return Err(bad("exception position", "a valid element", at));
        }
        positions.push(at);
        next = at + 1;
    }
    for at in positions {
        let z = cursor.varint()?;
        let w = W::from_u64(z);
        if w.to_u64() != z || z == 0 {
            return Err(bad("exception value", "a word that is not 0", z));
        }
        grid[at] = key(key(grid[at], ty).plus(w.unzigzag()), ty);
    }
    cursor.finish("exceptions")
}
