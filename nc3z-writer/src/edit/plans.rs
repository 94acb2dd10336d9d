//! Plans of edits: what would be read, copied and written, without doing it.

use super::{Edit, Picks, header};
use crate::error::Result;
use nc3z_format::Error as FormatError;
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

    /// What [`Edit::resize_dimension`] would take of one variable. Where `dimension` is its first, edge tiles are filled up. Where it is another one,
    /// all tiles are read, and the elements get new tiles.
    ///
    /// # Errors
    /// There is no such variable or dimension; the variable does not have the dimension; a length of 0 where it is not the record dimension.
    pub fn plan_resize(&mut self, variable: &str, dimension: &str, len: u64) -> Result<Plan> {
        let at = header::find_variable(&self.header, variable)?;
        let id = header::find_dimension(&self.header, dimension)?;
        let axes: Vec<usize> = (0..)
            .zip(&self.header.variables[at].dimensions)
            .filter(|(_, d)| **d == id)
            .map(|(n, _)| n)
            .collect();
        if axes.is_empty() {
            return Err(FormatError::invalid(format!(
                "variable `{variable}` does not have the dimension `{dimension}`"
            ))
            .into());
        }
        if !self.header.dimensions[id.index()].is_record() {
            header::check_fixed_len(dimension, len)?;
        }
        let mut shape = self.shape(at);
        axes.iter().for_each(|&axis| shape[axis] = len);
        let cells = self.cells(at)?;
        if axes == [0] || shape == cells.shape() {
            cells.plan_resize(&shape)
        } else {
            Ok(cells.plan_rearrange(&shape))
        }
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
