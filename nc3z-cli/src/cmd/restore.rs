//! `nc3z restore`.

use super::named::Named;
use super::targets::{self, Job, Naming};
use super::tree::{self, FileKind, Other, Summary};
use super::{member, stdin, unbundle, url};
use crate::args::RestoreArgs;
use crate::exit::{Exit, of_error};
use crate::output::progress::{Progress, interrupted, while_blocked};
use crate::output::streams::{self, Stdout};
use crate::output::{report_error, set_level, text};
use anyhow::{Context, Result, bail};
use nc3z_aggregate::bundle::write_packed;
use nc3z_format::Error as FormatError;
use nc3z_format::archive::constants;
use nc3z_format::damage::LOST;
use nc3z_look::place::words;
use nc3z_reader::platform::takes_stream;
use nc3z_reader::recover::RecoverOptions;
use nc3z_reader::source::ByteSource;
use nc3z_reader::{Archive, Error, Monitor, source};
use nc3z_tree::Refusal;
use nc3z_writer::{AtomicFile, is_same_file};
use std::path::{Path, PathBuf};

/// The number of runs of lost tiles that are listed.
const LISTED: usize = 100;

/// Restores all archives one after another, each in parallel.
pub(crate) fn run(args: &RestoreArgs) -> Result<Exit> {
    set_level(&args.tell);
    super::places::check(args.output.as_deref(), args.parents)?;
    if args.output.as_deref().is_some_and(|o| o == Path::new("-") || o == Path::new("/dev/stdout")) {
        return super::with_threads(args.threads, || to_stdout(args))?;
    }
    let (bundles, archives): (Vec<PathBuf>, Vec<PathBuf>) =
        args.archives.iter().cloned().partition(|p| args.recursive && unbundle::is_bundle(p));
    let mut worst = Exit::Done;
    for bundle in &bundles {
        worst = worst.max(unbundle::restore(bundle, args)?);
    }
    if archives.is_empty() {
        return Ok(worst);
    }
    run_named(&archives, args).map(|exit| exit.max(worst))
}

/// Restores archives, and those in directories.
fn run_named(archives: &[PathBuf], args: &RestoreArgs) -> Result<Exit> {
    let rename = |p: &Path| match args.version {
        Some(_) => Err(Refusal::VersionName.into()),
        None if stdin::is(p) => Err(Refusal::NoName.into()),
        // Members of bundles and files on servers are restored to the current directory, independent of the
        // directories in their names.
        None => match (url::of(p), member::of(p)) {
            (Some(url), _) => targets::restored_name(Path::new(last_name(url))),
            (None, Some((_, name))) => {
                targets::restored_name(Path::new(name.rsplit('/').next().unwrap_or_default()))
            }
            (None, None) => targets::restored_name(p),
        },
    };
    let named = |p: &Path| p.extension().is_some_and(|e| e == "nc3z");
    // If -o names a file, the archive may have any name.
    let single = archives.len() == 1
        && args.output.as_ref().is_some_and(|o| !targets::is_directory_name(o))
        && !archives[0].is_dir();
    let keep = |p: &Path| Ok(p.to_owned());
    let naming = Naming { rename: if single { &keep } else { &rename }, wanted: &named };
    let found = targets::pair(archives, args.output.as_deref(), args.recursive, &naming)?;
    let mut summary = Summary::new("restored", &found.others);
    let mut failed: Vec<(PathBuf, Exit)> = Vec::new();
    for (path, e) in &found.failures {
        report_error(Some(path), e);
        failed.push((path.clone(), of_error(e)));
    }
    super::with_threads(args.threads, || {
        for (done, job) in found.jobs.iter().enumerate() {
            if interrupted() {
                summary.not_tried = (found.jobs.len() - done) as u64;
                break;
            }
            match run_one(job, args, &mut summary) {
                Ok(Exit::Done) => {}
                Ok(exit) => failed.push((job.input.clone(), exit)),
                Err(e) => {
                    report_error(Some(&job.input), &e);
                    failed.push((job.input.clone(), of_error(&e)));
                }
            }
        }
    })?;
    // A link to a file that is not an archive has no counterpart.
    let is_made = |other: &&Other| {
        let is_link = other.kind == FileKind::InsideLink;
        is_link && (other.path.is_dir() || targets::restored_name(&other.path).is_ok())
    };
    for other in found.others.iter().filter(is_made) {
        let to = args.output.as_ref().map_or_else(|| other.path.clone(), |output| output.join(&other.name));
        if let Err(e) = tree::make_link(other, &to, &targets::restored_name, args.force, &mut summary) {
            report_error(Some(&other.path), &e);
            failed.push((other.path.clone(), of_error(&e)));
        }
    }
    let others = tree::judge(&found.others, args.others);
    let stopped = failed.iter().filter(|(_, exit)| *exit == Exit::Interrupted).count();
    if found.is_tree {
        summary.failed = (failed.len() - stopped) as u64;
        summary.interrupted = stopped as u64;
        tree::tell(&summary);
    }
    if found.jobs.len() + found.failures.len() > 1 && failed.len() > stopped {
        let all = found.jobs.len() + found.failures.len();
        note!("nc3z: {} of {all} archives failed:", failed.len() - stopped);
        failed
            .iter()
            .filter(|(_, exit)| *exit != Exit::Interrupted)
            .for_each(|(path, _)| note!("  {}", crate::cmd::shown(path)));
    }
    let least = if summary.not_tried > 0 { Exit::Interrupted } else { others };
    Ok(failed.into_iter().map(|(_, exit)| exit).fold(least, Exit::max))
}

