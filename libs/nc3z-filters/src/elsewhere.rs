//! Systems other than Unix: plug-ins are found by name there, but not called.

use crate::host::{Failure, Launcher};
use crate::wire::Request;
use std::io;
use std::time::Duration;

/// This system has no worker.
pub(crate) enum Worker {}

impl Worker {
    pub(crate) fn start(launcher: &Launcher) -> io::Result<Self> {
        let _ = (&launcher.program, &launcher.arguments);
        Err(io::Error::new(io::ErrorKind::Unsupported, "plug-ins are called on Unix only"))
    }

    pub(crate) fn lives(&self) -> bool {
        match *self {}
    }

    pub(crate) fn ask(&mut self, _: &Request<'_>, _: Duration, _: fn() -> bool) -> Result<Vec<u8>, Failure> {
        match *self {}
    }
}

/// The main function of a worker process, which does nothing on this system.
///
/// # Errors
/// Always.
pub fn worker_main() -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "plug-ins are called on Unix only"))
}
