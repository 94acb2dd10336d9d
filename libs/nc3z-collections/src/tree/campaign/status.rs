//! The state of a campaign: the files of its plan against the logs of its runs.

use super::{Campaign, GONE, Numbers, number_of};
use crate::tree::Result;
use crate::tree::code::Code;
use crate::tree::error::Context as _;
use crate::tree::journal::{self, INTERRUPTED, Line, NOT_TRIED, ON_TAPE, PASSED_OVER};
use crate::tree::table::write_row;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The largest number of directories that are counted by themselves.
const DIRECTORIES: usize = 2000;
/// The number of files that are named for each code.
const NAMED: usize = 3;

/// The last result for a file of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum State {
    /// The file's archive was written, or existed already.
    Done,
    /// No run has a result for the file.
    Open,
    /// A run was stopped before or while the file was archived.
    Stopped,
    /// The file was left out, because its data are on tape.
    Offline,
    /// The file failed, and the same run may succeed later.
    Failed,
    /// The file failed, and will fail again unless it changes.
    Refused,
    /// The file is no longer a classic file.
    Other,
}

impl State {
    /// All states.
    pub const ALL: [State; 7] = [
        State::Done,
        State::Open,
        State::Stopped,
        State::Offline,
        State::Failed,
        State::Refused,
        State::Other,
    ];

    /// Returns the name of the state, for programs.
    pub fn name(self) -> &'static str {
        match self {
            State::Done => "done",
            State::Open => "open",
            State::Stopped => "stopped",
            State::Offline => "on tape",
            State::Failed => "failed",
            State::Refused => "refused",
            State::Other => "other",
        }
    }
}

/// The number of files and their bytes.
pub type Amount = super::plan::Amount;

/// The failures with one code.
#[derive(Debug, Clone, Default)]
pub struct Failures {
    /// Their number.
    pub files: u64,
    /// The first of them, with the message.
    pub first: Vec<(PathBuf, String)>,
}

/// The files and bytes that were archived within an hour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hour {
    /// The number of files.
    pub files: u64,
    /// Their length in bytes.
    pub bytes: u64,
    /// The length of their archives in bytes.
    pub stored: u64,
}

/// The state of a campaign.
#[derive(Debug, Default)]
pub struct Status {
    /// The name of the campaign.
    pub name: String,
    /// The SHA-256 of the table of all files.
    pub digest: String,
    /// The number of units.
    pub units: u32,
    /// The number of units all of whose files are done.
    pub finished_units: u32,
    /// The files of the plan by their states.
    pub states: BTreeMap<State, Amount>,
    /// The failures by their codes.
    pub failures: BTreeMap<&'static str, Failures>,
    /// The files by directory: all, and those that are not done.
    pub directories: BTreeMap<PathBuf, (Amount, Amount)>,
    /// The archived files and bytes of each hour, by its date as in `2026-11-27T18`.
    pub hours: BTreeMap<String, Hour>,
    /// Logs that do not account for all files of their runs, with the reasons.
    pub gaps: Vec<(PathBuf, String)>,
    /// The number of files in logs that the plan lacks.
    pub unplanned: u64,
    /// The length of the archives that runs have written, in bytes.
    pub stored: u64,
}

/// The state of a file of the plan.
struct File {
    size: u64,
    directory: u32,
    unit: u32,
    state: State,
    code: u8,
}

impl Status {
    /// Reads the plan and its logs, and `more` logs. With `table`, writes a row for each file.
    ///
    /// # Errors
    /// The plan or a log cannot be read; the table cannot be written.
    pub fn new(campaign: &Campaign, more: &[PathBuf], table: Option<&mut dyn Write>) -> Result<Self> {
        let mut status = Status {
            name: crate::tree::shown(&campaign.directory),
            digest: campaign.digest.clone(),
            units: campaign.units,
            ..Status::default()
        };
        let mut files: Numbers<File> = campaign.numbers();
        let mut directories: BTreeMap<PathBuf, u32> = BTreeMap::new();
        campaign.each_row(&mut |row| {
            let Some(unit) = row.unit else { return Ok(()) };
            let inside = campaign.name_of(&row.path);
            let top = match inside.components().count() {
                0 | 1 => PathBuf::from("."),
                _ => inside.components().take(1).collect(),
            };
            let next = u32::try_from(directories.len()).unwrap_or(u32::MAX);
            let directory = match directories.get(&top) {
                Some(&number) => number,
                None if directories.len() < DIRECTORIES => *directories.entry(top).or_insert(next),
                None => *directories.entry(PathBuf::from("(other directories)")).or_insert(next),
            };
            let (size, state) = (row.size, State::Open);
            files.insert(
                number_of(row.path.as_os_str().as_encoded_bytes()),
                File { size, directory, unit, state, code: 0 },
            );
            Ok(())
        })?;
        let mut codes: Vec<&'static str> = vec![""];
        let mut logs = Vec::new();
        for path in campaign.logs()?.iter().chain(more) {
            logs.push((path.clone(), status.read(path, &mut files, &mut codes)?));
        }
        status.gaps = journal::gaps(&logs);
        status.count(&files, &codes, &directories);
        table.map_or(Ok(()), |out| write_table(campaign, &files, &codes, out))?;
        Ok(status)
    }

