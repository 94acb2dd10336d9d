//! Reads a catalogue. Its parts are read when they are asked for.

use super::content::Content;
use super::member::{CoordinateValues, Exactly, Head, HeadKind, Member, Range, Tile, UNKNOWN_TIME, Variable};
use super::table::{
    Axis, Column, Lengths, MAX_BYTES, MAX_MEMBERS, MAX_NAME, MAX_VALUES, check_bundle, is_bundle, is_marked,
    row_len, wrong,
};
use crate::error::Result;
use bytes::Bytes;
use nc3z_format::NcType;
use nc3z_format::array::TileKey;
use nc3z_format::classic::VarId;
use nc3z_format::double_double::DoubleDouble;
use nc3z_format::tile::{Edge, TileLayout};
use nc3z_reader::source::{FileSource, SharedSource};
use nc3z_reader::{Archive, Dataset, OpenOptions};
use std::collections::HashMap;
use std::ops::Range as Rows;
use std::path::Path;
use std::sync::Arc;

/// Dimensions of a tile at most: those of a variable.
const MAX_RANK: usize = 1024;
/// Occurrences of a variable in a block at most: a file has a variable once, and a header with a name twice is rare.
const MAX_FOUND: usize = 16 * MAX_MEMBERS;
/// Bytes of a value of a coordinate at most: a row of text.
const MAX_VALUE: usize = 256;
/// The ending of names of catalogues.
const ENDING: &str = ".catalog.nc3z";

/// An open catalogue.
pub struct Catalog {
    table: Table,
    blocks: Vec<Place>,
    /// Names in the order of the file.
    variables: Vec<String>,
    /// The number of a variable by its name.
    by_name: HashMap<String, usize>,
    tilings: Vec<TileLayout>,
    /// The name of the bundle, which is part of the names of its files.
    within: Option<String>,
}

/// Files of a catalogue that are described together.
#[derive(Clone, Copy)]
pub struct Block<'s> {
    catalog: &'s Catalog,
    place: &'s Place,
}

/// The rows of a block in each dimension.
struct Place {
    files: Rows<u64>,
    names: Rows<u64>,
    headers: Rows<u64>,
    header_bytes: Rows<u64>,
    coordinates: Rows<u64>,
    lists: Rows<u64>,
    list_bytes: Rows<u64>,
    /// Its variables by their number.
    sections: Vec<(usize, Section)>,
}

/// The rows of a variable in a block.
struct Section {
    occurrences: Rows<u64>,
    tiles: Rows<u64>,
    ranges: Rows<u64>,
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

/// The variables of the dataset.
#[derive(Clone)]
pub(super) struct Table {
    pub(super) dataset: Dataset,
    pub(super) lengths: Lengths,
    /// The archive with the bytes of some tiles in memory.
    near: Option<Archive>,
    /// By the number of the column. None where the catalogue has no element of it.
    columns: Vec<Option<VarId>>,
    is_bundle: bool,
}

impl Table {
    pub(super) fn new(dataset: Dataset) -> Result<Self> {
        let header = dataset.header();
        let is_bundle = is_bundle(header);
        if is_bundle {
            check_bundle(header)?;
        }
        let mut lengths = Lengths::default();
        for axis in Axis::ALL {
            let of = header.dimensions.iter().find(|d| d.name == axis.name().as_bytes());
            lengths[axis] = of.map_or(0, |d| d.len);
        }
        let mut columns = Vec::with_capacity(Column::ALL.len());
        for column in Column::ALL {
            let spec = column.spec();
            let number = header.variables.iter().position(|v| v.name == spec.name.as_bytes());
            if let Some(number) = number {
                let variable = &header.variables[number];
                let len = variable.dimensions.iter().try_fold(1_u64, |all, d| {
                    header.dimensions.get(d.index()).and_then(|d| all.checked_mul(d.len))
                });
                let row = row_len(*column) / spec.ty.size() as u64;
                if variable.ty != spec.ty || len != lengths[spec.axis].checked_mul(row) {
                    return Err(wrong(format!("the variable `{}` has another type or shape", spec.name)));
                }
            } else if lengths[spec.axis] > 0 && (is_bundle || !column.is_of_bundles()) {
                return Err(wrong(format!("it has no variable `{}`", spec.name)));
            }
            let id = number.map(|n| u32::try_from(n).map_err(wrong)).transpose()?;
            columns.push(id.map(VarId));
        }
        let stored = dataset.archive().map_or(dataset.original_len(), Archive::stored_len);
        lengths.check(stored).map_err(wrong)?;
        Ok(Table { dataset, lengths, near: None, columns, is_bundle })
    }

