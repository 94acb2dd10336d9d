//! `--log` and `--resume`: lines of JSON. A run begins with a line about itself, adds one for each file in the order in which they
//! finish, and ends with one that has their numbers. Without its last line, a log proves nothing about the files that it does not name.

use crate::tree::error::Context as _;
use crate::tree::manifest::fixity::date;
use crate::tree::refusal::Refusal;
use crate::tree::walk::{Job, Shard};
use crate::tree::{Error, Result};
use nc3z_format::bytes::hex;
use nc3z_reader::platform::{path_of, read_exact_at};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

/// States of files that need not be archived again.
const DONE: [&str; 2] = ["archived", "present"];

/// The state of a file that a command does not process.
pub const PASSED_OVER: &str = "passed over";

/// The state of a file whose data are on tape, and that is left out.
pub const ON_TAPE: &str = "on tape";

/// The key of the first and of the last line of a run.
const LOG: &str = "log";

/// Variables of schedulers that name a job and its task, in the order in which they are looked at.
const JOBS: [(&str, &str); 4] = [
    ("SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID"),
    ("SLURM_JOB_ID", ""),
    ("PBS_JOBID", "PBS_ARRAY_INDEX"),
    ("JOB_ID", "SGE_TASK_ID"),
];

/// The facts about a run in its first line.
#[derive(Debug, Clone, Default)]
pub struct About<'a> {
    /// The command line, without secrets.
    pub arguments: &'a [String],
    /// The files and directories.
    pub inputs: &'a [PathBuf],
    /// The list of further files.
    pub list: Option<&'a Path>,
    /// The directory for archives.
    pub output: Option<&'a Path>,
    /// The part of the files.
    pub shard: Option<Shard>,
    /// The SHA-256 of a plan, and the name of its unit.
    pub unit: Option<(&'a str, &'a str)>,
    /// The number of files that get a line.
    pub planned: u64,
}

/// A log that lines are appended to.
pub struct Journal {
    path: PathBuf,
    file: Mutex<File>,
    /// The number of the run in its lines.
    run: String,
    planned: u64,
    counts: Mutex<BTreeMap<String, u64>>,
}

impl Journal {
    /// Opens a log to append to, or makes it, and writes the first line of a run.
    pub fn open(path: &Path, about: &About<'_>) -> Result<Self> {
        nc3z_writer::refuse_url(path)?;
        refuse_other_file(path)?;
        let open = || {
            let mut file = OpenOptions::new().append(true).read(true).create(true).open(path)?;
            // An incomplete line of a killed run stays a line of its own.
            if !ends_with_line(&file)? {
                file.write_all(b"\n")?;
            }
            Ok::<_, std::io::Error>(file)
        };
        let file = open().with_context(|| format!("open the log `{}`", path.display()))?;
        let host = host();
        let run = run_of(&host);
        let counts = Mutex::default();
        let journal =
            Journal { path: path.to_owned(), file: Mutex::new(file), run, planned: about.planned, counts };
        let shown = |path: &Path| crate::tree::shown(path);
        let mut line = json!({
            LOG: "begin",
            "run": journal.run,
            "time": now(),
            "tool": nc3z_format::SOFTWARE,
            "host": host,
            "process": std::process::id(),
            "directory": std::env::current_dir().ok().as_deref().map(shown),
            "arguments": about.arguments,
            "inputs": about.inputs.iter().map(|i| shown(i)).collect::<Vec<_>>(),
            "planned": about.planned,
        });
        let more = [
            ("job", job().map(Value::from)),
            ("list", about.list.map(|list| shown(list).into())),
            ("output", about.output.map(|o| shown(o).into())),
            ("shard", about.shard.map(|s| format!("{}/{}", s.index + 1, s.count).into())),
            ("plan", about.unit.map(|(plan, _)| plan.into())),
            ("unit", about.unit.map(|(_, unit)| unit.into())),
        ];
        for (key, value) in more {
            if let Some(value) = value {
                line[key] = value;
            }
        }
        journal.write(&line)?;
        Ok(journal)
    }

