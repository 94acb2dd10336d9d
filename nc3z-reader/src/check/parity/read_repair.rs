//! Reading through damage: a source whose damaged shards are computed from the archive's parity when they are read. The file is not
//! changed.
//!
//! Until a reader finds damage, the source returns the bytes unchanged. From then on ([`ReadRepairSource::begin`]) each shard that is
//! read is compared with its checksum. The lost shards of a group are computed together, once, and kept in memory, up to [`HELD`] bytes.
//! If a group has lost too much, its bytes are returned unchanged, and the reader reports the damage.

use super::catalogue::{Catalogue, RepairedPackets};
use super::check::{group_of, has_damaged_slots, shard_check};
use super::locate::{Located, locate};
use super::reconstruct::Threads;
use super::repair::group_shards;
use super::slots::slots_of;
use super::{is_lost, readable};
use crate::error::{Error, Result};
use crate::newest::SLOTS;
use crate::source::{ByteSource, Reach, SharedSource, check_range};
use bytes::Bytes;
use nc3z_format::parity::ParityLayout;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Computed bytes that are held. An archive that needs more has to be repaired.
const HELD: usize = 256 << 20;
/// A remote file up to this length is searched for parity if it does not open.
const SEARCHED: u64 = 64 << 20;

/// Damage of an archive that was read by means of its parity.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadRepair {
    /// The place of the first damaged bytes that were read.
    pub place: Range<u64>,
}

impl std::fmt::Display for ReadRepair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (first, last) = (self.place.start, self.place.end.saturating_sub(1));
        write!(
            f,
            "damaged, for example in bytes {first} to {last}; the lost bytes were computed from its parity"
        )
    }
}

/// Receives a report of each archive that is read through damage.
#[derive(Clone)]
pub(crate) struct ReadRepairHook(pub(crate) Arc<dyn Fn(&ReadRepair) + Send + Sync>);

impl std::fmt::Debug for ReadRepairHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReadRepairHook")
    }
}

/// A source that computes damaged bytes from parity.
pub(crate) struct ReadRepairSource {
    under: SharedSource,
    report: ReadRepairHook,
    /// Set when a reader has found damage. `None` if the archive has no parity that can be read.
    parity: OnceLock<Option<Parity>>,
    /// Commit slots that replace damaged ones.
    slots: OnceLock<Bytes>,
    /// The first damage that was repaired.
    found: OnceLock<ReadRepair>,
}

/// The parity of a damaged archive.
struct Parity {
    /// The source with zeros for its commit slots.
    view: SharedSource,
    layout: ParityLayout,
    packets: RepairedPackets,
    /// The checksums of one packet, and the number of its first shard.
    checks: Mutex<(u64, Arc<[u32]>)>,
    shards: Mutex<Shards>,
}

#[derive(Default)]
struct Shards {
    repaired: BTreeMap<u64, Bytes>,
    held: usize,
    /// Groups that were computed, or that have lost too much.
    groups: BTreeSet<u64>,
}

impl ReadRepairSource {
    pub(crate) fn new(under: SharedSource, report: ReadRepairHook) -> Self {
        ReadRepairSource {
            under,
            report,
            parity: OnceLock::new(),
            slots: OnceLock::new(),
            found: OnceLock::new(),
        }
    }

    /// Returns whether an error may be due to damage that parity repairs.
    pub(crate) fn may_repair(error: &Error) -> bool {
        error.is_corrupt() || is_lost(error)
    }

    /// Begins to compare all bytes that are read with their checksums. Returns false if the archive has no parity.
    pub(crate) fn begin(&self) -> bool {
        self.parity.get_or_init(|| self.find().ok().flatten()).is_some()
    }

    /// As [`ReadRepairSource::begin`], for an archive that does not open. Damaged commit slots are computed, too.
    pub(crate) fn begin_to_open(self: &Arc<Self>) -> bool {
        let may_search = !self.under.reach().fetches_ahead() || self.under.len() <= SEARCHED;
        if !may_search || !self.begin() {
            return false;
        }
        let Some(Some(parity)) = self.parity.get() else { return false };
        // Bytes after those that the parity covers may be a later version, which only the commit slots name.
        if self.under.len() <= parity.layout.params.archive_len
            && has_damaged_slots(&self.under, &parity.layout)
        {
            let repaired: SharedSource = Arc::<Self>::clone(self);
            if let Ok(Some((salt, slots))) = slots_of(&self.under, 0, &repaired) {
                let _ = self.slots.set(Bytes::copy_from_slice(&slots.encode(&salt)));
            }
        }
        true
    }

