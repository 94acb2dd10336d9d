//! Opening: superblock, trailer, sections; O(sections), never O(blocks).

use crate::archive::{Archive, Inner};
use crate::behind::Behind;
use crate::error::{Error, Result};
use crate::foreign::or_foreign;
use crate::newest::Newest;
use crate::options::OpenOptions;
use crate::source::short::{ShortFacts, expanded};
use crate::source::{ByteSource, EndsSource, Near, SharedSource};
use crate::tile::cache::{Share, TileCache};
use crate::tile::{Blocks, Fills, Index, TileStore, Work};
use crate::versions::{VersionName, find_version};
use bytes::Bytes;
use nc3z_format::archive::constants::REQUIRED_LATER_HEAD;
use nc3z_format::archive::{
    Head, HeadParts, LaterHead, LaterHeadParts, LaterHeadPlace, Layouts, Metadata, SUPERBLOCK_LEN, Salt,
    SectionEntry, SectionKind, SectionTable, Superblock, TRAILER_LEN, Trailer, VariableTable,
};
use nc3z_format::arrays::{Arrays, padded_variables};
use nc3z_format::classic::{Header, Layout, Parsed};
use nc3z_format::{Error as FormatError, Limits};
use std::ops::Range;
use std::sync::Arc;

/// Bytes looked at in one step when searching for the last valid trailer of a torn archive.
const SEARCH_LEN: u64 = 1 << 20;

impl Archive {
    /// Opens an archive through a map. See [`crate::source::MmapSource`] for what a map asks of its file.
    ///
    /// # Errors
    /// See [`Archive::from_source`].
    #[cfg(feature = "fs")]
    pub fn open(path: &std::path::Path) -> Result<Self> {
        Self::from_source(crate::source::open(path, true)?, &OpenOptions::default())
    }

    /// Opens an archive from any byte source. Reads the superblock, the trailer and the sections it names, never the blocks:
    /// structure is checked here, content when it is read, all of it by [`crate::verify`].
    ///
    /// First and last bytes are asked for together ([`ByteSource::ends`]); where the sections lie in them, as they do but for
    /// archives of very many variables, that is all that opening reads.
    ///
    /// # Errors
    /// What is wrong with the archive's structure, and where.
    pub fn from_source(source: SharedSource, options: &OpenOptions) -> Result<Self> {
        Self::check_no_root(options)?;
        let (source, short) = expanded(&with_ends(source))?;
        if let Some(missing) = short.as_ref().and_then(ShortFacts::missing) {
            return Err(missing);
        }
        let parts = Parts::read(&*source, options)?;
        Ok(Archive::of(Inner { short, ..parts.bind(source, options)? }))
    }

    /// Opens an archive that is complete but for its trailer, which is given: the writer's proof, before the digest is known.
    ///
    /// # Errors
    /// As [`Archive::from_source`].
    pub fn from_unsealed(source: SharedSource, trailer: Trailer, options: &OpenOptions) -> Result<Self> {
        let source = with_ends(source);
        let parts = Parts::unsealed(&*source, trailer, options)?;
        Ok(Archive::of(parts.bind(source, options)?))
    }
}

/// The source with its ends in memory; as it is, where all of it is, or where they cannot be read together: then each part tells its own trouble.
pub(crate) fn with_ends(source: SharedSource) -> SharedSource {
    if source.lends() {
        return source;
    }
    match EndsSource::read(Arc::clone(&source)) {
        Ok(ends) => Arc::new(ends),
        Err(_) => source,
    }
}

/// The bytes of something that should lie inside the source.
pub(crate) fn read_part(source: &dyn ByteSource, offset: u64, len: u64, what: &'static str) -> Result<Bytes> {
    let outside = || {
        let room = source.len().saturating_sub(offset);
        Error::from(FormatError::truncated(what, offset, "section", len.saturating_sub(room), room))
    };
    if offset.checked_add(len).is_none_or(|end| end > source.len()) {
        return Err(outside());
    }
    source.read_at(offset, usize::try_from(len).map_err(|_| outside())?)
}

