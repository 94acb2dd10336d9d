//! Renews parity across a change of its archive: the change replaces it, and new parity covers the changed archive.
//!
//! ```text
//! change:  the covered part is checked, since new parity would preserve damage
//!          last parity is cut off, sync        a crash leaves the old archive without parity
//!          the new generation                  a crash leaves the old archive without parity, and a torn tail
//!          parity of the same share            a crash leaves the new archive without parity, and a torn tail
//! ```
//! If the change fails, parity is made anew for the old archive.

use super::{current, is_last, previous_trailer, share_of, write};
use crate::error::{Error, ErrorKind, Result};
use crate::generation::InPlace;
use crate::options::WriterOptions;
use nc3z_format::error::with_causes;
use nc3z_format::parity::Share;
use nc3z_reader::Monitor;

/// Renewed parity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renewed {
    /// The share that it can repair.
    pub share: Share,
    /// Its bytes; 0 if the parity was not made.
    pub len: u64,
}

/// A change of an archive, followed by renewed parity.
pub(crate) struct Renewal(Option<Share>);

impl Renewal {
    /// Prepares the archive for a change: parity at the end is cut off.
    ///
    /// # Errors
    /// The part that parity covers is damaged.
    pub(crate) fn begin(place: &mut InPlace, options: &WriterOptions, monitor: &dyn Monitor) -> Result<Self> {
        let share = if options.renew_parity { share_of(place.archive()) } else { None };
        if share.is_none() {
            return Ok(Renewal(None));
        }
        super::check_sound(place, monitor)?;
        let source = place.source()?;
        if is_last(place.archive(), &*source)
            && let Some((trailer, _)) = previous_trailer(place.archive(), &*source)?
        {
            place.go_back(trailer.generation)?;
        }
        Ok(Renewal(share))
    }

    /// Makes parity anew, even if the change failed.
    ///
    /// # Errors
    /// The change's error, or an error of making parity.
    pub(crate) fn end<T>(
        self,
        place: &mut InPlace,
        options: &WriterOptions,
        monitor: &dyn Monitor,
        done: Result<T>,
    ) -> Result<(T, Option<Renewed>)> {
        let Some(share) = self.0 else { return Ok((done?, None)) };
        if options.dry_run {
            place.reload()?;
            return Ok((done?, Some(Renewed { share, len: 0 })));
        }
        match done {
            Ok(done) => {
                let added = add(place, share, options.memory, monitor)
                    .map_err(|e| left_out(place, "the change is made (do not repeat it)", &e))?;
                Ok((done, added))
            }
            // This step is not interruptible: the archive had parity before.
            Err(e) => {
                let change = format!("nothing was changed ({})", with_causes(&e));
                add(place, share, options.memory, &()).map_err(|e| left_out(place, &change, &e))?;
                Err(e)
            }
        }
    }
}

/// Makes parity, unless existing parity covers the whole archive.
fn add(place: &mut InPlace, share: Share, memory: u64, monitor: &dyn Monitor) -> Result<Option<Renewed>> {
    place.reload()?;
    if current(place.archive())?.is_some() {
        return Ok(None);
    }
    let before = place.end();
    let after = place.append(|medium| write(place.archive(), medium, share, memory, monitor))?;
    place.reload()?;
    Ok(Some(Renewed { share, len: after - before }))
}

/// The archive is whole, with the change or without it, but its parity could not be made.
fn left_out(place: &InPlace, change: &str, e: &Error) -> Error {
    let why = format!(
        "{change} and the archive is whole, but its parity could not be made anew: {}; `nc3z parity add` makes it",
        with_causes(e)
    );
    ErrorKind::Parity { path: place.path().to_owned(), why }.into()
}
