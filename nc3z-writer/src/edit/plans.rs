//! Plans of edits: what would be read, copied and written, without doing it.

use super::{Edit, Picks, header};
use crate::error::Result;
use std::fmt;

/// What an operation on one variable would do. It prints as instructions.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The instructions.
    pub text: String,
    /// A drawing of the grid of tiles: `p` where a tile is touched in part, `w` where it is touched whole. Of linear tiles the grid has one axis.
    pub map: String,
    /// Lengths of the grid of tiles.
    pub grid: Vec<usize>,
    /// The tiles that are touched, by their index in the grid, and whether that is whole.
    pub touched: Vec<(Vec<usize>, bool)>,
    /// The numbers of the archive's tiles that would be read, ascending.
    pub reads: Vec<u64>,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Edit {
    /// What [`Edit::set_picks`] would do. A large selection is written in several parts; the plan shows them as one.
    ///
    /// # Errors
    /// As [`Edit::set_picks`].
    pub fn plan_set(&mut self, variable: &str, picks: &Picks<'_>) -> Result<Plan> {
        let at = self.check_picks(variable, picks)?;
        let cells = self.cells(at)?;
        let (plan, _) = cells.plans(picks)?;
        Ok(cells.plan(plan.to_string(), plan.touched, false))
    }

    /// What [`Edit::get_picks`] would do.
    ///
    /// # Errors
    /// As [`Edit::get_picks`].
    pub fn plan_get(&mut self, variable: &str, picks: &Picks<'_>) -> Result<Plan> {
        let at = self.check_picks(variable, picks)?;
        let cells = self.cells(at)?;
        let (_, plan) = cells.plans(picks)?;
        Ok(cells.plan(plan.to_string(), plan.touched, true))
    }

    /// What another length of the variable's first dimension would take of this variable.
    ///
    /// # Errors
    /// There is no such variable; it has no dimensions.
    pub fn plan_resize(&mut self, variable: &str, len: u64) -> Result<Plan> {
        let at = header::find_variable(&self.header, variable)?;
        self.cells(at)?.plan_resize(len)
    }

    /// What bringing all of a variable into memory would take.
    ///
    /// # Errors
    /// There is no such variable.
    pub fn plan_load(&mut self, variable: &str) -> Result<Plan> {
        let at = header::find_variable(&self.header, variable)?;
        Ok(self.cells(at)?.plan_load())
    }

    /// What a commit would store of a variable.
    ///
    /// # Errors
    /// There is no such variable.
    pub fn plan_commit(&mut self, variable: &str) -> Result<Plan> {
        let at = header::find_variable(&self.header, variable)?;
        Ok(self.cells(at)?.plan_commit())
    }
}
