//! Decides how containers and lists of constants are packed, and whether the members of a container are packed in
//! two groups.

use super::Policy;
use crate::error::Result;
use nc3z_format::archive::{ArrayId, BLOCK_HEADER_LEN, ContainerBuilder, IndexEntry};
use nc3z_format::codec::{Chain, ChainSpec, CodecScratch, Registry, StageSpec};

/// The cost of one more container: a block's header, padding, and different offsets in the index.
const ONE_MORE: usize = BLOCK_HEADER_LEN + 36;
/// Members of one kind get a separate container only if they have at least this many bytes.
const APART: usize = 2 << 10;

/// A container that is being filled.
#[derive(Default)]
pub(crate) struct OpenContainer {
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
    pub(crate) fn push(&mut self, array: ArrayId, tile: u64, chain: u16, decoded_crc: u32, stored: &[u8]) {
        let len = u32::try_from(stored.len()).expect("a packed tile is small");
        self.members.push(Member { array, tile, chain, decoded_crc, len });
        self.stored.extend(stored);
    }

    /// Bytes of the members so far.
    pub(crate) fn len(&self) -> usize {
        self.stored.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
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
    fn apart(&self, is_numeric: impl Fn(u16) -> bool) -> Option<[OpenContainer; 2]> {
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

    fn packed(
        self,
        container_chain: Option<u16>,
        chains: &[Chain],
        policy: &Policy,
        scratch: &mut CodecScratch,
    ) -> Result<PackedContainer> {
        let mut builder = ContainerBuilder::default();
        self.members().for_each(|(m, stored)| builder.push(m.array, m.tile, m.chain, stored));
        let (decoded, starts) = builder.finish();
        let (chain, payload) = pack_own(&decoded, container_chain, chains, policy, scratch)?;
        Ok(PackedContainer { chain, payload, decoded, members: self.members, starts })
    }
}

/// A container in the form in which it is written.
pub(crate) struct PackedContainer {
    pub(crate) chain: u16,
    pub(crate) payload: Vec<u8>,
    pub(crate) decoded: Vec<u8>,
    members: Vec<Member>,
    /// The positions of the members in `decoded`.
    starts: Vec<u32>,
}

impl PackedContainer {
    /// Returns the members' entries, for a container whose block is at `offset`.
    pub(crate) fn entries(&self, offset: u64) -> impl Iterator<Item = (ArrayId, u64, IndexEntry)> {
        self.members.iter().zip(&self.starts).map(move |(m, &start)| {
            let &Member { array, tile, chain, decoded_crc: check, len } = m;
            (array, tile, IndexEntry::Shared { offset, start, len, chain, check })
        })
    }
}

/// Packs a container with this chain; without one, with zstd. Returns two containers if they are smaller: one zstd
/// table would mix the frequencies of text and of coded numbers.
///
/// # Errors
/// A codec fails.
pub(crate) fn pack_container(
    open: OpenContainer,
    container_chain: Option<u16>,
    chains: &[Chain],
    policy: &Policy,
    scratch: &mut CodecScratch,
) -> Result<Vec<PackedContainer>> {
    let is_numeric = |chain: u16| chains[usize::from(chain)].is_numeric();
    let parts = if container_chain.is_none() { open.apart(is_numeric) } else { None };
    let mut pack = |open: OpenContainer| open.packed(container_chain, chains, policy, scratch);
    let whole = pack(open)?;
    let Some([numbers, others]) = parts else { return Ok(vec![whole]) };
    let parts = vec![pack(numbers)?, pack(others)?];
    let len = parts.iter().map(|part| part.payload.len()).sum::<usize>();
    Ok(if len + ONE_MORE < whole.payload.len() { parts } else { vec![whole] })
}

/// Compresses bytes that the writer produced (containers, constants lists) with zstd or the given chain, if
/// that is smaller. Returns the number of the chain and the payload.
pub(crate) fn pack_own(
    decoded: &[u8],
    container_chain: Option<u16>,
    chains: &[Chain],
    policy: &Policy,
    scratch: &mut CodecScratch,
) -> Result<(u16, Vec<u8>)> {
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
    if container_chain.is_none() && policy.least_level < level {
        // The higher level does not always win.
        let quick = Registry::default().bind(ChainSpec(vec![StageSpec::zstd(policy.least_level)]));
        let mut other = Vec::new();
        quick.encode_bytes(decoded, scratch, &mut other)?;
        if other.len() < payload.len() {
            payload = other;
        }
    }
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
    use crate::options::Preset;

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
            let policy = Policy::for_preset(Preset::Fast);
            let packed = part.packed(None, &[], policy, &mut CodecScratch::default()).unwrap();
            for (array, tile, entry) in packed.entries(160) {
                let IndexEntry::Shared { offset: 160, start, len: 700, chain, check } = entry else {
                    panic!("{entry:?}");
                };
                let n = u8::try_from(check).unwrap();
                assert_eq!((array, tile, chain), (ArrayId::variable(n.into()), 0, u16::from(n % 2)));
                assert_eq!(packed.decoded[start as usize..][..700], [n; 700]);
                seen.push(n);
            }
        }
        assert_eq!(seen, [1, 3, 5, 7, 0, 2, 4, 6]);
    }
}