    /// Reads a log. Returns its runs, without their files.
    fn read(
        &mut self,
        path: &Path,
        files: &mut Numbers<File>,
        codes: &mut Vec<&'static str>,
    ) -> Result<journal::Log> {
        let mut log = journal::Log::default();
        let mut numbers = BTreeMap::new();
        journal::each_line(path, &mut |line| {
            log.note(&line, &mut numbers);
            let Line::File(name, _, state, line) = line else { return Ok(()) };
            let (state, code) = state_of(&state, &line);
            if line["state"] == "archived" {
                self.archived(&line);
            }
            let Some(file) = files.get_mut(&number_of(&name)) else {
                self.unplanned += u64::from(state != State::Other);
                return Ok(());
            };
            // An archive that was written stays: a later run that was stopped does not remove it.
            if file.state == State::Done && matches!(state, State::Stopped | State::Offline) {
                return Ok(());
            }
            file.state = state;
            let known = codes.iter().position(|known| *known == code);
            let number = known.unwrap_or_else(|| {
                codes.push(code);
                codes.len() - 1
            });
            file.code = u8::try_from(number).expect("there are some twenty codes");
            if matches!(state, State::Failed | State::Refused) {
                let first = &mut self.failures.entry(code).or_default().first;
                let named = nc3z_reader::platform::path_of(&name);
                if first.len() < NAMED && !first.iter().any(|(path, _)| *path == named) {
                    first.push((named, line["error"].as_str().unwrap_or_default().to_owned()));
                }
            }
            Ok(())
        })?;
        Ok(log)
    }

    fn archived(&mut self, line: &Value) {
        let number = |key: &str| line[key].as_u64().unwrap_or_default();
        let hour = line["time"].as_str().and_then(|time| time.get(..13)).unwrap_or_default();
        let hour = self.hours.entry(hour.to_owned()).or_default();
        hour.files += 1;
        hour.bytes = hour.bytes.saturating_add(number("original_bytes"));
        hour.stored = hour.stored.saturating_add(number("stored_bytes"));
        self.stored = self.stored.saturating_add(number("stored_bytes"));
    }

