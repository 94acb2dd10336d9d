//! Writes one generation: blocks in any order, then index, sections and section table. Forward only, never seeks.

use super::blocks::{Content, Stamp, WholeContainer, write_block};
use super::ending::{Ending, Unsealed};
use super::index::{Index, Older};
use super::lineage::Lineage;
use super::sink::Sink;
use crate::encode::{EncodedTile, Form};
use crate::error::Result;
use crate::options::{CONTAINER_LEN, Preset};
use crate::plan::{OpenContainer, Policy, pack_container, pack_own};
use crate::scratch::with_scratch;
use nc3z_format::archive::constants::{REQUIRED_LATER_HEAD, REQUIRED_LOSSY};
use nc3z_format::archive::{
    ArrayId, BlockKind, Commit, CommitSlots, ConstantsBuilder, Edition, Head, IndexEntry, LaterHead,
    Metadata, PackEffort, SUPERBLOCK_LEN, Salt, SectionEncoding, SectionEntry, SectionKind, Superblock,
    VariableTable, encode_head_parity, encode_section,
};
use nc3z_format::codec::{Chain, ChainSpec, Registry};
use nc3z_reader::Archive;
use nc3z_reader::source::SharedSource;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// An archive has a second copy of the head if its blocks end beyond this offset (`spec/archive.md`, section 6).
const SECOND_HEAD_FROM: u64 = 64 << 10;
/// Smaller archives have it if they are at least this many times as long as the head: it costs them 1.6 % at most.
const SECOND_HEAD_SHARE: u64 = 64;
/// Heads of at least this many bytes have parity instead, if a copy takes more than 1/`HEAD_PARITY_SHARE` of the blocks.
const HEAD_PARITY_FROM: u64 = 32 << 10;
const HEAD_PARITY_SHARE: u64 = 16;
/// A section is stored as the continuation of an older one if that needs at most `CONTINUED`/`CONTINUED_OF` of the bytes of an
/// independent section.
const CONTINUED: usize = 3;
const CONTINUED_OF: usize = 4;
/// Constants lists are closed at this size.
const CONSTANTS_LEN: usize = 1 << 20;

pub(crate) struct GenerationWriter<'a, W> {
    sink: Sink<'a, W>,
    ending: Ending,
    preset: Preset,
    chains: Vec<Chain>,
    head: HeadSection,
    added: Option<Added>,
    index: Index,
    /// The open containers, by the chain that will pack them.
    open: BTreeMap<Option<u16>, OpenContainer>,
    containers: u64,
    constants: ConstantsBuilder,
    constants_lists: u64,
    blocks_begin: u64,
    blocks: u64,
}

/// The origin of the head section.
enum HeadSection {
    /// The stored head copy, kept in memory for the second copy.
    Fresh { bytes: Vec<u8>, compressed: bool, crc: u32 },
    /// The head section of the generation before.
    Kept(SectionEntry),
}

/// The references of a later generation to older ones.
struct Added {
    /// The generations that this one refers to.
    lineage: Lineage,
    /// Chains in addition to those of the head copy, as the metadata list them.
    chains: Vec<ChainSpec>,
    /// Sections of the previous generation that stay: parity, which is stale then, and sections unknown to this build.
    sections: Vec<SectionEntry>,
    /// The decoded head copy.
    head_copy: Vec<u8>,
    /// Variable tables of older generations, which need not be written again.
    tables: Vec<(VariableTable, SectionEntry)>,
    /// Older sections that this generation's sections may continue, and their content.
    whole: Vec<(SectionEntry, Vec<u8>)>,
}

