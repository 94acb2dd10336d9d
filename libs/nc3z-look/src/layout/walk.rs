//! Walks through an archive from its first byte to its last. The trailer gives the known structures, blocks
//! are found by their headers, and remaining bytes are reported as unknown. Only payloads of shared
//! containers are read. The walk continues after damage.

use nc3z_format::Limits;
use nc3z_format::archive::{
    ArrayId, BLOCK_HEADER_LEN, BlockHeader, BlockKind, Member, PAGE_LEN, Page, SUPERBLOCK_LEN,
    SectionEncoding, SectionKind, SectionTable, TRAILER_LEN, Trailer, align8, constants, parse_directory,
};
use nc3z_format::codec::CodecScratch;
use nc3z_reader::Archive;
use nc3z_reader::source::ByteSource;

/// The number of bytes that are searched in one step for the next block.
const SEARCH_LEN: u64 = 1 << 20;

/// Larger containers, which no writer makes, are not examined.
const MAX_CONTAINER_LEN: u32 = 4 << 20;

/// The content of a run of bytes.
#[derive(Debug, Clone)]
pub enum Place {
    /// The superblock at the beginning.
    Superblock,
    /// The copy of the head.
    Head {
        /// The decoded length in bytes.
        decoded_len: u32,
    },
    /// A block: its header and its payload.
    Block(BlockHeader),
    /// A page of an array's index.
    Page {
        /// The id of the array.
        array: ArrayId,
        /// The level, 0 for the pages that have entries of tiles.
        level: u16,
        /// The number of the first tile.
        first: u64,
        /// The number of entries.
        count: u16,
    },
    /// A section.
    Section {
        /// The name of its kind.
        name: &'static str,
        /// The encoding of the section.
        encoding: SectionEncoding,
    },
    /// The table of the sections of a generation.
    SectionTable {
        /// The number of the generation.
        generation: u32,
    },
    /// The trailer of a generation.
    Trailer {
        /// The number of the generation.
        generation: u32,
    },
    /// Bytes that are none of these.
    Unknown,
    /// The bytes of a commit that did not finish.
    TornTail,
}

/// A run of bytes. Together with the alignment after each, regions cover the archive without gaps.
#[derive(Debug, Clone)]
pub struct Region {
    /// The offset of the first byte.
    pub offset: u64,
    /// The number of bytes.
    pub len: u64,
    /// The number of bytes from its end to the next region.
    pub align: u64,
    /// The content of the region.
    pub place: Place,
}

/// The receiver of the regions. Its error `E` ends the walk.
pub type RegionSink<'a, E> = dyn FnMut(&Region) -> Result<(), E> + 'a;

/// The known structures of an archive, and the search for the others.
pub struct Walk<'a> {
    archive: &'a Archive,
    source: &'a dyn ByteSource,
    /// Disjoint, ascending, inside the file.
    known: Vec<(u64, u64, Place)>,
}

impl<'a> Walk<'a> {
    /// Collects the structures that superblock and trailers name.
    pub fn new(archive: &'a Archive, source: &'a dyn ByteSource) -> Self {
        let mut walk = Walk { archive, source, known: Vec::new() };
        let superblock = archive.superblock();
        walk.know(0, SUPERBLOCK_LEN as u64, Place::Superblock);
        let head = Place::Head { decoded_len: superblock.head_decoded_len };
        walk.know(SUPERBLOCK_LEN as u64, superblock.head_stored_len.into(), head);
        walk.know_generation(archive.trailer_offset(), archive.trailer(), archive.sections());
        walk.know_history();
        // A stable sort: of two structures at the same offset, the one named first is used.
        walk.known.sort_by_key(|(offset, _, _)| *offset);
        let (mut end, file_len) = (0, source.len());
        walk.known.retain(|&(offset, len, _)| {
            let fits = offset >= end && offset.checked_add(len).is_some_and(|e| e <= file_len);
            end = if fits { offset + len } else { end };
            fits
        });
        walk
    }

    fn know(&mut self, offset: u64, len: u64, place: Place) {
        if len > 0 {
            self.known.push((offset, len, place));
        }
    }

    fn know_generation(&mut self, at: u64, trailer: &Trailer, sections: &SectionTable) {
        let generation = trailer.generation;
        self.know(at, TRAILER_LEN as u64, Place::Trailer { generation });
        self.know(trailer.sections_offset, trailer.sections_len.into(), Place::SectionTable { generation });
        for s in sections.entries() {
            self.know(s.offset, s.len, Place::Section { name: s.kind.name(), encoding: s.encoding });
        }
    }

    /// Adds earlier generations, as far back as their trailers are intact.
    fn know_history(&mut self) {
        let limits = Limits::default();
        let salt = self.archive.superblock().salt;
        let mut at = self.archive.trailer().previous;
        // Each trailer is before the one that names it, so that this ends.
        while at != 0 {
            let mut bytes = [0; TRAILER_LEN];
            let trailer = self
                .source
                .read_into(at, &mut bytes)
                .ok()
                .and_then(|()| Trailer::decode(&bytes, at, &salt).ok());
            let Some(trailer) = trailer else { return };
            let table = self.source.read_at(trailer.sections_offset, trailer.sections_len as usize).ok();
            let table = table.and_then(|t| SectionTable::decode(&t, &trailer, at, &salt, &limits).ok());
            self.know_generation(at, &trailer, &table.unwrap_or_default());
            at = trailer.previous;
        }
    }

