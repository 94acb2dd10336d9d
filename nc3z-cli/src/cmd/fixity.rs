//! `nc3z verify --manifest`: compares the files of a tree with its manifest, and adds a line to the fixity
//! log.

use super::hash::sha256_of_file;
use super::many;
use crate::args::VerifyArgs;
use crate::exit::{Exit, of_error};
use crate::output::progress::{Progress, interrupted};
use crate::output::streams::Stdout;
use crate::output::{chain, text};
use anyhow::{Context, Result, bail};
use nc3z_tree::manifest::changed::{Change, explain};
use nc3z_tree::manifest::{Entry, bag, fixity, inside, read, sums, unlisted};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The maximal number of failures in the log. The count includes all.
const LOGGED: usize = 1000;

/// The files and the manifest to compare.
struct Plan {
    manifest: PathBuf,
    root: PathBuf,
    is_bag: bool,
    entries: Vec<Entry>,
    manifest_sha256: String,
}

/// A difference from the manifest.
struct Failure {
    name: String,
    what: String,
    exit: Exit,
}

/// Compares, reports, logs.
pub(crate) fn run(args: &VerifyArgs, manifest: &Path) -> Result<Exit> {
    let plan = plan(args, manifest)?;
    let progress = Progress::new(0, "verify".to_owned());
    let mut failures = Vec::new();
    let mut bytes = 0;
    many::in_order(
        &plan.entries,
        args.threads,
        |entry| check(&plan.root, entry, &progress),
        |entry, checked| {
            match checked {
                Ok(len) => bytes += len,
                Err((what, exit)) => failures.push(Failure { name: name(&entry.path), what, exit }),
            }
            Ok(())
        },
    )?;
    drop(progress);
    let unlisted = check_rest(&plan, &mut failures)?;
    let stopped = failures.iter().any(|f| f.exit == Exit::Interrupted);
    let report = report(&plan, bytes, &failures, unlisted, stopped);
    let mut out = Stdout::verdicts();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        for f in failures.iter().filter(|f| f.exit != Exit::Interrupted) {
            writeln!(out, "{}: {}", f.name, f.what)?;
        }
        writeln!(out, "{}", summary(&plan, bytes, failures.len(), unlisted))?;
    }
    out.flush()?;
    if stopped {
        return Ok(Exit::Interrupted);
    }
    if !args.no_fixity_log {
        let log = args.fixity_log.clone().unwrap_or_else(|| fixity::log_path(&plan.manifest));
        fixity::append(&log, &report).context("the files were checked, but the log was not written")?;
    }
    Ok(failures.iter().map(|f| f.exit).max().unwrap_or(Exit::Done))
}

fn name(path: &Path) -> String {
    crate::cmd::shown(path)
}

/// Returns a manifest or a bag, and its directory: the parent of the manifest, unless the user names another.
fn plan(args: &VerifyArgs, path: &Path) -> Result<Plan> {
    let dir = match &args.archives[..] {
        [] => None,
        [dir] if dir.is_dir() => Some(dir.clone()),
        _ => bail!("--manifest takes one directory, or none for the manifest's own"),
    };
    let manifest = match path {
        p if p.join(bag::DECLARATION).is_file() => p.join(bag::MANIFEST),
        p if p.is_dir() => p.join(sums::NAME),
        p => p.to_owned(),
    };
    let own = manifest.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
    let is_bag =
        own.join(bag::DECLARATION).is_file() && manifest.file_name().is_some_and(|n| n == bag::MANIFEST);
    let bytes = read(&manifest)?;
    let entries = if is_bag { bag::decode(&bytes, &manifest)? } else { sums::decode(&bytes, &manifest)? };
    let manifest_sha256 = {
        use sha2::Digest as _;
        text::hex(&sha2::Sha256::digest(&bytes))
    };
    Ok(Plan { root: dir.unwrap_or(own), manifest, is_bag, entries, manifest_sha256 })
}

