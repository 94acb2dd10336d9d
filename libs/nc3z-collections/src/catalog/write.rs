//! Writes a catalogue: block by block into columns, which become a classic file that is archived. Memory does not grow with the number of
//! files, but for the archive itself.

use super::member::{CoordinateValues, HeadKind, Member, Tile, Variable};
use super::read::Catalog;
use super::spool::{Run, Spools, failed};
use super::table::{Axis, Column, MAX_MEMBERS, MAX_NAME, MAX_VALUES};
use crate::error::Result;
use crate::pack::of_writer;
use bytes::Bytes;
use nc3z_format::codec::ChainRequest;
use nc3z_format::tile::{Edge, TileLayout};
use nc3z_reader::source::{FileSource, SharedSource};
use nc3z_reader::{Archive, Monitor, OpenOptions};
use nc3z_writer::{ChunkRequest, PerVariable, Share, WriterOptions, archive_into, archive_to_vec};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// A block ends with the file that brings it to this many bytes of headers and coordinates,
const MOST_HEADERS: usize = 8 << 20;
/// or to this many tiles or ranges of bytes: some 10 MB while it is written.
const MOST_TILES: usize = 128 << 10;
/// Bytes of coordinates of a block that are kept whatever its files have: axes of a grid are there once for all files.
const FREE_COORDINATES: u64 = 16 << 10;
/// Further bytes of coordinates: one for this many bytes of the files.
const COORDINATE_SHARE: u64 = 2048;
/// Coordinates of so few bytes are always kept.
const SMALL_COORDINATE: usize = 64;

/// In a packed bundle, headers of this many bytes together are packed by LZMA. Shorter ones share a container with other columns.
/// Headers of 119 Argo files, 1.96 MB, take 61 KB by zstd and 50 KB by LZMA in tiles of 1 MiB. Those of 326 small files, 0.6 MB, take
/// as many bytes by zstd as by LZMA.
const LONG_HEADERS: u64 = 1 << 20;
/// The tile length of headers that are packed by LZMA, twice that of other variables: the 1.96 MB take 50 KB in two tiles, and 42 KB in one.
const HEADER_TILE: u64 = 2 << 20;
const HEADER_CHAIN: &str = r#"[{"id":"lzma","format":3,"check":-1,"preset":null,"filters":[{"id":33,"dict_size":2097152,"lc":3,"lp":0,"pb":0}]}]"#;

/// Bytes that are read at a time.
const STEP: usize = 1 << 20;

/// A catalogue that is being written.
pub struct Writer<W> {
    out: W,
    rows: NewRows,
}

/// The rows of files that are added to a catalogue, or of which one is made.
#[derive(Default)]
pub(super) struct NewRows {
    columns: Spools,
    block: Vec<Member>,
    headers: usize,
    tiles: usize,
    /// Coordinates of the block by their bytes.
    coordinates: HashMap<Bytes, usize>,
    coordinate_bytes: u64,
    original: u64,
    /// Blocks, files, headers and lists that are in the columns.
    blocks: u64,
    files: u64,
    all_headers: u64,
    lists: u64,
    /// Numbers of variables by name.
    variables: HashMap<String, usize>,
    tilings: Tilings,
    sections: Vec<Section>,
    /// Rows of a bundle have more columns.
    is_bundle: bool,
    /// A file is packed.
    is_packed: bool,
}

impl<W: Write> Writer<W> {
    /// Begins a catalogue. Nothing is written before [`Writer::finish`].
    pub fn new(out: W) -> Self {
        Writer { out, rows: NewRows::default() }
    }

    /// Adds a file.
    ///
    /// # Errors
    /// A name that is too long; errors of the output.
    pub fn push(&mut self, member: Member) -> Result<()> {
        self.rows.push(member)
    }

    /// The catalogue as a classic file, which is not archived.
    #[cfg(test)]
    pub(super) fn classic(self) -> Vec<u8> {
        let (columns, order) = self.rows.finish().expect("all rows");
        let (source, _) = columns.into_classic(&|axis| order.of(axis), false).expect("a classic file");
        source.read_at(0, usize::try_from(source.len()).expect("it is short")).expect("its bytes").to_vec()
    }