    fn count(&mut self, files: &Numbers<File>, codes: &[&'static str], directories: &BTreeMap<PathBuf, u32>) {
        let mut by_directory = vec![(Amount::default(), Amount::default()); directories.len()];
        let mut open_units = std::collections::BTreeSet::new();
        let mut counts = vec![0_u64; codes.len()];
        for file in files.values() {
            let add = |amount: &mut Amount| {
                amount.files += 1;
                amount.bytes = amount.bytes.saturating_add(file.size);
            };
            add(self.states.entry(file.state).or_default());
            let (all, left) = &mut by_directory[file.directory as usize];
            add(all);
            if file.state != State::Done {
                add(left);
                open_units.insert(file.unit);
            }
            if matches!(file.state, State::Failed | State::Refused) {
                counts[usize::from(file.code)] += 1;
            }
        }
        self.finished_units =
            self.units - u32::try_from(open_units.len()).unwrap_or(self.units).min(self.units);
        for (code, n) in codes.iter().zip(counts) {
            if let Some(failures) = self.failures.get_mut(code) {
                failures.files = n;
            }
        }
        // Files that succeeded later are not failures.
        self.failures.retain(|_, failures| failures.files > 0);
        self.directories =
            directories.iter().map(|(name, n)| (name.clone(), by_directory[*n as usize])).collect();
    }

    /// Returns the number of files in a state.
    pub fn amount(&self, state: State) -> Amount {
        self.states.get(&state).copied().unwrap_or_default()
    }

    /// Returns all files of the plan.
    pub fn all(&self) -> Amount {
        sum(self.states.values())
    }

    /// Returns the files that are not done.
    pub fn left(&self) -> Amount {
        sum(self.states.iter().filter(|(state, _)| **state != State::Done).map(|(_, amount)| amount))
    }

    /// Returns whether each file of the plan has its archive.
    pub fn is_done(&self) -> bool {
        self.left().files == 0
    }

    /// Returns whether only files remain that will never be archived as they are.
    pub fn is_only_refused(&self) -> bool {
        !self.is_done() && self.left().files == self.amount(State::Refused).files
    }

    /// Returns the bytes that were archived per hour, in the last hours with archives, without the hour that has just begun.
    pub fn rate(&self) -> Option<u64> {
        let mut hours: Vec<&Hour> = self.hours.values().rev().take(7).collect();
        if hours.len() > 1 {
            hours.remove(0);
        }
        let bytes: u64 = hours.iter().map(|hour| hour.bytes).sum();
        (bytes > 0).then(|| bytes / hours.len() as u64)
    }

    /// Returns the state as JSON, with stable keys.
    pub fn to_json(&self) -> Value {
        let amount = |amount: &Amount| json!({"files": amount.files, "bytes": amount.bytes});
        let states: serde_json::Map<String, Value> =
            State::ALL.iter().map(|state| (state.name().to_owned(), amount(&self.amount(*state)))).collect();
        let failures = self.failures.iter().map(|(code, failures)| {
            let first = failures
                .first
                .iter()
                .map(|(path, why)| json!({"file": crate::tree::shown(path), "error": why}));
            json!({
                "code": code, "retry": Code::named(code).retry, "files": failures.files,
                "examples": first.collect::<Vec<_>>(),
            })
        });
        let directories = self.directories.iter().map(|(name, (all, left))| {
            json!({"directory": crate::tree::shown(name), "all": amount(all), "left": amount(left)})
        });
        let hours = self.hours.iter().map(|(hour, h)| {
            json!({"hour": hour, "files": h.files, "original_bytes": h.bytes, "stored_bytes": h.stored})
        });
        let gaps = self.gaps.iter().map(|(log, why)| json!({"log": crate::tree::shown(log), "why": why}));
        json!({
            "campaign": self.name, "digest": self.digest, "complete": self.is_done(), "units": self.units,
            "finished_units": self.finished_units, "planned": amount(&self.all()), "left": amount(&self.left()), "states": states,
            "failures": failures.collect::<Vec<_>>(), "directories": directories.collect::<Vec<_>>(),
            "hours": hours.collect::<Vec<_>>(), "logs_with_gaps": gaps.collect::<Vec<_>>(), "unplanned": self.unplanned,
            "stored_bytes": self.stored, "bytes_per_hour": self.rate(),
        })
    }

    /// Returns the state in the text format of Prometheus.
    pub fn to_prometheus(&self) -> String {
        let mut out = String::new();
        let mut metric = |name: &str, help: &str, rows: &[(String, u64)]| {
            let _ = writeln!(out, "# HELP nc3z_campaign_{name} {help}\n# TYPE nc3z_campaign_{name} gauge");
            for (labels, value) in rows {
                let _ = writeln!(out, "nc3z_campaign_{name}{labels} {value}");
            }
        };
        let by_state = |value: &dyn Fn(Amount) -> u64| -> Vec<(String, u64)> {
            State::ALL
                .iter()
                .map(|s| (format!("{{state=\"{}\"}}", s.name()), value(self.amount(*s))))
                .collect()
        };
        metric("files", "Files of the plan by state.", &by_state(&|amount| amount.files));
        metric("bytes", "Bytes of the files of the plan by state.", &by_state(&|amount| amount.bytes));
        let failures = self.failures.iter();
        let failures: Vec<_> = failures.map(|(code, f)| (format!("{{code=\"{code}\"}}"), f.files)).collect();
        metric("failures", "Files that failed, by code.", &failures);
        metric(
            "stored_bytes",
            "Bytes of the archives that runs have written.",
            &[(String::new(), self.stored)],
        );
        metric("units", "Units of the plan.", &[(String::new(), self.units.into())]);
        metric(
            "finished_units",
            "Units all of whose files are done.",
            &[(String::new(), self.finished_units.into())],
        );
        metric(
            "log_gaps",
            "Logs that do not account for all files.",
            &[(String::new(), self.gaps.len() as u64)],
        );
        out
    }
}

fn sum<'a>(amounts: impl Iterator<Item = &'a Amount>) -> Amount {
    amounts.fold(Amount::default(), |sum, amount| Amount {
        files: sum.files + amount.files,
        bytes: sum.bytes.saturating_add(amount.bytes),
    })
}

/// Returns the state of a line of a log, and the code of a failure.
fn state_of(state: &str, line: &Value) -> (State, &'static str) {
    match state {
        "archived" | "present" => (State::Done, ""),
        PASSED_OVER => (State::Other, ""),
        ON_TAPE => (State::Offline, ""),
        NOT_TRIED | INTERRUPTED => (State::Stopped, ""),
        _ => {
            let code = Code::named(line["code"].as_str().unwrap_or_default());
            (if code.is_permanent_input() { State::Refused } else { State::Failed }, code.name)
        }
    }
}

/// Writes a row for each file of the plan, with its state, as CSV.
fn write_table(
    campaign: &Campaign,
    files: &Numbers<File>,
    codes: &[&'static str],
    out: &mut dyn Write,
) -> Result<()> {
    let writing = || "write the table".to_owned();
    let columns = ["path", "size", "mtime", "kind", "unit", "state", "code"];
    write_row(out, &columns.map(str::as_bytes)).with_context(writing)?;
    campaign.each_row(&mut |row| {
        let name = row.path.as_os_str().as_encoded_bytes();
        let file = files.get(&number_of(name)).filter(|_| row.unit.is_some());
        let state =
            file.map_or(if row.kind == GONE { GONE } else { State::Other.name() }, |file| file.state.name());
        let code = file.map_or("", |file| codes[usize::from(file.code)]);
        let unit = row.unit.map_or_else(String::new, |unit| unit.to_string());
        let size = row.size.to_string();
        let fields = [
            name,
            size.as_bytes(),
            row.mtime.as_bytes(),
            row.kind.as_bytes(),
            unit.as_bytes(),
            state.as_bytes(),
            code.as_bytes(),
        ];
        write_row(out, &fields).with_context(writing)
    })
}
