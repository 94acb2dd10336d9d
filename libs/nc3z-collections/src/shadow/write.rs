//! Writes a shadow, block by block: memory does not grow with the number of files.

use super::columns::{MAX_NAME, MAX_VALUES, put_doubles, put_names, put_numbers, put_signed, put_strings};
use super::frame::{Entry, Frame, Group, MAGIC, MAX_MEMBERS, finish, pack};
use super::member::{Known, Member, Range, Tile, Variable};
use crate::error::{Error, Result};
use bytes::Bytes;
use nc3z_format::bytes::put_varint;
use nc3z_format::tile::{Edge, TileLayout};
use std::collections::HashMap;
use std::io::Write;

/// A block ends with the file that brings it to this many bytes of headers and coordinates,
const MOST_HEADERS: usize = 8 << 20;
/// or to this many tiles or ranges of bytes: some 10 MB while it is written.
const MOST_TILES: usize = 128 << 10;
/// Variables share frames until they have this many tiles together, since a frame takes some 50 bytes of its own.
const SHARED_TILES: usize = 8 << 10;
/// Bytes of coordinates of a block that are kept whatever its files have: axes of a grid are there once for all files.
const FREE_COORDINATES: u64 = 16 << 10;
/// Further bytes of coordinates: one for this many bytes of the files.
const COORDINATE_SHARE: u64 = 2048;
/// Coordinates of so few bytes are always kept.
const SMALL_COORDINATE: usize = 64;

/// A shadow that is being written.
pub struct Writer<W> {
    out: W,
    offset: u64,
    entries: Vec<Entry>,
    block: Vec<Member>,
    headers: usize,
    tiles: usize,
    /// Coordinates of the block by their bytes.
    coordinates: HashMap<Bytes, usize>,
    coordinate_bytes: u64,
    original: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a shadow.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn new(mut out: W) -> Result<Self> {
        out.write_all(MAGIC).map_err(|e| failed(&e))?;
        Ok(Writer {
            out,
            offset: MAGIC.len() as u64,
            entries: Vec::new(),
            block: Vec::new(),
            headers: 0,
            tiles: 0,
            coordinates: HashMap::new(),
            coordinate_bytes: 0,
            original: 0,
        })
    }

    /// Adds a file.
    ///
    /// # Errors
    /// A name that is too long; errors of the output.
    pub fn push(&mut self, mut member: Member) -> Result<()> {
        if member.name.len() > MAX_NAME {
            return Err(Error::refused(format!(
                "the shadow cannot be written: a name has {} bytes, and at most {MAX_NAME} are allowed",
                member.name.len()
            )));
        }
        self.original = self.original.saturating_add(member.head.len);
        for known in &mut member.coordinates {
            self.keep(known);
        }
        member.coordinates.retain(|known| !known.bytes.is_empty());
        for variable in &mut member.variables {
            let tiles = tile_count(variable);
            if tiles > MAX_VALUES - MOST_TILES {
                return Err(Error::refused(format!(
                    "the shadow cannot be written: `{}` has {tiles} tiles, and at most {} are allowed",
                    variable.name,
                    MAX_VALUES - MOST_TILES
                )));
            }
            // Records of many variables, each a range of its own: then no range of the variable is kept.
            if range_count(variable) > MAX_VALUES - MOST_TILES {
                variable.places.iter_mut().for_each(|ranges| *ranges = Vec::new());
            }
        }
        self.headers += member.header.len();
        self.tiles += member.variables.iter().map(|v| tile_count(v).max(range_count(v))).sum::<usize>();
        self.block.push(member);
        let full = self.block.len() >= MAX_MEMBERS || self.tiles >= MOST_TILES;
        if full || self.headers >= MOST_HEADERS {
            self.flush()?;
        }
        Ok(())
    }

    /// Keeps a coordinate whole if the block has it, or if it is small; otherwise its ends.
    fn keep(&mut self, known: &mut Known) {
        let len = known.bytes.len() as u64;
        let room = FREE_COORDINATES + self.original / COORDINATE_SHARE;
        let fits = self.coordinate_bytes + len <= room || known.bytes.len() <= SMALL_COORDINATE;
        if !self.coordinates.contains_key(&known.bytes) && known.whole && !fits {
            *known = known.ends();
        }
        let number = self.coordinates.len();
        if !self.coordinates.contains_key(&known.bytes) {
            self.coordinate_bytes += known.bytes.len() as u64;
            self.coordinates.insert(known.bytes.clone(), number);
        }
    }

    fn frame(&mut self, plain: &[u8]) -> Result<Frame> {
        let (frame, packed) = pack(plain, self.offset)?;
        self.out.write_all(&packed).map_err(|e| failed(&e))?;
        self.offset += packed.len() as u64;
        Ok(frame)
    }

