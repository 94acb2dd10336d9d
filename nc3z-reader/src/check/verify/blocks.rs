//! Checks blocks in the order of the file: each header, the payloads in parallel, and the padding after each
//! block.

use super::report::{Raw, Structure};
use crate::check::recover::Probe;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::parallel;
use crate::source::lenient::Lenient;
use crate::source::{ByteSource, SharedSource};
use crate::tile::ProbedBlock;
use nc3z_format::archive::{BLOCK_HEADER_LEN, BlockHeader, Salt, align8};
use std::cell::RefCell;
use std::ops::Range;

/// Neighbouring blocks are read together up to this many bytes.
const GROUP_LEN: u64 = 512 << 10;
/// Payloads of one round of parallel work.
const BATCH_LEN: u64 = 128 << 20;
const BATCH_BLOCKS: usize = 1 << 16;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The result of a walk over blocks.
#[derive(Default)]
pub(super) struct Walked {
    pub(super) blocks: u64,
    pub(super) findings: Vec<Raw>,
}

/// The facts that the trailer of a generation gives about its blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    pub(super) generation: u32,
    pub(super) lossy: bool,
}

/// Checks the blocks of a range: blocks of one generation, which follow each other without a gap, or blocks
/// of unknown generations.
pub(super) fn walk(
    source: &SharedSource,
    salt: Salt,
    range: Range<u64>,
    generation: Option<Expected>,
    monitor: &dyn Monitor,
) -> Result<Walked> {
    let lenient = Lenient::new(&**source);
    let mut probe = Probe::new(&lenient, salt, range.start, range.end);
    let mut walked = Walked::default();
    let mut at = range.start;
    let mut batch = Vec::new();
    let mut batch_len = 0;
    loop {
        let found = probe.next(monitor)?;
        let next = found.as_ref().map_or(range.end, |f| f.offset);
        if next > at {
            walked.findings.push(no_block(&**source, salt, at..next, generation));
            monitor.advance(next - at);
        }
        let Some(found) = found else { break };
        if let Some(message) = generation.and_then(|expected| expected.contradicts(&found)) {
            let bytes = found.offset..found.end();
            walked.findings.push(Raw { structure: Structure::Block, bytes, message, tiles: Vec::new() });
        }
        // The next block begins at a multiple of 8.
        at = align8(found.end()).min(range.end);
        batch_len += at - found.offset;
        walked.blocks += 1;
        batch.push((found, at));
        if batch_len >= BATCH_LEN || batch.len() >= BATCH_BLOCKS {
            check(&**source, &mut batch, &mut walked, monitor)?;
            batch_len = 0;
        }
    }
    check(&**source, &mut batch, &mut walked, monitor)?;
    Ok(walked)
}

/// The finding for a range without an intact header where one should be.
fn no_block(source: &dyn ByteSource, salt: Salt, bytes: Range<u64>, generation: Option<Expected>) -> Raw {
    let mut header = [0; BLOCK_HEADER_LEN];
    let read = source.read_into(bytes.start, &mut header);
    let read = read.and_then(|()| Ok(BlockHeader::decode(&header, &salt, bytes.start)?));
    let why = match read {
        Err(e) => e.with_causes(),
        Ok((h, _)) => format!("block of {} bytes reaches beyond the end of the blocks", h.stored_len),
    };
    let words = match generation {
        Some(_) => format!("{} bytes hold no whole block: {why}", bytes.end - bytes.start),
        None => format!("{} bytes without a known structure: {why}", bytes.end - bytes.start),
    };
    let structure = if generation.is_some() { Structure::Block } else { Structure::Tail };
    Raw { structure, bytes, message: words, tiles: Vec::new() }
}

impl Expected {
    /// The reason why an intact header does not belong to this generation, if it does not.
    fn contradicts(self, found: &ProbedBlock) -> Option<String> {
        let h = &found.header;
        if h.generation != self.generation {
            return Some(format!(
                "a block of commit {} is among the blocks of commit {}",
                h.generation, self.generation
            ));
        }
        let words = match (h.lossy, self.lossy) {
            (true, false) => "says that values were rounded, the trailer of its commit does not",
            (false, true) => "does not say that values were rounded, the trailer of its commit does",
            _ => return None,
        };
        Some(format!("{}, number {}: the block {words}", h.array, h.tile))
    }
}

