//! A progress bar on a terminal, after a second; and the flag that signals set.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nc3z_reader::Monitor;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Set by SIGINT, SIGTERM and SIGHUP. All long operations check it.
static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Makes SIGINT, SIGTERM and SIGHUP set the flag instead of killing the process. A second signal kills it.
pub(crate) fn catch_signals() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let flag = INTERRUPTED.get_or_init(|| Arc::new(AtomicBool::new(false)));
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup()) {
        // The order matters: the conditional shutdown sees the flag of the previous signal.
        let _ = signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(flag));
        let _ = signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(blocked()));
        let _ = signal_hook::flag::register(signal, Arc::clone(flag));
    }
    #[cfg(unix)]
    end_after_grace();
}

/// The time that an operation has after a signal to stop and remove incomplete files.
#[cfg(unix)]
const GRACE: Duration = Duration::from_secs(10);
/// Stack of the thread that waits for signals.
#[cfg(unix)]
const STACK: usize = 128 << 10;

/// Ends the process if an operation has not stopped some time after a signal, so that one signal is enough
/// for any file.
#[cfg(unix)]
fn end_after_grace() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use std::io::Read;
    let Ok((mut wakes, rings)) = std::os::unix::net::UnixStream::pair() else { return };
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup()) {
        let Ok(rings) = rings.try_clone() else { return };
        let _ = signal_hook::low_level::pipe::register(signal, rings);
    }
    let wait = move || {
        if wakes.read_exact(&mut [0]).is_ok() {
            std::thread::sleep(GRACE);
            nc3z_writer::remove_temporary_files();
            signal_hook::low_level::exit(130);
        }
    };
    // If the thread cannot be started, a second signal is needed.
    let _ = std::thread::Builder::new().name("signals".into()).stack_size(STACK).spawn(wait);
}

/// Returns SIGHUP, if the system has it, and if `nohup` has not disabled it.
#[cfg(unix)]
fn hangup() -> Option<i32> {
    let hangup = signal_hook::consts::SIGHUP;
    (!is_ignored(hangup)).then_some(hangup)
}

#[cfg(not(unix))]
fn hangup() -> Option<i32> {
    None
}

/// Returns whether the process was started with a signal ignored, if the system reports it (Linux).
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Set while the process waits for a pipe and has no incomplete file on disk. Signals then end the process at
/// once.
static BLOCKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

fn blocked() -> &'static Arc<AtomicBool> {
    BLOCKED.get_or_init(|| Arc::new(AtomicBool::new(false)))
}

/// Runs an operation that reads or writes a pipe, which the flag does not interrupt: a signal then ends the
/// process with 130.
pub(crate) fn while_blocked<T>(work: impl FnOnce() -> T) -> T {
    blocked().store(true, Ordering::SeqCst);
    let done = work();
    blocked().store(false, Ordering::SeqCst);
    done
}

/// Returns true after the user has requested to stop.
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.get().is_some_and(|f| f.load(Ordering::Relaxed))
}

/// The time after which progress is shown.
const DELAY: Duration = Duration::from_secs(1);
/// The time between two updates of work that reports no progress of its own.
const TICK: Duration = Duration::from_millis(200);

/// Runs work that reports no progress, such as a walk through directories, and shows its name and the time that it takes.
pub(crate) fn while_working<T>(what: &str, work: impl FnOnce() -> T) -> T {
    while_counting(what, &AtomicU64::new(0), 0, work)
}

/// Runs work that counts the files that it has done in `done`, of `total` files; 0 means an unknown number.
pub(crate) fn while_counting<T>(what: &str, done: &AtomicU64, total: u64, work: impl FnOnce() -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let (finished, wait) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let is_over = |time| !matches!(wait.recv_timeout(time), Err(mpsc::RecvTimeoutError::Timeout));
            if is_over(DELAY) {
                return;
            }
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            let style = if total > 0 {
                "{msg} {wide_bar} {pos}/{len} files {elapsed}"
            } else {
                "{spinner} {msg} {elapsed}"
            };
            if let Ok(style) = ProgressStyle::with_template(style) {
                bar.set_style(style);
            }
            bar.set_message(what.to_owned());
            while !is_over(TICK) {
                bar.set_position(done.load(Ordering::Relaxed));
                bar.tick();
            }
            bar.finish_and_clear();
        });
        let result = work();
        drop(finished);
        result
    })
}

/// The progress in bytes of the files. It is shown only on a terminal and after a second, so that short
/// operations show no bar.
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
    hidden: AtomicBool,
    /// The number of passes over the bytes of the files. The bar counts each byte once.
    passes: u64,
    /// The number of bytes processed in all passes.
    done: AtomicU64,
    /// The number of files done, and their total number.
    files: (AtomicU64, u64),
    message: String,
}

impl Progress {
    /// Makes a bar that ends at `total` bytes.
    pub(crate) fn new(total: u64, message: String) -> Self {
        Self::with_passes(total, 1, message)
    }

    /// Makes a bar for several passes over `total` bytes.
    pub(crate) fn with_passes(total: u64, passes: u64, message: String) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let is_terminal = std::io::stderr().is_terminal();
        if is_terminal {
            let style = "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} {eta}";
            if let Ok(style) = ProgressStyle::with_template(style) {
                bar.set_style(style);
            }
            bar.set_message(message.clone());
        }
        Progress {
            bar,
            started: Instant::now(),
            hidden: AtomicBool::new(is_terminal),
            passes: passes.max(1),
            done: AtomicU64::new(0),
            files: (AtomicU64::new(0), 0),
            message,
        }
    }

    /// Shows the bytes so far, for work whose length is not known.
    pub(crate) fn of_bytes(message: &str) -> Self {
        let progress = Self::new(0, message.to_owned());
        if let Ok(style) = ProgressStyle::with_template("{msg} {binary_bytes} {binary_bytes_per_sec}") {
            progress.bar.set_style(style);
        }
        progress
    }

    /// Makes a bar that counts files, for work whose bytes are not known.
    pub(crate) fn counting(files: usize, message: &str) -> Self {
        let progress = Self::new(files as u64, message.to_owned());
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} files {eta}") {
            progress.bar.set_style(style);
        }
        progress
    }

    /// Makes a bar for many files, which also shows the number of finished files.
    #[must_use]
    pub(crate) fn of_files(mut self, files: u64) -> Self {
        self.files.1 = files;
        self.show_files(0);
        self
    }

    /// Counts one more finished file.
    pub(crate) fn file_done(&self) {
        let done = self.files.0.fetch_add(1, Ordering::Relaxed) + 1;
        self.show_files(done);
    }

    fn show_files(&self, done: u64) {
        if self.files.1 > 1 {
            self.bar.set_message(format!("{} {done}/{} files", self.message, self.files.1));
        }
    }

    /// Extends the bar by `bytes`, because another file has begun.
    pub(crate) fn extend(&self, bytes: u64) {
        self.bar.inc_length(bytes);
    }
}

impl Progress {
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Reports no progress, and stops when the user has requested it.
pub(crate) struct Interrupt;

impl Monitor for Interrupt {
    fn is_cancelled(&self) -> bool {
        interrupted()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Monitor for Progress {
    fn advance(&self, bytes: u64) {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.bar.set_position(done / self.passes);
        if self.hidden.load(Ordering::Relaxed) && self.started.elapsed() > DELAY {
            self.hidden.store(false, Ordering::Relaxed);
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    fn is_cancelled(&self) -> bool {
        interrupted()
    }
}
