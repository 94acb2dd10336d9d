//! Writes blocks, and collects small tiles for them in containers and constants lists.

use super::sink::Sink;
use crate::error::Result;
use crate::options::Preset;
use crate::plan::Policy;
use nc3z_format::archive::constants::REQUIRED_LOSSY;
use nc3z_format::archive::{ArrayId, BlockHeader, BlockKind, ContainerBuilder, IndexEntry, Salt};
use nc3z_format::codec::{Chain, ChainSpec, CodecScratch, Registry, StageSpec};
use std::io::Write;

/// The fields that all blocks of a generation share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamp {
    pub(super) generation: u32,
    pub(super) salt: Salt,
    pub(super) required: u32,
}

/// The description of a block's content.
#[derive(Debug, Clone, Copy)]
pub(super) struct Content {
    pub(super) kind: BlockKind,
    pub(super) array: ArrayId,
    pub(super) tile: u64,
    pub(super) chain: u16,
    pub(super) decoded_len: u32,
    pub(super) decoded_crc: u32,
}

impl Content {
    /// Returns the header of a payload.
    fn header(self, stamp: Stamp, payload: &[u8]) -> BlockHeader {
        let Content { kind, array, tile, chain, decoded_len, decoded_crc } = self;
        BlockHeader {
            generation: stamp.generation,
            array,
            kind,
            lossy: stamp.required & REQUIRED_LOSSY != 0,
            chain,
            tile,
            decoded_len,
            stored_len: u32::try_from(payload.len()).expect("payloads are not larger than their tile"),
            payload_crc: BlockHeader::payload_crc(array, tile, payload),
            decoded_crc,
        }
    }
}

/// Writes a block. Returns its offset and header CRC.
pub(super) fn write_block<W: Write>(
    sink: &mut Sink<'_, W>,
    stamp: Stamp,
    content: Content,
    payload: &[u8],
) -> Result<(u64, u32)> {
    let offset = sink.align()?;
    let encoded = content.header(stamp, payload).encode(&stamp.salt, offset);
    sink.write(&encoded)?;
    sink.write(payload)?;
    Ok((offset, BlockHeader::header_crc(&encoded)))
}

/// Members of one kind stay with the others if they have fewer bytes.
const APART: usize = 2 << 10;

/// A container that is being filled.
#[derive(Default)]
pub(super) struct OpenContainer {
    members: Vec<Member>,
    /// The stored bytes of the members, one after another.
    stored: Vec<u8>,
}

/// A member of a container, without its position.
struct Member {
    array: ArrayId,
    tile: u64,
    chain: u16,
    decoded_crc: u32,
    len: u32,
}

impl OpenContainer {
    pub(super) fn push(&mut self, array: ArrayId, tile: u64, chain: u16, decoded_crc: u32, stored: &[u8]) {
        let len = u32::try_from(stored.len()).expect("a packed tile is small");
        self.members.push(Member { array, tile, chain, decoded_crc, len });
        self.stored.extend(stored);
    }

