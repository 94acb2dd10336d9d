//! How many requests are under way at once: as many as the server answers without making them wait for each other.
//!
//! After every round of requests the times to their answers are compared with those of the quickest round. While they stay as they
//! are, the number doubles; where requests wait several times as long, it is halved.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Requests at once to begin with.
const FIRST: usize = 16;
/// Requests at once where a server is slow to answer several.
const LEAST: usize = 4;
/// A round may take so much longer than the quickest one, in halves, and the number doubles: one and a half times.
const SAME: u32 = 3;
/// From so many times the quickest round on, in halves, requests wait for each other: three times.
const CROWDED: u32 = 6;
/// The part by which the quickest round is forgotten with each round, since ways to servers change.
const FORGOTTEN: u32 = 16;

/// Requests at once to one object.
pub(crate) struct Pace {
    /// Under way now, of all readers.
    busy: AtomicUsize,
    round: Mutex<Round>,
}

struct Round {
    limit: usize,
    most: usize,
    times: Vec<Duration>,
    quickest: Option<Duration>,
}

impl Pace {
    /// At most `most` at once.
    pub(crate) fn new(most: usize) -> Self {
        let most = most.max(1);
        let round = Round { limit: FIRST.min(most), most, times: Vec::new(), quickest: None };
        Pace { busy: AtomicUsize::new(0), round: Mutex::new(round) }
    }

    fn round(&self) -> MutexGuard<'_, Round> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests at once, now.
    pub(crate) fn limit(&self) -> usize {
        self.round().limit
    }

    /// A request's turn, if there is room for one more.
    pub(crate) fn enter(&self) -> Option<Turn<'_>> {
        let limit = self.limit();
        let enter = |busy| (busy < limit).then_some(busy + 1);
        let entered = self.busy.fetch_update(Ordering::Relaxed, Ordering::Relaxed, enter);
        entered.is_ok().then(|| Turn(&self.busy))
    }

    /// A request's turn although there is no room: whoever has none under way would wait for ever.
    pub(crate) fn push_in(&self) -> Turn<'_> {
        self.busy.fetch_add(1, Ordering::Relaxed);
        Turn(&self.busy)
    }

    /// A request was answered after `time`; others were waiting for their turn.
    pub(crate) fn answered(&self, time: Duration) {
        let mut round = self.round();
        round.times.push(time);
        if round.times.len() >= round.limit {
            round.close();
        }
    }
}

impl Round {
    fn close(&mut self) {
        self.times.sort_unstable();
        // A quarter of the way up: connections that had to be made first, and single slow answers, say nothing of the server's limit.
        let now = self.times[self.times.len() / 4];
        self.times.clear();
        let before = self.quickest.map_or(now, |quickest| quickest + quickest / FORGOTTEN);
        if now * 2 <= before * SAME {
            self.limit = self.limit.saturating_mul(2).min(self.most);
        } else if now * 2 > before * CROWDED {
            self.limit = (self.limit / 2).max(LEAST.min(self.most));
        }
        self.quickest = Some(now.min(before));
    }
}

/// A request under way.
pub(crate) struct Turn<'p>(&'p AtomicUsize);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds against a server that answers after 50 ms, so many requests at once; others wait.
    fn rounds(pace: &Pace, at_once: usize, rounds: usize) -> usize {
        for _ in 0..rounds {
            let limit = pace.limit();
            for n in 0..limit {
                pace.answered(Duration::from_millis(50) * u32::try_from(n / at_once + 1).unwrap());
            }
        }
        pace.limit()
    }

    #[test]
    fn the_number_follows_the_server() {
        let pace = Pace::new(128);
        assert_eq!(pace.limit(), 16);
        assert_eq!(rounds(&pace, 1000, 1), 32);
        assert_eq!(rounds(&pace, 1000, 5), 128);
        // The server bears four at once from now on.
        let crowded = rounds(&pace, 4, 6);
        assert!((4..=32).contains(&crowded), "{crowded}");
        assert_eq!(rounds(&pace, 1000, 40), 128);
        assert_eq!(rounds(&Pace::new(3), 1, 10), 3);
        assert_eq!(rounds(&Pace::new(0), 1, 3), 1);
    }

    #[test]
    fn turns_are_given_back() {
        let pace = Pace::new(2);
        let (one, two) = (pace.enter(), pace.enter());
        assert!(one.is_some() && two.is_some() && pace.enter().is_none());
        let third = pace.push_in();
        drop(one);
        assert!(pace.enter().is_none());
        drop((two, third));
        assert!(pace.enter().is_some());
    }
}
