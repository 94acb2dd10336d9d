//! What a person sees: safe names, sizes, progress, errors.

#[macro_use]
pub(crate) mod streams;
pub(crate) mod json;
pub(crate) mod progress;
pub(crate) mod table;
pub(crate) mod text;

use crate::args::Color;
use nc3z_writer::ErrorKind;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::OnceLock;

/// What the command line said of colours; set once, before anything is reported.
static COLOR: OnceLock<Color> = OnceLock::new();

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
    let file = file.map_or_else(String::new, |f| format!("{}: ", text::safe(&crate::cmd::url::shown(f))));
    note!("nc3z: {label}: {file}{}", text::safe(&chain(error)));
}

/// An error and its causes, none said twice, and the option that helps.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    let mut out = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if !out.contains(&cause) {
            out = if out.is_empty() { cause } else { format!("{out}: {cause}") };
        }
    }
    let by_writer = error.chain().find_map(|c| c.downcast_ref::<nc3z_writer::Error>()).and_then(advice);
    if let Some(advice) = by_writer.or_else(|| older_state(error)) {
        out = format!("{out}; {advice}");
    }
    out
}

/// What to do, in words of the command line: the libraries know of no options.
fn advice(error: &nc3z_writer::Error) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::Exists(_) => Some("choose another name with -o or replace it with --force"),
        ErrorKind::TagInUse { .. } => Some("--force moves it"),
        ErrorKind::History { .. } => Some("--drop-history drops that, -o keeps the old archive"),
        _ => None,
    }
}

/// The same for a reader's refusal of the state before a damaged one.
fn older_state(error: &anyhow::Error) -> Option<&'static str> {
    let error = error.chain().find_map(|c| c.downcast_ref::<nc3z_reader::Error>())?;
    let older = matches!(error.kind(), nc3z_reader::ErrorKind::OlderState { .. });
    older.then_some("`nc3z restore --older` does so")
}
