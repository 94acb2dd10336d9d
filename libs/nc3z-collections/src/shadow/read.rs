//! Reads a shadow. Its parts are read when they are asked for.

use super::columns::{doubles, names, numbers, signed, sizes, strings, wrong};
use super::frame::{Entry, Frame, MAGIC, MAX_MEMBERS, directory};
use super::member::{Exactly, Head, HeadKind, Known, Member, Range, Tile, Variable};
use crate::error::Result;
use bytes::Bytes;
use nc3z_format::bytes::ByteCursor;
use nc3z_format::double_double::DoubleDouble;
use nc3z_format::tile::{Edge, TileLayout};
use nc3z_reader::source::SharedSource;

/// Dimensions of a tile at most: those of a variable.
const MAX_RANK: usize = 1024;
/// Occurrences of a variable in a block at most: a file has a variable once, and a header with a name twice is rare.
const MAX_FOUND: usize = 16 * MAX_MEMBERS;
/// Bytes of a value of a coordinate at most: a row of text.
const MAX_VALUE: usize = 256;

/// An open shadow.
pub struct Shadow {
    source: SharedSource,
    entries: Vec<Entry>,
}

/// Files of a shadow that share frames.
#[derive(Clone, Copy)]
pub struct Block<'s> {
    source: &'s SharedSource,
    entry: &'s Entry,
    /// The number of the first file.
    first: usize,
}

/// One variable in all files of a block.
#[derive(Debug, Clone, Default)]
pub struct Tiles {
    /// Where it occurs, in the order of the files.
    pub found: Vec<Occurrence>,
    /// Valid values of each tile that are finite.
    pub counts: Vec<u64>,
    /// Infinite values of each tile.
    pub infinite: Vec<u64>,
    /// The least value of each tile.
    pub min: Vec<Exactly>,
    /// The largest value of each tile.
    pub max: Vec<Exactly>,
}

/// A variable in a file.
#[derive(Debug, Clone)]
pub struct Occurrence {
    /// The number of the file in its block.
    pub member: usize,
    /// Its position in the header.
    pub variable: usize,
    /// Its division into tiles.
    pub layout: TileLayout,
    /// The number of its tiles.
    pub tiles: usize,
    /// The rows with its statistics. None for text.
    pub rows: Option<std::ops::Range<usize>>,
}

/// Sums of each tile of [`Tiles`].
#[derive(Debug, Clone, Default)]
pub struct Sums {
    sum: [Vec<f64>; 2],
    squares: [Vec<f64>; 2],
}

impl Shadow {
    /// Returns true if bytes begin as those of a shadow.
    pub fn is_shadow(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// Opens a shadow. Only the directory of its parts is read.
    ///
    /// # Errors
    /// The file is not a shadow, or it is damaged.
    pub fn open(source: SharedSource) -> Result<Self> {
        let entries = directory(&source)?;
        Ok(Shadow { source, entries })
    }

    /// The number of files.
    pub fn len(&self) -> usize {
        self.entries.iter().map(|entry| entry.members).sum()
    }

    /// Returns true if it has no files.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether a variable has numbers in a file. None if no file has it.
    ///
    /// # Errors
    /// Damage.
    pub fn has_numbers(&self, variable: &str) -> Result<Option<bool>> {
        let mut found = None;
        for block in self.blocks() {
            if let Some(tiles) = block.tiles(variable)? {
                found = Some(tiles.found.iter().any(|found| found.rows.is_some()));
            }
            if found == Some(true) {
                break;
            }
        }
        Ok(found)
    }

    /// Its files, in blocks.
    pub fn blocks(&self) -> impl Iterator<Item = Block<'_>> {
        let mut first = 0;
        self.entries.iter().map(move |entry| {
            let block = Block { source: &self.source, entry, first };
            first += entry.members;
            block
        })
    }
}

