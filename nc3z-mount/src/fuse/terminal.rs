//! A server in the background has no terminal.

use std::fs::File;
use std::io;

/// Leaves the terminal: begins a session of its own, in the root directory, with `/dev/null` as input and output.
///
/// # Errors
/// The system's error.
pub fn leave_terminal() -> io::Result<()> {
    // Fails where the process leads a group, and then has no terminal of a shell that waits for it either.
    let _ = rustix::process::setsid();
    std::env::set_current_dir("/")?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}
