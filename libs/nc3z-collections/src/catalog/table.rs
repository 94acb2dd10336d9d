//! The variables of a catalogue, which is an ordinary classic dataset. `spec/catalogue.md` has the same list.

use crate::error::{Error, Result};
use nc3z_format::NcType;
use nc3z_format::classic::{Attribute, DimId, Dimension, Header, NumRecs, Variable, Version};
use nc3z_writer::Advice;

/// The global attribute that marks a catalogue, and its value.
pub(super) const MARK: (&str, &str) = ("nc3z_catalog", "1");
/// The global attribute that marks a catalogue with its files, and its value.
const BUNDLE_MARK: (&str, &str) = ("nc3z_bundle", "1");
/// The files of a block at most.
pub(super) const MAX_MEMBERS: usize = 4096;
/// Bytes of a name at most.
pub(crate) const MAX_NAME: usize = 16 << 10;
/// The maximal number of values that are read at once from one variable, such as the tiles of one variable in one block.
pub(super) const MAX_VALUES: usize = 4 << 20;
/// The maximal number of bytes that are read at once: the headers of a block, or its lists of values.
pub(super) const MAX_BYTES: usize = 256 << 20;
/// Files, besides [`FILE_SHARE`] for each byte of the archive: a list takes kilobytes for each.
const FREE_FILES: u64 = 64 << 10;
const FILE_SHARE: u64 = 16;
/// Elements that the dimensions of tables may have together, besides [`TABLE_SHARE`] for each byte of the archive.
const FREE_TABLE: u64 = 1 << 20;
const TABLE_SHARE: u64 = 8;
/// Elements that all other dimensions but those of bytes may have together, besides [`SHARE`] for each byte of the archive.
const FREE_ROWS: u64 = 4 << 20;
/// Elements that the dimensions of bytes may have together, besides [`SHARE`] for each byte of the archive.
const FREE_BYTES: u64 = 256 << 20;
const SHARE: u64 = 1000;

pub(super) fn wrong(what: impl std::fmt::Display) -> Error {
    Error::refused(format!("the catalogue cannot be read: {what}")).advised(Advice::MakeCatalogue)
}

/// A dimension of the dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Axis {
    Block,
    File,
    NameByte,
    Header,
    HeaderByte,
    Coordinate,
    List,
    ListByte,
    Variable,
    VariableByte,
    Section,
    Occurrence,
    Tiling,
    TilingDimension,
    Tile,
    Range,
    Content,
}

impl Axis {
    pub(super) const ALL: [Axis; 17] = [
        Axis::Block,
        Axis::File,
        Axis::NameByte,
        Axis::Header,
        Axis::HeaderByte,
        Axis::Coordinate,
        Axis::List,
        Axis::ListByte,
        Axis::Variable,
        Axis::VariableByte,
        Axis::Section,
        Axis::Occurrence,
        Axis::Tiling,
        Axis::TilingDimension,
        Axis::Tile,
        Axis::Range,
        Axis::Content,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Axis::Block => "block",
            Axis::File => "file",
            Axis::NameByte => "file_name_byte",
            Axis::Header => "header",
            Axis::HeaderByte => "header_byte",
            Axis::Coordinate => "coordinate",
            Axis::List => "list",
            Axis::ListByte => "list_byte",
            Axis::Variable => "variable",
            Axis::VariableByte => "variable_name_byte",
            Axis::Section => "section",
            Axis::Occurrence => "occurrence",
            Axis::Tiling => "tiling",
            Axis::TilingDimension => "tiling_axis",
            Axis::Tile => "tile",
            Axis::Range => "range",
            Axis::Content => "content_byte",
        }
    }
}

/// The dimension of a SHA-256: its name and its length.
pub(super) const DIGEST: (&str, u64) = ("sha256_byte", 32);

