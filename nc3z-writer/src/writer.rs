//! The archive as it is written: superblock and head copy, blocks in order, sections, trailer. Forward only, never seeks.

use crate::encode::{EncodedTile, Form};
use crate::error::{Error, Result};
use crate::options::{CONTAINER_LEN, Preset, together_len};
use nc3z_format::archive::forever::REQUIRED_LOSSY;
use nc3z_format::archive::{
    ArrayId, BlockHeader, BlockKind, ConstantsBuilder, ContainerBuilder, DigestState, Head, INLINE_MAX,
    IndexEntry, Metadata, PageTreeBuilder, Row, SUPERBLOCK_LEN, Salt, SectionEncoding, SectionEntry,
    SectionKind, SectionTable, Superblock, Trailer, VariableTable, align8, encode_section,
};
use nc3z_format::codec::{ChainSpec, Scratch, StageSpec, encode_bytes};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Archives whose blocks end beyond this have a second copy of the head (`spec/archive.md`, section 6).
const SECOND_HEAD_FROM: u64 = 64 << 10;
/// So have smaller ones that are at least so many times as long as the head: the copy costs them 1.6 % at most.
const SECOND_HEAD_SHARE: u64 = 64;
/// Constants lists are closed at this size.
const CONSTANTS_LEN: usize = 1 << 20;
/// So many containers are compressed as hard as zstd can; later ones at the preset's level.
const HARD_CONTAINERS: u64 = 16;

/// Writes one archive of one generation.
pub(crate) struct ArchiveWriter<'a, W> {
    out: Counted<'a, W>,
    salt: Salt,
    preset: Preset,
    original_len: u64,
    chains: Vec<ChainSpec>,
    head: StoredHead,
    index: BTreeMap<ArrayId, Vec<IndexEntry>>,
    /// The open containers, by what will pack them.
    open: BTreeMap<Option<u16>, OpenContainer>,
    containers: u64,
    constants: ConstantsBuilder,
    constants_lists: u64,
    blocks_begin: u64,
    /// Required features.
    required: u32,
    scratch: Scratch,
}

/// A container that is being filled.
#[derive(Default)]
struct OpenContainer {
    builder: ContainerBuilder,
    /// Array, tile, chain, CRC and stored length of each member.
    members: Vec<(ArrayId, u64, u16, u32, u32)>,
}

/// The head copy as stored, kept for the second copy.
struct StoredHead {
    bytes: Vec<u8>,
    compressed: bool,
    crc: u32,
}

/// A complete archive but for its trailer.
pub(crate) struct Unsealed {
    pub(crate) trailer: Trailer,
    pub(crate) offset: u64,
    pub(crate) salt: Salt,
}

impl<'a, W: Write> ArchiveWriter<'a, W> {
    /// Writes superblock and head copy.
    pub(crate) fn start(
        out: W,
        path: &'a Path,
        head: &Head,
        original_len: u64,
        preset: Preset,
    ) -> Result<Self> {
        let salt = Salt::new(&head.header, original_len);
        let (bytes, decoded_len) = head.store()?;
        let crc = crc32fast::hash(&bytes);
        let superblock = Superblock {
            minor: nc3z_format::archive::MINOR_VERSION,
            salt,
            original_len,
            head_stored_len: u32::try_from(bytes.len()).expect("Limits::header_len is below 4 GiB"),
            head_decoded_len: decoded_len,
            head_crc: crc,
        };
        let mut out = Counted { out, path, offset: 0 };
        out.write(&superblock.encode())?;
        out.write(&bytes)?;
        out.align()?;
        let blocks_begin = out.offset;
        let compressed = bytes.len() != decoded_len as usize;
        Ok(ArchiveWriter {
            out,
            salt,
            preset,
            original_len,
            chains: head.chains.clone(),
            head: StoredHead { bytes, compressed, crc },
            index: BTreeMap::new(),
            open: BTreeMap::new(),
            containers: 0,
            constants: ConstantsBuilder::default(),
            constants_lists: 0,
            blocks_begin,
            required: 0,
            scratch: Scratch::default(),
        })
    }