impl<'a, W: Write> GenerationWriter<'a, W> {
    /// Creates the first generation of a new archive: writes superblock and head copy.
    pub(crate) fn fresh(
        out: W,
        path: &'a Path,
        head: &Head,
        original_len: u64,
        salt: Salt,
        preset: Preset,
    ) -> Result<Self> {
        let effort = Policy::for_preset(preset).pack_effort(head.header.len(), original_len);
        let (bytes, decoded_len) = head.store(effort)?;
        let crc = crc32fast::hash(&bytes);
        let superblock = Superblock {
            minor: nc3z_format::archive::MINOR_VERSION,
            salt,
            original_len,
            head_stored_len: u32::try_from(bytes.len()).expect("Limits::header_len is below 4 GiB"),
            head_decoded_len: decoded_len,
            head_crc: crc,
            // Written with the trailer.
            slots: CommitSlots::default(),
        };
        let mut sink = Sink::new(out, path, 0);
        sink.write(&superblock.encode())?;
        sink.write(&bytes)?;
        let blocks_begin = sink.align()?;
        let compressed = bytes.len() != decoded_len as usize;
        Ok(GenerationWriter {
            sink,
            ending: Ending::first(salt, original_len),
            preset,
            chains: head.chains.iter().map(|chain| Registry::default().bind(chain.clone())).collect(),
            head: HeadSection::Fresh { bytes, compressed, crc },
            added: None,
            index: Index::default(),
            open: BTreeMap::new(),
            containers: 0,
            constants: ConstantsBuilder::default(),
            constants_lists: 0,
            blocks_begin,
            blocks: 0,
        })
    }

    /// Creates a generation after the last one of `archive`, whose bytes `older` reads. It contains only declared arrays, and a
    /// later head only if one is put.
    pub(crate) fn after(out: W, path: &'a Path, archive: &Archive, older: SharedSource) -> Result<Self> {
        let last = archive.trailer();
        let mut ending = Ending::after(archive, path)?;
        ending.without_head(archive.superblock().original_len);
        let head = archive.sections().find(SectionKind::Head)?.clone();
        let stored = older.read_at(head.offset, usize::try_from(head.len).expect("it has been read"))?;
        let head_copy = head.decode(&stored, archive.limits().header_len * 2)?;
        let optional = |e: &&SectionEntry| {
            matches!(e.kind, SectionKind::Parity | SectionKind::HeadParity | SectionKind::Optional(_))
        };
        Ok(GenerationWriter {
            sink: Sink::new(out, path, last.archive_len),
            ending,
            preset: Preset::Default,
            chains: archive.chains().to_vec(),
            head: HeadSection::Kept(head),
            added: Some(Added {
                lineage: Lineage::after(archive)?,
                chains: archive.metadata().chains.clone(),
                sections: archive.sections().entries().iter().filter(optional).cloned().collect(),
                head_copy,
                tables: vec![table_of(archive)?],
                whole: vec![
                    archive.whole_section(SectionKind::VariableTable, archive.limits().table_len)?,
                    archive.whole_section(SectionKind::Metadata, archive.limits().metadata_len)?,
                ],
            }),
            index: Index::after(Older { table: archive.variable_table().clone(), source: older }),
            open: BTreeMap::new(),
            containers: 0,
            constants: ConstantsBuilder::default(),
            constants_lists: 0,
            blocks_begin: last.archive_len,
            blocks: 0,
        })
    }

    /// Writes the block that ends a later generation's blocks.
    fn write_commit(&mut self) -> Result<Option<(u64, Commit)>> {
        let Some(added) = &self.added else { return Ok(None) };
        let e = &self.ending;
        let commit = added.lineage.commit(e, self.blocks_begin, self.blocks + 1, self.index.changed());
        let lossy = e.required() & REQUIRED_LOSSY != 0;
        let offset = self.sink.align()?;
        self.sink.write(&commit.block(e.generation(), lossy, &e.salt(), offset)?)?;
        Ok(Some((offset, commit)))
    }

    /// Adds a chain after the existing ones; returns its number.
    pub(crate) fn put_chain(&mut self, chain: ChainSpec) -> Result<u16> {
        let number = u16::try_from(self.chains.len()).map_err(|_| {
            let (limit, found) = (1 << 16, self.chains.len() as u64 + 1);
            nc3z_format::Error::limit("chain table", None, "number of chains", limit, found)
        })?;
        let json = chain.to_value().to_string().into_bytes();
        let decoded_len = u32::try_from(json.len()).expect("a chain is some hundred bytes");
        let (kind, array) = (BlockKind::Chain, ArrayId::CHAINS);
        let (tile, decoded_crc) = (number.into(), crc32fast::hash(&json));
        self.block(Content { kind, array, tile, chain: 0, decoded_len, decoded_crc }, &json)?;
        let added = self.added.as_mut().expect("the chains of a new archive are in its head copy");
        added.chains.push(chain.clone());
        self.chains.push(Registry::default().bind(chain));
        Ok(number)
    }