    /// Bytes of the members so far.
    pub(super) fn len(&self) -> usize {
        self.stored.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    fn members(&self) -> impl Iterator<Item = (&Member, &[u8])> {
        let mut rest = &self.stored[..];
        self.members.iter().map(move |member| {
            let (stored, others) = rest.split_at(member.len as usize);
            rest = others;
            (member, stored)
        })
    }

    /// Splits the members into those of the numeric codec and the others; `None` if either group is too small
    /// to save bytes.
    pub(super) fn apart(&self, is_numeric: impl Fn(u16) -> bool) -> Option<[OpenContainer; 2]> {
        let numeric: usize =
            self.members.iter().filter(|m| is_numeric(m.chain)).map(|m| m.len as usize).sum();
        if numeric < APART || self.len() - numeric < APART {
            return None;
        }
        let mut parts = [OpenContainer::default(), OpenContainer::default()];
        for (m, stored) in self.members() {
            let part = &mut parts[usize::from(!is_numeric(m.chain))];
            part.push(m.array, m.tile, m.chain, m.decoded_crc, stored);
        }
        Some(parts)
    }

    /// Returns the decoded container, and a function that returns its members' entries for a block offset.
    pub(super) fn finish(self) -> (Vec<u8>, impl FnOnce(u64) -> Vec<(ArrayId, u64, IndexEntry)>) {
        let mut builder = ContainerBuilder::default();
        self.members().for_each(|(m, stored)| builder.push(m.array, m.tile, m.chain, stored));
        let (decoded, starts) = builder.finish();
        let members = self.members;
        let entries = move |offset| {
            let entry = |(m, start): (Member, u32)| {
                let Member { array, tile, chain, decoded_crc: check, len } = m;
                (array, tile, IndexEntry::Shared { offset, start, len, chain, check })
            };
            members.into_iter().zip(starts).map(entry).collect()
        };
        (decoded, entries)
    }
}

/// A container of another archive, copied in its stored form.
pub(crate) struct WholeContainer {
    /// The chain of the container.
    pub(crate) chain: u16,
    /// The payload that the chain produced.
    pub(crate) payload: Vec<u8>,
    /// Bytes once decoded.
    pub(crate) decoded_len: u32,
    /// CRC-32 of the decoded bytes.
    pub(crate) decoded_crc: u32,
    /// All its members with their entries, without the container's offset.
    pub(crate) members: Vec<(ArrayId, u64, IndexEntry)>,
}

/// Compresses bytes that the writer produced (containers, constants lists) with zstd or the given chain, if
/// that is smaller. Returns the number of the chain and the payload.
pub(super) fn encode_own(
    decoded: &[u8],
    container_chain: Option<u16>,
    chains: &[Chain],
    preset: Preset,
    scratch: &mut CodecScratch,
) -> Result<(u16, Vec<u8>)> {
    let policy = Policy::of(preset);
    let level = policy.zstd_level;
    let wanted;
    let (chain, by) = if let Some(n) = container_chain {
        (Some(n), &chains[usize::from(n)])
    } else {
        // Decoders ignore the level, so any chain that is only zstd can be named.
        let zstd = chains.iter().position(|c| c.spec().is_zstd());
        wanted = Registry::default().bind(ChainSpec(vec![StageSpec::zstd(level)]));
        (zstd.map(|at| u16::try_from(at).expect("chain numbers are 16 bits")), &wanted)
    };
    let Some(chain) = chain else { return Ok((0, decoded.to_vec())) };
    let mut payload = Vec::new();
    by.encode_bytes(decoded, scratch, &mut payload)?;
    if let Some(lzma) = by.spec().as_lzma().filter(|_| policy.lzma_rivals) {
        for rival in lzma.rivals() {
            let mut other = Vec::new();
            let chain = Registry::default().bind(ChainSpec(vec![rival.into()]));
            chain.encode_bytes(decoded, scratch, &mut other)?;
            if other.len() < payload.len() {
                payload = other;
            }
        }
    }
    if payload.len() >= decoded.len() {
        return Ok((0, decoded.to_vec()));
    }
    Ok((chain, payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_apart_are_those_of_the_container_each_once() {
        let mut open = OpenContainer::default();
        for n in 0..8u8 {
            open.push(ArrayId::variable(n.into()), 0, u16::from(n % 2), n.into(), &[n; 700]);
        }
        assert!(open.apart(|chain| chain == 5).is_none());
        let parts = open.apart(|chain| chain == 1).expect("2,800 bytes of each");
        let mut seen = Vec::new();
        for part in parts {
            let (decoded, entries) = part.finish();
            for (array, tile, entry) in entries(160) {
                let IndexEntry::Shared { offset: 160, start, len: 700, chain, check } = entry else {
                    panic!("{entry:?}");
                };
                let n = u8::try_from(check).unwrap();
                assert_eq!((array, tile, chain), (ArrayId::variable(n.into()), 0, u16::from(n % 2)));
                assert_eq!(decoded[start as usize..][..700], [n; 700]);
                seen.push(n);
            }
        }
        assert_eq!(seen, [1, 3, 5, 7, 0, 2, 4, 6]);
    }
}
