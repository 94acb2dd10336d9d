//! Values of an edit: written, read, and planned.

use super::{Edit, Picks, header};
use crate::error::Result;
use nc3z_format::Hyperslab;
use std::sync::Arc;

impl Edit {
    /// Writes values into a hyperslab: big-endian, row-major in the order of the hyperslab; one value serves for all. Tiles that are overwritten whole are not
    /// read for it, others once.
    ///
    /// # Errors
    /// As [`Edit::set_picks`].
    pub fn set(&mut self, variable: &str, slab: &Hyperslab, values: &[u8]) -> Result<()> {
        self.set_picks(variable, &Picks::from(slab), values)
    }

    /// Writes values, big-endian, in the order of the picks; one value serves for all. Only tiles that are touched are read, and of those only what is not overwritten
    /// whole. What is staged beyond the memory of the options is kept in a temporary file.
    ///
    /// # Errors
    /// There is no such variable; picks that do not lie in it (grow the dimension first); values of another number; damage of what has to be read, which can leave
    /// a part of the values staged.
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

    /// Finds the variable, in which the picks must lie.
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

    /// How [`Edit::set`] would go about a hyperslab, as text: which tiles are read, copied and written. Nothing is done.
    ///
    /// # Errors
    /// As [`Edit::set`].
    pub fn plan_of_set(&mut self, variable: &str, slab: &Hyperslab) -> Result<String> {
        Ok(self.plan_set(variable, &Picks::from(slab))?.text)
    }

    /// Reads a hyperslab as it is now, big-endian.
    ///
    /// # Errors
    /// As [`Edit::get_picks`].
    pub fn get(&mut self, variable: &str, slab: &Hyperslab) -> Result<Vec<u8>> {
        self.get_picks(variable, &Picks::from(slab))
    }

    /// Reads elements as they are now, big-endian, in the order of the picks. Only tiles that are touched are read.
    ///
    /// # Errors
    /// There is no such variable; picks that do not lie in it; damage.
    pub fn get_picks(&mut self, variable: &str, picks: &Picks<'_>) -> Result<Vec<u8>> {
        let at = self.check_picks(variable, picks)?;
        self.cells(at)?.get(picks)
    }
}
