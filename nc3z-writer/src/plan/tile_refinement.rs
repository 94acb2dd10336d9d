//! Chooses shorter tiles for long arrays, if they take few more bytes. Reading a map, a box or one value
//! then decodes less, and editing one value stores less. Fields that were packed one by one even become
//! smaller.

use super::{ArrayPlan, Stored};
use crate::encode::{Form, make_tile};
use crate::error::{ErrorKind, Result};
use crate::options::WriterOptions;
use crate::scratch::with_scratch;
use crate::tiles::RawTile;
use nc3z_format::archive::constants::BLOCK_HEADER_LEN;
use nc3z_format::archive::{ArrayId, Role};
use nc3z_format::array_table::{ArrayInfo, Arrays};
use nc3z_format::classic::VarId;
use nc3z_format::{TileLayout, Tiling};
use nc3z_reader::{ClassicFile, Monitor};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The bytes of a tile's block header and index entry, and the average padding to the multiple of 8 at which
/// blocks begin.
const TILE_OVERHEAD: u64 = BLOCK_HEADER_LEN as u64 + 24 + 4;
/// Record variables with fewer bytes per record than this keep their tiles: a tile would be read in too many
/// pieces.
const LEAST_SLOT: u64 = 4 << 10;

/// Returns the variables whose linear tiles become shorter, and the new tile length in elements.
pub(super) fn refine_tiles(
    classic: &ClassicFile,
    arrays: &Arrays,
    plans: &BTreeMap<ArrayId, ArrayPlan>,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<BTreeMap<VarId, u64>> {
    // A tile and the tile it is coded against must have the same elements.
    let referred: BTreeSet<ArrayId> = plans.iter().filter_map(|(&id, plan)| referred_to(id, plan)).collect();
    let independent = |id, plan| referred_to(id, plan).is_none() && !referred.contains(&id);
    let candidates: Vec<(VarId, &ArrayInfo, &ArrayPlan)> = plans
        .iter()
        .filter(|(id, plan)| independent(**id, plan))
        .filter_map(|(&id, plan)| Some((arrays.variable_of(id)?, arrays.get(id)?, plan)))
        .collect();
    let finer = candidates.into_par_iter().map(|(var, info, plan)| {
        let finer = refine_array(classic, info, plan, options, monitor)?;
        Ok(finer.as_ref().and_then(linear_len).map(|len| (var, len)))
    });
    Ok(finer.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// The array that an array's tiles are coded against.
fn referred_to(id: ArrayId, plan: &ArrayPlan) -> Option<ArrayId> {
    match (id.role(), plan.tiles.first()?.against) {
        (Role::Variable(number), Some(distance)) => number.checked_sub(distance).map(ArrayId::variable),
        _ => None,
    }
}

/// The elements of a tile; `None` if tiles are chunks.
fn linear_len(info: &ArrayInfo) -> Option<u64> {
    Some(info.linear_tile_len()? / info.ty.size() as u64)
}

/// Returns the array in shorter tiles, if it is long and a sample of its tiles takes few more bytes when it is cut.
pub(crate) fn refine_array(
    classic: &ClassicFile,
    info: &ArrayInfo,
    plan: &ArrayPlan,
    options: &WriterOptions,
    monitor: &dyn Monitor,
) -> Result<Option<ArrayInfo>> {
    let policy = options.policy().finer.as_ref().filter(|policy| {
        let asked = options.tile_len.is_some();
        !asked && plan.numeric().is_some() && info.tiling.tile_count() >= policy.tiles
    });
    let (Some(policy), Some(len)) = (policy, linear_len(info)) else { return Ok(None) };
    if !has_long_runs(classic, info.id) {
        return Ok(None);
    }
    let (shape, present) = (info.tiling.shape(), info.tiling.present());
    let shorter = TileLayout::aligned_len(shape, present, len.div_ceil(policy.times));
    if shorter > len / 2 {
        return Ok(None);
    }
    let tiling = Tiling::new(TileLayout::linear(shorter), shape.to_vec(), present)?;
    let finer = ArrayInfo { tiling, ..info.clone() };
    let (mut whole, mut parts) = (Stored(0), Stored(0));
    for sample in 1..=policy.samples {
        let tile = info.tiling.tile_count() * sample / (policy.samples + 1);
        let first = (tile * len).div_ceil(shorter);
        let stored = |info: &ArrayInfo, tiles: Range<u64>| -> Result<Stored> {
            tiles
                .map(|tile| {
                    if monitor.is_cancelled() {
                        return Err(ErrorKind::Interrupted.into());
                    }
                    stored_tile(classic, info, plan, tile)
                })
                .sum()
        };
        whole += stored(info, tile..tile + 1)?;
        parts += stored(&finer, first..first + len / shorter)?;
    }
    let compared = u128::from(whole.0) * u128::from(len / shorter * shorter) / u128::from(len);
    let most = compared * u128::from(policy.most_permille) / 1000;
    Ok((u128::from(parts.0) <= most).then_some(finer))
}

/// True if a tile of the array is read in few pieces.
fn has_long_runs(classic: &ClassicFile, id: ArrayId) -> bool {
    let Role::Variable(number) = id.role() else { return false };
    let place = classic.layout().variable(VarId(number));
    place.is_some_and(|place| !place.is_record || place.slot_len >= LEAST_SLOT)
}

/// Returns the stored size of a tile under a plan.
fn stored_tile(classic: &ClassicFile, info: &ArrayInfo, plan: &ArrayPlan, tile: u64) -> Result<Stored> {
    let (first, len) = info.tile_bytes(tile)?;
    let mut bytes = vec![0; len];
    classic.read_array_bytes(info.id, first, &mut bytes)?;
    let raw = RawTile { array: info.id, tile, bytes };
    let made = with_scratch(|scratch| make_tile(&raw, info, plan, None, scratch))?;
    let payload = match made.form() {
        Form::Constant { .. } => Stored(0),
        Form::Member { bytes, .. } | Form::Block { payload: bytes, .. } => Stored::from_bytes(bytes),
    };
    Ok(payload + Stored(TILE_OVERHEAD))
}
