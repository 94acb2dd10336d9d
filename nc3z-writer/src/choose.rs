//! Which chain each array gets: candidates are tried on samples of its own tiles, the smallest wins.
//!
//! Sizes alone decide, never the clock, so that the same input gives the same archive.

use crate::error::Result;
use crate::options::{PACK_LEN, Preset};
use nc3z_format::arrays::ArrayInfo;
use nc3z_format::codec::{ChainSpec, Scratch, StageSpec, encode_bytes};

/// Sample pieces of each array, and the bytes of each.
const SAMPLES: u64 = 3;
const SAMPLE_LEN: usize = 64 << 10;

/// How the tiles of one array are encoded: numbers in the chain table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ArrayPlan {
    /// Chain of tiles that get a block.
    pub(crate) chain: u16,
    /// Chain (filters only) of tiles that go into containers, where a codec follows.
    pub(crate) packed: u16,
}

/// The chains of one archive in the order of their numbers. Number 0 stores.
#[derive(Debug)]
pub(crate) struct ChainTable(Vec<ChainSpec>);

impl ChainTable {
    pub(crate) fn new() -> Self {
        ChainTable(vec![ChainSpec::default()])
    }

    /// The number of a chain, given to it now if it has none.
    pub(crate) fn number(&mut self, chain: &ChainSpec) -> u16 {
        let at = self.0.iter().position(|c| c == chain).unwrap_or_else(|| {
            self.0.push(chain.clone());
            self.0.len() - 1
        });
        u16::try_from(at).expect("the candidates are a few dozen")
    }

    pub(crate) fn chains(&self) -> &[ChainSpec] {
        &self.0
    }
}

/// The codec that ends a preset's byte chains.
pub(crate) fn codec(preset: Preset) -> StageSpec {
    StageSpec::Zstd {
        level: match preset {
            Preset::Fast => 1,
            Preset::Default => 3,
            Preset::Max => 19,
        },
    }
}

/// Byte chains that are tried for elements of this size.
fn candidates(preset: Preset, size: usize) -> Vec<ChainSpec> {
    let codec = codec(preset);
    let mut chains = vec![ChainSpec(vec![codec.clone()])];
    if size > 1 {
        chains.insert(0, ChainSpec(vec![StageSpec::Shuffle { elementsize: size }, codec]));
    }
    chains
}

/// Chooses the chain of one array from samples of it.
pub(crate) fn choose(
    info: &ArrayInfo,
    preset: Preset,
    samples: &[Vec<u8>],
    table: &mut ChainTable,
    scratch: &mut Scratch,
) -> Result<ArrayPlan> {
    let size = info.ty.size();
    let packed = if size > 1 { ChainSpec(vec![StageSpec::Shuffle { elementsize: size }]) } else { ChainSpec::default() };
    let mut best: Option<(usize, ChainSpec)> = None;
    let mut out = Vec::new();
    for chain in candidates(preset, size) {
        let mut total = 0;
        for sample in samples {
            out.clear();
            encode_bytes(&chain, sample, scratch, &mut out)?;
            total += out.len();
        }
        if best.as_ref().is_none_or(|(least, _)| total < *least) {
            best = Some((total, chain));
        }
    }
    let (_, chain) = best.expect("there is always a candidate");
    let small = info.total_bytes() <= PACK_LEN;
    Ok(ArrayPlan { chain: if small { 0 } else { table.number(&chain) }, packed: table.number(&packed) })
}

/// Byte ranges (in the flattened array) of the samples of an array: first, middle and last parts.
pub(crate) fn sample_ranges(info: &ArrayInfo) -> Vec<(u64, usize)> {
    let size = info.ty.size() as u64;
    let total = info.total_bytes();
    let len = (SAMPLE_LEN as u64).min(total);
    let n = SAMPLES.min(total.div_ceil(len.max(1)));
    let span = total - len;
    (0..n)
        .map(|i| {
            let at = if n > 1 { span / size * i / (n - 1) * size } else { 0 };
            (at, usize::try_from(len).expect("at most SAMPLE_LEN"))
        })
        .collect()
}