/// Reads all of a frame.
fn whole<T>(bytes: &[u8], what: &str, read: impl FnOnce(&mut ByteCursor<'_>) -> Result<T>) -> Result<T> {
    let mut from = ByteCursor::new(what, 0, bytes);
    let found = read(&mut from)?;
    from.finish()?;
    Ok(found)
}

/// Beginnings of ranges from their distances to the end of the range before.
fn ranges(gaps: Vec<i64>, lengths: Vec<u64>) -> impl Iterator<Item = Range> {
    let mut end = 0_u64;
    gaps.into_iter().zip(lengths).map(move |(gap, len)| {
        let offset = end.wrapping_add_signed(gap);
        end = offset.wrapping_add(len);
        Range { offset, len }
    })
}

/// Numbers below `most` from their differences.
fn from_steps(steps: Vec<i64>, what: &str, most: usize) -> Result<Vec<usize>> {
    let mut at = 0_i64;
    let number = |step: i64| {
        at = at.wrapping_add(step);
        let found = usize::try_from(at).ok().filter(|n| *n < most);
        found.ok_or_else(|| wrong(format!("{what} {at} does not exist, there are {most}")))
    };
    steps.into_iter().map(number).collect()
}

impl<'s> Block<'s> {
    /// The number of its files.
    pub fn len(&self) -> usize {
        self.entry.members
    }

    /// Returns true if it has no files.
    pub fn is_empty(&self) -> bool {
        self.entry.members == 0
    }

    /// The number of its first file in the shadow.
    pub fn first(&self) -> usize {
        self.first
    }

    /// The names of its files.
    ///
    /// # Errors
    /// Damage.
    pub fn names(&self) -> Result<Vec<String>> {
        let bytes = self.entry.names.read(self.source)?;
        whole(&bytes, "names of the shadow", |from| names(from, self.len()))
    }

    /// The head of each of its files, with the number of the header.
    ///
    /// # Errors
    /// Damage.
    pub fn heads(&self) -> Result<Vec<(Head, usize)>> {
        let bytes = self.entry.heads.read(self.source)?;
        let n = self.len();
        whole(&bytes, "heads of the shadow", |from| {
            let kinds = sizes(from, "kind", n, HeadKind::ALL.len() - 1)?;
            let lengths = numbers(from, "length", n)?;
            let gaps = signed(from, "offset", n)?;
            let places = ranges(gaps, numbers(from, "stored length", n)?);
            let headers = from_steps(signed(from, "header", n)?, "header", MAX_MEMBERS)?;
            let has = sizes(from, "SHA-256", n, 1)?;
            let mut all = Vec::with_capacity(n);
            for ((kind, len), (place, (header, has))) in
                kinds.into_iter().zip(lengths).zip(places.zip(headers.into_iter().zip(has)))
            {
                let sha256 = if has == 1 { Some(from.array("SHA-256")?) } else { None };
                let kind = HeadKind::ALL[kind];
                let (offset, stored) = (place.offset, place.len);
                all.push((Head { kind, len, offset, stored, sha256, modified: 0 }, header));
            }
            let mut at = 0_i64;
            for ((head, _), step) in all.iter_mut().zip(signed(from, "time of the last change", n)?) {
                at = at.wrapping_add(step);
                head.modified = at;
            }
            Ok(all)
        })
    }

    /// The distinct headers of its files.
    ///
    /// # Errors
    /// Damage.
    pub fn headers(&self) -> Result<Vec<Bytes>> {
        let bytes = Bytes::from(self.entry.headers.read(self.source)?);
        whole(&bytes, "headers of the shadow", |from| {
            Ok(strings(from, "header", self.len())?.into_iter().map(|s| bytes.slice_ref(s)).collect())
        })
    }

    /// The coordinates of each of its files. Equal values are shared.
    ///
    /// # Errors
    /// Damage.
    pub fn coordinates(&self) -> Result<Vec<Vec<Known>>> {
        let bytes = Bytes::from(self.entry.coordinates.read(self.source)?);
        whole(&bytes, "coordinates of the shadow", |from| {
            let each = sizes(from, "number of coordinates", self.len(), u32::MAX as usize)?;
            let n = each.iter().fold(0_usize, |sum, n| sum.saturating_add(*n));
            let variables = sizes(from, "variable", n, u32::MAX as usize)?;
            let wholes = sizes(from, "extent", n, 1)?;
            let sizes_of = sizes(from, "bytes of a value", n, MAX_VALUE)?;
            let steps = signed(from, "list of values", n)?;
            let values: Vec<Bytes> =
                strings(from, "values", n)?.into_iter().map(|s| bytes.slice_ref(s)).collect();
            let numbers = from_steps(steps, "list of values", values.len())?;
            let known = |((variable, whole), (size, n)): ((usize, usize), (usize, usize))| Known {
                variable: u32::try_from(variable).unwrap_or(u32::MAX),
                whole: whole == 1,
                size,
                bytes: values[n].clone(),
            };
            let mut rows =
                variables.into_iter().zip(wholes).zip(sizes_of.into_iter().zip(numbers)).map(known);
            Ok(each.into_iter().map(|n| rows.by_ref().take(n).collect()).collect())
        })
    }

    /// The names of its variables.
    pub fn variables(&self) -> impl Iterator<Item = &'s str> + use<'s> {
        self.entry.groups.iter().flat_map(|group| group.names.iter().map(String::as_str))
    }

    /// The section of a variable in one of the frames of its group; nothing without the variable.
    fn section(
        &self,
        name: &str,
        of: fn(&super::frame::Group) -> &Frame,
    ) -> Result<Option<(Vec<u8>, std::ops::Range<usize>)>> {
        let find =
            |group: &'s super::frame::Group| Some((group, group.names.iter().position(|n| n == name)?));
        let Some((group, number)) = self.entry.groups.iter().find_map(find) else { return Ok(None) };
        let bytes = of(group).read(self.source)?;
        if bytes.is_empty() {
            return Ok(Some((bytes, 0..0)));
        }
        let mut from = ByteCursor::new("variables of the shadow", 0, &bytes);
        let lengths = sizes(&mut from, "length", group.names.len(), bytes.len())?;
        let begins = bytes.len() - from.left();
        let sum = |lengths: &[usize]| lengths.iter().fold(begins, |sum, n| sum.saturating_add(*n));
        if sum(&lengths) != bytes.len() {
            return Err(wrong(format!(
                "its variables have {} bytes, and {} are there",
                sum(&lengths),
                bytes.len()
            )));
        }
        let begin = sum(&lengths[..number]);
        Ok(Some((bytes, begin..begin + lengths[number])))
    }

    /// The tiles of a variable. None where no file of the block has it.
    ///
    /// # Errors
    /// Damage.
    pub fn tiles(&self, name: &str) -> Result<Option<Tiles>> {
        let Some((bytes, section)) = self.section(name, |group| &group.tiles)? else { return Ok(None) };
        let bytes = &bytes[section];
        let found = whole(bytes, "tiles of the shadow", |from| {
            let n = from.varint_up_to("number of files", MAX_FOUND)?;
            let members = from_steps(signed(from, "file", n)?, "file", self.len())?;
            let ids = sizes(from, "variable", n, u32::MAX as usize)?;
            let tiles = sizes(from, "number of tiles", n, usize::MAX)?;
            let has = sizes(from, "statistics", n, 1)?;
            let kinds = sizes(from, "kind of tiles", n, 2)?;
            let ranks = sizes(from, "rank of tiles", n, MAX_RANK)?;
            let all_ranks = ranks.iter().fold(0_usize, |sum, n| sum.saturating_add(*n));
            let mut lengths = numbers(from, "shape of tiles", all_ranks)?.into_iter();
            let mut rows = 0_usize;
            let mut found = Vec::with_capacity(n);
            for i in 0..n {
                let shape: Vec<u64> = lengths.by_ref().take(ranks[i]).collect();
                let layout = match (kinds[i], shape.as_slice()) {
                    (0, [len]) => TileLayout::linear(*len),
                    (0, _) => return Err(wrong("a linear tile has one length")),
                    (1, _) => TileLayout::chunked(shape, Edge::Clipped),
                    _ => TileLayout::chunked(shape, Edge::Padded),
                };
                let own = if has[i] == 1 { tiles[i] } else { 0 };
                let end = rows.saturating_add(own);
                let rows = (has[i] == 1).then(|| std::mem::replace(&mut rows, end)..end);
                found.push(Occurrence {
                    member: members[i],
                    variable: ids[i],
                    layout,
                    tiles: tiles[i],
                    rows,
                });
            }
            let counts = numbers(from, "count", rows)?;
            let infinite = numbers(from, "infinite values", rows)?;
            let ends = [doubles(from, "least value", rows)?, doubles(from, "largest value", rows)?];
            let more = [signed(from, "least value", rows)?, signed(from, "largest value", rows)?];
            let exactly = |(nearest, more)| Exactly { nearest, more };
            let mut ends = ends
                .into_iter()
                .zip(more)
                .map(|(ends, more)| ends.into_iter().zip(more).map(exactly).collect());
            let (min, max) = (ends.next().unwrap_or_default(), ends.next().unwrap_or_default());
            Ok(Tiles { found, counts, infinite, min, max })
        })?;
        Ok(Some(found))
    }

    /// The sums of the tiles of a variable.
    ///
    /// # Errors
    /// Damage.
    pub fn sums(&self, name: &str, tiles: &Tiles) -> Result<Sums> {
        let Some((bytes, section)) = self.section(name, |group| &group.sums)? else {
            return Ok(Sums::default());
        };
        let rows = tiles.counts.len();
        whole(&bytes[section], "sums of the shadow", |from| {
            let mut next = |what| doubles(from, what, rows);
            Ok(Sums { sum: [next("sum")?, next("sum")?], squares: [next("squares")?, next("squares")?] })
        })
    }

    /// The ranges of bytes of each tile of each occurrence of a variable.
    ///
    /// # Errors
    /// Damage.
    pub fn places(&self, name: &str, tiles: &Tiles) -> Result<Vec<Vec<Vec<Range>>>> {
        let none = || tiles.found.iter().map(|_| Vec::new()).collect();
        let Some((bytes, section)) = self.section(name, |group| &group.places)? else { return Ok(none()) };
        if section.is_empty() {
            return Ok(none());
        }
        whole(&bytes[section], "places of the shadow", |from| {
            let count = tiles.found.iter().fold(0_usize, |sum, found| sum.saturating_add(found.tiles));
            let parts = sizes(from, "number of ranges", count, usize::MAX)?;
            let n = parts.iter().fold(0_usize, |sum, n| sum.saturating_add(*n));
            let gaps = signed(from, "offset", n)?;
            let mut places = ranges(gaps, numbers(from, "length", n)?);
            let mut parts = parts.into_iter();
            let of_tile = |n| places.by_ref().take(n).collect::<Vec<_>>();
            let mut of_tiles = parts.by_ref().map(of_tile);
            Ok(tiles.found.iter().map(|found| of_tiles.by_ref().take(found.tiles).collect()).collect())
        })
    }

    /// Everything of one of its files.
    ///
    /// # Errors
    /// Damage.
    pub fn member(&self, number: usize) -> Result<Option<Member>> {
        if number >= self.len() {
            return Ok(None);
        }
        let (head, header) = self.heads()?.swap_remove(number);
        let header = self.headers()?.into_iter().nth(header).ok_or_else(|| wrong("a header is not there"))?;
        let mut variables: Vec<(usize, Variable)> = Vec::new();
        for name in self.variables() {
            let Some(tiles) = self.tiles(name)? else { continue };
            if tiles.found.iter().all(|found| found.member != number) {
                continue;
            }
            let sums = self.sums(name, &tiles)?;
            let places = self.places(name, &tiles)?;
            for (found, places) in tiles.found.iter().zip(places).filter(|(found, _)| found.member == number)
            {
                let own = found.rows.clone().map(|rows| rows.map(|row| tiles.tile(&sums, row)).collect());
                let layout = found.layout.clone();
                let variable = Variable { name: name.to_owned(), layout, tiles: own, places };
                variables.push((found.variable, variable));
            }
        }
        variables.sort_by_key(|(id, _)| *id);
        Ok(Some(Member {
            name: self.names()?.swap_remove(number),
            head,
            header,
            coordinates: self.coordinates()?.swap_remove(number),
            variables: variables.into_iter().map(|(_, variable)| variable).collect(),
        }))
    }
}

impl Tiles {
    /// The least and the largest value of a tile by its row. None without values.
    pub fn ends(&self, row: usize) -> Option<(Exactly, Exactly)> {
        (self.counts[row] > 0 || self.infinite[row] > 0).then(|| (self.min[row], self.max[row]))
    }

    /// A tile by its row.
    pub fn tile(&self, sums: &Sums, row: usize) -> Tile {
        let pair = |pair: &[Vec<f64>; 2]| DoubleDouble(pair[0][row], pair[1][row]);
        Tile {
            count: self.counts[row],
            infinite: self.infinite[row],
            min: self.min[row],
            max: self.max[row],
            sum: pair(&sums.sum),
            squares: pair(&sums.squares),
        }
    }
}