    /// Announces an array with this many tiles.
    pub(crate) fn declare(&mut self, array: ArrayId, tiles: u64) {
        if tiles > 0 {
            self.index.entry(array).or_default();
        }
    }

    /// The same for an array whose tiles are lost unless they come.
    pub(crate) fn declare_lost(&mut self, array: ArrayId, tiles: u64) {
        if tiles > 0 {
            let tiles = usize::try_from(tiles).expect("the caller has limited their number");
            self.index.insert(array, vec![IndexEntry::Lost; tiles]);
        }
    }

    /// Sets required features, before the first block: blocks say that they are lossy.
    pub(crate) fn require(&mut self, features: u32) {
        self.required |= features;
    }

    /// Appends one tile. Tiles of an array may come in any order, arrays too.
    pub(crate) fn put(&mut self, tile: EncodedTile) -> Result<()> {
        let EncodedTile { array, tile, decoded_len, decoded_crc, form } = tile;
        match form {
            Form::Constant { value, size } => {
                self.constants.push(array, tile, &value[..usize::from(size)]);
                self.set(array, tile, IndexEntry::Constant { value });
                if self.constants.len() >= CONSTANTS_LEN {
                    self.flush_constants()?;
                }
            }
            Form::Packed { chain, bytes, packer } => {
                let len = u32::try_from(bytes.len()).expect("a packed tile is small");
                let open = self.open.entry(packer).or_default();
                open.builder.push(array, tile, chain, &bytes);
                open.members.push((array, tile, chain, decoded_crc, len));
                let most = if packer.is_some() { together_len(self.preset) } else { CONTAINER_LEN };
                if open.builder.len() >= most {
                    let full = std::mem::take(open);
                    self.write_container(packer, full)?;
                }
            }
            Form::Block { chain, payload } => {
                let header =
                    block_header(BlockKind::Tile, array, tile, chain, decoded_len, decoded_crc, &payload);
                let (offset, check) = self.block(&header, &payload)?;
                self.set(array, tile, IndexEntry::Stored { offset, len: header.stored_len, chain, check });
            }
        }
        Ok(())
    }

    /// Writes a definition of a variable; definitions come before the tiles that need them.
    pub(crate) fn put_definition(&mut self, variable: u32, number: u64, bytes: &[u8]) -> Result<()> {
        let array = ArrayId::definitions(variable);
        self.declare(array, 1);
        let len = u32::try_from(bytes.len()).expect("a definition has at most 65,536 values");
        let crc = crc32fast::hash(bytes);
        let header = block_header(BlockKind::Definition, array, number, 0, len, crc, bytes);
        let (offset, check) = self.block(&header, bytes)?;
        self.set(array, number, IndexEntry::Stored { offset, len, chain: 0, check });
        Ok(())
    }

    /// Writes a block; gives its offset and header CRC.
    fn block(&mut self, header: &BlockHeader, payload: &[u8]) -> Result<(u64, u32)> {
        self.out.align()?;
        let offset = self.out.offset;
        let lossy = self.required & REQUIRED_LOSSY != 0;
        let encoded = BlockHeader { lossy, ..header.clone() }.encode(&self.salt, offset);
        self.out.write(&encoded)?;
        self.out.write(payload)?;
        Ok((offset, BlockHeader::header_crc(&encoded)))
    }

