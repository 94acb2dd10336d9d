//! The caller's side: starts workers, keeps them for the next call, and ends those that do not answer in time.

use crate::wire::{MOST, Request, bytes, number};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::ffi::OsString;
use std::fmt;
use std::io::{self, BufWriter, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a call may take where nothing else is said: filters take a second for what this allows a minute.
const PATIENCE: Duration = Duration::from_secs(60);

/// How workers are started: a program that calls [`crate::worker_main`], with its arguments.
#[derive(Debug, Clone)]
pub struct Launcher {
    program: PathBuf,
    arguments: Vec<OsString>,
    patience: Duration,
}

impl Launcher {
    /// This program with these arguments.
    pub fn new(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Launcher { program: program.into(), arguments, patience: PATIENCE }
    }

    /// How long one call may take; a minute unless said otherwise.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}

/// Workers that are at rest, and how more are started. Clones share them.
#[derive(Clone)]
pub(crate) struct Workers(Arc<Pool>);

struct Pool {
    launcher: Launcher,
    idle: Mutex<Vec<Worker>>,
}

/// Why a call gave no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The plug-in answered that it cannot.
    Refused(String),
    /// The worker is gone, or was ended; or there never was one.
    Lost(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Refused(why) | Failure::Lost(why)) = self;
        f.write_str(why)
    }
}

impl Workers {
    pub(crate) fn new(launcher: Launcher) -> Self {
        Workers(Arc::new(Pool { launcher, idle: Mutex::new(Vec::new()) }))
    }

    /// Asks an idle worker, or a new one. One that failed is not used again.
    pub(crate) fn ask(&self, request: &Request<'_>) -> Result<Vec<u8>, Failure> {
        let idle = || self.0.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle().pop();
        let mut worker = match kept {
            Some(worker) => worker,
            None => Worker::start(&self.0.launcher)
                .map_err(|e| Failure::Lost(format!("the worker process does not start: {e}")))?,
        };
        let answer = worker.ask(request, self.0.launcher.patience);
        if !matches!(answer, Err(Failure::Lost(_))) {
            idle().push(worker);
        }
        answer
    }

    /// The same in a worker that nobody else uses: for libraries that nothing is known of.
    pub(crate) fn ask_alone(&self, request: &Request<'_>) -> Result<Vec<u8>, Failure> {
        Workers::new(self.0.launcher.clone()).ask(request)
    }
}

/// A worker process, ended when this is dropped.
struct Worker {
    child: Child,
    input: BufWriter<ChildStdin>,
    output: ChildStdout,
}

impl Worker {
    fn start(launcher: &Launcher) -> io::Result<Self> {
        let mut child = Command::new(&launcher.program)
            .args(&launcher.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.expect("both were asked for");
        Ok(Worker { child, input: BufWriter::new(input), output })
    }

    fn ask(&mut self, request: &Request<'_>, patience: Duration) -> Result<Vec<u8>, Failure> {
        let begin = Instant::now();
        let answer = match request.write(&mut self.input) {
            Ok(()) => self.answer(begin + patience, request.most),
            Err(e) => Err(e),
        };
        match answer {
            Ok((0, content)) => Ok(content),
            Ok((_, why)) => Err(Failure::Refused(String::from_utf8_lossy(&why).into_owned())),
            Err(e) if e.kind() == io::ErrorKind::TimedOut => {
                self.end();
                Err(Failure::Lost(format!(
                    "it did not answer within {} seconds and was ended",
                    patience.as_secs()
                )))
            }
            Err(e) => Err(Failure::Lost(match self.end() {
                Some(status) => match status.signal() {
                    Some(signal) => format!("it crashed (signal {signal})"),
                    None => format!("it ended the process ({status})"),
                },
                None => format!("the worker process does not answer: {e}"),
            })),
        }
    }

    fn answer(&mut self, deadline: Instant, most: u64) -> io::Result<(u64, Vec<u8>)> {
        let mut timed = Timed { output: &mut self.output, deadline };
        let status = number(&mut timed)?;
        // An answer that is no result is words.
        let content = bytes(&mut timed, most.clamp(1 << 20, MOST))?;
        Ok((status, content))
    }

    /// Ends the process; how it ended by itself, if it did.
    fn end(&mut self) -> Option<ExitStatus> {
        // Its pipe may be closed a moment before the process is gone.
        for _ in 0..20 {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        None
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads until a deadline.
struct Timed<'a> {
    output: &'a mut ChildStdout,
    deadline: Instant,
}

impl Read for Timed<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        let ready = loop {
            match poll(&mut [PollFd::new(self.output, PollFlags::IN)], Some(&left)) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other?,
            }
        };
        if ready == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.output.read(into)
    }
}