fn run_one(job: &Job, args: &RestoreArgs, summary: &mut Summary) -> Result<Exit> {
    super::places::prepare(&job.output)?;
    if let Some((file, name)) = member::of(&job.input)
        && let Some(packed) = member::open(&file, &args.open)?.packed_member(&name)?
    {
        write_packed(&packed, &job.output, args.force).map_err(unbundle::of_aggregate)?;
        let (from, to) = (text::safe(&url::shown(&job.input)), crate::cmd::shown(&job.output));
        tell!("{from} -> {to}  {} (SHA-256 as recorded)", text::size(packed.len()));
        return Ok(Exit::Done);
    }
    let named = named(&job.input, args)?;
    let like = named.metadata()?;
    if like.as_ref().is_some_and(|like| is_same_file(like, &job.output)) {
        bail!("archive and output are the same file `{}`", job.output.display());
    }
    let archive = open(&named, args)?;
    let progress = Progress::new(archive.original_len(), text::safe(&url::shown(&job.input)));
    let restored = if takes_stream(&job.output) {
        let restored = archive.restore_to_device(&job.output, &progress)?;
        drop(progress);
        restored
    } else {
        // Without a file whose mode is copied, the output gets the usual mode.
        let mode = if like.is_some() { 0o600 } else { 0o666 };
        let target = AtomicFile::create_with_mode(&job.output, args.force, mode)?;
        let restored = archive.restore_to_file(target.file(), &job.output, &progress)?;
        if progress.is_cancelled() {
            return Err(nc3z_reader::Error::interrupted().into());
        }
        drop(progress);
        target.commit(like.as_ref())?;
        restored
    };
    let digest = match restored.matches_record {
        true => "SHA-256 as recorded",
        false if !archive.filled().is_empty() => "NOT the original: lost data are replaced by fill values",
        false => "no digest recorded",
    };
    tell!(
        "{} -> {}  {} ({digest})",
        text::safe(&url::shown(&job.input)),
        crate::cmd::shown(&job.output),
        text::size(restored.len)
    );
    report_lossy(&job.input, &archive);
    let exit = report_filled(&job.input, &archive);
    if exit == Exit::Done {
        summary.add(archive.stored_len(), restored.len);
    }
    Ok(exit)
}

/// Returns the text after the last slash of a URL.
fn last_name(url: &str) -> &str {
    url::address(url).rsplit('/').next().unwrap_or_default()
}