/// Checks a file against its entry. Returns its length, or the difference.
fn check(root: &Path, entry: &Entry, progress: &Progress) -> Result<u64, (String, Exit)> {
    if interrupted() {
        return Err(("interrupted".to_owned(), Exit::Interrupted));
    }
    let path = inside(root, &entry.path).map_err(|what| (what, Exit::Failed))?;
    let len = path.metadata().map_or(0, |m| m.len());
    match sha256_of_file(&path, progress) {
        Ok(found) if found == entry.sha256 => Ok(len),
        Ok(found) => {
            let explained = explain(&path, &entry.sha256, &crate::registry::open_options(), progress);
            let (found, listed) = (text::hex(&found), text::hex(&entry.sha256));
            let digests = format!("SHA-256 is {found}, listed is {listed}");
            let (words, exit) = match explained {
                Ok(Change::Explained(why)) => (format!("changed but sound: {why}; {digests}"), Exit::Failed),
                Ok(Change::Another) => {
                    (format!("changed: a sound archive, but not the listed one; {digests}"), Exit::Corrupt)
                }
                Err(e) if e.is_interrupted() || interrupted() => {
                    ("interrupted".to_owned(), Exit::Interrupted)
                }
                Ok(Change::Damaged) | Err(_) => (format!("changed: {digests}"), Exit::Corrupt),
            };
            Err((words, exit))
        }
        Err(e) => Err((text::safe(&chain(&e)), of_error(&e))),
    }
}

/// Checks for files that are not listed, and for other requirements of a bag. Returns the number of unlisted
/// files. They count as failures: a list that lacks archives does not describe the tree.
fn check_rest(plan: &Plan, failures: &mut Vec<Failure>) -> Result<usize> {
    if interrupted() {
        return Ok(0);
    }
    let mut fail =
        |name: String, what: &str| failures.push(Failure { name, what: what.to_owned(), exit: Exit::Failed });
    let listed: HashSet<&Path> = plan.entries.iter().map(|e| e.path.as_path()).collect();
    if !plan.is_bag {
        let extra = unlisted(&plan.root, &listed)?;
        for path in &extra {
            fail(name(path), "is not listed");
        }
        return Ok(extra.len());
    }
    let payload = bag::payload(&plan.root)?;
    let bytes = payload.iter().map(|p| plan.root.join(p).metadata().map_or(0, |m| m.len())).sum();
    let extra: Vec<_> = payload.iter().filter(|p| !listed.contains(p.as_path())).collect();
    for path in &extra {
        fail(name(path), "is not listed");
    }
    for wrong in bag::check_tags(&plan.root, (bytes, payload.len() as u64))? {
        fail(name(&plan.root), &wrong);
    }
    let tags = plan.root.join(bag::TAG_MANIFEST);
    if tags.exists() {
        let silent = Progress::new(0, String::new());
        for entry in bag::decode(&read(&tags)?, &tags)? {
            if let Err((what, exit)) = check(&plan.root, &entry, &silent) {
                failures.push(Failure { name: name(&entry.path), what, exit });
            }
        }
    }
    Ok(extra.len())
}

fn report(plan: &Plan, bytes: u64, failures: &[Failure], unlisted: usize, stopped: bool) -> Value {
    let rows = failures.iter().take(LOGGED).map(|f| json!({"file": f.name, "what": f.what}));
    let result = match failures {
        _ if stopped => "interrupted",
        [] => "ok",
        _ => "failed",
    };
    json!({
        "date": fixity::date(SystemTime::now()),
        "tool": concat!("nc3z ", env!("CARGO_PKG_VERSION")),
        "kind": if plan.is_bag { "bagit" } else { "sha256sums" },
        "manifest": plan.manifest.file_name().map(|n| crate::cmd::shown(n.as_ref())),
        "manifest_sha256": plan.manifest_sha256,
        "files": plan.entries.len(),
        "bytes": bytes,
        "failed": failures.len(),
        "unlisted": unlisted,
        "result": result,
        "failures": rows.collect::<Vec<_>>(),
    })
}

fn summary(plan: &Plan, bytes: u64, failed: usize, unlisted: usize) -> String {
    let files = plan.entries.len();
    let verdict = if failed == 0 { "all as listed".to_owned() } else { format!("{failed} not as listed") };
    let rest = if unlisted > 0 && !plan.is_bag {
        format!("; {unlisted} archive{} not listed", if unlisted == 1 { "" } else { "s" })
    } else {
        String::new()
    };
    format!("{}: {files} files, {}, {verdict}{rest}", name(&plan.manifest), text::size(bytes))
}