    /// The bytes of some rows.
    pub(super) fn bytes(&self, column: Column, rows: &Rows<u64>) -> Result<Bytes> {
        let spec = column.spec();
        let count = rows.end.saturating_sub(rows.start);
        if count == 0 {
            return Ok(Bytes::new());
        }
        let id = self.columns[column as usize].filter(|_| rows.end <= self.lengths[spec.axis]);
        let id = id.ok_or_else(|| wrong(format!("`{}` ends before row {}", spec.name, rows.end)))?;
        let row = row_len(column);
        let len = count.checked_mul(row).and_then(|len| usize::try_from(len).ok());
        let len = len.filter(|len| *len <= MAX_BYTES).ok_or_else(|| {
            wrong(format!(
                "`{}` has {count} values at once, and at most {MAX_BYTES} bytes are allowed",
                spec.name
            ))
        })?;
        let mut out = vec![0; len];
        // A column that was not fetched may be in chunks.
        let near = self.near.as_ref().filter(|near| near.arrays().variable(id).linear_tile_len().is_some());
        match near {
            Some(archive) => copy_tiles(archive, id, rows.start * row, &mut out)?,
            None => self.dataset.source().read_range(id, rows.start * row, &mut out)?,
        }
        Ok(out.into())
    }

    /// The variable of a column, if the catalogue has elements of it.
    pub(super) fn variable(&self, column: Column) -> Option<VarId> {
        self.columns[column as usize]
    }

    /// Fetches some rows of several columns in few requests, if requests cost time.
    pub(super) fn near(&self, parts: &[(Column, Rows<u64>)]) -> Result<Self> {
        let Some(archive) = self.dataset.archive() else { return Ok(self.clone()) };
        if !archive.source().reach().fetches_ahead() {
            return Ok(self.clone());
        }
        let mut keys = Vec::new();
        for (column, rows) in parts.iter().filter(|(_, rows)| !rows.is_empty()) {
            let Some(id) = self.variable(*column) else { continue };
            let info = archive.arrays().variable(id);
            // A catalogue that another program made may have chunks, which are read one by one.
            let Some(tile) = info.linear_tile_len() else { return Ok(self.clone()) };
            let row = row_len(*column);
            let end = rows.end.saturating_mul(row).div_ceil(tile).min(info.tiling.tile_count());
            keys.extend((rows.start.saturating_mul(row) / tile..end).map(|n| TileKey::new(info.id, n)));
        }
        Ok(Table { near: Some(archive.fetched(&keys)?), ..self.clone() })
    }

    /// Reads numbers of a column.
    pub(super) fn numbers(&self, column: Column, rows: &Rows<u64>) -> Result<Vec<i64>> {
        let (spec, count) = (column.spec(), rows.end.saturating_sub(rows.start));
        if count > MAX_VALUES as u64 {
            let name = spec.name;
            return Err(wrong(format!(
                "`{name}` has {count} values at once, and at most {MAX_VALUES} are allowed"
            )));
        }
        let bytes = self.bytes(column, rows)?;
        let (twos, _) = bytes.as_chunks::<2>();
        Ok(match spec.ty {
            NcType::Short => twos.iter().map(|b| i16::from_be_bytes(*b).into()).collect(),
            NcType::UInt => bytes.as_chunks::<4>().0.iter().map(|b| u32::from_be_bytes(*b).into()).collect(),
            NcType::Int => bytes.as_chunks::<4>().0.iter().map(|b| i32::from_be_bytes(*b).into()).collect(),
            NcType::Int64 => bytes.as_chunks::<8>().0.iter().map(|b| i64::from_be_bytes(*b)).collect(),
            _ => bytes.iter().map(|b| b.cast_signed().into()).collect(),
        })
    }

