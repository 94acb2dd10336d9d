//! The limits of a run: a file that pauses it while it exists, a rate in bytes a second, and a time after which it begins no file.

use super::{Options, Work};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time between two looks at the pause file.
const LOOK: Duration = Duration::from_millis(200);

/// When a run began, and the bytes of the files that it has begun.
pub(super) struct Pace {
    started: Instant,
    begun: AtomicU64,
}

impl Pace {
    pub(super) fn new() -> Self {
        Pace { started: Instant::now(), begun: AtomicU64::new(0) }
    }

    /// Returns whether no more files are begun.
    pub(super) fn is_over(&self, options: &Options) -> bool {
        options.stop_after.is_some_and(|after| self.started.elapsed() >= after)
    }
}

impl Work<'_> {
    /// Waits until a file of `bytes` bytes may begin. Calls `idle` once if it has to wait.
    pub(super) fn wait_for_turn(&self, bytes: u64, idle: &mut dyn FnMut()) {
        let options = self.options;
        let before = self.pace.begun.fetch_add(bytes, Ordering::Relaxed);
        let due = options.max_rate.map(|rate| Duration::from_secs(before / rate.max(1)));
        let mut has_waited = false;
        let must_wait = || {
            let is_early = due.is_some_and(|due| self.pace.started.elapsed() < due);
            is_early || options.pause.as_ref().is_some_and(|file| file.exists())
        };
        while !self.is_interrupted() && !self.pace.is_over(options) && must_wait() {
            if !has_waited {
                idle();
                has_waited = true;
            }
            std::thread::sleep(LOOK);
        }
    }
}
