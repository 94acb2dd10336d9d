//! `--log` and `--resume`: one line of JSON for each file, in the order in which they finish.

use crate::error::Context as _;
use crate::refusal::Refusal;
use crate::walk::Job;
use crate::{Error, Result};
use nc3z_format::bytes::hex;
use nc3z_reader::platform::{path_of, read_exact_at};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// States of files that need not be archived again.
const DONE: [&str; 2] = ["archived", "present"];

/// The state of a file that a command does not process.
pub const PASSED_OVER: &str = "passed over";

/// A log that lines are appended to.
pub struct Journal {
    path: PathBuf,
    file: Mutex<File>,
}

impl Journal {
    /// Opens a log to append to, or makes it.
    pub fn open(path: &Path) -> Result<Self> {
        let open = || {
            let mut file = OpenOptions::new().append(true).read(true).create(true).open(path)?;
            // An incomplete line of a killed run stays a line of its own.
            if !ends_with_line(&file)? {
                file.write_all(b"\n")?;
            }
            Ok::<_, std::io::Error>(file)
        };
        let file = open().with_context(|| format!("open the log `{}`", path.display()))?;
        Ok(Journal { path: path.to_owned(), file: Mutex::new(file) })
    }

    /// Appends the result for a file, with a single write.
    pub fn add(&self, job: &Job, state: &str, more: Value) -> Result<()> {
        self.add_line(&job.input, Some(&job.output), state, more)
    }

    /// Appends the result for a file that gets no archive.
    pub fn add_file(&self, file: &Path, state: &str, more: Value) -> Result<()> {
        self.add_line(file, None, state, more)
    }

    fn add_line(&self, file: &Path, archive: Option<&Path>, state: &str, more: Value) -> Result<()> {
        let mut line = json!({"file": crate::shown(file), "state": state});
        if needs_hex(file) {
            line["file_hex"] = hex(file.as_os_str().as_encoded_bytes()).into();
        }
        if let Some(archive) = archive {
            line["archive"] = crate::shown(archive).into();
            if needs_hex(archive) {
                line["archive_hex"] = hex(archive.as_os_str().as_encoded_bytes()).into();
            }
        }
        if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
            line.extend(more);
        }
        let mut file = self.file.lock().expect("no panic while it is locked");
        file.write_all(format!("{line}\n").as_bytes())
            .with_context(|| format!("append to the log `{}`", self.path.display()))
    }
}

fn ends_with_line(file: &File) -> std::io::Result<bool> {
    let len = file.metadata()?.len();
    let mut last = [b'\n'];
    if len > 0 && file.metadata()?.is_file() {
        read_exact_at(file, &mut last, len - 1)?;
    }
    Ok(last == *b"\n")
}

/// Returns whether a name cannot be written as JSON text, or is escaped for terminals.
fn needs_hex(path: &Path) -> bool {
    path.to_str().is_none_or(|name| nc3z_look::text::safe(name) != name)
}

/// The last entry of a log for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// Its archive's name.
    pub archive: PathBuf,
    /// Whether that is there.
    pub is_done: bool,
    /// True if the file was skipped, and has no archive.
    pub is_other: bool,
}

/// Reads the files of a log, by the bytes of their names, and the result for each. An incomplete line (of a
/// killed run) is skipped. A file without any valid line is not a log.
pub fn read(path: &Path) -> Result<BTreeMap<Vec<u8>, Logged>> {
    let bytes = std::fs::read(path).with_context(|| format!("read the log `{}`", path.display()))?;
    let mut files = BTreeMap::new();
    let (mut lines, mut known) = (0, 0);
    for line in bytes.split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
        lines += 1;
        let Ok(value) = serde_json::from_slice::<Value>(line) else { continue };
        let name = |key: &str| -> Result<Option<Vec<u8>>> {
            match (value[format!("{key}_hex")].as_str(), value[key].as_str()) {
                (Some(digits), _) => {
                    let wrong = || {
                        Error::from(Refusal::LoggedName { log: path.to_owned(), digits: digits.to_owned() })
                    };
                    Ok(Some(unhex(digits).ok_or_else(wrong)?))
                }
                (None, text) => Ok(text.map(|text| text.as_bytes().to_vec())),
            }
        };
        let (Some(file), Some(state)) = (name("file")?, value["state"].as_str()) else { continue };
        known += 1;
        let archive = path_of(&name("archive")?.unwrap_or_default());
        files
            .insert(file, Logged { archive, is_done: DONE.contains(&state), is_other: state == PASSED_OVER });
    }
    if lines > 0 && known == 0 {
        return Err(Refusal::NoLog(path.to_owned()).into());
    }
    Ok(files)
}

/// Returns the files that a log lists as done, by the bytes of their names.
pub fn done_in(path: &Path) -> Result<HashSet<Vec<u8>>> {
    Ok(read(path)?.into_iter().filter(|(_, logged)| logged.is_done).map(|(file, _)| file).collect())
}

fn unhex(hex: &str) -> Option<Vec<u8>> {
    let bytes = hex.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok().filter(|p| p.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    });
    bytes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_come_back_with_any_name_and_after_a_torn_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let names: [&[u8]; 4] = [b"a b.nc", b"\xff\n", b"\x1b[31m", "ä".as_bytes()];
        let job = |name: &[u8]| Job {
            input: path_of(name),
            output: crate::walk::archive_name(&path_of(name)),
            name: PathBuf::new(),
        };
        let journal = Journal::open(&path).unwrap();
        names.iter().for_each(|n| journal.add(&job(n), "archived", json!({"x": 1})).unwrap());
        journal.add(&job(b"bad"), "failed", json!({})).unwrap();
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"file\": \"to").unwrap();
        Journal::open(&path).unwrap().add(&job(names[0]), "failed", json!({})).unwrap();
        let expected: HashSet<Vec<u8>> = names[1..].iter().map(|n| n.to_vec()).collect();
        assert_eq!(done_in(&path).unwrap(), expected);
        let logged = read(&path).unwrap();
        assert_eq!((logged.len(), logged[&b"bad"[..]].is_done), (5, false));
        assert_eq!(logged[names[1]].archive.as_os_str().as_encoded_bytes(), [names[1], b".nc3z"].concat());
        std::fs::write(&path, "what is this?\n").unwrap();
        assert!(done_in(&path).is_err());
    }
}