    /// Writes a block of bytes of our own making, compressed by zstd or by the chain that is said, where that is smaller.
    fn bytes_block(
        &mut self,
        kind: BlockKind,
        array: ArrayId,
        number: u64,
        packer: Option<u16>,
        decoded: &[u8],
    ) -> Result<u64> {
        let level = match self.preset {
            Preset::Fast => 3,
            _ if number < HARD_CONTAINERS => 19,
            Preset::Default => 9,
            Preset::Max => 19,
        };
        let wanted;
        let (chain, by) = if let Some(n) = packer {
            (Some(n), &self.chains[usize::from(n)])
        } else {
            // The decoder needs no level: any chain that is just zstd serves.
            let zstd = self.chains.iter().position(|c| matches!(c.0[..], [StageSpec::Zstd { .. }]));
            wanted = ChainSpec(vec![StageSpec::Zstd { level }]);
            (zstd.map(|at| u16::try_from(at).expect("chain numbers are 16 bits")), &wanted)
        };
        let mut payload = Vec::new();
        let mut number_of = 0;
        if let Some(at) = chain {
            encode_bytes(by, decoded, &mut self.scratch, &mut payload)?;
            if let [StageSpec::Lzma(lzma)] = by.0[..] {
                for rival in lzma.rivals() {
                    let mut other = Vec::new();
                    let chain = ChainSpec(vec![StageSpec::Lzma(rival)]);
                    encode_bytes(&chain, decoded, &mut self.scratch, &mut other)?;
                    if other.len() < payload.len() {
                        payload = other;
                    }
                }
            }
            number_of = at;
        }
        if chain.is_none() || payload.len() >= decoded.len() {
            (payload, number_of) = (decoded.to_vec(), 0);
        }
        let len = u32::try_from(decoded.len()).expect("containers and lists are about a MiB at most");
        let crc = crc32fast::hash(decoded);
        let header = block_header(kind, array, number, number_of, len, crc, &payload);
        Ok(self.block(&header, &payload)?.0)
    }

    fn write_container(&mut self, packer: Option<u16>, open: OpenContainer) -> Result<()> {
        if open.members.is_empty() {
            return Ok(());
        }
        let (decoded, starts) = open.builder.finish();
        let number = self.containers;
        let offset = self.bytes_block(BlockKind::Container, ArrayId::CONTAINERS, number, packer, &decoded)?;
        self.containers += 1;
        for ((array, tile, chain, check, len), start) in open.members.into_iter().zip(starts) {
            self.set(array, tile, IndexEntry::Packed { offset, start, len, chain, check });
        }
        Ok(())
    }

    fn flush_constants(&mut self) -> Result<()> {
        let decoded = std::mem::take(&mut self.constants).finish();
        if decoded.is_empty() {
            return Ok(());
        }
        let number = self.constants_lists;
        self.bytes_block(BlockKind::Constants, ArrayId::CONSTANTS, number, None, &decoded)?;
        self.constants_lists += 1;
        Ok(())
    }

    fn set(&mut self, array: ArrayId, tile: u64, entry: IndexEntry) {
        let entries = self.index.get_mut(&array).expect("arrays are declared before their tiles come");
        let at = usize::try_from(tile).expect("an index fits in memory");
        if entries.len() <= at {
            entries.resize(at + 1, IndexEntry::Absent);
        }
        entries[at] = entry;
    }

    /// Writes what is open, index, sections and section table.
    pub(crate) fn finish(mut self, metadata: &Metadata) -> Result<Unsealed> {
        for (packer, open) in std::mem::take(&mut self.open) {
            self.write_container(packer, open)?;
        }
        self.flush_constants()?;
        self.out.align()?;
        let blocks_end = self.out.offset;
        let mut sections = Vec::new();
        let table = self.write_pages(&mut sections)?;
        sections.push(self.write_head(blocks_end)?);
        sections.push(self.write_section(SectionKind::VariableTable, &table.encode())?);
        sections.push(self.write_section(SectionKind::Metadata, &metadata.encode())?);
        self.out.align()?;
        let sections_offset = self.out.offset;
        let bytes = SectionTable::new(sections).encode();
        self.out.write(&bytes)?;
        self.out.align()?;
        self.out.out.flush().map_err(|e| Error::io("write", self.out.path, e))?;
        let trailer = Trailer {
            generation: 1,
            salt: self.salt,
            required: self.required,
            optional: 0,
            sections_offset,
            sections_len: u32::try_from(bytes.len()).expect("a handful of sections"),
            sections_crc: self.salt.crc(sections_offset, &bytes),
            blocks_begin: self.blocks_begin,
            blocks_end,
            previous: 0,
            archive_len: self.out.offset + nc3z_format::archive::TRAILER_LEN as u64,
            original_len: self.original_len,
            sha256: [0; 32],
            digest_state: DigestState::None,
        };
        Ok(Unsealed { trailer, offset: self.out.offset, salt: self.salt })
    }

