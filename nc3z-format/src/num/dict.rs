//! The rank dictionary of a variable: its distinct patterns, sorted. Stored as a definition of its own.

use super::bad;
use super::bits::{Cursor, put_varint};
use super::domain::{Exceptions, key};
use super::mask::Runs;
use super::scratch::Scratch;
use super::word::{Pool, Word, index};
use super::{Coder, EncodePlan, Geometry, Params, Strides, decode, encode};
use crate::error::{Error, Result};
use crate::types::NcType;
use std::sync::OnceLock;

/// Most patterns of a dictionary.
pub const MAX_DICTIONARY: usize = 1 << 16;

/// Sorted distinct patterns of a variable; a tile stores their numbers.
#[derive(Debug, Default)]
pub struct Dictionary {
    words: Pool,
    len: usize,
    index: OnceLock<Index>,
}

/// Open addressing, from pattern to rank.
#[derive(Debug)]
struct Index {
    slots: Vec<(u64, u32)>,
    shift: u32,
}

impl Index {
    fn new(patterns: impl Iterator<Item = u64>, len: usize) -> Self {
        let size = (len * 4).next_power_of_two();
        let mut made = Self { slots: vec![(0, u32::MAX); size], shift: 64 - size.trailing_zeros() };
        for (rank, p) in (0u32..).zip(patterns) {
            let mut at = made.slot(p);
            while made.slots[at].1 != u32::MAX {
                at = (at + 1) & (size - 1);
            }
            made.slots[at] = (p, rank);
        }
        made
    }

    #[inline]
    fn slot(&self, p: u64) -> usize {
        index(p.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift.min(63)) & (self.slots.len() - 1)
    }

