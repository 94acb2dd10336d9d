//! Opening: superblock, trailer, sections; O(sections), never O(blocks).

use crate::archive::Inner;
use crate::block::{Containers, Dictionaries, Pages};
use crate::cache::{Share, TileCache};
use crate::error::{Error, Result};
use crate::fill::Fills;
use crate::source::soft::Soft;
use crate::source::{ByteSource, SharedSource};
use bytes::Bytes;
use nc3z_format::archive::{
    ArrayId, Head, HeadParts, Metadata, SUPERBLOCK_LEN, Salt, SectionKind, SectionTable, Superblock,
    TRAILER_LEN, Trailer, VariableTable,
};
use nc3z_format::arrays::{Arrays, padded_variables};
use nc3z_format::classic::{Layout, Parsed};
use nc3z_format::{Error as FormatError, Limits};

/// Bytes of the tail that are read first: enough to open a small archive with one read.
const TAIL_LEN: u64 = 64 << 10;
/// Bytes looked at in one step when searching for the last valid trailer of a torn archive.
const SEARCH_LEN: u64 = 1 << 20;

/// How to open an archive.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    pub(crate) limits: Limits,
    pub(crate) mapped: bool,
    pub(crate) fill_lost: bool,
    pub(crate) cache: Option<TileCache>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions { limits: Limits::default(), mapped: true, fill_lost: false, cache: None }
    }
}

impl OpenOptions {
    /// Caps on what the file may ask for.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Whether [`crate::Dataset::open`] maps the file (the default) or reads it by position; see
    /// [`crate::source::MmapSource`] for what a map asks of its file.
    #[must_use]
    pub fn with_mmap(mut self, mapped: bool) -> Self {
        self.mapped = mapped;
        self
    }

    /// Reads give the variable's fill value (zeros for bytes that belong to no variable) where a tile is damaged or lost, instead
    /// of an error. Off by default. What was filled is in [`crate::Archive::filled`]; ask it after reading.
    #[must_use]
    pub fn with_fill_lost(mut self, fill: bool) -> Self {
        self.fill_lost = fill;
        self
    }

    /// Keeps decoded tiles in this cache instead of the process's.
    #[must_use]
    pub fn with_cache(mut self, cache: TileCache) -> Self {
        self.cache = Some(cache);
        self
    }
}

/// The tail of a source, read once, then served from memory where it suffices.
pub(crate) struct Tail<'a> {
    source: &'a dyn ByteSource,
    begin: u64,
    bytes: Bytes,
    /// Whether what cannot be read is taken for zeros.
    lenient: bool,
}

impl<'a> Tail<'a> {
    fn read(source: &'a dyn ByteSource) -> Result<Self> {
        let len = source.len().min(TAIL_LEN);
        let begin = source.len() - len;
        let bytes = source.read_at(begin, usize::try_from(len).expect("at most TAIL_LEN"))?;
        Ok(Tail { source, begin, bytes, lenient: false })
    }

    /// The same for a source whose sectors may be unreadable: those are zeros.
    pub(crate) fn lenient(source: &'a dyn ByteSource) -> Self {
        Tail { source, begin: source.len(), bytes: Bytes::new(), lenient: true }
    }

    pub(crate) fn range(&self, offset: u64, len: u64, what: &'static str) -> Result<Bytes> {
        let outside =
            || FormatError::truncated(what, offset, "section", len, self.source.len().saturating_sub(offset));
        if offset.checked_add(len).is_none_or(|end| end > self.source.len()) {
            return Err(outside().into());
        }
        let len = usize::try_from(len).map_err(|_| outside())?;
        if let Some(at) = offset.checked_sub(self.begin).and_then(|at| usize::try_from(at).ok()) {
            return Ok(self.bytes.slice(at..at + len));
        }
        if self.lenient {
            let mut bytes = vec![0; len];
            Soft::new(self.source).read(offset, &mut bytes);
            return Ok(bytes.into());
        }
        self.source.read_at(offset, len)
    }
}

/// The decoded structures of an archive, not yet checked against each other.
pub(crate) struct Parts {
    pub(crate) superblock: Superblock,
    pub(crate) trailer: Trailer,
    pub(crate) trailer_offset: u64,
    pub(crate) sections: SectionTable,
    pub(crate) head: HeadParts,
    pub(crate) table: VariableTable,
    pub(crate) metadata: Metadata,
}

