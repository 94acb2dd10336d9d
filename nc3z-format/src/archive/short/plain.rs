//! Chains whose members say their own checksum: the decoded tile is as long as the stored bytes, and is made of them without a codec.

use super::directory::MemberRow;
use crate::archive::HeadParts;
use crate::codec::{ChainSpec, unshuffle};
use crate::error::Result;
use crate::limits::Limits;

/// The element size by which each chain shuffles, 1 where it does nothing at all; `None` for all other chains.
pub(super) struct PlainChains(Vec<Option<usize>>);

impl PlainChains {
    /// Those of a decoded head copy.
    ///
    /// # Errors
    /// Damage.
    pub(super) fn of_head(head: &[u8]) -> Result<Self> {
        Ok(PlainChains(
            HeadParts::split(head, &Limits::default())?.chains().iter().map(element_size).collect(),
        ))
    }

    pub(super) fn is_plain(&self, chain: u16) -> bool {
        self.size(chain).is_some()
    }

    fn size(&self, chain: u16) -> Option<usize> {
        self.0.get(usize::from(chain)).copied().flatten()
    }

    /// Fills in the checksums of the decoded tiles that follow from the members' bytes, one after another in `payload`.
    pub(super) fn fill_in(&self, members: &mut [MemberRow], mut payload: &[u8]) {
        let mut decoded = Vec::new();
        for m in members {
            let (bytes, rest) = payload.split_at(m.len as usize);
            payload = rest;
            m.check = match self.size(m.chain) {
                Some(1) => crc32fast::hash(bytes),
                Some(size) => {
                    decoded.clear();
                    unshuffle(size, bytes, &mut decoded);
                    crc32fast::hash(&decoded)
                }
                None => continue,
            };
        }
    }
}

fn element_size(chain: &ChainSpec) -> Option<usize> {
    match &chain.0[..] {
        [] => Some(1),
        [stage] if stage.id() == "shuffle" => {
            let [size] = stage.integers(["elementsize"])?;
            usize::try_from(size).ok().filter(|&size| size > 0)
        }
        _ => None,
    }
}
