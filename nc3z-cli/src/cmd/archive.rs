//! `nc3z archive`.

use super::manifests;
use super::targets::{self, Job, Naming};
use crate::args::{ArchiveArgs, EdgeArg, EncodeArgs, PresetArg};
use crate::exit::{Exit, of_error};
use crate::output::progress::{Progress, interrupted, while_blocked};
use crate::output::{report_error, text};
use anyhow::{Context, Result, bail};
use nc3z_format::tile::Edge;
use nc3z_writer::{Archived, Preset, Wanted, WriterOptions, archive_file, archive_open_file};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Archives all inputs; a failure in one does not stop the others.
pub(crate) fn run(args: &ArchiveArgs) -> Result<Exit> {
    let options = options(args);
    if args.inputs.iter().any(|i| i.as_os_str() == "-") || args.output.as_deref() == Some(Path::new("-")) {
        return super::with_threads(args.threads, || run_piped(args, &options))?;
    }
    let manifests = manifests::prepare(args)?;
    let rename = |p: &Path| Ok(targets::archive_name(p));
    let naming = Naming { rename: &rename, wanted: &targets::looks_classic };
    let mut found = targets::pair(&args.inputs, manifests::output(args).as_deref(), args.recursive, &naming)?;
    found.failures.extend(manifests::refuse_unnameable(args, &mut found.jobs));
    let failures: Vec<(PathBuf, Exit)> =
        found.failures.iter().map(|(path, e)| (path.clone(), fail(path, e))).collect();
    let several = found.jobs.len() + failures.len() > 1;
    let results = run_jobs(&found.jobs, args, &options)?;
    let all = results.into_iter().chain(failures);
    let failed: Vec<(PathBuf, Exit)> = all.filter(|(_, exit)| *exit != Exit::Done).collect();
    if several && !failed.is_empty() {
        eprintln!("nc3z: {} of {} files failed:", failed.len(), found.jobs.len() + found.failures.len());
        failed.iter().for_each(|(path, _)| eprintln!("  {}", text::safe(&path.to_string_lossy())));
    }
    if let Some(manifests) = manifests.filter(|_| !interrupted()) {
        let failed = failed.iter().map(|(path, _)| path.as_path()).collect();
        manifests.write(&found.jobs, &failed, args.threads)?;
    }
    Ok(failed.into_iter().map(|(_, exit)| exit).max().unwrap_or(Exit::Done))
}

/// One file shares the threads among its tiles; many files share them among themselves, and the memory too.
fn run_jobs(jobs: &[Job], args: &ArchiveArgs, options: &WriterOptions) -> Result<Vec<(PathBuf, Exit)>> {
    let one = |job: &Job, options: &WriterOptions| {
        if interrupted() {
            return (job.input.clone(), Exit::Interrupted);
        }
        (job.input.clone(), run_one(job, args, options).unwrap_or_else(|e| fail(&job.input, &e)))
    };
    if let [job] = jobs {
        return Ok(vec![super::with_threads(args.threads, || one(job, options))?]);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = if args.threads == 0 { cores } else { args.threads }.min(jobs.len());
    let options = options.clone().with_memory(args.encode.memory / workers.max(1) as u64);
    let next = AtomicUsize::new(0);
    let work = || {
        super::with_threads(1, || {
            let mine = std::iter::from_fn(|| jobs.get(next.fetch_add(1, Ordering::Relaxed)));
            mine.map(|job| one(job, &options)).collect::<Vec<_>>()
        })
    };
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let done = handles.into_iter().map(|h| h.join().expect("a worker's panic is this command's panic"));
        Ok(done.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    })
}

/// A failure of `archive` is never a corrupt archive: it is 1, or 130.
fn fail(path: &Path, error: &anyhow::Error) -> Exit {
    report_error(Some(path), error);
    match of_error(error) {
        Exit::Interrupted => Exit::Interrupted,
        _ => Exit::Failed,
    }
}

fn options(args: &ArchiveArgs) -> WriterOptions {
    let mut quantize = Wanted::default();
    args.quantize.iter().for_each(|(name, mode)| quantize.push(name, *mode));
    let options = encode_options(&args.encode);
    let options = options.with_quantize(quantize).with_verify(!args.no_verify).with_force(args.force);
    match args.parity {
        Some(share) => options.with_parity(share),
        None => options,
    }
}