    /// Passes each region to `sink`, in the order of the file.
    ///
    /// # Errors
    /// The error of `sink`, or of reading the archive.
    pub fn run<E: From<nc3z_reader::Error>>(&self, sink: &mut RegionSink<'_, E>) -> Result<(), E> {
        let mut at = 0;
        for (offset, len, place) in &self.known {
            self.between(at, *offset, sink)?;
            let next = self.known.partition_point(|(o, _, _)| o <= offset);
            let limit = self.known.get(next).map_or(self.source.len(), |(o, _, _)| *o);
            at = match place {
                Place::Section { name, .. } if *name == SectionKind::IndexPages.name() => {
                    self.pages(*offset, offset + len, limit, sink)?
                }
                _ => emit(*offset, *len, limit, place.clone(), sink)?,
            };
        }
        self.between(at, self.source.len(), sink)
    }

    /// Returns the kind of unnamed bytes: unknown inside the archive, an incomplete commit after the last
    /// trailer.
    fn nameless(&self, offset: u64) -> Place {
        if offset >= self.archive.trailer().archive_len { Place::TornTail } else { Place::Unknown }
    }

    /// Finds blocks between two known structures.
    fn between<E: From<nc3z_reader::Error>>(
        &self,
        from: u64,
        to: u64,
        sink: &mut RegionSink<'_, E>,
    ) -> Result<(), E> {
        let mut at = from;
        while at < to {
            if let Some(header) = self.block_at(at, to) {
                let len = BLOCK_HEADER_LEN as u64 + u64::from(header.stored_len);
                at = emit(at, len, to, Place::Block(header), sink)?;
                continue;
            }
            let next = self.next_block(at + 1, to)?;
            sink(&Region { offset: at, len: next - at, align: 0, place: self.nameless(at) })?;
            at = next;
        }
        Ok(())
    }

    /// Returns a valid block header whose block ends before `to`.
    fn block_at(&self, at: u64, to: u64) -> Option<BlockHeader> {
        let room = to.checked_sub(at)?.checked_sub(BLOCK_HEADER_LEN as u64)?;
        let mut bytes = [0; BLOCK_HEADER_LEN];
        self.source.read_into(at, &mut bytes).ok()?;
        let (header, _) = BlockHeader::decode(&bytes, &self.archive.superblock().salt, at).ok()?;
        (at.is_multiple_of(8) && u64::from(header.stored_len) <= room).then_some(header)
    }

    /// Returns the offset of the next block, from `from` on; `to` if there is none.
    fn next_block(&self, from: u64, to: u64) -> nc3z_reader::Result<u64> {
        let mut begin = align8(from);
        while begin < to {
            let len = (to - begin).min(SEARCH_LEN);
            let window = self.source.read_at(begin, usize::try_from(len).expect("at most SEARCH_LEN"))?;
            for (i, word) in (0..).zip(window.chunks_exact(8)) {
                let at = begin + 8 * i;
                if word.starts_with(&constants::BLOCK_MARKER) && self.block_at(at, to).is_some() {
                    return Ok(at);
                }
            }
            begin += len;
        }
        Ok(to)
    }

    /// Returns the members of a shared container; `None` if it is damaged, or not a container.
    pub fn members(&self, region: &Region) -> Option<Vec<Member>> {
        let Place::Block(header) = &region.place else { return None };
        if header.kind != BlockKind::Container
            || header.decoded_len.max(header.stored_len) > MAX_CONTAINER_LEN
        {
            return None;
        }
        let payload = region.offset + BLOCK_HEADER_LEN as u64;
        let payload = self.source.read_at(payload, header.stored_len as usize).ok()?;
        if BlockHeader::payload_crc(header.array, header.tile, &payload) != header.payload_crc {
            return None;
        }
        let chain = self.archive.chains().get(usize::from(header.chain))?;
        let mut decoded = vec![0; header.decoded_len as usize];
        chain.decode_bytes(&payload, &mut CodecScratch::default(), &mut decoded).ok()?;
        parse_directory(&decoded).ok()
    }

    /// Finds the pages of an index section. Damaged ones are unknown.
    fn pages<E: From<nc3z_reader::Error>>(
        &self,
        mut at: u64,
        end: u64,
        limit: u64,
        sink: &mut RegionSink<'_, E>,
    ) -> Result<u64, E> {
        while end - at >= PAGE_LEN as u64 {
            let bytes = self.source.read_at(at, PAGE_LEN)?;
            let sound =
                Page::check(&bytes, &self.archive.superblock().salt, at).and_then(|()| Page::new(&bytes, at));
            let place = sound.map_or(Place::Unknown, |page| Place::Page {
                // spec/archive.md, "Index": the variable is at byte 4 of a page.
                array: ArrayId(u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]])),
                level: page.level(),
                first: page.first(),
                count: page.count(),
            });
            at = emit(at, PAGE_LEN as u64, end, place, sink)?;
        }
        if at < end { emit(at, end - at, limit, Place::Unknown, sink) } else { Ok(at) }
    }
}

/// Passes a region to the sink. Returns the earliest start of the next one, which is aligned but not beyond
/// `limit`.
fn emit<E>(offset: u64, len: u64, limit: u64, place: Place, sink: &mut RegionSink<'_, E>) -> Result<u64, E> {
    let next = align8(offset + len).min(limit);
    sink(&Region { offset, len, align: next - (offset + len), place })?;
    Ok(next)
}
