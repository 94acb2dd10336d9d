//! The caller's side: starts workers, and keeps them for later calls.

use crate::child::Worker;
use crate::wire::Request;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The default time limit of a call. Work for which this allows a minute takes filters about a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// The way to start workers: a program that calls [`crate::worker_main`], with its arguments.
#[derive(Debug, Clone)]
pub struct Launcher {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    patience: Duration,
    is_cancelled: fn() -> bool,
}

impl Launcher {
    /// This program with these arguments.
    pub fn new(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Launcher { program: program.into(), arguments, patience: PATIENCE, is_cancelled: || false }
    }

    /// Sets the time limit of a call. The default is a minute.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sets a function that is called several times a second during a call. If it returns true, the call and
    /// its process are ended.
    #[must_use]
    pub fn with_cancel(mut self, is_cancelled: fn() -> bool) -> Self {
        self.is_cancelled = is_cancelled;
        self
    }
}

/// Idle workers, and the way to start more. Clones share them.
#[derive(Clone)]
pub(crate) struct Workers(Arc<Pool>);

struct Pool {
    launcher: Launcher,
    idle: Mutex<Vec<Worker>>,
}

/// The reason why a call gave no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The plug-in reported an error.
    #[cfg_attr(not(unix), expect(dead_code, reason = "no plug-in is called there"))]
    Refused(String),
    /// The worker has ended, or was ended, or could not be started.
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

    /// Sends a request to an idle worker, or to a new one. After a failure the worker is not used again.
    pub(crate) fn ask(&self, request: &Request<'_>) -> Result<Vec<u8>, Failure> {
        let idle = || self.0.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle().pop();
        let mut worker = match kept {
            Some(worker) => worker,
            None => Worker::start(&self.0.launcher)
                .map_err(|e| Failure::Lost(format!("the worker process does not start: {e}")))?,
        };
        let answer = worker.ask(request, self.0.launcher.patience, self.0.launcher.is_cancelled);
        if !matches!(answer, Err(Failure::Lost(_))) && worker.lives() {
            idle().push(worker);
        }
        answer
    }

    /// Ends the idle workers, with all processes that plug-ins have started in them.
    pub(crate) fn end(&self) {
        let idle = std::mem::take(&mut *self.0.idle.lock().unwrap_or_else(PoisonError::into_inner));
        drop(idle);
    }

    /// Sends a request to a worker that gets no other request: for unknown libraries.
    pub(crate) fn ask_alone(&self, request: &Request<'_>) -> Result<Vec<u8>, Failure> {
        Workers::new(self.0.launcher.clone()).ask(request)
    }
}
