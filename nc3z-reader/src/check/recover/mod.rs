//! Opens damaged archives: the blocks are probed, and the index is rebuilt from them.
//!
//! Every intact structure is used. A damaged structure is replaced by another one with the same content: the first head copy
//! by the second, the superblock's salt by the trailer's, the metadata by chain definitions, the index by block headers,
//! containers and constants lists. Tiles without any intact copy are *lost*. This module reads; the writer writes a sound
//! archive.

mod entry_points;
mod head;
mod probe;
mod stored;
mod target;

pub(crate) use entry_points::EntryPoints;
pub(crate) use probe::Probe;
pub use stored::{StoredContainer, StoredTile};

use crate::archive::{Archive, Inner};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::newest::slots_at;
use crate::open::{Parts, check_table, repaired};
use crate::options::OpenOptions;
use crate::sections::{read_later_head, read_section, read_sections};
use crate::source::lenient::Lenient;
use crate::source::{ByteSource, Nearby, SharedSource};
use crate::tail::TailState;
use crate::tile::{ProbedBlock, RecoveredIndex, Worker};
use nc3z_format::archive::constants::{HEAD_OFFSET, REQUIRED_LATER_HEAD, REQUIRED_LOSSY};
use nc3z_format::archive::{
    ArrayId, BlockKind, Commit, Digest, LaterHeadParts, Metadata, Role, Row, SectionKind, SectionTable,
    Superblock, TRAILER_LEN, Trailer, VariableTable, VersionRecord, parse_constants, parse_directory,
};
use nc3z_format::array::Block;
use nc3z_format::codec::ChainSpec;
use nc3z_format::quantize::LOSSY_KEY;
use nc3z_format::{Error as FormatError, Limits};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use target::{Probed, Target};

/// Options for recovery.
#[derive(Debug, Clone, Default)]
pub struct RecoverOptions {
    /// Limits, and whether reads return fill values for lost tiles.
    pub open: OpenOptions,
    /// Also takes blocks of a commit that has no trailer: those that came after the last trailer that is whole. Off by default, since
    /// such a commit may have been cut short; on, where the end of an archive of several generations was lost.
    pub uncommitted: bool,
}

/// A report on a recovery.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Recovered {
    /// Messages about damaged structures. Empty if all are intact.
    pub notes: Vec<String>,
    /// Whole blocks by their headers.
    pub blocks: u64,
    /// Blocks that were omitted because no trailer commits them.
    pub uncommitted: u64,
    /// Bytes missing before the file's first byte.
    pub missing_beginning: u64,
    /// True if an intact trailer was found, so that features and the original's digest are known.
    pub has_trailer: bool,
    /// True if an intact commit block describes the newest generation, instead of its trailer.
    pub has_commit: bool,
    /// True if a later generation than that trailer's was committed, and its trailer is damaged: the
    /// recovered state may be older than the newest.
    pub is_older: bool,
    /// The highest generation of a whole block.
    pub generation: u32,
}

impl Archive {
    /// Opens a damaged archive. Reads all of it once, in time linear in its length, and rebuilds the index. A
    /// tile without any intact copy is *lost*: reading it is an error, or returns fill values if the options
    /// allow it.
    ///
    /// # Errors
    /// The source is not an archive, or has an unknown version or feature; no head copy is intact, so that the blocks cannot be
    /// interpreted; the monitor cancels.
    pub fn recover(
        source: &SharedSource,
        options: &RecoverOptions,
        monitor: &dyn Monitor,
    ) -> Result<(Self, Recovered)> {
        let mut report = Recovered::default();
        let points = EntryPoints::find(source, &options.open)?;
        let probed = Probed::read(&points, &mut report, monitor)?;
        let target = Target::choose(&points, &probed, options, &mut report);
        let mut inner = skeleton(&points, &options.open, Some(&target), &mut report)?;
        let committed = points.trailer.as_ref().map(|(_, t)| t.generation).filter(|_| !target.is_by_commit);
        inner.store.index.recovered = Some(RecoveredIndex::default());
        let found = counted(&mut inner, committed, &probed, &target, &mut report);
        let mut recovered = RecoveredIndex::new(committed);
        let damaged = index(&inner, &found, &mut recovered, &mut report, monitor)?;
        let missing = probed.missing(&target, &damaged);
        add_missing(&inner, missing, &mut recovered, &mut report);
        recovered.seal();
        inner.store.index.recovered = Some(recovered);
        Ok((Archive::new(inner), report))
    }