    #[inline]
    fn get(&self, p: u64) -> Option<u32> {
        let mut at = self.slot(p);
        loop {
            let (pattern, rank) = self.slots[at];
            if rank == u32::MAX {
                return None;
            }
            if pattern == p {
                return Some(rank);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }
}

/// What patterns are sorted by: signed for floats (their `ord`) and signed integers, else unsigned.
fn sort_key<W: Word>(b: W, ty: NcType) -> W {
    let signed = ty.is_float() || !(ty.is_unsigned() || ty == NcType::Char);
    let top = if signed { W::from_u64(1).shl(W::BITS - 1) } else { W::default() };
    key(b, ty).xor(top)
}

impl Dictionary {
    /// The dictionary of these patterns, in any order; None if there are none, or too many.
    pub fn new<W: Word>(mut patterns: Vec<W>, ty: NcType) -> Option<Self> {
        patterns.sort_unstable_by_key(|&b| sort_key(b, ty));
        patterns.dedup();
        let len = patterns.len();
        if len == 0 || len > MAX_DICTIONARY {
            return None;
        }
        let mut words = Pool::default();
        *W::pool(&mut words) = patterns;
        Some(Self { words, len, index: OnceLock::new() })
    }

    /// How many patterns it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The patterns, if words of this width are meant.
    pub fn patterns<W: Word>(&self) -> &[W] {
        W::pooled(&self.words)
    }

    /// The stored form: a count, then a payload of this codec.
    ///
    /// # Errors
    /// If the dictionary was made for words of another width.
    pub fn encode_definition(&self, ty: NcType) -> Result<Vec<u8>> {
        match ty.size() {
            1 => self.encode_words::<u8>(ty),
            2 => self.encode_words::<u16>(ty),
            4 => self.encode_words::<u32>(ty),
            _ => self.encode_words::<u64>(ty),
        }
    }

    /// Bytes of the stored form, at most; cheaper than making it.
    pub(super) fn definition_estimate(&self, ty: NcType) -> Result<u64> {
        let plan = EncodePlan { strides: Strides::W, coder: Coder::Ctx, ..EncodePlan::default() };
        let (mut scratch, mut out, none) = (Scratch::new(), Vec::new(), Geometry::default());
        match ty.size() {
            1 => encode(self.patterns::<u8>(), ty, &none, &plan, &mut scratch, &mut out)?,
            2 => encode(self.patterns::<u16>(), ty, &none, &plan, &mut scratch, &mut out)?,
            4 => encode(self.patterns::<u32>(), ty, &none, &plan, &mut scratch, &mut out)?,
            _ => encode(self.patterns::<u64>(), ty, &none, &plan, &mut scratch, &mut out)?,
        }
        Ok(out.len() as u64 + 3)
    }

    fn encode_words<W: Word>(&self, ty: NcType) -> Result<Vec<u8>> {
        let words = self.patterns::<W>();
        if words.len() != self.len {
            return Err(Error::invalid("the dictionary is of another type"));
        }
        let mut best: Option<Vec<u8>> = None;
        for coder in [Coder::Ctx, Coder::Planes] {
            let plan = EncodePlan { strides: Strides::W, coder, level: 19, ..EncodePlan::default() };
            let mut out = Vec::new();
            put_varint(&mut out, self.len as u64);
            encode(words, ty, &Geometry::default(), &plan, &mut Scratch::new(), &mut out)?;
            if best.as_ref().is_none_or(|b| out.len() < b.len()) {
                best = Some(out);
            }
        }
        Ok(best.unwrap_or_default())
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// If it is not the dictionary of this type: count 1 to 65536, patterns strictly ascending.
    pub fn decode_definition(bytes: &[u8], ty: NcType) -> Result<Self> {
        match ty.size() {
            1 => Self::decode_words::<u8>(bytes, ty),
            2 => Self::decode_words::<u16>(bytes, ty),
            4 => Self::decode_words::<u32>(bytes, ty),
            _ => Self::decode_words::<u64>(bytes, ty),
        }
    }

    fn decode_words<W: Word>(bytes: &[u8], ty: NcType) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        let len = index(cursor.varint()?);
        if !(1..=MAX_DICTIONARY).contains(&len) {
            return Err(bad("dictionary length", "1 to 65536", len));
        }
        let mut patterns = vec![W::default(); len];
        let scratch = &mut Scratch::new();
        decode(cursor.rest(), ty, &Geometry::default(), &Params::default(), None, scratch, &mut patterns)?;
        if patterns.windows(2).any(|w| sort_key(w[0], ty) >= sort_key(w[1], ty)) {
            return Err(bad("dictionary", "ascending patterns", "others"));
        }
        let mut words = Pool::default();
        *W::pool(&mut words) = patterns;
        Ok(Self { words, len, index: OnceLock::new() })
    }

    /// Ranks to patterns.
    pub(super) fn lookup<W: Word>(&self, grid: &mut [W]) -> Result<()> {
        let table = self.patterns::<W>();
        let most = grid.iter().copied().max().unwrap_or_default().to_u64();
        if most >= table.len() as u64 {
            return Err(bad("rank", format_args!("< {}", table.len()), most));
        }
        // All ranks are in range, checked just now; the default is never taken.
        for w in grid {
            *w = table.get(index(w.to_u64())).copied().unwrap_or_default();
        }
        Ok(())
    }

    /// Patterns to ranks, in place. None where more than an eighth of the valid patterns is not known.
    pub(super) fn map<W: Word>(&self, grid: &mut [W], runs: &Runs, ty: NcType) -> Option<Exceptions<W>> {
        let table = self.patterns::<W>();
        if table.is_empty() || (W::BITS == 8 && table.len() > 255) {
            return None;
        }
        let index = self.index.get_or_init(|| Index::new(table.iter().map(|p| p.to_u64()), table.len()));
        let mut exceptions = Exceptions { list: Vec::new() };
        let mut previous = 0u32;
        let mut last = (table[0], 0u32);
        for run in &runs.list {
            for (at, w) in (run.start..).zip(&mut grid[run.clone()]) {
                if *w != last.0 {
                    if let Some(rank) = index.get(w.to_u64()) {
                        last = (*w, rank);
                    } else {
                        let near = table.get(previous as usize).copied().unwrap_or_default();
                        exceptions.list.push((at, key(*w, ty).minus(key(near, ty))));
                        if exceptions.list.len() * 8 > runs.valid {
                            return None;
                        }
                        *w = W::from_u64(u64::from(previous));
                        continue;
                    }
                }
                previous = last.1;
                *w = W::from_u64(u64::from(previous));
            }
        }
        Some(exceptions)
    }
}

/// Collects the distinct patterns of a variable; gives up when there are too many.
#[derive(Debug)]
pub struct DictionaryBuilder<W> {
    /// Open addressing; free slots hold the filler, which `filler_seen` tells from the pattern.
    slots: Vec<W>,
    len: usize,
    filler_seen: bool,
    full: bool,
}

impl<W: Word> Default for DictionaryBuilder<W> {
    fn default() -> Self {
        Self { slots: vec![W::default(); 1 << 12], len: 0, filler_seen: false, full: false }
    }
}

impl<W: Word> DictionaryBuilder<W> {
    /// Adds the elements of a tile, except `mask`; false once there are too many patterns.
    pub fn add(&mut self, elements: &[W], mask: Option<u64>) -> bool {
        let mask = mask.and_then(super::mask::pattern_of::<W>);
        let mut last = W::default();
        for part in elements.chunks(1 << 10) {
            if self.full {
                break;
            }
            // Room for all of the part, so that the loop need not ask.
            while (self.len + part.len()) * 2 > self.slots.len() {
                self.grow();
            }
            for &e in part {
                if e != last && Some(e) != mask {
                    self.insert(e);
                    last = e;
                }
            }
            self.filler_seen |= mask != Some(W::default()) && part.contains(&W::default());
            self.full = self.len + usize::from(self.filler_seen) > MAX_DICTIONARY;
        }
        !self.full
    }

    #[inline]
    fn insert(&mut self, e: W) {
        let most = self.slots.len() - 1;
        let mut at = index(e.to_u64().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) & most;
        if e == W::default() {
            return;
        }
        while self.slots[at] != e {
            if self.slots[at] == W::default() {
                self.slots[at] = e;
                self.len += 1;
                return;
            }
            at = (at + 1) & most;
        }
    }

    fn grow(&mut self) {
        let larger = vec![W::default(); self.slots.len() * 4];
        let old = std::mem::replace(&mut self.slots, larger);
        self.len = 0;
        for e in old {
            self.insert(e);
        }
    }

    /// The patterns, in no particular order.
    pub(super) fn patterns(self) -> Vec<W> {
        let filler = self.filler_seen.then(W::default);
        self.slots.into_iter().filter(|&e| e != W::default()).chain(filler).collect()
    }

    /// The dictionary, if the variable has one.
    pub fn finish(self, ty: NcType) -> Option<Dictionary> {
        if self.full { None } else { Dictionary::new(self.patterns(), ty) }
    }
}
