//! Shorter tiles for long arrays, where that costs next to nothing: who reads a map, a box or one value decodes less, and who
//! edits one stores less. Fields that were packed one by one even become smaller.

use super::policy::FinerPolicy;
use super::shape::aligned_len;
use super::{ArrayPlan, Stored};
use crate::encode::{Form, make_tile};
use crate::error::Result;
use crate::options::WriterOptions;
use crate::tiles::RawTile;
use nc3z_format::archive::constants::BLOCK_HEADER_LEN;
use nc3z_format::archive::{ArrayId, Role};
use nc3z_format::arrays::{ArrayInfo, Arrays};
use nc3z_format::classic::VarId;
use nc3z_format::codec::Scratch;
use nc3z_format::{TileLayout, Tiling};
use nc3z_reader::ClassicFile;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a tile's block header and index entry, and what is lost, on average, to the multiple of 8 that blocks begin at.
const TILE_OVERHEAD: u64 = BLOCK_HEADER_LEN as u64 + 24 + 4;
/// A tile of a record variable is not looked at where a record has less than this of it: it would be read in too many pieces.
const LEAST_SLOT: u64 = 4 << 10;

/// The variables whose linear tiles are to be shorter, and the elements of such a tile.
pub(super) fn finer_tiles(
    classic: &ClassicFile,
    arrays: &Arrays,
    plans: &BTreeMap<ArrayId, ArrayPlan>,
    options: &WriterOptions,
) -> Result<BTreeMap<VarId, u64>> {
    let Some(policy) = options.policy().finer.as_ref().filter(|_| options.tile_len.is_none()) else {
        return Ok(BTreeMap::new());
    };
    // A tile and the one that it is coded against have the same elements.
    let referred: BTreeSet<ArrayId> = plans.iter().filter_map(|(&id, plan)| referred_to(id, plan)).collect();
    let alone = |id, plan| referred_to(id, plan).is_none() && !referred.contains(&id);
    let numeric = plans.iter().filter(|(id, plan)| plan.numeric().is_some() && alone(**id, plan));
    let long: Vec<Candidate<'_>> = numeric
        .filter_map(|(&id, plan)| {
            let (var, info) = (arrays.variable_of(id)?, arrays.get(id)?);
            let place = &classic.layout().variables[var.index()];
            let readable = !place.is_record || place.slot_len >= LEAST_SLOT;
            let candidate = Candidate { classic, var, info, plan };
            (readable && info.tiling.tile_count() >= policy.tiles).then_some(candidate)
        })
        .collect();
    let finer = long.into_par_iter().map(|candidate| candidate.finer_len(policy));
    Ok(finer.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// The array that an array's tiles are coded against.
fn referred_to(id: ArrayId, plan: &ArrayPlan) -> Option<ArrayId> {
    match (id.role(), plan.tiles.first()?.against) {
        (Role::Variable(number), Some(distance)) => number.checked_sub(distance).map(ArrayId::variable),
        _ => None,
    }
}

/// An array whose tiles may become shorter.
struct Candidate<'a> {
    classic: &'a ClassicFile,
    var: VarId,
    info: &'a ArrayInfo,
    plan: &'a ArrayPlan,
}

impl Candidate<'_> {
    /// The variable and the elements of a shorter tile, where some tiles take hardly more cut into such.
    fn finer_len(&self, policy: &FinerPolicy) -> Result<Option<(VarId, u64)>> {
        let tiling = &self.info.tiling;
        let &TileLayout::Linear { len } = tiling.layout() else { return Ok(None) };
        let (shape, present) = (tiling.shape(), tiling.present());
        let shorter = aligned_len(shape, present, len.div_ceil(policy.times));
        if shorter > len / 2 {
            return Ok(None);
        }
        let tiling = Tiling::new(TileLayout::linear(shorter), shape.to_vec(), present)?;
        let finer = ArrayInfo { tiling, ..self.info.clone() };
        let mut scratch = Scratch::default();
        let (mut whole, mut parts) = (Stored(0), Stored(0));
        for sample in 1..=policy.samples {
            let tile = self.info.tiling.tile_count() * sample / (policy.samples + 1);
            // Parts of the long tile that are tiles of the shorter kind.
            let first = (tile * len).div_ceil(shorter);
            let count = len / shorter;
            whole += self.stored(self.info, tile..tile + 1, &mut scratch)?;
            parts += self.stored(&finer, first..first + count, &mut scratch)?;
        }
        let whole_of_parts = u128::from(whole.0) * u128::from(len / shorter * shorter) / u128::from(len);
        let most = whole_of_parts * u128::from(policy.most_permille) / 1000;
        Ok((u128::from(parts.0) <= most).then_some((self.var, shorter)))
    }

    /// What some tiles take by the array's plan.
    fn stored(&self, info: &ArrayInfo, tiles: std::ops::Range<u64>, scratch: &mut Scratch) -> Result<Stored> {
        tiles
            .map(|tile| {
                let (first, len) = info.tile_bytes(tile)?;
                let mut bytes = vec![0; len];
                self.classic.read_array_bytes(info.id, first, &mut bytes)?;
                let raw = RawTile { array: info.id, tile, bytes };
                let made = make_tile(&raw, info, self.plan, None, scratch)?;
                let payload = match made.form() {
                    Form::Constant { .. } => Stored(0),
                    Form::Member { bytes, .. } | Form::Block { payload: bytes, .. } => Stored::of(bytes),
                };
                Ok(payload + Stored(TILE_OVERHEAD))
            })
            .sum()
    }
}