    /// Opens the newest version of an archive, which may be damaged: reads return fill values for lost tiles. Also returns notes on
    /// damaged structures.
    ///
    /// # Errors
    /// As [`Archive::recover`]; the newest version is lost: an older one is not used instead.
    pub fn open_filled(
        source: &SharedSource,
        options: &OpenOptions,
        monitor: &dyn Monitor,
    ) -> Result<(Self, Vec<String>)> {
        let source = &repaired(source, options);
        let how = RecoverOptions { open: options.clone().with_fill_lost(true), uncommitted: false };
        let (archive, found) = Archive::recover(source, &how, monitor)?;
        if found.is_older {
            // The error lists the existing versions.
            Archive::from_source(Arc::clone(source), options)?;
        }
        Ok((archive, found.notes))
    }

    /// The parts of a damaged archive that do not need its blocks: header, layout, and the present index.
    pub(crate) fn skeleton(source: &SharedSource, options: &OpenOptions) -> Result<Self> {
        let points = EntryPoints::find(source, options)?;
        Ok(Archive::new(skeleton(&points, options, None, &mut Recovered::default())?))
    }
}

/// Builds everything but the blocks from the intact structures, for the target generation, or without a target for the
/// generation of the last trailer.
fn skeleton(
    points: &EntryPoints,
    options: &OpenOptions,
    target: Option<&Target>,
    report: &mut Recovered,
) -> Result<Inner> {
    let limits = &options.limits.within(points.source.len());
    if let Some(short) = points.short.as_ref().filter(|short| short.missing > 0) {
        report.notes.push(format!("the last {} bytes are missing", short.missing));
    }
    if points.missing > 0 {
        report.missing_beginning = points.missing;
        report.notes.push(format!("the first {} bytes are missing", points.missing));
    } else if let Err(e) = &points.superblock {
        report.notes.push(e.with_causes());
    }
    if let Some(e) = &points.trailer_error {
        report.notes.push(e.with_causes());
    }
    if let Some(e) = &points.lost {
        report.notes.push(e.with_causes());
    }
    let tail = Lenient::new(&*points.source);
    let mut sections = None;
    if let Some((at, trailer)) = &points.trailer {
        report.has_trailer = true;
        trailer.check_features()?;
        if points.missing == 0
            && points.lost.is_none()
            && let Err(e) = TailState::new(&*points.source, trailer, &points.slots).check(trailer)
        {
            report.is_older = true;
            report.notes.push(e.with_causes());
        }
        sections = keep(read_sections(&tail, trailer, *at, limits), report);
    }
    let (head, copy) = head::find_head(points, sections.as_ref(), limits)?;
    let (table, metadata) = sections.as_ref().map_or((None, None), |s| {
        let table = read_section(&tail, s, SectionKind::VariableTable, limits.table_len);
        let table = table.and_then(|t| Ok(VariableTable::decode(&t)?));
        let metadata = read_section(&tail, s, SectionKind::Metadata, limits.metadata_len);
        let metadata = metadata.and_then(|m| Ok(Metadata::decode(&m, limits)?));
        (keep(table, report), keep(metadata, report))
    });
    let mut stated = points.trailer.as_ref().map_or_else(|| no_trailer(points), |(_, t)| t.clone());
    // The number of the version, if the metadata do not have it.
    let mut version = target.and_then(Target::version).filter(|_| metadata.is_none());
    let mut metadata = metadata.unwrap_or_default();
    let mut table = table;
    if let Some((generation, commit)) = target.and_then(Target::by_commit) {
        state_by_commit(&mut stated, generation, commit);
        // The head copy belongs to the first version of the file. Older versions are found by the last intact trailer.
        stated.original_len = points.original_len;
        stated.previous = points.trailer.as_ref().map_or(0, |(at, _)| *at);
        version = Some(commit.version);
        report.has_commit = true;
        table = None;
    }
    if let Some(version) = version.map(u64::from) {
        let stated = VersionRecord::find(&metadata).ok().flatten().map(|record| record.number);
        if stated.unwrap_or(VersionRecord::FIRST.number) != version {
            VersionRecord { number: version, ..VersionRecord::FIRST }.put(&mut metadata);
        }
    }
    let later = later_head(&tail, &mut stated, table.as_ref(), target, &copy, limits)?;
    let parts = Parts {
        superblock: superblock(points),
        trailer: stated,
        // Blocks may be anywhere.
        trailer_offset: points.source.len(),
        last_end: points.trailer.as_ref().map_or(points.source.len(), |(_, t)| t.archive_len),
        sections: sections.unwrap_or_else(|| SectionTable::new(Vec::new())),
        head,
        later,
        table: table.unwrap_or_default(),
        metadata,
    };
    let lossy = parts.metadata.extra.contains_key(LOSSY_KEY);
    let mut inner = parts.bind_to_header(Arc::clone(&points.source), options)?;
    inner.short.clone_from(&points.short);
    let table = &inner.store.index.table;
    if let Some(e) = check_table(table, &inner.store.arrays, inner.next_number)
        .and_then(|()| Ok(table.check_pages(points.source.len())?))
        .err()
        .filter(|_| !inner.store.index.table.rows().is_empty())
    {
        report.notes.push(e.with_causes());
        inner.store.index.table = VariableTable::default();
    }
    if lossy {
        inner.trailer.required |= REQUIRED_LOSSY;
    }
    Ok(inner)
}

