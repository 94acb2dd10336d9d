//! The commit slots of an archive that parity has mended. Parity takes them for zeros, so a repair decides what they name.

use super::check::ParityReport;
use crate::archive::Archive;
use crate::error::Result;
use crate::newest::slots_at;
use crate::options::OpenOptions;
use crate::source::SharedSource;
use nc3z_format::archive::{CommitSlots, SUPERBLOCK_LEN, Salt, Superblock};
use std::sync::Arc;

/// Returns the commit slots that the mended archive gets, and its salt: they name its last generations, or the later generation that
/// `damaged` names and that is lost. `None` where the mended archive does not open.
///
/// # Errors
/// A trailer of the mended archive is damaged; the source cannot be read.
pub fn mended_slots(
    damaged: &SharedSource,
    report: &ParityReport,
    mended: &SharedSource,
) -> Result<Option<(Salt, CommitSlots)>> {
    let options = OpenOptions::default().with_older(true);
    let Ok(archive) = Archive::from_source(Arc::clone(mended), &options) else { return Ok(None) };
    let (superblock, end) = (archive.superblock(), mended.len() - archive.torn_tail());
    let mut slots = slots_at(&**mended, end, superblock)?;
    let mut bytes = [0; SUPERBLOCK_LEN];
    if report.missing == 0 && damaged.read_into(0, &mut bytes).is_ok() {
        let before = Superblock::slots(&bytes, &superblock.salt);
        // A later generation is lost, and the slots go on to say so.
        if let Some(newest) = before.newest().filter(|newest| newest.archive_len > end) {
            slots = CommitSlots::of(newest, before.older());
        }
    }
    Ok(Some((superblock.salt, slots)))
}