    /// Archives the dataset and writes the archive. The monitor hears of the bytes of the dataset.
    ///
    /// # Errors
    /// Errors of the output; the monitor cancelled.
    pub fn finish(self, monitor: &dyn Monitor) -> Result<W> {
        let Writer { mut out, rows } = self;
        let (columns, order) = rows.finish()?;
        let (source, lengths) = columns.into_classic(&|axis| order.of(axis), false)?;
        let (archive, _) = archive_to_vec(source, &WriterOptions::default(), monitor).map_err(of_writer)?;
        lengths.check(archive.len() as u64).map_err(failed)?;
        out.write_all(&archive).map_err(failed)?;
        Ok(out)
    }
}

/// A bundle that is being written.
pub(crate) struct BundleWriter {
    rows: NewRows,
}

impl BundleWriter {
    pub(crate) fn new() -> Self {
        BundleWriter { rows: NewRows::of_bundle() }
    }

    /// Adds a file, whose bytes are in the content.
    pub(crate) fn push(&mut self, member: Member) -> Result<()> {
        self.rows.push(member)
    }

    /// Writes the bundle to an empty file, called `path`. `content` has the bytes of all files; they are read once, in their order.
    pub(crate) fn finish(
        self,
        content: SharedSource,
        out: &File,
        path: &Path,
        parity: Option<Share>,
        monitor: &dyn Monitor,
    ) -> Result<()> {
        let len = content.len();
        let is_packed = self.rows.is_packed;
        let (mut columns, order) = self.rows.finish()?;
        if len > 0 {
            columns.put_source(Column::Content, content);
        }
        let (source, lengths) = columns.into_classic(&|axis| order.of(axis), true)?;
        // The content is the last variable.
        let table = source.len().saturating_sub(len.next_multiple_of(4));
        let seed = hash(&source, table)?;
        let headers = Some(lengths[Axis::HeaderByte]).filter(|len| is_packed && *len >= LONG_HEADERS);
        let mut options = bundle_options(headers).without_digest(seed);
        if let Some(share) = parity {
            options = options.with_parity(share);
        }
        archive_into(source.clone(), out, path, &options, monitor).map_err(of_writer)?;
        let file = out.try_clone().map_err(failed)?;
        let written: SharedSource = Arc::new(FileSource::from_file(file, path)?);
        let archive = Archive::from_source(written, &OpenOptions::default())?;
        lengths.check(archive.stored_len()).map_err(failed)?;
        let (mut here, mut there) = (vec![0; STEP], vec![0; STEP]);
        for at in (0..table).step_by(STEP) {
            let len = usize::try_from(table - at).map_or(STEP, |left| left.min(STEP));
            source.read_into(at, &mut here[..len])?;
            archive.read_original(at, &mut there[..len])?;
            if here[..len] != there[..len] {
                return Err(failed("its table is read back with other bytes"));
            }
        }
        Ok(())
    }
}

/// The options for the archive of a bundle: the content is stored as it is, and headers of packed files are packed by LZMA if they are
/// long. Then `long_headers` is their length in bytes.
pub(super) fn bundle_options(long_headers: Option<u64>) -> WriterOptions {
    let mut chains = PerVariable::default();
    let mut push = |column: Column, chain| {
        chains.push(column.spec().name, ChainRequest::parse(chain).expect("a chain of this build"));
    };
    push(Column::Content, "[]");
    let Some(len) = long_headers else { return WriterOptions::default().with_chains(chains) };
    push(Column::HeaderBytes, HEADER_CHAIN);
    let tile = ChunkRequest::new([(Axis::HeaderByte.name(), len.min(HEADER_TILE))]);
    WriterOptions::default().with_chains(chains).with_chunks(tile.only(Column::HeaderBytes.spec().name))
}

/// SHA-256 of the first bytes of a source.
fn hash(source: &SharedSource, len: u64) -> Result<[u8; 32]> {
    let mut sha = Sha256::new();
    let mut buffer = vec![0; STEP];
    for at in (0..len).step_by(STEP) {
        let here = usize::try_from(len - at).map_or(STEP, |left| left.min(STEP));
        source.read_into(at, &mut buffer[..here])?;
        sha.update(&buffer[..here]);
    }
    Ok(sha.finalize().into())
}

impl NewRows {
    /// The rows of a new bundle.
    pub(super) fn of_bundle() -> Self {
        NewRows { is_bundle: true, ..NewRows::default() }
    }

