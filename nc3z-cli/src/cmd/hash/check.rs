//! `nc3z hash --check`: checks lists of digests, with the behaviour of `sha256sum -c`.

use super::{compute, exit_of, sha256_of_file};
use crate::args::HashArgs;
use crate::cmd::{Input, in_order, open_input};
use crate::exit::Exit;
use crate::output::progress::{Progress, interrupted, while_blocked};
use crate::output::streams::Stdout;
use crate::output::{chain, report_error, text};
use anyhow::{Context, Result, bail};
use nc3z_format::classic::{Header, sniff};
use nc3z_reader::{Digests, Wanted};
use nc3z_tree::hash_list::{Line, Subject, other_name, parse};
use serde_json::json;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// All lines for one file, in the list's order.
struct Job {
    file: PathBuf,
    lines: Vec<Line>,
}

/// The result for one file's lines.
enum Checked {
    /// For each line, whether the digest matches.
    Compared { lines: Vec<bool>, instead: Option<PathBuf> },
    /// The file does not exist, and that is allowed.
    Missing,
}

#[derive(Default)]
struct Counts {
    right: u64,
    wrong: u64,
    unreadable: u64,
    ignored: u64,
    malformed: u64,
}

/// Checks all lists.
pub(super) fn run(args: &HashArgs) -> Result<Exit> {
    let mut counts = Counts::default();
    let mut jobs = Vec::new();
    for list in &args.files {
        read_list(list, args, &mut counts, &mut jobs)?;
    }
    let progress = Progress::new(0, "hash".to_owned());
    let mut out = Stdout::verdicts();
    let (mut worst, mut rows) = (Exit::Done, Vec::new());
    in_order(
        &jobs,
        args.threads,
        |job| check(job, args, &progress),
        |job, checked| {
            let name = crate::cmd::shown(&job.file);
            match checked {
                Ok(Checked::Missing) => counts.ignored += 1,
                Ok(Checked::Compared { lines, instead }) => {
                    for (line, right) in job.lines.iter().zip(lines) {
                        *(if right { &mut counts.right } else { &mut counts.wrong }) += 1;
                        let what = line.subject.words();
                        let verdict = if right { "OK" } else { "FAILED" };
                        let instead = instead.as_ref().map(|p| crate::cmd::shown(p));
                        rows.push(json!({
                        "file": name, "digest": what.trim_start(), "ok": right, "checked_instead": instead,
                    }));
                        if !(args.json || args.status || (args.quiet && right)) {
                            let instead = instead.map_or_else(String::new, |p| format!(" (of {p})"));
                            writeln!(out, "{name}{what}: {verdict}{instead}")?;
                        }
                    }
                }
                Err(e) => {
                    worst = worst.max(exit_of(&job.file, &e));
                    counts.unreadable += 1;
                    rows.push(json!({"file": name, "ok": false, "error": text::safe(&chain(&e))}));
                    if !args.status {
                        report_error(Some(&job.file), &e);
                    }
                    if !(args.json || args.status) {
                        writeln!(out, "{name}: FAILED open or read")?;
                    }
                }
            }
            Ok(())
        },
    )?;
    drop(progress);
    if args.json && !args.status {
        let report = json!({
            "ok": counts.right, "failed": counts.wrong, "unreadable": counts.unreadable, "missing": counts.ignored,
            "malformed": counts.malformed, "results": rows,
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    }
    out.flush()?;
    Ok(worst.max(verdict(&counts, args)))
}

/// Prints the warnings at the end, and returns the exit code.
fn verdict(counts: &Counts, args: &HashArgs) -> Exit {
    let warn = |n: u64, one: &str, many: &str| {
        if n > 0 && !args.status {
            note!("nc3z: warning: {n} {}", if n == 1 { one } else { many });
        }
    };
    warn(counts.malformed, "line is no digest", "lines are no digests");
    warn(counts.unreadable, "listed file could not be checked", "listed files could not be checked");
    warn(counts.wrong, "computed digest did NOT match", "computed digests did NOT match");
    let nothing = counts.right + counts.wrong + counts.unreadable == 0;
    if nothing && !args.status {
        note!("nc3z: warning: no digest was checked");
    }
    let malformed = args.strict && counts.malformed > 0;
    let failed = counts.wrong + counts.unreadable > 0 || nothing || malformed;
    if failed { Exit::Failed } else { Exit::Done }
}

fn read_list(list: &Path, args: &HashArgs, counts: &mut Counts, jobs: &mut Vec<Job>) -> Result<()> {
    let mut bytes = Vec::new();
    if list.as_os_str() == "-" {
        while_blocked(|| std::io::stdin().lock().read_to_end(&mut bytes)).context("read standard input")?;
    } else {
        // The list may be a pipe.
        bytes =
            while_blocked(|| std::fs::read(list)).with_context(|| format!("read `{}`", list.display()))?;
    }
    if let Some(what) = what_is_no_list(&bytes) {
        let name = crate::cmd::shown(list);
        bail!(
            "`{name}` is {what}, not a list of digests; `nc3z hash {name}` computes its digests, and --check takes a list of them"
        );
    }
    let mut by_file: HashMap<PathBuf, usize> = HashMap::new();
    for (number, line) in (1..).zip(bytes.split(|&b| b == b'\n')) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let Some(line) = parse(line) else {
            counts.malformed += 1;
            if args.strict && !args.status {
                note!("nc3z: warning: {}: line {number} is no digest", crate::cmd::shown(list));
            }
            continue;
        };
        let at = *by_file.entry(line.file.clone()).or_insert_with(|| {
            jobs.push(Job { file: line.file.clone(), lines: Vec::new() });
            jobs.len() - 1
        });
        jobs[at].lines.push(line);
    }
    Ok(())
}

/// Returns the kind of a file that cannot be a list of digests: its first bytes are of another format, or it
/// has zero bytes.
fn what_is_no_list(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"CDF") {
        return Some("a classic netCDF file");
    }
    let head = &bytes[..bytes.len().min(4096)];
    let is_text = std::str::from_utf8(head).is_ok() || !head.contains(&0);
    match sniff(head) {
        Some(foreign) if !is_text => Some(foreign.name),
        _ => None,
    }
}

