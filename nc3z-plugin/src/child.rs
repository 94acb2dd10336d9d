//! A worker process: started, asked, and ended where it does not answer in time.

use crate::host::{Failure, Launcher};
use crate::wire::{MOST, Request, bytes, number};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use std::io::{self, BufWriter, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often a worker that has not answered yet is asked for whether anybody still waits.
const LOOK: Duration = Duration::from_millis(50);
/// Processes below a worker that are looked for; a filter that makes more has lost control of itself.
const DESCENDANTS: usize = 4096;

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
            // A group of its own: what a filter forks ends with it.
            .process_group(0)
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.expect("both were asked for");
        Ok(Worker { child, input: BufWriter::new(input), output })
    }

    pub(crate) fn ask(&mut self, request: &Request<'_>, launcher: &Launcher) -> Result<Vec<u8>, Failure> {
        let (begin, patience) = (Instant::now(), launcher.patience);
        let answer = match request.write(&mut self.input) {
            Ok(()) => self.answer(begin + patience, launcher.is_cancelled, request.most),
            Err(e) => Err(e),
        };
        match answer {
            Ok((0, content)) => Ok(content),
            Ok((_, why)) => Err(Failure::Refused(String::from_utf8_lossy(&why).into_owned())),
            Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => {
                self.end();
                Err(Failure::Lost("the run was interrupted, and the worker ended".to_owned()))
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
        let mut timed = Timed { output: &mut self.output, deadline, is_cancelled };
        let status = number(&mut timed)?;
        // An answer that is no result is words.
        let content = bytes(&mut timed, most.clamp(1 << 20, MOST))?;
        Ok((status, content))
    }

    /// Ends the process and those that it made; how it ended by itself, if it did.
    fn end(&mut self) -> Option<ExitStatus> {
        // Its pipe may be closed a moment before the process is gone.
        let by_itself = (0..20).any(|_| {
            let gone = self.is_gone();
            if !gone {
                std::thread::sleep(Duration::from_millis(5));
            }
            gone
        });
        self.kill();
        self.child.wait().ok().filter(|_| by_itself)
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    /// Whether the process has ended. It is not waited for: as long as it is not, its number is not another's.
    fn is_gone(&self) -> bool {
        let Some(pid) = self.pid() else { return true };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        matches!(waitid(WaitId::Pid(pid), options), Ok(Some(_)) | Err(rustix::io::Errno::CHILD))
    }

    /// Kills the process, its group, and what left the group: the worker is the parent of all that lost theirs.
    fn kill(&self) {
        let Some(pid) = self.pid() else { return };
        // The worker last: what it is the parent of is found by it.
        for below in descendants(self.child.id()) {
            let _ = kill_process(below, Signal::KILL);
        }
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

/// The processes below one, as far as the system tells (Linux).
fn descendants(process: u32) -> Vec<Pid> {
    let children = |of: u32| -> Vec<u32> {
        let tasks = std::fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten();
        let texts = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
        texts
            .flat_map(|text| text.split_whitespace().filter_map(|n| n.parse().ok()).collect::<Vec<_>>())
            .collect()
    };
    let mut found = children(process);
    let mut at = 0;
    while at < found.len() && found.len() < DESCENDANTS {
        found.extend(children(found[at]));
        at += 1;
    }
    found.into_iter().filter_map(|n| i32::try_from(n).ok().and_then(Pid::from_raw)).collect()
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

/// Reads until a deadline, or until nobody waits any more.
struct Timed<'a> {
    output: &'a mut ChildStdout,
    deadline: Instant,
    is_cancelled: fn() -> bool,
}

impl Read for Timed<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if (self.is_cancelled)() {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            let wait = Timespec::try_from(left.min(LOOK)).map_err(io::Error::other)?;
            match poll(&mut [PollFd::new(self.output, PollFlags::IN)], Some(&wait)) {
                Ok(0) if left.is_zero() => return Err(io::ErrorKind::TimedOut.into()),
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => break,
                Err(e) => return Err(e.into()),
            }
        }
        self.output.read(into)
    }
}
