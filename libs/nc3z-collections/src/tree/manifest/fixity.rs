//! The fixity log: one line of JSON for each comparison of files with a manifest. Lines are appended and
//! never rewritten.

use crate::tree::Result;
use crate::tree::error::Context as _;
use crate::tree::journal::{ends_with_line, refuse_other_file};
use nc3z_format::units::utc;
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

/// Appends a line with a single write, and syncs it. An incomplete line, of a killed run or a full disk, becomes a
/// line of its own.
pub fn append(log: &Path, line: &Value) -> Result<()> {
    refuse_other_file(log)?;
    let write = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(log)?;
        let end = if ends_with_line(&file)? { "" } else { "\n" };
        file.write_all(format!("{end}{line}\n").as_bytes())?;
        file.sync_data()
    };
    write().with_context(|| format!("append to the log `{}`", log.display()))
}

/// Formats a time as `2026-11-21T07:40:55Z`.
pub fn date(time: SystemTime) -> String {
    utc(match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_secs()).map_or(i64::MIN, |seconds| -seconds),
    })
}
