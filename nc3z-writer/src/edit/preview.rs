//! Plans of edits: the tiles that would be read, copied and written.

use super::{Edit, header};
use crate::error::Result;
use nc3z_format::Error as FormatError;
use nc3z_format::selection::AnySelection;
use std::fmt;

/// The plan of an operation on one variable, as instructions.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The instructions of the plan.
    pub text: String,
    /// A drawing of the grid of tiles: `p` for a tile that is touched in part, `w` for one that is touched
    /// whole. The grid of linear tiles has one axis.
    pub map: String,
    /// Lengths of the grid of tiles.
    pub grid: Vec<usize>,
    /// The touched tiles, by their index in the grid, and true for tiles that are touched whole.
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
    /// Plans [`Edit::set`]. A large selection is written in several parts; the plan shows them as one.
    ///
    /// # Errors
    /// As [`Edit::set`].
    pub fn plan_set<'a>(&mut self, variable: &str, selection: impl Into<AnySelection<'a>>) -> Result<Plan> {
        let selection = selection.into();
        let at = self.check_selection(variable, &selection)?;
        let cells = self.cells(at)?;
        let (plan, _) = cells.plans(&selection)?;
        Ok(cells.plan(plan.to_string(), plan.touched, false))
    }

    /// Plans [`Edit::get`].
    ///
    /// # Errors
    /// As [`Edit::get`].
    pub fn plan_get<'a>(&mut self, variable: &str, selection: impl Into<AnySelection<'a>>) -> Result<Plan> {
        let selection = selection.into();
        let at = self.check_selection(variable, &selection)?;
        let cells = self.cells(at)?;
        let (_, plan) = cells.plans(&selection)?;
        Ok(cells.plan(plan.to_string(), plan.touched, true))
    }

    /// Plans [`Edit::resize_dimension`] for one variable. If `dimension` is its first, edge tiles are filled
    /// up. Otherwise all tiles are read, and the elements get new tiles.
    ///
    /// # Errors
    /// There is no such variable or dimension. The variable does not have the dimension. The length is 0, and
    /// it is not the record dimension. The variable would have more tiles than an edit can have.
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
        self.check_len(id, len, at..at + 1)?;
        let mut shape = self.shape(at);
        axes.iter().for_each(|&axis| shape[axis] = len);
        let cells = self.cells(at)?;
        if axes == [0] || shape == cells.shape() {
            cells.plan_resize(&shape)
        } else {
            Ok(cells.plan_rearrange(&shape))
        }
    }

    /// Plans loading a whole variable into memory.
    ///
    /// # Errors
    /// The variable does not exist.
    pub fn plan_load(&mut self, variable: &str) -> Result<Plan> {
        let at = header::find_variable(&self.header, variable)?;
        Ok(self.cells(at)?.plan_load())
    }

    /// Plans a commit of a variable.
    ///
    /// # Errors
    /// The variable does not exist.
    pub fn plan_commit(&mut self, variable: &str) -> Result<Plan> {
        let at = header::find_variable(&self.header, variable)?;
        Ok(self.cells(at)?.plan_commit())
    }
}
