//! The line that a subset adds to the `history` attribute: time, program and command.

use crate::cmd::url;
use anyhow::{Result, bail};
use nc3z_format::NcType;
use nc3z_format::classic::{Attribute, Header};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Appends the line of this run.
pub(super) fn append(header: &mut Header) -> Result<()> {
    append_line(header, &line())
}

/// Returns the line of this run.
pub(in crate::cmd) fn line() -> String {
    format!("{} nc3z {}: {}", time(now()), env!("CARGO_PKG_VERSION"), command())
}

/// Returns the command of this run.
pub(in crate::cmd) fn command() -> String {
    let words = std::env::args_os().skip(1).map(|word| quoted(&without_secrets(&word.to_string_lossy())));
    format!("nc3z {}", words.collect::<Vec<_>>().join(" "))
}

/// Returns the current date and time.
pub(in crate::cmd) fn moment() -> String {
    time(now())
}

/// Returns a word of the command, with secrets of a URL removed: the file may be published. An option's value
/// may be a URL, too.
fn without_secrets(word: &str) -> String {
    match word.split_once('=').filter(|(option, _)| option.starts_with("--")) {
        Some((option, value)) => format!("{option}={}", url::shown(Path::new(value))),
        None => url::shown(Path::new(word)).into_owned(),
    }
}

fn append_line(header: &mut Header, line: &str) -> Result<()> {
    let ty = NcType::Char;
    let Some(history) = header.attributes.iter_mut().find(|a| a.name == b"history") else {
        header.attributes.push(Attribute { name: b"history".to_vec(), ty, values: line.as_bytes().to_vec() });
        return Ok(());
    };
    if history.ty != ty {
        bail!(
            "the attribute `history` is of type {}, not text; leave it as it is with --no-history",
            history.ty
        );
    }
    // NULs at the end are not text.
    let len = history.values.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    history.values.truncate(len);
    if history.values.last().is_some_and(|&b| b != b'\n') {
        history.values.push(b'\n');
    }
    history.values.extend_from_slice(line.as_bytes());
    Ok(())
}

/// Returns seconds since 1970. `SOURCE_DATE_EPOCH`, if set, makes outputs reproducible.
fn now() -> u64 {
    let set = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok());
    set.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()))
}

/// Formats UTC as `2026-11-21T08:00:00Z`.
fn time(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01, in eras of 400 years, so that leap days are at the end.
    let day = days + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3_600, second / 60 % 60, second % 60)
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
    use nc3z_format::classic::{NumRecs, Version};

    #[test]
    fn times() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_795_247_999, "2026-11-21T07:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(time(seconds), text);
        }
    }

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        assert_eq!(quoted("time,0,11"), "time,0,11");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn lines_come_after_those_before() {
        let mut header = Header {
            version: Version::Cdf1,
            numrecs: NumRecs::Count(0),
            dimensions: vec![],
            attributes: vec![],
            variables: vec![],
        };
        append_line(&mut header, "one").unwrap();
        header.attributes[0].values.extend_from_slice(b"\0\0");
        append_line(&mut header, "two").unwrap();
        assert_eq!(header.attributes[0].values, b"one\ntwo");
        header.attributes[0].ty = NcType::Byte;
        assert!(append_line(&mut header, "three").is_err());
    }
}
