//! Commit slots: facts about an archive's end, stored at its beginning. They prevent that a file that lost
//! its end is mistaken for an older archive.

use super::constants::{ALIGN, HEAD_OFFSET, SLOT_LEN, SLOTS_AT, TRAILER_LEN};
use super::salt::Salt;
use super::trailer::Trailer;
use crate::bytes::ByteCursor;
use crate::error::Result;

/// Bytes of both slots.
pub const SLOTS_LEN: usize = 2 * SLOT_LEN;
const CRC_AT: usize = SLOT_LEN - 4;

/// A commit slot, with facts about one generation. Layout: `spec/archive.md`, "Commit slots".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitSlot {
    /// The generation of the commit slot.
    pub generation: u32,
    /// CRC of its trailer.
    pub trailer_crc: u32,
    /// Length of the archive with its trailer.
    pub archive_len: u64,
    /// Number of the version that it holds.
    pub version: u32,
}

/// One of the two slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Slot {
    /// Never written.
    #[default]
    Empty,
    /// A slot with a valid CRC.
    Whole(CommitSlot),
    /// Its CRC does not hold, or its generation belongs in the other slot.
    Damaged,
}

/// The two commit slots of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CommitSlots(pub [Slot; 2]);

impl CommitSlot {
    /// The slot for the generation of this trailer.
    pub fn new(trailer: &Trailer, version: u32) -> Self {
        let (generation, archive_len) = (trailer.generation, trailer.archive_len);
        CommitSlot { generation, trailer_crc: trailer.crc(), archive_len, version }
    }

    /// The index of the slot in which it belongs.
    pub fn index(&self) -> usize {
        (self.generation % 2) as usize
    }

    /// Returns true if it names the generation of this trailer.
    pub fn names(&self, trailer: &Trailer) -> bool {
        *self == CommitSlot { version: self.version, ..CommitSlot::new(trailer, 1) }
    }

