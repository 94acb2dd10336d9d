//! Trailers: the last one, and the earlier ones. Each names the one before it.

use crate::archive::Archive;
use crate::error::{Error, Result};
use crate::sections::{disagree, read_part};
use crate::source::ByteSource;
use bytes::Bytes;
use nc3z_format::archive::constants::REQUIRED_LATER_HEAD;
use nc3z_format::archive::{Salt, Superblock, TRAILER_LEN, Trailer};
use nc3z_format::{Error as FormatError, Limits};
use std::ops::Range;

/// Bytes searched in one step for the last valid trailer of an archive with an unfinished commit.
const SEARCH_LEN: u64 = 1 << 20;

impl Archive {
    /// The trailers of this generation and of all before it, the newest first, each with its offset.
    ///
    /// # Errors
    /// A damaged trailer; more generations than the limits allow.
    pub fn generations(&self) -> Result<Vec<(u64, Trailer)>> {
        let store = &self.inner.store;
        let this = (self.inner.trailer_offset, self.inner.trailer.clone());
        generations(&*store.source, this, &store.limits)
    }

    /// The trailers of this generation and of those right before it, at most `most` in total, each with its
    /// offset.
    ///
    /// # Errors
    /// A damaged trailer.
    pub fn recent_generations(&self, most: usize) -> Result<Vec<(u64, Trailer)>> {
        recent_generations(
            &*self.inner.store.source,
            (self.inner.trailer_offset, self.inner.trailer.clone()),
            most as u64,
        )
    }
}

/// The last trailer with this salt that begins at `least` or later, at a multiple of 8, and ends at or before
/// `len`.
pub(crate) fn last_trailer_between(
    source: &dyn ByteSource,
    least: u64,
    len: u64,
    salt: &Salt,
) -> Result<Option<(u64, Trailer)>> {
    let mut end = len;
    while end > least {
        let begin = (end.saturating_sub(SEARCH_LEN) & !7).max(least);
        // The windows overlap, so that a trailer across their border is found.
        let stop = (end + TRAILER_LEN as u64).min(len);
        let window = read_part(source, begin, stop - begin, "archive")?;
        if let Some(found) = Trailer::find_last(&window, begin, salt)? {
            return Ok(Some(found));
        }
        end = begin;
    }
    Ok(None)
}

/// The trailers of an archive from the given one back to that of its first generation, each with its offset.
pub(crate) fn generations(
    source: &dyn ByteSource,
    last: (u64, Trailer),
    limits: &Limits,
) -> Result<Vec<(u64, Trailer)>> {
    let all = recent_generations(source, last, limits.generations)?;
    if let Some((at, _)) = all.last().filter(|(_, trailer)| trailer.previous != 0) {
        let (limit, n) = (limits.generations, all.len() as u64);
        return Err(FormatError::limit("archive", *at, "generations", limit, n).into());
    }
    Ok(all)
}

/// The given trailer and those before it, at most `most` in total.
fn recent_generations(
    source: &dyn ByteSource,
    last: (u64, Trailer),
    most: u64,
) -> Result<Vec<(u64, Trailer)>> {
    let mut recent = vec![last];
    let mut window = Window::default();
    while (recent.len() as u64) < most
        && let Some((at, trailer)) = recent.last().filter(|(_, trailer)| trailer.previous != 0)
    {
        let previous = previous_of(trailer, &window.trailer(source, trailer.previous, *at)?)?;
        recent.push(previous);
    }
    Ok(recent)
}

/// The trailer before the given one. It has a lower offset, so cycles are impossible.
pub(crate) fn read_previous(source: &dyn ByteSource, trailer: &Trailer) -> Result<(u64, Trailer)> {
    previous_of(trailer, &read_part(source, trailer.previous, TRAILER_LEN as u64, "trailer")?)
}

/// The bytes around the trailers that were read last. Versions of small edits take less than a KiB each, so
/// one read contains many trailers.
#[derive(Default)]
struct Window {
    begin: u64,
    bytes: Bytes,
}

