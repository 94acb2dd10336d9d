//! Wall time and the CPU time of the whole process, which does not grow on a busy machine.

use anyhow::Result;
use std::time::Instant;

/// Seconds.
#[derive(Clone, Copy)]
pub struct Spent {
    pub wall: f64,
    pub cpu: f64,
}

impl Spent {
    pub const MOST: Spent = Spent { wall: f64::MAX, cpu: f64::MAX };

    pub fn min(self, other: Spent) -> Spent {
        Spent { wall: self.wall.min(other.wall), cpu: self.cpu.min(other.cpu) }
    }
}

fn cpu() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of our own.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut now) };
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

pub fn time(f: impl FnOnce() -> Result<()>) -> Result<Spent> {
    let (wall, before) = (Instant::now(), cpu());
    f()?;
    let used = cpu() - before;
    Ok(Spent { wall: wall.elapsed().as_secs_f64(), cpu: used })
}

pub fn least(runs: usize, mut f: impl FnMut() -> Result<()>) -> Result<Spent> {
    (0..runs).try_fold(Spent::MOST, |best, _| Ok(best.min(time(&mut f)?)))
}