    /// Reads numbers of a column, which must be from 0 to `most`.
    fn sizes(&self, column: Column, rows: &Rows<u64>, most: usize) -> Result<Vec<usize>> {
        let size = |n: i64| {
            let size = usize::try_from(n).ok().filter(|n| *n <= most);
            size.ok_or_else(|| {
                wrong(format!("`{}` has {n}, where 0 to {most} are possible", column.spec().name))
            })
        };
        self.numbers(column, rows)?.into_iter().map(size).collect()
    }

    /// Reads lengths or offsets of a column.
    pub(super) fn lengths(&self, column: Column, rows: &Rows<u64>) -> Result<Vec<u64>> {
        let negative = |n: i64| wrong(format!("`{}` has {n}, which is negative", column.spec().name));
        self.numbers(column, rows)?.into_iter().map(|n| u64::try_from(n).map_err(|_| negative(n))).collect()
    }

    fn doubles(&self, column: Column, rows: &Rows<u64>) -> Result<Vec<f64>> {
        if rows.end.saturating_sub(rows.start) > MAX_VALUES as u64 {
            return Err(wrong(format!("`{}` has more than {MAX_VALUES} values at once", column.spec().name)));
        }
        let bytes = self.bytes(column, rows)?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|b| f64::from_be_bytes(*b)).collect())
    }

    /// The numbers of elements of one dimension for each element of another, as consecutive ranges of rows that
    /// cover the dimension.
    pub(super) fn runs(&self, counts: Column, all: Axis) -> Result<Vec<Rows<u64>>> {
        let rows = 0..self.lengths[counts.spec().axis];
        self.split(counts, &rows, &(0..self.lengths[all]))
    }

    /// As [`Table::runs`], of some rows.
    fn split(&self, counts: Column, rows: &Rows<u64>, all: &Rows<u64>) -> Result<Vec<Rows<u64>>> {
        let mut end = all.start;
        let mut runs = Vec::new();
        for count in self.lengths(counts, rows)? {
            let begin = end;
            end = end.checked_add(count).filter(|end| *end <= all.end).unwrap_or(u64::MAX);
            runs.push(begin..end);
        }
        if end != all.end {
            let name = counts.spec().name;
            return Err(wrong(format!(
                "the numbers in `{name}` add up to {end}, and there are {} elements",
                all.end
            )));
        }
        Ok(runs)
    }

    /// Parts of a column of bytes, with the column of their lengths.
    fn parts(&self, lengths: Column, rows: &Rows<u64>, bytes: Column, all: &Rows<u64>) -> Result<Vec<Bytes>> {
        let runs = self.split(lengths, rows, all)?;
        let bytes = self.bytes(bytes, all)?;
        let place = |n: u64| usize::try_from(n - all.start).map_err(wrong);
        runs.into_iter().map(|run| Ok(bytes.slice(place(run.start)?..place(run.end)?))).collect()
    }

    /// Names, which are in UTF-8.
    fn names(
        &self,
        lengths: Column,
        rows: &Rows<u64>,
        bytes: Column,
        all: &Rows<u64>,
    ) -> Result<Vec<String>> {
        let names = self.parts(lengths, rows, bytes, all)?.into_iter();
        names.map(|name| String::from_utf8(name.into()).map_err(of_name)).collect()
    }

    fn places(&self) -> Result<Vec<Place>> {
        let each = |counts, axis| Ok::<_, crate::Error>(self.runs(counts, axis)?.into_iter());
        let mut names = each(Column::BlockNameBytes, Axis::NameByte)?;
        let mut headers = each(Column::BlockHeaders, Axis::Header)?;
        let mut header_bytes = each(Column::BlockHeaderBytes, Axis::HeaderByte)?;
        let mut coordinates = each(Column::BlockCoordinates, Axis::Coordinate)?;
        let mut lists = each(Column::BlockLists, Axis::List)?;
        let mut list_bytes = each(Column::BlockListBytes, Axis::ListByte)?;
        let mut blocks = Vec::new();
        for files in each(Column::BlockFiles, Axis::File)? {
            if files.end - files.start > MAX_MEMBERS as u64 {
                return Err(wrong(format!("a block has more than {MAX_MEMBERS} files")));
            }
            // All columns of this dimension have the same length.
            let next = |rows: &mut std::vec::IntoIter<Rows<u64>>| rows.next().unwrap_or_default();
            blocks.push(Place {
                files,
                names: next(&mut names),
                headers: next(&mut headers),
                header_bytes: next(&mut header_bytes),
                coordinates: next(&mut coordinates),
                lists: next(&mut lists),
                list_bytes: next(&mut list_bytes),
                sections: Vec::new(),
            });
        }
        Ok(blocks)
    }

    fn tilings(&self) -> Result<Vec<TileLayout>> {
        let kinds = self.sizes(Column::TilingKind, &(0..self.lengths[Axis::Tiling]), 2)?;
        let ranks = self.runs(Column::TilingRank, Axis::TilingDimension)?;
        let all = self.lengths(Column::TilingLength, &(0..self.lengths[Axis::TilingDimension]))?;
        let tiling = |(kind, rank): (usize, Rows<u64>)| {
            let place = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
            let shape = all.get(place(rank.start)..place(rank.end)).unwrap_or_default();
            match (kind, shape) {
                (0, [len]) => Ok(TileLayout::linear(*len)),
                (0, _) => Err(wrong("a linear tile has one length")),
                _ if shape.len() > MAX_RANK => Err(wrong(format!("a tile has more than {MAX_RANK} lengths"))),
                (1, _) => Ok(TileLayout::chunked(shape, Edge::Clipped)),
                _ => Ok(TileLayout::chunked(shape, Edge::Padded)),
            }
        };
        kinds.into_iter().zip(ranks).map(tiling).collect()
    }
}

