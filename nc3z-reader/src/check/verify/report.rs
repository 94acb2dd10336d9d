//! The report of a check.

use crate::check::parity::ParityReport;
use crate::restore::RestoreReport;
use crate::tile_location::TileLocation;
use nc3z_format::archive::{ArrayId, SectionKind};
use std::ops::Range;

/// The structures to which bytes of an archive belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Structure {
    /// The first 160 bytes.
    Superblock,
    /// The entries for the newest generations in the superblock.
    CommitSlots,
    /// Prefix and directory of an archive in the short form.
    ShortForm,
    /// The head copy after the superblock.
    HeadCopy,
    /// A block: header or payload.
    Block,
    /// Bytes between structures, which are zero.
    Gap,
    /// A section.
    Section(SectionKind),
    /// A page of the index.
    IndexPage,
    /// The table of sections.
    SectionTable,
    /// The trailer: the last 128 bytes of a generation.
    Trailer,
    /// The bytes after the last intact trailer.
    Tail,
    /// The index: its content is invalid, although its bytes have the right checksums.
    Index,
    /// A tile that does not decode, although its stored bytes have the right checksums.
    Tile,
    /// The rebuilt original.
    Original,
}

impl Structure {
    /// The name of the structure in messages.
    pub fn name(self) -> &'static str {
        match self {
            Structure::Superblock => "superblock",
            Structure::CommitSlots => "commit slots",
            Structure::ShortForm => "short form",
            Structure::HeadCopy => "head copy",
            Structure::Block => "block",
            Structure::Gap => "bytes between structures",
            Structure::Section(kind) => kind.name(),
            Structure::IndexPage => "index page",
            Structure::SectionTable => "section table",
            Structure::Trailer => "trailer",
            Structure::Tail => "tail",
            Structure::Index => "index",
            Structure::Tile => "tile",
            Structure::Original => "original",
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Finding {
    /// The structure that is wrong.
    pub structure: Structure,
    /// The bytes of the archive that the finding concerns. Empty if it concerns no particular bytes.
    pub bytes: Range<u64>,
    /// A message about the error.
    pub message: String,
    /// The affected parts of the user's data.
    pub places: Vec<TileLocation>,
}

/// Tiles of one array that a deep check could not decode.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Undecoded {
    /// The place of the tiles, from the first to the last.
    pub place: TileLocation,
    /// The number of tiles.
    pub tiles: u64,
    /// The reason why the first of these tiles was not decoded: the filter or codec that this build lacks.
    pub why: String,
}

/// The report of a check.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Report {
    /// Bytes of the archive.
    pub stored_len: u64,
    /// Generations whose trailers are whole.
    pub generations: u32,
    /// Blocks whose header and payload were compared with their checksums, superseded ones included.
    pub blocks: u64,
    /// Index entries that were checked; tiles that were decoded, for a deep check.
    pub tiles: u64,
    /// Bytes of sections that have checksums of a kind unknown to this build.
    pub unchecked: u64,
    /// The number of tiles that a deep check could not decode, since this build does not know their chains. Their stored bytes have the
    /// right checksums.
    pub undecoded: u64,
    /// The tiles that were not decoded, array by array.
    pub not_decoded: Vec<Undecoded>,
    /// The reason why a deep check could not rebuild the original, though nothing was found wrong.
    pub not_rebuilt: Option<String>,
    /// All errors found. Empty for a sound archive.
    pub findings: Vec<Finding>,
    /// Findings beyond those listed.
    pub more: u64,
    /// Tiles that were lost before the archive was repaired. The archive records them, so they are not findings.
    pub lost: Vec<TileLocation>,
    /// The archive's parity, if it has a usable one: the damage of the parity and of the archive, and whether
    /// it can be repaired. For a sound archive, only the parity itself was checked.
    pub parity: Option<ParityReport>,
    /// The rebuilt original, for a deep check of an archive where every tile was sound.
    pub restored: Option<RestoreReport>,
}

impl Report {
    /// Returns whether the archive has all bytes that were written. It may have tiles that were lost before it was written: see `lost`. A
    /// deep check may not have decoded all tiles: see [`Report::is_complete`].
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    /// True if everything requested was checked. A deep check is incomplete if tiles need a filter or codec
    /// that this build does not have.
    pub fn is_complete(&self) -> bool {
        self.undecoded == 0 && self.not_rebuilt.is_none()
    }
}

/// Findings that are kept. Further ones are only counted.
const MAX_FINDINGS: usize = 10_000;

/// A finding while the archive is still walked: tiles by number only.
#[derive(Debug, Clone)]
pub(super) struct Raw {
    pub(super) structure: Structure,
    pub(super) bytes: Range<u64>,
    pub(super) message: String,
    pub(super) tiles: Vec<(ArrayId, Range<u64>)>,
}

#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) all: Vec<Raw>,
    pub(super) more: u64,
}

impl Findings {
    pub(super) fn push(&mut self, structure: Structure, bytes: Range<u64>, message: impl Into<String>) {
        self.add(Raw { structure, bytes, message: message.into(), tiles: Vec::new() });
    }

    pub(super) fn add(&mut self, raw: Raw) {
        if self.all.len() < MAX_FINDINGS {
            self.all.push(raw);
        } else {
            self.more += 1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

impl Raw {
    /// Adds a tile; runs of neighbours become one.
    pub(super) fn touch(&mut self, array: ArrayId, tiles: Range<u64>) {
        match self.tiles.last_mut() {
            Some((last, range)) if *last == array && range.end == tiles.start => range.end = tiles.end,
            _ => self.tiles.push((array, tiles)),
        }
    }

    /// Sorts what was touched, each tile once.
    pub(super) fn settle(&mut self) {
        self.tiles.sort_unstable_by_key(|(array, range)| (*array, range.start, range.end));
        let mut merged: Vec<(ArrayId, Range<u64>)> = Vec::with_capacity(self.tiles.len());
        for (array, range) in self.tiles.drain(..) {
            match merged.last_mut() {
                Some((last, before)) if *last == array && before.end >= range.start => {
                    before.end = before.end.max(range.end);
                }
                _ => merged.push((array, range)),
            }
        }
        self.tiles = merged;
    }
}
