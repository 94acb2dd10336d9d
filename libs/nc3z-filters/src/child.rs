//! A worker process: starts it, sends requests, and ends it if it does not answer in time.

use crate::host::{Failure, Launcher};
use crate::wire::{MOST, Request, bytes, number, status};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io::{self, BufWriter, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A worker process. Dropping this ends it, with all processes that plug-ins have started in it.
pub(crate) struct Worker {
    child: Child,
    input: BufWriter<ChildStdin>,
    output: ChildStdout,
    /// The number of the last request.
    asked: u64,
    /// False after it has reported its end, or was ended.
    lives: bool,
    /// True after it was reaped. Another process may have its number from then on.
    reaped: bool,
}

impl Worker {
    pub(crate) fn start(launcher: &Launcher) -> io::Result<Self> {
        let mut child = Command::new(&launcher.program)
            .args(&launcher.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A separate process group: processes that plug-ins start belong to it, and end with it.
            .process_group(0)
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.expect("both were asked for");
        Ok(Worker { child, input: BufWriter::new(input), output, asked: 0, lives: true, reaped: false })
    }

    /// True while it accepts requests.
    pub(crate) fn lives(&self) -> bool {
        self.lives
    }

    pub(crate) fn ask(
        &mut self,
        request: &Request<'_>,
        patience: Duration,
        is_cancelled: fn() -> bool,
    ) -> Result<Vec<u8>, Failure> {
        let begin = Instant::now();
        self.asked += 1;
        let answer = match request.write(self.asked, &mut self.input) {
            Ok(()) => self.answer(begin + patience, is_cancelled, request.most),
            Err(e) => Err(e),
        };
        match answer {
            Ok((status::DONE, content)) => Ok(content),
            Ok((status::LAST, content)) => {
                self.lives = false;
                Ok(content)
            }
            Ok((_, why)) => Err(Failure::Refused(String::from_utf8_lossy(&why).into_owned())),
            Err(_) if is_cancelled() => {
                self.kill();
                Err(Failure::Lost("it was interrupted".to_owned()))
            }
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

    fn answer(
        &mut self,
        deadline: Instant,
        is_cancelled: fn() -> bool,
        most: u64,
    ) -> io::Result<(u64, Vec<u8>)> {
        let pid = self.pid();
        let mut timed = Timed { output: &mut self.output, pid, deadline, is_cancelled };
        // If a plug-in forks, two processes answer.
        if number(&mut timed)? != self.asked {
            return Err(io::Error::other("its answer does not match the request"));
        }
        let status = number(&mut timed)?;
        // An answer other than a result is a message.
        let content = bytes(&mut timed, most.clamp(1 << 20, MOST))?;
        Ok((status, content))
    }

    /// Ends the process. Returns its status if it ended on its own.
    fn end(&mut self) -> Option<ExitStatus> {
        // Its pipe may be closed shortly before the process has ended.
        let mut own = has_ended(self.pid());
        for _ in 0..20 {
            if own {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
            own = has_ended(self.pid());
        }
        self.kill().filter(|_| own)
    }

    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.id()).ok()?)
    }

    /// Kills the process and all of its group, once. Returns its status.
    fn kill(&mut self) -> Option<ExitStatus> {
        if std::mem::replace(&mut self.reaped, true) {
            return None;
        }
        self.lives = false;
        if let Some(pid) = self.pid() {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let _ = self.child.kill();
        self.child.wait().ok()
    }
}

/// Returns true for a child that has ended. It is not reaped: until then no other process gets its number.
fn has_ended(pid: Option<Pid>) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    pid.is_some_and(|pid| matches!(waitid(WaitId::Pid(pid), options), Ok(Some(_))))
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The interval of checking whether a call was cancelled.
const LOOK: Duration = Duration::from_millis(200);

/// Reads until a deadline, or until the call is cancelled.
struct Timed<'a> {
    output: &'a mut ChildStdout,
    pid: Option<Pid>,
    deadline: Instant,
    is_cancelled: fn() -> bool,
}

impl Read for Timed<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || (self.is_cancelled)() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let left = Timespec::try_from(left.min(LOOK)).map_err(io::Error::other)?;
            match poll(&mut [PollFd::new(self.output, PollFlags::IN)], Some(&left)) {
                // If a plug-in forked, the pipe stays open after the worker's end.
                Ok(0) if has_ended(self.pid) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return self.output.read(into),
                Err(e) => return Err(e.into()),
            }
        }
    }
}
