//! `nc3z hash`: digests of archives and classic files, and `--check` of lists of digests.

mod check;
mod root;

use super::named::Named;
use super::{Input, in_order, open_input, targets, url};
use crate::args::{HashArgs, OnlyArg};
use crate::exit::{Exit, of_error};
use crate::output::progress::{Progress, interrupted};
use crate::output::streams::{self, Stdout};
use crate::output::{chain, report_error, text};
use anyhow::{Result, bail};
use nc3z_format::classic::Header;
use nc3z_reader::{Digest, Digests, Wanted};
use nc3z_tree::hash_list::{Line, Subject};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Prints digests, or checks them.
pub(crate) fn run(args: &HashArgs) -> Result<Exit> {
    if args.check {
        return check::run(args);
    }
    if args.root || args.tree.is_some() {
        return root::run(args);
    }
    let found = targets::list(&args.files, args.recursive, &is_netcdf)?;
    let mut worst = Exit::Done;
    for (path, e) in &found.failures {
        report_error(Some(path), e);
        worst = worst.max(of_error(e));
    }
    let progress = Progress::new(0, "hash".to_owned());
    let mut out = Stdout::results();
    let mut rows = Vec::new();
    let work = |path: &PathBuf| hash(path, args, &progress);
    let files = if args.all_versions { with_versions(found.files, args) } else { found.files };
    let done = in_order(&files, args.threads, work, |path, hashed| {
        match hashed {
            Ok(hashed) if args.json => rows.push(hashed.json(path)),
            Ok(hashed) => hashed.print(path, args, &mut out)?,
            Err(e) => {
                worst = worst.max(exit_of(path, &e));
                report_error(Some(path), &e);
                rows.push(json!({"file": safe(path), "error": text::safe(&chain(&e))}));
            }
        }
        Ok(())
    });
    drop(progress);
    let print = || -> Result<()> {
        done?;
        if args.json {
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
        if Named::of(path).ok()?.version.is_some() {
            return None;
        }
        let Input::Archive(archive) = open_input(path, &args.open).ok()? else { return None };
        let all = archive.versions(u64::MAX).ok()?;
        let name = |number: u64| {
            let mut name = path.as_os_str().to_owned();
            name.push(format!("@{number}"));
            PathBuf::from(name)
        };
        Some(all.iter().rev().map(|version| name(version.record.number)).collect())
    };
    files.into_iter().flat_map(|path| versions(&path).unwrap_or_else(|| vec![path])).collect()
}

/// The digests of one file.
struct Hashed {
    len: u64,
    /// The digests that an archive stores; none for a classic file.
    recorded: Option<Digest>,
    /// None if only the stored digests were requested.
    computed: Option<Digests>,
    /// False if the digests are the stored ones, and nothing was decoded.
    is_computed: bool,
    /// Names of the variables, if their digests are to be shown.
    names: Vec<Vec<u8>>,
}

fn hash(path: &Path, args: &HashArgs, progress: &Progress) -> Result<Hashed> {
    if interrupted() {
        return Err(nc3z_reader::Error::interrupted().into());
    }
    let input = open_input(path, &args.open)?;
    let names = |header: &Header| {
        let shown = header.variables.iter().filter(|_| args.variables);
        shown.map(|v| v.name.clone()).collect::<Vec<_>>()
    };
    if args.recorded {
        let Input::Archive(archive) = &input else {
            bail!("a classic netCDF file has no digest on record; without --recorded it is computed");
        };
        let recorded = Some(archive.digest());
        return Ok(Hashed {
            len: archive.original_len(),
            recorded,
            computed: None,
            is_computed: false,
            names: Vec::new(),
        });
    }
    let wanted = Wanted {
        content: args.only != Some(OnlyArg::Sha256),
        sha256: args.only != Some(OnlyArg::Content),
        tree: false,
    };
    let (recorded, names) = match &input {
        Input::Archive(a) => (Some(a.digest()), names(a.header())),
        Input::Classic(c) => (None, names(c.header())),
    };
    let on_record = match &input {
        Input::Archive(archive) if !args.recompute => archive.digests_on_record(wanted, args.variables),
        _ => None,
    };
    let is_computed = on_record.is_none();
    let digests = on_record.map_or_else(|| compute(&input, wanted, progress), Ok)?;
    Ok(Hashed { is_computed, len: digests.len, recorded, computed: Some(digests), names })
}

/// Computes digests from the bytes of either kind of file.
fn compute(input: &Input, wanted: Wanted, progress: &Progress) -> Result<Digests> {
    Ok(match input {
        Input::Archive(archive) => {
            progress.extend(archive.original_len());
            archive.digests(wanted, progress)?
        }
        Input::Classic(classic) => {
            progress.extend(classic.layout().file_len);
            classic.digests(wanted, progress)?
        }
    })
}

/// Classic files are never mapped: if one becomes shorter meanwhile, that gives an error and no signal.
fn is_archive(path: &Path) -> bool {
    Named::of(path).is_ok_and(|named| {
        targets::first_bytes(&named.file).is_ok_and(|b| b == nc3z_format::archive::constants::MAGIC)
    })
}

/// In a tree, archives and classic files are recognized by their first bytes. An unreadable file is included,
/// so that it is reported.
fn is_netcdf(path: &Path) -> bool {
    is_archive(path) || targets::looks_classic(path)
}

/// A damaged classic file is not a corrupt archive.
fn exit_of(path: &Path, e: &anyhow::Error) -> Exit {
    // For a URL, the opened file shows its kind.
    let has_slots = e.chain().filter_map(|c| c.downcast_ref::<nc3z_reader::Error>()).any(|e| {
        matches!(
            e.kind(),
            nc3z_reader::ErrorKind::NewestLost { .. } | nc3z_reader::ErrorKind::OlderState { .. }
        )
    });
    match of_error(e) {
        Exit::Corrupt if !has_slots && !is_archive(path) => Exit::Failed,
        exit => exit,
    }
}

impl Hashed {
    fn print(&self, path: &Path, args: &HashArgs, out: &mut impl Write) -> Result<()> {
        let mut line = |subject, digest| writeln!(out, "{}", Line { subject, file: name(path), digest });
        let Some(computed) = &self.computed else {
            let Some(Digest::Sha256(digest)) = self.recorded else {
                let state = if self.recorded == Some(Digest::Stale) { "only a stale one" } else { "none" };
                bail!("`{}` has {state} on record; without --recorded it is computed", safe(path));
            };
            writeln!(out, "# {}: as recorded when it was archived, not computed", safe(path))?;
            let line = Line { subject: Subject::Original, file: name(path), digest };
            return Ok(writeln!(out, "{line}")?);
        };
        if let Some(content) = computed.content {
            line(Subject::Content, content)?;
        }
        if let Some(sha256) = computed.sha256 {
            line(if self.recorded.is_some() { Subject::Original } else { Subject::File }, sha256)?;
        }
        if args.variables {
            for (name, &digest) in self.names.iter().zip(&computed.variables) {
                line(Subject::Variable(name.clone()), digest)?;
            }
        }
        Ok(())
    }

    fn json(&self, path: &Path) -> Value {
        let hex = |h: Option<[u8; 32]>| h.map(|h| text::hex(&h));
        let (recorded, state) = match self.recorded {
            Some(Digest::Sha256(digest)) => (Some(digest), Some("valid")),
            Some(Digest::Stale) => (None, Some("stale")),
            Some(Digest::None) => (None, Some("none")),
            None => (None, None),
        };
        let computed = self.computed.as_ref();
        let digests = computed.map_or(&[][..], |c| &c.variables);
        let variables = self.names.iter().zip(digests);
        let variables = variables.map(|(n, d)| json!({"name": text::name(n), "digest": text::hex(d)}));
        json!({
            "file": safe(path),
            "kind": if self.recorded.is_some() { "archive" } else { "classic" },
            "original_bytes": self.len,
            "content": hex(computed.and_then(|c| c.content)),
            "sha256": hex(computed.and_then(|c| c.sha256)),
            "computed": self.is_computed,
            "recorded_sha256": hex(recorded),
            "digest_state": state,
            "variables": variables.collect::<Vec<_>>(),
        })
    }
}

/// SHA-256 of a file as it stands. The progress bar is extended by the file's length.
pub(crate) fn sha256_of_file(path: &Path, progress: &Progress) -> Result<[u8; 32]> {
    progress.extend(std::fs::metadata(path).map_or(0, |m| m.len()));
    Ok(nc3z_tree::sha256_of_file(path, progress)?)
}
