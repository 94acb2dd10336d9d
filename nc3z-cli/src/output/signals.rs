//! Signals that stop the tool: the flag that they set and that all long operations check.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(unix)]
use std::time::Duration;

/// Set by SIGINT, SIGTERM and SIGHUP. All long operations check it.
static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Makes SIGINT, SIGTERM and SIGHUP set the flag instead of killing the process. A second signal kills it.
pub(crate) fn catch_signals() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let flag = INTERRUPTED.get_or_init(|| Arc::new(AtomicBool::new(false)));
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup()) {
        // The order matters: the conditional shutdown sees the flag of the previous signal.
        let _ = signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(flag));
        let _ = signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(blocked()));
        let _ = signal_hook::flag::register(signal, Arc::clone(flag));
    }
}

/// The time that an operation has after a signal to stop and remove incomplete files.
#[cfg(unix)]
const GRACE: Duration = Duration::from_secs(10);
/// Stack of the thread that waits for signals.
#[cfg(unix)]
const STACK: usize = 128 << 10;

/// Ends the process if an operation has not stopped some time after a signal, so that one signal is enough
/// for any file. Only the first call has an effect. Short work goes without: the thread that waits would take longer.
pub(crate) fn end_after_grace() {
    #[cfg(unix)]
    {
        static DONE: std::sync::Once = std::sync::Once::new();
        DONE.call_once(wait_for_signals);
    }
}

#[cfg(unix)]
fn wait_for_signals() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use std::io::Read;
    let Ok((mut wakes, rings)) = std::os::unix::net::UnixStream::pair() else { return };
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup()) {
        let Ok(rings) = rings.try_clone() else { return };
        let _ = signal_hook::low_level::pipe::register(signal, rings);
    }
    let wait = move || {
        if wakes.read_exact(&mut [0]).is_ok() {
            std::thread::sleep(GRACE);
            nc3z_writer::remove_temporary_files();
            signal_hook::low_level::exit(130);
        }
    };
    // If the thread cannot be started, a second signal is needed.
    let _ = std::thread::Builder::new().name("signals".into()).stack_size(STACK).spawn(wait);
}

/// Returns SIGHUP, if the system has it, and if `nohup` has not disabled it.
#[cfg(unix)]
fn hangup() -> Option<i32> {
    let hangup = signal_hook::consts::SIGHUP;
    (!is_ignored(hangup)).then_some(hangup)
}

#[cfg(not(unix))]
fn hangup() -> Option<i32> {
    None
}

/// Returns whether the process was started with a signal ignored, if the system reports it (Linux).
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    static STATUS: OnceLock<String> = OnceLock::new();
    let status = STATUS.get_or_init(|| std::fs::read_to_string("/proc/self/status").unwrap_or_default());
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Set while the process waits for a pipe and has no incomplete file on disk. Signals then end the process at
/// once.
static BLOCKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

fn blocked() -> &'static Arc<AtomicBool> {
    BLOCKED.get_or_init(|| Arc::new(AtomicBool::new(false)))
}

/// Runs an operation that reads or writes a pipe, which the flag does not interrupt: a signal then ends the
/// process with 130.
pub(crate) fn while_blocked<T>(work: impl FnOnce() -> T) -> T {
    blocked().store(true, Ordering::SeqCst);
    let done = work();
    blocked().store(false, Ordering::SeqCst);
    done
}

/// Returns true after the user has requested to stop.
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.get().is_some_and(|f| f.load(Ordering::Relaxed))
}
