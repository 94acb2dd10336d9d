//! Expands the short form to the long form.

use super::directory::{Directory, MemberRow, Payload, Record, container_start};
use super::prefix::{Form, Prefix};
use super::{CONTENT_LEN, ENTRIES, SECTION, SHORT_LEN, SHORT_PREFIX_LEN, whole};
use crate::archive::constants::{INLINE_MAX, KNOWN_REQUIRED, MAX_DECODED_LEN, MINOR_VERSION, REQUIRED_LOSSY};
use crate::archive::section_codec;
use crate::archive::{
    ArrayId, BLOCK_HEADER_LEN, BlockHeader, BlockKind, CommitSlots, Digest, IndexEntry, Row, Salt,
    SectionEncoding, SectionEntry, SectionKind, SectionTable, Superblock, TRAILER_LEN, Trailer,
    VariableTable, align8, parse_constants,
};
use crate::bytes::ByteCursor;
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::ops::Range;

/// An archive in the long form, made from its short form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expanded {
    /// The archive in the long form.
    pub bytes: Vec<u8>,
    /// Bytes missing at the end of the file. They are zeros in `bytes`, inside payloads whose checksums show
    /// the damage.
    pub missing: u64,
    /// Bytes after the end.
    pub extra: u64,
    /// The offset in the file at which prefix and directory end.
    pub directory_end: u64,
    /// Blocks whose payloads are stored after the directory, in their order.
    pub outside: Vec<Outside>,
}

/// A block whose payload is stored after the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outside {
    /// The block in the long form.
    pub long: Range<u64>,
    /// Its payload in the file.
    pub stored: Range<u64>,
}

/// The long form of an archive in the short form. A truncated file is expanded as far as possible.
///
/// # Errors
/// No archive in the short form; one of another version; damage to prefix or directory, without which nothing
/// can be expanded.
pub fn expand(stored: &[u8]) -> Result<Expanded> {
    if stored.len() > SHORT_LEN {
        return Err(Error::limit(SECTION, 0, "length", SHORT_LEN as u64, stored.len() as u64));
    }
    let (Prefix { form, sha256 }, content, outside) = Prefix::split(stored)?;
    let content = section_codec::unpack(content, CONTENT_LEN)
        .map_err(|e| e.within(SECTION, SHORT_PREFIX_LEN as u64))?;
    let directory = match form {
        Form::Directory => Directory::decode(&content)?,
        Form::Whole => whole::directory(&content)?,
    };
    let stored_at = (stored.len() - outside.len()) as u64;
    Builder::new(&directory, &sha256, stored_at)?.build(directory, outside, stored_at, sha256)
}

/// The long form under construction.
struct Builder {
    out: Vec<u8>,
    salt: Salt,
    head: SectionEntry,
    lossy: bool,
    entries: BTreeMap<(ArrayId, u64), IndexEntry>,
    missing: u64,
    /// The offset of the next payload in the file.
    stored_at: u64,
    outside: Vec<Outside>,
}

impl Builder {
    fn new(directory: &Directory, sha256: &[u8; 32], stored_at: u64) -> Result<Self> {
        if directory.required & !KNOWN_REQUIRED != 0 {
            let what = format!("required features {:#x}; a newer nc3z may read it", directory.required);
            return Err(Error::unsupported(SECTION, None, what));
        }
        if directory.required & !REQUIRED_LOSSY != 0 {
            return Err(Error::corrupt(SECTION, None, "required features", "0 or 1", directory.required));
        }
        let mut c = ByteCursor::new(SECTION, 0, &directory.head);
        let len = c.varint_up_to("header length", directory.head.len())?;
        let salt = Salt::of_file(c.split("header", len)?, directory.original_len, sha256);
        let head_len = u32::try_from(directory.head.len()).expect("a directory has at most a MiB");
        let crc = crc32fast::hash(&directory.head);
        let superblock = Superblock {
            minor: MINOR_VERSION,
            salt,
            original_len: directory.original_len,
            head_stored_len: head_len,
            head_decoded_len: head_len,
            head_crc: crc,
            slots: CommitSlots::default(),
        };
        let mut out = superblock.encode().to_vec();
        let offset = out.len() as u64;
        out.extend(&directory.head);
        let (kind, encoding) = (SectionKind::Head, SectionEncoding::Raw);
        let head = SectionEntry { kind, encoding, crc, offset, len: head_len.into() };
        let lossy = directory.required & REQUIRED_LOSSY != 0;
        Ok(Builder {
            out,
            salt,
            head,
            lossy,
            entries: BTreeMap::new(),
            missing: 0,
            stored_at,
            outside: Vec::new(),
        })
    }

