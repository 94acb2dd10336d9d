//! Opening what is damaged: the blocks are probed, and the index is rebuilt from them.
//!
//! Every structure that is whole is used; what is not is replaced by what stands in for it: the second head copy for the first,
//! the trailer's salt for the superblock's, chain definitions for the metadata, block headers, containers and constants lists for
//! the index. Tiles of which nothing whole is left are *lost*. This module reads; writing a sound archive is the writer's.

mod anchors;
mod head;
mod probe;
mod rebuilt;
mod stored;

pub(crate) use crate::source::soft::Soft;
pub(crate) use anchors::Anchors;
pub(crate) use probe::{Found, Probe};
pub(crate) use rebuilt::Rebuilt;
pub use stored::StoredTile;

use crate::archive::{Archive, Inner};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::open::{OpenOptions, Parts, Tail, check_table, read_section, read_sections};
use crate::source::SharedSource;
use nc3z_format::Limits;
use nc3z_format::archive::forever::{HEAD_OFFSET, REQUIRED_LOSSY};
use nc3z_format::archive::{
    BlockKind, DigestState, Metadata, Role, SectionKind, SectionTable, Superblock, Trailer, VariableTable,
    parse_constants, parse_directory,
};
use nc3z_format::codec::ChainSpec;
use nc3z_format::quantize::LOSSY_KEY;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How to salvage.
#[derive(Debug, Clone, Default)]
pub struct SalvageOptions {
    /// Limits, and whether reads give fill values for what is lost.
    pub open: OpenOptions,
    /// Also takes blocks of a commit that has no trailer: those that came after the last trailer that is whole. Off by default, since
    /// such a commit may have been cut short; on, where the end of an archive of several generations was lost.
    pub uncommitted: bool,
}

/// What was found on the way.
#[derive(Debug, Clone, Default)]
pub struct Salvaged {
    /// What is wrong with the structures, in words; empty where all are whole.
    pub notes: Vec<String>,
    /// Whole blocks by their headers.
    pub blocks: u64,
    /// Blocks that were left out since no trailer commits them.
    pub uncommitted: u64,
    /// Bytes missing before the file's first byte.
    pub missing_beginning: u64,
    /// True where a whole trailer was found, so that features and the original's digest are known.
    pub has_trailer: bool,
}

impl Archive {
    /// Opens a damaged archive: reads all of it once, in time linear in its length, and rebuilds what the index should be.
    /// A tile of which nothing whole is left is *lost*: reading it is an error, or gives fill values where the options allow it.
    ///
    /// # Errors
    /// No archive, another version, an unknown feature; neither head copy whole, without which nothing can be said of the
    /// blocks; a cancelled monitor.
    pub fn salvage(
        source: &SharedSource,
        options: &SalvageOptions,
        monitor: &dyn Monitor,
    ) -> Result<(Self, Salvaged)> {
        let mut report = Salvaged::default();
        let (mut inner, anchors) = skeleton(source, &options.open, &mut report)?;
        let committed = anchors.trailer.as_ref().map(|(_, t)| t.generation);
        inner.rebuilt = Some(Rebuilt::default());
        let found = probe(&mut inner, &anchors, options, &mut report, monitor)?;
        let mut rebuilt = Rebuilt::new(committed);
        index(&inner, &found, &mut rebuilt, &mut report, monitor)?;
        rebuilt.seal();
        inner.rebuilt = Some(rebuilt);
        Ok((Archive { inner: Arc::new(inner) }, report))
    }

    /// What can be said of a damaged archive without looking at its blocks: header, layout, and what index there is.
    pub(crate) fn skeleton(source: &SharedSource, options: &OpenOptions) -> Result<Self> {
        let (inner, _) = skeleton(source, options, &mut Salvaged::default())?;
        Ok(Archive { inner: Arc::new(inner) })
    }

    /// True where the index was rebuilt by probing.
    pub fn is_salvaged(&self) -> bool {
        self.inner.rebuilt.is_some()
    }
}

