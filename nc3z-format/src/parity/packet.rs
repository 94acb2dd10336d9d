//! Packets: they contain the catalogue of checksums, and each describes the whole parity. `spec/parity.md`,
//! "Packets".

use super::UNIT;
use super::layout::{Params, ParityLayout};
use crate::archive::Salt;
use crate::bytes::ByteCursor;
use crate::error::{Error, Result};

/// The first bytes of a packet.
pub const PACKET_MARKER: [u8; 4] = [0xB1, 0x4E, 0x43, 0x70];
/// Bytes of a packet before its payload.
pub const PACKET_HEADER_LEN: usize = 64;

const SECTION: &str = "parity packet";

/// A packet whose checksum holds and whose numbers agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// The layout of the whole parity.
    pub layout: ParityLayout,
    /// The number of the packet.
    pub number: u64,
}

impl Packet {
    /// The bytes of packet `number`.
    pub fn encode(layout: &ParityLayout, number: u64, payload: &[u8]) -> Vec<u8> {
        let p = &layout.params;
        let units = |len: u64| u8::try_from(len / UNIT).expect("ParityLayout: at most 4096");
        let number32 = u32::try_from(number).expect("a region of 2^32 packets is larger than any file");
        let mut out = Vec::with_capacity(PACKET_HEADER_LEN + payload.len());
        out.extend(PACKET_MARKER);
        out.extend([0; 4]);
        out.extend(p.salt.0);
        out.extend(p.begin.to_le_bytes());
        out.extend(p.end.to_le_bytes());
        out.extend(p.archive_len.to_le_bytes());
        out.extend(p.generation.to_le_bytes());
        out.extend(number32.to_le_bytes());
        out.extend(p.groups.to_le_bytes());
        out.extend(p.parity.to_le_bytes());
        out.extend(p.run.to_le_bytes());
        out.extend(p.packet_groups.to_le_bytes());
        out.extend(p.packet_parity.to_le_bytes());
        out.extend([units(p.shard_len), units(p.packet_len)]);
        out.extend(payload);
        let crc = p.salt.crc(layout.packet_offset(number), &out[8..]);
        out[4..8].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Bytes of the packet that these bytes begin, if they could begin one.
    pub fn len_of(bytes: &[u8]) -> Option<usize> {
        let header = bytes.first_chunk::<PACKET_HEADER_LEN>()?;
        (header[..4] == PACKET_MARKER).then(|| usize::from(header[63]) * usize::try_from(UNIT).expect("64"))
    }

    /// Reads the packet at `offset`; `bytes` may go on after it.
    ///
    /// # Errors
    /// The bytes are not a packet, or damaged, or in an impossible place.
    pub fn decode(bytes: &[u8], offset: u64) -> Result<Packet> {
        let packet = Self::decode_anywhere(bytes, offset)?;
        let place = packet.layout.packet_offset(packet.number);
        if place != offset {
            return Err(Error::corrupt(SECTION, offset, "place", place, offset));
        }
        Ok(packet)
    }

    /// Reads a packet of a file that may have lost its beginning. The packet was at
    /// [`ParityLayout::packet_offset`] of its number, and is found at `offset`.
    ///
    /// # Errors
    /// The bytes are not a packet, or damaged.
    pub fn decode_anywhere(bytes: &[u8], offset: u64) -> Result<Packet> {
        let mut c = ByteCursor::new(SECTION, offset, bytes);
        let marker = c.split("marker", 4)?;
        if marker != PACKET_MARKER {
            return Err(Error::corrupt(SECTION, offset, "marker", "b1 4e 43 70", format!("{marker:02x?}")));
        }
        let crc = c.u32("CRC")?;
        let (params, number) = params(&mut c)?;
        let (salt, packet_len) = (params.salt, params.packet_len);
        let layout = ParityLayout::new(params).map_err(|e| e.within(SECTION, offset))?;
        if number >= layout.packet_count() {
            let expected = format!("below {}", layout.packet_count());
            return Err(Error::corrupt(SECTION, offset, "number", expected, number));
        }
        let len = usize::try_from(packet_len).expect("ParityLayout: at most 4096");
        let Some(covered) = bytes.get(8..len) else {
            let left = bytes.len() as u64;
            return Err(Error::truncated(SECTION, offset, "packet", packet_len.saturating_sub(left), left));
        };
        let found = salt.crc(layout.packet_offset(number), covered);
        if found != crc {
            return Err(Error::corrupt(SECTION, offset, "CRC", format!("{crc:08x}"), format!("{found:08x}")));
        }
        Ok(Packet { layout, number })
    }
}

/// The fields after the CRC: those that all packets share, and the number.
fn params(c: &mut ByteCursor<'_>) -> Result<(Params, u64)> {
    let salt = Salt(c.array("salt")?);
    let (begin, end, archive_len) = (c.u64("begin")?, c.u64("end")?, c.u64("archive length")?);
    let generation = c.u32("generation")?;
    let number = u64::from(c.u32("number")?);
    let params = Params {
        salt,
        begin,
        end,
        archive_len,
        generation,
        groups: c.u32("groups")?,
        parity: c.u16("parity shards")?,
        run: c.u16("run")?,
        packet_groups: c.u32("packet groups")?,
        packet_parity: c.u16("parity packets")?,
        shard_len: u64::from(c.u8("shard length")?) * UNIT,
        packet_len: u64::from(c.u8("packet length")?) * UNIT,
    };
    Ok((params, number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parity::Share;

    fn layout() -> ParityLayout {
        let share = Share::from_ppm(50_000).unwrap();
        ParityLayout::new(Params::choose(Salt(*b"saltsalt"), 2, 3_000_000, 376, share).unwrap()).unwrap()
    }

    #[test]
    fn packets_round_trip_and_stand_where_they_say() {
        let layout = layout();
        let payload = vec![7; usize::try_from(layout.payload_len()).unwrap()];
        for number in 0..layout.packet_count() {
            let offset = layout.packet_offset(number);
            let bytes = Packet::encode(&layout, number, &payload);
            assert_eq!(bytes.len() as u64, layout.params.packet_len);
            assert_eq!(Packet::len_of(&bytes), Some(bytes.len()));
            let packet = Packet::decode(&bytes, offset).unwrap();
            assert_eq!(packet, Packet { layout: layout.clone(), number });
            assert!(Packet::decode(&bytes, offset + 64).is_err());
        }
    }

    #[test]
    fn every_bit_and_every_prefix_counts() {
        let layout = layout();
        let payload = vec![7; usize::try_from(layout.payload_len()).unwrap()];
        let (offset, bytes) = (layout.packet_offset(1), Packet::encode(&layout, 1, &payload));
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(Packet::decode(&bad, offset).is_err(), "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert!(Packet::decode(&bytes[..len], offset).is_err(), "{len} bytes");
        }
    }

    #[test]
    fn places_tile_the_region() {
        for ppm in [1_000, 10_000, 50_000, 200_000, 300_000] {
            for len in [700, 3000, 20_000, 70_000, 1_000_000, 40_000_000] {
                let share = Share::from_ppm(ppm).unwrap();
                let params = Params::choose(Salt([1; 8]), 2, len, 376, share).unwrap();
                let layout = ParityLayout::new(params).unwrap();
                let mut places: Vec<(u64, u64)> = (0..layout.shard_count())
                    .map(|i| layout.shard_place(i))
                    .map(|r| (r.start, r.end))
                    .chain((0..layout.packet_count()).map(|j| {
                        let at = layout.packet_offset(j);
                        (at, at + layout.params.packet_len)
                    }))
                    .collect();
                places.sort_unstable();
                let end = places.iter().fold(0, |at, &(begin, end)| {
                    assert_eq!(at, begin);
                    end
                });
                assert_eq!(end, layout.params.archive_len);
                assert_eq!(layout.packet_offset(0), layout.params.begin);
                let last = layout.packet_offset(layout.packet_count() - 1) + layout.params.packet_len;
                assert_eq!(last, layout.params.end);
                let mut shard = 0;
                for packet in 0..layout.packets.items() {
                    let (shards, at) = layout.packet_shards(packet);
                    assert_eq!(shards.start, shard);
                    assert_eq!(at, if packet == 0 { 32 } else { 0 });
                    shard = shards.end;
                }
                assert_eq!(shard, layout.shard_count());
            }
        }
    }
}