    fn build(
        mut self,
        directory: Directory,
        outside: &[u8],
        directory_end: u64,
        sha256: [u8; 32],
    ) -> Result<Expanded> {
        let Directory { required, original_len, metadata, blocks, .. } = directory;
        let blocks_begin = self.align();
        let mut left = outside;
        for record in blocks {
            self.block(record, &mut left)?;
        }
        let blocks_end = self.align();
        let table = self.table()?.encode();
        let mut sections = vec![self.head.clone()];
        for (kind, content) in [(SectionKind::VariableTable, &table), (SectionKind::Metadata, &metadata)] {
            let offset = self.align();
            self.out.extend(content);
            let (crc, len) = (crc32fast::hash(content), content.len() as u64);
            sections.push(SectionEntry { kind, encoding: SectionEncoding::Raw, crc, offset, len });
        }
        let sections_offset = self.align();
        let sections = SectionTable::new(sections).encode();
        self.out.extend(&sections);
        let offset = self.out.len() as u64;
        let trailer = Trailer {
            generation: 1,
            salt: self.salt,
            required,
            optional: 0,
            sections_offset,
            sections_len: u32::try_from(sections.len()).expect("three sections"),
            sections_crc: self.salt.crc(sections_offset, &sections),
            blocks_begin,
            blocks_end,
            previous: 0,
            archive_len: offset + TRAILER_LEN as u64,
            original_len,
            digest: Digest::Sha256(sha256),
        };
        self.out.extend(trailer.encode(&self.salt, offset));
        let Builder { out: bytes, missing, outside, .. } = self;
        Ok(Expanded { bytes, missing, extra: left.len() as u64, directory_end, outside })
    }

    /// Pads with zeros to the next multiple of 8, and returns that offset.
    fn align(&mut self) -> u64 {
        let at = align8(self.out.len() as u64);
        self.out.resize(usize::try_from(at).expect("some MiB"), 0);
        at
    }

    fn block(&mut self, record: Record, outside: &mut &[u8]) -> Result<()> {
        let offset = self.align();
        let Record { kind, array, tile, chain, mut decoded_len, mut decoded_crc, payload, members } = record;
        let start = container_start(&members);
        let (payload, payload_crc) = match payload {
            Payload::Inside(bytes) => {
                let bytes =
                    if kind == BlockKind::Container { [start.clone(), bytes].concat() } else { bytes };
                let crc = BlockHeader::payload_crc(array, tile, &bytes);
                (bytes, crc)
            }
            Payload::Outside { len, crc } => {
                let payload = self.outside(len, outside)?;
                let stored = self.stored_at..self.stored_at + u64::from(len);
                self.stored_at = stored.end;
                let long = offset..offset + (BLOCK_HEADER_LEN + payload.len()) as u64;
                self.outside.push(Outside { long, stored });
                (payload, crc)
            }
        };
        if chain == 0 {
            decoded_len = u32::try_from(payload.len())
                .expect("the definitions of a short archive have fewer than 2^32 bytes");
            decoded_crc = crc32fast::hash(&payload);
        }
        if decoded_len > MAX_DECODED_LEN {
            return Err(Error::corrupt(
                SECTION,
                None,
                "decoded length",
                format!("at most {MAX_DECODED_LEN}"),
                decoded_len,
            ));
        }
        let header = BlockHeader {
            generation: 1,
            array,
            kind,
            lossy: self.lossy,
            chain,
            tile,
            decoded_len,
            stored_len: u32::try_from(payload.len()).expect("as above"),
            payload_crc,
            decoded_crc,
        };
        let encoded = header.encode(&self.salt, offset);
        self.out.extend(encoded);
        self.out.extend(&payload);
        match kind {
            BlockKind::Container => self.members(offset, start.len(), &members),
            BlockKind::Constants => self.constants(&payload),
            _ => {
                let check = BlockHeader::header_crc(&encoded);
                self.entry(array, tile, IndexEntry::Stored { offset, len: header.stored_len, chain, check })
            }
        }
    }