/// Copies bytes of a variable in linear tiles, tile by tile.
fn copy_tiles(archive: &Archive, id: VarId, first: u64, out: &mut [u8]) -> Result<()> {
    let info = archive.arrays().variable(id);
    let len = info.linear_tile_len().unwrap_or(1);
    let mut done = 0;
    while done < out.len() {
        let at = first + done as u64;
        let tile = archive.cached_tile(info.id, at / len)?;
        let skip = usize::try_from(at % len).map_err(wrong)?;
        let here = tile.get(skip..).filter(|here| !here.is_empty());
        let here = here.ok_or_else(|| wrong(format!("a tile of {} is too short", info.id)))?;
        let take = here.len().min(out.len() - done);
        out[done..done + take].copy_from_slice(&here[..take]);
        done += take;
    }
    Ok(())
}

impl Catalog {
    /// Returns whether a dataset is a catalogue without its files.
    pub fn is_one(dataset: &Dataset) -> bool {
        is_marked(dataset.header()) && !is_bundle(dataset.header())
    }

    /// Returns whether a name is one that catalogues have.
    pub fn is_name(name: &str) -> bool {
        let ending = name.len().checked_sub(ENDING.len()).and_then(|at| name.get(at..));
        ending.is_some_and(|ending| ending.eq_ignore_ascii_case(ENDING))
    }

    /// Returns whether a file on disk is a catalogue: by its name, which is enough for a damaged one, or by its content.
    pub fn is_at(path: &Path) -> bool {
        let is_marked = || -> nc3z_reader::Result<bool> {
            let source = Arc::new(FileSource::open(path)?);
            let is_archive = Archive::is_one(&*source)?;
            Ok(is_archive && Self::is_one(&Dataset::from_source(source, &OpenOptions::default())?))
        };
        path.is_file() && (Self::is_name(&path.to_string_lossy()) || is_marked().unwrap_or(false))
    }