impl Parts {
    /// Reads and checks each structure by itself.
    pub(crate) fn read(source: &SharedSource, options: &OpenOptions) -> Result<Self> {
        let tail = Tail::read(&**source)?;
        let superblock = read_superblock(&tail)?;
        let (trailer_offset, trailer) = find_trailer(&tail, &superblock)?;
        Self::with_trailer(&tail, superblock, trailer, trailer_offset, &options.limits)
    }

    /// The same for an archive whose trailer is not written yet: the writer's proof.
    pub(crate) fn unsealed(source: &SharedSource, trailer: Trailer, options: &OpenOptions) -> Result<Self> {
        let tail = Tail::read(&**source)?;
        let superblock = read_superblock(&tail)?;
        let offset = source.len();
        Self::with_trailer(&tail, superblock, trailer, offset, &options.limits)
    }

    fn with_trailer(
        tail: &Tail<'_>,
        superblock: Superblock,
        trailer: Trailer,
        trailer_offset: u64,
        limits: &Limits,
    ) -> Result<Self> {
        trailer.check_features()?;
        let sections = read_sections(tail, &trailer, trailer_offset, limits)?;
        let section = |kind, limit| read_section(tail, &sections, kind, limit);
        let head = HeadParts::split(&section(SectionKind::Head, limits.header_len * 2)?, limits)?;
        let table = VariableTable::decode(&section(SectionKind::VariableTable, limits.table_len)?)?;
        let metadata = Metadata::decode(&section(SectionKind::Metadata, limits.metadata_len)?, limits)?;
        Ok(Parts { superblock, trailer, trailer_offset, sections, head, table, metadata })
    }

    /// Checks the structures against each other.
    pub(crate) fn bind(self, source: SharedSource, options: &OpenOptions) -> Result<Inner> {
        let inner = self.bind_to_header(source, options)?;
        check_table(&inner.table, &inner.arrays)?;
        Ok(inner)
    }

    /// The same, but the variable table may be any.
    pub(crate) fn bind_to_header(self, source: SharedSource, options: &OpenOptions) -> Result<Inner> {
        let Parts { superblock, trailer, trailer_offset, sections, head, table, metadata } = self;
        let limits = options.limits.clone();
        let original_len = superblock.original_len;
        let Parsed { header, header_len } = nc3z_format::classic::parse(&head.header, original_len, &limits)
            .map_err(|e| e.within("archive's copy of the classic header", 0))?;
        if header_len != head.header.len() as u64 {
            return Err(disagree("head copy", "header length", header_len, head.header.len()));
        }
        if superblock.salt != nc3z_format::archive::Salt::new(&head.header, original_len) {
            return Err(disagree("superblock", "salt", "that of the header bytes", "another"));
        }
        let layout = Layout::new(&header, header_len, original_len)?;
        let ranks: Vec<usize> = header.variables.iter().map(|v| v.dimensions.len()).collect();
        let head: Head = head.layouts(&ranks, padded_variables(&layout).len())?;
        let arrays = Arrays::new(
            &header,
            &layout,
            &head.layouts,
            &head.padding_tile_lens,
            head.gap_tile_len,
            &limits,
        )?;
        let mut chains = head.chains.clone();
        chains.extend(metadata.chains.iter().cloned());
        if chains.len() as u64 > limits.chains {
            return Err(FormatError::limit(
                "metadata",
                None,
                "number of chains",
                limits.chains,
                chains.len() as u64,
            )
            .into());
        }
        if chains.first().is_none_or(|c| !c.0.is_empty()) {
            return Err(disagree("head copy", "chain 0", "[]", "another"));
        }
        Ok(Inner {
            source,
            limits,
            superblock,
            trailer,
            trailer_offset,
            sections,
            head,
            header,
            layout,
            arrays,
            chains,
            table,
            metadata,
            containers: Containers::new(),
            dictionaries: Dictionaries::new(),
            pages: Pages::new(),
            rebuilt: None,
            fills: options.fill_lost.then(Fills::default),
            tiles: Share::of(options.cache.clone().unwrap_or_else(|| TileCache::process().clone())),
        })
    }
}

/// Each array must have as many tiles as its layout asks for, and no unknown array may have any.
pub(crate) fn check_table(table: &VariableTable, arrays: &Arrays) -> Result<()> {
    use nc3z_format::archive::Role;
    for info in arrays.iter() {
        let found = table.find(info.id).map_or(0, |(row, _)| row.tile_count);
        let expected = info.tiling.tile_count();
        if found != expected {
            return Err(disagree(&format!("variable table, {}", info.id), "tile count", expected, found));
        }
    }
    for row in table.rows() {
        let known = match row.array.role() {
            Role::Definitions(v) => arrays.get(ArrayId::variable(v)).is_some(),
            _ => arrays.get(row.array).is_some(),
        };
        if !known {
            return Err(disagree("variable table", "array", "one of the header's", row.array));
        }
    }
    Ok(())
}

