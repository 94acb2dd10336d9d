//! Writes commit slots: near the beginning of an archive, after the trailer that they name.

use super::medium::Medium;
use crate::error::{Error, Result};
use nc3z_format::archive::constants::{SLOT_LEN, SLOTS_AT};
use nc3z_format::archive::{CommitSlots, SLOTS_LEN, Salt};

/// Writes the slots whose content differs from the given one.
///
/// # Errors
/// Reading or writing the medium fails.
pub(crate) fn write(medium: &Medium<'_>, salt: &Salt, slots: &CommitSlots) -> Result<()> {
    change(medium, salt, slots).map_err(|failed| failed.error)
}

/// Slots that could not be written.
pub(super) struct Failed {
    pub(super) error: Error,
    /// True if the slots have their old content.
    pub(super) is_undone: bool,
}

/// Writes the slots. After a failure, the old content is restored if the medium can still be written.
pub(super) fn change(medium: &Medium<'_>, salt: &Salt, slots: &CommitSlots) -> Result<(), Failed> {
    if matches!(medium, Medium::Over { .. }) {
        // A dry run leaves the archive and its slots unchanged.
        return Ok(());
    }
    let mut before = [0; SLOTS_LEN];
    medium.read_exact_at(&mut before, SLOTS_AT as u64).map_err(|error| Failed { error, is_undone: true })?;
    let after = slots.encode(salt);
    for (index, (was, is)) in before.chunks(SLOT_LEN).zip(after.chunks(SLOT_LEN)).enumerate() {
        if was == is {
            continue;
        }
        medium.write_at((SLOTS_AT + index * SLOT_LEN) as u64, is).map_err(|error| {
            let mut now = [0; SLOTS_LEN];
            let read = medium.read_exact_at(&mut now, SLOTS_AT as u64);
            let is_undone =
                (read.is_ok() && now == before) || medium.write_at(SLOTS_AT as u64, &before).is_ok();
            Failed { error, is_undone }
        })?;
    }
    Ok(())
}