    /// Opens a catalogue. Only its tables of blocks and variables are read.
    ///
    /// # Errors
    /// The file is not a catalogue, or it is damaged.
    pub fn open(source: SharedSource) -> Result<Self> {
        Self::from_dataset(Dataset::from_source(source, &OpenOptions::default())?)
    }

    /// Opens a catalogue by its dataset, as [`Catalog::open`].
    ///
    /// # Errors
    /// As [`Catalog::open`].
    pub fn from_dataset(dataset: Dataset) -> Result<Self> {
        if !is_marked(dataset.header()) {
            return Err(wrong("this file is not a catalogue"));
        }
        let table = Table::new(dataset)?;
        let mut blocks = table.places()?;
        let rows = 0..table.lengths[Axis::Variable];
        let bytes = 0..table.lengths[Axis::VariableByte];
        let variables = table.names(Column::VariableNameLength, &rows, Column::VariableName, &bytes)?;
        let by_name: HashMap<String, usize> = variables.iter().cloned().zip(0..).collect();
        if by_name.len() != variables.len() {
            return Err(wrong("two variables have one name"));
        }
        let rows = 0..table.lengths[Axis::Section];
        let sections = table.sizes(Column::SectionVariable, &rows, variables.len().saturating_sub(1))?;
        let numbers = table.sizes(Column::SectionBlock, &rows, blocks.len().saturating_sub(1))?;
        let mut occurrences = table.runs(Column::SectionOccurrences, Axis::Occurrence)?.into_iter();
        let mut tiles = table.runs(Column::SectionTiles, Axis::Tile)?.into_iter();
        let mut ranges = table.runs(Column::SectionRanges, Axis::Range)?.into_iter();
        for (variable, number) in sections.into_iter().zip(numbers) {
            // All columns of this dimension have the same length.
            let next = |rows: &mut std::vec::IntoIter<Rows<u64>>| rows.next().unwrap_or_default();
            let section = Section {
                occurrences: next(&mut occurrences),
                tiles: next(&mut tiles),
                ranges: next(&mut ranges),
            };
            let block = blocks.get_mut(number).filter(|_| variable < variables.len());
            let block = block.ok_or_else(|| wrong("it has sections, and no blocks or no variables"))?;
            block.sections.push((variable, section));
        }
        for block in &mut blocks {
            block.sections.sort_by_key(|(variable, _)| *variable);
            if block.sections.windows(2).any(|two| two[0].0 == two[1].0) {
                return Err(wrong("a block has a variable twice"));
            }
        }
        let tilings = table.tilings()?;
        Ok(Catalog { table, blocks, variables, by_name, tilings, within: None })
    }

    /// The number of files.
    pub fn len(&self) -> usize {
        usize::try_from(self.table.lengths[Axis::File]).unwrap_or(usize::MAX)
    }