    fn find(&self) -> Result<Option<Parity>> {
        // A file that lost its beginning or its end has to be repaired: it may be a copy that is not complete.
        let len = self.under.len();
        let is_complete =
            |located: &Located| located.missing == 0 && located.layout.params.archive_len <= len;
        let Some(located) = locate(&self.under)?.filter(is_complete) else { return Ok(None) };
        let view = located.view(&self.under);
        let Located { layout, .. } = located;
        let packets = Catalogue::read_on(&*view, &layout, Threads::One)?.into_repaired();
        let checks = Mutex::new((0, Arc::default()));
        Ok(Some(Parity { view, layout, packets, checks, shards: Mutex::default() }))
    }

    /// The first damage that was repaired.
    pub(crate) fn found(&self) -> Option<&ReadRepair> {
        self.found.get()
    }

    /// Reports the first damage that was repaired.
    fn report(&self, place: Range<u64>) {
        let repaired = ReadRepair { place };
        if self.found.set(repaired.clone()).is_ok() {
            (self.report.0)(&repaired);
        }
    }

    fn active(&self) -> Option<&Parity> {
        self.parity.get()?.as_ref()
    }

    /// Fills `buf` with the bytes of shards, repaired where they are damaged.
    fn read_repaired(&self, parity: &Parity, offset: u64, buf: &mut [u8]) -> Result<()> {
        let mut at = offset;
        let mut rest = &mut *buf;
        while !rest.is_empty() {
            let Some(shard) = parity.shard_at(at) else {
                // The parity itself, or bytes that it does not cover.
                let end = if at < parity.layout.params.end { parity.layout.params.end } else { u64::MAX };
                let len = usize::try_from(end - at).map_or(rest.len(), |len| len.min(rest.len()));
                let (here, after) = rest.split_at_mut(len);
                parity.view.read_into(at, here)?;
                rest = after;
                at += len as u64;
                continue;
            };
            let place = parity.layout.shard_place(shard);
            let (bytes, is_repaired) = parity.shard(shard)?;
            if is_repaired {
                self.report(place.clone());
            }
            let from = usize::try_from(at - place.start).expect("less than a shard");
            let len = (bytes.len() - from).min(rest.len());
            let (here, after) = rest.split_at_mut(len);
            here.copy_from_slice(&bytes[from..from + len]);
            rest = after;
            at += len as u64;
        }
        self.put_slots(offset, buf)
    }

    /// Puts the commit slots into bytes of the view, which has zeros for them.
    fn put_slots(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let (from, to) = (SLOTS.start.max(offset), SLOTS.end.min(offset + buf.len() as u64));
        if from >= to {
            return Ok(());
        }
        let within = |at: u64, base: u64| usize::try_from(at - base).expect("within the slots");
        let out = &mut buf[within(from, offset)..within(to, offset)];
        match self.slots.get() {
            Some(slots) => out.copy_from_slice(&slots[within(from, SLOTS.start)..within(to, SLOTS.start)]),
            None => self.under.read_into(from, out)?,
        }
        Ok(())
    }
}

impl Parity {
    /// The data shard that contains a byte. `None` for bytes of the parity, and for those behind the archive.
    fn shard_at(&self, at: u64) -> Option<u64> {
        let params = &self.layout.params;
        if at < params.begin {
            return Some(at / params.shard_len);
        }
        let behind = at.checked_sub(params.end).filter(|_| at < params.archive_len)?;
        Some(params.begin / params.shard_len + behind / params.shard_len)
    }

    fn shard_len(&self) -> usize {
        usize::try_from(self.layout.params.shard_len).expect("at most 4096")
    }

    /// The bytes of a shard in the file. Those that cannot be read, or are missing, are zeros.
    fn stored(&self, shard: u64) -> Result<Bytes> {
        let place = self.layout.shard_place(shard);
        let len = usize::try_from(place.end - place.start).expect("at most a shard");
        let there = usize::try_from(self.view.len().saturating_sub(place.start)).map_or(len, |n| n.min(len));
        let bytes = if there == 0 { Bytes::new() } else { readable(&*self.view, place.start, there)? };
        if there == len {
            return Ok(bytes);
        }
        let mut all = bytes.to_vec();
        all.resize(len, 0);
        Ok(all.into())
    }

