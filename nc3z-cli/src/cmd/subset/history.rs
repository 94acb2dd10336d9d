//! The line that a subset adds to the `history` attribute: time, program and command.

use crate::cmd::url;
use anyhow::{Result, anyhow};
use nc3z_format::classic::Header;
use nc3z_format::units::utc;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The option for settings of a store.
const SETTING: &str = "--storage-option";

/// Appends the line of this run.
pub(super) fn append(header: &mut Header) -> Result<()> {
    header.append_history(&line()).map_err(|ty| {
        anyhow!("the attribute `history` is of type {ty}, not text; leave it as it is with --no-history")
    })
}

/// Returns the line of this run.
pub(in crate::cmd) fn line() -> String {
    format!("{} {}: {}", utc(now()), nc3z_format::SOFTWARE, command())
}

/// Returns the command of this run.
pub(in crate::cmd) fn command() -> String {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    format!("nc3z {}", of_words(words))
}

/// Returns the words of a command in a line, without secrets: the values of stores' settings are left out, too.
fn of_words(words: impl Iterator<Item = String>) -> String {
    let mut is_setting = false;
    let words = words.map(|word| {
        let hidden = if is_setting { without_value(&word) } else { without_secrets(&word) };
        is_setting = word == SETTING;
        quoted(&hidden)
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the setting of a store without its value, which may be a password.
fn without_value(setting: &str) -> String {
    format!("{}=...", setting.split('=').next().unwrap_or_default())
}

/// Returns the current date and time.
pub(in crate::cmd) fn moment() -> String {
    utc(now())
}

/// Returns a word of the command, with secrets of a URL removed: the file may be published. An option's value
/// may be a URL, too.
fn without_secrets(word: &str) -> String {
    match word.split_once('=').filter(|(option, _)| option.starts_with("--")) {
        Some((SETTING, value)) => format!("{SETTING}={}", without_value(value)),
        Some((option, value)) => format!("{option}={}", url::shown(Path::new(value))),
        None => url::shown(Path::new(word)).into_owned(),
    }
}

/// Returns seconds since 1970. `SOURCE_DATE_EPOCH`, if set, makes outputs reproducible.
fn now() -> i64 {
    let set = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok());
    set.unwrap_or_else(|| {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| i64::try_from(d.as_secs()).unwrap_or(i64::MAX))
    })
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,:=+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        assert_eq!(quoted("time,0,11"), "time,0,11");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn secrets_are_not_stored() {
        let words = [
            "read",
            "http://me:word@host/a?key=b",
            "--storage-option",
            "bearer_token=x",
            "--storage-option=k=v",
        ];
        let line = of_words(words.into_iter().map(str::to_owned));
        assert_eq!(line, "read http://host/a --storage-option bearer_token=... --storage-option=k=...");
    }
}
