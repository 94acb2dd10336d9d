//! Opening: superblock, trailer, sections; O(sections), never O(blocks).

use crate::archive::{Archive, Inner};
use crate::check::parity::ReadRepairSource;
use crate::classic::ParsedHeader;
use crate::error::{Error, Result};
use crate::newest::Newest;
use crate::options::OpenOptions;
use crate::sections::{
    decode_section, disagree, fetch_sections, read_later_head, read_section, read_sections, read_superblock,
};
use crate::source::short::{ShortFacts, expanded};
use crate::source::{ByteSource, EndsSource, SharedSource};
use crate::tail::TailState;
use crate::tile::cache::Share;
use crate::tile::{Blocks, Fills, Index, TileStore, Work};
use crate::trailers::{find_generation, read_previous};
use crate::versions::{VersionName, find_version};
use nc3z_format::archive::{
    Head, HeadParts, LaterHead, LaterHeadParts, Layouts, Metadata, SectionKind, SectionTable, Superblock,
    Trailer, VariableTable,
};
use nc3z_format::array_table::{Arrays, padded_variables};
use nc3z_format::classic::{Header, Layout, Parsed};
use nc3z_format::{Error as FormatError, Limits};
use std::sync::Arc;

impl Archive {
    /// Opens an archive through a map. See [`crate::source::MmapSource`] for the conditions on a mapped file.
    ///
    /// # Errors
    /// See [`Archive::from_source`].
    #[cfg(feature = "fs")]
    pub fn open(path: &std::path::Path) -> Result<Self> {
        Self::from_source(crate::source::open(path, true)?, &OpenOptions::default())
    }

    /// Opens an archive from any byte source. Reads the superblock, the trailer and its sections, never the
    /// blocks. Structure is checked here, content when it is read. [`crate::verify`] checks all of it.
    ///
    /// First and last bytes are requested together ([`ByteSource::ends`]). If they contain the sections,
    /// opening reads nothing else. Only archives of very many variables need more.
    ///
    /// # Errors
    /// Invalid structure of the archive, with its place.
    pub fn from_source(source: SharedSource, options: &OpenOptions) -> Result<Self> {
        let source = with_ends(source);
        match Self::as_requested(&source, options) {
            Err(e) if options.older && e.is_corrupt() => older(&source, options, e),
            opened => opened,
        }
    }

    fn as_requested(source: &SharedSource, options: &OpenOptions) -> Result<Self> {
        let Some(report) = &options.read_repair else {
            return Ok(Archive::new(read_inner(source, options)?));
        };
        let read_repair = Arc::new(ReadRepairSource::new(Arc::clone(source), report.clone()));
        let shared: SharedSource = Arc::<ReadRepairSource>::clone(&read_repair);
        let opened = read_inner(&shared, options);
        let mut inner = match opened {
            Err(e) if ReadRepairSource::may_repair(&e) && read_repair.begin_to_open() => {
                // Damage that parity does not repair is the first error.
                read_inner(&shared, options).map_err(|_| e)?
            }
            opened => opened?,
        };
        if inner.short.is_none() {
            inner.store.read_repair = Some(read_repair);
        }
        Ok(Archive::new(inner))
    }

    /// Opens an archive that is complete except for its trailer, which is given. The writer uses it to check
    /// its output before the digest is known.
    ///
    /// # Errors
    /// As [`Archive::from_source`].
    pub fn from_unsealed(source: SharedSource, trailer: Trailer, options: &OpenOptions) -> Result<Self> {
        let source = with_ends(source);
        let parts = Parts::unsealed(&*source, trailer, options)?;
        Ok(Archive::new(parts.bind(source, options)?))
    }
}

/// The number of older generations that are tried. What is damaged in all of them is a part that they share.
const OLDER: usize = 64;

/// Opens the newest generation whose structures are intact. `first` is the error of the newest of all. It is returned
/// if none is intact, or if the options request a generation or a version.
fn older(source: &SharedSource, options: &OpenOptions, first: Error) -> Result<Archive> {
    if options.generation.is_some() || options.version.is_some() {
        return Err(first);
    }
    let newest = read_superblock(&**source).and_then(|superblock| {
        let found = Newest::find(&**source, &superblock, &options.limits)?;
        found.last
    });
    let Ok((_, mut trailer)) = newest else { return Err(first) };
    for _ in 0..OLDER {
        if trailer.previous == 0 {
            break;
        }
        let Ok((_, before)) = read_previous(&**source, &trailer) else { return Err(first) };
        trailer = before;
        let wanted = options.clone().with_generation(u64::from(trailer.generation));
        if let Ok(archive) = Archive::as_requested(source, &wanted) {
            return Ok(archive);
        }
    }
    Err(first)
}

/// The source read through damage, as the options allow it.
pub(crate) fn repaired(source: &SharedSource, options: &OpenOptions) -> SharedSource {
    let Some(report) = &options.read_repair else { return Arc::clone(source) };
    let read_repair = Arc::new(ReadRepairSource::new(Arc::clone(source), report.clone()));
    read_repair.begin_to_open();
    read_repair
}

/// Reads all structures of an archive in either form.
fn read_inner(source: &SharedSource, options: &OpenOptions) -> Result<Inner> {
    let (source, short) = expanded(source)?;
    if let Some(missing) = short.as_ref().and_then(ShortFacts::missing) {
        return Err(missing);
    }
    let parts = Parts::read(&*source, options)?;
    Ok(Inner { short, ..parts.bind(source, options)? })
}

