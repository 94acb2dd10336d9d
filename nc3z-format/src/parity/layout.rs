//! The places of shards and packets: `spec/parity.md`, "Layout".

use super::UNIT;
use super::interleave::Interleave;
use super::packet::PACKET_HEADER_LEN;
use crate::archive::{Salt, TRAILER_LEN};
use crate::error::{Error, Result};
use std::ops::Range;

/// Bytes of the digest with which the catalogue begins.
pub const DIGEST_LEN: u64 = 32;
/// Bytes of one shard's checksum in the catalogue.
const CHECK_LEN: u64 = 4;
/// The longest shard, and the longest packet.
const MOST_LEN: u64 = 4096;
/// If there are several groups, each has at least this many items, since the repair of a group also has a
/// fixed cost.
const LEAST_OF_SEVERAL: u64 = 1024;
/// What may follow the region: a section table and a trailer. Far more than any has.
const MOST_TAIL: u64 = 1 << 20;

/// The parameters of the whole parity in a packet: enough to find all its parts. Equal in all packets of one
/// parity.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Params {
    /// The archive's salt.
    pub salt: Salt,
    /// The generation that the parity is.
    pub generation: u32,
    /// Where the region begins: a multiple of the shard length.
    pub begin: u64,
    /// Where it ends.
    pub end: u64,
    /// The end of that generation's trailer. Nothing after it is covered.
    pub archive_len: u64,
    /// Bytes of a shard.
    pub shard_len: u64,
    /// Bytes of a packet, header included.
    pub packet_len: u64,
    /// Groups of shards.
    pub groups: u32,
    /// Shards in a row that one group has.
    pub run: u16,
    /// Parity shards of one group.
    pub parity: u16,
    /// Groups of packets.
    pub packet_groups: u32,
    /// Parity packets of one group.
    pub packet_parity: u16,
}

/// Where everything is; made from [`Params`], which it has checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParityLayout {
    /// The parameters in the packets.
    pub params: Params,
    /// The assignment of shards to groups.
    pub shards: Interleave,
    /// The assignment of packets to groups.
    pub packets: Interleave,
    /// Data shards before the region.
    head_shards: u64,
}

impl ParityLayout {
    /// Checks the numbers against each other.
    ///
    /// # Errors
    /// They contradict each other.
    pub fn new(params: Params) -> Result<Self> {
        let wrong = |what, expected: &str, found: u64| {
            Err(Error::corrupt("parity packet", None, what, expected, found))
        };
        let Params { begin, end, archive_len, shard_len, packet_len, .. } = params;
        if shard_len == 0 || shard_len > MOST_LEN || !shard_len.is_multiple_of(UNIT) {
            return wrong("shard length", "a multiple of 64, 64 to 4096", shard_len);
        }
        if packet_len <= PACKET_HEADER_LEN as u64 || packet_len > MOST_LEN || !packet_len.is_multiple_of(UNIT)
        {
            return wrong("packet length", "a multiple of 64, 128 to 4096", packet_len);
        }
        if begin == 0 || !begin.is_multiple_of(shard_len) || begin > end {
            return wrong(
                "region's beginning",
                "a positive multiple of the shard length, before its end",
                begin,
            );
        }
        let tail = archive_len.checked_sub(end).filter(|t| (TRAILER_LEN as u64..=MOST_TAIL).contains(t));
        let Some(tail) = tail else {
            return wrong(
                "archive length",
                "the region's end and a section table and a trailer",
                archive_len,
            );
        };
        let head_shards = begin / shard_len;
        let shards = Interleave::new(
            head_shards + tail.div_ceil(shard_len),
            params.groups.into(),
            params.run.into(),
            params.parity.into(),
        )?;
        let layout = ParityLayout {
            head_shards,
            packets: Interleave::new(
                catalogue_packets(shards.items().saturating_add(shards.parity_items()), packet_len),
                params.packet_groups.into(),
                1,
                params.packet_parity.into(),
            )?,
            shards,
            params,
        };
        for code in [&layout.shards, &layout.packets] {
            if code.groups() > 1 && code.items() / code.groups() < LEAST_OF_SEVERAL {
                return wrong("number of groups", "one, or at least 1024 items for each", code.groups());
            }
        }
        let parity = layout.shards.parity_items().checked_mul(shard_len);
        let packets = layout.packet_count().checked_mul(packet_len);
        match parity.zip(packets).and_then(|(a, b)| a.checked_add(b)) {
            Some(len) if len == end - begin => Ok(layout),
            len => Err(Error::corrupt(
                "parity packet",
                None,
                "length of the region",
                len.map_or_else(|| "one below 2^64".to_owned(), |n| n.to_string()),
                end - begin,
            )),
        }
    }

