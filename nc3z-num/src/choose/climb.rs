//! A hill climb over the number of repeated differences.

use super::chooser::Chooser;
use super::cost::Estimated;
use crate::encode::EncodePlan;
use crate::error::Result;
use crate::word::Word;

/// The parameters of a climb.
pub(crate) struct Climb<'a> {
    /// Changes of (neighbours, rows) that are tried at each step.
    pub(crate) steps: &'a [(i8, i8)],
    /// A step must save at least 1/`gain`.
    pub(crate) gain: u64,
}

impl Climb<'_> {
    /// Climbs from `start` to the cheapest neighbouring plan, as long as each step saves enough. Returns the plans
    /// on the way, without `start`. `cost` adds costs to plans, and may omit some plans.
    pub(crate) fn run<'c, W: Word>(
        &self,
        chooser: &mut Chooser<'c, W>,
        start: Estimated,
        mut cost: impl FnMut(&mut Chooser<'c, W>, &EncodePlan, Vec<EncodePlan>) -> Result<Vec<Estimated>>,
    ) -> Result<Vec<Estimated>> {
        let mut best = start;
        let mut seen = vec![best.1.axes];
        let mut passed = Vec::new();
        loop {
            let (neighbours, rows) = best.1.axes.repeats();
            let mut around = Vec::new();
            for &(n, r) in self.steps {
                let moved = neighbours.checked_add_signed(n).zip(rows.checked_add_signed(r));
                let Some((neighbours, rows)) = moved else { continue };
                let axes = best.1.axes.repeated(neighbours, rows);
                if !seen.contains(&axes) {
                    seen.push(axes);
                    around.push(EncodePlan { axes, ..best.1.clone() });
                }
            }
            let enough = best.0.less_one_of(self.gain);
            let tried = cost(chooser, &best.1, around)?;
            let Some(next) = tried.into_iter().min_by_key(|t| t.0).filter(|t| t.0 < enough) else { break };
            best = next;
            passed.push(best.clone());
        }
        Ok(passed)
    }
}
