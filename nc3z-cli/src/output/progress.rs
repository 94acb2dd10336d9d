//! What a command shows of its progress ([`Progress`], drawn by [`super::status_line`]), and the flag that signals set.

use super::status_line::{self, Phase};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nc3z_reader::Monitor;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
#[cfg(unix)]
use std::time::Duration;

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

/// The template for work that reports no progress.
const SPINNER: &str = "{spinner} {msg} {elapsed}";
/// The template for bytes whose total is unknown.
const OPEN_BYTES: &str = "{msg} {binary_bytes} {binary_bytes_per_sec} {elapsed}";
/// The template for bytes whose total is known.
const BYTES: &str = "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} {eta}";
/// The template for files.
const FILES: &str = "{msg} {wide_bar} {pos}/{len} files {eta}";

/// Runs work that reports no progress, such as a walk through directories, and shows its name and the time that it takes.
pub(crate) fn while_working<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let _phase = status_line::begin(&spinner(what), false);
    work()
}

/// Makes a bar for work that reports no progress.
pub(super) fn spinner(message: &str) -> ProgressBar {
    bar(0, SPINNER, message)
}

/// Makes a bar that is not drawn yet.
fn bar(total: u64, template: &str, message: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
    set_template(&bar, template);
    bar.set_message(message.to_owned());
    bar
}

fn set_template(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

/// A phase of a command whose progress is measured, in bytes or in files.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Ends when this is dropped.
    phase: Phase,
    /// The number of passes over the bytes of the files. The bar counts each byte once.
    passes: u64,
    /// The number of bytes processed in all passes.
    done: AtomicU64,
    /// The number of files done, and their total number.
    files: (AtomicU64, u64),
    message: String,
}

impl Progress {
    /// Makes a bar that ends at `total` bytes. With 0 it shows the bytes so far, until [`Progress::extend`] is called.
    pub(crate) fn new(total: u64, message: String) -> Self {
        Self::with_passes(total, 1, message)
    }

    /// Makes a bar for several passes over `total` bytes.
    pub(crate) fn with_passes(total: u64, passes: u64, message: String) -> Self {
        Self::with_template(total, if total == 0 { OPEN_BYTES } else { BYTES }, passes, message)
    }

    /// Makes a bar that counts files, for work whose bytes are not known.
    pub(crate) fn counting(files: usize, message: &str) -> Self {
        Self::with_template(files as u64, FILES, 1, message.to_owned())
    }

    fn with_template(total: u64, template: &str, passes: u64, message: String) -> Self {
        let bar = bar(total, template, &message);
        let phase = status_line::begin(&bar, true);
        let done = AtomicU64::new(0);
        Progress { bar, phase, passes: passes.max(1), done, files: (AtomicU64::new(0), 0), message }
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
        if self.bar.length() == Some(0) {
            set_template(&self.bar, BYTES);
        }
        self.bar.inc_length(bytes);
    }

    /// Ends the phase before this is dropped.
    pub(crate) fn finish(&self) {
        self.phase.end();
    }
}

/// Reports no progress, and stops when the user has requested it.
pub(crate) struct Interrupt;

impl Monitor for Interrupt {
    fn is_cancelled(&self) -> bool {
        interrupted()
    }
}

impl Monitor for Progress {
    fn advance(&self, bytes: u64) {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.bar.set_position(done / self.passes);
    }

    fn is_cancelled(&self) -> bool {
        interrupted()
    }
}
