//! Controls the number of concurrent requests: as many as the server answers without making them wait for
//! each other.
//!
//! After every round of requests, their response times are compared with those of the quickest round. While
//! they are about the same, the number of requests doubles. If they are several times as long, it is halved.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The number of concurrent requests at the start.
const FIRST: usize = 16;
/// The minimal number of concurrent requests, for a slow server.
const LEAST: usize = 4;
/// The number of requests doubles after a round that took at most SAME / 2 = 1.5 times as long as the
/// quickest one.
const SAME: u32 = 3;
/// The number of requests is halved after a round that took more than CROWDED / 2 = 3 times as long as the
/// quickest one.
const CROWDED: u32 = 6;
/// The time of the quickest round is increased by 1 / FORGOTTEN after each round, since the connection to a
/// server changes.
const FORGOTTEN: u32 = 16;

/// Controls the concurrent requests to one object.
pub(crate) struct Pace {
    /// The number of current requests of all readers.
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
    /// Allows at most `most` concurrent requests.
    pub(crate) fn new(most: usize) -> Self {
        let most = most.max(1);
        let round = Round { limit: FIRST.min(most), most, times: Vec::new(), quickest: None };
        Pace { busy: AtomicUsize::new(0), round: Mutex::new(round) }
    }

    fn round(&self) -> MutexGuard<'_, Round> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current limit of concurrent requests.
    pub(crate) fn limit(&self) -> usize {
        self.round().limit
    }

    /// Admits a request, if there is room for one more.
    pub(crate) fn enter(&self) -> Option<Turn<'_>> {
        let limit = self.limit();
        let enter = |busy| (busy < limit).then_some(busy + 1);
        let entered = self.busy.fetch_update(Ordering::Relaxed, Ordering::Relaxed, enter);
        entered.is_ok().then(|| Turn(&self.busy))
    }

    /// Admits a request even above the limit: a reader without any request would wait for ever.
    pub(crate) fn push_in(&self) -> Turn<'_> {
        self.busy.fetch_add(1, Ordering::Relaxed);
        Turn(&self.busy)
    }

    /// Records that a request was answered after `time`, while others were waiting.
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
        // The first quartile: new connections and single slow answers do not show the server's limit.
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

pub(crate) struct Turn<'p>(&'p AtomicUsize);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates rounds with a server that answers `at_once` requests after 50 ms. Further requests wait.
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
        // The server now answers only four at once.
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