/// Checks the payloads of a batch, in parallel; `next` of each is where the next block may begin.
fn check(
    source: &dyn ByteSource,
    batch: &mut Vec<(ProbedBlock, u64)>,
    walked: &mut Walked,
    monitor: &dyn Monitor,
) -> Result<()> {
    let mut groups: Vec<&[(ProbedBlock, u64)]> = Vec::new();
    let mut from = 0;
    for i in 1..=batch.len() {
        // A group is a contiguous range of the file.
        let full = batch.get(i).is_none_or(|(found, next)| {
            *next - batch[from].0.offset > GROUP_LEN || found.offset != batch[i - 1].1
        });
        if full {
            groups.push(&batch[from..i]);
            from = i;
        }
    }
    let bad = parallel::map(groups, |group| {
        if monitor.is_cancelled() {
            return Err(Error::interrupted());
        }
        let bytes = group[0].0.offset..group[group.len() - 1].1;
        let found = BUFFER.with_borrow_mut(|buffer| check_group(source, group, &bytes, buffer));
        monitor.advance(bytes.end - bytes.start);
        Ok(found)
    });
    let bad: Result<Vec<Vec<Raw>>> = bad.into_iter().collect();
    walked.findings.extend(bad?.into_iter().flatten());
    batch.clear();
    Ok(())
}

fn check_group(
    source: &dyn ByteSource,
    group: &[(ProbedBlock, u64)],
    bytes: &Range<u64>,
    buffer: &mut Vec<u8>,
) -> Vec<Raw> {
    let len = bytes.end - bytes.start;
    if len > GROUP_LEN || group.len() == 1 {
        return group.iter().flat_map(|(found, next)| check_block(source, found, *next, buffer)).collect();
    }
    buffer.resize(usize::try_from(len).expect("at most GROUP_LEN"), 0);
    if source.read_into(bytes.start, buffer).is_err() {
        // Block by block, to separate readable blocks from unreadable ones.
        return group.iter().flat_map(|(found, next)| check_block(source, found, *next, buffer)).collect();
    }
    let at = |offset: u64| usize::try_from(offset - bytes.start).expect("inside the group");
    let check = |(found, next): &(ProbedBlock, u64)| {
        let payload = &buffer[at(found.offset) + BLOCK_HEADER_LEN..at(found.end())];
        let crc = BlockHeader::payload_crc(found.header.array, found.header.tile, payload);
        let padding = &buffer[at(found.end())..at(*next)];
        verdict(found, *next, Ok(crc), padding.iter().all(|&b| b == 0))
    };
    group.iter().flat_map(check).collect()
}

/// Checks one block in pieces, whatever its length.
fn check_block(source: &dyn ByteSource, found: &ProbedBlock, next: u64, buffer: &mut Vec<u8>) -> Vec<Raw> {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&found.header.array.0.to_le_bytes());
    crc.update(&found.header.tile.to_le_bytes());
    let mut at = found.offset + BLOCK_HEADER_LEN as u64;
    while at < found.end() {
        let n = usize::try_from((found.end() - at).min(GROUP_LEN)).expect("at most GROUP_LEN");
        buffer.resize(n, 0);
        if let Err(e) = source.read_into(at, buffer) {
            return verdict(found, next, Err(e), true);
        }
        crc.update(buffer);
        at += n as u64;
    }
    let mut padding = [0; 8];
    let padding = &mut padding[..usize::try_from(next - found.end()).expect("less than 8")];
    let zero = source.read_into(found.end(), padding).is_err() || padding.iter().all(|&b| b == 0);
    verdict(found, next, Ok(crc.finalize()), zero)
}

/// Findings of a block whose payload has this CRC.
fn verdict(found: &ProbedBlock, next: u64, crc: Result<u32>, padding_is_zero: bool) -> Vec<Raw> {
    let mut all = Vec::new();
    let h = &found.header;
    let message = match crc {
        Ok(crc) if crc == h.payload_crc => None,
        Ok(crc) => Some(format!("CRC of the payload is {crc:08x}, expected {:08x}", h.payload_crc)),
        Err(e) => Some(e.with_causes()),
    };
    if let Some(message) = message {
        let message = format!("{}, number {}: {message}", h.array, h.tile);
        let mut raw =
            Raw { structure: Structure::Block, bytes: found.offset..found.end(), message, tiles: Vec::new() };
        raw.touch(h.array, h.tile..h.tile.saturating_add(1));
        all.push(raw);
    }
    if !padding_is_zero {
        let message = "bytes behind a block are not zero".to_owned();
        all.push(Raw { structure: Structure::Gap, bytes: found.end()..next, message, tiles: Vec::new() });
    }
    all
}