/// Sets the fields of a trailer from the commit block of its generation.
fn state_by_commit(trailer: &mut Trailer, generation: u32, commit: &Commit) {
    trailer.generation = generation;
    trailer.required &= !REQUIRED_LATER_HEAD;
    if commit.head != 0 {
        trailer.required |= REQUIRED_LATER_HEAD;
    }
    trailer.digest = commit.digest().map_or(Digest::Stale, Digest::Sha256);
}

/// The later head that counts: the one in the variable table, otherwise the one in the commit block.
fn later_head(
    source: &dyn ByteSource,
    trailer: &mut Trailer,
    table: Option<&VariableTable>,
    target: Option<&Target>,
    copy: &[u8],
    limits: &Limits,
) -> Result<Option<LaterHeadParts>> {
    let at = trailer.archive_len.saturating_sub(TRAILER_LEN as u64);
    let read = |table: &VariableTable, trailer: &Trailer| {
        let later = read_later_head(source, table, trailer, copy, limits);
        later.map_err(|e| without_later_head(at, &e.with_causes()))
    };
    let is_later = trailer.required & REQUIRED_LATER_HEAD != 0;
    if let Some(table) = table {
        return read(table, trailer);
    }
    if !is_later {
        return Ok(None);
    }
    let Some(entry) = target.and_then(Target::head) else {
        let why = match target {
            Some(target) if target.lacks_head() => "its block is damaged",
            _ => "the variable table, which says where it is, is damaged",
        };
        return Err(without_later_head(at, why));
    };
    let row = Row { array: ArrayId::HEADS, tile_count: 1, root: 0 };
    // Blocks may be after the end that a trailer gives.
    let anywhere =
        Trailer { archive_len: source.len().saturating_add(TRAILER_LEN as u64), ..trailer.clone() };
    let later = read(&VariableTable::new(vec![row], vec![entry]), &anywhere)?;
    if let Some(later) = &later {
        trailer.original_len = later.original_len;
    }
    Ok(later)
}

/// The error for a lost later head: without the header of the newest version, the meaning of its tiles is
/// unknown.
fn without_later_head(at: u64, why: &str) -> Error {
    let found = format!("lost: {why}; the newest version cannot be read without it, older ones can");
    FormatError::corrupt("trailer", at, "later head", "whole", found).into()
}

/// Returns the value, or records its error as a note.
fn keep<T>(result: Result<T>, report: &mut Recovered) -> Option<T> {
    result.map_err(|e| report.notes.push(e.with_causes())).ok()
}

