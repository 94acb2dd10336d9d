//! Processes many files at once: a single file uses all threads, several share them. Their results are
//! returned in order.

use crate::tree::Error;
use crate::tree::run::with_threads;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Results that wait for their turn, and the first error of `emit`.
struct Turn<T, E, F> {
    next: usize,
    waiting: BTreeMap<usize, T>,
    emit: E,
    failed: Option<F>,
}

/// Returns the number of jobs that run at the same time, of `jobs` jobs on `threads` threads (0: one for each core).
pub(crate) fn workers(threads: usize, jobs: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if threads == 0 { cores } else { threads }.min(jobs)
}

/// Runs `work` on every job, on `threads` threads (0: one for each core). Passes the results to `emit` in the
/// order of the jobs, each when the previous ones are done.
///
/// # Errors
/// The first error of `emit`. After it no more jobs are started. The system starts no threads.
pub fn in_order<J: Sync, T: Send, F: From<Error> + Send>(
    jobs: &[J],
    threads: usize,
    work: impl Fn(&J) -> T + Sync,
    emit: impl FnMut(&J, T) -> Result<(), F> + Send,
) -> Result<(), F> {
    let turn = Mutex::new(Turn { next: 0, waiting: BTreeMap::new(), emit, failed: None });
    let next = AtomicUsize::new(0);
    let run = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index) else { return };
            let done = work(job);
            let mut turn = turn.lock().expect("no panic while it is locked");
            let turn = &mut *turn;
            turn.waiting.insert(index, done);
            while let Some(done) = turn.waiting.remove(&turn.next) {
                if let Err(e) = (turn.emit)(&jobs[turn.next], done) {
                    turn.failed.get_or_insert(e);
                    next.store(jobs.len(), Ordering::Relaxed);
                    return;
                }
                turn.next += 1;
            }
        }
    };
    let workers = workers(threads, jobs.len());
    if workers <= 1 {
        with_threads(threads, run)?;
    } else {
        std::thread::scope(|scope| -> Result<(), Error> {
            let handles: Vec<_> = (0..workers).map(|_| scope.spawn(|| with_threads(1, run))).collect();
            handles.into_iter().try_for_each(|h| h.join().expect("the run panics if a worker does"))
        })?;
    }
    match turn.into_inner().expect("no panic while it was locked").failed {
        Some(e) => Err(e),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::refusal::Refusal;

    #[test]
    fn results_come_in_order_and_an_error_stops() {
        let jobs: Vec<u64> = (0..40).collect();
        for threads in [1, 4] {
            let mut seen = Vec::new();
            let work = |n: &u64| {
                std::thread::sleep(std::time::Duration::from_millis((40 - n) % 5));
                n * 2
            };
            in_order(&jobs, threads, work, |n, twice| {
                assert_eq!(n * 2, twice);
                seen.push(*n);
                Ok::<_, Error>(())
            })
            .unwrap();
            assert_eq!(seen, jobs);
            let emit = |_: &u64, n| if n < 3 { Ok(()) } else { Err(Error::from(Refusal::NoName)) };
            assert_eq!(
                in_order(&jobs, threads, |n| *n, emit).unwrap_err().to_string(),
                Refusal::NoName.to_string()
            );
        }
    }
}
