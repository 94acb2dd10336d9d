//! Makes the short form from the long form.

use super::directory::{Directory, MemberRow, Payload, Record, container_start};
use super::expand::expand;
use super::prefix::{Form, Prefix};
use super::{CONTENT_LEN, SHORT_LEN, SHORT_PREFIX_LEN, whole};
use crate::archive::constants::REQUIRED_LOSSY;
use crate::archive::section_codec::{frame_estimate, pack_frame};
use crate::archive::{
    ArrayId, BLOCK_HEADER_LEN, BlockHeader, BlockKind, HeadParts, IndexEntry, Metadata, SUPERBLOCK_LEN, Salt,
    SectionKind, SectionTable, Superblock, TRAILER_LEN, Trailer, VariableTable, align8, parse_directory,
};
use crate::codec::{Chain, ChainSpec, CodecScratch, Registry};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// A frame may be smaller than its estimate by up to 1/ESTIMATED.
const ESTIMATED: usize = 4;
/// The tolerance for a whole file. It is smaller, since another short form exists already.
const ESTIMATED_WHOLE: usize = 8;

/// The short form with a directory, of at most `most` bytes. `None` if the archive has several generations,
/// an unknown digest, lost tiles, parity, index pages or sections of other kinds, or if the short form would
/// be too long.
///
/// # Errors
/// The archive is not sound.
pub fn shorten(archive: &[u8], most: usize) -> Result<Option<Vec<u8>>> {
    let Some(long) = Long::read(archive)? else { return Ok(None) };
    let most = most.min(SHORT_LEN);
    // Chosen by an estimate: compressing at the highest level takes as long as all earlier work on the
    // archive.
    let mut best: Option<(usize, Vec<u8>, Vec<&[u8]>)> = None;
    for inside in [true, false] {
        let Some(blocks) = long.records(archive, inside)? else { return Ok(None) };
        let (mut records, payloads): (Vec<_>, Vec<_>) = blocks.into_iter().unzip();
        let directory = Directory {
            required: long.trailer.required,
            original_len: long.superblock.original_len,
            head: long.head_for(&mut records),
            metadata: long.metadata.clone(),
            blocks: records,
        };
        let decoded = directory.encode();
        if decoded.len() as u64 > CONTENT_LEN {
            return Ok(None);
        }
        let outside: usize = payloads.iter().map(|p| p.len()).sum();
        if outside >= most {
            continue;
        }
        let frame = frame_estimate(&decoded)?;
        if outside + frame - frame / ESTIMATED > most {
            continue;
        }
        if best.as_ref().is_none_or(|best| outside + frame < best.0) {
            best = Some((outside + frame, decoded, payloads));
        }
    }
    let Some((_, decoded, payloads)) = best else { return Ok(None) };
    let mut out = long.short(Form::Directory, &pack_frame(&decoded)?)?;
    payloads.iter().for_each(|p| out.extend(*p));
    Ok(sound(out, most))
}

/// The short form with the classic file `file` itself as content, of at most `most` bytes. `None` for the
/// reasons of [`shorten`], or if it is longer. It expands to another archive than `archive`, with the same
/// content.
///
/// # Errors
/// The archive is not sound.
pub fn shorten_whole(archive: &[u8], file: &[u8], most: usize) -> Result<Option<Vec<u8>>> {
    let Some(long) = Long::read(archive)? else { return Ok(None) };
    let content = whole::content(long.trailer.required, &long.metadata, file);
    if content.len() as u64 > CONTENT_LEN {
        return Ok(None);
    }
    let (most, estimate) = (most.min(SHORT_LEN), frame_estimate(&content)?);
    if SHORT_PREFIX_LEN + estimate - estimate / ESTIMATED_WHOLE > most {
        return Ok(None);
    }
    Ok(sound(long.short(Form::Whole, &pack_frame(&content)?)?, most))
}

/// Refuses a short form that is too long, or that cannot be expanded again because of a rule of the long form
/// that this code does not know.
fn sound(short: Vec<u8>, most: usize) -> Option<Vec<u8>> {
    Some(short).filter(|short| short.len() <= most && expand(short).is_ok())
}