/// The superblock of an archive of several generations, made anew from the other structures. None if the superblock is intact, if there
/// is one generation, or if another structure is damaged, too.
///
/// # Errors
/// The source is not an archive, or has an unknown version or feature; it cannot be read.
pub fn superblock_anew(source: &SharedSource, options: &OpenOptions) -> Result<Option<Superblock>> {
    let points = EntryPoints::find(source, options)?;
    let Some((at, trailer)) = points.trailer.as_ref().filter(|(_, trailer)| trailer.previous != 0) else {
        return Ok(None);
    };
    if points.superblock.is_ok() || points.missing > 0 || points.short.is_some() {
        return Ok(None);
    }
    let limits = &options.limits.within(points.source.len());
    let Ok(sections) = read_sections(&*points.source, trailer, *at, limits) else { return Ok(None) };
    let Ok(entry) = sections.find(SectionKind::Head) else { return Ok(None) };
    let Ok((_, copy)) = head::find_head(&points, Some(&sections), limits) else { return Ok(None) };
    let lens = (u32::try_from(entry.len), u32::try_from(copy.len()));
    let (Ok(head_stored_len), Ok(head_decoded_len)) = lens else { return Ok(None) };
    let found = Superblock { head_stored_len, head_decoded_len, head_crc: entry.crc, ..superblock(&points) };
    // Slots that cannot be read are empty: they do not say where the archive ends.
    let slots = match found.slots.newest() {
        Some(_) => found.slots,
        None => match slots_at(&*points.source, trailer.archive_len, &found) {
            Ok(slots) => slots,
            Err(_) => return Ok(None),
        },
    };
    Ok(Some(Superblock { slots, ..found }))
}

/// Returns the superblock, or a superblock made from the recovered facts.
fn superblock(points: &EntryPoints) -> Superblock {
    match &points.superblock {
        Ok(superblock) => superblock.clone(),
        Err(_) => Superblock {
            minor: nc3z_format::archive::MINOR_VERSION,
            salt: points.salt,
            original_len: points.original_len,
            head_stored_len: 0,
            head_decoded_len: 0,
            head_crc: 0,
            slots: points.slots,
        },
    }
}

/// The substitute for a missing trailer: no digest, no features.
fn no_trailer(points: &EntryPoints) -> Trailer {
    Trailer {
        generation: 1,
        salt: points.salt,
        required: 0,
        optional: 0,
        sections_offset: HEAD_OFFSET,
        sections_len: 0,
        sections_crc: 0,
        blocks_begin: HEAD_OFFSET,
        blocks_end: HEAD_OFFSET,
        previous: 0,
        archive_len: points.source.len(),
        original_len: points.original_len,
        digest: Digest::None,
    }
}

/// Returns the blocks of the target's generations, and takes the chains from the blocks that define them.
fn counted(
    inner: &mut Inner,
    committed: Option<u32>,
    probed: &Probed,
    target: &Target,
    report: &mut Recovered,
) -> Vec<ProbedBlock> {
    let mut found = Vec::new();
    let mut chains: BTreeMap<u64, ProbedBlock> = BTreeMap::new();
    for block in &probed.blocks {
        let generation = block.header.generation;
        if generation > target.generation() {
            continue;
        }
        if committed.is_some_and(|c| generation > c) {
            // The recorded digest belongs to the generation before.
            inner.trailer.digest = Digest::Stale;
        }
        if block.header.lossy {
            // The trailer or the metadata with this flag may be lost, but every block has it too.
            inner.trailer.required |= REQUIRED_LOSSY;
        }
        match block.header.kind {
            // All generations share the numbers of chains.
            BlockKind::Chain => _ = chains.insert(block.header.tile, block.clone()),
            BlockKind::Parity => {}
            _ if target.has(generation) => found.push(block.clone()),
            _ => {}
        }
    }
    if inner.trailer.required & REQUIRED_LOSSY != 0 && !inner.metadata.extra.contains_key(LOSSY_KEY) {
        let words = "values were rounded when the archive was made; which and how is lost with the metadata, except for attributes of the header";
        report.notes.push(words.to_owned());
    }
    read_chains(inner, chains, report);
    found
}

