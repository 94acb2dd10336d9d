//! The amount of parity for a share. Readers do not need this: packets record the choice.
//!
//! The guarantee (`docs/design/0006-parity.md`): the file, including parity and packets, survives the loss of half the
//! share of its sectors at random positions, and of half the share in one burst, both at the same time.

use super::UNIT;
use super::interleave::{Interleave, MOST_POSITIONS};
use super::layout::{Params, catalogue_packets};
use super::odds::unlucky;
use super::packet::PACKET_HEADER_LEN;
use super::share::Share;
use crate::archive::Salt;
use crate::error::{Error, Result};

/// The unit in bytes in which disks and file systems lose data.
const SECTOR: u64 = 4096;
/// Archives below this have shorter shards.
const SMALL: u64 = 64 << 10;
/// Archives with shorter shards than this have one to four sectors, so they cannot survive the loss of many sectors.
const SHORT: u64 = 1024;
/// Consecutive shards of one group: 64 KiB, so that a group is not read in single sectors.
const RUN: u16 = 16;
/// The longest span: the encoder holds two spans of shards, 64 MiB.
const MOST_SPAN: u64 = 8192;
/// Packets are full sectors from this length of the catalogue on.
const LARGE_CATALOGUE: u64 = 16 << 10;
/// Data packets of one group, so that their parity stays within [`MOST_SPAN`].
const PACKET_GROUP: u64 = 3500;
/// Probability, for one group, of more damage than is provided for.
const ODDS: f64 = 1e-10;

/// Packets: length, groups, parity of a group, and how many in all.
struct Packets {
    len: u64,
    groups: u64,
    parity: u64,
    count: u64,
}

/// The fixed values in the computation of sizes.
struct Sizes {
    share: Share,
    shard_len: u64,
    items: u64,
    /// Bytes of the archive but for the region.
    covered: u64,
}

impl Params {
    /// Parity for an archive of `len` bytes, to be followed by a section table and trailer of `tail` bytes.
    ///
    /// # Errors
    /// The archive is too large for the format: many exabytes.
    pub fn choose(salt: Salt, generation: u32, len: u64, tail: u64, share: Share) -> Result<Params> {
        let shard_len = shard_len(len);
        let begin = len.max(1).next_multiple_of(shard_len);
        let items = begin / shard_len + tail.div_ceil(shard_len);
        let sizes = Sizes { share, shard_len, items, covered: begin + tail };
        // The fewest groups that the code can hold: large groups need little for bad luck.
        let mut groups = (items / MOST_POSITIONS).max(1);
        let (parity, packets) = loop {
            let fit = sizes.of(groups).filter(|(parity, _)| {
                parity.next_power_of_two() <= MOST_SPAN
                    && Interleave::new(items, groups, RUN.into(), *parity).is_ok()
            });
            match fit {
                Some(fit) => break fit,
                None if groups > items => {
                    return Err(Error::invalid(format!("no parity of {share} for {len} bytes")));
                }
                None => groups += 1 + groups / 64,
            }
        };
        let size =
            |n: u64| u32::try_from(n).map_err(|_| Error::invalid(format!("no parity for {len} bytes")));
        let narrow = |n: u64| u16::try_from(n).expect("at most MOST_SPAN");
        Ok(Params {
            salt,
            generation,
            begin,
            end: begin + groups * parity * shard_len + packets.count * packets.len,
            archive_len: begin + groups * parity * shard_len + packets.count * packets.len + tail,
            shard_len,
            packet_len: packets.len,
            groups: size(groups)?,
            run: RUN,
            parity: narrow(parity),
            packet_groups: size(packets.groups)?,
            packet_parity: narrow(packets.parity),
        })
    }
}

/// A sector, or, in small archives, about a sixteenth of the archive.
fn shard_len(len: u64) -> u64 {
    if len >= SMALL {
        return SECTOR;
    }
    let sixteenth = (len / 16).max(UNIT);
    if sixteenth.is_power_of_two() { sixteenth } else { sixteenth.next_power_of_two() / 2 }
}

