//! Standard output and standard error. Nothing else in the tool writes to them, because the macros of the standard library panic where
//! a write fails, and a closed pipe must neither end a run nor change its verdict.

use std::fmt;
use std::io::{self, IsTerminal, Write};

/// Writes one line to standard error, with the arguments of `format!`.
macro_rules! note {
    ($($arg:tt)*) => { $crate::output::streams::write_note(format_args!($($arg)*)) };
}

/// The same for what became of a file: nothing where the user asked for quiet.
macro_rules! tell {
    ($($arg:tt)*) => { if $crate::output::tells() { $crate::output::streams::write_note(format_args!($($arg)*)) } };
}

/// Writes one line to standard error, in one write, so that lines of several threads do not mix. A line that cannot be written is dropped:
/// there is nobody to tell, and the exit code still says how the run ended.
pub(crate) fn write_note(line: fmt::Arguments<'_>) {
    let _ = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}

/// What happens once the reader of standard output has gone away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WhenClosed {
    /// The output is all that the command is for: writing it fails with [`ReaderGone`].
    Stop,
    /// The command also gives a verdict: it goes on without output.
    GoOn,
}

/// Standard output.
#[derive(Debug)]
pub(crate) struct Stdout {
    out: io::Stdout,
    when_closed: WhenClosed,
    closed: bool,
}

impl Stdout {
    /// For commands that only print: they end early, and quietly, when nobody reads on.
    pub(crate) fn results() -> Self {
        Stdout { out: io::stdout(), when_closed: WhenClosed::Stop, closed: false }
    }

    /// For commands whose exit code tells what they found: they finish their work whoever reads.
    pub(crate) fn verdicts() -> Self {
        Stdout { out: io::stdout(), when_closed: WhenClosed::GoOn, closed: false }
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.out.is_terminal()
    }

    /// Characters in a line of the terminal that this is. The variable `COLUMNS` takes precedence over the terminal's own answer.
    pub(crate) fn terminal_width(&self) -> Option<usize> {
        if !self.is_terminal() {
            return None;
        }
        let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        said.or_else(|| Some(usize::from(terminal_size::terminal_size()?.0.0)))
    }

    /// Maps what the system said of a write; `if_closed` stands for one that nobody reads although the command goes on.
    fn judge<T>(&mut self, done: io::Result<T>, if_closed: T) -> io::Result<T> {
        match done {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                match self.when_closed {
                    WhenClosed::GoOn => Ok(if_closed),
                    WhenClosed::Stop => Err(io::Error::new(io::ErrorKind::BrokenPipe, ReaderGone)),
                }
            }
            // The caller that reports this knows the name of an input, which is not at fault.
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
        let done = self.out.write(bytes);
        self.judge(done, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.closed && self.when_closed == WhenClosed::GoOn {
            return Ok(());
        }
        let done = self.out.flush();
        self.judge(done, ())
    }
}

/// The reader of our standard output has had enough. It is no failure of ours.
#[derive(Debug)]
struct ReaderGone;

impl fmt::Display for ReaderGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nobody reads standard output any more")
    }
}

impl std::error::Error for ReaderGone {}

/// The system refused to write to standard output.
#[derive(Debug)]
struct OutputFailed(io::Error);

impl fmt::Display for OutputFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "write to standard output: {}", super::words::system_words(&self.0))
    }
}

impl std::error::Error for OutputFailed {}

/// The message for a standard output that cannot be written; `None` for other errors.
pub(crate) fn output_failed(e: &anyhow::Error) -> Option<String> {
    let mut causes = e.chain().filter_map(|c| c.downcast_ref::<io::Error>()?.get_ref());
    causes.find_map(|cause| cause.downcast_ref::<OutputFailed>()).map(ToString::to_string)
}

/// True where an error says only that the reader of standard output has gone away.
pub(crate) fn is_reader_gone(e: &anyhow::Error) -> bool {
    let mut causes = e.chain().filter_map(|c| c.downcast_ref::<io::Error>()?.get_ref());
    causes.any(<dyn std::error::Error + Send + Sync>::is::<ReaderGone>)
}
