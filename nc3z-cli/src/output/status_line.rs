//! The line at the bottom of a terminal that shows what a command does: one line on standard error, for the phase that
//! began last. It appears when the command has run for a second, and every phase after that has it. Messages and results
//! are written while the line is off the terminal.

use anyhow::Result;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget};
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The environment variable with the number of seconds after which the line appears.
const VARIABLE: &str = "NC3Z_PROGRESS";
/// The time after which the line appears, unless the variable has another one.
const DELAY: Duration = Duration::from_secs(1);
/// The time between two updates.
const TICK: Duration = Duration::from_millis(200);
/// The stack of the thread that updates the line.
const STACK: usize = 256 << 10;

/// The line. None where standard error is not a terminal.
static LINE: OnceLock<Line> = OnceLock::new();

struct Line {
    screen: MultiProgress,
    stdout: StdoutKind,
    /// True if each phase is shown when it begins, however short it is.
    shows_all: bool,
    state: Mutex<State>,
}

/// Kinds of standard output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StdoutKind {
    /// A terminal, which the line may be on, too.
    Terminal,
    /// Another program, which may use the terminal as soon as it has bytes, such as a pager.
    Pipe,
    /// A file, or nothing.
    Other,
}

#[derive(Default)]
struct State {
    /// The phases that have not ended, in the order of their beginnings.
    phases: Vec<Entry>,
    /// The number of phases that have begun.
    begun: u64,
    /// The phase that is on the terminal.
    shown: Option<u64>,
    /// True after the delay.
    is_due: bool,
    /// True after bytes were written to standard output that is a pipe.
    has_piped: bool,
    last_result: LastResult,
}

/// The state of the terminal after the last result.
#[derive(Default)]
enum LastResult {
    #[default]
    None,
    /// Whole lines. More are expected until this time.
    Lines(Instant),
    PartOfLine,
}

struct Entry {
    number: u64,
    bar: ProgressBar,
    /// True if the amount of work is known, so that the line says more than that the command runs.
    is_measured: bool,
}

/// A phase of a command, until it is dropped.
#[must_use]
pub(super) struct Phase(Option<u64>);

/// Begins to show what a command does, if standard error is a terminal. The first phase has the name of the command.
///
/// # Errors
/// If the environment variable is not a number of seconds.
pub(crate) fn start(command: &str) -> Result<()> {
    let delay = match std::env::var(VARIABLE) {
        Err(_) => DELAY,
        Ok(text) => match text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
            Some(delay) => delay,
            None => refuse!(
                "the environment variable {VARIABLE} is `{}`; expected a number of seconds, such as 1",
                super::text::safe(&text)
            ),
        },
    };
    if !std::io::stderr().is_terminal() {
        return Ok(());
    }
    let line = LINE.get_or_init(|| Line {
        screen: MultiProgress::with_draw_target(ProgressDrawTarget::stderr()),
        stdout: StdoutKind::find(),
        shows_all: delay.is_zero(),
        state: Mutex::new(State { is_due: delay.is_zero(), ..State::default() }),
    });
    line.begin(&super::progress::spinner(command), false);
    let update = move || {
        std::thread::sleep(delay);
        line.state().is_due = true;
        loop {
            line.update();
            std::thread::sleep(TICK);
        }
    };
    // If the thread cannot be started, there is no line, and the command still does its work.
    let _ = std::thread::Builder::new().name("progress".into()).stack_size(STACK).spawn(update);
    Ok(())
}

/// Takes the line off the terminal for good.
pub(crate) fn end() {
    if let Some(line) = LINE.get() {
        let mut state = line.state();
        line.hide(&mut state);
        state.phases.clear();
    }
}

/// Begins a phase, which `bar` shows.
pub(super) fn begin(bar: &ProgressBar, is_measured: bool) -> Phase {
    Phase(LINE.get().map(|line| line.begin(bar, is_measured)))
}

/// Writes to standard error while the line is off the terminal.
pub(super) fn beside<T>(write: impl FnOnce() -> T) -> T {
    match LINE.get() {
        Some(line) => line.screen.suspend(write),
        None => write(),
    }
}

