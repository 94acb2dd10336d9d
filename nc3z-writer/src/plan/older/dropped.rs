//! Finds variables that earlier generations have and the newest one does not, so that a variable that comes
//! back is not stored again.

use crate::error::Result;
use crate::options::WriterOptions;
use nc3z_format::archive::{ArrayId, Role};
use nc3z_reader::Archive;
use std::collections::BTreeSet;

/// Number of generations that are searched, from the newest on.
const MOST_GENERATIONS: usize = 64;

/// A generation with variables that the later ones do not have.
pub(crate) struct Dropped {
    pub(crate) archive: Archive,
    /// The numbers of these variables.
    numbers: BTreeSet<u32>,
}

impl Dropped {
    /// Returns the generations with the last state of each dropped variable, the newest first. If no variable
    /// was dropped, nothing is read.
    pub(crate) fn find(newest: &Archive, options: &WriterOptions) -> Result<Vec<Dropped>> {
        let mut seen: BTreeSet<u32> = numbers(newest).collect();
        // Numbers are counted, not listed, because a forged archive may claim any number.
        let is_all = |seen: &BTreeSet<u32>| seen.len() as u64 >= u64::from(newest.next_number());
        let mut found = Vec::new();
        if is_all(&seen) {
            return Ok(found);
        }
        for (_, trailer) in newest.recent_generations(MOST_GENERATIONS)?.iter().skip(1) {
            if is_all(&seen) {
                break;
            }
            let options = options.open_options().with_generation(u64::from(trailer.generation));
            let archive = Archive::from_source(newest.source().clone(), &options)?;
            let here: BTreeSet<u32> = numbers(&archive).filter(|number| seen.insert(*number)).collect();
            if !here.is_empty() {
                found.push(Dropped { archive, numbers: here });
            }
        }
        Ok(found)
    }

    /// True for an array of a dropped variable.
    pub(super) fn has(&self, array: ArrayId) -> bool {
        matches!(array.role(), Role::Variable(number) if self.numbers.contains(&number))
    }
}

/// Returns the numbers of the variables of a generation.
fn numbers(archive: &Archive) -> impl Iterator<Item = u32> + '_ {
    archive.arrays().iter().filter_map(|info| match info.id.role() {
        Role::Variable(number) => Some(number),
        _ => None,
    })
}
