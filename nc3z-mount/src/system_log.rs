//! The system's log, for who has no terminal.

use std::io;
use std::os::unix::net::UnixDatagram;

/// Facility and severity: a daemon's warning.
const WARNING: u32 = 3 << 3 | 4;

/// The system's log, by the socket that every syslog and journald listen at.
pub struct SystemLog(UnixDatagram);

impl SystemLog {
    /// Opens it.
    ///
    /// # Errors
    /// There is none.
    pub fn open() -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.connect("/dev/log")?;
        Ok(SystemLog(socket))
    }

    /// Writes one line, which is lost where the log takes none.
    pub fn warn(&self, line: &str) {
        let _ = self.0.send(format!("<{WARNING}>nc3z[{}]: {line}", std::process::id()).as_bytes());
    }
}
