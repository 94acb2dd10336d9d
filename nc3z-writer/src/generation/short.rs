//! The short form: what a small fresh archive is turned into once it is complete, and out of before anything is appended to it.

use super::ending::Unsealed;
use super::medium::Medium;
use crate::error::Result;
use nc3z_format::archive::short;

/// Archives are stored in the short form up to so many bytes of it.
const MOST: usize = 16 << 10;
/// Longer archives in the long form are not looked at: without blocks, its frame is some hundred bytes.
const LOOKED_AT: u64 = 64 << 10;

/// Turns the archive on the medium, which is complete but for its trailer, into the short form, if it has one of at most [`MOST`] bytes;
/// gives its length then.
///
/// # Errors
/// What the medium says.
pub(crate) fn shorten(medium: &Medium<'_>, unsealed: &Unsealed, digest: [u8; 32]) -> Result<Option<u64>> {
    if unsealed.trailer.archive_len > LOOKED_AT {
        return Ok(None);
    }
    let mut long = vec![0; usize::try_from(unsealed.offset()).expect("64 KiB")];
    medium.read_exact_at(&mut long, 0)?;
    long.extend(unsealed.clone().seal(Some(digest)));
    let Some(short) = short::shorten(&long, MOST.min(long.len() - 1))? else { return Ok(None) };
    medium.write_at(0, &short)?;
    medium.set_len(short.len() as u64)?;
    Ok(Some(short.len() as u64))
}