    /// Rows after those of a catalogue: files, blocks, headers, lists of values, variables and tilings are numbered on.
    pub(super) fn after(catalog: &Catalog) -> Self {
        let lengths = catalog.lengths();
        let mut tilings = HashMap::new();
        for (number, layout) in (0..).zip(catalog.tilings()) {
            tilings.entry(layout.clone()).or_insert(number);
        }
        NewRows {
            blocks: lengths[Axis::Block],
            files: lengths[Axis::File],
            all_headers: lengths[Axis::Header],
            lists: lengths[Axis::List],
            variables: catalog.variables().iter().cloned().zip(0..).collect(),
            tilings: Tilings { numbers: tilings, next: lengths[Axis::Tiling] },
            is_bundle: catalog.is_bundle(),
            ..NewRows::default()
        }
    }

    /// Adds a file.
    pub(super) fn push(&mut self, mut member: Member) -> Result<()> {
        if member.name.len() > MAX_NAME {
            return Err(failed(format!(
                "a name has {} bytes, and at most {MAX_NAME} are allowed",
                member.name.len()
            )));
        }
        self.original = self.original.saturating_add(member.head.len);
        self.is_packed |= member.head.kind == HeadKind::Packed;
        for known in &mut member.coordinates {
            self.keep(known);
        }
        member.coordinates.retain(|known| !known.bytes.is_empty());
        for variable in &mut member.variables {
            let tiles = tile_count(variable);
            if tiles > MAX_VALUES - MOST_TILES {
                return Err(failed(format!(
                    "`{}` has {tiles} tiles, and at most {} are allowed",
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
    fn keep(&mut self, known: &mut CoordinateValues) {
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

    fn flush(&mut self) -> Result<()> {
        let block = std::mem::take(&mut self.block);
        let coordinates = std::mem::take(&mut self.coordinates);
        (self.headers, self.tiles, self.coordinate_bytes, self.original) = (0, 0, 0, 0);
        if block.is_empty() {
            return Ok(());
        }
        self.put_files(&block)?;
        self.put_headers(&block)?;
        self.put_coordinates(&block, coordinates)?;
        self.put_variables(&block)?;
        self.blocks += 1;
        self.files += block.len() as u64;
        Ok(())
    }

    fn put_files(&mut self, block: &[Member]) -> Result<()> {
        let out = &mut self.columns;
        let names = || block.iter().map(|m| m.name.as_bytes());
        out.sizes(Column::BlockFiles, [block.len() as u64])?;
        out.sizes(Column::BlockNameBytes, [names().map(|name| name.len() as u64).sum()])?;
        out.sizes(Column::NameLength, names().map(|name| name.len() as u64))?;
        names().try_for_each(|name| out.bytes(Column::Name, name))?;
        let each = || block.iter().map(|m| &m.head);
        out.sizes(Column::Kind, each().map(|h| h.kind.code() as u64))?;
        out.sizes(Column::Size, each().map(|h| h.len))?;
        out.sizes(Column::Offset, each().map(|h| h.offset))?;
        out.sizes(Column::Stored, each().map(|h| h.stored))?;
        each().try_for_each(|h| out.bytes(Column::Sha256, &h.sha256.unwrap_or_default()))?;
        out.numbers(Column::Modified, each().map(|h| h.modified))?;
        if self.is_bundle {
            out.sizes(Column::Crc32, each().map(|h| h.crc32.unwrap_or_default().into()))?;
            out.numbers(Column::Mode, each().map(|h| h.mode.map_or(-1, i64::from)))?;
            out.sizes(Column::GroupMember, each().map(|h| h.group_member.into()))?;
        }
        Ok(())
    }

    fn put_headers(&mut self, block: &[Member]) -> Result<()> {
        let out = &mut self.columns;
        let mut known: HashMap<&[u8], u64> = HashMap::new();
        let mut bytes = 0;
        for member in block {
            let number = known.len() as u64;
            let number = match known.entry(&member.header) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(vacant) => {
                    out.sizes(Column::HeaderLength, [member.header.len() as u64])?;
                    out.bytes(Column::HeaderBytes, &member.header)?;
                    bytes += member.header.len() as u64;
                    *vacant.insert(number)
                }
            };
            out.sizes(Column::FileHeader, [self.all_headers + number])?;
        }
        out.sizes(Column::BlockHeaders, [known.len() as u64])?;
        out.sizes(Column::BlockHeaderBytes, [bytes])?;
        self.all_headers += known.len() as u64;
        Ok(())
    }

    fn put_coordinates(&mut self, block: &[Member], known: HashMap<Bytes, usize>) -> Result<()> {
        let out = &mut self.columns;
        let each = || block.iter().flat_map(|m| &m.coordinates);
        out.sizes(Column::BlockCoordinates, [each().count() as u64])?;
        out.sizes(Column::Coordinates, block.iter().map(|m| m.coordinates.len() as u64))?;
        out.sizes(Column::CoordinateVariable, each().map(|c| c.variable.into()))?;
        out.sizes(Column::CoordinateExtent, each().map(|c| u64::from(c.whole)))?;
        out.sizes(Column::CoordinateWidth, each().map(|c| c.size as u64))?;
        let number = |c: &CoordinateValues| known.get(&c.bytes).map_or(0, |n| *n as u64) + self.lists;
        out.sizes(Column::CoordinateList, each().map(number))?;
        self.lists += known.len() as u64;
        let mut values = vec![Bytes::new(); known.len()];
        known.into_iter().for_each(|(bytes, n)| values[n] = bytes);
        out.sizes(Column::BlockLists, [values.len() as u64])?;
        out.sizes(Column::BlockListBytes, [values.iter().map(|v| v.len() as u64).sum()])?;
        out.sizes(Column::ListLength, values.iter().map(|v| v.len() as u64))?;
        values.iter().try_for_each(|v| out.bytes(Column::ListBytes, v))
    }

    /// Writes the variables of a block, by name.
    fn put_variables(&mut self, block: &[Member]) -> Result<()> {
        for (name, found) in by_name(block) {
            let number = self.variable(name)?;
            let variables = || found.iter().map(|(_, _, v)| *v);
            let each_tiling = variables().map(|v| self.tilings.number(&mut self.columns, &v.layout));
            let tilings: Vec<u64> = each_tiling.collect::<Result<_>>()?;
            let out = &mut self.columns;
            out.sizes(
                Column::OccurrenceFile,
                found.iter().map(|(member, _, _)| self.files + *member as u64),
            )?;
            out.sizes(Column::OccurrenceVariable, found.iter().map(|(_, id, _)| *id as u64))?;
            out.sizes(Column::OccurrenceTiling, tilings)?;
            out.sizes(Column::OccurrenceStatistics, variables().map(|v| u64::from(v.tiles.is_some())))?;
            out.sizes(Column::OccurrenceTiles, variables().map(|v| tile_count(v) as u64))?;
            let (mut tiles, mut ranges) = (0, 0);
            for variable in variables() {
                tiles += tile_count(variable) as u64;
                ranges += range_count(variable) as u64;
                put_tiles(out, variable)?;
                put_ranges(out, variable)?;
            }
            let counts = [found.len() as u64, tiles, ranges];
            self.sections.push(Section { variable: number, block: self.blocks, counts });
        }
        Ok(())
    }

    /// The number of a variable with this name.
    fn variable(&mut self, name: &str) -> Result<usize> {
        if let Some(number) = self.variables.get(name) {
            return Ok(*number);
        }
        self.columns.sizes(Column::VariableNameLength, [name.len() as u64])?;
        self.columns.bytes(Column::VariableName, name.as_bytes())?;
        self.variables.insert(name.to_owned(), self.variables.len());
        Ok(self.variables.len() - 1)
    }

    /// Returns all columns, and the order of their rows: that of the variables, then of the blocks.
    pub(super) fn finish(mut self) -> Result<(Spools, Order)> {
        self.flush()?;
        let mut begins = [0_u64; 3];
        let mut placed: Vec<(Section, [u64; 3])> = Vec::with_capacity(self.sections.len());
        for section in std::mem::take(&mut self.sections) {
            placed.push((section, begins));
            begins.iter_mut().zip(section.counts).for_each(|(begin, count)| *begin += count);
        }
        placed.sort_by_key(|(section, _)| (section.variable, section.block));
        let out = &mut self.columns;
        let variables = placed.iter().map(|(section, _)| section.variable as u64);
        out.sizes(Column::SectionVariable, variables)?;
        out.sizes(Column::SectionBlock, placed.iter().map(|(section, _)| section.block))?;
        let counts = [Column::SectionOccurrences, Column::SectionTiles, Column::SectionRanges];
        for (n, column) in counts.into_iter().enumerate() {
            out.sizes(column, placed.iter().map(|(section, _)| section.counts[n]))?;
        }
        Ok((self.columns, Order(placed)))
    }
}

/// The sections in the order of their variables, with the first of the occurrences, tiles and ranges that were appended for each.
pub(super) struct Order(Vec<(Section, [u64; 3])>);

impl Order {
    /// The runs of rows of a dimension. None if they are in the order in which they were appended.
    pub(super) fn of(&self, axis: Axis) -> Option<Vec<Run>> {
        let n = [Axis::Occurrence, Axis::Tile, Axis::Range].iter().position(|a| *a == axis)?;
        Some(self.0.iter().map(|(section, begins)| (begins[n], section.counts[n])).collect())
    }
}

/// Distinct divisions into tiles.
#[derive(Default)]
struct Tilings {
    numbers: HashMap<TileLayout, u64>,
    next: u64,
}

impl Tilings {
    fn number(&mut self, out: &mut Spools, layout: &TileLayout) -> Result<u64> {
        if let Some(number) = self.numbers.get(layout) {
            return Ok(*number);
        }
        let (kind, lengths) = match layout {
            TileLayout::Linear { len } => (0, std::slice::from_ref(len)),
            TileLayout::Chunked { shape, edge: Edge::Clipped } => (1, shape.as_slice()),
            TileLayout::Chunked { shape, edge: Edge::Padded } => (2, shape.as_slice()),
        };
        out.sizes(Column::TilingKind, [kind])?;
        out.sizes(Column::TilingRank, [lengths.len() as u64])?;
        out.sizes(Column::TilingLength, lengths.iter().copied())?;
        let number = self.next;
        self.next += 1;
        self.numbers.insert(layout.clone(), number);
        Ok(number)
    }
}

/// A variable in the files of a block: the numbers of its occurrences, tiles and ranges.
#[derive(Clone, Copy)]
struct Section {
    variable: usize,
    block: u64,
    counts: [u64; 3],
}

fn put_tiles(out: &mut Spools, variable: &Variable) -> Result<()> {
    // Text of archives has tiles with places, and without statistics.
    let nothing = vec![Tile::default(); if variable.tiles.is_some() { 0 } else { variable.places.len() }];
    let rows = || variable.tiles.iter().flatten().chain(&nothing);
    out.sizes(Column::TileCount, rows().map(|t| t.count))?;
    out.sizes(Column::TileInfinite, rows().map(|t| t.infinite))?;
    out.doubles(Column::TileLeast, rows().map(|t| t.min.nearest))?;
    out.doubles(Column::TileLargest, rows().map(|t| t.max.nearest))?;
    out.numbers(Column::TileLeastRest, rows().map(|t| t.min.more))?;
    out.numbers(Column::TileLargestRest, rows().map(|t| t.max.more))?;
    out.doubles(Column::TileSum, rows().map(|t| t.sum.0))?;
    out.doubles(Column::TileSumRest, rows().map(|t| t.sum.1))?;
    out.doubles(Column::TileSquares, rows().map(|t| t.squares.0))?;
    out.doubles(Column::TileSquaresRest, rows().map(|t| t.squares.1))
}

fn put_ranges(out: &mut Spools, variable: &Variable) -> Result<()> {
    let mut end = 0_u64;
    for tile in 0..tile_count(variable) {
        let ranges = variable.places.get(tile).map_or(&[][..], Vec::as_slice);
        out.sizes(Column::TileRanges, [ranges.len() as u64])?;
        for range in ranges {
            out.numbers(Column::RangeGap, [range.offset.wrapping_sub(end).cast_signed()])?;
            end = range.offset.wrapping_add(range.len);
        }
        out.sizes(Column::RangeLength, ranges.iter().map(|range| range.len))?;
    }
    Ok(())
}

/// Tiles that have something in the columns: those of text in a classic file have nothing.
fn tile_count(variable: &Variable) -> usize {
    variable.tiles.as_ref().map_or(variable.places.len(), Vec::len)
}

fn range_count(variable: &Variable) -> usize {
    variable.places.iter().map(Vec::len).sum()
}

/// A variable of a file of a block.
type Found<'m> = (usize, usize, &'m Variable);

/// The variables of a block by name, in the order in which files name them first.
fn by_name(block: &[Member]) -> Vec<(&str, Vec<Found<'_>>)> {
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
    all
}