impl Sizes {
    /// Parity shards of each of `groups` groups, and the packets. `None` if the code cannot have that many.
    fn of(&self, groups: u64) -> Option<(u64, Packets)> {
        let mut parity = 1;
        loop {
            let packets = self.packets(groups * parity)?;
            let sectors = (self.covered + groups * parity * self.shard_len + packets.count * packets.len)
                .div_ceil(SECTOR);
            let needed = self.parity(groups, parity, sectors, &packets);
            if needed <= parity {
                return Some((parity, packets));
            }
            if needed > MOST_SPAN {
                return None;
            }
            parity = needed;
        }
    }

    /// The number of shards that a group must be able to lose, if it has `parity` parity shards.
    fn parity(&self, groups: u64, parity: u64, sectors: u64, packets: &Packets) -> u64 {
        let random = self.share.half_of(sectors);
        // A burst need not begin where a sector does.
        let burst = self.share.half_of(sectors) + 1;
        if self.shard_len < SECTOR {
            // A sector touches this many shards. More parity than data would be useless.
            let each = SECTOR / self.shard_len + 1;
            return ((random + burst) * each).min(self.items);
        }
        if groups == 1 {
            // With short packets, parity shards are not aligned to sectors: each sector lost there damages
            // two.
            let askew = if packets.len == SECTOR {
                0
            } else {
                unlucky(random, parity + packets.count, sectors, ODDS) + 1
            };
            return random + burst + askew;
        }
        let run = u64::from(RUN);
        let members = self.items.div_ceil(groups) + run + parity;
        unlucky(members, random, sectors, ODDS) + burst / (groups * run) * run + run + 2
    }

    /// The packets for `parity_shards` parity shards. `None` if the code cannot have that many.
    fn packets(&self, parity_shards: u64) -> Option<Packets> {
        let shards = self.items + parity_shards;
        let catalogue = catalogue_packets(shards, PACKET_HEADER_LEN as u64 + 1);
        let len = if catalogue >= LARGE_CATALOGUE {
            SECTOR
        } else {
            catalogue.div_ceil(8).next_multiple_of(UNIT) + PACKET_HEADER_LEN as u64
        };
        let data = catalogue_packets(shards, len);
        let groups = data.div_ceil(PACKET_GROUP);
        // With more parity than this, one sector would still be most of the region.
        let most = match data.div_ceil(groups) {
            few if self.shard_len < SHORT => few + 4,
            n => 3 * n + 8,
        };
        let mut parity = 2;
        loop {
            let count = data + groups * parity;
            let region = parity_shards * self.shard_len + count * len;
            let needed = self.lost_packets(count, len, groups, region);
            if needed <= parity || parity == most {
                let packets = Packets { len, groups, parity, count };
                return (parity.next_power_of_two() <= MOST_SPAN).then_some(packets);
            }
            parity = needed.min(most);
        }
    }

    /// The number of packets that one group must be able to lose.
    fn lost_packets(&self, count: u64, len: u64, groups: u64, region: u64) -> u64 {
        let sectors = (self.covered + region).div_ceil(SECTOR);
        let random = self.share.half_of(sectors);
        let burst = self.share.half_of(sectors) + 1;
        // Largest number of packets in `n` adjacent sectors.
        let within = |n: u64| {
            let hit = u128::from(n * SECTOR + len) * u128::from(count) / u128::from(region);
            u64::try_from(hit).map_or(count, |hit| hit + 1).min(count)
        };
        let in_burst = within(burst).div_ceil(groups) + u64::from(groups > 1);
        let members = count.div_ceil(groups) + 1;
        let at_random = if within(1) > 1 {
            // Several packets are in one sector, so they are lost together.
            (unlucky(random, region.div_ceil(SECTOR) + 1, sectors, ODDS) * within(1)).div_ceil(groups)
        } else if len == SECTOR {
            unlucky(members, random, sectors, ODDS)
        } else {
            unlucky(members, random * (SECTOR + len), sectors * SECTOR, ODDS)
        };
        in_burst + at_random
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_sectors_but_in_small_archives() {
        for (len, expected) in
            [(0, 64), (700, 64), (2047, 64), (2048, 128), (40_000, 2048), (65_535, 2048), (65_536, 4096)]
        {
            assert_eq!(shard_len(len), expected, "{len}");
        }
    }
}