    /// The next payload after the directory. Missing bytes of the file are zeros.
    fn outside(&mut self, len: u32, outside: &mut &[u8]) -> Result<Vec<u8>> {
        let len = len as usize;
        if len > SHORT_LEN {
            return Err(Error::corrupt(SECTION, None, "stored length", format!("at most {SHORT_LEN}"), len));
        }
        let (here, rest) = outside.split_at(len.min(outside.len()));
        *outside = rest;
        self.missing += (len - here.len()) as u64;
        if self.missing > SHORT_LEN as u64 {
            return Err(Error::corrupt(SECTION, None, "length", format!("at most {SHORT_LEN}"), "more"));
        }
        let mut payload = here.to_vec();
        payload.resize(len, 0);
        Ok(payload)
    }

    fn members(&mut self, offset: u64, start: usize, members: &[MemberRow]) -> Result<()> {
        let mut start = u32::try_from(start).expect("a directory has at most a MiB");
        for &MemberRow { array, tile, chain, len, check } in members {
            self.entry(array, tile, IndexEntry::Shared { offset, start, len, chain, check })?;
            start = start
                .checked_add(len)
                .ok_or_else(|| Error::corrupt(SECTION, None, "members' bytes", "32 bits", "more"))?;
        }
        Ok(())
    }

    fn constants(&mut self, list: &[u8]) -> Result<()> {
        for row in parse_constants(list)? {
            let mut value = [0; 8];
            value[..row.value.len()].copy_from_slice(&row.value);
            if row.first + row.count > INLINE_MAX {
                return Err(many(row.first + row.count));
            }
            for tile in row.first..row.first + row.count {
                self.entry(row.array, tile, IndexEntry::Constant { value })?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, array: ArrayId, tile: u64, entry: IndexEntry) -> Result<()> {
        if self.entries.len() >= ENTRIES {
            return Err(Error::limit(SECTION, None, "index entries", ENTRIES as u64, ENTRIES as u64 + 1));
        }
        if self.entries.insert((array, tile), entry).is_some() {
            let what = format!("{array}, tile {tile}");
            return Err(Error::corrupt(SECTION, None, "tiles", "each once", what));
        }
        Ok(())
    }

    /// The variable table. An array has as many tiles as it has entries, from 0 on.
    fn table(&mut self) -> Result<VariableTable> {
        let mut rows: Vec<Row> = Vec::new();
        let mut entries = Vec::with_capacity(self.entries.len());
        for (&(array, tile), entry) in &self.entries {
            if rows.last().is_none_or(|row| row.array != array) {
                rows.push(Row { array, tile_count: 0, root: 0 });
            }
            let row = rows.last_mut().expect("there is one now");
            if tile != row.tile_count {
                return Err(Error::corrupt(SECTION, None, "tile", row.tile_count, tile));
            }
            row.tile_count += 1;
            if row.tile_count > INLINE_MAX {
                return Err(many(row.tile_count));
            }
            entries.push(*entry);
        }
        Ok(VariableTable::new(rows, entries))
    }
}

fn many(tiles: u64) -> Error {
    Error::corrupt(SECTION, None, "tiles of an array", format!("at most {INLINE_MAX}"), tiles)
}