/// Marks a tile as lost if a generation changed it and no block of that version remains. An older tile never
/// replaces it.
fn add_missing(
    inner: &Inner,
    missing: impl Iterator<Item = (u32, ArrayId, Range<u64>)>,
    recovered: &mut RecoveredIndex,
    report: &mut Recovered,
) {
    // A commit block of a few bytes can claim any number.
    let mut budget = (1 << 20) + inner.store.source.len() / 8;
    for (generation, array, tiles) in missing {
        let count = inner.store.arrays.get(array).map_or(0, |info| info.tiling.tile_count());
        let tiles = match array.role() {
            Role::Definitions(_) => tiles,
            _ => tiles.start..tiles.end.min(count),
        };
        for tile in tiles {
            if budget == 0 {
                report.notes.push("more tiles are lost than can be listed".to_owned());
                report.is_older = true;
                return;
            }
            budget -= 1;
            recovered.add_lost(array, tile, generation);
        }
    }
}

/// Chains that are not in the head copy, where the metadata that should list them is lost.
fn read_chains(inner: &mut Inner, found: BTreeMap<u64, ProbedBlock>, report: &mut Recovered) {
    for (number, block) in found {
        let known = inner.store.chains.len() as u64;
        if number < known {
            continue;
        }
        if number >= inner.store.limits.chains.min(1 << 16) {
            report.notes.push(format!("chain definition {number} at byte {}: too many chains", block.offset));
            continue;
        }
        let place = || format!("chain definition {number}");
        let (at, store) = (block.place(), &inner.store);
        let chain = store.read_block(&at, &Nearby::default(), &place).and_then(|bytes| {
            let block = Block::check(&bytes, &at, &store.salt, &place)?;
            Ok(parse_chain(block.payload, &store.limits)?)
        });
        if let Some(chain) = keep(chain, report) {
            // Numbers without a definition stay empty: a tile that uses one fails its checksum.
            let missing = usize::try_from(number - known).expect("below 2^16");
            let store = &mut inner.store;
            let unknown = store.registry.bind(ChainSpec::default());
            store.chains.extend(std::iter::repeat_n(unknown, missing));
            store.chains.push(store.registry.bind(chain));
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

/// Makes index entries of blocks, of containers' members and of constants lists. Returns the generations of
/// damaged containers and lists.
fn index(
    inner: &Inner,
    found: &[ProbedBlock],
    recovered: &mut RecoveredIndex,
    report: &mut Recovered,
    monitor: &dyn Monitor,
) -> Result<BTreeSet<u32>> {
    let mut lists = Vec::new();
    let mut damaged = BTreeSet::new();
    // Every member costs bytes of its container. A directory with many more members than bytes is a forgery.
    let mut budget = inner.store.source.len();
    for block in found {
        if monitor.is_cancelled() {
            return Err(crate::Error::interrupted());
        }
        match (block.header.kind, block.header.array.role()) {
            (BlockKind::Tile | BlockKind::Definition, Role::Unknown(_)) => {}
            (BlockKind::Tile | BlockKind::Definition, _) => recovered.add_block(block),
            (BlockKind::Container, _) => {
                let members = inner.store.container(block.offset, &Nearby::default(), &mut Worker::default());
                let members = members.and_then(|bytes| Ok(parse_directory(&bytes)?));
                let members = keep(members, report);
                if members.is_none() {
                    damaged.insert(block.header.generation);
                }
                for member in members.into_iter().flatten() {
                    if budget == 0 {
                        break;
                    }
                    budget -= 1;
                    recovered.add_member(block, &member);
                }
            }
            (BlockKind::Constants, _) => lists.push(block),
            _ => {}
        }
    }
    lists.sort_by_key(|b| (b.header.generation, b.offset));
    for list in lists {
        let rows = inner
            .store
            .read_bytes_block(&list.place(), list.header.array)
            .and_then(|bytes| Ok(parse_constants(&bytes)?));
        let rows = keep(rows, report);
        if rows.is_none() {
            damaged.insert(list.header.generation);
        }
        for row in rows.into_iter().flatten() {
            let Some(info) = inner.store.arrays.get(row.array) else { continue };
            if row.value.len() == info.ty.size() {
                let end = (row.first + row.count).min(info.tiling.tile_count());
                recovered.add_constants(list, row.array, row.first, end, &row.value);
            }
        }
    }
    Ok(damaged)
}
