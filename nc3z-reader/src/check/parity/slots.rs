//! The commit slots of an archive that parity has repaired. Parity covers them as zeros, so a repair decides
//! their content.

use super::check::ParityReport;
use crate::archive::Archive;
use crate::error::Result;
use crate::newest::slots_at;
use crate::options::OpenOptions;
use crate::source::SharedSource;
use nc3z_format::archive::{CommitSlots, SUPERBLOCK_LEN, Salt, Superblock};
use std::sync::Arc;

/// Returns the commit slots for the repaired archive, and its salt. The slots name its last generations, or
/// the lost later generation that `damaged` names. `None` if the repaired archive does not open.
///
/// # Errors
/// A trailer of the repaired archive is damaged; the source cannot be read.
pub fn repaired_slots(
    damaged: &SharedSource,
    report: &ParityReport,
    repaired: &SharedSource,
) -> Result<Option<(Salt, CommitSlots)>> {
    slots_of(damaged, report.missing, repaired)
}

/// As [`repaired_slots`], for a file that has lost `missing` bytes at its beginning.
pub(super) fn slots_of(
    damaged: &SharedSource,
    missing: u64,
    repaired: &SharedSource,
) -> Result<Option<(Salt, CommitSlots)>> {
    let options = OpenOptions::default().with_older(true);
    let Ok(archive) = Archive::from_source(Arc::clone(repaired), &options) else { return Ok(None) };
    let (superblock, end) = (archive.superblock(), repaired.len() - archive.torn_tail());
    let mut slots = slots_at(&**repaired, end, superblock)?;
    let mut bytes = [0; SUPERBLOCK_LEN];
    if missing == 0 && damaged.read_into(0, &mut bytes).is_ok() {
        let before = Superblock::slots(&bytes, &superblock.salt);
        // A later generation is lost, and the slots continue to name it.
        if let Some(newest) = before.newest().filter(|newest| newest.archive_len > end) {
            slots = CommitSlots::new(newest, before.older());
        }
    }
    Ok(Some((superblock.salt, slots)))
}