impl Window {
    /// Length of one read in bytes.
    const LEN: u64 = 64 << 10;

    /// The bytes of the trailer at `at`. The next trailer is at `next`.
    fn trailer(&mut self, source: &dyn ByteSource, at: u64, next: u64) -> Result<Bytes> {
        let len = TRAILER_LEN as u64;
        let end = at.saturating_add(len);
        let held = |window: &Self| at >= window.begin && end <= window.begin + window.bytes.len() as u64;
        if !held(self) && next.saturating_sub(at) <= Self::LEN / 4 && end <= source.len() {
            self.begin = end.saturating_sub(Self::LEN);
            self.bytes = read_part(source, self.begin, end - self.begin, "trailer")?;
        }
        if !held(self) {
            return read_part(source, at, len, "trailer");
        }
        let from = usize::try_from(at - self.begin).expect("inside the window");
        Ok(self.bytes.slice(from..from + TRAILER_LEN))
    }
}

/// Parses the trailer before `trailer` from these bytes, and checks that its place agrees.
fn previous_of(trailer: &Trailer, bytes: &[u8]) -> Result<(u64, Trailer)> {
    let at = trailer.previous;
    let bytes: &[u8; TRAILER_LEN] = bytes.try_into().expect("the range has this length");
    let previous = Trailer::decode(bytes, at, &trailer.salt)?;
    if previous.generation >= trailer.generation {
        let expected = format!("below {}", trailer.generation);
        return Err(FormatError::corrupt("trailer", at, "generation", expected, previous.generation).into());
    }
    Ok((at, previous))
}

/// The trailer of a generation. The error lists the existing generations.
pub(crate) fn find_generation(
    source: &dyn ByteSource,
    last: (u64, Trailer),
    wanted: u64,
    limits: &Limits,
) -> Result<(u64, Trailer)> {
    // In descending order: generations near the end are found early.
    let mut this = last.clone();
    while u64::from(this.1.generation) > wanted && this.1.previous != 0 {
        this = read_previous(source, &this.1)?;
    }
    if u64::from(this.1.generation) == wanted {
        return Ok(this);
    }
    let all = generations(source, last, limits)?;
    let known: Vec<u32> = all.iter().rev().map(|(_, trailer)| trailer.generation).collect();
    let known = name_generations(&known);
    Err(FormatError::invalid(format!("no commit {wanted}; the archive has {known}")).into())
}

/// `1`, `1, 2 and 5`, or `1 to 40` for many consecutive numbers.
fn name_generations(all: &[u32]) -> String {
    let mut runs: Vec<Range<u32>> = Vec::new();
    for &n in all {
        match runs.last_mut() {
            Some(run) if run.end == n => run.end = n.saturating_add(1),
            _ => runs.push(n..n.saturating_add(1)),
        }
    }
    let more = runs.len().saturating_sub(20);
    let words = runs.iter().take(20).map(|run| match run.len() {
        1 => run.start.to_string(),
        _ => format!("{} to {}", run.start, run.end - 1),
    });
    let words = words.collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{words} and more") } else { words }
}

/// The error of the last 128 bytes, if they are not a trailer.
pub(crate) fn last_trailer_error(source: &dyn ByteSource, salt: &Salt) -> Option<Error> {
    let at = source.len().checked_sub(TRAILER_LEN as u64)?;
    let bytes = match read_part(source, at, TRAILER_LEN as u64, "trailer") {
        Ok(bytes) => bytes,
        Err(e) => return Some(e),
    };
    let bytes: &[u8; TRAILER_LEN] = (&*bytes).try_into().expect("the range has this length");
    Trailer::decode(bytes, at, salt).err().map(Error::from)
}

pub(crate) fn check_trailer(trailer: Trailer, superblock: &Superblock) -> Result<Trailer> {
    // The length of a later head is compared when the head is read.
    let later = trailer.required & REQUIRED_LATER_HEAD != 0;
    if trailer.original_len != superblock.original_len && !later {
        return Err(disagree("trailer", "original length", superblock.original_len, trailer.original_len));
    }
    Ok(trailer)
}
