//! `nc3z hash --check`: checks lists of digests, with the behaviour of `sha256sum -c`.

use super::{exit_of, sha256_of_file};
use crate::args::HashArgs;
use crate::cmd::{in_order, open_input};
use crate::exit::Exit;
use crate::output::failure::Failure;
use crate::output::progress::Progress;
use crate::output::report_error;
use crate::output::signals::{interrupted, while_blocked};
use crate::output::streams::Stdout;
use anyhow::{Context, Result, bail};
use nc3z_collections::tree::hash::{CheckPolicy, Checked, Listed, check, read_list};
use nc3z_reader::{Dataset, DigestRequest, Digests};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::Path;

/// The numbers of digests by their verdict, and of files and lines without one.
#[derive(Default, Serialize)]
struct Counts {
    failed: u64,
    malformed: u64,
    missing: u64,
    ok: u64,
    unreadable: u64,
}

/// The report for programs.
#[derive(Serialize)]
struct Report<'c> {
    #[serde(flatten)]
    counts: &'c Counts,
    results: Vec<Value>,
}

pub(super) fn run(args: &HashArgs) -> Result<Exit> {
    let mut counts = Counts::default();
    let mut jobs = Vec::new();
    for list in &args.files {
        jobs.extend(read(list, args, &mut counts)?);
    }
    let progress = Progress::new(0, "hash".to_owned());
    let mut out = Stdout::verdicts();
    let (mut worst, mut rows) = (Exit::Done, Vec::new());
    in_order(
        &jobs,
        *args.threads,
        |job| check_one(job, args, &progress),
        |job, checked| {
            let name = crate::cmd::shown(&job.file);
            match checked {
                Ok(Checked::Missing) => counts.missing += 1,
                Ok(Checked::Compared { lines, instead }) => {
                    for (line, right) in job.lines.iter().zip(lines) {
                        *(if right { &mut counts.ok } else { &mut counts.failed }) += 1;
                        let what = line.subject.words();
                        let verdict = if right { "OK" } else { "FAILED" };
                        let instead = instead.as_ref().map(|p| crate::cmd::shown(p));
                        rows.push(json!({
                        "file": name, "digest": what.trim_start(), "ok": right, "checked_instead": instead,
                    }));
                        if !(*args.json || args.status || (args.quiet && right)) {
                            let instead = instead.map_or_else(String::new, |p| format!(" (of {p})"));
                            writeln!(out, "{name}{what}: {verdict}{instead}")?;
                        }
                    }
                }
                Err(e) => {
                    worst = worst.max(exit_of(&job.file, &e));
                    counts.unreadable += 1;
                    let failure = Failure::new(&e, Some(&job.file));
                    rows.push(json!({"file": name, "ok": false, "error": failure}));
                    if !args.status {
                        report_error(Some(&job.file), &e);
                    }
                    if !(*args.json || args.status) {
                        writeln!(out, "{name}: FAILED open or read")?;
                    }
                }
            }
            Ok(())
        },
    )?;
    drop(progress);
    if *args.json && !args.status {
        // With its keys in the order of the alphabet, as in all reports.
        let report = json!(Report { counts: &counts, results: rows });
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
    warn(counts.malformed, "line is not a digest", "lines are not digests");
    warn(counts.unreadable, "listed file could not be checked", "listed files could not be checked");
    warn(counts.failed, "computed digest did NOT match", "computed digests did NOT match");
    let nothing = counts.ok + counts.failed + counts.unreadable == 0;
    if nothing && !args.status {
        note!("nc3z: warning: no digest was checked");
    }
    let malformed = args.strict && counts.malformed > 0;
    let failed = counts.failed + counts.unreadable > 0 || nothing || malformed;
    if failed { Exit::Failed } else { Exit::Done }
}

fn read(list: &Path, args: &HashArgs, counts: &mut Counts) -> Result<Vec<Listed>> {
    let mut bytes = Vec::new();
    if list.as_os_str() == "-" {
        while_blocked(|| std::io::stdin().lock().read_to_end(&mut bytes)).context("read standard input")?;
    } else {
        // The list may be a pipe.
        bytes =
            while_blocked(|| std::fs::read(list)).with_context(|| format!("read `{}`", list.display()))?;
    }
    let name = crate::cmd::shown(list);
    let (files, malformed) = match read_list(&bytes) {
        Ok(read) => read,
        Err(e) => bail!(
            "`{name}` is {e}; `nc3z hash {name}` computes its digests, and --check takes a list of them"
        ),
    };
    counts.malformed += malformed.len() as u64;
    for line in malformed.iter().filter(|_| args.strict && !args.status) {
        note!("nc3z: warning: {name}: line {line} is not a digest");
    }
    Ok(files)
}

fn check_one(listed: &Listed, args: &HashArgs, progress: &Progress) -> Result<Checked> {
    if interrupted() {
        return Err(nc3z_reader::Error::interrupted().into());
    }
    let digests = |file: &Path, wanted: DigestRequest| -> Result<(Dataset, Digests)> {
        let dataset = open_input(file, &args.open)?;
        progress.extend(dataset.original_len());
        let digests = dataset.digests(wanted, progress)?;
        Ok((dataset, digests))
    };
    let policy = CheckPolicy { either: args.either, ignore_missing: args.ignore_missing };
    check(listed, policy, &digests, &|file| sha256_of_file(file, progress))
}
