//! Looks at a file: its header, its coordinates, and the values and places of each tile.

use super::member::{CoordinateValues, Exactly, Head, HeadKind, Member, Range, Tile, UNKNOWN_TIME, Variable};
use crate::error::Result;
use crate::file::as_aggregation;
use bytes::Bytes;
use nc3z_format::NcType;
use nc3z_format::archive::{ArrayId, BLOCK_HEADER_LEN, BlockHeader, IndexEntry, Role};
use nc3z_format::classic::{VarId, encode};
use nc3z_format::decode_value::{Decoding, Number, Shown, time_unit};
use nc3z_format::double_double::DoubleDouble;
use nc3z_format::units::TextTimes;
use nc3z_reader::{Archive, Dataset};
use std::collections::HashMap;

/// Bytes of a coordinate of which more than the ends are looked at: an axis of 131,072 doubles.
const MOST_COORDINATE: u64 = 1 << 20;

/// Where the bytes of a file are.
#[derive(Clone, Copy)]
pub struct Location<'a> {
    /// Their offset in the bundle; 0 of a file of its own.
    pub offset: u64,
    /// Their number; of a packed member, that of its group.
    pub stored: u64,
    /// True for a packed member of a bundle.
    pub packed: bool,
    /// True for an aggregation whose fragments are in the catalogue, too: their values are not counted twice.
    pub is_view: bool,
    /// When the file on disk was changed last: nanoseconds since 1970; [`UNKNOWN_TIME`] where that is not known.
    pub modified: i64,
    /// True to leave out the statistics, which need all values.
    pub is_brief: bool,
    /// Returns where a range of the file's bytes is, from `offset` on. None if it is there as it is.
    pub places: Option<Places<'a>>,
}

/// Returns where a range of bytes is.
pub type Places<'a> = &'a dyn Fn(Range) -> Result<Vec<Range>>;

impl Default for Location<'_> {
    fn default() -> Self {
        Location {
            offset: 0,
            stored: 0,
            packed: false,
            is_view: false,
            modified: UNKNOWN_TIME,
            is_brief: false,
            places: None,
        }
    }
}

/// What there is to know of a file. All its values are read, unless it is to be brief.
///
/// # Errors
/// Damage.
pub fn scan(name: &str, dataset: &Dataset, at: Location<'_>) -> Result<Member> {
    let archive = dataset.archive();
    let kind = match archive {
        _ if at.packed => HeadKind::Packed,
        Some(archive) if archive.is_short() => HeadKind::Short,
        Some(_) => HeadKind::Archive,
        None if dataset.classic().is_some() => HeadKind::Classic,
        None => HeadKind::Other,
    };
    let mut places = TilePlaces {
        archive: archive.filter(|_| kind == HeadKind::Archive),
        places: at.places,
        containers: HashMap::new(),
    };
    let aggregation = as_aggregation(dataset);
    let mut variables = Vec::with_capacity(dataset.header().variables.len());
    let mut coordinates = Vec::new();
    for variable in dataset.variables() {
        let is_view = at.is_view && aggregation.is_some_and(|a| a.master(variable.id()).is_some());
        if at.is_brief {
            // Without all of its coordinates a file is still described.
            coordinates.extend(known(dataset, &variable).ok().flatten());
            continue;
        }
        let tiling = variable.tiling()?;
        let mut tiles = None;
        if variable.ty() != NcType::Char && !is_view {
            let decoding = Decoding::new(dataset.header(), variable.header());
            let each = variable.tiles()?.map(|tile| Ok(values(&decoding, &tile?.bytes)));
            tiles = Some(each.collect::<Result<_>>()?);
        }
        if !is_view {
            coordinates.extend(known(dataset, &variable)?);
        }
        let count = if places.archive.is_some() { tiling.tile_count() } else { 0 };
        let places = (0..count).map(|tile| places.of(variable.id(), tile)).collect::<Result<_>>()?;
        variables.push(Variable {
            name: variable.name().into_owned(),
            layout: tiling.layout().clone(),
            tiles,
            places,
        });
    }
    let sha256 = archive.and_then(|a| a.digest().sha256());
    let Location { offset, stored, modified, .. } = at;
    let len = dataset.original_len();
    let head = Head { kind, len, offset, stored, sha256, modified, ..Head::default() };
    Ok(Member { name: name.to_owned(), head, header: header(dataset)?, coordinates, variables })
}

/// The header's bytes as stored; for inputs that are not files, in canonical form.
fn header(dataset: &Dataset) -> Result<Bytes> {
    if let Some(archive) = dataset.archive() {
        return Ok(Bytes::copy_from_slice(archive.header_bytes()));
    }
    if let Some(classic) = dataset.classic() {
        return Ok(Bytes::copy_from_slice(classic.header_bytes()));
    }
    Ok(encode(dataset.header())?.into())
}

