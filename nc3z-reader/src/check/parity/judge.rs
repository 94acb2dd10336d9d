//! Decides whether parity makes an archive sound again. It tries the repair in memory, so that check and
//! repair agree.

use super::check::{ParityReport, check};
use super::repair::{prove, repair};
use super::slots::repaired_slots;
use super::{UNIT, readable};
use crate::check::verify::first_finding;
use crate::error::Result;
use crate::monitor::Monitor;
use crate::options::OpenOptions;
use crate::source::{ByteSource, SharedSource, check_range};
use bytes::Bytes;
use nc3z_format::archive::constants::SLOTS_AT;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The largest number of repaired bytes that this trial keeps in memory. If more is lost, only a repair into a file can decide.
const HELD: u64 = 1 << 30;

/// Checks the archive's parity. If parity can compute the damaged parts, also decides whether the archive
/// would then be sound: by the digest of the covered bytes, and by a quick check of the whole. An archive
/// that would not be sound is not repairable ([`ParityReport::refused`]).
///
/// # Errors
/// As [`check()`].
pub fn judge(
    source: &SharedSource,
    options: &OpenOptions,
    monitor: &dyn Monitor,
) -> Result<Option<ParityReport>> {
    let Some(mut report) = check(source, monitor)? else { return Ok(None) };
    if report.is_intact() || !report.is_repairable() {
        return Ok(Some(report));
    }
    let tried = repaired(source, &report, monitor).and_then(|whole| {
        prove(&*whole, &report, monitor)?;
        first_finding(&with_slots(source, &report, whole)?, options, monitor)
    });
    report.refused = match tried {
        Ok(finding) => finding,
        Err(e) if e.is_interrupted() => return Err(e),
        Err(e) => Some(e.with_causes()),
    };
    Ok(Some(report))
}

/// The archive as a repair would make it.
fn repaired(source: &SharedSource, report: &ParityReport, monitor: &dyn Monitor) -> Result<SharedSource> {
    let view = report.view(source);
    let (mut parts, mut held) = (BTreeMap::new(), 0);
    repair(&*view, report, monitor, &mut |at, bytes| {
        held += bytes.len() as u64;
        if held > HELD {
            let what = "lost bytes, which only a repair into a new file computes,";
            return Err(nc3z_format::Error::limit("archive", None, what, HELD, held).into());
        }
        parts.insert(at, Bytes::copy_from_slice(bytes));
        Ok(())
    })?;
    let end = parts.iter().map(|(at, bytes): (&u64, &Bytes)| at + bytes.len() as u64).max().unwrap_or(0);
    Ok(Arc::new(Repaired { len: view.len().max(end), under: view, parts }))
}

/// The archive with the commit slots that a repair writes, which parity takes for zeros.
fn with_slots(damaged: &SharedSource, report: &ParityReport, whole: SharedSource) -> Result<SharedSource> {
    let Some((salt, slots)) = repaired_slots(damaged, report, &whole)? else { return Ok(whole) };
    let parts = BTreeMap::from([(SLOTS_AT as u64, Bytes::copy_from_slice(&slots.encode(&salt)))]);
    Ok(Arc::new(Repaired { len: whole.len(), under: whole, parts }))
}

/// A damaged source with the bytes that parity computes in their places.
struct Repaired {
    under: SharedSource,
    /// By offset; they do not overlap.
    parts: BTreeMap<u64, Bytes>,
    len: u64,
}

impl ByteSource for Repaired {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        check_range(self.len, offset, buf.len())?;
        let end = offset + buf.len() as u64;
        let inside = self.under.len().saturating_sub(offset);
        let inside = usize::try_from(inside).unwrap_or(usize::MAX).min(buf.len());
        let (there, beyond) = buf.split_at_mut(inside);
        if !there.is_empty() {
            // Whole units, as in shards: a unit that is not fully readable is not used.
            let begin = offset - offset % UNIT as u64;
            let lead = usize::try_from(offset - begin).expect("less than a unit");
            let end = (lead + inside).next_multiple_of(UNIT) as u64;
            let take =
                usize::try_from(end.min(self.under.len() - begin)).expect("about as many as asked for");
            there.copy_from_slice(&readable(&*self.under, begin, take)?[lead..lead + inside]);
        }
        beyond.fill(0);
        // The part before may reach into the range.
        let before = self.parts.range(..offset).next_back();
        for (&at, bytes) in before.into_iter().chain(self.parts.range(offset..end)) {
            let from = at.max(offset);
            let to = (at + bytes.len() as u64).min(end);
            let place = |x: u64, base: u64| usize::try_from(x - base).expect("within a buffer");
            if from < to {
                buf[place(from, offset)..place(to, offset)]
                    .copy_from_slice(&bytes[place(from, at)..place(to, at)]);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::MemorySource;

    #[test]
    fn repaired_bytes_stand_over_those_below_and_behind_their_end() {
        let under: SharedSource = Arc::new(MemorySource::new(vec![1; 10]));
        let part = |bytes: &[u8]| Bytes::copy_from_slice(bytes);
        let parts = BTreeMap::from([(2, part(&[2, 3, 4])), (12, part(&[5, 6]))]);
        let source = Repaired { under, parts, len: 14 };
        let all = [1, 1, 2, 3, 4, 1, 1, 1, 1, 1, 0, 0, 5, 6];
        for begin in 0..14 {
            for end in begin..=14 {
                let mut found = vec![9; end - begin];
                source.read_into(begin as u64, &mut found).unwrap();
                assert_eq!(found, all[begin..end], "{begin}..{end}");
            }
        }
        assert!(source.read_into(14, &mut [0]).is_err());
    }
}