/// Writes these bytes to standard output while the line is off the terminal.
pub(super) fn beside_result<T>(bytes: &[u8], write: impl FnOnce() -> T) -> T {
    let Some(line) = LINE.get() else { return write() };
    if line.stdout == StdoutKind::Other {
        return write();
    }
    line.before_result(bytes);
    if line.stdout == StdoutKind::Terminal { line.screen.suspend(write) } else { write() }
}

impl Phase {
    /// Ends the phase. Does nothing the second time.
    pub(super) fn end(&self) {
        if let (Some(line), Some(number)) = (LINE.get(), self.0) {
            line.end(number);
        }
    }
}

impl Drop for Phase {
    fn drop(&mut self) {
        self.end();
    }
}

impl Line {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, bar: &ProgressBar, is_measured: bool) -> u64 {
        let mut state = self.state();
        state.begun += 1;
        let number = state.begun;
        state.phases.push(Entry { number, bar: bar.clone(), is_measured });
        drop(state);
        if self.shows_all {
            self.update();
        }
        number
    }

    fn end(&self, number: u64) {
        let mut state = self.state();
        if state.shown == Some(number) {
            self.hide(&mut state);
        }
        state.phases.retain(|entry| entry.number != number);
        drop(state);
        if self.shows_all {
            self.update();
        }
    }

    /// Shows the phase that began last.
    fn update(&self) {
        let mut state = self.state();
        let next = state.next().map(|entry| (entry.number, entry.bar.clone()));
        if state.shown != next.as_ref().map(|(number, _)| *number) {
            self.hide(&mut state);
        }
        let Some((number, bar)) = next else { return };
        if state.shown.is_none() {
            self.screen.add(bar.clone());
            state.shown = Some(number);
            // A line that appears is drawn even if there were many updates a moment ago.
            bar.force_draw();
            return;
        }
        bar.tick();
    }

    fn hide(&self, state: &mut State) {
        let Some(number) = state.shown.take() else { return };
        if let Some(entry) = state.phases.iter().find(|entry| entry.number == number) {
            self.screen.remove(&entry.bar);
        }
        // If the terminal is gone, there is nothing to clear.
        let _ = self.screen.clear();
    }

    /// Prepares for a result: a phase that is not measured leaves the terminal, since results show that the command works.
    fn before_result(&self, bytes: &[u8]) {
        let mut state = self.state();
        state.has_piped |= self.stdout == StdoutKind::Pipe;
        if let (StdoutKind::Terminal, Some(last)) = (self.stdout, bytes.last()) {
            let lines = LastResult::Lines(Instant::now() + DELAY);
            state.last_result = if *last == b'\n' { lines } else { LastResult::PartOfLine };
        }
        if state.next().map(|entry| entry.number) != state.shown {
            self.hide(&mut state);
        }
    }
}

impl State {
    /// Returns the phase that belongs on the terminal.
    fn next(&self) -> Option<&Entry> {
        let entry = self.phases.last().filter(|_| self.is_due && crate::output::tells())?;
        let more_expected = match self.last_result {
            LastResult::None => false,
            LastResult::Lines(until) => Instant::now() < until,
            LastResult::PartOfLine => return None,
        };
        (entry.is_measured || !(more_expected || self.has_piped)).then_some(entry)
    }
}

impl StdoutKind {
    fn find() -> Self {
        if std::io::stdout().is_terminal() {
            return StdoutKind::Terminal;
        }
        if is_file() { StdoutKind::Other } else { StdoutKind::Pipe }
    }
}

/// Returns whether standard output is a file or a device.
#[cfg(unix)]
fn is_file() -> bool {
    use rustix::fs::{FileType, fstat};
    let kind = fstat(std::io::stdout()).map(|found| FileType::from_raw_mode(found.st_mode));
    matches!(kind, Ok(FileType::RegularFile | FileType::CharacterDevice))
}

#[cfg(not(unix))]
fn is_file() -> bool {
    false
}
