//! Finds damaged shards and packets, and decides whether parity can repair them.

use super::catalogue::Catalogue;
use super::locate::{Located, locate};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::newest::SLOTS;
use crate::parallel;
use crate::source::{ByteSource, SharedSource};
use nc3z_format::archive::{SUPERBLOCK_LEN, Superblock};
use nc3z_format::parity::ParityLayout;
use std::collections::BTreeMap;
use std::ops::Range;

/// Packets' worth of shards that are checked in one step, each about 4 MiB of the archive.
const STEP: u64 = 64;

/// The result of a check of the parity.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ParityReport {
    /// The places of all parts in the undamaged archive.
    pub layout: ParityLayout,
    /// The number of bytes that the file has lost from its beginning. If it is not 0, offsets are those of [`ParityReport::view`].
    pub missing: u64,
    /// SHA-256 of the covered bytes, as recorded.
    pub digest: [u8; 32],
    /// Numbers of damaged packets, ascending.
    pub lost_packets: Vec<u64>,
    /// Numbers of damaged shards, ascending: data shards first, then parity shards.
    pub lost_shards: Vec<u64>,
    /// True where a commit slot is damaged. Shards have zeros in its place; a repair writes it anew. Only [`check()`] finds out.
    pub lost_slots: bool,
    /// Groups that lost more shards than they have parity for, with the number of lost shards.
    pub overloaded: Vec<(u64, u64)>,
    /// The most shards that one group has lost.
    pub worst: u64,
    /// Bytes of the file after the part that the parity covers: later generations, or an unfinished commit.
    pub uncovered: u64,
    /// The reason why the archive would be unsound even with every lost shard computed: damage that the
    /// parity does not cover, or damage that is older than the parity. Only [`super::judge()`] sets it.
    pub refused: Option<String>,
}

impl ParityReport {
    /// True if neither the covered bytes nor the parity itself are damaged.
    pub fn is_intact(&self) -> bool {
        self.lost_packets.is_empty() && self.lost_shards.is_empty() && !self.lost_slots
    }

    /// Returns the source with the offsets of the undamaged archive. [`super::repair()`] and [`super::prove()`] need this view.
    pub fn view(&self, source: &SharedSource) -> SharedSource {
        Located { layout: self.layout.clone(), missing: self.missing }.view(source)
    }

    /// True if all damage can be repaired; after [`super::judge()`], if the archive is then sound.
    pub fn is_repairable(&self) -> bool {
        self.overloaded.is_empty() && self.refused.is_none()
    }

    /// Damaged data shards: those that hold the archive, not its parity.
    pub fn lost_data(&self) -> usize {
        self.lost_shards.partition_point(|&s| s < self.layout.shards.items())
    }

    /// The damaged byte ranges of the file, ascending, neighbours joined.
    pub fn damage(&self) -> Vec<Range<u64>> {
        let packets = self.lost_packets.iter().map(|&j| {
            let at = self.layout.packet_offset(j);
            at..at + self.layout.params.packet_len
        });
        let slots = self.lost_slots.then_some(SLOTS);
        let shards = self.lost_shards.iter().map(|&s| self.layout.shard_place(s));
        let mut places: Vec<Range<u64>> = shards.chain(packets).chain(slots).collect();
        places.sort_by_key(|r| r.start);
        let mut joined: Vec<Range<u64>> = Vec::new();
        for place in places {
            // The slots are inside of a shard.
            match joined.last_mut().filter(|last| last.end >= place.start) {
                Some(last) => last.end = last.end.max(place.end),
                None => joined.push(place),
            }
        }
        joined
    }

    /// Returns an error if groups have lost more shards than parity can compute.
    pub(super) fn check_repairable(&self) -> Result<()> {
        if self.is_repairable() {
            return Ok(());
        }
        if let Some(why) = &self.refused {
            let found = format!(
                "the parity repairs its part, but the archive would still be damaged: {why}; nothing was changed"
            );
            return Err(nc3z_format::Error::corrupt(
                "archive",
                None,
                "state after a repair by parity",
                "sound",
                found,
            )
            .into());
        }
        Err(nc3z_format::Error::corrupt(
            "archive",
            None,
            "number of lost shards in one group",
            format!("at most {}: damage beyond its parity, nothing was changed", self.layout.shards.parity()),
            self.worst,
        )
        .into())
    }
}

impl std::fmt::Display for ParityReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (shards, packets) = (self.layout.shard_count(), self.layout.packet_count());
        let damaged = (self.lost_shards.len(), self.lost_packets.len());
        if self.is_intact() {
            write!(f, "parity intact ({shards} shards, {packets} packets)")?;
        } else if let Some(why) = &self.refused {
            write!(f, "damaged beyond what its parity covers ({why})")?;
        } else if self.is_repairable() {
            write!(
                f,
                "damaged, repairable by parity ({} of {shards} shards, {} of {packets} packets{})",
                damaged.0,
                damaged.1,
                if self.lost_slots { ", the commit slots" } else { "" }
            )?;
        } else {
            write!(
                f,
                "damaged beyond its parity ({} of {shards} shards; {} in one group, which can lose {})",
                damaged.0,
                self.worst,
                self.layout.shards.parity()
            )?;
        }
        if self.uncovered > 0 {
            write!(f, "; stale: it does not cover the last {} bytes", self.uncovered)?;
        }
        Ok(())
    }
}