    /// Data and parity shards.
    pub fn shard_count(&self) -> u64 {
        self.shards.items() + self.shards.parity_items()
    }

    /// The number of packets, including parity packets.
    pub fn packet_count(&self) -> u64 {
        self.packets.items().saturating_add(self.packets.parity_items())
    }

    /// The bytes of a shard. Data shards have the first numbers, then parity shards. The last data shard may be shorter than
    /// the others; the missing bytes count as zeros.
    pub fn shard_place(&self, shard: u64) -> Range<u64> {
        let len = self.params.shard_len;
        if shard < self.head_shards {
            return shard * len..(shard + 1) * len;
        }
        if let Some(row) = shard.checked_sub(self.shards.items()) {
            let packets = self.packets_before(row);
            let begin = self.params.begin + row * len + packets * self.params.packet_len;
            return begin..begin + len;
        }
        let begin = self.params.end + (shard - self.head_shards) * len;
        begin..(begin + len).min(self.params.archive_len)
    }

    /// Offset of a packet. Packets are evenly distributed among the parity shards, the first before them and
    /// the last after them.
    pub fn packet_offset(&self, packet: u64) -> u64 {
        let before = self.shards_before(packet);
        self.params.begin + packet * self.params.packet_len + before * self.params.shard_len
    }

    fn shards_before(&self, packet: u64) -> u64 {
        // Both are below 2^58: their bytes are in the file.
        let product = u128::from(packet) * u128::from(self.shards.parity_items());
        u64::try_from(product / u128::from(self.last_packet())).expect("at most the number of parity shards")
    }

    /// Packets before a parity shard: those with at most `row` shards before them.
    fn packets_before(&self, row: u64) -> u64 {
        let product = (u128::from(row) + 1) * u128::from(self.last_packet());
        let packets = product.div_ceil(u128::from(self.shards.parity_items()));
        u64::try_from(packets).expect("at most the number of packets")
    }

    fn last_packet(&self) -> u64 {
        // There is at least one of data and one of parity.
        self.packet_count() - 1
    }

    /// Bytes of the catalogue in one packet.
    pub fn payload_len(&self) -> u64 {
        self.params.packet_len - PACKET_HEADER_LEN as u64
    }

    /// Returns the shards whose checksums are in a data packet, and the offset of the first checksum in the packet's payload.
    pub fn packet_shards(&self, packet: u64) -> (Range<u64>, usize) {
        let from = (packet * self.payload_len()).max(DIGEST_LEN);
        let to = (packet + 1) * self.payload_len();
        let first = (from - DIGEST_LEN) / CHECK_LEN;
        let last = ((to.max(DIGEST_LEN) - DIGEST_LEN) / CHECK_LEN).min(self.shard_count());
        let at = usize::try_from(from - packet * self.payload_len()).expect("inside a packet");
        (first.min(last)..last, at)
    }

    /// The packet of data that holds the checksum of a shard.
    pub fn packet_of(&self, shard: u64) -> u64 {
        (shard.saturating_mul(CHECK_LEN).saturating_add(DIGEST_LEN)) / self.payload_len()
    }

    /// The bytes that data shards are cut from: all of the archive but the region.
    pub fn covered(&self) -> [Range<u64>; 2] {
        [0..self.params.begin, self.params.end..self.params.archive_len]
    }
}

/// The number of packets for the catalogue of `shards` shards.
pub(super) fn catalogue_packets(shards: u64, packet_len: u64) -> u64 {
    let bytes = shards.saturating_mul(CHECK_LEN).saturating_add(DIGEST_LEN);
    bytes.div_ceil(packet_len - PACKET_HEADER_LEN as u64)
}
