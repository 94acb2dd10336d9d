//! What a person sees: safe names, sizes, progress, errors.

#[macro_use]
pub(crate) mod streams;
pub(crate) mod json;
pub(crate) mod progress;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod words;

use crate::args::{Color, TellArgs};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// What the command line said of colours; set once, before anything is reported.
static COLOR: OnceLock<Color> = OnceLock::new();

/// How much is told: 0 quiet, 1 as usual, 2 more.
static LEVEL: AtomicU8 = AtomicU8::new(1);

/// Keeps how much the command line wants to be told.
pub(crate) fn set_level(args: &TellArgs) {
    LEVEL.store(if args.quiet { 0 } else { 1 + u8::from(args.verbose) }, Ordering::Relaxed);
}

/// The same for commands that have no more to tell.
pub(crate) fn set_quiet(quiet: bool) {
    LEVEL.store(u8::from(!quiet), Ordering::Relaxed);
}

/// Whether what became of each file is told.
pub(crate) fn tells() -> bool {
    LEVEL.load(Ordering::Relaxed) > 0
}

/// Whether more is told.
pub(crate) fn tells_more() -> bool {
    LEVEL.load(Ordering::Relaxed) > 1
}

/// Keeps what the command line said of colours.
pub(crate) fn set_color(color: Color) {
    // Only main calls this, once; a second value would change nothing that matters.
    let _ = COLOR.set(color);
}

/// One line of standard error: the error and what caused it, control characters escaped.
pub(crate) fn report_error(file: Option<&Path>, error: &anyhow::Error) {
    let coloured = match COLOR.get() {
        Some(Color::Always) => true,
        Some(Color::Never) => false,
        Some(Color::Auto) | None => std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
    };
    let label = if coloured { "\x1b[1;31merror\x1b[0m" } else { "error" };
    let stdout = streams::output_failed(error);
    let path = file.filter(|_| stdout.is_none());
    let file = path.map_or_else(String::new, |f| format!("{}: ", text::safe(&crate::cmd::url::shown(f))));
    let mut words = stdout.unwrap_or_else(|| words::of(error, path));
    // Said once where the message begins with it, too.
    if let Some(rest) = path.and_then(|f| words.strip_prefix(&format!("`{}`: ", crate::cmd::url::shown(f)))) {
        words = rest.to_owned();
    }
    note!("nc3z: {label}: {file}{}", text::safe(&words));
}

/// An error and its causes in the user's words; see [`words`].
pub(crate) fn chain(error: &anyhow::Error) -> String {
    words::of(error, None)
}