    fn write_pages(&mut self, sections: &mut Vec<SectionEntry>) -> Result<VariableTable> {
        let begin = self.out.offset;
        let mut rows = Vec::new();
        let mut inline = Vec::new();
        for (array, entries) in std::mem::take(&mut self.index) {
            let tile_count = entries.len() as u64;
            let root = if tile_count <= INLINE_MAX {
                inline.extend(entries);
                0
            } else {
                let mut builder = PageTreeBuilder::new(array, self.salt, self.out.offset);
                let out = &mut self.out;
                let mut sink = |page: &[u8]| out.write(page);
                for entry in entries {
                    builder.push(&entry, &mut sink)?;
                }
                builder.finish(&mut sink)?
            };
            rows.push(Row { array, tile_count, root });
        }
        if self.out.offset > begin {
            sections.push(SectionEntry {
                kind: SectionKind::IndexPages,
                encoding: SectionEncoding::SelfChecked,
                crc: 0,
                offset: begin,
                len: self.out.offset - begin,
            });
        }
        Ok(VariableTable::new(rows, inline))
    }

    fn write_head(&mut self, blocks_end: u64) -> Result<SectionEntry> {
        let mut offset = SUPERBLOCK_LEN as u64;
        let len = self.head.bytes.len() as u64;
        if blocks_end > SECOND_HEAD_FROM || len * SECOND_HEAD_SHARE <= blocks_end {
            self.out.align()?;
            offset = self.out.offset;
            self.out.write(&self.head.bytes)?;
        }
        let encoding = if self.head.compressed { SectionEncoding::Zstd } else { SectionEncoding::Raw };
        Ok(SectionEntry { kind: SectionKind::Head, encoding, crc: self.head.crc, offset, len })
    }

    fn write_section(&mut self, kind: SectionKind, decoded: &[u8]) -> Result<SectionEntry> {
        self.out.align()?;
        let offset = self.out.offset;
        let (encoding, stored) = encode_section(decoded)?;
        self.out.write(&stored)?;
        Ok(SectionEntry { kind, encoding, crc: crc32fast::hash(&stored), offset, len: stored.len() as u64 })
    }
}

fn block_header(
    kind: BlockKind,
    array: ArrayId,
    tile: u64,
    chain: u16,
    decoded_len: u32,
    decoded_crc: u32,
    payload: &[u8],
) -> BlockHeader {
    BlockHeader {
        generation: 1,
        array,
        kind,
        // What is true of the archive is put in where it is written.
        lossy: false,
        chain,
        tile,
        decoded_len,
        stored_len: u32::try_from(payload.len()).expect("payloads are not larger than their tile"),
        payload_crc: BlockHeader::payload_crc(array, tile, payload),
        decoded_crc,
    }
}

impl Unsealed {
    /// The trailer's bytes, with the digest of the original if it is known.
    pub(crate) fn seal(mut self, digest: Option<[u8; 32]>) -> [u8; nc3z_format::archive::TRAILER_LEN] {
        if let Some(sha256) = digest {
            self.trailer.sha256 = sha256;
            self.trailer.digest_state = DigestState::Valid;
        }
        self.trailer.encode(&self.salt, self.offset)
    }
}

/// A sink that knows how far it is.
struct Counted<'a, W> {
    out: W,
    path: &'a Path,
    offset: u64,
}

impl<W: Write> Counted<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|e| Error::io("write", self.path, e))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    fn align(&mut self) -> Result<()> {
        let gap = usize::try_from(align8(self.offset) - self.offset).expect("less than 8");
        self.write(&[0; 8][..gap])
    }
}