/// Puts together what is whole of everything but the blocks.
fn skeleton(source: &SharedSource, options: &OpenOptions, report: &mut Salvaged) -> Result<(Inner, Anchors)> {
    let limits = &options.limits;
    let anchors = Anchors::find(source)?;
    if anchors.missing > 0 {
        report.missing_beginning = anchors.missing;
        report.notes.push(format!("the first {} bytes are missing", anchors.missing));
    } else if let Err(e) = &anchors.superblock {
        report.notes.push(e.with_causes());
    }
    if let Some(e) = &anchors.trailer_error {
        report.notes.push(e.with_causes());
    }
    let tail = Tail::lenient(&*anchors.source);
    let mut sections = None;
    if let Some((at, trailer)) = &anchors.trailer {
        report.has_trailer = true;
        trailer.check_features()?;
        sections = keep(read_sections(&tail, trailer, *at, limits), report);
    }
    let head = head::find_head(&anchors, sections.as_ref(), limits)?;
    let (table, metadata) = sections.as_ref().map_or((None, None), |s| {
        let table = read_section(&tail, s, SectionKind::VariableTable, limits.table_len);
        let table = table.and_then(|t| Ok(VariableTable::decode(&t)?));
        let metadata = read_section(&tail, s, SectionKind::Metadata, limits.metadata_len);
        let metadata = metadata.and_then(|m| Ok(Metadata::decode(&m, limits)?));
        (keep(table, report), keep(metadata, report))
    });
    let parts = Parts {
        superblock: superblock(&anchors),
        trailer: anchors.trailer.as_ref().map_or_else(|| no_trailer(&anchors), |(_, t)| t.clone()),
        // Blocks may lie anywhere.
        trailer_offset: anchors.source.len(),
        sections: sections.unwrap_or_else(|| SectionTable::new(Vec::new())),
        head,
        table: table.unwrap_or_default(),
        metadata: metadata.unwrap_or_default(),
    };
    let lossy = parts.metadata.extra.contains_key(LOSSY_KEY);
    let mut inner = parts.bind_to_header(Arc::clone(&anchors.source), options)?;
    if let Some(e) = check_table(&inner.table, &inner.arrays).err().filter(|_| !inner.table.rows().is_empty())
    {
        report.notes.push(e.with_causes());
        inner.table = VariableTable::default();
    }
    if lossy {
        inner.trailer.required |= REQUIRED_LOSSY;
    }
    Ok((inner, anchors))
}

/// The value, or a note of what is wrong with it.
fn keep<T>(result: Result<T>, report: &mut Salvaged) -> Option<T> {
    result.map_err(|e| report.notes.push(e.with_causes())).ok()
}

/// The superblock, or one made of what is known.
fn superblock(anchors: &Anchors) -> Superblock {
    match &anchors.superblock {
        Ok(superblock) => superblock.clone(),
        Err(_) => Superblock {
            minor: nc3z_format::archive::MINOR_VERSION,
            salt: anchors.salt,
            original_len: anchors.original_len,
            head_stored_len: 0,
            head_decoded_len: 0,
            head_crc: 0,
        },
    }
}

/// What stands for a trailer where there is none: no digest, no features.
fn no_trailer(anchors: &Anchors) -> Trailer {
    Trailer {
        generation: 1,
        salt: anchors.salt,
        required: 0,
        optional: 0,
        sections_offset: HEAD_OFFSET,
        sections_len: 0,
        sections_crc: 0,
        blocks_begin: HEAD_OFFSET,
        blocks_end: HEAD_OFFSET,
        previous: 0,
        archive_len: anchors.source.len(),
        original_len: anchors.original_len,
        sha256: [0; 32],
        digest_state: DigestState::None,
    }
}

/// Finds all blocks, and takes the chains from those that define them.
fn probe(
    inner: &mut Inner,
    anchors: &Anchors,
    options: &SalvageOptions,
    report: &mut Salvaged,
    monitor: &dyn Monitor,
) -> Result<Vec<Found>> {
    let source = Arc::clone(&inner.source);
    let soft = Soft::new(&*source);
    let most = match &anchors.trailer {
        Some((_, trailer)) if !options.uncommitted => trailer.generation,
        _ => u32::MAX,
    };
    let mut probe = Probe::new(&soft, anchors.salt, anchors.missing.max(HEAD_OFFSET), source.len());
    let mut found = Vec::new();
    let mut chains: BTreeMap<u64, Found> = BTreeMap::new();
    let mut at = 0;
    let committed = anchors.trailer.as_ref().map(|(_, t)| t.generation);
    while let Some(block) = probe.next(monitor)? {
        monitor.advance(block.end().saturating_sub(at));
        at = block.end();
        report.blocks += 1;
        if block.header.generation > most {
            report.uncommitted += 1;
            continue;
        }
        if committed.is_some_and(|c| block.header.generation > c) {
            // The digest that is recorded is that of the generation before.
            inner.trailer.digest_state = DigestState::Stale;
            inner.trailer.sha256 = [0; 32];
        }
        if block.header.lossy {
            // The trailer or the metadata that say so may be lost; every block says so too.
            inner.trailer.required |= REQUIRED_LOSSY;
        }
        if block.header.kind == BlockKind::Chain {
            chains.insert(block.header.tile, block);
        } else if block.header.kind != BlockKind::Parity {
            found.push(block);
        }
    }
    monitor.advance(source.len().saturating_sub(at));
    if inner.trailer.required & REQUIRED_LOSSY != 0 && !inner.metadata.extra.contains_key(LOSSY_KEY) {
        let words = "values were rounded when the archive was made; what was done to which is lost with the metadata, but for what the header's attributes say";
        report.notes.push(words.to_owned());
    }
    read_chains(inner, chains, report);
    for range in soft.unreadable() {
        report.notes.push(format!("bytes {} to {} cannot be read", range.start, range.end));
    }
    Ok(found)
}