    fn encode(&self, salt: &Salt) -> [u8; SLOT_LEN] {
        let mut out = [0; SLOT_LEN];
        out[..4].copy_from_slice(&self.generation.to_le_bytes());
        out[4..8].copy_from_slice(&self.trailer_crc.to_le_bytes());
        out[8..16].copy_from_slice(&self.archive_len.to_le_bytes());
        out[16..CRC_AT].copy_from_slice(&self.version.to_le_bytes());
        let crc = salt.crc(Self::offset(self.index()), &out[..CRC_AT]);
        out[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Where a slot begins in the archive.
    fn offset(index: usize) -> u64 {
        (SLOTS_AT + index * SLOT_LEN) as u64
    }

    /// Reads a slot; `None` where it is damaged.
    fn decode(bytes: &[u8; SLOT_LEN], index: usize, salt: &Salt) -> Option<Self> {
        let read = || -> Result<(Self, u32)> {
            let mut c = ByteCursor::new("commit slot", Self::offset(index), bytes);
            let (generation, trailer_crc) = (c.u32("generation")?, c.u32("trailer CRC")?);
            let (archive_len, version) = (c.u64("archive length")?, c.u32("version")?);
            Ok((CommitSlot { generation, trailer_crc, archive_len, version }, c.u32("CRC")?))
        };
        let (slot, crc) = read().ok()?;
        let is_whole = crc == salt.crc(Self::offset(index), &bytes[..CRC_AT]);
        let least = HEAD_OFFSET + TRAILER_LEN as u64;
        let makes_sense = slot.generation > 0
            && slot.index() == index
            && slot.version > 0
            && slot.archive_len >= least
            && slot.archive_len.is_multiple_of(ALIGN);
        (is_whole && makes_sense).then_some(slot)
    }
}

impl CommitSlots {
    /// Returns the slots of an archive whose last generation is that of `last`. The slots also name the generation before it,
    /// unless both belong in the same slot.
    pub fn new(last: CommitSlot, before: Option<CommitSlot>) -> Self {
        let mut slots = CommitSlots::default();
        for slot in before.into_iter().chain([last]) {
            slots.0[slot.index()] = Slot::Whole(slot);
        }
        slots
    }

    /// Reads both slots.
    pub fn decode(bytes: &[u8; SLOTS_LEN], salt: &Salt) -> Self {
        let (slots, _) = bytes.as_chunks::<SLOT_LEN>();
        let read = |index: usize| match CommitSlot::decode(&slots[index], index, salt) {
            Some(slot) => Slot::Whole(slot),
            None if slots[index] == [0; SLOT_LEN] => Slot::Empty,
            None => Slot::Damaged,
        };
        CommitSlots([read(0), read(1)])
    }

    /// The bytes of both slots. A damaged one is written as an empty one.
    pub fn encode(&self, salt: &Salt) -> [u8; SLOTS_LEN] {
        let mut out = [0; SLOTS_LEN];
        for (slot, bytes) in self.0.iter().zip(out.as_chunks_mut::<SLOT_LEN>().0) {
            if let Slot::Whole(slot) = slot {
                *bytes = slot.encode(salt);
            }
        }
        out
    }

    /// The slot of the highest generation.
    pub fn newest(&self) -> Option<CommitSlot> {
        self.whole().max_by_key(|slot| slot.generation)
    }

    /// The slot of the other generation, where both are whole.
    pub fn older(&self) -> Option<CommitSlot> {
        let newest = self.newest()?;
        self.whole().find(|slot| slot.generation < newest.generation)
    }

    /// Returns true if no slot is intact and one is damaged: the newest generation is then unknown.
    pub fn are_lost(&self) -> bool {
        self.newest().is_none() && self.0.contains(&Slot::Damaged)
    }

    /// Returns true if no generation after that of `last` was acknowledged: the newest slot names it, and the other slot names an
    /// older one. A commit is acknowledged only after its slot is on disk.
    pub fn end_with(&self, last: &Trailer) -> bool {
        // The first generation has no other one before it.
        let is_complete = last.previous == 0 || self.older().is_some();
        is_complete && !self.has_damage() && self.newest().is_some_and(|slot| slot.names(last))
    }

    /// Returns true if a slot is damaged.
    pub fn has_damage(&self) -> bool {
        self.0.contains(&Slot::Damaged)
    }

    fn whole(&self) -> impl Iterator<Item = CommitSlot> {
        self.0.iter().filter_map(|slot| match slot {
            Slot::Whole(slot) => Some(*slot),
            Slot::Empty | Slot::Damaged => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SALT: Salt = Salt([7; 8]);

    fn slot(generation: u32) -> CommitSlot {
        CommitSlot {
            generation,
            trailer_crc: 5 + generation,
            archive_len: 4096 * u64::from(generation),
            version: 2,
        }
    }

    #[test]
    fn round_trip_and_every_flipped_bit_is_seen() {
        for slots in [
            CommitSlots::new(slot(3), Some(slot(2))),
            CommitSlots::new(slot(4), Some(slot(3))),
            CommitSlots::new(slot(1), None),
        ] {
            let bytes = slots.encode(&SALT);
            assert_eq!(CommitSlots::decode(&bytes, &SALT), slots);
            assert!(CommitSlots::decode(&bytes, &Salt([8; 8])).are_lost());
            for bit in 0..bytes.len() * 8 {
                let mut bad = bytes;
                bad[bit / 8] ^= 1 << (bit % 8);
                assert!(CommitSlots::decode(&bad, &SALT).has_damage(), "bit {bit}");
            }
        }
    }

    #[test]
    fn the_highest_generation_counts_and_a_damaged_slot_leaves_the_other() {
        let slots = CommitSlots::new(slot(3), Some(slot(2)));
        assert_eq!((slots.newest(), slots.older()), (Some(slot(3)), Some(slot(2))));
        let mut bytes = slots.encode(&SALT);
        bytes[SLOT_LEN + 1] ^= 1;
        let left = CommitSlots::decode(&bytes, &SALT);
        assert_eq!((left.newest(), left.older(), left.are_lost()), (Some(slot(2)), None, false));
        bytes[0] ^= 1;
        assert!(CommitSlots::decode(&bytes, &SALT).are_lost());
        assert_eq!(CommitSlots::decode(&[0; SLOTS_LEN], &SALT), CommitSlots::default());
        assert!(!CommitSlots::default().are_lost());
    }

    #[test]
    fn a_slot_in_the_wrong_place_or_without_sense_is_damaged() {
        let swapped = {
            let bytes = CommitSlots::new(slot(3), Some(slot(2))).encode(&SALT);
            let (a, b) = bytes.split_at(SLOT_LEN);
            <[u8; SLOTS_LEN]>::try_from([b, a].concat()).unwrap()
        };
        assert!(CommitSlots::decode(&swapped, &SALT).are_lost());
        for bad in [
            CommitSlot { version: 0, ..slot(3) },
            CommitSlot { archive_len: 4097, ..slot(3) },
            CommitSlot { archive_len: 160, ..slot(3) },
            CommitSlot { generation: 0, ..slot(2) },
        ] {
            assert!(
                CommitSlots::decode(&CommitSlots::new(bad, None).encode(&SALT), &SALT).are_lost(),
                "{bad:?}"
            );
        }
    }
}