/// Finds the archive's parity and checks every byte that it covers. `None` where the archive has no parity. The archive need not open.
///
/// # Errors
/// As [`super::locate()`] and [`check_at`].
pub fn check(source: &SharedSource, monitor: &dyn Monitor) -> Result<Option<ParityReport>> {
    let Some(located) = locate(source)? else { return Ok(None) };
    let report = check_at(&*located.view(source), &located.layout, monitor)?;
    // A file that lost its beginning has other bytes there.
    let lost_slots = located.missing == 0 && has_damaged_slots(source, &located.layout);
    Ok(Some(ParityReport { missing: located.missing, lost_slots, ..report }))
}

/// True if a commit slot of the archive is damaged. Unreadable bytes are a lost shard.
pub(super) fn has_damaged_slots(source: &SharedSource, layout: &ParityLayout) -> bool {
    let mut bytes = [0; SUPERBLOCK_LEN];
    source.read_into(0, &mut bytes).is_ok() && Superblock::slots(&bytes, &layout.params.salt).has_damage()
}

/// Checks every byte that this parity covers, and the parity itself. The progress in `monitor` counts bytes
/// of the archive.
///
/// # Errors
/// The source cannot be read; too many packets are lost to read the shards' checksums; the monitor cancelled.
pub fn check_at(
    source: &dyn ByteSource,
    layout: &ParityLayout,
    monitor: &dyn Monitor,
) -> Result<ParityReport> {
    check_from(source, layout, 0, monitor)
}

/// Checks the parity itself, packets and parity shards, but not the archive.
///
/// # Errors
/// As [`check_at`].
pub(crate) fn check_region(
    source: &dyn ByteSource,
    layout: &ParityLayout,
    monitor: &dyn Monitor,
) -> Result<ParityReport> {
    check_from(source, layout, layout.shards.items(), monitor)
}

fn check_from(
    source: &dyn ByteSource,
    layout: &ParityLayout,
    from: u64,
    monitor: &dyn Monitor,
) -> Result<ParityReport> {
    let catalogue = Catalogue::read(source, layout)?;
    let packets = layout.packets.items();
    let first = (0..packets).find(|&p| layout.packet_shards(p).0.end > from).unwrap_or(packets);
    let mut lost_shards = Vec::new();
    for begin in (first..packets).step_by(usize::try_from(STEP).expect("64")) {
        if monitor.is_cancelled() {
            return Err(Error::interrupted());
        }
        let end = (begin + STEP).min(packets);
        let lost = parallel::map((begin..end).collect(), |packet| {
            let (first, checks) = catalogue.checks(packet)?;
            let skip =
                usize::try_from(from.saturating_sub(first)).map_or(checks.len(), |n| n.min(checks.len()));
            let lost = lost_among(source, layout, first + skip as u64, &checks[skip..])?;
            monitor.advance((checks.len() - skip) as u64 * layout.params.shard_len);
            Ok(lost)
        });
        lost.into_iter().collect::<Result<Vec<_>>>()?.into_iter().for_each(|l| lost_shards.extend(l));
    }
    let mut loads: BTreeMap<u64, u64> = BTreeMap::new();
    for &shard in &lost_shards {
        *loads.entry(group_of(layout, shard)).or_default() += 1;
    }
    let most = layout.shards.parity();
    Ok(ParityReport {
        missing: 0,
        digest: catalogue.digest()?,
        lost_packets: catalogue.lost(),
        lost_shards,
        worst: loads.values().copied().max().unwrap_or(0),
        overloaded: loads.into_iter().filter(|&(_, lost)| lost > most).collect(),
        uncovered: source.len().saturating_sub(layout.params.archive_len),
        lost_slots: false,
        refused: None,
        layout: layout.clone(),
    })
}

/// Group of a data or parity shard.
pub(super) fn group_of(layout: &ParityLayout, shard: u64) -> u64 {
    match shard.checked_sub(layout.shards.items()) {
        Some(parity) => layout.shards.parity_place(parity).0,
        None => layout.shards.group_of(shard),
    }
}

/// Returns the shards from `first` on that have a wrong checksum or cannot be read. Adjacent shards are read
/// together, unless the medium refuses a sector among them.
fn lost_among(
    source: &dyn ByteSource,
    layout: &ParityLayout,
    first: u64,
    checks: &[u32],
) -> Result<Vec<u64>> {
    let len = usize::try_from(layout.params.shard_len).expect("at most 4096");
    let mut lost = Vec::new();
    let mut most = checks.len();
    let mut at = 0;
    while at < checks.len() {
        let place = neighbours(layout, first + at as u64, most.min(checks.len() - at), source.len());
        if place.is_empty() {
            lost.push(first + at as u64);
            at += 1;
            continue;
        }
        let bytes = match source.read_at(place.start, usize::try_from(place.end - place.start).expect("few"))
        {
            Err(e) if super::is_lost(&e) && most > 1 => {
                most = 1;
                continue;
            }
            Err(e) if super::is_lost(&e) => {
                lost.push(first + at as u64);
                at += 1;
                continue;
            }
            bytes => bytes?,
        };
        for shard in bytes.chunks(len) {
            if shard_check(shard, len) != checks[at] {
                lost.push(first + at as u64);
            }
            at += 1;
        }
    }
    Ok(lost)
}

/// The bytes of at most `most` shards that follow each other inside the file.
fn neighbours(layout: &ParityLayout, first: u64, most: usize, file_len: u64) -> Range<u64> {
    let begin = layout.shard_place(first).start;
    let mut end = begin;
    for shard in (first..).take(most) {
        let place = layout.shard_place(shard);
        if place.start != end || place.end > file_len {
            break;
        }
        end = place.end;
    }
    begin..end
}

/// The checksum of a shard. Missing bytes count as zeros.
pub(super) fn shard_check(shard: &[u8], len: usize) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(shard);
    crc.update(&[0; 4096][..len - shard.len()]);
    crc.finalize()
}
