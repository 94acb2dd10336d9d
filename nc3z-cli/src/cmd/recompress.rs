//! `nc3z recompress`.

use super::archive;
use super::failures::Failures;
use super::offline::without_recalls;
use super::targets::{self, Job};
use super::tree::{self, Summary};
use crate::args::{OpenArgs, RecompressArgs};
use crate::exit::Exit;
use crate::output::progress::Progress;
use crate::output::{set_level, text};
use anyhow::{Context, Result, bail};
use nc3z_collections::tree::recompress::{RecompressOptions, recompress_jobs};
use nc3z_reader::Digest;
use nc3z_writer::{Recompressed, ReplacePolicy};
use std::path::Path;

/// Recompresses all archives. If one fails, the others are still processed.
pub(crate) fn run(args: &RecompressArgs) -> Result<Exit> {
    if args.archives.iter().any(|a| a.as_os_str() == "-") || args.output.as_deref() == Some(Path::new("-")) {
        bail!("recompress needs files on both sides; `nc3z restore` and `nc3z archive` take pipes");
    }
    set_level(&args.tell);
    if !args.dry_run {
        super::outputs::check(args.output.as_deref(), args.out.parents)?;
    }
    args.archives.iter().try_for_each(|path| super::named::refuse_others(path))?;
    let open = OpenArgs::default();
    args.archives.iter().try_for_each(|path| super::named::refuse_bundle(path, &open))?;
    let mut found = targets::archives(&args.archives, args.output.as_deref(), args.recursive)?;
    found.jobs = without_recalls(found.jobs, |job| &job.input, &args.tape)?;
    let mut summary = Summary::new("recompressed", &found.others);
    summary.kept.1 = if args.dry_run { "only tried" } else { "kept as they were" };
    let mut failures = Failures::new(&found.failures);
    let options = RecompressOptions {
        writer: archive::encode_options(&args.encode)
            .with_force(args.out.force)
            .with_optional_chunks(args.recursive || args.archives.len() > 1),
        policy: ReplacePolicy {
            if_smaller: args.if_smaller,
            dry_run: args.dry_run,
            drop_history: args.drop_history || args.output.is_some(),
            parity: args.parity,
        },
        // A dry run creates no directories: it works in the directory of the archive.
        in_place: args.output.is_none() || args.dry_run,
        threads: *args.threads,
        memory: args.encode.memory,
    };
    let progress = Progress::with_passes(0, 2, "recompress".to_owned()).of_files(found.jobs.len() as u64);
    let begin = |job: &Job| {
        if !args.dry_run {
            super::outputs::prepare_like(job)?;
        }
        // Written once, verified once.
        progress.extend(super::open_archive(&job.input, &OpenArgs::default())?.original_len());
        Ok(())
    };
    if let (Some(first), false) = (found.jobs.first(), args.dry_run) {
        let len = |job: &Job| job.input.metadata().map_or(0, |m| m.len());
        super::outputs::warn_of_space(&first.output, found.jobs.iter().map(len).sum());
    }
    crate::cmd::begin_long_work(if found.jobs.len() > 1 { 1 } else { *args.threads });
    let mut emit = |job: &Job, done: Result<Recompressed>| {
        progress.file_done();
        match done {
            Ok(done) => {
                if done.written {
                    summary.add(done.old_len, done.stored_len);
                } else {
                    summary.kept.0 += 1;
                }
                report(job, args, &done);
            }
            Err(e) => failures.report(&job.input, &e),
        }
    };
    let replaced = recompress_jobs(&found.jobs, &options, &begin, &mut emit, &progress)?;
    drop(progress);
    let listed = tree::relisted(&replaced);
    let others = tree::judge(&found.others, args.passed_over);
    if found.is_tree {
        summary.failed = failures.count() as u64;
        summary.interrupted = failures.interrupted() as u64;
        tree::tell(&summary);
    }
    failures.list(found.jobs.len() + found.failures.len(), "archives");
    listed.context("the archives are recompressed, but a manifest still lists the old ones")?;
    Ok(failures.worst().max(others))
}

fn report(job: &Job, args: &RecompressArgs, done: &Recompressed) {
    let name = |p: &Path| crate::cmd::shown(p);
    let dropped = done.dropped.iter().map(|what| format!("{what}: not kept"));
    for warning in done.warnings.iter().cloned().chain(dropped) {
        note!("nc3z: warning: {}: {}", name(&job.input), text::safe(&warning));
    }
    let digest = match done.recorded {
        Digest::None | Digest::Stale if args.dry_run => "verified, SHA-256 would be recorded",
        Digest::Sha256(_) => "verified, SHA-256 as recorded",
        Digest::None => "verified, SHA-256 now recorded (none was)",
        Digest::Stale => "verified, SHA-256 now recorded (it was stale)",
    };
    let what = match (done.written, args.dry_run) {
        (true, _) => "",
        (false, true) => "; nothing was written (--dry-run)",
        (false, false) => "; the old one is kept (--if-smaller)",
    };
    let would = if args.dry_run { "would become " } else { "" };
    let parity = super::parity::carried(done.parity_before, done.parity);
    let parity = parity.map_or_else(String::new, |words| format!(", {words}"));
    let to = if args.output.is_some() { format!(" -> {}", name(&job.output)) } else { String::new() };
    tell!(
        "{}{to}  {would}{} -> {} of {} ({}x), {digest}{parity}{what}",
        name(&job.input),
        text::size(done.old_len),
        text::size(done.stored_len),
        text::size(done.original_len),
        text::ratio(done.original_len, done.stored_len),
    );
}
