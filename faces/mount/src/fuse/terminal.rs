//! Detaches a background server from its terminal.

use std::fs::File;
use std::io;

/// Leaves the terminal: starts a new session, in the root directory, with `/dev/null` as input and output.
///
/// # Errors
/// The system's error.
pub fn leave_terminal() -> io::Result<()> {
    // This fails for the leader of a process group. Such a process has no shell that waits for it.
    let _ = rustix::process::setsid();
    std::env::set_current_dir("/")?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}
