//! What a command shows of its progress ([`Progress`], drawn by [`super::status_line`]).

use super::signals::interrupted;
use super::status_line::{self, Phase};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nc3z_reader::Monitor;
use std::sync::atomic::{AtomicU64, Ordering};

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
