//! The fixity log: one line of JSON for each comparison of files with a manifest. Lines are appended and
//! never rewritten.

use crate::Result;
use crate::error::Context as _;
use serde_json::Value;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The suffix of the log's name, after the manifest's name.
pub const LOG_SUFFIX: &str = ".fixity.jsonl";

/// Returns the default path of a manifest's log.
pub fn log_path(manifest: &Path) -> PathBuf {
    let mut name = manifest.as_os_str().to_owned();
    name.push(LOG_SUFFIX);
    name.into()
}

/// Appends a line with a single write, and syncs it.
pub fn append(log: &Path, line: &Value) -> Result<()> {
    let write = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().append(true).create(true).open(log)?;
        file.write_all(format!("{line}\n").as_bytes())?;
        file.sync_data()
    };
    write().with_context(|| format!("append to the fixity log `{}`", log.display()))
}

/// `2026-11-21T07:40:55Z`.
pub fn date(time: SystemTime) -> String {
    let seconds = match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i128::from(since.as_secs()),
        Err(before) => -i128::from(before.duration().as_secs()),
    };
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years begin in March here, so that a leap day is the last day of a year: 146,097 days are 400 years.
    let (era, day) = ((days + 719_468).div_euclid(146_097), (days + 719_468).rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + i128::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let at = |seconds: u64| date(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_709_251_199), "2024-02-29T23:59:59Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00Z");
        assert_eq!(at(253_402_300_799), "9999-12-31T23:59:59Z");
        assert_eq!(date(UNIX_EPOCH - Duration::from_secs(1)), "1969-12-31T23:59:59Z");
    }
}
