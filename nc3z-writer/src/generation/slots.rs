//! Writes commit slots: near the beginning of an archive, after the trailer that they name.

use super::medium::Medium;
use crate::error::{Error, Result};
use nc3z_format::archive::constants::{SLOT_LEN, SLOTS_AT};
use nc3z_format::archive::{CommitSlots, SLOTS_LEN, Salt};

/// Writes the slots whose content differs from the given one. The caller syncs.
///
/// # Errors
/// Reading or writing the medium fails.
pub(crate) fn write(medium: &Medium<'_>, salt: &Salt, slots: &CommitSlots) -> Result<()> {
    put(medium, &read(medium)?, &slots.encode(salt))
}

/// Slots that could not be changed.
pub(super) struct Failed {
    pub(super) error: Error,
    /// True if the slots have their old content.
    pub(super) is_undone: bool,
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        failed.error
    }
}

/// Writes the slots, and returns when they are on disk. After a failure, the old content is restored if the medium can
/// still be written.
pub(super) fn change(medium: &Medium<'_>, salt: &Salt, slots: &CommitSlots) -> Result<(), Failed> {
    if matches!(medium, Medium::Over { .. }) {
        // A dry run leaves the archive and its slots unchanged.
        return Ok(());
    }
    let before = read(medium).map_err(|error| Failed { error, is_undone: true })?;
    let changed = put(medium, &before, &slots.encode(salt)).and_then(|()| medium.sync());
    changed.map_err(|error| {
        let is_old = read(medium).is_ok_and(|now| now == before);
        let is_undone = is_old || medium.write_at(SLOTS_AT as u64, &before).is_ok();
        Failed { error, is_undone: is_undone && medium.sync().is_ok() }
    })
}

fn read(medium: &Medium<'_>) -> Result<[u8; SLOTS_LEN]> {
    let mut slots = [0; SLOTS_LEN];
    medium.read_exact_at(&mut slots, SLOTS_AT as u64)?;
    Ok(slots)
}

fn put(medium: &Medium<'_>, before: &[u8; SLOTS_LEN], after: &[u8; SLOTS_LEN]) -> Result<()> {
    let slots = before.chunks(SLOT_LEN).zip(after.chunks(SLOT_LEN)).enumerate();
    let mut changed = slots.filter(|(_, (was, is))| was != is);
    changed.try_for_each(|(index, (_, is))| medium.write_at((SLOTS_AT + index * SLOT_LEN) as u64, is))
}