fn check(job: &Job, args: &HashArgs, progress: &Progress) -> Result<Checked> {
    if interrupted() {
        return Err(nc3z_reader::Error::interrupted().into());
    }
    let mut file = &job.file;
    let other = other_name(file);
    // A dangling link is a missing file; a file without permission is not.
    let gone = |f: &Path| std::fs::metadata(f).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound);
    let mut instead = None;
    if gone(file) {
        if args.either && !gone(&other) {
            file = &other;
            instead = Some(other.clone());
        } else if args.ignore_missing {
            return Ok(Checked::Missing);
        }
    }
    let has = |subject: &dyn Fn(&Subject) -> bool| job.lines.iter().any(|l| subject(&l.subject));
    // Under another name it is the classic file for which the digest was made.
    let as_it_stands = has(&|s| *s == Subject::File) && instead.is_none();
    let wanted = Wanted {
        tree: false,
        content: has(&|s| matches!(s, Subject::Content | Subject::Variable(_))),
        sha256: has(&|s| *s == Subject::Original || (*s == Subject::File && instead.is_some())),
    };
    let mut digests = None;
    let mut names: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
    if wanted.content || wanted.sha256 {
        let input = open_input(file, &args.open)?;
        let header: &Header = match &input {
            Input::Archive(a) => a.header(),
            Input::Classic(c) => c.header(),
        };
        for (i, v) in header.variables.iter().enumerate() {
            names.entry(v.name.clone()).or_default().push(i);
        }
        digests = Some(compute(&input, wanted, progress)?);
    }
    let of_file = if as_it_stands { Some(sha256_of_file(file, progress)?) } else { None };
    let mut seen: HashMap<&[u8], usize> = HashMap::new();
    let lines = job.lines.iter().map(|line| {
        let digests: Option<&Digests> = digests.as_ref();
        let found = match &line.subject {
            Subject::File if as_it_stands => of_file,
            Subject::File | Subject::Original => digests.and_then(|d| d.sha256),
            Subject::Content => digests.and_then(|d| d.content),
            Subject::Variable(name) => {
                // The first line with a name belongs to the first variable with that name.
                let nth = seen.entry(name).or_insert(0);
                let index = names.get(name).and_then(|v| v.get(*nth));
                *nth += 1;
                index.and_then(|&i| digests.and_then(|d| d.variables.get(i).copied()))
            }
        };
        found == Some(line.digest)
    });
    Ok(Checked::Compared { lines: lines.collect(), instead })
}