/// An archive in the long form, with the parts that the short form can represent.
struct Long {
    superblock: Superblock,
    trailer: Trailer,
    /// The digest of the original.
    sha256: [u8; 32],
    /// The head copy, decoded.
    head_copy: Vec<u8>,
    head: HeadParts,
    metadata: Vec<u8>,
    table: VariableTable,
    chains: Vec<Chain>,
}

impl Long {
    fn read(archive: &[u8]) -> Result<Option<Self>> {
        let limits = Limits::default();
        let at = archive.len().saturating_sub(TRAILER_LEN);
        let (Some(first), Some(last)) =
            (archive.first_chunk::<SUPERBLOCK_LEN>(), archive.last_chunk::<TRAILER_LEN>())
        else {
            return Ok(None);
        };
        let superblock = Superblock::decode(first)?;
        let trailer = Trailer::decode(last, at as u64, &superblock.salt)?;
        let plain = trailer.generation == 1
            && trailer.previous == 0
            && trailer.optional == 0
            && trailer.required & !REQUIRED_LOSSY == 0;
        let Some(sha256) = trailer.digest.sha256().filter(|_| plain) else { return Ok(None) };
        let table = part(archive, trailer.sections_offset, trailer.sections_len.into())?;
        let sections = SectionTable::decode(table, &trailer, at as u64, &superblock.salt, &limits)?;
        // A second copy of the head is omitted.
        if sections.entries().len() != 3 {
            return Ok(None);
        }
        let decoded = |kind| -> Result<Vec<u8>> {
            let entry = sections.find(kind)?;
            entry.decode(part(archive, entry.offset, entry.len)?, limits.metadata_len)
        };
        let (head, metadata) = (decoded(SectionKind::Head)?, decoded(SectionKind::Metadata)?);
        let table = VariableTable::decode(&decoded(SectionKind::VariableTable)?)?;
        let parts = HeadParts::split(&head, &limits)?;
        let salt = Salt::of_file(&parts.header, superblock.original_len, &sha256);
        if salt != superblock.salt || !Metadata::decode(&metadata, &limits)?.chains.is_empty() {
            return Ok(None);
        }
        let registry = Registry::default();
        let chains = parts.chains().iter().map(|chain| registry.bind(chain.clone())).collect();
        Ok(Some(Long { superblock, trailer, sha256, head_copy: head, head: parts, metadata, table, chains }))
    }

    /// Makes a short form with this content.
    fn short(&self, form: Form, content: &[u8]) -> Result<Vec<u8>> {
        let mut out = Prefix { form, sha256: self.sha256 }.encode(content)?.to_vec();
        out.extend(content);
        Ok(out)
    }

    /// The head with only the chains that `records` need, renumbered. Containers in the directory need none.
    /// Containers after the directory name their members' chains themselves: if there is one, all chains
    /// stay.
    fn head_for(&self, records: &mut [Record]) -> Vec<u8> {
        let names_chains =
            |r: &Record| r.kind == BlockKind::Container && matches!(r.payload, Payload::Outside { .. });
        if records.iter().any(names_chains) {
            return self.head_copy.clone();
        }
        let of_members = |record: &Record| record.members.iter().map(|m| m.chain).collect::<Vec<_>>();
        let mut used: Vec<u16> =
            records.iter().flat_map(|r| [vec![r.chain], of_members(r)].concat()).collect();
        used.push(0);
        used.sort_unstable();
        used.dedup();
        let number = |chain: &mut u16| {
            let place = used.binary_search(chain).expect("it is used");
            *chain = u16::try_from(place).expect("not above its own number");
        };
        for record in records {
            number(&mut record.chain);
            record.members.iter_mut().for_each(|m| number(&mut m.chain));
        }
        let chains: Vec<ChainSpec> =
            used.iter().map(|&n| self.chains[usize::from(n)].spec().clone()).collect();
        self.head.with_chains(&chains)
    }

