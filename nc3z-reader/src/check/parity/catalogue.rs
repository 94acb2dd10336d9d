//! The catalogue: the digest and the checksum of every shard. It is spread over packets, and the packets have their own parity.

use super::reconstruct::{Member, Threads, recover};
use crate::error::{Error, Result};
use crate::source::ByteSource;
use nc3z_format::Error as FormatError;
use nc3z_format::parity::{PACKET_HEADER_LEN, Packet, ParityLayout};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The catalogue of an archive. Intact packets are read from the file; lost packets are computed and kept in memory.
pub(super) struct Catalogue<'a> {
    source: &'a dyn ByteSource,
    layout: &'a ParityLayout,
    /// Payloads of lost packets, computed from the others, by number.
    repaired: Cow<'a, RepairedPackets>,
}

/// Payloads of lost packets by number.
pub(super) type RepairedPackets = BTreeMap<u64, Vec<u8>>;

impl<'a> Catalogue<'a> {
    /// Checks all packets and computes the lost ones.
    ///
    /// # Errors
    /// The source cannot be read; too many packets are lost.
    pub(super) fn read(source: &'a dyn ByteSource, layout: &'a ParityLayout) -> Result<Self> {
        Self::read_on(source, layout, Threads::All)
    }

    /// As [`Catalogue::read`], on the threads of `threads`.
    ///
    /// # Errors
    /// As [`Catalogue::read`].
    pub(super) fn read_on(
        source: &'a dyn ByteSource,
        layout: &'a ParityLayout,
        threads: Threads,
    ) -> Result<Self> {
        let mut catalogue = Self::with_repaired(source, layout, Cow::Owned(RepairedPackets::new()));
        let code = &layout.packets;
        let mut lost: BTreeMap<u64, Vec<Member>> = BTreeMap::new();
        let most = code.parity();
        for begin in (0..layout.packet_count()).step_by(1 << 16) {
            let end = (begin + (1 << 16)).min(layout.packet_count());
            let found = threads.map((begin..end).collect(), |j| Ok((j, catalogue.packet(j)?.is_none())))?;
            for (j, _) in found.into_iter().filter(|(_, lost)| *lost) {
                let (group, member) = match j.checked_sub(code.items()) {
                    Some(item) => (code.parity_place(item).0, Member::Parity(item)),
                    None => (code.group_of(j), Member::Data(j)),
                };
                let members = lost.entry(group).or_default();
                members.push(member);
                if members.len() as u64 > most {
                    return Err(FormatError::corrupt(
                        "parity packets",
                        layout.params.begin,
                        "number of lost packets in one group",
                        format!("at most {most}, since they hold the checksums of the shards"),
                        "more",
                    )
                    .into());
                }
            }
        }
        let len = usize::try_from(layout.payload_len()).expect("at most 4096");
        for (group, members) in lost {
            let recovered = recover(code, group, &members, len, threads, &|member, column, out| {
                let number = catalogue.number(member);
                let payload = catalogue.packet(number)?.ok_or_else(|| catalogue.changed(number))?;
                out.copy_from_slice(&payload[column..column + out.len()]);
                Ok(())
            })?;
            let repaired = recovered.into_iter().map(|(member, bytes)| (catalogue.number(member), bytes));
            let repaired = repaired.collect::<Vec<_>>();
            catalogue.repaired.to_mut().extend(repaired);
        }
        Ok(catalogue)
    }

    /// The catalogue of a source whose lost packets are known.
    pub(super) fn with_repaired(
        source: &'a dyn ByteSource,
        layout: &'a ParityLayout,
        repaired: Cow<'a, RepairedPackets>,
    ) -> Self {
        Catalogue { source, layout, repaired }
    }

    /// Returns the payloads of the lost packets.
    pub(super) fn into_repaired(self) -> RepairedPackets {
        self.repaired.into_owned()
    }

    fn number(&self, member: Member) -> u64 {
        match member {
            Member::Data(item) => item,
            Member::Parity(item) => self.layout.packets.items() + item,
        }
    }

    /// The payload of a packet as stored in the file, or `None` if it is damaged.
    fn packet(&self, number: u64) -> Result<Option<bytes::Bytes>> {
        let (offset, len) = (self.layout.packet_offset(number), self.layout.params.packet_len);
        if offset.checked_add(len).is_none_or(|end| end > self.source.len()) {
            return Ok(None);
        }
        let bytes = super::readable(self.source, offset, usize::try_from(len).expect("at most 4096"))?;
        let same =
            Packet::decode(&bytes, offset).is_ok_and(|p| p.number == number && p.layout == *self.layout);
        Ok(same.then(|| bytes.slice(PACKET_HEADER_LEN..)))
    }

    fn changed(&self, number: u64) -> Error {
        let offset = self.layout.packet_offset(number);
        FormatError::corrupt("parity packet", offset, "packet", "what it was a moment ago", "another").into()
    }

    /// The payload of a packet, from the file or computed.
    fn payload(&self, number: u64) -> Result<bytes::Bytes> {
        match self.repaired.get(&number) {
            Some(bytes) => Ok(bytes.clone().into()),
            None => self.packet(number)?.ok_or_else(|| self.changed(number)),
        }
    }

    /// SHA-256 of the covered bytes.
    pub(super) fn digest(&self) -> Result<[u8; 32]> {
        let payload = self.payload(0)?;
        Ok(*payload.first_chunk().expect("a payload has at least 64 bytes"))
    }

    /// The first of the shards whose checksums a packet holds, and those.
    pub(super) fn checks(&self, number: u64) -> Result<(u64, Vec<u32>)> {
        let (shards, at) = self.layout.packet_shards(number);
        let payload = self.payload(number)?;
        let (rows, _) = payload[at..].as_chunks::<4>();
        let count = usize::try_from(shards.end - shards.start).expect("at most a payload of them");
        Ok((shards.start, rows[..count].iter().map(|row| u32::from_le_bytes(*row)).collect()))
    }

    pub(super) fn check(&self, shard: u64) -> Result<u32> {
        // The order is that of ParityLayout::packet_shards: the digest, then four bytes for each shard.
        let at = shard * 4 + nc3z_format::parity::DIGEST_LEN;
        let payload = self.payload(at / self.layout.payload_len())?;
        let at = usize::try_from(at % self.layout.payload_len()).expect("inside a payload");
        Ok(u32::from_le_bytes(*payload[at..].first_chunk().expect("payloads are multiples of four")))
    }

    pub(super) fn lost(&self) -> Vec<u64> {
        self.repaired.keys().copied().collect()
    }

    /// The bytes of the lost packets, as they should be in the file.
    pub(super) fn repaired(&self) -> impl Iterator<Item = (u64, Vec<u8>)> {
        self.repaired
            .iter()
            .map(|(&j, payload)| (self.layout.packet_offset(j), Packet::encode(self.layout, j, payload)))
    }
}
