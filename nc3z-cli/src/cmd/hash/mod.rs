//! `nc3z hash`: digests of archives and classic files, `--check` of lists of digests, and manifests.

mod check;
mod root;

use super::failures::Failures;
use super::named;
use super::offline::without_recalls;
use super::{in_order, open_input, targets, url};
use crate::args::{HashArgs, OnlyArg};
use crate::exit::{Exit, of_error};
use crate::output::failure::Failure;
use crate::output::progress::Progress;
use crate::output::report_error;
use crate::output::signals::interrupted;
use crate::output::streams::{self, Stdout};
use anyhow::{Context, Result, bail};
use nc3z_collections::tree::hash::FileDigests;
use nc3z_reader::{Digest, DigestRequest};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Prints digests, or checks them.
pub(crate) fn run(args: &HashArgs) -> Result<Exit> {
    if args.manifest {
        return super::manifest::run(args);
    }
    if args.check {
        return check::run(args);
    }
    if args.root || args.tree.is_some() {
        return root::run(args);
    }
    crate::cmd::url::check_credentials(&args.files, &args.open.remote)?;
    let found = targets::list(&args.files, args.recursive, &targets::is_netcdf)?;
    let mut worst = Failures::new(&found.failures).worst();
    let progress = Progress::new(0, "hash".to_owned());
    let mut out = Stdout::results();
    let mut rows = Vec::new();
    let work = |path: &PathBuf| hash(path, args, &progress);
    let files = without_recalls(found.files, PathBuf::as_path, &args.tape)?;
    let files = if args.all_versions { with_versions(files, args) } else { files };
    let done = in_order(&files, *args.threads, work, |path, hashed| {
        match hashed {
            Ok(hashed) if *args.json => rows.push(hashed.to_json(&safe(path))),
            Ok(hashed) => print(&hashed, path, &mut out)?,
            Err(e) => {
                worst = worst.max(exit_of(path, &e));
                report_error(Some(path), &e);
                rows.push(json!({"file": safe(path), "error": Failure::new(&e, Some(path))}));
            }
        }
        Ok(())
    });
    drop(progress);
    let print = || -> Result<()> {
        done?;
        if *args.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
        }
        Ok(out.flush()?)
    };
    // If standard output is closed, no more digests are computed. Earlier failures still decide the exit
    // code.
    print().or_else(|e| if streams::is_reader_gone(&e) { Ok(()) } else { Err(e) })?;
    Ok(worst)
}

fn safe(path: &Path) -> String {
    crate::cmd::shown(path)
}

/// Returns the name in a list of digests: a URL without its secrets, since lists are stored and passed on.
fn name(path: &Path) -> PathBuf {
    match url::of(path) {
        Some(_) => url::shown(path).into_owned().into(),
        None => path.to_owned(),
    }
}

/// Replaces each archive by its versions, oldest first. A file that cannot be opened is reported when it is
/// hashed.
fn with_versions(files: Vec<PathBuf>, args: &HashArgs) -> Vec<PathBuf> {
    let versions = |path: &Path| -> Option<Vec<PathBuf>> {
        if named::of(path).ok()?.requested().is_some() {
            return None;
        }
        let all = open_input(path, &args.open).ok()?.archive()?.versions(u64::MAX).ok()?;
        let name = |number: u64| {
            let mut name = path.as_os_str().to_owned();
            name.push(format!("@{number}"));
            PathBuf::from(name)
        };
        Some(all.iter().rev().map(|version| name(version.record.number)).collect())
    };
    files.into_iter().flat_map(|path| versions(&path).unwrap_or_else(|| vec![path])).collect()
}

fn hash(path: &Path, args: &HashArgs, progress: &Progress) -> Result<FileDigests> {
    if interrupted() {
        return Err(nc3z_reader::Error::interrupted().into());
    }
    let dataset = open_input(path, &args.open)?;
    if args.recorded {
        return FileDigests::recorded(&dataset)
            .context("a classic netCDF file has no digest on record; without --recorded it is computed");
    }
    let wanted = DigestRequest {
        content: args.only != Some(OnlyArg::Sha256),
        sha256: args.only != Some(OnlyArg::Content),
        tree: false,
    };
    let on_record = || FileDigests::on_record(&dataset, wanted, args.variables);
    if let Some(digests) = (!args.recompute).then(on_record).flatten() {
        return Ok(digests);
    }
    progress.extend(dataset.original_len());
    Ok(FileDigests::compute(&dataset, wanted, args.variables, progress)?)
}

/// Classic files are never mapped: if one becomes shorter meanwhile, that gives an error and no signal.
fn is_archive(path: &Path) -> bool {
    named::of(path).is_ok_and(|named| {
        targets::first_bytes(named.file()).is_ok_and(|b| b == nc3z_format::archive::constants::MAGIC)
    })
}

/// A damaged classic file is not a corrupt archive.
fn exit_of(path: &Path, e: &anyhow::Error) -> Exit {
    // For a URL, the opened file shows its kind.
    let has_slots = e.chain().filter_map(|c| c.downcast_ref::<nc3z_reader::Error>()).any(|e| {
        matches!(
            e.kind(),
            nc3z_reader::ErrorKind::NewestLost { .. }
                | nc3z_reader::ErrorKind::NewestUnknown { .. }
                | nc3z_reader::ErrorKind::OlderState { .. }
        )
    });
    match of_error(e) {
        Exit::Corrupt if !has_slots && !is_archive(path) => Exit::Failed,
        exit => exit,
    }
}

/// Prints the lines of a file.
fn print(hashed: &FileDigests, path: &Path, out: &mut impl Write) -> Result<()> {
    if hashed.computed.is_none() {
        match hashed.recorded {
            Some(Digest::Sha256(_)) => {
                writeln!(out, "# {}: as recorded when it was archived, not computed", safe(path))?;
            }
            Some(Digest::Stale) => {
                bail!("`{}` has only a stale one on record; without --recorded it is computed", safe(path))
            }
            _ => bail!("`{}` has none on record; without --recorded it is computed", safe(path)),
        }
    }
    hashed.lines(&name(path)).iter().try_for_each(|line| Ok(writeln!(out, "{line}")?))
}

/// SHA-256 of a file as it stands. The progress bar is extended by the file's length.
pub(crate) fn sha256_of_file(path: &Path, progress: &Progress) -> Result<[u8; 32]> {
    progress.extend(std::fs::metadata(path).map_or(0, |m| m.len()));
    Ok(nc3z_collections::tree::sha256_of_file(path, progress)?)
}