/// The attributes of a variable besides its description.
#[derive(Debug, Clone, Copy)]
pub(super) enum Note {
    /// It counts the elements of a contiguous ragged array.
    Counts(Axis),
    /// It is the number of an element of that dimension.
    Numbers(Axis),
    Units(&'static str),
    Flags(&'static str),
    /// This number stands for an unknown value.
    Unknown(i64),
}

/// The type, the dimension and the meaning of a variable.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spec {
    pub(super) name: &'static str,
    pub(super) ty: NcType,
    pub(super) axis: Axis,
    pub(super) notes: &'static [Note],
    pub(super) text: &'static str,
}

macro_rules! columns {
    ($($column:ident $name:literal $ty:ident $axis:ident [$($note:expr),*] $text:literal;)*) => {
        /// A variable of the dataset.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Column { $($column),* }

        impl Column {
            pub(super) const ALL: &'static [Column] = &[$(Column::$column),*];

            pub(super) const fn spec(self) -> Spec {
                match self {
                    $(Column::$column => Spec {
                        name: $name, ty: NcType::$ty, axis: Axis::$axis, notes: &[$($note),*], text: $text,
                    }),*
                }
            }
        }
    };
}

impl Column {
    /// True if only bundles have it.
    pub(super) fn is_of_bundles(self) -> bool {
        matches!(self, Column::Crc32 | Column::Mode | Column::GroupMember | Column::Content)
    }
}

use Note::{Counts, Flags, Numbers, Units, Unknown};

columns! {
    BlockFiles "block_files" Int Block [Counts(Axis::File)] "files of the block";
    BlockNameBytes "block_name_bytes" Int Block [] "bytes of their names";
    BlockHeaders "block_headers" Int Block [Counts(Axis::Header)] "distinct headers of these files";
    BlockHeaderBytes "block_header_bytes" Int Block [] "bytes of these headers";
    BlockCoordinates "block_coordinates" Int Block [] "coordinates of these files";
    BlockLists "block_lists" Int Block [Counts(Axis::List)] "distinct lists of values of these coordinates";
    BlockListBytes "block_list_bytes" Int Block [] "bytes of these lists";
    NameLength "file_name_length" Int File [Counts(Axis::NameByte)] "bytes of the name";
    Name "file_name" Char NameByte [] "names of the files, one after another";
    Kind "file_kind" Byte File [Flags("classic archive short_archive packed_member aggregation other_file")] "kind of the file";
    Size "file_size" Int64 File [Units("byte")] "length of the classic file";
    Offset "file_offset" Int64 File [Units("byte")] "offset in the file on disk";
    Stored "file_stored_size" Int64 File [Units("byte")] "length in the file on disk";
    FileHeader "file_header" Int File [Numbers(Axis::Header)] "header of the file";
    Sha256 "file_sha256" UByte File [] "SHA-256 of the classic file, 0 if unknown";
    Modified "file_modified" Int64 File [Units("nanoseconds since 1970-01-01"), Unknown(i64::MIN)] "last change of the file on disk";
    Crc32 "file_crc32" UInt File [] "CRC-32 of the stored bytes";
    Mode "file_mode" Short File [Unknown(-1)] "permissions of the file";
    GroupMember "file_group_member" Int File [] "position of a packed member in its group";
    Coordinates "file_coordinates" Int File [Counts(Axis::Coordinate)] "known coordinates of the file";
    HeaderLength "header_length" Int Header [Counts(Axis::HeaderByte)] "bytes of the header";
    HeaderBytes "header_bytes" Char HeaderByte [] "headers of classic files, one after another";
    CoordinateVariable "coordinate_variable" Int Coordinate [] "position of the variable in the header";
    CoordinateExtent "coordinate_extent" Byte Coordinate [Flags("ends all")] "values that are known";
    CoordinateWidth "coordinate_width" Short Coordinate [Units("byte")] "length of a value";
    CoordinateList "coordinate_list" Int Coordinate [Numbers(Axis::List)] "list of values";
    ListLength "list_length" Int List [Counts(Axis::ListByte)] "bytes of the list";
    ListBytes "list_bytes" Byte ListByte [] "big-endian values, one list after another";
    VariableNameLength "variable_name_length" Int Variable [Counts(Axis::VariableByte)] "bytes of the name";
    VariableName "variable_name" Char VariableByte [] "names of the variables, one after another";
    SectionVariable "section_variable" Int Section [Numbers(Axis::Variable)] "variable of the section";
    SectionBlock "section_block" Int Section [Numbers(Axis::Block)] "block of the section";
    SectionOccurrences "section_occurrences" Int Section [Counts(Axis::Occurrence)] "occurrences of the variable in files of the block";
    SectionTiles "section_tiles" Int Section [] "tiles of these occurrences";
    SectionRanges "section_ranges" Int Section [] "ranges of these tiles";
    OccurrenceFile "occurrence_file" Int Occurrence [Numbers(Axis::File)] "file with the variable";
    OccurrenceVariable "occurrence_variable" Int Occurrence [] "position of the variable in the header";
    OccurrenceTiling "occurrence_tiling" Int Occurrence [Numbers(Axis::Tiling)] "division into tiles";
    OccurrenceStatistics "occurrence_statistics" Byte Occurrence [Flags("no yes")] "whether tiles have statistics";
    OccurrenceTiles "occurrence_tiles" Int Occurrence [Counts(Axis::Tile)] "tiles of the variable in the file";
    TilingKind "tiling_kind" Byte Tiling [Flags("linear clipped_chunks padded_chunks")] "kind of the division";
    TilingRank "tiling_rank" Int Tiling [Counts(Axis::TilingDimension)] "lengths of a tile";
    TilingLength "tiling_length" Int64 TilingDimension [] "length of a tile in elements";
    TileCount "tile_count" Int64 Tile [] "valid, finite values";
    TileInfinite "tile_infinite" Int64 Tile [] "infinite values";
    TileLeast "tile_least" Double Tile [] "least value";
    TileLargest "tile_largest" Double Tile [] "largest value";
    TileLeastRest "tile_least_rest" Short Tile [] "least value less tile_least";
    TileLargestRest "tile_largest_rest" Short Tile [] "largest value less tile_largest";
    TileSum "tile_sum" Double Tile [] "sum of the finite values";
    TileSumRest "tile_sum_rest" Double Tile [] "sum less tile_sum";
    TileSquares "tile_squares" Double Tile [] "sum of the squares of the finite values";
    TileSquaresRest "tile_squares_rest" Double Tile [] "sum of the squares less tile_squares";
    TileRanges "tile_ranges" Int Tile [Counts(Axis::Range)] "ranges of bytes of the tile";
    RangeGap "range_gap" Int64 Range [Units("byte")] "bytes from the end of the occurrence's range before";
    RangeLength "range_length" Int64 Range [Units("byte")] "length of the range";
    Content "content" Byte Content [] "bytes of the files, one after another";
}

/// The lengths of all dimensions.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lengths([u64; Axis::ALL.len()]);

impl std::ops::Index<Axis> for Lengths {
    type Output = u64;