    /// Returns whether it describes all of its netCDF files as if they had been opened; with `statistics`, also all values. An
    /// aggregation that a bundle holds is described without its fragments.
    ///
    /// # Errors
    /// Damage.
    pub fn is_complete(&self, statistics: bool) -> Result<bool> {
        let mut has_tiles = vec![false; self.len()];
        let all = self.table.lengths[Axis::Occurrence];
        for first in (0..all).step_by(MAX_VALUES) {
            let rows = first..all.min(first + MAX_VALUES as u64);
            let most = self.len().saturating_sub(1);
            for file in self.table.sizes(Column::OccurrenceFile, &rows, most)? {
                has_tiles[file] = true;
            }
        }
        for block in self.blocks() {
            let headers = super::answers::parsed(&block)?;
            for (number, (head, header)) in block.heads()?.into_iter().enumerate() {
                let header = headers.get(header).ok_or_else(|| wrong("a header is not there"))?;
                let is_known = header.variables.is_empty() || has_tiles[block.first() + number];
                let is_view = self.is_bundle() && crate::has_aggregations(header);
                if head.kind != HeadKind::File && (is_view || statistics && !is_known) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The bytes of its files, if it has them.
    pub(super) fn content(&self) -> Result<Option<Content>> {
        let archive = self.table.dataset.archive().filter(|_| self.is_bundle());
        let both = archive.zip(self.table.variable(Column::Content));
        both.map(|(archive, id)| Content::new(archive, id)).transpose()
    }

    /// Names the files as members of the bundle with this name.
    #[must_use]
    pub fn within(mut self, bundle: impl Into<String>) -> Self {
        self.within = Some(bundle.into());
        self
    }

    /// Returns whether it has its files.
    pub fn is_bundle(&self) -> bool {
        self.table.is_bundle
    }

    /// The lengths of its dimensions.
    pub(super) fn lengths(&self) -> &Lengths {
        &self.table.lengths
    }

    /// The names of all variables, in the order of the file.
    pub(super) fn variables(&self) -> &[String] {
        &self.variables
    }

    /// Its divisions into tiles, in the order of the file.
    pub(super) fn tilings(&self) -> &[TileLayout] {
        &self.tilings
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
        self.blocks.iter().map(|place| Block { catalog: self, place })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn of_name(e: std::string::FromUtf8Error) -> crate::Error {
    wrong(format!("a name: {e}"))
}

/// Beginnings of ranges from their distances to the end of the range before.
fn ranges(gaps: &[i64], lengths: &[u64]) -> Vec<Range> {
    let mut end = 0_u64;
    let range = |(gap, len): (&i64, &u64)| {
        let offset = end.wrapping_add_signed(*gap);
        end = offset.wrapping_add(*len);
        Range { offset, len: *len }
    };
    gaps.iter().zip(lengths).map(range).collect()
}

impl<'s> Block<'s> {
    /// The number of its files.
    pub fn len(&self) -> usize {
        usize::try_from(self.place.files.end - self.place.files.start).unwrap_or(usize::MAX)
    }

    /// Returns true if it has no files.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of its first file in the catalogue.
    pub fn first(&self) -> usize {
        usize::try_from(self.place.files.start).unwrap_or(usize::MAX)
    }

    /// The names of its files.
    ///
    /// # Errors
    /// Damage.
    pub fn names(&self) -> Result<Vec<String>> {
        let names = self.names_as_stored()?.into_iter();
        let within = self.catalog.within.as_deref();
        let whole = |name: String| within.map_or(name.clone(), |bundle| format!("{bundle}!/{name}"));
        names.map(|name| String::from_utf8(name.into()).map(whole).map_err(of_name)).collect()
    }

    /// The bytes of the names of its files.
    pub(super) fn names_as_stored(&self) -> Result<Vec<Bytes>> {
        let (table, files) = (&self.catalog.table, &self.place.files);
        // The sum of the lengths, so that few bytes do not ask for many names.
        if self.place.names.end - self.place.names.start > (self.len() * MAX_NAME) as u64 {
            return Err(wrong(format!("names have more than {MAX_NAME} bytes")));
        }
        table.parts(Column::NameLength, files, Column::Name, &self.place.names)
    }

    /// Numbers of elements of a dimension, counted from the first one of the block.
    fn local(&self, column: Column, rows: &Rows<u64>, all: &Rows<u64>) -> Result<Vec<usize>> {
        let local = |n: i64| {
            let found = u64::try_from(n).ok().filter(|n| all.contains(n)).map(|n| n - all.start);
            found.and_then(|n| usize::try_from(n).ok()).ok_or_else(|| {
                let (name, all) = (column.spec().name, (all.start, all.end));
                wrong(format!("`{name}` has {n}, and the block has {} to {}", all.0, all.1))
            })
        };
        self.catalog.table.numbers(column, rows)?.into_iter().map(local).collect()
    }

    /// The head of each of its files, with the number of the header.
    ///
    /// # Errors
    /// Damage.
    pub fn heads(&self) -> Result<Vec<(Head, usize)>> {
        let (table, files) = (&self.catalog.table, &self.place.files);
        let kinds = table.sizes(Column::Kind, files, HeadKind::ALL.len() - 1)?;
        let lengths = table.lengths(Column::Size, files)?;
        let offsets = table.lengths(Column::Offset, files)?;
        let stored = table.lengths(Column::Stored, files)?;
        let headers = self.local(Column::FileHeader, files, &self.place.headers)?;
        let sums = table.bytes(Column::Sha256, files)?;
        let modified = table.numbers(Column::Modified, files)?;
        let head = |n: usize| {
            let sha256 = sums.as_chunks::<32>().0[n];
            let sha256 = (sha256 != [0; 32]).then_some(sha256);
            let (kind, len) = (HeadKind::ALL[kinds[n]], lengths[n]);
            // The object of a member is its bundle, whose time is another one.
            let modified = if self.catalog.is_bundle() { UNKNOWN_TIME } else { modified[n] };
            let (offset, stored) = (offsets[n], stored[n]);
            (Head { kind, len, offset, stored, sha256, modified, ..Head::default() }, headers[n])
        };
        Ok((0..self.len()).map(head).collect())
    }

    /// The distinct headers of its files.
    ///
    /// # Errors
    /// Damage.
    pub fn headers(&self) -> Result<Vec<Bytes>> {
        let (table, place) = (&self.catalog.table, self.place);
        table.parts(Column::HeaderLength, &place.headers, Column::HeaderBytes, &place.header_bytes)
    }

    /// The coordinates of each of its files. Equal values are shared.
    ///
    /// # Errors
    /// Damage.
    pub fn coordinates(&self) -> Result<Vec<Vec<CoordinateValues>>> {
        let (table, place) = (&self.catalog.table, self.place);
        let rows = &place.coordinates;
        let each = table.split(Column::Coordinates, &place.files, rows)?;
        let variables = table.sizes(Column::CoordinateVariable, rows, u32::MAX as usize)?;
        let extents = table.sizes(Column::CoordinateExtent, rows, 1)?;
        let widths = table.sizes(Column::CoordinateWidth, rows, MAX_VALUE)?;
        let numbers = self.local(Column::CoordinateList, rows, &place.lists)?;
        let values = table.parts(Column::ListLength, &place.lists, Column::ListBytes, &place.list_bytes)?;
        let known = |n: usize| CoordinateValues {
            variable: u32::try_from(variables[n]).unwrap_or(u32::MAX),
            whole: extents[n] == 1,
            size: widths[n],
            bytes: values[numbers[n]].clone(),
        };
        let mut all = (0..variables.len()).map(known);
        let count = |run: Rows<u64>| usize::try_from(run.end - run.start).unwrap_or(usize::MAX);
        Ok(each.into_iter().map(|run| all.by_ref().take(count(run)).collect()).collect())
    }

    /// The names of its variables.
    pub fn variables(&self) -> impl Iterator<Item = &'s str> + use<'s> {
        let names = &self.catalog.variables;
        self.place.sections.iter().map(|(variable, _)| names[*variable].as_str())
    }

    fn section(&self, name: &str) -> Option<&'s Section> {
        let number = self.catalog.by_name.get(name)?;
        let at = self.place.sections.binary_search_by_key(number, |(variable, _)| *variable).ok()?;
        Some(&self.place.sections[at].1)
    }

    /// The tiles of a variable. None where no file of the block has it.
    ///
    /// # Errors
    /// Damage.
    pub fn tiles(&self, name: &str) -> Result<Option<Tiles>> {
        let Some(section) = self.section(name) else { return Ok(None) };
        let (table, rows) = (&self.catalog.table, &section.occurrences);
        if rows.end - rows.start > MAX_FOUND as u64 {
            return Err(wrong(format!("`{name}` occurs more than {MAX_FOUND} times in a block")));
        }
        let members = self.local(Column::OccurrenceFile, rows, &self.place.files)?;
        let ids = table.sizes(Column::OccurrenceVariable, rows, u32::MAX as usize)?;
        let has = table.sizes(Column::OccurrenceStatistics, rows, 1)?;
        let most = self.catalog.tilings.len().saturating_sub(1);
        let tilings = table.sizes(Column::OccurrenceTiling, rows, most)?;
        let mut found = Vec::with_capacity(members.len());
        for (n, run) in table.split(Column::OccurrenceTiles, rows, &section.tiles)?.into_iter().enumerate() {
            let row = |row: u64| usize::try_from(row - section.tiles.start).map_err(wrong);
            let run = row(run.start)?..row(run.end)?;
            let layout = self.catalog.tilings.get(tilings[n]);
            found.push(Occurrence {
                member: members[n],
                variable: ids[n],
                layout: layout.ok_or_else(|| wrong("there are no tilings"))?.clone(),
                tiles: run.len(),
                rows: (has[n] == 1).then_some(run),
            });
        }
        let counts = table.lengths(Column::TileCount, &section.tiles)?;
        let infinite = table.lengths(Column::TileInfinite, &section.tiles)?;
        let exactly = |nearest: Column, rest: Column| {
            let rests = table.numbers(rest, &section.tiles)?;
            let all = table.doubles(nearest, &section.tiles)?.into_iter().zip(rests);
            Ok::<_, crate::Error>(all.map(|(nearest, more)| Exactly { nearest, more }).collect())
        };
        let min = exactly(Column::TileLeast, Column::TileLeastRest)?;
        let max = exactly(Column::TileLargest, Column::TileLargestRest)?;
        Ok(Some(Tiles { found, counts, infinite, min, max }))
    }

    /// The sums of the tiles of a variable.
    ///
    /// # Errors
    /// Damage.
    pub fn sums(&self, name: &str) -> Result<Sums> {
        let Some(section) = self.section(name) else { return Ok(Sums::default()) };
        let next = |column| self.catalog.table.doubles(column, &section.tiles);
        Ok(Sums {
            sum: [next(Column::TileSum)?, next(Column::TileSumRest)?],
            squares: [next(Column::TileSquares)?, next(Column::TileSquaresRest)?],
        })
    }

    /// The ranges of bytes of each tile of each occurrence of a variable.
    ///
    /// # Errors
    /// Damage.
    pub fn places(&self, name: &str, tiles: &Tiles) -> Result<Vec<Vec<Vec<Range>>>> {
        let section = self.section(name).filter(|section| !section.ranges.is_empty());
        let Some(section) = section else { return Ok(tiles.found.iter().map(|_| Vec::new()).collect()) };
        let table = &self.catalog.table;
        let counts = table.split(Column::TileRanges, &section.tiles, &section.ranges)?;
        let gaps = table.numbers(Column::RangeGap, &section.ranges)?;
        let lengths = table.lengths(Column::RangeLength, &section.ranges)?;
        let row = |row: u64| usize::try_from(row - section.ranges.start).map_err(wrong);
        let mut counts = counts.into_iter();
        let of_file = |found: &Occurrence| {
            let runs: Vec<Rows<u64>> = counts.by_ref().take(found.tiles).collect();
            let Some(begin) = runs.first().map(|run| run.start) else { return Ok(Vec::new()) };
            let rows = row(begin)?..row(runs.last().map_or(begin, |run| run.end))?;
            let all = ranges(&gaps[rows.clone()], &lengths[rows]);
            let own = |run: Rows<u64>| {
                Ok(all[row(run.start - begin + section.ranges.start)?
                    ..row(run.end - begin + section.ranges.start)?]
                    .to_vec())
            };
            runs.into_iter().map(own).collect()
        };
        tiles.found.iter().map(of_file).collect()
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
            let sums = self.sums(name)?;
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
