//! Works on many tiles, window by window: one window is decoded while the next is fetched.

use crate::error::{Error, Result};
use crate::parallel;
use std::collections::VecDeque;

/// Tiles that are considered for the next window, including those in it.
struct Ahead<'t, T, F> {
    tiles: &'t mut (dyn Iterator<Item = T> + Send),
    pending: VecDeque<T>,
    most: usize,
    fetch: F,
}

impl<T, V, F: FnMut(&[T]) -> Result<(usize, V)>> Ahead<'_, T, F> {
    /// The tiles of the next window and the bytes fetched for them. `None` after the last.
    fn next(&mut self) -> Result<Option<(Vec<T>, V)>> {
        let room = self.most.saturating_sub(self.pending.len());
        self.pending.extend(self.tiles.take(room));
        if self.pending.is_empty() {
            return Ok(None);
        }
        let (taken, fetched) = (self.fetch)(self.pending.make_contiguous())?;
        Ok(Some((self.pending.drain(..taken.clamp(1, self.pending.len())).collect(), fetched)))
    }
}

/// Fetches tiles window by window, at most `most` tiles at a time, and works on each. `fetch` returns the
/// number of tiles that make a window, and the bytes it fetched. With `ahead`, the next window is fetched
/// meanwhile.
///
/// # Errors
/// The first error of work or fetching, in the order of the windows.
pub(crate) fn in_windows<T: Send, V: Send, E: From<Error>>(
    tiles: &mut (dyn Iterator<Item = T> + Send),
    most: usize,
    ahead: bool,
    fetch: impl FnMut(&[T]) -> Result<(usize, V)> + Send,
    mut work: impl FnMut(Vec<T>, V) -> Result<(), E>,
) -> Result<(), E> {
    let mut windows = Ahead { tiles, pending: VecDeque::new(), most, fetch };
    let mut next = windows.next()?;
    while let Some((tiles, fetched)) = next {
        // A window that took fewer tiles than there were shows that another follows.
        let (done, following) = if ahead && !windows.is_done() {
            parallel::alongside(|| work(tiles, fetched), || windows.next())
        } else {
            (work(tiles, fetched), windows.next())
        };
        done?;
        next = following?;
    }
    Ok(())
}

impl<T, F> Ahead<'_, T, F> {
    /// Returns true if no tile remains. Takes the next tile to find out.
    fn is_done(&mut self) -> bool {
        self.pending.extend(self.tiles.next());
        self.pending.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tile_is_worked_on_once_and_in_order() {
        for ahead in [false, true] {
            for (most, take) in [(1, 1), (4, 4), (10, 3), (7, 100)] {
                let mut seen = Vec::new();
                let mut tiles = 0..25;
                let fetch = |tiles: &[u32]| Ok((tiles.len().min(take), tiles[0]));
                let work = |tiles: Vec<u32>, first: u32| -> Result<()> {
                    assert_eq!(tiles.first(), Some(&first));
                    seen.extend(tiles);
                    Ok(())
                };
                in_windows(&mut tiles, most, ahead, fetch, work).unwrap();
                assert_eq!(seen, (0..25).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn work_of_a_window_fails_before_fetching_the_next() {
        let error = |words: &str| Error::io("read", None, std::io::Error::other(words.to_owned()));
        let fetch = |tiles: &[u32]| if tiles[0] == 0 { Ok((1, ())) } else { Err(error("fetch")) };
        let e: Error = in_windows(&mut (0..9), 2, true, fetch, |_, ()| Err(error("work"))).unwrap_err();
        assert!(e.with_causes().contains("work"), "{e}");
        let e = in_windows(&mut (0..9), 2, true, fetch, |_, ()| Ok::<_, Error>(())).unwrap_err();
        assert!(e.with_causes().contains("fetch"), "{e}");
    }
}
