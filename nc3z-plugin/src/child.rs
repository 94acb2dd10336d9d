//! A worker process: started, asked, and ended where it does not answer in time.

use crate::host::{Failure, Launcher};
use crate::wire::{MOST, Request, bytes, number};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, BufWriter, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A worker process, ended when this is dropped.
pub(crate) struct Worker {
    child: Child,
    input: BufWriter<ChildStdin>,
    output: ChildStdout,
}

impl Worker {
    pub(crate) fn start(launcher: &Launcher) -> io::Result<Self> {
        let mut child = Command::new(&launcher.program)
            .args(&launcher.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.expect("both were asked for");
        Ok(Worker { child, input: BufWriter::new(input), output })
    }

    pub(crate) fn ask(&mut self, request: &Request<'_>, patience: Duration) -> Result<Vec<u8>, Failure> {
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