    fn index(&self, axis: Axis) -> &u64 {
        &self.0[axis as usize]
    }
}

impl std::ops::IndexMut<Axis> for Lengths {
    fn index_mut(&mut self, axis: Axis) -> &mut u64 {
        &mut self.0[axis as usize]
    }
}

impl Lengths {
    /// Checks that `stored` bytes can hold this number of elements, so that a short archive cannot ask for much work or memory.
    pub(super) fn check(&self, stored: u64) -> Result<(), String> {
        let mut sums = [0_u64; 4];
        for axis in Axis::ALL {
            let group = match axis {
                // It is read by members, each of which has its own limits.
                Axis::Content => continue,
                Axis::Block | Axis::Variable | Axis::Section | Axis::Tiling | Axis::TilingDimension => 0,
                Axis::NameByte | Axis::HeaderByte | Axis::ListByte | Axis::VariableByte => 2,
                Axis::File => 3,
                _ => 1,
            };
            sums[group] = sums[group].saturating_add(self[axis]);
        }
        let limits = [
            (FREE_TABLE, TABLE_SHARE, "blocks, variables and tilings"),
            (FREE_ROWS, SHARE, "occurrences and tiles"),
            (FREE_BYTES, SHARE, "bytes of text"),
            (FREE_FILES, FILE_SHARE, "files"),
        ];
        for (found, (free, share, what)) in sums.into_iter().zip(limits) {
            let most = stored.saturating_mul(share).saturating_add(free);
            if found > most {
                return Err(format!(
                    "it has {found} {what}, and a catalogue of {stored} bytes has at most {most}"
                ));
            }
        }
        Ok(())
    }
}

fn text(name: &str, value: &str) -> Attribute {
    Attribute { name: name.into(), ty: NcType::Char, values: value.into() }
}

pub(super) fn attributes(spec: &Spec) -> Vec<Attribute> {
    let mut all = vec![text("long_name", spec.text)];
    for note in spec.notes {
        match note {
            Counts(axis) => all.push(text("sample_dimension", axis.name())),
            Numbers(axis) => all.push(text("instance_dimension", axis.name())),
            Units(units) => all.push(text("units", units)),
            Unknown(value) => {
                let bytes = value.to_be_bytes();
                let values = bytes[bytes.len() - spec.ty.size()..].to_vec();
                all.push(Attribute { name: "_FillValue".into(), ty: spec.ty, values });
            }
            Flags(words) => {
                let values = (0..).take(words.split(' ').count()).collect();
                all.push(Attribute { name: "flag_values".into(), ty: spec.ty, values });
                all.push(text("flag_meanings", words));
            }
        }
    }
    all
}

/// The header of a catalogue, and its variables in their order. Those without elements are left out, as are their dimensions: a classic
/// file has no fixed dimension of length 0.
pub(super) fn header(lengths: &Lengths, is_bundle: bool) -> (Header, Vec<Column>) {
    let present: Vec<Axis> = Axis::ALL.into_iter().filter(|axis| lengths[*axis] > 0).collect();
    let mut dimensions: Vec<Dimension> =
        present.iter().map(|axis| Dimension { name: axis.name().into(), len: lengths[*axis] }).collect();
    let digest = dimensions.len();
    dimensions.push(Dimension { name: DIGEST.0.into(), len: DIGEST.1 });
    let id = |n: usize| DimId(u32::try_from(n).expect("there are 18 dimensions"));
    let (mut variables, mut columns) = (Vec::new(), Vec::new());
    for column in Column::ALL {
        let spec = column.spec();
        if column.is_of_bundles() && !is_bundle {
            continue;
        }
        let Some(at) = present.iter().position(|axis| *axis == spec.axis) else { continue };
        let mut own = vec![id(at)];
        own.extend((*column == Column::Sha256).then(|| id(digest)));
        columns.push(*column);
        variables.push(Variable {
            name: spec.name.into(),
            dimensions: own,
            attributes: attributes(&spec),
            ty: spec.ty,
            vsize: 0,
            begin: 0,
        });
    }
    let title = if is_bundle { "Bundle of files" } else { "Catalogue of netCDF files" };
    let mut attributes = vec![text("Conventions", "CF-1.12"), text("title", title), text(MARK.0, MARK.1)];
    if is_bundle {
        attributes.push(text(BUNDLE_MARK.0, BUNDLE_MARK.1));
    }
    (
        Header { version: Version::Cdf5, numrecs: NumRecs::Count(0), dimensions, attributes, variables },
        columns,
    )
}

/// The bytes of a row of a variable.
pub(super) fn row_len(column: Column) -> u64 {
    let spec = column.spec();
    spec.ty.size() as u64 * if column == Column::Sha256 { DIGEST.1 } else { 1 }
}

/// Returns whether a header is that of a catalogue.
pub(super) fn is_marked(header: &Header) -> bool {
    header.attribute(MARK.0.as_bytes()).is_some_and(|mark| mark.values == MARK.1.as_bytes())
}

/// Returns whether a header is that of a bundle, of this or of another version.
pub(super) fn is_bundle(header: &Header) -> bool {
    is_marked(header) && header.attribute(BUNDLE_MARK.0.as_bytes()).is_some()
}

/// Returns whether the bytes of a header have the name of a bundle's mark.
pub(super) fn has_bundle_mark(header: &[u8]) -> bool {
    memchr::memmem::find(header, BUNDLE_MARK.0.as_bytes()).is_some()
}

/// Checks the version of a bundle.
pub(super) fn check_bundle(header: &Header) -> Result<()> {
    let found = header.attribute(BUNDLE_MARK.0.as_bytes()).map(|mark| mark.values.as_slice());
    if found == Some(BUNDLE_MARK.1.as_bytes()) {
        return Ok(());
    }
    let found = String::from_utf8_lossy(found.unwrap_or_default()).into_owned();
    Err(Error::refused(format!(
        "the bundle cannot be read: its attribute `{}` is `{found}`, and this version of nc3z knows `{}`",
        BUNDLE_MARK.0, BUNDLE_MARK.1
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_specification_lists_each_variable() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/catalogue.md");
        let spec = std::fs::read_to_string(path).unwrap();
        for column in Column::ALL {
            let Spec { name, ty, axis, .. } = column.spec();
            let second = if *column == Column::Sha256 { ", sha256_byte" } else { "" };
            let row = format!("| `{name}({}{second})` | {} |", axis.name(), ty.name());
            assert!(spec.contains(&row), "{row}");
        }
        let rows = spec.lines().filter(|line| line.starts_with("| `") && line.contains(")` | ")).count();
        assert_eq!(rows, Column::ALL.len());
        let text = [
            "4,096 files",
            "16,384 bytes",
            "4,194,304 tiles",
            "268,435,456 bytes",
            "1,048,576 + 8`s`",
            "4,194,304 + 1000`s`",
            "268,435,456 + 1000`s`",
            "65,536 + 16`s`",
        ];
        text.iter().for_each(|words| assert!(spec.contains(words), "{words}"));
        let numbers = [
            MAX_MEMBERS as u64,
            MAX_NAME as u64,
            MAX_VALUES as u64,
            MAX_BYTES as u64,
            FREE_TABLE,
            FREE_ROWS,
            FREE_BYTES,
        ];
        assert_eq!(numbers, [4096, 16_384, 4_194_304, 268_435_456, 1_048_576, 4_194_304, 268_435_456]);
        assert_eq!((TABLE_SHARE, SHARE, FREE_FILES, FILE_SHARE), (8, 1000, 65_536, 16));
    }
}