/// The values of a coordinate: of a dimension with its name, of times along one dimension or none, also as text.
fn known(dataset: &Dataset, variable: &nc3z_reader::Variable) -> Result<Option<CoordinateValues>> {
    let head = variable.header();
    let words = TextTimes::new(dataset.header(), head);
    let is_number = head.dimensions.len() <= 1 && variable.ty() != NcType::Char;
    let is_coordinate = || variable.dimensions().any(|d| d.name == head.name) || time_unit(head).is_some();
    if words.is_none() && !(is_number && is_coordinate()) {
        return Ok(None);
    }
    let element = variable.ty().size() as u64;
    let item = words.map_or(element, |words| words.row_len());
    let present = variable.layout().present;
    let all = variable.shape().iter().try_fold(1_u64, |all, n| all.checked_mul(*n));
    let len = all.filter(|all| *all == present).and_then(|all| all.checked_mul(element));
    let Some(len) = len.filter(|len| *len > 0 && len.is_multiple_of(item)) else { return Ok(None) };
    let read = |first: u64, len: u64| {
        let mut out = vec![0; usize::try_from(len).unwrap_or(0)];
        dataset.source().read_range(variable.id(), first, &mut out).map(|()| out)
    };
    let whole = len <= MOST_COORDINATE;
    let bytes = if whole { read(0, len)? } else { [read(0, item)?, read(len - item, item)?].concat() };
    let size = usize::try_from(item).unwrap_or(1);
    Ok(Some(CoordinateValues { variable: variable.id().0, whole, size, bytes: bytes.into() }))
}

/// Places of tiles in an archive.
struct TilePlaces<'a> {
    archive: Option<&'a Archive>,
    places: Option<Places<'a>>,
    /// Ranges of containers of small tiles, by their offset.
    containers: HashMap<u64, Range>,
}

impl TilePlaces<'_> {
    /// The ranges that a tile takes: its own, and that of the tile that it is coded against.
    fn of(&mut self, var: VarId, tile: u64) -> Result<Vec<Range>> {
        let found = self.in_file(var, tile)?;
        let Some(places) = self.places else { return Ok(found) };
        let each = found.into_iter().map(places).collect::<Result<Vec<_>>>()?;
        Ok(each.concat())
    }

    fn in_file(&mut self, var: VarId, tile: u64) -> Result<Vec<Range>> {
        let Some(archive) = self.archive else { return Ok(Vec::new()) };
        if !archive.variable_layout(var)?.owned {
            return Ok(vec![Range { offset: 0, len: archive.stored_len() }]);
        }
        let array = archive.arrays().variable(var).id;
        let entry = archive.entry(array, tile)?;
        let mut found = Vec::new();
        found.extend(self.range(archive, &entry)?);
        let (IndexEntry::Stored { chain, .. } | IndexEntry::Shared { chain, .. }) = entry else {
            return Ok(found);
        };
        let needs = archive.chains().get(usize::from(chain)).map(nc3z_format::codec::Chain::needs);
        if let Some(distance) = needs.as_ref().and_then(|needs| needs.reference)
            && let Role::Variable(number) = array.role()
            && let Some(other) = number.checked_sub(distance.get()).map(ArrayId::variable)
            && archive.arrays().get(other).is_some()
        {
            let entry = archive.entry(other, tile)?;
            found.extend(self.range(archive, &entry)?);
        }
        if needs.is_some_and(|needs| needs.base)
            && let Some(base) = archive.base_tile(array, tile)?
        {
            found.extend(self.range(archive, &base.entry)?);
        }
        Ok(found)
    }

    fn range(&mut self, archive: &Archive, entry: &IndexEntry) -> Result<Option<Range>> {
        let header = BLOCK_HEADER_LEN as u64;
        Ok(match *entry {
            IndexEntry::Stored { offset, len, .. } => Some(Range { offset, len: header + u64::from(len) }),
            IndexEntry::Shared { offset, .. } => {
                if let Some(known) = self.containers.get(&offset) {
                    return Ok(Some(*known));
                }
                let mut bytes = [0; BLOCK_HEADER_LEN];
                archive.source().read_into(offset, &mut bytes)?;
                let (block, _) = BlockHeader::decode(&bytes, &archive.superblock().salt, offset)?;
                let range = Range { offset, len: header + u64::from(block.stored_len) };
                self.containers.insert(offset, range);
                Some(range)
            }
            IndexEntry::Constant { .. } | IndexEntry::Absent | IndexEntry::Lost => None,
        })
    }
}

/// Counts and sums of the values of a tile. Missing values are left out.
fn values(decoding: &Decoding, bytes: &[u8]) -> Tile {
    let mut tile = Tile::default();
    let is_wide = matches!(decoding.shown(), Shown::AsStored(NcType::Int64 | NcType::UInt64));
    for item in bytes.chunks_exact(decoding.ty().size()) {
        let x = decoding.number(item);
        if x.is_nan() {
            continue;
        }
        let value = match decoding.stored(item) {
            Number::Whole(n) if is_wide => Exactly::from(n),
            _ => Exactly::from(x),
        };
        if tile.count + tile.infinite == 0 {
            (tile.min, tile.max) = (value, value);
        } else if value < tile.min {
            tile.min = value;
        } else if value > tile.max {
            tile.max = value;
        }
        if x.is_infinite() {
            tile.infinite += 1;
            continue;
        }
        tile.count += 1;
        let x = DoubleDouble::from(x);
        (tile.sum, tile.squares) = (tile.sum.plus(x), tile.squares.plus(x.times(x)));
    }
    tile
}