    fn flush(&mut self) -> Result<()> {
        let block = std::mem::take(&mut self.block);
        let coordinates = std::mem::take(&mut self.coordinates);
        (self.headers, self.tiles, self.coordinate_bytes, self.original) = (0, 0, 0, 0);
        if block.is_empty() {
            return Ok(());
        }
        let mut plain = Vec::new();
        put_names(&mut plain, &block.iter().map(|m| m.name.as_str()).collect::<Vec<_>>());
        let names = self.frame(&plain)?;
        let (heads, headers) = heads(&block);
        let (heads, headers) = (self.frame(&heads)?, self.frame(&headers)?);
        let coordinates = self.frame(&coordinates_of(&block, coordinates))?;
        let mut entry =
            Entry { members: block.len(), names, heads, headers, coordinates, groups: Vec::new() };
        for names in groups(&block) {
            let [mut tiles, mut sums, mut places] = [const { Vec::new() }; 3];
            let sections: Vec<[Vec<u8>; 3]> = names.iter().map(|(_, found)| sections(found)).collect();
            for (n, out) in [&mut tiles, &mut sums, &mut places].into_iter().enumerate() {
                put_numbers(out, sections.iter().map(|s| s[n].len() as u64));
                sections.iter().for_each(|s| out.extend(&s[n]));
            }
            let names = names.into_iter().map(|(name, _)| name.to_owned()).collect();
            let (tiles, sums) = (self.frame(&tiles)?, self.frame(&sums)?);
            entry.groups.push(Group { names, tiles, sums, places: self.frame(&places)? });
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Writes the directory.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn finish(mut self) -> Result<W> {
        self.flush()?;
        let end = finish(&self.entries, self.offset)?;
        self.out.write_all(&end).map_err(|e| failed(&e))?;
        Ok(self.out)
    }
}

fn failed(e: &std::io::Error) -> Error {
    Error::refused(format!("the shadow cannot be written: {e}"))
}

/// Tiles that have something in the columns: those of text in a classic file have nothing.
fn tile_count(variable: &Variable) -> usize {
    variable.tiles.as_ref().map_or(variable.places.len(), Vec::len)
}

fn range_count(variable: &Variable) -> usize {
    variable.places.iter().map(Vec::len).sum()
}

/// Returns the columns of heads, and the distinct headers.
fn heads(block: &[Member]) -> (Vec<u8>, Vec<u8>) {
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    let mut headers: Vec<Bytes> = Vec::new();
    let mut numbers = Vec::with_capacity(block.len());
    for member in block {
        let number = *known.entry(&member.header).or_insert_with(|| {
            headers.push(member.header.clone());
            headers.len() - 1
        });
        numbers.push(i64::try_from(number).unwrap_or(0));
    }
    let mut out = Vec::new();
    let each = || block.iter().map(|m| &m.head);
    put_numbers(&mut out, each().map(|h| h.kind.code() as u64));
    put_numbers(&mut out, each().map(|h| h.len));
    put_signed(&mut out, gaps(each().map(|h| Range { offset: h.offset, len: h.stored })));
    put_numbers(&mut out, each().map(|h| h.stored));
    put_signed(&mut out, steps(numbers));
    put_numbers(&mut out, each().map(|h| u64::from(h.sha256.is_some())));
    each().filter_map(|h| h.sha256).for_each(|sha256| out.extend(sha256));
    put_signed(&mut out, steps(each().map(|h| h.modified).collect()));
    let mut all = Vec::new();
    put_strings(&mut all, &headers);
    (out, all)
}

/// Differences of numbers to the one before.
fn steps(numbers: Vec<i64>) -> Vec<i64> {
    let before = std::iter::once(0).chain(numbers.clone());
    numbers.into_iter().zip(before).map(|(n, before)| n.wrapping_sub(before)).collect()
}

/// Differences of beginnings to the end of the range before.
fn gaps(ranges: impl Iterator<Item = Range>) -> Vec<i64> {
    let mut end = 0_u64;
    let gap = |range: Range| {
        let gap = range.offset.wrapping_sub(end).cast_signed();
        end = range.offset.wrapping_add(range.len);
        gap
    };
    ranges.map(gap).collect()
}

fn coordinates_of(block: &[Member], known: HashMap<Bytes, usize>) -> Vec<u8> {
    let mut out = Vec::new();
    let each = || block.iter().flat_map(|m| &m.coordinates);
    put_numbers(&mut out, block.iter().map(|m| m.coordinates.len() as u64));
    put_numbers(&mut out, each().map(|c| c.variable.into()));
    put_numbers(&mut out, each().map(|c| u64::from(c.whole)));
    put_numbers(&mut out, each().map(|c| c.size as u64));
    let number = |c: &Known| known.get(&c.bytes).and_then(|n| i64::try_from(*n).ok()).unwrap_or(0);
    put_signed(&mut out, steps(each().map(number).collect()));
    let mut values = vec![Bytes::new(); known.len()];
    known.into_iter().for_each(|(bytes, n)| values[n] = bytes);
    put_strings(&mut out, &values);
    out
}

/// A variable of a file of a block.
type Found<'m> = (usize, usize, &'m Variable);

/// The variables of a block by name, in the order in which files name them first, in groups that share frames.
fn groups(block: &[Member]) -> Vec<Vec<(&str, Vec<Found<'_>>)>> {
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    let mut all: Vec<(&str, Vec<Found<'_>>)> = Vec::new();
    for (number, member) in block.iter().enumerate() {
        for (id, variable) in member.variables.iter().enumerate() {
            let at = *by_name.entry(&variable.name).or_insert_with(|| {
                all.push((&variable.name, Vec::new()));
                all.len() - 1
            });
            all[at].1.push((number, id, variable));
        }
    }
    let mut groups: Vec<Vec<_>> = Vec::new();
    let mut tiles = 0;
    for (name, found) in all {
        let own: usize = found.iter().map(|(_, _, v)| tile_count(v)).sum();
        if groups.is_empty() || tiles + own > SHARED_TILES {
            groups.push(Vec::new());
            tiles = 0;
        }
        tiles += own;
        groups.last_mut().expect("the first variable begins a group").push((name, found));
    }
    groups
}

/// The columns of a variable: ranges of values, sums, places.
fn sections(found: &[Found<'_>]) -> [Vec<u8>; 3] {
    let [mut tiles, mut sums, mut places] = [const { Vec::new() }; 3];
    let variables = || found.iter().map(|(_, _, v)| *v);
    put_varint(&mut tiles, found.len() as u64);
    let members = found.iter().map(|(member, _, _)| i64::try_from(*member).unwrap_or(0)).collect();
    put_signed(&mut tiles, steps(members));
    put_numbers(&mut tiles, found.iter().map(|(_, id, _)| *id as u64));
    put_numbers(&mut tiles, variables().map(|v| tile_count(v) as u64));
    put_numbers(&mut tiles, variables().map(|v| u64::from(v.tiles.is_some())));
    let layouts: Vec<(u64, &[u64])> = variables().map(|v| layout(&v.layout)).collect();
    put_numbers(&mut tiles, layouts.iter().map(|(kind, _)| *kind));
    put_numbers(&mut tiles, layouts.iter().map(|(_, lengths)| lengths.len() as u64));
    put_numbers(&mut tiles, layouts.iter().flat_map(|(_, lengths)| lengths.iter().copied()));
    let rows: Vec<&Tile> = variables().flat_map(|v| v.tiles.iter().flatten()).collect();
    put_numbers(&mut tiles, rows.iter().map(|t| t.count));
    put_numbers(&mut tiles, rows.iter().map(|t| t.infinite));
    let double = |of: fn(&Tile) -> f64| rows.iter().map(|t| of(t)).collect::<Vec<_>>();
    let ends = [double(|t| t.min.nearest), double(|t| t.max.nearest)];
    ends.iter().for_each(|column| put_doubles(&mut tiles, column));
    put_signed(&mut tiles, rows.iter().map(|t| t.min.more));
    put_signed(&mut tiles, rows.iter().map(|t| t.max.more));
    let columns =
        [double(|t| t.sum.0), double(|t| t.sum.1), double(|t| t.squares.0), double(|t| t.squares.1)];
    columns.iter().for_each(|column| put_doubles(&mut sums, column));
    let parts = |v: &Variable, n: usize| v.places.get(n).map_or(&[][..], Vec::as_slice).len() as u64;
    let ranges = || variables().flat_map(|v| v.places.iter().flatten().copied());
    if ranges().next().is_some() {
        put_numbers(&mut places, variables().flat_map(|v| (0..tile_count(v)).map(|n| parts(v, n))));
        put_signed(&mut places, gaps(ranges()));
        put_numbers(&mut places, ranges().map(|range| range.len));
    }
    [tiles, sums, places]
}

fn layout(layout: &TileLayout) -> (u64, &[u64]) {
    match layout {
        TileLayout::Linear { len } => (0, std::slice::from_ref(len)),
        TileLayout::Chunked { shape, edge: Edge::Clipped } => (1, shape),
        TileLayout::Chunked { shape, edge: Edge::Padded } => (2, shape),
    }
}
