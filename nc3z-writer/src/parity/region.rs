//! Writes the region: catalogue packets, parity shards, and the packets' own parity. Reads the archive about twice,
//! and uses working memory for as many groups as `memory` allows, at least one (48 MiB at 5%, 12 MiB at 1%).

use super::encode::Groups;
use crate::error::{ErrorKind, Result};
use crate::generation::Medium;
use nc3z_format::parity::{DIGEST_LEN, Encoder, Packet, ParityLayout};
use nc3z_reader::Monitor;
use nc3z_reader::source::clear_slots;
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::ops::Range;

/// Shards that are checked and hashed in one step.
const STEP: u64 = 1024;

/// The part of the archive that parity covers: the written bytes, and the section table and trailer that are not
/// written yet.
pub(super) struct Covered<'a> {
    pub(super) medium: &'a Medium<'a>,
    pub(super) layout: &'a ParityLayout,
    pub(super) tail: &'a [u8],
}

impl Covered<'_> {
    /// Bytes of a shard.
    pub(super) fn shard_len(&self) -> usize {
        usize::try_from(self.layout.params.shard_len).expect("at most 4096")
    }

    /// Reads the data shards of a range; the last is filled up with zeros.
    pub(super) fn read(&self, shards: Range<u64>, out: &mut [u8]) -> Result<()> {
        let len = self.layout.params.shard_len;
        let small = |n: u64| usize::try_from(n).expect("inside the buffer");
        let head = (self.layout.params.begin / len).clamp(shards.start, shards.end);
        let (file, tail) = out.split_at_mut(small((head - shards.start) * len));
        self.read_file(shards.start * len, file)?;
        if head < shards.end {
            let from = small(self.layout.shard_place(head).start - self.layout.params.end);
            let have = &self.tail[from..self.tail.len().min(from + tail.len())];
            tail[..have.len()].copy_from_slice(have);
            tail[have.len()..].fill(0);
        }
        Ok(())
    }

    fn read_file(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.medium.read_exact_at(out, offset)?;
        // Every commit rewrites the commit slots, so parity treats them as zeros.
        clear_slots(offset, out);
        Ok(())
    }

    pub(super) fn write(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.medium.write_at(offset, bytes)
    }
}

pub(super) fn write(covered: &Covered<'_>, memory: u64, monitor: &dyn Monitor) -> Result<()> {
    let layout = covered.layout;
    let mut catalogue = Catalogue::new(covered);
    let digest = check_data(covered, &mut catalogue, monitor)?;
    Groups::new(covered, memory).write(monitor)?;
    let len = covered.shard_len();
    let mut shard = vec![0; len];
    for number in layout.shards.items()..layout.shard_count() {
        covered.read_file(layout.shard_place(number).start, &mut shard)?;
        catalogue.push(crc32fast::hash(&shard))?;
    }
    catalogue.finish(digest)?;
    (0..layout.packets.groups()).try_for_each(|group| packet_parity(covered, group))
}

/// Puts the data shards' checksums into the catalogue; returns the digest of their bytes.
fn check_data(
    covered: &Covered<'_>,
    catalogue: &mut Catalogue<'_>,
    monitor: &dyn Monitor,
) -> Result<[u8; 32]> {
    let layout = covered.layout;
    let len = covered.shard_len();
    let items = layout.shards.items();
    let mut sha = Sha256::new();
    let mut left = layout.covered().iter().map(|r| r.end - r.start).sum::<u64>();
    let mut buffer = vec![0; usize::try_from(STEP).expect("1024") * len];
    for begin in (0..items).step_by(usize::try_from(STEP).expect("1024")) {
        if monitor.is_cancelled() {
            return Err(ErrorKind::Interrupted.into());
        }
        let end = (begin + STEP).min(items);
        let bytes = &mut buffer[..usize::try_from(end - begin).expect("at most STEP") * len];
        covered.read(begin..end, bytes)?;
        // The digest covers the archive's bytes, without the zeros after the last.
        let real = usize::try_from(left).map_or(bytes.len(), |n| n.min(bytes.len()));
        left -= real as u64;
        let (checks, ()) = rayon::join(
            || bytes.par_chunks(len).map(crc32fast::hash).collect::<Vec<_>>(),
            || sha.update(&bytes[..real]),
        );
        checks.into_iter().try_for_each(|check| catalogue.push(check))?;
        monitor.advance(bytes.len() as u64);
    }
    Ok(sha.finalize().into())
}

/// The catalogue, written packet by packet; the first is written last, because it contains the digest.
struct Catalogue<'a> {
    covered: &'a Covered<'a>,
    number: u64,
    open: Vec<u8>,
    first: Vec<u8>,
}

impl<'a> Catalogue<'a> {
    fn new(covered: &'a Covered<'a>) -> Self {
        let digest = vec![0; usize::try_from(DIGEST_LEN).expect("32")];
        Catalogue { covered, number: 0, open: digest, first: Vec::new() }
    }

    fn push(&mut self, check: u32) -> Result<()> {
        self.open.extend(check.to_le_bytes());
        if self.open.len() as u64 == self.covered.layout.payload_len() { self.close() } else { Ok(()) }
    }

    fn close(&mut self) -> Result<()> {
        let payload = std::mem::take(&mut self.open);
        if self.number == 0 {
            self.first = payload;
        } else {
            self.write(self.number, &payload)?;
        }
        self.number += 1;
        Ok(())
    }

    fn write(&self, number: u64, payload: &[u8]) -> Result<()> {
        let layout = self.covered.layout;
        self.covered.write(layout.packet_offset(number), &Packet::encode(layout, number, payload))
    }

    fn finish(mut self, digest: [u8; 32]) -> Result<()> {
        if !self.open.is_empty() {
            self.open.resize(usize::try_from(self.covered.layout.payload_len()).expect("at most 4096"), 0);
            self.close()?;
        }
        self.first[..digest.len()].copy_from_slice(&digest);
        self.write(0, &self.first)
    }
}

/// Parity packets of one group of packets.
fn packet_parity(covered: &Covered<'_>, group: u64) -> Result<()> {
    let (layout, code) = (covered.layout, &covered.layout.packets);
    let small = |n: u64| usize::try_from(n).expect("Interleave: at most 65,536 positions");
    let mut encoder = Encoder::new(small(code.parity()), small(layout.payload_len()));
    let span = encoder.span();
    let header = layout.params.packet_len - layout.payload_len();
    for begin in (0..code.slots(group)).step_by(span) {
        let count = small(code.slots(group) - begin).min(span);
        for i in 0..count {
            let packet = code.item_at(group, begin + i as u64).expect("below the group's slots");
            covered.read_file(layout.packet_offset(packet) + header, encoder.shard_mut(i))?;
        }
        encoder.take(count);
    }
    encoder.finish();
    for row in 0..code.parity() {
        let number = code.items() + code.parity_item(group, row);
        let packet = Packet::encode(layout, number, encoder.parity(small(row)));
        covered.write(layout.packet_offset(number), &packet)?;
    }
    Ok(())
}