/// What all commands that write archives share.
pub(super) fn encode_options(args: &EncodeArgs) -> WriterOptions {
    let preset = match args.preset {
        PresetArg::Fast => Preset::Fast,
        PresetArg::Default => Preset::Default,
        PresetArg::Max => Preset::Max,
    };
    let mut options = WriterOptions::default().with_preset(preset).with_memory(args.memory);
    let mut chains = Wanted::default();
    args.chains.iter().for_each(|(name, chain)| chains.push(name, chain.clone()));
    options = options.with_chains(chains);
    if let Some(len) = args.block_size {
        options = options.with_tile_len(len);
    }
    for layout in &args.layout {
        options = match &layout.variable {
            Some(variable) => options.with_variable_layout(variable, layout.choice),
            None => options.with_layout(layout.choice),
        };
    }
    options = args.chunk.iter().cloned().fold(options, WriterOptions::with_chunks);
    options.with_edge(match args.edge {
        EdgeArg::Clip => Edge::Clipped,
        EdgeArg::Pad => Edge::Padded,
    })
}

fn run_one(job: &Job, args: &ArchiveArgs, options: &WriterOptions) -> Result<Exit> {
    super::create_parent(&job.output)?;
    let before = std::fs::metadata(&job.input).ok();
    let len = before.as_ref().map_or(0, std::fs::Metadata::len);
    let passes = if args.no_verify { 1 } else { 2 };
    let progress = Progress::new(len.saturating_mul(passes), text::safe(&job.input.to_string_lossy()));
    let done = archive_file(&job.input, &job.output, options, &progress)?;
    drop(progress);
    report(&job.input, &job.output, &done);
    if args.remove_source {
        remove_source(&job.input, before.as_ref())?;
    }
    Ok(Exit::Done)
}

/// Removes the source, if its name still leads to the file that was archived.
fn remove_source(input: &Path, before: Option<&std::fs::Metadata>) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let identity = |m: &std::fs::Metadata| (m.dev(), m.ino(), m.len(), m.mtime(), m.mtime_nsec());
    let now = std::fs::metadata(input).with_context(|| format!("look at `{}`", input.display()))?;
    if before.map(identity) != Some(identity(&now)) {
        bail!("another file took its name while it was archived; nothing was removed");
    }
    std::fs::remove_file(input).with_context(|| format!("remove `{}`", input.display()))
}

fn report(input: &Path, output: &Path, done: &Archived) {
    for warning in &done.warnings {
        eprintln!("nc3z: warning: {}: {}", text::safe(&input.to_string_lossy()), text::safe(warning));
    }
    let proven = match (done.proven, &done.lossy) {
        (true, None) => ", proven",
        (true, Some(_)) => ", LOSSY, the rounded file proven",
        (false, None) => ", not proven",
        (false, Some(_)) => ", LOSSY, not proven",
    };
    eprintln!(
        "{} -> {}  {} -> {} ({}x){proven}",
        text::safe(&input.to_string_lossy()),
        text::safe(&output.to_string_lossy()),
        text::size(done.original_len),
        text::size(done.stored_len),
        text::ratio(done.original_len, done.stored_len),
    );
    if let Some(lossy) = &done.lossy {
        eprintln!("  values were rounded as asked; the archive gives back the rounded file, not the source");
        lossy.variables.iter().for_each(|v| eprintln!("  {}", text::loss(v)));
    }
}

/// From standard input, to standard output, or both: spooled, since the length is needed first and the proof reads back.
fn run_piped(args: &ArchiveArgs, options: &WriterOptions) -> Result<Exit> {
    let [input] = &args.inputs[..] else { bail!("`-` stands alone: one input, one output") };
    if args.remove_source {
        bail!("--remove-source needs files on both sides");
    }
    let from_stdin = input.as_os_str() == "-";
    let output = args.output.as_deref().unwrap_or(Path::new("-"));
    let source = if from_stdin {
        let mut spool = tempfile::tempfile().context("create a temporary file for standard input")?;
        while_blocked(|| std::io::copy(&mut std::io::stdin().lock(), &mut spool))
            .context("read standard input")?;
        spool
    } else {
        File::open(input).with_context(|| format!("open `{}`", input.display()))?
    };
    let progress = Progress::new(source.metadata().map_or(0, |m| m.len()) * 2, "archive".to_owned());
    let name = if from_stdin { Path::new("standard input") } else { input };
    let named = || text::safe(&name.to_string_lossy());
    if output.as_os_str() != "-" {
        super::create_parent(output)?;
        let done = archive_open_file(source, name, output, options, &progress).with_context(named)?;
        drop(progress);
        report(name, output, &done);
        return Ok(Exit::Done);
    }
    let dir = tempfile::tempdir().context("create a temporary directory for the archive")?;
    let spool = dir.path().join("archive.nc3z");
    archive_open_file(source, name, &spool, options, &progress).with_context(named)?;
    let mut spooled = File::open(&spool).context("read the spooled archive")?;
    // Nothing is left on disk should the reader of the pipe keep us until we are killed.
    dir.close().context("remove the temporary directory")?;
    while_blocked(|| std::io::copy(&mut spooled, &mut std::io::stdout().lock()))
        .context("write to standard output")?;
    Ok(Exit::Done)
}