/// Returns the archive and the requested version.
fn named(path: &Path, args: &RestoreArgs) -> Result<Named> {
    let mut named = Named::of(path)?;
    if args.version.is_some() {
        named.version.clone_from(&args.version);
    }
    Ok(named)
}

/// Opens an archive. With `--fill-lost` also a damaged one, whose index is then rebuilt.
fn open(named: &Named, args: &RestoreArgs) -> Result<Archive> {
    if !args.fill_lost {
        let archive = named.open_archive(&args.open)?;
        if archive.trailer().required & constants::REQUIRED_LOST != 0 {
            bail!(Error::from(FormatError::corrupt(
                "archive",
                None,
                "content",
                "whole",
                format!(
                    "partly {LOST} it was repaired (`nc3z verify` lists the tiles; --fill-lost replaces them by fill values)"
                ),
            )));
        }
        return Ok(archive);
    }
    if named.version.is_some() {
        bail!("--fill-lost gives the newest version only");
    }
    let source = match url::of(&named.file) {
        None if stdin::is(&named.file) => stdin::source()?,
        Some(url) => url::open_forward(url, &args.open.remote)?,
        // By position: with a memory map, a failing disk would kill the process.
        None => source::open(&named.file, false)?,
    };
    let open = crate::registry::open_options().with_fill_lost(true);
    let progress = Progress::new(source.len(), text::safe(&url::shown(&named.file)));
    let options = RecoverOptions { open, uncommitted: false };
    let (archive, found) = Archive::recover(&source, &options, &progress)?;
    if found.is_older {
        // Lost data of the newest version are filled; an older version is not used instead. The error lists
        // the existing versions.
        Archive::from_source(source, &crate::registry::open_options())?;
    }
    let name = text::safe(&url::shown(&named.file));
    found.notes.iter().for_each(|note| note!("nc3z: warning: {name}: {}", text::safe(note)));
    Ok(archive)
}

/// Reports that the archive's values were rounded, if so.
fn report_lossy(path: &Path, archive: &Archive) {
    if archive.trailer().required & constants::REQUIRED_LOSSY != 0 {
        let name = text::safe(&url::shown(path));
        note!(
            "nc3z: note: {name} is LOSSY: values were rounded when it was made; these are not the source's bytes"
        );
    }
}

/// Warns about bytes that are not the original's.
fn report_filled(path: &Path, archive: &Archive) -> Exit {
    let filled = archive.filled();
    if filled.is_empty() {
        return Exit::Done;
    }
    let name = text::safe(&url::shown(path));
    let runs = archive.filled_runs();
    note!("nc3z: warning: {name}: {} tiles are lost; these are FILL VALUES, not data:", filled.len());
    for (array, tiles) in runs.iter().take(LISTED) {
        note!("  {}", words(&archive.place(*array, tiles.clone()), None));
    }
    if runs.len() > LISTED {
        note!("  and {} more", runs.len() - LISTED);
    }
    Exit::Corrupt
}

fn to_stdout(args: &RestoreArgs) -> Result<Exit> {
    let mut worst = Exit::Done;
    // The number of filled bytes is known only at the end: with --fill-lost everything is decoded, even if
    // standard output is closed.
    let mut out = if args.fill_lost { Stdout::verdicts() } else { Stdout::results() };
    if out.is_terminal() && !args.force {
        bail!(
            "a netCDF file is not for a terminal; name a file with -o, send it through a pipe, or --force it"
        );
    }
    let mut is_read = true;
    for path in &args.archives {
        let archive = open(&named(path, args)?, args).with_context(|| format!("`{}`", url::shown(path)))?;
        if is_read {
            let progress = Progress::new(archive.original_len(), text::safe(&url::shown(path)));
            let done = while_blocked(|| archive.restore_to_stream(&mut out, &progress));
            match done.map_err(anyhow::Error::from) {
                Ok(_) => {}
                // The other archives are still opened: if one cannot be opened, that is a failure.
                Err(e) if streams::is_reader_gone(&e) => is_read = false,
                Err(e) => return Err(e),
            }
        }
        report_lossy(path, &archive);
        worst = worst.max(report_filled(path, &archive));
    }
    Ok(worst)
}
