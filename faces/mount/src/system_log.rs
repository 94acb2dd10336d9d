//! Writes to the system's log, for a process without a terminal.

use std::io;
use std::os::unix::net::UnixDatagram;

/// Facility and severity: a daemon's warning.
const WARNING: u32 = 3 << 3 | 4;

/// The system's log, by the socket of syslog and journald.
pub struct SystemLog(UnixDatagram);

impl SystemLog {
    /// Opens the log.
    ///
    /// # Errors
    /// The system has no log.
    pub fn open() -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.connect("/dev/log")?;
        Ok(SystemLog(socket))
    }

    /// Writes one line. It is lost if the log does not accept it.
    pub fn warn(&self, line: &str) {
        let _ = self.0.send(format!("<{WARNING}>nc3z[{}]: {line}", std::process::id()).as_bytes());
    }
}