    /// Appends the result for a file, with a single write.
    pub fn add(&self, job: &Job, state: &str, more: Value) -> Result<()> {
        self.add_line(&job.input, Some(&job.output), state, more)
    }

    /// Appends the result for a file that gets no archive.
    pub fn add_file(&self, file: &Path, state: &str, more: Value) -> Result<()> {
        self.add_line(file, None, state, more)
    }

    /// Appends the last line of the run: the numbers of files by their states. The run is complete if each of its files has a final
    /// result, and was not interrupted.
    pub fn end(&self) -> Result<()> {
        let counts = self.counts.lock().expect("no panic while it is locked").clone();
        let open: u64 = [NOT_TRIED, INTERRUPTED].iter().filter_map(|state| counts.get(*state)).sum();
        let is_complete = open == 0 && counts.values().sum::<u64>() == self.planned;
        self.write(
            &json!({LOG: "end", "run": self.run, "time": now(), "counts": counts, "complete": is_complete}),
        )?;
        let file = self.file.lock().expect("no panic while it is locked");
        // The log proves the result also after a loss of power. A pipe cannot be synced.
        let is_file = file.metadata().is_ok_and(|m| m.is_file());
        let synced = if is_file { file.sync_data() } else { Ok(()) };
        synced.with_context(|| format!("sync the log `{}`", self.path.display()))
    }

    fn add_line(&self, file: &Path, archive: Option<&Path>, state: &str, more: Value) -> Result<()> {
        let mut line =
            json!({"file": crate::tree::shown(file), "state": state, "run": self.run, "time": now()});
        if needs_hex(file) {
            line["file_hex"] = hex(file.as_os_str().as_encoded_bytes()).into();
        }
        if let Some(archive) = archive {
            line["archive"] = crate::tree::shown(archive).into();
            if needs_hex(archive) {
                line["archive_hex"] = hex(archive.as_os_str().as_encoded_bytes()).into();
            }
        }
        if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
            line.extend(more);
        }
        self.write(&line)?;
        *self.counts.lock().expect("no panic while it is locked").entry(state.to_owned()).or_default() += 1;
        Ok(())
    }

    fn write(&self, line: &Value) -> Result<()> {
        let mut file = self.file.lock().expect("no panic while it is locked");
        file.write_all(format!("{line}\n").as_bytes())
            .with_context(|| format!("append to the log `{}`", self.path.display()))
    }
}

/// The state of a file that a stopped run did not begin.
pub const NOT_TRIED: &str = "not tried";

/// The state of a file whose work a signal ended.
pub const INTERRUPTED: &str = "interrupted";

fn now() -> String {
    date(SystemTime::now())
}

/// Returns a number that differs from that of any other run.
fn run_of(host: &str) -> String {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    hex(&Sha256::digest(format!("{host} {} {time}", std::process::id()))[..6])
}

/// Returns the name of this machine.
fn host() -> String {
    let system = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let named = system.or_else(|| std::env::var("HOSTNAME").or_else(|_| std::env::var("COMPUTERNAME")).ok());
    named.map_or_else(|| "unknown".to_owned(), |name| name.trim().to_owned())
}

/// Returns the job of a scheduler in which this process runs.
fn job() -> Option<String> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    JOBS.iter().find_map(|(job, task)| {
        let job = variable(job)?;
        Some(variable(task).map_or(job.clone(), |task| format!("{job}_{task}")))
    })
}

/// Returns false for a file whose last line is incomplete.
pub(in crate::tree) fn ends_with_line(file: &File) -> std::io::Result<bool> {
    let len = file.metadata()?.len();
    let mut last = [b'\n'];
    if len > 0 && file.metadata()?.is_file() {
        read_exact_at(file, &mut last, len - 1)?;
    }
    Ok(last == *b"\n")
}

