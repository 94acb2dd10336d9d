//! Output for people: safe names, sizes, progress, errors.

#[macro_use]
pub(crate) mod streams;
pub(crate) mod failure;
pub(crate) mod message;
pub(crate) mod progress;
pub(crate) mod signals;
pub(crate) mod status_line;
pub(crate) mod table;
pub(crate) mod target;
pub(crate) mod text;

use crate::args::{Color, TellArgs};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// The colour option of the command line. It is set once, before anything is reported.
static COLOR: OnceLock<Color> = OnceLock::new();

/// The amount of messages: 0 quiet, 1 normal, 2 verbose.
static LEVEL: AtomicU8 = AtomicU8::new(1);

/// Stores the amount of messages that the command line requests.
pub(crate) fn set_level(args: &TellArgs) {
    LEVEL.store(if args.quiet { 0 } else { 1 + u8::from(args.verbose) }, Ordering::Relaxed);
}

/// Stores whether a command without verbose messages is quiet.
pub(crate) fn set_quiet(quiet: bool) {
    LEVEL.store(u8::from(!quiet), Ordering::Relaxed);
}

/// Returns whether the result for each file is reported.
pub(crate) fn tells() -> bool {
    LEVEL.load(Ordering::Relaxed) > 0
}

/// Returns whether verbose messages are reported.
pub(crate) fn tells_more() -> bool {
    LEVEL.load(Ordering::Relaxed) > 1
}

pub(crate) fn set_color(color: Color) {
    // Only main calls this, once. A second value is ignored.
    let _ = COLOR.set(color);
}

/// Writes one line to standard error: the error and its causes, with control characters escaped.
pub(crate) fn report_error(file: Option<&Path>, error: &anyhow::Error) {
    failure::remember(error, file);
    let coloured = match COLOR.get() {
        Some(Color::Always) => true,
        Some(Color::Never) => false,
        Some(Color::Auto) | None => std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
    };
    let label = if coloured { "\x1b[1;31merror\x1b[0m" } else { "error" };
    let stdout = streams::output_failed(error);
    let path = file.filter(|_| stdout.is_none());
    let file = path.map_or_else(String::new, |f| format!("{}: ", text::safe(&crate::cmd::url::shown(f))));
    let mut words = stdout.unwrap_or_else(|| message::of(error, path));
    // The file is named only once if the message begins with it, too.
    if let Some(rest) = path.and_then(|f| words.strip_prefix(&format!("`{}`: ", crate::cmd::url::shown(f)))) {
        words = rest.to_owned();
    }
    note!("nc3z: {label}: {file}{}", text::safe(&words));
}

/// The code of a usage error.
const USAGE: &str = "option";

/// Returns the stable code of an error, for reports as JSON.
fn code(error: &anyhow::Error) -> &'static str {
    if error.chain().any(<dyn std::error::Error>::is::<crate::exit::Usage>) {
        return USAGE;
    }
    nc3z_collections::tree::code::Code::from_chain(error.chain()).name
}

/// Ends the run with a usage error, or with the help. A usage error repeats words of the command line. With `is_json` it is
/// also printed as a JSON object.
pub(crate) fn exit_by(e: &clap::Error, is_json: bool) -> ! {
    let renamed = crate::args::renamed::message(e);
    if is_json && e.use_stderr() {
        failure::print_usage(&renamed.clone().unwrap_or_else(|| e.to_string()));
    }
    if let Some(words) = renamed {
        note!("{words}");
        std::process::exit(2);
    }
    let words = e.to_string();
    if e.use_stderr() && crate::cmd::url::hidden_in(&words) != words {
        note!("{}", words.trim_end());
        std::process::exit(e.exit_code());
    }
    e.exit()
}

/// Joins an error and its causes in the user's words; see [`words`].
pub(crate) fn chain(error: &anyhow::Error) -> String {
    message::of(error, None)
}