/// The source with its ends in memory. Returned unchanged if all of it is in memory, or if the ends cannot be
/// read together: then each part reports its own error.
pub(crate) fn with_ends(source: SharedSource) -> SharedSource {
    if source.lends() {
        return source;
    }
    match EndsSource::read(Arc::clone(&source)) {
        Ok(ends) => Arc::new(ends),
        Err(_) => source,
    }
}

/// The decoded structures of an archive, not yet checked against each other.
pub(crate) struct Parts {
    pub(crate) superblock: Superblock,
    pub(crate) trailer: Trailer,
    pub(crate) trailer_offset: u64,
    /// The end of the last valid trailer.
    pub(crate) last_end: u64,
    pub(crate) sections: SectionTable,
    pub(crate) head: HeadParts,
    /// The head of this generation, if it is not the head copy.
    pub(crate) later: Option<LaterHeadParts>,
    pub(crate) table: VariableTable,
    pub(crate) metadata: Metadata,
}

impl Parts {
    /// Reads and checks each structure separately.
    pub(crate) fn read(source: &dyn ByteSource, options: &OpenOptions) -> Result<Self> {
        let superblock = read_superblock(source)?;
        let Newest { last, mut lost } = Newest::find(source, &superblock, &options.limits)?;
        let last = last.map_err(|e| lost.take().unwrap_or(e))?;
        // A number always names the same state. A tag in the damaged part may have been moved.
        let by_number =
            options.generation.is_some() || matches!(options.version, Some(VersionName::Number(_)));
        if !options.older && !by_number {
            lost.take().map_or(Ok(()), Err)?;
            TailState::new(source, &last.1, &superblock.slots).check(&last.1)?;
        }
        let last_end = last.1.archive_len;
        let found = match (options.generation, &options.version) {
            (Some(wanted), _) => find_generation(source, last, wanted, &options.limits),
            (None, Some(wanted)) => find_version(source, last, wanted, &options.limits),
            (None, None) => Ok(last),
        };
        // A missing generation may be the lost one.
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

    /// The structures of an archive whose trailer is not written yet, for the writer's check.
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
        let nearby = fetch_sections(source, &sections, limits);
        let section = |kind, limit| {
            let entry = sections.find(kind)?;
            let held = usize::try_from(entry.len).ok().and_then(|len| nearby.get(entry.offset, len));
            match held {
                Some(stored) => decode_section(source, entry, &stored, &nearby, limit),
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

    /// As `bind`, but accepts any variable table.
    pub(crate) fn bind_to_header(self, source: SharedSource, options: &OpenOptions) -> Result<Inner> {
        let Parts { superblock, trailer, trailer_offset, last_end, sections, head, later, table, metadata } =
            self;
        let limits = options.limits.within(source.len());
        if !superblock.salt.fits(&head.header, superblock.original_len) {
            return Err(disagree("superblock", "salt", "that of the header bytes", "another"));
        }
        let bound = BoundHead::new(head, later, superblock.original_len, &limits, options.parsed.as_ref())?;
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
            read_repair: None,
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
            cache: Share::new(options.cache.clone()),
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

/// A generation's head, and the facts derived from it.
struct BoundHead {
    /// In the form of a head copy, with the archive's chains.
    head: Head,
    next_number: u32,
    header: Arc<Header>,
    layout: Arc<Layout>,
    arrays: Arrays,
    original_len: u64,
}

impl BoundHead {
    /// Uses the later head if there is one, otherwise the head copy of a file of `first_len` bytes.
    /// `known` may be the header, parsed before.
    fn new(
        copy: HeadParts,
        later: Option<LaterHeadParts>,
        first_len: u64,
        limits: &Limits,
        known: Option<&ParsedHeader>,
    ) -> Result<Self> {
        let (bytes, original_len) = match &later {
            Some(later) => (&later.header, later.original_len),
            None => (&copy.header, first_len),
        };
        let (header, layout) = match known.filter(|known| known.is_of(bytes, original_len)) {
            Some(ParsedHeader { header, layout, .. }) => (Arc::clone(header), Arc::clone(layout)),
            None => parse_header(bytes, original_len, limits)?,
        };
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

fn parse_header(bytes: &[u8], original_len: u64, limits: &Limits) -> Result<(Arc<Header>, Arc<Layout>)> {
    let Parsed { header, header_len } = nc3z_format::classic::parse(bytes, original_len, limits)
        .map_err(|e| e.within("archive's copy of the classic header", 0))?;
    if header_len != bytes.len() as u64 {
        return Err(disagree("head copy", "header length", header_len, bytes.len()));
    }
    let layout = Layout::new(&header, header_len, original_len)?;
    Ok((Arc::new(header), Arc::new(layout)))
}

/// Each array must have as many tiles as its layout requires, and no unknown array may have any.
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
            // Also for arrays of an older generation: tiles may be coded against theirs.
            Role::Definitions(v) => v < next_number,
            // The presence of a later head has been compared with the trailer.
            Role::Heads => true,
            _ => arrays.get(row.array).is_some(),
        };
        if !known {
            return Err(disagree("variable table", "array", "one of the header's", row.array));
        }
    }
    Ok(())
}