/// Refuses to append to a file that cannot be a log, such as an archive or its original.
pub(in crate::tree) fn refuse_other_file(path: &Path) -> Result<()> {
    if !std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() > 0) {
        return Ok(());
    }
    let mut first = [0];
    let read = File::open(path).and_then(|file| read_exact_at(&file, &mut first, 0));
    read.with_context(|| format!("open the log `{}`", path.display()))?;
    if matches!(first, [b'{' | b'\n' | 0]) { Ok(()) } else { Err(Refusal::NoLog(path.to_owned()).into()) }
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
    /// The result of the file.
    pub result: Outcome,
}

/// The result for a file, as far as readers of logs distinguish them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The archive of the file exists.
    Done,
    /// It was skipped, and has no archive.
    Other,
    /// It was left out, because its data are on tape.
    Offline,
    /// The archive does not exist.
    Failed,
}

impl Logged {
    /// Returns whether its archive exists.
    pub fn is_done(&self) -> bool {
        self.result == Outcome::Done
    }
}

/// A run in a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// The number of files that it was to log; none without its first line.
    pub planned: Option<u64>,
    /// The number of files that it logged.
    pub logged: u64,
    /// The content of its last line, if it has one.
    pub complete: Option<bool>,
    /// Inputs, list and unit, which say what work it was.
    work: Vec<PathBuf>,
    shard: Option<(u64, u64)>,
}

/// The content of a log.
#[derive(Debug, Default)]
pub struct Log {
    /// The files, by the bytes of their names, with the last result for each.
    pub files: BTreeMap<Vec<u8>, Logged>,
    /// The runs, in the order of their first lines.
    pub runs: Vec<Run>,
}

/// A line of a log.
pub enum Line {
    /// The first of a run, with its number.
    Begin(String, Value),
    /// The last of a run, with its number.
    End(String, Value),
    /// A file: its name, its archive, its state, and the whole line.
    File(Vec<u8>, PathBuf, String, Value),
}