    /// Returns the number of a chain, which is added if it is new.
    pub(crate) fn chain_number(&mut self, chain: ChainSpec) -> Result<u16> {
        match self.chains.iter().position(|known| *known.spec() == chain) {
            Some(at) => Ok(u16::try_from(at).expect("chain numbers are 16 bits")),
            None => self.put_chain(chain),
        }
    }

    /// Keeps the head of the generation before, for a file of this length.
    pub(crate) fn keep_head(&mut self, original_len: u64) {
        if self.index.keeps(ArrayId::HEADS) {
            self.index.declare(ArrayId::HEADS, 1);
            self.ending.with_head(original_len);
            if let Some(added) = &mut self.added {
                added.lineage.keep_head();
            }
        }
    }

    /// Writes a later head for this generation: another header, and the arrays of its variables.
    pub(crate) fn put_head(&mut self, head: &LaterHead) -> Result<()> {
        let decoded = head.encode();
        let added = self.added.as_ref().expect("a fresh archive has its head copy");
        let payload = LaterHead::store(&decoded, &added.head_copy)?;
        let len = decoded.len() as u64;
        let limit = || nc3z_format::Error::limit("later head", None, "length", u32::MAX.into(), len);
        let decoded_len = u32::try_from(decoded.len()).map_err(|_| limit())?;
        let (kind, array, decoded_crc) = (BlockKind::Head, ArrayId::HEADS, crc32fast::hash(&decoded));
        self.index.declare_anew(array);
        self.ending.with_head(head.original_len);
        let generation = self.ending.generation();
        self.added.as_mut().expect("looked at above").lineage.put_head(generation);
        self.put_block(Content { kind, array, tile: 0, chain: 0, decoded_len, decoded_crc }, &payload)
    }

    /// Gives this generation the content of an older one.
    pub(crate) fn take_over(&mut self, version: &Archive) -> Result<()> {
        let table = table_of(version)?;
        self.index.take_over(&table.0);
        if version.trailer().required & REQUIRED_LATER_HEAD != 0 {
            self.ending.with_head(version.original_len());
        }
        if let Some(added) = &mut self.added {
            added.tables.push(table);
            added.lineage.take_over(version)?;
        }
        Ok(())
    }

    /// Sets the digest of this generation's file, if it is known.
    pub(crate) fn set_digest(&mut self, sha256: Option<[u8; 32]>) {
        self.ending.set_digest(sha256);
    }

    /// Announces an array with this many tiles.
    pub(crate) fn declare(&mut self, array: ArrayId, tiles: u64) {
        if tiles > 0 {
            self.index.declare(array, tiles);
        }
    }

    /// Announces an array whose tiles are lost unless they are put.
    pub(crate) fn declare_lost(&mut self, array: ArrayId, tiles: u64) {
        if tiles > 0 {
            self.index.declare_lost(array, tiles);
        }
    }

    /// Bytes of the archive so far.
    pub(crate) fn len(&self) -> u64 {
        self.sink.offset()
    }

    /// Sets required features. Call it before the first block, because blocks record whether they are lossy.
    pub(crate) fn require(&mut self, features: u32) {
        self.ending.require(features);
    }

    /// Appends one tile. Tiles of an array may come in any order, arrays too.
    pub(crate) fn put(&mut self, tile: EncodedTile) -> Result<()> {
        let EncodedTile { array, tile, decoded_len, decoded_crc, form } = tile;
        match form {
            Form::Constant { value, size } => {
                self.constants.push(array, tile, &value[..usize::from(size)]);
                self.index.set(array, tile, IndexEntry::Constant { value });
                if self.constants.len() >= CONSTANTS_LEN {
                    self.flush_constants()?;
                }
            }
            Form::Member { chain, bytes, container_chain } => {
                let open = self.open.entry(container_chain).or_default();
                open.push(array, tile, chain, decoded_crc, &bytes);
                let most = if container_chain.is_some() {
                    Policy::for_preset(self.preset).shared_len()
                } else {
                    CONTAINER_LEN
                };
                if open.len() >= most {
                    let full = std::mem::take(open);
                    self.write_container(container_chain, full)?;
                }
            }
            Form::Block { chain, payload } => {
                let content = Content { kind: BlockKind::Tile, array, tile, chain, decoded_len, decoded_crc };
                self.put_block(content, &payload)?;
            }
        }
        Ok(())
    }