/// The decoded structures of an archive, not yet checked against each other.
pub(crate) struct Parts {
    pub(crate) superblock: Superblock,
    pub(crate) trailer: Trailer,
    pub(crate) trailer_offset: u64,
    /// Where the last valid trailer ends.
    pub(crate) last_end: u64,
    pub(crate) sections: SectionTable,
    pub(crate) head: HeadParts,
    /// The head of this generation, where that is not the head copy.
    pub(crate) later: Option<LaterHeadParts>,
    pub(crate) table: VariableTable,
    pub(crate) metadata: Metadata,
}

impl Archive {
    /// The trailers of this generation and of all before it, the newest first, each with its offset.
    ///
    /// # Errors
    /// A damaged trailer; more generations than the limits allow.
    pub fn generations(&self) -> Result<Vec<(u64, Trailer)>> {
        let store = &self.inner.store;
        let this = (self.inner.trailer_offset, self.inner.trailer.clone());
        generations(&*store.source, this, &store.limits)
    }

    /// The trailers of this generation and of those right before it, at most so many in all, each with its offset.
    ///
    /// # Errors
    /// A damaged trailer.
    pub fn recent_generations(&self, most: usize) -> Result<Vec<(u64, Trailer)>> {
        recent_generations(
            &*self.inner.store.source,
            (self.inner.trailer_offset, self.inner.trailer.clone()),
            most as u64,
        )
    }
}

impl Parts {
    /// Reads and checks each structure by itself.
    pub(crate) fn read(source: &dyn ByteSource, options: &OpenOptions) -> Result<Self> {
        let superblock = read_superblock(source)?;
        let Newest { last, mut lost } = Newest::find(source, &superblock, &options.limits)?;
        let last = last.map_err(|e| lost.take().unwrap_or(e))?;
        // A number names one state for ever; a tag may have been moved by what is damaged.
        let by_number =
            options.generation.is_some() || matches!(options.version, Some(VersionName::Number(_)));
        if !options.older && !by_number {
            lost.take().map_or(Ok(()), Err)?;
            Behind::of(source, &last.1).check(&last.1)?;
        }
        let last_end = last.1.archive_len;
        let found = match (options.generation, &options.version) {
            (Some(wanted), _) => find_generation(source, last, wanted, &options.limits),
            (None, Some(wanted)) => find_version(source, last, wanted, &options.limits),
            (None, None) => Ok(last),
        };
        // One that is not there may be the one that is lost.
        let (offset, trailer) = found.map_err(|e| lost.filter(|_| !e.is_corrupt()).unwrap_or(e))?;
        Self::with_trailer(
            source,
            superblock,
            trailer,
            offset,
            last_end,
            &options.limits.within(source.len()),
        )
    }

    /// The same for an archive whose trailer is not written yet: the writer's proof.
    fn unsealed(source: &dyn ByteSource, trailer: Trailer, options: &OpenOptions) -> Result<Self> {
        let superblock = read_superblock(source)?;
        let (offset, last_end) = (source.len(), trailer.archive_len);
        Self::with_trailer(
            source,
            superblock,
            trailer,
            offset,
            last_end,
            &options.limits.within(source.len()),
        )
    }