    /// The blocks, and the payloads that are stored after the directory. With `inside`, containers are in the
    /// directory if possible.
    fn records<'a>(&self, archive: &'a [u8], inside: bool) -> Result<Option<Vec<(Record, &'a [u8])>>> {
        let mut all = Vec::new();
        let mut at = self.trailer.blocks_begin;
        while at < self.trailer.blocks_end {
            let header = part(archive, at, BLOCK_HEADER_LEN as u64)?;
            let header = header.first_chunk().expect("as long as was asked for");
            let (header, _) = BlockHeader::decode(header, &self.superblock.salt, at)?;
            let payload = part(archive, at + BLOCK_HEADER_LEN as u64, header.stored_len.into())?;
            let known = |chain: u16| usize::from(chain) < self.chains.len();
            let Some(record) = self.record(&header, at, payload, inside)? else { return Ok(None) };
            if !known(record.chain) || !record.members.iter().all(|m| known(m.chain)) {
                return Ok(None);
            }
            let outside = matches!(record.payload, Payload::Outside { .. });
            all.push((record, if outside { payload } else { &[] }));
            at = align8(at + (BLOCK_HEADER_LEN + payload.len()) as u64);
        }
        Ok(Some(all))
    }

    fn record(
        &self,
        header: &BlockHeader,
        offset: u64,
        payload: &[u8],
        inside: bool,
    ) -> Result<Option<Record>> {
        let &BlockHeader { kind, array, tile, chain, decoded_len, decoded_crc, payload_crc: crc, .. } =
            header;
        let len = header.stored_len;
        let decoded_crc = if chain == 0 { 0 } else { decoded_crc };
        let mut record = Record {
            kind,
            array,
            tile,
            chain,
            decoded_len,
            decoded_crc,
            payload: Payload::Outside { len, crc },
            members: Vec::new(),
        };
        match kind {
            BlockKind::Tile | BlockKind::Definition => {}
            BlockKind::Container => {
                let Some(decoded) = self.decoded(header, payload)? else { return Ok(None) };
                let Some(members) = self.members(offset, &decoded)? else { return Ok(None) };
                let start = container_start(&members);
                // A container directory that differs from this writer's would not be restored exactly.
                if !decoded.starts_with(&start) {
                    return Ok(None);
                }
                record.members = members;
                if inside {
                    record = Record { chain: 0, decoded_len: 0, decoded_crc: 0, ..record };
                    record.payload = Payload::Inside(decoded[start.len()..].to_vec());
                }
            }
            BlockKind::Constants => {
                let Some(decoded) = self.decoded(header, payload)? else { return Ok(None) };
                record = Record { chain: 0, decoded_len: 0, decoded_crc: 0, ..record };
                record.payload = Payload::Inside(decoded);
            }
            _ => return Ok(None),
        }
        Ok(Some(record))
    }

    /// A decoded container or list. `None` if it is larger than a directory may be.
    fn decoded(&self, header: &BlockHeader, payload: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some(chain) = self.chains.get(usize::from(header.chain)) else { return Ok(None) };
        if u64::from(header.decoded_len) > CONTENT_LEN {
            return Ok(None);
        }
        let mut out = vec![0; header.decoded_len as usize];
        chain.decode_bytes(payload, &mut CodecScratch::default(), &mut out)?;
        Ok(Some(out))
    }

    /// The members of the container at `offset`, with their checksums from the index.
    fn members(&self, offset: u64, decoded: &[u8]) -> Result<Option<Vec<MemberRow>>> {
        let mut rows = Vec::new();
        for m in parse_directory(decoded)? {
            match self.entry(m.array, m.tile) {
                Some(IndexEntry::Shared { offset: here, check, .. }) if here == offset => {
                    rows.push(MemberRow { array: m.array, tile: m.tile, chain: m.chain, len: m.len, check });
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(rows))
    }

    fn entry(&self, array: ArrayId, tile: u64) -> Option<IndexEntry> {
        let (_, entries) = self.table.find(array)?;
        entries.get(usize::try_from(tile).ok()?).copied()
    }
}

/// Bytes of the archive.
fn part(archive: &[u8], offset: u64, len: u64) -> Result<&[u8]> {
    let whole = archive.len() as u64;
    let end = offset.checked_add(len).filter(|end| *end <= whole);
    let range = end.and_then(|end| Some(usize::try_from(offset).ok()?..usize::try_from(end).ok()?));
    let missing = || {
        let room = whole.saturating_sub(offset);
        Error::truncated("archive", offset, "structure", len.saturating_sub(room), room)
    };
    range.map(|range| &archive[range]).ok_or_else(missing)
}