    /// Appends a container with all its members.
    pub(crate) fn put_container(&mut self, container: WholeContainer) -> Result<()> {
        let WholeContainer { chain, payload, decoded_len, decoded_crc, members } = container;
        let (kind, array) = (BlockKind::Container, ArrayId::CONTAINERS);
        let content = Content { kind, array, tile: self.containers, chain, decoded_len, decoded_crc };
        let (here, _) = self.block(content, &payload)?;
        self.containers += 1;
        for (array, tile, mut entry) in members {
            if let IndexEntry::Shared { offset, .. } = &mut entry {
                *offset = here;
            }
            self.index.set(array, tile, entry);
        }
        Ok(())
    }

    /// Writes a definition of a variable. Definitions precede the tiles that need them.
    pub(crate) fn put_definition(&mut self, variable: u32, number: u64, bytes: &[u8]) -> Result<()> {
        let array = ArrayId::definitions(variable);
        self.declare(array, 1);
        let decoded_len = u32::try_from(bytes.len()).expect("a definition has at most 65,536 values");
        let (kind, decoded_crc) = (BlockKind::Definition, crc32fast::hash(bytes));
        self.put_block(Content { kind, array, tile: number, chain: 0, decoded_len, decoded_crc }, bytes)
    }

    /// Writes a block that has an index entry.
    fn put_block(&mut self, content: Content, payload: &[u8]) -> Result<()> {
        let (offset, check) = self.block(content, payload)?;
        let len = u32::try_from(payload.len()).expect("as the block's header says");
        let entry = IndexEntry::Stored { offset, len, chain: content.chain, check };
        self.index.set(content.array, content.tile, entry);
        Ok(())
    }

    /// Writes a block; returns its offset and header CRC.
    fn block(&mut self, content: Content, payload: &[u8]) -> Result<(u64, u32)> {
        let e = &self.ending;
        self.blocks += 1;
        let stamp = Stamp { generation: e.generation(), salt: e.salt(), required: e.required() };
        write_block(&mut self.sink, stamp, content, payload)
    }

    /// Writes a block of bytes that the writer produced.
    fn own_block(
        &mut self,
        (kind, array, tile): (BlockKind, ArrayId, u64),
        decoded: &[u8],
        (chain, payload): (u16, &[u8]),
    ) -> Result<u64> {
        let decoded_len = u32::try_from(decoded.len()).expect("containers and lists are some MiB at most");
        let decoded_crc = crc32fast::hash(decoded);
        let content = Content { kind, array, tile, chain, decoded_len, decoded_crc };
        Ok(self.block(content, payload)?.0)
    }

    /// Writes a container, or two if the planner splits it.
    fn write_container(&mut self, container_chain: Option<u16>, open: OpenContainer) -> Result<()> {
        if open.is_empty() {
            return Ok(());
        }
        let policy = Policy::for_preset(self.preset);
        let packed =
            with_scratch(|scratch| pack_container(open, container_chain, &self.chains, policy, scratch))?;
        for container in packed {
            let id = (BlockKind::Container, ArrayId::CONTAINERS, self.containers);
            let offset = self.own_block(id, &container.decoded, (container.chain, &container.payload))?;
            self.containers += 1;
            container.entries(offset).for_each(|(array, tile, entry)| self.index.set(array, tile, entry));
        }
        Ok(())
    }

    fn flush_constants(&mut self) -> Result<()> {
        let decoded = std::mem::take(&mut self.constants).finish();
        if decoded.is_empty() {
            return Ok(());
        }
        let number = self.constants_lists;
        let policy = Policy::for_preset(self.preset);
        let (chain, payload) =
            with_scratch(|scratch| pack_own(&decoded, None, &self.chains, policy, scratch))?;
        self.own_block((BlockKind::Constants, ArrayId::CONSTANTS, number), &decoded, (chain, &payload))?;
        self.constants_lists += 1;
        Ok(())
    }

    /// Writes the open containers and the constants list.
    pub(crate) fn close_containers(&mut self) -> Result<()> {
        for (container_chain, open) in std::mem::take(&mut self.open) {
            self.write_container(container_chain, open)?;
        }
        self.flush_constants()
    }