/// Chains that are not in the head copy, where the metadata that should list them is lost.
fn read_chains(inner: &mut Inner, found: BTreeMap<u64, Found>, report: &mut Salvaged) {
    for (number, block) in found {
        let known = inner.chains.len() as u64;
        if number < known {
            continue;
        }
        if number >= inner.limits.chains.min(1 << 16) {
            report.notes.push(format!("chain definition {number} at byte {}: too many chains", block.offset));
            continue;
        }
        let place = || format!("chain definition {number}");
        let chain = inner.read_block(block.offset, block.header.stored_len, block.check, &place);
        let chain = chain.and_then(|b| Ok(parse_chain(&b.payload, &inner.limits)?));
        if let Some(chain) = keep(chain, report) {
            // Numbers between that nothing defines stay empty: a tile that uses one fails its checksum.
            let missing = usize::try_from(number - known).expect("below 2^16");
            inner.chains.extend(std::iter::repeat_n(ChainSpec::default(), missing));
            inner.chains.push(chain);
        }
    }
}

fn parse_chain(payload: &[u8], limits: &Limits) -> nc3z_format::Result<ChainSpec> {
    // The table's parser reads a list of chains.
    let list = [b"[", payload, b"]"].concat();
    let mut chains = nc3z_format::codec::chains_from_json(&list, limits)?;
    match chains.len() {
        1 => Ok(chains.remove(0)),
        n => Err(nc3z_format::Error::corrupt("chain definition", None, "chains", 1, n)),
    }
}

/// Makes index entries of blocks, of containers' members and of constants lists.
fn index(
    inner: &Inner,
    found: &[Found],
    rebuilt: &mut Rebuilt,
    report: &mut Salvaged,
    monitor: &dyn Monitor,
) -> Result<()> {
    let mut lists = Vec::new();
    // Every member costs bytes of its container; a directory of many more members than bytes is an author's joke.
    let mut budget = inner.source.len();
    for block in found {
        if monitor.is_cancelled() {
            return Err(crate::Error::interrupted());
        }
        match (block.header.kind, block.header.array.role()) {
            (BlockKind::Tile | BlockKind::Definition, Role::Unknown(_)) => {}
            (BlockKind::Tile | BlockKind::Definition, _) => rebuilt.add_block(block),
            (BlockKind::Container, _) => {
                let members = inner.containers.get(inner, block.offset);
                let members = members.and_then(|bytes| Ok(parse_directory(&bytes)?));
                for member in keep(members, report).into_iter().flatten() {
                    if budget == 0 {
                        break;
                    }
                    budget -= 1;
                    rebuilt.add_member(block, &member);
                }
            }
            (BlockKind::Constants, _) => lists.push(block),
            _ => {}
        }
    }
    lists.sort_by_key(|b| (b.header.generation, b.offset));
    for list in lists {
        let rows = inner.read_bytes_block(list).and_then(|bytes| Ok(parse_constants(&bytes)?));
        for row in keep(rows, report).into_iter().flatten() {
            let Some(info) = inner.arrays.get(row.array) else { continue };
            if row.value.len() == info.ty.size() {
                let end = (row.first + row.count).min(info.tiling.tile_count());
                rebuilt.add_constants(list, row.array, row.first, end, &row.value);
            }
        }
    }
    Ok(())
}
