//! Short arrays, which share containers of zstd: as byte planes or as output of the numeric codec.

use super::array::short_chain;
use super::cost::Stored;
use super::numeric::{numeric_plans, trials};
use super::policy::ShortPolicy;
use super::probe::packed_len;
use super::subject::requested_chain;
use super::{ArrayPlan, Planner, Subject, TileChain, fill_values};
use crate::encode::{Form, MadeTile};
use crate::error::Result;
use crate::options::{CONTAINER_LEN, PACK_LEN};
use crate::tiles::{RawTile, scan_pieces};
use nc3z_format::NcType;
use nc3z_format::archive::ArrayId;
use nc3z_format::array_table::ArrayInfo;
use nc3z_format::num::EncodePlan;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A short array that goes into a container of zstd.
pub(super) struct Short {
    pub(super) id: ArrayId,
    /// The array as byte planes, as a member of the container.
    bytes: Vec<u8>,
    /// The output of a numeric chain, if that is smaller for this array.
    numbers: Option<Vec<u8>>,
}

/// The numeric codec is not used for a kind if it was smaller for fewer than 1/`SELDOM` of the searched arrays.
const SELDOM: usize = 8;

/// The plans of short arrays of one type and about one length: files with thousands of them have few kinds.
#[derive(Default)]
struct Kind {
    seen: usize,
    /// The plans that made an array smaller than byte planes do, and how often.
    plans: Vec<(EncodePlan, usize)>,
}

impl Kind {
    fn learn(&mut self, plan: &EncodePlan) {
        match self.plans.iter_mut().find(|(known, _)| known.is_same_way(plan)) {
            Some((_, count)) => *count += 1,
            None => self.plans.push((plan.clone(), 1)),
        }
    }

    /// True if numbers were smaller for each array that was searched. The estimates of the others are then left out.
    fn is_numeric(&self) -> bool {
        self.plans.iter().map(|(_, count)| count).sum::<usize>() == self.seen
    }

    /// Returns the most frequent plan; `None` if the numeric codec was rarely smaller.
    fn usual(&self) -> Option<&EncodePlan> {
        let smaller: usize = self.plans.iter().map(|(_, count)| count).sum();
        let most = self.plans.iter().max_by_key(|(_, count)| *count)?;
        (smaller * SELDOM >= self.seen).then_some(&most.0)
    }
}

/// Gives short arrays the numeric chain, if it is smaller than the container's codec on this array alone.
/// Returns all short arrays that a container would hold.
pub(super) fn as_numbers(
    planner: &mut Planner<'_>,
    policy: &ShortPolicy,
    plans: &mut BTreeMap<ArrayId, ArrayPlan>,
) -> Result<Vec<Short>> {
    let total = planner.arrays.iter().fold(0u64, |sum, a| sum.saturating_add(a.total_bytes()));
    if total > policy.source_len || plans.len() > policy.arrays {
        return Ok(Vec::new());
    }
    let mut short = Vec::new();
    let mut kinds: BTreeMap<(NcType, u32), Kind> = BTreeMap::new();
    for (id, plan) in plans {
        let info = planner.arrays.get(*id).expect("each plan is of an array of the file");
        let mut tiles = planner.held.of(*id);
        let (Some(raw), None) = (tiles.next(), tiles.next()) else { continue };
        if info.total_bytes() > PACK_LEN || requested_chain(planner.classic, info, planner.options)?.is_some()
        {
            continue;
        }
        let Some(bytes) = planner.shared_payload(info, plan)? else { continue };
        let mut found = Short { id: *id, bytes, numbers: None };
        if info.ty != NcType::Char {
            let kind = kinds.entry((info.ty, info.total_bytes().ilog2())).or_default();
            let searched = kind.seen < policy.searched;
            let other = match kind.usual() {
                _ if searched => Some(planner.numeric_plan(info, raw, policy)?),
                usual => usual.cloned(),
            };
            let is_known = !searched && kind.is_numeric();
            kind.seen += usize::from(searched);
            if let Some(other) = other
                && let Some((other_plan, numbers)) = planner.numbers(info, &other)?
                && (is_known
                    || Stored::from_bytes(&numbers)
                        < packed_len(&found.bytes, policy.estimate_level, planner.scratch)?)
            {
                if searched {
                    kind.learn(&other);
                }
                *plan = other_plan;
                found.numbers = Some(numbers);
            }
        }
        short.push(found);
    }
    Ok(short)
}

impl Planner<'_> {
    /// Returns the best plan for the numbers of a short array.
    fn numeric_plan(&mut self, info: &ArrayInfo, raw: &RawTile, policy: &ShortPolicy) -> Result<EncodePlan> {
        let scan =
            |sink: &mut dyn FnMut(&[u8]) -> bool| scan_pieces(self.classic, info, Some(self.held), sink);
        let subject = Subject {
            info,
            registry: &self.options.registry,
            samples: vec![Cow::Borrowed(&raw.bytes)],
            fills: fill_values(self.classic, info),
            whole_len: policy.trial_len,
            // The encoded tile would be a block of its own, but short tiles are members of containers.
            keep: false,
            dictionary: false,
            scan: &scan,
        };
        Ok(trials(numeric_plans(&subject, self.policy)?.plans, &subject, self.scratch)?.remove(0).plan)
    }

    /// Returns the array's plan that encodes its numbers, and its output.
    fn numbers(&mut self, info: &ArrayInfo, plan: &EncodePlan) -> Result<Option<(ArrayPlan, Vec<u8>)>> {
        let tiles = vec![TileChain::numeric(plan.clone(), &self.options.registry)];
        let mut plan = ArrayPlan { short: tiles.clone(), tiles, ..ArrayPlan::default() };
        Ok(self.shared_payload(info, &mut plan)?.map(|numbers| (plan, numbers)))
    }

    /// Returns the bytes that an array with one tile would put into a container of zstd.
    fn shared_payload(&mut self, info: &ArrayInfo, plan: &mut ArrayPlan) -> Result<Option<Vec<u8>>> {
        Ok(match self.made(info, plan)?.first().map(MadeTile::form) {
            Some(Form::Member { bytes, .. }) => Some(bytes.clone()),
            _ => None,
        })
    }
}

/// Gives arrays their byte planes back, if the container becomes smaller by it. A numeric chain sees only one
/// array, but the container's codec finds what one array shares with another.
pub(super) fn better_as_bytes(
    planner: &mut Planner<'_>,
    policy: &ShortPolicy,
    short: Vec<Short>,
    plans: &mut BTreeMap<ArrayId, ArrayPlan>,
) -> Result<()> {
    if short.iter().all(|s| s.numbers.is_none()) {
        return Ok(());
    }
    let all = short.iter().map(|s| &s.bytes[..]).collect::<Vec<_>>().concat();
    let mixed =
        short.iter().map(|s| &s.numbers.as_ref().unwrap_or(&s.bytes)[..]).collect::<Vec<_>>().concat();
    let mut stored = |bytes: &[u8]| -> Result<Stored> {
        let len = |container| packed_len(container, policy.estimate_level, planner.scratch);
        bytes.chunks(CONTAINER_LEN).map(len).sum()
    };
    if stored(&all)? >= stored(&mixed)? {
        return Ok(());
    }
    for found in short.into_iter().filter(|s| s.numbers.is_some()) {
        let info = planner.arrays.get(found.id).expect("each plan is of an array of the file");
        let plan = ArrayPlan {
            short: vec![short_chain(info.ty, &planner.options.registry)],
            ..ArrayPlan::default()
        };
        plans.insert(found.id, plan);
    }
    Ok(())
}