    fn with_trailer(
        source: &dyn ByteSource,
        superblock: Superblock,
        trailer: Trailer,
        trailer_offset: u64,
        last_end: u64,
        limits: &Limits,
    ) -> Result<Self> {
        trailer.check_features()?;
        let sections = read_sections(source, &trailer, trailer_offset, limits)?;
        let near = fetch_sections(source, &sections, limits);
        let section = |kind, limit| {
            let entry = sections.find(kind)?;
            let held = usize::try_from(entry.len).ok().and_then(|len| near.get(entry.offset, len));
            match held {
                Some(stored) => decode_section(source, entry, &stored, &near, limit),
                None => read_section(source, &sections, kind, limit),
            }
        };
        let copy = section(SectionKind::Head, limits.head_len())?;
        let head = HeadParts::split(&copy, limits)?;
        let table = VariableTable::decode(&section(SectionKind::VariableTable, limits.table_len)?)?;
        let later = read_later_head(source, &table, &trailer, &copy, limits)?;
        let metadata = Metadata::decode(&section(SectionKind::Metadata, limits.metadata_len)?, limits)?;
        Ok(Parts { superblock, trailer, trailer_offset, last_end, sections, head, later, table, metadata })
    }

    /// Checks the structures against each other.
    pub(crate) fn bind(self, source: SharedSource, options: &OpenOptions) -> Result<Inner> {
        let inner = self.bind_to_header(source, options)?;
        check_table(&inner.store.index.table, &inner.store.arrays, inner.next_number)?;
        inner.store.index.table.check_pages(inner.trailer_offset)?;
        Ok(inner)
    }

    /// The same, but the variable table may be any.
    pub(crate) fn bind_to_header(self, source: SharedSource, options: &OpenOptions) -> Result<Inner> {
        let Parts { superblock, trailer, trailer_offset, last_end, sections, head, later, table, metadata } =
            self;
        let limits = options.limits.within(source.len());
        if !superblock.salt.fits(&head.header, superblock.original_len) {
            return Err(disagree("superblock", "salt", "that of the header bytes", "another"));
        }
        let bound = BoundHead::new(head, later, superblock.original_len, &limits)?;
        let BoundHead { head, next_number, header, layout, arrays, original_len } = bound;
        if original_len != trailer.original_len {
            return Err(disagree("trailer", "original length", original_len, trailer.original_len));
        }
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
        let registry = options.registry.clone();
        let chains = chains.into_iter().map(|chain| registry.bind(chain)).collect();
        let store = TileStore {
            fills: options.fill_lost.then(|| Fills::new(limits.lost_tiles)),
            work: Work::new(&limits, source.len(), original_len),
            identity: source.identity(),
            source,
            limits,
            salt: superblock.salt,
            end: trailer_offset,
            header,
            arrays,
            chains,
            registry,
            index: Index::new(table),
            blocks: Blocks::default(),
            cache: Share::of(options.cache.clone().unwrap_or_else(|| TileCache::process().clone())),
        };
        Ok(Inner {
            store,
            superblock,
            trailer,
            trailer_offset,
            last_end,
            sections,
            head,
            next_number,
            layout,
            metadata,
            short: None,
        })
    }
}

/// A generation's head, and what follows from it.
struct BoundHead {
    /// As a head copy would be, with the archive's chains.
    head: Head,
    next_number: u32,
    header: Header,
    layout: Layout,
    arrays: Arrays,
    original_len: u64,
}

impl BoundHead {
    /// The later head, where there is one; else the head copy, of a file of `first_len` bytes.
    fn new(copy: HeadParts, later: Option<LaterHeadParts>, first_len: u64, limits: &Limits) -> Result<Self> {
        let (bytes, original_len) = match &later {
            Some(later) => (&later.header, later.original_len),
            None => (&copy.header, first_len),
        };
        let Parsed { header, header_len } = nc3z_format::classic::parse(bytes, original_len, limits)
            .map_err(|e| e.within("archive's copy of the classic header", 0))?;
        if header_len != bytes.len() as u64 {
            return Err(disagree("head copy", "header length", header_len, bytes.len()));
        }
        let layout = Layout::new(&header, header_len, original_len)?;
        let ranks: Vec<usize> = header.variables.iter().map(|v| v.dimensions.len()).collect();
        let paddings = padded_variables(&layout).len();
        let (head, numbers, next_number) = if let Some(later) = later {
            let LaterHead { header, next_number, numbers, layouts, .. } = later.finish(&ranks, paddings)?;
            let Layouts { variables: layouts, paddings: padding_tile_lens, gap: gap_tile_len } = layouts;
            let chains = copy.chains().to_vec();
            (Head { header, chains, layouts, padding_tile_lens, gap_tile_len }, numbers, next_number)
        } else {
            let numbers: Vec<u32> = (0u32..).zip(&ranks).map(|(number, _)| number).collect();
            let next = u32::try_from(numbers.len()).expect("a header's variables are counted in 32 bits");
            (copy.layouts(&ranks, paddings)?, numbers, next)
        };
        let arrays = Arrays::with_numbers(
            &header,
            &layout,
            &numbers,
            &head.layouts,
            &head.padding_tile_lens,
            head.gap_tile_len,
            limits,
        )?;
        Ok(BoundHead { head, next_number, header, layout, arrays, original_len })
    }
}

