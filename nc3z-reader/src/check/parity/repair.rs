//! Repair: the correct bytes of every lost place, and the proof that the whole is correct again.

use super::catalogue::Catalogue;
use super::check::{ParityReport, group_of, shard_check};
use super::reconstruct::{Member, Threads, recover};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::source::ByteSource;
use nc3z_format::Error as FormatError;
use nc3z_format::bytes::hex;
use nc3z_format::parity::ParityLayout;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Bytes that are hashed at a time.
const HASH_LEN: u64 = 1 << 20;

/// Counts of the repaired parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepairedShards {
    /// Shards, of data and of parity.
    pub shards: u64,
    /// Packets.
    pub packets: u64,
    /// Bytes handed out.
    pub bytes: u64,
}

/// Computes the lost parts of a source ([`ParityReport::view`]) and passes them to `write` as offset and
/// bytes, in no order. Only lost shards and packets are passed, each complete and with its recorded checksum.
/// Writing them over the damaged archive, in part or all, never makes it worse.
///
/// # Errors
/// More damage than the parity can repair, before anything is passed; shards that do not fit their checksums;
/// the source cannot be read or changed since the check; errors of `write`.
pub fn repair(
    source: &dyn ByteSource,
    report: &ParityReport,
    monitor: &dyn Monitor,
    write: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
) -> Result<RepairedShards> {
    report.check_repairable()?;
    let layout = &report.layout;
    let catalogue = Catalogue::read(source, layout)?;
    let mut done = RepairedShards { shards: 0, packets: 0, bytes: 0 };
    let mut groups: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for &shard in &report.lost_shards {
        groups.entry(group_of(layout, shard)).or_default().push(shard);
    }
    for (group, shards) in groups {
        if monitor.is_cancelled() {
            return Err(Error::interrupted());
        }
        for (shard, bytes) in group_shards(source, layout, group, &shards, Threads::All)? {
            let (found, expected) = (shard_check(&bytes, bytes.len()), catalogue.check(shard)?);
            let place = layout.shard_place(shard);
            if found != expected {
                let (expected, found) = (format!("{expected:08x}"), format!("{found:08x}"));
                return Err(
                    FormatError::corrupt("repaired shard", place.start, "CRC", expected, found).into()
                );
            }
            let len = usize::try_from(place.end - place.start).expect("at most a shard");
            write(place.start, &bytes[..len])?;
            done.shards += 1;
            done.bytes += len as u64;
        }
        monitor.advance(layout.shards.slots(group) * layout.params.shard_len);
    }
    for (offset, bytes) in catalogue.repaired() {
        write(offset, &bytes)?;
        done.packets += 1;
        done.bytes += bytes.len() as u64;
    }
    Ok(done)
}

/// The lost shards of one group.
pub(super) fn group_shards(
    source: &dyn ByteSource,
    layout: &ParityLayout,
    group: u64,
    shards: &[u64],
    threads: Threads,
) -> Result<Vec<(u64, Vec<u8>)>> {
    let items = layout.shards.items();
    let lost: Vec<Member> = shards
        .iter()
        .map(|&shard| shard.checked_sub(items).map_or(Member::Data(shard), Member::Parity))
        .collect();
    let number = |member| match member {
        Member::Data(item) => item,
        Member::Parity(item) => items + item,
    };
    let len = usize::try_from(layout.params.shard_len).expect("at most 4096");
    let read = |member, column: usize, out: &mut [u8]| {
        let place = layout.shard_place(number(member));
        let have = usize::try_from(place.end - place.start).expect("at most a shard");
        let (inside, beyond) = out.split_at_mut(have.saturating_sub(column).min(out.len()));
        beyond.fill(0);
        if inside.is_empty() { Ok(()) } else { source.read_into(place.start + column as u64, inside) }
    };
    let recovered = recover(&layout.shards, group, &lost, len, threads, &read)?;
    Ok(recovered.into_iter().map(|(member, bytes)| (number(member), bytes)).collect())
}

/// Compares the SHA-256 of the covered bytes with the one recorded when the parity was made.
///
/// # Errors
/// They differ; the source cannot be read; the monitor cancelled.
pub fn prove(source: &dyn ByteSource, report: &ParityReport, monitor: &dyn Monitor) -> Result<()> {
    let mut sha = Sha256::new();
    for range in report.layout.covered() {
        let mut at = range.start;
        while at < range.end {
            if monitor.is_cancelled() {
                return Err(Error::interrupted());
            }
            let n = (range.end - at).min(HASH_LEN);
            sha.update(source.read_at(at, usize::try_from(n).expect("at most HASH_LEN"))?);
            monitor.advance(n);
            at += n;
        }
    }
    let found: [u8; 32] = sha.finalize().into();
    if found == report.digest {
        return Ok(());
    }
    Err(FormatError::corrupt("repaired archive", None, "SHA-256", hex(&report.digest), hex(&found)).into())
}