fn disagree(
    section: &str,
    what: &'static str,
    expected: impl std::fmt::Display,
    found: impl std::fmt::Display,
) -> Error {
    FormatError::corrupt(section, None, what, expected, found).into()
}

fn read_superblock(tail: &Tail<'_>) -> Result<Superblock> {
    let len = tail.source.len();
    if len < (SUPERBLOCK_LEN + TRAILER_LEN) as u64 {
        // Name what it is, where it is something else: the magic decides.
        let start = tail.range(0, len.min(8), "superblock")?;
        Superblock::check_magic(&start)?;
        return Err(FormatError::truncated(
            "archive",
            len,
            "superblock and trailer",
            (SUPERBLOCK_LEN + TRAILER_LEN) as u64 - len,
            len,
        )
        .into());
    }
    let bytes = tail.range(0, SUPERBLOCK_LEN as u64, "superblock")?;
    let bytes: &[u8; SUPERBLOCK_LEN] = (&*bytes).try_into().expect("the range has this length");
    Ok(Superblock::decode(bytes)?)
}

/// The last valid trailer: at the end, or, behind a torn commit, the nearest before it.
pub(crate) fn find_trailer(tail: &Tail<'_>, superblock: &Superblock) -> Result<(u64, Trailer)> {
    let len = tail.source.len();
    let at = len - TRAILER_LEN as u64;
    let bytes = tail.range(at, TRAILER_LEN as u64, "trailer")?;
    let bytes: &[u8; TRAILER_LEN] = (&*bytes).try_into().expect("the range has this length");
    let error = match Trailer::decode(bytes, at, &superblock.salt) {
        Ok(trailer) => return check_trailer(trailer, superblock).map(|t| (at, t)),
        // A good trailer that needs what this build lacks: never fall back to an older one.
        Err(e) if e.is_unsupported() => return Err(e.into()),
        Err(e) => e,
    };
    let mut end = len;
    while end > SUPERBLOCK_LEN as u64 {
        let begin = end.saturating_sub(SEARCH_LEN) & !7;
        // Overlap, so that a trailer on the border of two windows is seen whole.
        let stop = (end + TRAILER_LEN as u64).min(len);
        let window = tail.range(begin, stop - begin, "archive")?;
        if let Some((offset, trailer)) = Trailer::find_last(&window, begin, &superblock.salt)? {
            return check_trailer(trailer, superblock).map(|t| (offset, t));
        }
        end = begin;
    }
    Err(error.into())
}

/// What is wrong with the last 128 bytes, if they are no trailer.
pub(crate) fn last_trailer_error(tail: &Tail<'_>, salt: &Salt) -> Option<Error> {
    let at = tail.source.len().checked_sub(TRAILER_LEN as u64)?;
    let bytes = match tail.range(at, TRAILER_LEN as u64, "trailer") {
        Ok(bytes) => bytes,
        Err(e) => return Some(e),
    };
    let bytes: &[u8; TRAILER_LEN] = (&*bytes).try_into().expect("the range has this length");
    Trailer::decode(bytes, at, salt).err().map(Error::from)
}

/// The section table that a trailer names.
pub(crate) fn read_sections(
    tail: &Tail<'_>,
    trailer: &Trailer,
    trailer_offset: u64,
    limits: &Limits,
) -> Result<SectionTable> {
    let bytes = tail.range(trailer.sections_offset, trailer.sections_len.into(), "section table")?;
    Ok(SectionTable::decode(&bytes, trailer, trailer_offset, &trailer.salt, limits)?)
}

/// The decoded section of a kind.
pub(crate) fn read_section(
    tail: &Tail<'_>,
    sections: &SectionTable,
    kind: SectionKind,
    limit: u64,
) -> Result<Vec<u8>> {
    let entry = sections.find(kind)?;
    let stored = tail.range(entry.offset, entry.len, kind.name())?;
    Ok(entry.decode(&stored, limit)?)
}

fn check_trailer(trailer: Trailer, superblock: &Superblock) -> Result<Trailer> {
    if trailer.original_len != superblock.original_len {
        return Err(disagree("trailer", "original length", superblock.original_len, trailer.original_len));
    }
    Ok(trailer)
}
