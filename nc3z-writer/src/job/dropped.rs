//! Variables that earlier generations have and the newest one has not: one that comes back is not stored again.

use crate::error::Result;
use crate::options::WriterOptions;
use nc3z_format::archive::{ArrayId, Role};
use nc3z_reader::Archive;
use std::collections::BTreeSet;

/// At most so many generations are looked at, the newest among them.
const MOST_GENERATIONS: usize = 64;

/// A generation that has variables which the later ones have not.
pub(crate) struct Dropped {
    pub(super) archive: Archive,
    /// Their numbers.
    numbers: BTreeSet<u32>,
}

impl Dropped {
    /// The generations with the last state of each dropped variable, the newest first. Where no variable was dropped nothing is read.
    pub(crate) fn find(newest: &Archive, options: &WriterOptions) -> Result<Vec<Dropped>> {
        let mut seen: BTreeSet<u32> = numbers(newest).collect();
        // Counted, not listed: a forged archive may claim any number.
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

    /// Whether an array is of a dropped variable.
    pub(super) fn has(&self, array: ArrayId) -> bool {
        matches!(array.role(), Role::Variable(number) if self.numbers.contains(&number))
    }
}

/// The numbers of the variables of a generation.
fn numbers(archive: &Archive) -> impl Iterator<Item = u32> + '_ {
    archive.arrays().iter().filter_map(|info| match info.id.role() {
        Role::Variable(number) => Some(number),
        _ => None,
    })
}
