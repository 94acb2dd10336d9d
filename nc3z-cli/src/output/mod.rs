//! What a person sees: safe names, sizes, progress, errors.

pub(crate) mod progress;
pub(crate) mod text;

use crate::args::Color;
use std::io::IsTerminal;
use std::path::Path;

/// One line of standard error: the error and what caused it, control characters escaped.
pub(crate) fn report_error(color: Color, file: Option<&Path>, error: &anyhow::Error) {
    let coloured = match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
    };
    let label = if coloured { "\x1b[1;31merror\x1b[0m" } else { "error" };
    let file = file.map_or_else(String::new, |f| format!("{}: ", text::safe(&f.to_string_lossy())));
    eprintln!("nc3z: {label}: {file}{}", text::safe(&chain(error)));
}

/// An error and its causes, none said twice.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    let mut out = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if !out.contains(&cause) {
            out = if out.is_empty() { cause } else { format!("{out}: {cause}") };
        }
    }
    out
}
