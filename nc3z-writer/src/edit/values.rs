//! Writes, reads and plans values of an edit.

use super::{Edit, Picks, header};
use crate::error::Result;
use nc3z_format::Hyperslab;
use std::sync::Arc;

impl Edit {
    /// Writes values into a hyperslab: big-endian, row-major in the order of the hyperslab. A single value is
    /// written to all elements. Tiles that are overwritten whole are not read; others are read once.
    ///
    /// # Errors
    /// As [`Edit::set_picks`].
    pub fn set(&mut self, variable: &str, slab: &Hyperslab, values: &[u8]) -> Result<()> {
        self.set_picks(variable, &Picks::from(slab), values)
    }

    /// Writes values, big-endian, in the order of the picks. A single value is written to all elements. Only
    /// touched tiles are read, except those that are overwritten whole. Staged values beyond the options'
    /// memory go to a temporary file.
    ///
    /// # Errors
    /// The variable does not exist. Picks are outside it (grow the dimension first). The number of values is
    /// wrong. Data to be read are damaged; then a part of the values may be staged.
    pub fn set_picks(&mut self, variable: &str, picks: &Picks<'_>, values: &[u8]) -> Result<()> {
        let at = self.check_picks(variable, picks)?;
        self.touched = true;
        let budget = self.budget();
        self.cells(at)?;
        let edited =
            Arc::get_mut(&mut self.variables[at]).expect("only a commit shares them, and it is over");
        let cells = edited.cells.as_mut().expect("made above");
        cells.set(picks, values, &self.spill, budget)?;
        self.spill_if_full()
    }

    /// Returns the variable's position, after checking that the picks are inside it.
    pub(super) fn check_picks(&self, variable: &str, picks: &Picks<'_>) -> Result<usize> {
        let at = header::find_variable(&self.header, variable)?;
        let names: Vec<String> = self.header.variables[at]
            .dimensions
            .iter()
            .map(|d| self.header.dimensions[d.index()].name_lossy().into_owned())
            .collect();
        picks.check(&self.shape(at), &names)?;
        Ok(at)
    }

    /// Returns the plan of [`Edit::set`] for a hyperslab, as text: the tiles to be read, copied and written.
    /// Nothing is done.
    ///
    /// # Errors
    /// As [`Edit::set`].
    pub fn plan_of_set(&mut self, variable: &str, slab: &Hyperslab) -> Result<String> {
        Ok(self.plan_set(variable, &Picks::from(slab))?.text)
    }

    /// Reads a hyperslab in its present state, big-endian.
    ///
    /// # Errors
    /// As [`Edit::get_picks`].
    pub fn get(&mut self, variable: &str, slab: &Hyperslab) -> Result<Vec<u8>> {
        self.get_picks(variable, &Picks::from(slab))
    }

    /// Reads elements in their present state, big-endian, in the order of the picks. Only touched tiles are
    /// read.
    ///
    /// # Errors
    /// The variable does not exist, picks are outside it, or data are damaged.
    pub fn get_picks(&mut self, variable: &str, picks: &Picks<'_>) -> Result<Vec<u8>> {
        let at = self.check_picks(variable, picks)?;
        self.cells(at)?.get(picks)
    }
}
