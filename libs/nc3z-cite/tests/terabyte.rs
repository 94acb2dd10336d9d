//! Measures a proof of a slice of a terabyte array: its length, and the time for checking it.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(unreachable_pub, dead_code, reason = "shared by tests")]

mod support;

use bytes::Bytes;
use nc3z_cite::{Part, Proof, Slice, SliceVariable, check, make};
use nc3z_format::classic::{Header, Layout, VarId, Version, arrange};
use nc3z_format::digest::{encode_tree, fold_nodes, values_root};
use nc3z_format::plan::TilePlan;
use nc3z_format::tile::{TileLayout, Tiling};
use nc3z_format::{Hyperslab, NcType};
use nc3z_reader::source::MemorySource;
use nc3z_reader::{ArraySource, Dataset, Result, TreeFile};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The shape of the array: planes of 2048 by 2048 elements that make a terabyte.
const SHAPE: [u64; 3] = [65_536, 2048, 2048];
/// The number of checks over which the time is averaged.
const RUNS: u32 = 10;
const NODE: usize = 1 << 20;

/// A terabyte array in which all nodes are equal: element n is n modulo the elements of a node.
struct Synthetic {
    header: Header,
    layout: Layout,
}

impl Synthetic {
    fn new() -> Self {
        let mut header = support::header(Version::Cdf5);
        header.variables = vec![header.variables[2].clone()];
        (header.dimensions[1].len, header.dimensions[2].len) = (SHAPE[1], SHAPE[2]);
        let arrangement = arrange(header, SHAPE[0]).unwrap();
        Synthetic { header: arrangement.header, layout: arrangement.layout }
    }

    fn fill(first: u64, out: &mut [u8]) {
        // Reads begin at element boundaries.
        let mut element = u32::try_from(first / 4 % (NODE as u64 / 4)).unwrap();
        for four in out.chunks_exact_mut(4) {
            four.copy_from_slice(&element.to_be_bytes());
            element = (element + 1) % (1 << 18);
        }
    }
}

impl ArraySource for Synthetic {
    fn header(&self) -> &Header {
        &self.header
    }

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn tiling(&self, _: VarId) -> Result<Cow<'_, Tiling>> {
        let elements = SHAPE.iter().product();
        Ok(Cow::Owned(TileLayout::linear(NODE as u64 / 4).bind(&SHAPE, elements)?))
    }

    fn fill_tile(&self, _: VarId, tile: u64, out: &mut [u8]) -> Result<()> {
        Self::fill(tile * NODE as u64, out);
        Ok(())
    }

    fn tile(&self, var: VarId, tile: &TilePlan<'_>, _: bool) -> Result<(u64, Bytes)> {
        let mut out = vec![0; NODE];
        self.fill_tile(var, tile.tile, &mut out)?;
        Ok((0, out.into()))
    }

    fn decode_cost(&self, _: VarId, _: u64) -> u64 {
        NODE as u64
    }

    fn read_range(&self, _: VarId, first: u64, out: &mut [u8]) -> Result<()> {
        Self::fill(first, out);
        Ok(())
    }

    fn read_bytes(&self, _: u64, _: &mut [u8]) -> Result<()> {
        unreachable!("values alone are read")
    }
}

/// Returns the processor time of this thread, where the system measures it, so that other work on the machine
/// is not included.
fn now(began: Instant) -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let spent = text.split(' ').next().and_then(|n| n.parse().ok()).map(Duration::from_nanos);
    spent.unwrap_or_else(|| began.elapsed())
}

fn slice_of(values: &[u8], shape: &[u64]) -> Slice<'static> {
    let variable = SliceVariable {
        name: None,
        ty: NcType::Float,
        shape: shape.to_vec(),
        dimensions: None,
        attributes: None,
        values: Cow::Owned(values.to_vec()),
    };
    Slice { attributes: None, variables: vec![variable] }
}

#[test]
fn a_megabyte_of_a_terabyte_has_a_short_proof_that_is_checked_at_once() {
    let source = Synthetic::new();
    let mut values = vec![0; NODE];
    Synthetic::fill(0, &mut values);
    let node = values_root(&values, u64::MAX);
    let total: u64 = SHAPE.iter().product::<u64>() * 4;
    assert_eq!(total, 1 << 40);
    let nodes = vec![node; usize::try_from(total).unwrap() / NODE];
    let tree = encode_tree(&source.layout, &[(fold_nodes(&nodes, 16), nodes)]);
    let dataset = Dataset::new(Arc::new(source));
    let tree = TreeFile::open(Arc::new(MemorySource::new(tree)), dataset.header(), dataset.layout()).unwrap();
    let whole_rows = Hyperslab::new([40_000, 77, 0], [1, 128, 2048], [1, 1, 1]).unwrap();
    let off_borders = Hyperslab::new([40_000, 77, 3], [1, 129, 2040], [1, 1, 1]).unwrap();
    let block = Hyperslab::new([100, 500, 900], [4, 256, 256], [1, 1, 1]).unwrap();
    for slab in [whole_rows, off_borders, block] {
        let part = Part { variable: VarId(0), slab: slab.clone() };
        let began = Instant::now();
        let proof = make(&dataset, &tree, &[part], false).unwrap();
        let made = began.elapsed();
        let values = dataset.variable("tas").unwrap().read_bytes(&slab).unwrap();
        let text = proof.to_json();
        // In base64, leaves take a third more bytes.
        let besides = text.len() as u64 - proof.leaf_bytes().div_ceil(3) * 4;
        let slice = slice_of(&values, &slab.count);
        // The system counts a thread's time in ticks. The mean of many runs is accurate, a single one is not.
        let before = now(began);
        for _ in 0..RUNS {
            let proof = Proof::from_json(text.as_bytes()).unwrap();
            check(&slice, &proof, tree.root()).unwrap();
        }
        let mean = now(began).saturating_sub(before) / RUNS;
        println!(
            "{slab}: {} bytes of values, proof {} bytes of leaves and {besides} bytes besides, made in {made:?}, checked in {mean:?}",
            values.len(),
            proof.leaf_bytes()
        );
        assert!(besides <= 64 << 10, "{slab}: {besides} bytes besides leaves");
        if !cfg!(debug_assertions) {
            assert!(mean < Duration::from_millis(50), "{slab}: {mean:?}");
        }
    }
}