/// Calls `with` for each line of a log, and returns the number of lines that are not those of a log, such as the incomplete line of a
/// killed run. An error of `with` ends this.
pub fn each_line(path: &Path, with: &mut dyn FnMut(Line) -> Result<()>) -> Result<u64> {
    let reading = || format!("read the log `{}`", path.display());
    let mut file = BufReader::new(File::open(path).with_context(reading)?);
    let (mut line, mut strange) = (Vec::new(), 0);
    loop {
        line.clear();
        if file.read_until(b'\n', &mut line).with_context(reading)? == 0 {
            return Ok(strange);
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        match parse(path, &line)? {
            Some(line) => with(line)?,
            None => strange += 1,
        }
    }
}

fn parse(log: &Path, line: &[u8]) -> Result<Option<Line>> {
    let Ok(value) = serde_json::from_slice::<Value>(line) else { return Ok(None) };
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    match (value[LOG].as_str(), text("run")) {
        (Some("begin"), Some(run)) => return Ok(Some(Line::Begin(run, value))),
        (Some("end"), Some(run)) => return Ok(Some(Line::End(run, value))),
        _ => {}
    }
    let (Some(file), Some(state)) = (name(log, &value, "file")?, text("state")) else { return Ok(None) };
    let archive = path_of(&name(log, &value, "archive")?.unwrap_or_default());
    Ok(Some(Line::File(file, archive, state, value)))
}

/// Returns the bytes of a name in a line.
fn name(log: &Path, line: &Value, key: &str) -> Result<Option<Vec<u8>>> {
    match (line[format!("{key}_hex")].as_str(), line[key].as_str()) {
        (Some(digits), _) => {
            let wrong =
                || Error::from(Refusal::LoggedName { log: log.to_owned(), digits: digits.to_owned() });
            Ok(Some(unhex(digits).ok_or_else(wrong)?))
        }
        (None, text) => Ok(text.map(|text| text.as_bytes().to_vec())),
    }
}

/// Reads a log. An incomplete line (of a killed run) is skipped. A file without any valid line is not a log.
pub fn read(path: &Path) -> Result<Log> {
    let mut log = Log::default();
    let mut numbers = BTreeMap::new();
    let mut known = false;
    let strange = each_line(path, &mut |line| {
        known = true;
        log.note(&line, &mut numbers);
        if let Line::File(file, archive, state, _) = line {
            let result = match &*state {
                state if DONE.contains(&state) => Outcome::Done,
                PASSED_OVER => Outcome::Other,
                ON_TAPE => Outcome::Offline,
                _ => Outcome::Failed,
            };
            log.files.insert(file, Logged { archive, result });
        }
        Ok(())
    })?;
    if strange > 0 && !known {
        return Err(Refusal::NoLog(path.to_owned()).into());
    }
    Ok(log)
}

impl Log {
    /// Counts a line for its run. `numbers` are the positions of runs by their numbers.
    pub(crate) fn note(&mut self, line: &Line, numbers: &mut BTreeMap<String, usize>) {
        match line {
            Line::Begin(run, line) => {
                numbers.insert(run.clone(), self.runs.len());
                self.runs.push(Run::from_line(line));
            }
            Line::End(run, line) => {
                if let Some(&n) = numbers.get(run) {
                    self.runs[n].complete = line["complete"].as_bool();
                }
            }
            Line::File(_, _, _, line) => match line["run"].as_str().and_then(|run| numbers.get(run)) {
                Some(&n) => self.runs[n].logged += 1,
                // The log of a version that wrote no first lines.
                None if self.runs.is_empty() => self.runs.push(Run::default()),
                None => {}
            },
        }
    }
}

impl Run {
    fn from_line(line: &Value) -> Self {
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        let directory = PathBuf::from(text("directory"));
        let named = |value: &Value| value.as_str().map(|name| directory.join(name));
        let mut work: Vec<PathBuf> =
            line["inputs"].as_array().into_iter().flatten().filter_map(named).collect();
        work.extend(named(&line["list"]).into_iter().chain([PathBuf::from(text("unit"))]));
        let shard = text("shard");
        let shard = shard.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        Run { planned: line["planned"].as_u64(), logged: 0, complete: None, work, shard }
    }

    /// Returns why the run proves nothing about files that it does not name.
    fn gap(&self) -> Option<String> {
        match (self.planned, self.complete) {
            (None, _) => Some(
                "has no first line: it was written by an older version, or its beginning is lost".to_owned(),
            ),
            (_, None) => Some("has no last line: the run was killed, or it is not at its end".to_owned()),
            (_, Some(false)) => Some("ends before all files were tried: the run was stopped".to_owned()),
            (Some(planned), Some(true)) if planned != self.logged => {
                Some(format!("lacks lines: {planned} files were planned, and {} have one", self.logged))
            }
            _ => None,
        }
    }
}

/// Returns the reasons why logs do not account for all files: a run that was killed and not repeated, and shards of which there is no
/// log. `logs` are read in this order; of several runs with the same work the last one counts.
pub fn gaps(logs: &[(PathBuf, Log)]) -> Vec<(PathBuf, String)> {
    let mut last: BTreeMap<_, (&PathBuf, &Run)> = BTreeMap::new();
    let mut gaps = Vec::new();
    for (path, log) in logs {
        if log.runs.is_empty() {
            gaps.push((path.clone(), "is empty".to_owned()));
        }
        for run in &log.runs {
            let key = (&run.work, run.shard);
            // The logs of older versions do not name their run.
            if run.planned.is_none() {
                gaps.extend(run.gap().map(|gap| (path.clone(), gap)));
                continue;
            }
            let is_better =
                last.get(&key).is_none_or(|(other, known)| *other == path || known.gap().is_some());
            if is_better {
                last.insert(key, (path, run));
            }
        }
    }
    gaps.extend(last.values().filter_map(|(path, run)| Some(((*path).clone(), run.gap()?))));
    let mut shards: BTreeMap<_, (&PathBuf, HashSet<u64>)> = BTreeMap::new();
    for (path, run) in last.values() {
        if let Some((index, count)) = run.shard {
            shards.entry((&run.work, count)).or_insert((path, HashSet::new())).1.insert(index);
        }
    }
    for ((_, count), (path, found)) in shards {
        let missing: Vec<String> =
            (1..=count).filter(|n| !found.contains(n)).take(20).map(|n| format!("{n}/{count}")).collect();
        if !missing.is_empty() {
            gaps.push((
                path.clone(),
                format!(
                    "is of one of {count} parts, and the log of the part {} is missing",
                    missing.join(", ")
                ),
            ));
        }
    }
    gaps
}

/// Returns the files that a log lists as done, by the bytes of their names.
pub fn done_in(path: &Path) -> Result<HashSet<Vec<u8>>> {
    let files = read(path)?.files.into_iter();
    Ok(files.filter(|(_, logged)| logged.is_done()).map(|(file, _)| file).collect())
}

/// Returns the bytes of hexadecimal digits, either case.
pub(crate) fn unhex(hex: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    let digit = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
    let bytes = pairs.iter().map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?));
    bytes.collect::<Option<_>>().filter(|_| rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_without_an_end_and_shards_without_a_log_are_gaps() {
        let dir = tempfile::tempdir().unwrap();
        let log = |n: u64, is_ended: bool| {
            let path = dir.path().join(format!("log{n}"));
            let inputs = [PathBuf::from("in")];
            let shard = Some(Shard { index: n - 1, count: 3 });
            let about = About { inputs: &inputs, shard, planned: 1, ..About::default() };
            let journal = Journal::open(&path, &about).unwrap();
            journal.add_file(Path::new("in/a.nc"), "archived", json!({})).unwrap();
            if is_ended {
                journal.end().unwrap();
            }
            (path.clone(), read(&path).unwrap())
        };
        assert_eq!(gaps(&[log(1, true), log(2, true), log(3, true)]), []);
        let words = |logs: &[(PathBuf, Log)]| {
            gaps(logs).into_iter().map(|(_, why)| why).collect::<Vec<_>>().join("; ")
        };
        assert!(words(&[log(1, true), log(3, true)]).ends_with("the log of the part 2/3 is missing"));
        let killed = log(2, false);
        assert!(words(&[log(1, true), killed, log(3, true)]).starts_with("has no last line"));
        // The run was repeated, with the same log.
        assert_eq!(gaps(&[log(1, true), log(2, true), log(3, true)]), []);
        let path = dir.path().join("log3");
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| !line.contains("archived\",")).collect();
        std::fs::write(&path, lines.join("\n")).unwrap();
        assert!(
            words(&[log(1, true), log(2, true), (path.clone(), read(&path).unwrap())])
                .contains("lacks lines")
        );
    }

    #[test]
    fn logs_come_back_with_any_name_and_after_a_torn_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let names: [&[u8]; 4] = [b"a b.nc", b"\xff\n", b"\x1b[31m", "ä".as_bytes()];
        let job = |name: &[u8]| Job {
            input: path_of(name),
            output: crate::tree::walk::archive_name(&path_of(name)),
            name: PathBuf::new(),
        };
        let journal = Journal::open(&path, &About { planned: 5, ..About::default() }).unwrap();
        names.iter().for_each(|n| journal.add(&job(n), "archived", json!({"x": 1})).unwrap());
        journal.add(&job(b"bad"), "failed", json!({})).unwrap();
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"file\": \"to").unwrap();
        Journal::open(&path, &About::default()).unwrap().add(&job(names[0]), "failed", json!({})).unwrap();
        let expected: HashSet<Vec<u8>> = names[1..].iter().map(|n| n.to_vec()).collect();
        assert_eq!(done_in(&path).unwrap(), expected);
        let logged = read(&path).unwrap();
        assert_eq!((logged.files.len(), logged.files[&b"bad"[..]].is_done()), (5, false));
        assert_eq!(
            logged.files[names[1]].archive.as_os_str().as_encoded_bytes(),
            [names[1], b".nc3z"].concat()
        );
        std::fs::write(&path, "what is this?\n").unwrap();
        assert!(done_in(&path).is_err());
    }
}
