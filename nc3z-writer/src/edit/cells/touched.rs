//! Plans for the elements of one variable.

use super::super::bands::Bands;
use super::super::preview::Plan;
use super::{Cells, Elements, Fate, staged_shape};
use crate::error::Result;
use nc3z_format::selection::{AnySelection, Placed};
use nc3z_staged::{GetPlan, SetPlan, TileMap, Touched};

/// The text of a plan is cut at this many bytes.
const TEXT_LEN: usize = 1 << 20;

impl Cells {
    /// Returns the action of a commit for each tile, in the order of the tiles' numbers.
    pub(in super::super) fn fates(&self) -> Vec<Fate> {
        let plan = each!(&self.elements, a => a.plan_commit());
        let grid = each!(&self.elements, a => a.slab_indices().shape().to_vec());
        let number = |at: &[usize]| at.iter().zip(&grid).fold(0_usize, |number, (i, n)| number * n + i);
        let count = plan.store.len() + plan.keep.len() + plan.full.len();
        let mut fates: Vec<Fate> = (0..count).map(|_| Fate::Keep).collect();
        plan.store.iter().for_each(|chunk| fates[number(&chunk.at)] = Fate::Store);
        plan.full.iter().for_each(|at| fates[number(at)] = Fate::Fill);
        fates
    }

    /// Returns the plans for writing and reading a selection.
    pub(in super::super) fn plans(&self, selection: &AnySelection<'_>) -> Result<(SetPlan, GetPlan)> {
        let mut plans = None;
        let bands = Bands::new(&self.shape, &self.spec, self.size)?.undivided();
        let mut plan = |part: Placed| {
            each!(&self.elements, a => plans = Some((a.plan_set(&part), a.plan_get(&part))));
            Ok(())
        };
        if selection.elements()? == 0 {
            plan(bands.nothing()?)?;
        } else {
            bands.each(selection, &mut plan)?;
        }
        Ok(plans.expect("there is a band"))
    }

    /// Returns a plan in its public form.
    pub(in super::super) fn plan(&self, text: String, touched: Vec<Touched>, reads_whole: bool) -> Plan {
        let grid = self.grid();
        let map = TileMap { grid: &grid, touched: &touched }.to_string();
        let read = touched.iter().filter(|tile| (reads_whole || !tile.whole) && self.lies_on_base(&tile.at));
        let reads = read.map(|tile| self.number(&tile.at) as u64).collect();
        let touched = touched.into_iter().map(|tile| (tile.at, tile.whole)).collect();
        Plan { text: cut(text), map, grid, touched, reads }
    }

    /// Plans another length of the first axis: edge tiles are filled up.
    pub(in super::super) fn plan_resize(&self, shape: &[u64]) -> Result<Plan> {
        self.check_resize(shape)?;
        let wanted = staged_shape(shape, &self.spec)?;
        let (plan, before) = each!(&self.elements, a => (a.plan_resize(&wanted), a.slab_indices().clone()));
        let moved = |at: &Vec<usize>| {
            let after = &plan.changes.slab_indices;
            at.iter().zip(after.shape()).all(|(i, n)| i < n) && after.get(at) != before.get(at)
        };
        let touched = self.indices().filter(moved).map(|at| Touched { at, whole: false }).collect();
        Ok(self.plan(plan.to_string(), touched, false))
    }

    /// Plans a change of the lengths of inner axes. Every element moves, so all tiles are read and written again.
    pub(in super::super) fn plan_rearrange(&self, shape: &[u64]) -> Plan {
        let touched: Vec<Touched> = self.indices().map(|at| Touched { at, whole: true }).collect();
        let on_base = touched.iter().filter(|tile| self.lies_on_base(&tile.at)).count();
        let text = format!(
            "RearrangePlan<{:?} -> {shape:?}, {} tiles made anew, {on_base} of them read from the archive>\n",
            self.shape,
            touched.len()
        );
        self.plan(text, touched, true)
    }

    /// Plans loading all tiles into memory.
    pub(in super::super) fn plan_load(&self) -> Plan {
        let plan = each!(&self.elements, a => a.plan_load());
        let touched =
            self.indices().filter(|at| self.lies_on_base(at)).map(|at| Touched { at, whole: true }).collect();
        self.plan(plan.to_string(), touched, true)
    }

    pub(in super::super) fn plan_commit(&self) -> Plan {
        let plan = each!(&self.elements, a => a.plan_commit());
        let touched = plan.store.iter().map(|chunk| Touched { at: chunk.at.clone(), whole: true }).collect();
        self.plan(plan.to_string(), touched, false)
    }

    fn grid(&self) -> Vec<usize> {
        each!(&self.elements, a => a.slab_indices().shape().to_vec())
    }

    fn number(&self, at: &[usize]) -> usize {
        at.iter().zip(self.grid()).fold(0, |number, (i, n)| number * n + i)
    }

    fn indices(&self) -> impl Iterator<Item = Vec<usize>> + use<> {
        let grid = self.grid();
        let total: usize = grid.iter().product();
        (0..total).map(move |mut n| {
            let mut at = vec![0; grid.len()];
            for (i, len) in at.iter_mut().zip(&grid).rev() {
                *i = n % len;
                n /= len;
            }
            at
        })
    }

    /// True if a tile is read from the archive: the archive's tiles are the only base slab, which is slab 1.
    fn lies_on_base(&self, at: &[usize]) -> bool {
        self.is_over_archive && each!(&self.elements, a => a.slab_indices().get(at)) == 1
    }
}

/// Cuts a text that is too long to read.
fn cut(mut text: String) -> String {
    if text.len() > TEXT_LEN {
        let all = text.len();
        let end = (0..=TEXT_LEN).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        text.truncate(end);
        text.push_str("\n... ");
        text.push_str(&(all - end).to_string());
        text.push_str(" bytes more");
    }
    text
}