    /// The recorded checksum of a shard.
    fn check(&self, shard: u64) -> Result<u32> {
        let find = |(first, checks): &(u64, Arc<[u32]>)| {
            let at = usize::try_from(shard.checked_sub(*first)?).ok()?;
            checks.get(at).copied()
        };
        let mut held = self.checks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(check) = find(&held) {
            return Ok(check);
        }
        let catalogue = Catalogue::with_repaired(&*self.view, &self.layout, Cow::Borrowed(&self.packets));
        let (first, checks) = catalogue.checks(self.layout.packet_of(shard))?;
        *held = (first, checks.into());
        find(&held).ok_or_else(|| nc3z_format::Error::invalid(format!("no shard {shard}")).into())
    }

    fn is_whole(&self, shard: u64, bytes: &[u8]) -> Result<bool> {
        Ok(shard_check(bytes, self.shard_len()) == self.check(shard)?)
    }

    /// The bytes of a data shard, and true if they were computed. If it is damaged and its group cannot be computed, the damaged bytes.
    fn shard(&self, shard: u64) -> Result<(Bytes, bool)> {
        let lock = || self.shards.lock().unwrap_or_else(PoisonError::into_inner);
        let held = |shards: &Shards| shards.repaired.get(&shard).map(|bytes| (bytes.clone(), true));
        if let Some(repaired) = held(&lock()) {
            return Ok(repaired);
        }
        let stored = self.stored(shard)?;
        if self.is_whole(shard, &stored)? {
            return Ok((stored, false));
        }
        let mut shards = lock();
        self.repair(group_of(&self.layout, shard), &mut shards)?;
        Ok(held(&shards).unwrap_or((stored, false)))
    }

    /// Computes the lost shards of a group, unless it has lost too many, or that was done before.
    fn repair(&self, group: u64, shards: &mut Shards) -> Result<()> {
        let code = &self.layout.shards;
        if !shards.groups.insert(group) {
            return Ok(());
        }
        let data = (0..code.slots(group)).filter_map(|slot| code.item_at(group, slot));
        let parity = (0..code.parity()).map(|row| code.items() + code.parity_item(group, row));
        let mut lost = Vec::new();
        for shard in data.chain(parity) {
            if !self.is_whole(shard, &self.stored(shard)?)? {
                lost.push(shard);
                if lost.len() as u64 > code.parity() {
                    return Ok(());
                }
            }
        }
        let more = lost.len() * self.shard_len();
        if shards.held + more > HELD {
            return Ok(());
        }
        // Members that are not lost are whole shards of the file.
        for (shard, bytes) in group_shards(&*self.view, &self.layout, group, &lost, Threads::One)? {
            let place = self.layout.shard_place(shard);
            let len = usize::try_from(place.end - place.start).expect("at most a shard");
            if shard < code.items() && self.is_whole(shard, &bytes)? {
                shards.held += len;
                shards.repaired.insert(shard, Bytes::copy_from_slice(&bytes[..len]));
            }
        }
        Ok(())
    }
}

impl ByteSource for ReadRepairSource {
    fn len(&self) -> u64 {
        self.under.len()
    }

    fn current_len(&self) -> u64 {
        self.under.current_len()
    }

    fn stored_len(&self) -> u64 {
        self.under.stored_len()
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let Some(parity) = self.active() else { return self.under.read_into(offset, buf) };
        check_range(self.len(), offset, buf.len())?;
        self.read_repaired(parity, offset, buf)
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        if self.active().is_none() {
            return self.under.read_at(offset, len);
        }
        check_range(self.len(), offset, len)?;
        let mut buf = vec![0; len];
        self.read_into(offset, &mut buf)?;
        Ok(buf.into())
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if self.active().is_none() {
            return self.under.read_ranges(ranges);
        }
        let len = |range: &Range<u64>| usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        ranges.iter().map(|range| self.read_at(range.start, len(range))).collect()
    }

    fn reach(&self) -> Reach {
        self.under.reach()
    }

    fn holds(&self, range: &Range<u64>) -> bool {
        self.active().is_none() && self.under.holds(range)
    }

    fn lends(&self) -> bool {
        self.under.lends()
    }

    fn identity(&self) -> Option<Arc<str>> {
        self.under.identity()
    }

    fn ends(&self, head: u64, tail: u64) -> Result<(Bytes, Bytes)> {
        if self.active().is_none() {
            return self.under.ends(head, tail);
        }
        let (len, head_len) = (self.len(), head.min(self.len()));
        let tail_len = tail.min(len - head_len);
        let part = |at: u64, len: u64| self.read_at(at, usize::try_from(len).unwrap_or(usize::MAX));
        Ok((part(0, head_len)?, part(len - tail_len, tail_len)?))
    }
}
