//! `nc3z recompress`.

use super::targets::{self, Job, Naming};
use super::tree::{self, Summary};
use super::{archive, in_order};
use crate::args::{OpenArgs, RecompressArgs};
use crate::exit::{Exit, of_error};
use crate::output::progress::{Progress, interrupted};
use crate::output::{report_error, set_level, text};
use anyhow::{Context, Result, bail};
use nc3z_reader::Digest;
use nc3z_tree::manifest::relist::Replaced;
use nc3z_writer::{Recompressed, ReplacePolicy, WriterOptions, recompress_file};
use std::path::{Path, PathBuf};

/// Recompresses all archives. If one fails, the others are still processed.
pub(crate) fn run(args: &RecompressArgs) -> Result<Exit> {
    if args.archives.iter().any(|a| a.as_os_str() == "-") || args.output.as_deref() == Some(Path::new("-")) {
        bail!("recompress needs files on both sides; `nc3z restore` and `nc3z archive` take pipes");
    }
    set_level(&args.tell);
    if !args.dry_run {
        super::places::check(args.output.as_deref(), args.parents)?;
    }
    args.archives.iter().try_for_each(|path| super::url::refuse(path))?;
    let keep = |p: &Path| Ok(p.to_owned());
    let named = |p: &Path| p.extension().is_some_and(|e| e == "nc3z");
    let naming = Naming { rename: &keep, wanted: &named };
    let found = targets::pair(&args.archives, args.output.as_deref(), args.recursive, &naming)?;
    let mut summary = Summary::new("recompressed", &found.others);
    summary.kept.1 = if args.dry_run { "only tried" } else { "kept as they were" };
    let mut failed: Vec<(PathBuf, Exit)> = Vec::new();
    for (path, e) in &found.failures {
        report_error(Some(path), e);
        failed.push((path.clone(), of_error(e)));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = if args.threads == 0 { cores } else { args.threads }.min(found.jobs.len()).max(1);
    let options = archive::encode_options(&args.encode)
        .with_memory(args.encode.memory / workers as u64)
        .with_force(args.force);
    let progress = Progress::with_passes(0, 2, "recompress".to_owned()).of_files(found.jobs.len() as u64);
    let work = |job: &Job| run_one(job, args, &options, &progress);
    let mut replaced = Vec::new();
    in_order(&found.jobs, args.threads, work, |job, done| {
        progress.file_done();
        match done {
            Ok(done) => {
                if done.written {
                    summary.add(done.old_len, done.stored_len);
                    if args.output.is_none() {
                        replaced.push(Replaced { path: job.input.clone(), before: done.old_sha256 });
                    }
                } else {
                    summary.kept.0 += 1;
                }
                report(job, args, &done);
            }
            Err(e) => {
                report_error(Some(&job.input), &e);
                failed.push((job.input.clone(), of_error(&e)));
            }
        }
        Ok(())
    })?;
    drop(progress);
    let listed = tree::relisted(&replaced);
    let others = tree::judge(&found.others, args.others);
    if found.is_tree {
        summary.failed = failed.len() as u64;
        tree::tell(&summary);
    }
    if found.jobs.len() + found.failures.len() > 1 && !failed.is_empty() {
        note!("nc3z: {} of {} archives failed:", failed.len(), found.jobs.len() + found.failures.len());
        failed.iter().for_each(|(path, _)| note!("  {}", crate::cmd::shown(path)));
    }
    listed.context("the archives are recompressed, but a manifest still lists the old ones")?;
    Ok(failed.into_iter().map(|(_, exit)| exit).fold(others, Exit::max))
}

fn run_one(
    job: &Job,
    args: &RecompressArgs,
    options: &WriterOptions,
    progress: &Progress,
) -> Result<Recompressed> {
    if interrupted() {
        return Err(nc3z_reader::Error::interrupted().into());
    }
    // A dry run creates no directories: it works in the directory of the archive.
    let output = args.output.as_ref().filter(|_| !args.dry_run).map(|_| job.output.as_path());
    if !args.dry_run {
        super::places::prepare(&job.output)?;
    }
    // Written once, verified once.
    progress.extend(super::open_archive(&job.input, &OpenArgs::default())?.original_len());
    let drop_history = args.drop_history || args.output.is_some();
    let terms = ReplacePolicy {
        if_smaller: args.if_smaller,
        dry_run: args.dry_run,
        drop_history,
        parity: args.parity,
    };
    Ok(recompress_file(&job.input, output, options, terms, progress)?)
}

fn report(job: &Job, args: &RecompressArgs, done: &Recompressed) {
    let name = |p: &Path| crate::cmd::shown(p);
    let dropped = done.dropped.iter().map(|what| format!("{what}: not kept"));
    for warning in done.warnings.iter().cloned().chain(dropped) {
        note!("nc3z: warning: {}: {}", name(&job.input), text::safe(&warning));
    }
    let digest = match done.recorded {
        Digest::Sha256(_) => "proven, SHA-256 as recorded",
        Digest::None => "proven, SHA-256 now recorded (none was)",
        Digest::Stale => "proven, SHA-256 now recorded (it was stale)",
    };
    let what = match (done.written, args.dry_run) {
        (true, _) => "",
        (false, true) => "; nothing was written (--dry-run)",
        (false, false) => "; the old one is kept (--if-smaller)",
    };
    let parity = super::parity::carried(done.parity_before, done.parity);
    let parity = parity.map_or_else(String::new, |words| format!(", {words}"));
    let to = if args.output.is_some() { format!(" -> {}", name(&job.output)) } else { String::new() };
    tell!(
        "{}{to}  {} -> {} of {} ({}x), {digest}{parity}{what}",
        name(&job.input),
        text::size(done.old_len),
        text::size(done.stored_len),
        text::size(done.original_len),
        text::ratio(done.original_len, done.stored_len),
    );
}
