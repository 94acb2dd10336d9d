//! Standard output and standard error. All output of the tool goes through this module, because the macros of
//! the standard library panic if a write fails. A closed pipe must not end a run or change its exit code.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Writes one line to standard error, with the arguments of `format!`.
macro_rules! note {
    ($($arg:tt)*) => { $crate::output::streams::write_note(format_args!($($arg)*)) };
}

/// Writes one line about the result for a file, unless the user requested quiet.
macro_rules! tell {
    ($($arg:tt)*) => { if $crate::output::tells() { $crate::output::streams::write_note(format_args!($($arg)*)) } };
}

/// Returns a usage error (exit code 2) from a function, with the arguments of `format!`.
macro_rules! refuse {
    ($($arg:tt)*) => { return Err(anyhow::Error::new($crate::exit::Usage(format!($($arg)*)))) };
}

/// Writes one line to standard error with a single write, so that lines of several threads do not mix. A line
/// that cannot be written is dropped: it cannot be reported, and the exit code still gives the result. URLs have no
/// secrets in it: standard error is often kept in logs.
pub(crate) fn write_note(line: fmt::Arguments<'_>) {
    let line = crate::cmd::url::hidden_in(&format!("{line}\n"));
    let _ = super::status_line::beside(|| io::stderr().lock().write_all(line.as_bytes()));
}

/// True after a byte was written to standard output.
static WRITTEN: AtomicBool = AtomicBool::new(false);

/// Returns whether anything was written to standard output.
pub(super) fn has_written() -> bool {
    WRITTEN.load(Ordering::Relaxed)
}

/// The reaction to a closed standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WhenClosed {
    /// The command only produces output: writing fails with [`ReaderGone`].
    Stop,
    /// The command also has a result in its exit code: it continues without output.
    GoOn,
}

#[derive(Debug)]
pub(crate) struct Stdout {
    out: io::Stdout,
    when_closed: WhenClosed,
    closed: bool,
}

impl Stdout {
    /// For commands that only print: they end early, without a message, if standard output is closed.
    pub(crate) fn results() -> Self {
        Stdout { out: io::stdout(), when_closed: WhenClosed::Stop, closed: false }
    }

    /// For commands whose exit code gives a result: they finish their work even if standard output is closed.
    pub(crate) fn verdicts() -> Self {
        Stdout { out: io::stdout(), when_closed: WhenClosed::GoOn, closed: false }
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.out.is_terminal()
    }

    /// Returns the number of characters in a line: that of the variable `COLUMNS`, otherwise that of the terminal,
    /// otherwise 80.
    pub(crate) fn width(&self) -> usize {
        let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let terminal = || {
            let (width, _) = self.is_terminal().then(terminal_size::terminal_size)??;
            Some(usize::from(width.0))
        };
        said.or_else(terminal).unwrap_or(80)
    }

    /// Converts the result of a write. `if_closed` is the result for a closed output if the command
    /// continues.
    fn judge<T>(&mut self, done: io::Result<T>, if_closed: T) -> io::Result<T> {
        match done {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                match self.when_closed {
                    WhenClosed::GoOn => Ok(if_closed),
                    WhenClosed::Stop => Err(io::Error::new(io::ErrorKind::BrokenPipe, ReaderGone)),
                }
            }
            // The caller that reports this knows the name of an input, which is not the cause.
            Err(e) if e.kind() != io::ErrorKind::Interrupted => {
                Err(io::Error::new(e.kind(), OutputFailed(e)))
            }
            done => done,
        }
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.closed && self.when_closed == WhenClosed::GoOn {
            return Ok(bytes.len());
        }
        WRITTEN.store(true, Ordering::Relaxed);
        let done = super::status_line::beside_result(bytes, || self.out.write(bytes));
        self.judge(done, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.closed && self.when_closed == WhenClosed::GoOn {
            return Ok(());
        }
        let done = super::status_line::beside_result(&[], || self.out.flush());
        self.judge(done, ())
    }
}

/// The reader has closed our standard output. This is not a failure of ours.
#[derive(Debug)]
struct ReaderGone;

impl fmt::Display for ReaderGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("standard output is closed")
    }
}

impl std::error::Error for ReaderGone {}

/// The system refused to write to standard output.
#[derive(Debug)]
struct OutputFailed(io::Error);

impl fmt::Display for OutputFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "write to standard output: {}", super::message::system_words(&self.0))
    }
}

impl std::error::Error for OutputFailed {}

/// Returns the message for a standard output that cannot be written; `None` for other errors.
pub(crate) fn output_failed(e: &anyhow::Error) -> Option<String> {
    let mut causes = e.chain().filter_map(|c| c.downcast_ref::<io::Error>()?.get_ref());
    causes.find_map(|cause| cause.downcast_ref::<OutputFailed>()).map(ToString::to_string)
}

/// Returns true if an error only means that the reader has closed standard output.
pub(crate) fn is_reader_gone(e: &anyhow::Error) -> bool {
    let mut causes = e.chain().filter_map(|c| c.downcast_ref::<io::Error>()?.get_ref());
    causes.any(<dyn std::error::Error + Send + Sync>::is::<ReaderGone>)
}