/// Each array must have as many tiles as its layout asks for, and no unknown array may have any.
pub(crate) fn check_table(table: &VariableTable, arrays: &Arrays, next_number: u32) -> Result<()> {
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
            // Of an array of an older generation too: tiles may be coded against one of its.
            Role::Definitions(v) => v < next_number,
            // Whether there may be one has been compared with the trailer.
            Role::Heads => true,
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

fn read_superblock(source: &dyn ByteSource) -> Result<Superblock> {
    read_superblock_of(source).map_err(|e| or_foreign(source, e))
}

fn read_superblock_of(source: &dyn ByteSource) -> Result<Superblock> {
    let len = source.len();
    if len < (SUPERBLOCK_LEN + TRAILER_LEN) as u64 {
        // Name what it is, where it is something else: the magic decides.
        let start = read_part(source, 0, len.min(8), "superblock")?;
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
    let bytes = read_part(source, 0, SUPERBLOCK_LEN as u64, "superblock")?;
    let bytes: &[u8; SUPERBLOCK_LEN] = (&*bytes).try_into().expect("the range has this length");
    Ok(Superblock::decode(bytes)?)
}

/// The last trailer by this salt that begins at `least` or later, a multiple of 8, and ends at `len` at the latest.
pub(crate) fn last_trailer_between(
    source: &dyn ByteSource,
    least: u64,
    len: u64,
    salt: &Salt,
) -> Result<Option<(u64, Trailer)>> {
    let mut end = len;
    while end > least {
        let begin = (end.saturating_sub(SEARCH_LEN) & !7).max(least);
        // Overlap, so that a trailer on the border of two windows is seen whole.
        let stop = (end + TRAILER_LEN as u64).min(len);
        let window = read_part(source, begin, stop - begin, "archive")?;
        if let Some(found) = Trailer::find_last(&window, begin, salt)? {
            return Ok(Some(found));
        }
        end = begin;
    }
    Ok(None)
}

/// The trailers of an archive from one back to that of its first generation, each with its offset.
pub(crate) fn generations(
    source: &dyn ByteSource,
    last: (u64, Trailer),
    limits: &Limits,
) -> Result<Vec<(u64, Trailer)>> {
    let all = recent_generations(source, last, limits.generations)?;
    if let Some((at, _)) = all.last().filter(|(_, trailer)| trailer.previous != 0) {
        let (limit, n) = (limits.generations, all.len() as u64);
        return Err(FormatError::limit("archive", *at, "generations", limit, n).into());
    }
    Ok(all)
}

/// The trailer given and those before it, at most so many in all.
fn recent_generations(
    source: &dyn ByteSource,
    last: (u64, Trailer),
    most: u64,
) -> Result<Vec<(u64, Trailer)>> {
    let mut recent = vec![last];
    while (recent.len() as u64) < most
        && let Some((_, trailer)) = recent.last().filter(|(_, trailer)| trailer.previous != 0)
    {
        let previous = read_previous(source, trailer)?;
        recent.push(previous);
    }
    Ok(recent)
}

/// The trailer before one that names it. It stands before that one, so that there are no cycles.
pub(crate) fn read_previous(source: &dyn ByteSource, trailer: &Trailer) -> Result<(u64, Trailer)> {
    let at = trailer.previous;
    let bytes = read_part(source, at, TRAILER_LEN as u64, "trailer")?;
    let bytes: &[u8; TRAILER_LEN] = (&*bytes).try_into().expect("the range has this length");
    let previous = Trailer::decode(bytes, at, &trailer.salt)?;
    if previous.generation >= trailer.generation {
        let expected = format!("below {}", trailer.generation);
        return Err(FormatError::corrupt("trailer", at, "generation", expected, previous.generation).into());
    }
    Ok((at, previous))
}

/// The trailer of a generation; an error that names those that there are.
fn find_generation(
    source: &dyn ByteSource,
    last: (u64, Trailer),
    wanted: u64,
    limits: &Limits,
) -> Result<(u64, Trailer)> {
    // They descend: what is near the end is found there.
    let mut this = last.clone();
    while u64::from(this.1.generation) > wanted && this.1.previous != 0 {
        this = read_previous(source, &this.1)?;
    }
    if u64::from(this.1.generation) == wanted {
        return Ok(this);
    }
    let all = generations(source, last, limits)?;
    let known: Vec<u32> = all.iter().rev().map(|(_, trailer)| trailer.generation).collect();
    let known = name_generations(&known);
    Err(FormatError::invalid(format!("there is no generation {wanted}; the archive has {known}")).into())
}

/// `1`, `1, 2 and 5`, or where they are many and follow each other, `1 to 40`.
fn name_generations(all: &[u32]) -> String {
    let mut runs: Vec<Range<u32>> = Vec::new();
    for &n in all {
        match runs.last_mut() {
            Some(run) if run.end == n => run.end = n.saturating_add(1),
            _ => runs.push(n..n.saturating_add(1)),
        }
    }
    let more = runs.len().saturating_sub(20);
    let words = runs.iter().take(20).map(|run| match run.len() {
        1 => run.start.to_string(),
        _ => format!("{} to {}", run.start, run.end - 1),
    });
    let words = words.collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{words} and more") } else { words }
}

/// What is wrong with the last 128 bytes, if they are no trailer.
pub(crate) fn last_trailer_error(source: &dyn ByteSource, salt: &Salt) -> Option<Error> {
    let at = source.len().checked_sub(TRAILER_LEN as u64)?;
    let bytes = match read_part(source, at, TRAILER_LEN as u64, "trailer") {
        Ok(bytes) => bytes,
        Err(e) => return Some(e),
    };
    let bytes: &[u8; TRAILER_LEN] = (&*bytes).try_into().expect("the range has this length");
    Trailer::decode(bytes, at, salt).err().map(Error::from)
}

/// The section table that a trailer names.
pub(crate) fn read_sections(
    source: &dyn ByteSource,
    trailer: &Trailer,
    trailer_offset: u64,
    limits: &Limits,
) -> Result<SectionTable> {
    let bytes = read_part(source, trailer.sections_offset, trailer.sections_len.into(), "section table")?;
    Ok(SectionTable::decode(&bytes, trailer, trailer_offset, &trailer.salt, limits)?)
}

/// The sections that opening needs, fetched together where each request counts; nothing, where they cannot be read.
fn fetch_sections(source: &dyn ByteSource, sections: &SectionTable, limits: &Limits) -> Near {
    if !source.reach().fetches_ahead() {
        return Near::default();
    }
    let needed = [
        (SectionKind::Head, limits.head_len()),
        (SectionKind::VariableTable, limits.table_len),
        (SectionKind::Metadata, limits.metadata_len),
    ];
    // The table has compared places with the length of the file.
    let ranges = needed.into_iter().filter_map(|(kind, limit)| {
        let entry = sections.find(kind).ok().filter(|entry| entry.len <= limit)?;
        Some(entry.offset..entry.offset + entry.len)
    });
    let ranges: Vec<Range<u64>> = ranges.collect();
    let near = Near::fetch(source, &ranges).unwrap_or_default();
    // The older sections that these continue, together too.
    let continued = needed.into_iter().filter_map(|(kind, limit)| {
        let entry = sections.find(kind).ok()?;
        let len = usize::try_from(entry.len).ok()?;
        let stored = near.get(entry.offset, len).or_else(|| {
            let at_hand = source.holds(&(entry.offset..entry.offset + entry.len));
            at_hand.then(|| source.read_at(entry.offset, len).ok()).flatten()
        })?;
        let older = entry.older(&stored).ok().flatten().filter(|older| older.len <= limit)?;
        let range = older.offset..older.offset.checked_add(older.len)?;
        near.get(range.start, usize::try_from(older.len).ok()?).is_none().then_some(range)
    });
    let continued: Vec<Range<u64>> = continued.collect();
    // Nothing between them: pieces must not overlap.
    near.and(&Near::fetch_apart(source, &continued).unwrap_or_default())
}

/// The head of a generation that has one of its own.
pub(crate) fn read_later_head(
    source: &dyn ByteSource,
    table: &VariableTable,
    trailer: &Trailer,
    head_copy: &[u8],
    limits: &Limits,
) -> Result<Option<LaterHeadParts>> {
    let Some(place) = LaterHeadPlace::find(table, trailer)? else { return Ok(None) };
    let block = read_part(source, place.offset, place.block_len(), "later head")?;
    Ok(Some(place.read(&block, &trailer.salt, head_copy, limits)?))
}

/// The decoded section of a kind.
pub(crate) fn read_section(
    source: &dyn ByteSource,
    sections: &SectionTable,
    kind: SectionKind,
    limit: u64,
) -> Result<Vec<u8>> {
    let entry = sections.find(kind)?;
    let stored = read_part(source, entry.offset, entry.len, kind.name())?;
    decode_section(source, entry, &stored, &Near::default(), limit)
}

/// A section by its stored bytes, and by the older one that it continues, if it does so.
fn decode_section(
    source: &dyn ByteSource,
    entry: &SectionEntry,
    stored: &[u8],
    near: &Near,
    limit: u64,
) -> Result<Vec<u8>> {
    entry.decode_with(stored, limit, |older| {
        let held = usize::try_from(older.len).ok().and_then(|len| near.get(older.offset, len));
        let read = || read_part(source, older.offset, older.len, older.kind.name());
        held.map_or_else(read, Ok)
    })
}

impl Archive {
    /// The section of this generation, or the older one that it continues: one that a later section may continue, and what it holds.
    ///
    /// # Errors
    /// Damage; more than `limit` bytes.
    pub fn whole_section(&self, kind: SectionKind, limit: u64) -> Result<(SectionEntry, Vec<u8>)> {
        let source = &*self.inner.store.source;
        let read = |entry: &SectionEntry| read_part(source, entry.offset, entry.len, kind.name());
        let entry = self.inner.sections.find(kind)?;
        let stored = read(entry)?;
        match entry.older(&stored)? {
            Some(older) => {
                let decoded = older.decode(&read(&older)?, limit)?;
                Ok((older, decoded))
            }
            None => Ok((entry.clone(), entry.decode(&stored, limit)?)),
        }
    }
}

pub(crate) fn check_trailer(trailer: Trailer, superblock: &Superblock) -> Result<Trailer> {
    // That of a later head is compared when it is read.
    let later = trailer.required & REQUIRED_LATER_HEAD != 0;
    if trailer.original_len != superblock.original_len && !later {
        return Err(disagree("trailer", "original length", superblock.original_len, trailer.original_len));
    }
    Ok(trailer)
}