    /// Writes what is still open, then index, sections and section table.
    pub(crate) fn finish(mut self, metadata: &Metadata) -> Result<Unsealed> {
        self.close_containers()?;
        self.ending.set_version(metadata)?;
        let commit = self.write_commit()?;
        let blocks_end = self.sink.align()?;
        let (table, pages) = std::mem::take(&mut self.index).write(&mut self.sink, self.ending.salt())?;
        let mut sections: Vec<SectionEntry> = pages.into_iter().collect();
        self.write_head(blocks_end, &mut sections)?;
        let known = self.added.iter().flat_map(|added| &added.tables).find(|(known, _)| *known == table);
        sections.push(match known {
            Some((_, section)) => section.clone(),
            None => self.write_section(SectionKind::VariableTable, &table.encode())?,
        });
        let mut metadata = metadata.clone();
        if let Some(added) = &mut self.added {
            metadata.chains = std::mem::take(&mut added.chains);
        }
        Edition::of(self.chains.iter().map(Chain::spec)).record(&mut metadata.extra);
        sections.push(self.write_section(SectionKind::Metadata, &metadata.encode())?);
        sections.extend(self.added.iter_mut().flat_map(|added| std::mem::take(&mut added.sections)));
        let at = self.sink.align()?;
        let mut unsealed = self.ending.clone().close(sections, self.blocks_begin..blocks_end, at);
        unsealed.commit = commit;
        self.sink.write(unsealed.table())?;
        self.sink.flush()?;
        Ok(unsealed)
    }

    /// Adds the head section, and the protection of the head copy.
    fn write_head(&mut self, blocks_end: u64, sections: &mut Vec<SectionEntry>) -> Result<()> {
        let (bytes, compressed, crc) = match &self.head {
            HeadSection::Kept(entry) => {
                sections.push(entry.clone());
                return Ok(());
            }
            HeadSection::Fresh { bytes, compressed, crc } => (bytes, *compressed, *crc),
        };
        let encoding = if compressed { SectionEncoding::Zstd } else { SectionEncoding::Raw };
        let (mut offset, len) = (SUPERBLOCK_LEN as u64, bytes.len() as u64);
        let is_protected = blocks_end > SECOND_HEAD_FROM || len * SECOND_HEAD_SHARE <= blocks_end;
        let by_parity = len >= HEAD_PARITY_FROM && len * HEAD_PARITY_SHARE > blocks_end;
        if is_protected && !by_parity {
            offset = self.sink.align()?;
            self.sink.write(bytes)?;
        }
        sections.push(SectionEntry { kind: SectionKind::Head, encoding, crc, offset, len });
        if is_protected && by_parity {
            let parity = encode_head_parity(bytes);
            let (kind, encoding) = (SectionKind::HeadParity, SectionEncoding::Raw);
            let (offset, crc) = (self.sink.align()?, crc32fast::hash(&parity));
            self.sink.write(&parity)?;
            sections.push(SectionEntry { kind, encoding, crc, offset, len: parity.len() as u64 });
        }
        Ok(())
    }

    fn write_section(&mut self, kind: SectionKind, decoded: &[u8]) -> Result<SectionEntry> {
        let offset = self.sink.align()?;
        // A commit adds little beside its sections.
        let effort = if self.ending.generation() > 1 {
            PackEffort::Full
        } else {
            Policy::for_preset(self.preset).pack_effort(decoded.len(), self.ending.original_len())
        };
        let (mut encoding, mut stored) = encode_section(decoded, effort)?;
        let whole = self.added.iter().flat_map(|added| &added.whole).find(|(older, _)| older.kind == kind);
        if let Some((older, before)) = whole {
            let after = older.encode_after(before, decoded)?;
            // After many changes, a whole section is stored, and later sections continue it.
            if after.len() <= stored.len() / CONTINUED_OF * CONTINUED {
                (encoding, stored) = (SectionEncoding::After, after);
            }
        }
        self.sink.write(&stored)?;
        Ok(SectionEntry { kind, encoding, crc: crc32fast::hash(&stored), offset, len: stored.len() as u64 })
    }
}

/// Returns the variable table of a generation, and its section entry.
fn table_of(archive: &Archive) -> Result<(VariableTable, SectionEntry)> {
    Ok((archive.variable_table().clone(), archive.sections().find(SectionKind::VariableTable)?.clone()))
}
