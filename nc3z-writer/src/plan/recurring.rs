//! Arrays whose values recur at a distance, where no prediction finds them and no sample shows it: a quick zstd of a whole tile
//! tells. Their tiles are tried as they are besides.

use super::policy::RecurringPolicy;
use super::{ArrayPlan, Planner, TileChain};
use crate::error::Result;
use nc3z_format::archive::ArrayId;
use nc3z_format::codec::ChainSpec;
use std::collections::BTreeMap;

/// Adds that way to the plans of such arrays.
pub(super) fn plan_recurring(
    planner: &mut Planner<'_>,
    policy: &RecurringPolicy,
    plans: &mut BTreeMap<ArrayId, ArrayPlan>,
) -> Result<()> {
    let registry = &planner.options.registry;
    let as_it_is = TileChain::bytes(registry.bind(ChainSpec(vec![planner.policy.codec()])));
    for (id, plan) in plans {
        // Only a plan that was tried on samples promises anything.
        let Some(fallback) = &plan.fallback else { continue };
        let mut tiles = planner.held.of(*id);
        let count = tiles.len();
        let Some(middle) = tiles.nth(count / 2) else { continue };
        let promised = fallback.promised_for(middle.bytes.len() as u64);
        if planner.quick(middle)? < promised.percent(policy.percent) {
            plan.tiles.push(as_it_is.clone());
        }
    }
    Ok(())
}
