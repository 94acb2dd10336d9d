//! Ways to encode a tile, and the chain table of an archive.

use super::array_plan::ArrayPlan;
use nc3z_format::codec::{Chain, ChainSpec, ReferenceTile, Registry, StageSpec, TileCoder};
use nc3z_format::num::EncodePlan;

/// One way to encode a tile.
#[derive(Debug, Clone)]
pub(crate) struct TileChain {
    /// The chain that readers need.
    pub(crate) chain: Chain,
    /// The plan of the numeric codec, if the chain is that codec.
    pub(crate) num: Option<EncodePlan>,
    /// This variable's id minus the id of the variable that its tiles refer to, if they refer to another variable.
    pub(crate) against: Option<u32>,
    /// Number of the chain in the chain table; 0 until [`ChainTable::assign`].
    pub(crate) number: u16,
}

impl TileChain {
    pub(crate) const fn bytes(chain: Chain) -> Self {
        TileChain { chain, num: None, against: None, number: 0 }
    }

    /// The numeric codec by this plan.
    pub(crate) fn numeric(plan: EncodePlan, registry: &Registry) -> Self {
        let chain = registry.bind(ChainSpec(vec![StageSpec::num(plan.dictionary().map(|_| 0))]));
        TileChain { chain, num: Some(plan), against: None, number: 0 }
    }

    /// The numeric codec relative to the tiles of another variable, whose id is smaller by `distance`.
    pub(crate) fn numeric_against(plan: EncodePlan, distance: u32, registry: &Registry) -> Self {
        let stage = StageSpec::num(plan.dictionary().map(|_| 0)).against(distance);
        let chain = registry.bind(ChainSpec(vec![stage]));
        TileChain { chain, num: Some(plan), against: Some(distance), number: 0 }
    }

    /// Returns the coder for a tile that may refer to the tile `other`.
    pub(crate) fn coder_against<'a>(&'a self, other: Option<ReferenceTile<'a>>) -> TileCoder<'a> {
        match (&self.num, self.against, other) {
            (Some(plan), Some(_), Some(other)) => TileCoder::NumAgainst(plan, other),
            _ => self.coder(),
        }
    }

    /// Returns the coder for a tile that refers to no other.
    pub(crate) fn coder(&self) -> TileCoder<'_> {
        match &self.num {
            Some(plan) => TileCoder::Num(plan),
            None => TileCoder::Bytes(&self.chain),
        }
    }
}

/// The bound chains of one archive in the order of their numbers. Chain 0 stores bytes as they are.
#[derive(Debug)]
pub(crate) struct ChainTable(Vec<Chain>);

impl ChainTable {
    pub(crate) fn new(registry: &Registry) -> Self {
        ChainTable(vec![registry.bind(ChainSpec::default())])
    }

    /// Returns the number of a chain, and adds the chain to the table if it is not there.
    pub(crate) fn number(&mut self, chain: &Chain) -> u16 {
        let at = self.0.iter().position(|c| c.spec() == chain.spec()).unwrap_or_else(|| {
            self.0.push(chain.clone());
            self.0.len() - 1
        });
        u16::try_from(at).expect("the candidates are a few dozen")
    }

    /// Numbers the chains of a plan.
    pub(crate) fn assign(&mut self, plan: &mut ArrayPlan) {
        let ArrayPlan { as_it_is: _, tiles, short, fallback, container, raised: _, made: _ } = plan;
        let fallback = fallback.iter_mut().flat_map(|f| &mut f.ways);
        for way in tiles.iter_mut().chain(short).chain(fallback).chain(container) {
            way.number = self.number(&way.chain);
        }
    }

    pub(crate) fn get(&self, number: u16) -> &Chain {
        &self.0[usize::from(number)]
    }

    /// The chains as they are stored.
    pub(crate) fn specs(&self) -> Vec<ChainSpec> {
        self.0.iter().map(|chain| chain.spec().clone()).collect()
    }
}
