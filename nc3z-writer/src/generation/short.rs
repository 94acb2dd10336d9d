//! Converts a small new archive to the short form after it is complete, and back before a generation is
//! appended.

use super::ending::Unsealed;
use super::medium::Medium;
use crate::error::Result;
use crate::plan::short_limit;
use nc3z_format::archive::short::{self, expand};

/// Converts the archive on the medium, which is complete except for its trailer, to the short form, if the
/// planner tries it and it is shorter. Returns the new length.
///
/// # Errors
/// Reading or writing the medium fails.
pub(crate) fn shorten(medium: &Medium<'_>, unsealed: &Unsealed, digest: [u8; 32]) -> Result<Option<u64>> {
    let Some(most) = short_limit(unsealed.trailer.archive_len) else { return Ok(None) };
    let long = sealed(medium, unsealed, digest)?;
    replace(medium, short::shorten(&long, most)?)
}

/// Replaces the archive on the medium by one that packs `file` as a whole, if that has at most `most` bytes. The old archive is in the long form without its trailer, or in the short form of `short`
/// bytes. Returns the new length.
///
/// # Errors
/// Reading or writing the medium fails.
pub(crate) fn shorten_whole(
    medium: &Medium<'_>,
    (unsealed, short): (&Unsealed, Option<u64>),
    digest: [u8; 32],
    file: &[u8],
    most: usize,
) -> Result<Option<u64>> {
    let len =
        usize::try_from(short.unwrap_or(unsealed.trailer.archive_len)).expect("of a file of at most 128 KiB");
    let long = if short.is_some() {
        let mut stored = vec![0; len];
        medium.read_exact_at(&mut stored, 0)?;
        expand(&stored)?.bytes
    } else {
        sealed(medium, unsealed, digest)?
    };
    replace(medium, short::shorten_whole(&long, file, most)?)
}

/// Returns the archive in the long form, including its trailer.
fn sealed(medium: &Medium<'_>, unsealed: &Unsealed, digest: [u8; 32]) -> Result<Vec<u8>> {
    let mut long = vec![0; usize::try_from(unsealed.offset()).expect("some hundred KiB")];
    medium.read_exact_at(&mut long, 0)?;
    long.extend(unsealed.clone().seal(Some(digest)));
    Ok(long)
}

/// Replaces the content of the medium by a short form.
fn replace(medium: &Medium<'_>, short: Option<Vec<u8>>) -> Result<Option<u64>> {
    let Some(short) = short else { return Ok(None) };
    medium.write_at(0, &short)?;
    medium.set_len(short.len() as u64)?;
    Ok(Some(short.len() as u64))
}
