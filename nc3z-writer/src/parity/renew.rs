//! Parity across a change of its archive: the change takes its place, and it is made anew over all there is then.
//!
//! ```text
//! change:  what parity covers is checked, since new parity would keep its damage
//!          parity that stands last is cut off, sync        a crash leaves the archive as it was, without parity
//!          the new generation                              a crash leaves the archive as it was, without parity, and a torn tail
//!          parity of the same share                        a crash leaves the new archive without parity, and a torn tail
//! ```
//! Where the change fails, parity is made anew over what there was.

use super::{current, is_last, previous_trailer, share_of, write};
use crate::error::{Error, ErrorKind, Result};
use crate::generation::InPlace;
use crate::options::WriterOptions;
use nc3z_format::parity::Share;
use nc3z_reader::Monitor;

/// Parity that was made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renewed {
    /// The share that it is made for.
    pub share: Share,
    /// Bytes of it; 0 where that was not tried.
    pub len: u64,
}

/// A change of an archive, whose parity is made anew behind it.
pub(crate) struct Renewal(Option<Share>);

impl Renewal {
    /// Prepares the archive for a change: parity that stands last gives way to what is appended.
    ///
    /// # Errors
    /// What parity covers is damaged.
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

    /// Makes parity anew, also where the change failed.
    ///
    /// # Errors
    /// That of the change; parity cannot be made.
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
                let added = add(place, share, options.memory, monitor).map_err(|e| left_out(place, &e))?;
                Ok((done, added))
            }
            // Not to be interrupted a second time: the archive had parity.
            Err(e) => {
                add(place, share, options.memory, &()).map_err(|e| left_out(place, &e))?;
                Err(e)
            }
        }
    }
}

/// Makes parity, where there is none that covers all of the archive.
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

/// The archive is whole, but its parity could not be made.
fn left_out(place: &InPlace, e: &Error) -> Error {
    let why = format!(
        "the archive is whole, but its parity could not be made anew: {e}; `nc3z parity add` makes it"
    );
    ErrorKind::Parity { path: place.path().to_owned(), why }.into()
}
