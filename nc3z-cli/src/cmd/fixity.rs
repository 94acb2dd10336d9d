//! `nc3z verify --manifest`: compares the files of a tree with its manifest, and adds a line to the fixity
//! log.

use super::in_order;
use super::offline::without_recalls;
use crate::args::{OfflineArg, VerifyArgs};
use crate::exit::{Exit, of_error};
use crate::output::progress::Progress;
use crate::output::streams::Stdout;
use crate::output::{chain, text};
use anyhow::{Context, Result};
use nc3z_collections::tree::manifest::compare::{Difference, Listing};
use nc3z_collections::tree::manifest::fixity;
use std::io::Write;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &VerifyArgs, manifest: &Path) -> Result<Exit> {
    let root = match &args.archives[..] {
        [] => None,
        [dir] if dir.is_dir() => Some(dir.clone()),
        _ => refuse!("--manifest takes one directory, or none for the manifest's own"),
    };
    super::outputs::check(args.fixity_log.as_deref(), true)?;
    let listing = Listing::open(manifest, root)?;
    if args.tape.on_tape == OfflineArg::Skip {
        refuse!("--manifest checks all listed files: --on-tape skip is not for it");
    }
    if args.tape.on_tape == OfflineArg::Refuse {
        let files: Vec<PathBuf> =
            listing.entries.iter().map(|entry| listing.root.join(&entry.path)).collect();
        without_recalls(files, PathBuf::as_path, &args.tape)?;
    }
    let open = crate::registry::open_options();
    let progress = Progress::new(0, "verify".to_owned());
    // The name of each file, the difference in words, and the exit code that it causes.
    let (mut failures, mut exits, mut bytes) = (Vec::new(), Vec::new(), 0);
    let mut fail = |path: &Path, difference: Difference| {
        let (words, exit) = told(difference);
        failures.push((crate::cmd::shown(path), words));
        exits.push(exit);
    };
    in_order(
        &listing.entries,
        *args.threads,
        |entry| {
            progress.extend(listing.root.join(&entry.path).metadata().map_or(0, |m| m.len()));
            listing.check(entry, &open, &progress)
        },
        |entry, checked| {
            match checked {
                Ok(len) => bytes += len,
                Err(difference) => fail(&entry.path, difference),
            }
            Ok(())
        },
    )?;
    drop(progress);
    let rest = listing.check_rest(&open, &Progress::new(0, "verify".to_owned()))?;
    let unlisted = rest.iter().filter(|(_, difference)| matches!(difference, Difference::Unlisted)).count();
    rest.into_iter().for_each(|(path, difference)| fail(&path, difference));
    let stopped = exits.contains(&Exit::Interrupted);
    let report = listing.report(bytes, &failures, unlisted, stopped);
    let mut out = Stdout::verdicts();
    if *args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        for ((name, what), _) in failures.iter().zip(&exits).filter(|(_, exit)| **exit != Exit::Interrupted) {
            writeln!(out, "{name}: {what}")?;
        }
        if !failures.is_empty() || crate::output::tells() {
            writeln!(out, "{}", summary(&listing, bytes, failures.len(), unlisted))?;
        }
    }
    out.flush()?;
    if stopped {
        return Ok(Exit::Interrupted);
    }
    if !args.no_fixity_log {
        let log = args.fixity_log.clone().unwrap_or_else(|| fixity::log_path(&listing.manifest));
        fixity::append(&log, &report).context("the files were checked, but the log was not written")?;
    }
    Ok(exits.into_iter().max().unwrap_or(Exit::Done))
}

/// Returns a difference in words, and the exit code that it causes.
fn told(difference: Difference) -> (String, Exit) {
    let exit = match difference {
        Difference::Interrupted => Exit::Interrupted,
        Difference::Changed { .. } | Difference::Sound { why: None, .. } => Exit::Corrupt,
        Difference::Unreadable(e) => {
            let e = anyhow::Error::from(e);
            return (text::safe(&chain(&e)), of_error(&e));
        }
        _ => Exit::Failed,
    };
    (difference.to_string(), exit)
}

fn summary(listing: &Listing, bytes: u64, failed: usize, unlisted: usize) -> String {
    let files = listing.entries.len();
    let verdict = if failed == 0 { "all as listed".to_owned() } else { format!("{failed} not as listed") };
    let rest = if unlisted > 0 && !listing.is_bag {
        format!("; {unlisted} archive{} not listed", if unlisted == 1 { "" } else { "s" })
    } else {
        String::new()
    };
    let name = crate::cmd::shown(&listing.manifest);
    format!("{name}: {files} files, {}, {verdict}{rest}", text::size(bytes))
}
