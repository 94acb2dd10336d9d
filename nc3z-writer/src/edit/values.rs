//! Writes and reads values of an edit.

use super::{Edit, Tail, header};
use crate::error::Result;
use nc3z_format::selection::AnySelection;
use nc3z_reader::source::SharedSource;
use std::sync::Arc;

impl Edit {
    /// Writes values, big-endian, in the order of the selection: a hyperslab, a [`Selection`](nc3z_format::selection::Selection),
    /// points or a mask. A single value is written to all elements. Only touched tiles are read, except those that are overwritten
    /// whole. Staged values beyond the options' memory go to a temporary file.
    ///
    /// # Errors
    /// The variable does not exist. The selection is outside it (grow the dimension first). The number of values is wrong. Data to
    /// be read are damaged; then a part of the values may be staged.
    pub fn set<'a>(
        &mut self,
        variable: &str,
        selection: impl Into<AnySelection<'a>>,
        values: &[u8],
    ) -> Result<()> {
        let selection = selection.into();
        let at = self.check_selection(variable, &selection)?;
        self.touched = true;
        let budget = self.budget();
        self.cells(at)?;
        let edited =
            Arc::get_mut(&mut self.variables[at]).expect("only a commit shares them, and it is over");
        let cells = edited.cells.as_mut().expect("made above");
        cells.set(&selection, values, &self.spill, budget)?;
        self.spill_if_full()
    }

    /// As [`Edit::set`], with at least `records` records if the variable has the record dimension. If it fails, the number
    /// of records is as before.
    ///
    /// # Errors
    /// As [`Edit::set`] and [`Edit::resize_dimension`].
    pub fn set_growing<'a>(
        &mut self,
        variable: &str,
        records: u64,
        selection: impl Into<AnySelection<'a>>,
        values: &[u8],
    ) -> Result<()> {
        let at = header::find_variable(&self.header, variable)?;
        let before = self.numrecs;
        if records <= before || !self.header.is_record(&self.header.variables[at]) {
            return self.set(variable, selection, values);
        }
        let (was_touched, had_cells) = (self.touched, self.variables[at].cells.is_some());
        self.check_len(self.header.variables[at].dimensions[0], records, 0..self.variables.len())?;
        self.numrecs = records;
        let done = self.set(variable, selection, values);
        if done.is_err() {
            (self.numrecs, self.touched) = (before, was_touched);
            if had_cells {
                // So that a later growth gives fill values.
                self.cells(at)?;
            } else {
                let edited = self.edited(at);
                (edited.cells, edited.keeps_tiles) = (None, edited.origin.is_some());
            }
        }
        done
    }

    /// Sets the elements of a variable of bytes with one dimension, from `first` to the last one, from a source, which the commit reads
    /// twice. Nothing of it is kept in memory or in a temporary file.
    ///
    /// # Errors
    /// The variable does not exist, has another shape or type, is in chunks, or has another number of elements behind `first`.
    pub fn set_from(&mut self, variable: &str, first: u64, source: SharedSource) -> Result<()> {
        let at = header::find_variable(&self.header, variable)?;
        let (shape, size) = (self.shape(at), self.header.variables[at].ty.size());
        let wanted = first.checked_add(source.len());
        if size != 1 || shape.len() != 1 || wanted != Some(shape[0]) {
            let bytes = source.len();
            let why = format!("{bytes} bytes from element {first} on do not end with `{variable}`{shape:?}");
            return super::refuse("set", why);
        }
        if !self.cells(at)?.is_linear() {
            return super::refuse("set", format!("`{variable}` is in chunks"));
        }
        self.touched = true;
        let edited =
            Arc::get_mut(&mut self.variables[at]).expect("only a commit shares them, and it is over");
        edited.tail = Some(Tail { first, source });
        Ok(())
    }

    /// Returns the variable's position, after checking that the selection is inside it.
    pub(super) fn check_selection(&self, variable: &str, selection: &AnySelection<'_>) -> Result<usize> {
        let at = header::find_variable(&self.header, variable)?;
        let names: Vec<String> = self.header.variables[at]
            .dimensions
            .iter()
            .map(|d| self.header.dimensions[d.index()].name_lossy().into_owned())
            .collect();
        selection.check(&self.shape(at), &names)?;
        Ok(at)
    }

    /// Reads elements in their present state, big-endian, in the order of the selection. Only touched tiles are read.
    ///
    /// # Errors
    /// The variable does not exist, the selection is outside it, or data are damaged.
    pub fn get<'a>(&mut self, variable: &str, selection: impl Into<AnySelection<'a>>) -> Result<Vec<u8>> {
        let selection = selection.into();
        let at = self.check_selection(variable, &selection)?;
        self.cells(at)?.get(&selection)
    }
}
