//! `nc3z restore`.

use super::targets::{self, Job, Naming};
use crate::args::RestoreArgs;
use crate::exit::{Exit, of_error};
use crate::output::progress::{Progress, interrupted, while_blocked};
use crate::output::{report_error, text};
use anyhow::{Context, Result, bail};
use nc3z_reader::Monitor;
use nc3z_writer::{AtomicFile, is_same_file};
use std::path::{Path, PathBuf};

/// Restores all archives, one after another, each in parallel.
pub(crate) fn run(args: &RestoreArgs) -> Result<Exit> {
    if args.output.as_deref() == Some(Path::new("-")) {
        return super::with_threads(args.threads, || to_stdout(args))?;
    }
    let rename = |p: &Path| targets::restored_name(p);
    let named = |p: &Path| p.extension().is_some_and(|e| e == "nc3z");
    // With -o naming a file, the archive may be called anything.
    let single = args.archives.len() == 1
        && args.output.as_ref().is_some_and(|o| !o.is_dir())
        && !args.archives[0].is_dir();
    let keep = |p: &Path| Ok(p.to_owned());
    let naming = Naming { rename: if single { &keep } else { &rename }, wanted: &named };
    let found = targets::pair(&args.archives, args.output.as_deref(), args.recursive, &naming)?;
    let mut failed: Vec<(PathBuf, Exit)> = Vec::new();
    for (path, e) in &found.failures {
        report_error(Some(path), e);
        failed.push((path.clone(), of_error(e)));
    }
    super::with_threads(args.threads, || {
        for job in &found.jobs {
            if interrupted() {
                failed.push((job.input.clone(), Exit::Interrupted));
                break;
            }
            if let Err(e) = run_one(job, args) {
                report_error(Some(&job.input), &e);
                failed.push((job.input.clone(), of_error(&e)));
            }
        }
    })?;
    if found.jobs.len() + found.failures.len() > 1 && !failed.is_empty() {
        eprintln!("nc3z: {} of {} archives failed:", failed.len(), found.jobs.len() + found.failures.len());
        failed.iter().for_each(|(path, _)| eprintln!("  {}", text::safe(&path.to_string_lossy())));
    }
    Ok(failed.into_iter().map(|(_, exit)| exit).max().unwrap_or(Exit::Done))
}

fn run_one(job: &Job, args: &RestoreArgs) -> Result<()> {
    super::create_parent(&job.output)?;
    let like = std::fs::metadata(&job.input).with_context(|| format!("open `{}`", job.input.display()))?;
    if is_same_file(&like, &job.output) {
        bail!("archive and output are the same file `{}`", job.output.display());
    }
    let archive = super::open_archive(&job.input, !args.no_mmap)?;
    let target = AtomicFile::create(&job.output, args.force)?;
    let progress = Progress::new(archive.original_len(), text::safe(&job.input.to_string_lossy()));
    let restored = archive.restore_to_file(target.file(), &job.output, &progress)?;
    if progress.is_cancelled() {
        return Err(nc3z_reader::Error::interrupted().into());
    }
    drop(progress);
    target.commit(Some(&like))?;
    let digest = if restored.matches_record { "SHA-256 as recorded" } else { "no digest recorded" };
    eprintln!(
        "{} -> {}  {} ({digest})",
        text::safe(&job.input.to_string_lossy()),
        text::safe(&job.output.to_string_lossy()),
        text::size(restored.len)
    );
    Ok(())
}

fn to_stdout(args: &RestoreArgs) -> Result<Exit> {
    for path in &args.archives {
        let archive = super::open_archive(path, !args.no_mmap)?;
        let progress = Progress::new(archive.original_len(), text::safe(&path.to_string_lossy()));
        while_blocked(|| archive.restore_to_stream(&mut std::io::stdout(), &progress))?;
    }
    Ok(Exit::Done)
}
