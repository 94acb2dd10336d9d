//! Carrying out copy runs between slices, every access checked.
//!
//! Elements are any `Copy` type: numbers, or `[u8; N]` for a tile of big-endian bytes; [`map_run`] converts on the
//! way. Nothing is written if a run does not fit its slices.

use super::{CopyRun, TilePlan};
use crate::error::{Error, Result};
use std::ops::RangeInclusive;

/// Copies one run from the decoded tile `src` to the output `dst`.
///
/// ```
/// use nc3z_format::plan::{CopyRun, copy::copy_run};
/// let mut out = [0; 4];
/// let run = CopyRun { src: 1, dst: 3, len: 3, src_step: 2, dst_step: -1 };
/// copy_run(&run, &[10, 11, 12, 13, 14, 15], &mut out)?;
/// assert_eq!(out, [0, 15, 13, 11]);
/// assert!(copy_run(&run, &[10, 11, 12, 13, 14], &mut out).is_err());
/// # Ok::<(), nc3z_format::Error>(())
/// ```
///
/// # Errors
/// Invalid: a run that leaves one of the slices.
pub fn copy_run<T: Copy>(run: &CopyRun, src: &[T], dst: &mut [T]) -> Result<()> {
    if run.is_contiguous() {
        let (from, to) = fit(run, src, dst)?;
        to.copy_from_slice(from);
        return Ok(());
    }
    map_run(run, src, dst, |x| x)
}

/// Copies one run, converting each element.
///
/// ```
/// use nc3z_format::plan::{CopyRun, copy::map_run};
/// let tile = [[0, 0, 1, 0], [0, 0, 0, 7]]; // big-endian, as decoded by a byte chain
/// let mut out = [0; 2];
/// let run = CopyRun { src: 0, dst: 0, len: 2, src_step: 1, dst_step: 1 };
/// map_run(&run, &tile, &mut out, u32::from_be_bytes)?;
/// assert_eq!(out, [256, 7]);
/// # Ok::<(), nc3z_format::Error>(())
/// ```
///
/// # Errors
/// Invalid: a run that leaves one of the slices.
pub fn map_run<S: Copy, T>(run: &CopyRun, src: &[S], dst: &mut [T], convert: impl Fn(S) -> T) -> Result<()> {
    let (from, to) = fit(run, src, dst)?;
    let step = |n: u64| usize::try_from(n).unwrap_or(usize::MAX); // beyond any slice: only the first is taken
    let (every, each) = (step(run.src_step), step(run.dst_step.unsigned_abs()));
    // Each case has its own loop, so that the compiler sees plain loops.
    match (every, run.dst_step) {
        (1, 1) => to.iter_mut().zip(from).for_each(|(t, s)| *t = convert(*s)),
        (1, -1) => to.iter_mut().rev().zip(from).for_each(|(t, s)| *t = convert(*s)),
        (_, 1) => to.iter_mut().zip(from.iter().step_by(every)).for_each(|(t, s)| *t = convert(*s)),
        (_, 1..) => {
            let to = to.iter_mut().step_by(each);
            to.zip(from.iter().step_by(every)).for_each(|(t, s)| *t = convert(*s));
        }
        _ => {
            let to = to.iter_mut().rev().step_by(each);
            to.zip(from.iter().step_by(every)).for_each(|(t, s)| *t = convert(*s));
        }
    }
    Ok(())
}

/// Copies all that `tile` contributes.
///
/// # Errors
/// Invalid: a source of another length than the decoded tile, an output that is too short.
pub fn copy_tile<T: Copy>(tile: &TilePlan<'_>, src: &[T], dst: &mut [T]) -> Result<()> {
    check_decoded(tile, src.len())?;
    tile.runs().try_for_each(|run| copy_run(&run, src, dst))
}

fn check_decoded(tile: &TilePlan<'_>, len: usize) -> Result<()> {
    if u64::try_from(len) == Ok(tile.decoded) {
        return Ok(());
    }
    let TilePlan { tile, decoded, .. } = tile;
    Err(Error::invalid(format!("tile {tile} given as {len} elements, decoded it has {decoded}")))
}

/// The smallest parts of both slices that hold the run.
fn fit<'s, 'd, S, T>(run: &CopyRun, src: &'s [S], dst: &'d mut [T]) -> Result<(&'s [S], &'d mut [T])> {
    let (from, to) = ends(run, src.len(), dst.len())?;
    Ok((&src[from], &mut dst[to]))
}

/// The positions from the first to the last that a run touches, in slices of `src_len` and `dst_len`
/// elements. For callers that copy runs themselves.
///
/// # Errors
/// Invalid: a run that leaves one of the slices.
#[doc(hidden)]
#[inline]
pub fn ends(
    run: &CopyRun,
    src_len: usize,
    dst_len: usize,
) -> Result<(RangeInclusive<usize>, RangeInclusive<usize>)> {
    let reach = |step: u64| run.len.checked_sub(1)?.checked_mul(step);
    let up = |at: u64, step: u64| Some((at, at.checked_add(reach(step)?)?));
    let within = |(low, high): (u64, u64), len: usize| {
        let (low, high) = (usize::try_from(low).ok()?, usize::try_from(high).ok()?);
        (high < len).then_some(low..=high)
    };
    let found = (run.src_step != 0 && run.dst_step != 0)
        .then(|| {
            let step = run.dst_step.unsigned_abs();
            let from = within(up(run.src, run.src_step)?, src_len)?;
            let to = if run.dst_step < 0 {
                (run.dst.checked_sub(reach(step)?)?, run.dst)
            } else {
                up(run.dst, step)?
            };
            Some((from, within(to, dst_len)?))
        })
        .flatten();
    found.ok_or_else(|| {
        Error::invalid(format!("copy run ({run}) in a tile of {src_len} and an output of {dst_len}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_steps() {
        let src: Vec<u32> = (0..40).collect();
        for src_step in [1, 2, 3] {
            for dst_step in [-3, -2, -1, 1, 2, 3] {
                for len in 1..6 {
                    let dst = if dst_step < 0 { 19 } else { 1 };
                    let run = CopyRun { src: 5, dst, len, src_step, dst_step };
                    let (mut out, mut want) = ([99; 20], [99; 20]);
                    copy_run(&run, &src, &mut out).unwrap();
                    for i in 0..len {
                        let at = dst.wrapping_add_signed(dst_step * i64::try_from(i).unwrap());
                        want[usize::try_from(at).unwrap()] = src[usize::try_from(5 + i * src_step).unwrap()];
                    }
                    assert_eq!(out, want, "{run}");
                }
            }
        }
    }

    #[test]
    fn runs_that_leave_their_slices_write_nothing() {
        let good = CopyRun { src: 1, dst: 2, len: 3, src_step: 2, dst_step: -1 };
        let bad = [
            CopyRun { len: 0, ..good },
            CopyRun { len: u64::MAX, ..good },
            CopyRun { len: 4, ..good },
            CopyRun { src: u64::MAX, ..good },
            CopyRun { src_step: 0, ..good },
            CopyRun { src_step: u64::MAX, ..good },
            CopyRun { dst_step: 0, ..good },
            CopyRun { dst_step: i64::MIN, ..good },
            CopyRun { dst: 1, ..good },
            CopyRun { dst: 3, ..good },
            CopyRun { dst: u64::MAX, dst_step: 1, src_step: 1, ..good },
        ];
        for run in bad {
            let mut out = [0; 3];
            assert!(copy_run(&run, &[1, 2, 3, 4, 5, 6], &mut out).is_err(), "{run:?}");
            assert_eq!(out, [0; 3]);
        }
    }
}
