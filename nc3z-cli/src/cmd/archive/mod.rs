//! `nc3z archive`.

mod piped;

use super::parity::cost;
use super::targets::{self, Found, Job, Naming};
use super::tree::{self, FileKind, Other, Summary};
use super::{manifests, places, url};
use crate::args::{
    ArchiveArgs, DigestArg, EdgeArg, EncodeArgs, OthersArg, OthersOfTreeArg, PresetArg, ProfileArg, SkipArg,
};
use crate::exit::{Exit, of_error};
use crate::output::progress::{Progress, interrupted};
use crate::output::{chain, report_error, set_level, tells_more, text};
use anyhow::{Context, Result, bail};
use nc3z_format::codec::WantedChain;
use nc3z_format::tile::Edge;
use nc3z_tree::journal::{self, Journal};
use nc3z_tree::present::{self, Evidence};
use nc3z_tree::removal;
use nc3z_tree::waiting::{Held, Waiting};
use nc3z_writer::{
    Archived, AtomicFile, ErrorKind, Prepared, Preset, TileChoice, Wanted, WriterOptions, prepare_file,
    publish,
};
use serde_json::json;
use std::collections::HashSet;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// Archives all inputs. If one fails, the others are still archived.
pub(crate) fn run(args: &ArchiveArgs) -> Result<Exit> {
    set_level(&args.tell);
    let options = options(args);
    if let Some(url) = args.inputs.iter().find(|i| url::of(i).is_some()) {
        let url = text::safe(&url::shown(url));
        bail!(
            "`{url}` is a URL, and `nc3z archive` reads files: `curl -s {url} | nc3z archive - -o NAME.nc3z` takes one from a server"
        );
    }
    places::check(args.output.as_deref(), args.parents)?;
    if args.inputs.iter().any(|i| i.as_os_str() == "-") || args.output.as_deref() == Some(Path::new("-")) {
        return super::with_threads(args.threads, || piped::run(args, &options))?;
    }
    let manifests = manifests::prepare(args)?;
    if args.clean_temps && !args.run.dry_run {
        let roots = args.output.as_ref().map_or(&args.inputs[..], std::slice::from_ref);
        roots.iter().filter(|root| root.is_dir()).for_each(|root| places::clean(root));
    }
    let mut found = find(args)?;
    found.failures.extend(manifests::refuse_unnameable(args, &mut found.jobs));
    let is_told = found.is_tree || args.run.files_from.is_some();
    let work = Work::new(args, options)?;
    if args.run.dry_run {
        return Ok(work.dry_run(&found));
    }
    let mut summary = Summary::new("archived", &found.others);
    let failures = found.failures.iter().map(|(path, e)| (path.clone(), work.fail_unread(path, e)));
    let mut outcomes: Vec<(PathBuf, Outcome)> = failures.collect();
    work.log_others(&found.others)?;
    outcomes.extend(work.run_jobs(&found.jobs)?);
    let all = found.jobs.len() + found.failures.len();
    let (mut failed, mut stopped) = (Vec::new(), Vec::new());
    for (path, outcome) in outcomes {
        match outcome {
            Outcome::Archived { before, after } => summary.add(before, after),
            Outcome::Present => summary.kept.0 += 1,
            Outcome::NotTried => summary.not_tried += 1,
            Outcome::Failed(Exit::Interrupted) => {
                summary.interrupted += 1;
                stopped.push((path, Exit::Interrupted));
            }
            Outcome::Failed(exit) => {
                summary.failed += 1;
                failed.push((path, exit));
            }
        }
    }
    let mut worst = work.deal_with_others(&found.others, &mut summary)?;
    if is_told {
        tree::tell(&summary);
    }
    if all > 1 && !failed.is_empty() {
        note!("nc3z: {} of {all} files failed:", failed.len());
        failed.iter().for_each(|(path, _)| note!("  {}", crate::cmd::shown(path)));
    }
    failed.extend(stopped);
    // After a signal that follows the last file, only the manifest is missing.
    if interrupted() && (summary.not_tried > 0 || manifests.is_some()) {
        worst = Exit::Interrupted;
    } else if let Some(manifests) = manifests.filter(|_| summary.not_tried == 0) {
        let failed: HashSet<&Path> = failed.iter().map(|(path, _)| path.as_path()).collect();
        manifests.write(&found.jobs, &failed, args.threads)?;
    }
    Ok(failed.into_iter().map(|(_, exit)| exit).fold(worst, Exit::max))
}

/// Returns the files to archive: named, listed, or found in trees, without those of other shards.
fn find(args: &ArchiveArgs) -> Result<Found> {
    let rename = |p: &Path| Ok(targets::archive_name(p));
    let naming = Naming { rename: &rename, wanted: &targets::looks_classic };
    let output = manifests::output(args);
    let list = args.run.files_from.as_deref();
    let list = || list.map_or_else(|| Ok(Vec::new()), |list| targets::read_names(list, args.run.null));
    let mut found = targets::pair_with_list(&args.inputs, &list, output.as_deref(), args.recursive, &naming)?;
    if let Some(shard) = args.run.shard {
        targets::keep_shard(&mut found.jobs, shard);
        targets::keep_others_of_shard(&mut found.others, shard);
    }
    Ok(found)
}

/// The result for one file.
enum Outcome {
    Archived {
        before: u64,
        after: u64,
    },
    /// Its archive already existed.
    Present,
    Failed(Exit),
    /// The run was stopped before it.
    NotTried,
}

/// The progress of a file.
enum Step<'j> {
    Done(Outcome),
    /// Its archive is complete, but not yet on disk.
    Held(Box<Held<'j>>),
}

/// The state that all files of a run share.
struct Work<'a> {
    args: &'a ArchiveArgs,
    options: WriterOptions,
    journal: Option<Journal>,
    /// The names of files that an earlier run has finished.
    done_before: HashSet<Vec<u8>>,
    errors: AtomicU64,
}

impl<'a> Work<'a> {
    fn new(args: &'a ArchiveArgs, options: WriterOptions) -> Result<Self> {
        // Read before it is appended to: both options may name the same file.
        let done_before = args.run.resume.as_deref().map_or_else(|| Ok(HashSet::new()), journal::done_in)?;
        let journal = args.run.log.as_deref().filter(|_| !args.run.dry_run).map(Journal::open).transpose()?;
        Ok(Work { args, options, journal, done_before, errors: AtomicU64::new(0) })
    }

    /// A single file uses all threads for its tiles. Several files share the threads and the memory.
    fn run_jobs(&self, jobs: &[Job]) -> Result<Vec<(PathBuf, Outcome)>> {
        let total = jobs.iter().map(|job| std::fs::metadata(&job.input).map_or(0, |m| m.len())).sum();
        // Each byte is read twice: for archiving and for verification.
        let passes = if self.args.no_verify { 1 } else { 2 };
        let message = match jobs {
            [job] => crate::cmd::shown(&job.input),
            _ => "archive".to_owned(),
        };
        let progress = &Progress::with_passes(total, passes, message).of_files(jobs.len() as u64);
        if let [job] = jobs {
            let one = || match self.begin(job, &self.options, progress) {
                Step::Done(outcome) => vec![(job.input.clone(), outcome)],
                Step::Held(held) => self.publish(vec![*held]),
            };
            return super::with_threads(self.args.threads, one);
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = if self.args.threads == 0 { cores } else { self.args.threads }.min(jobs.len());
        let options = self.options.clone().with_memory(self.args.encode.memory / workers.max(1) as u64);
        let next = AtomicUsize::new(0);
        let waiting = Waiting::default();
        let work = || {
            super::with_threads(1, || {
                let mut outcomes = Vec::new();
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let step = self.begin(job, &options, progress);
                    progress.file_done();
                    match step {
                        Step::Done(outcome) => outcomes.push((job.input.clone(), outcome)),
                        // The thread that completes a batch waits for the disk, and the others continue.
                        Step::Held(held) => outcomes.extend(self.publish(waiting.add(*held))),
                    }
                }
                outcomes
            })
        };
        let mut outcomes = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
            let done =
                handles.into_iter().map(|h| h.join().expect("a worker's panic is this command's panic"));
            Ok::<_, anyhow::Error>(
                done.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect::<Vec<_>>(),
            )
        })?;
        outcomes.extend(self.publish(waiting.rest()));
        Ok(outcomes)
    }

    /// Archives one file, unless it is already done. The archive has no name yet.
    fn begin<'j>(&self, job: &'j Job, options: &WriterOptions, progress: &Progress) -> Step<'j> {
        let enough = self.args.run.max_errors.is_some_and(|most| self.errors.load(Ordering::Relaxed) >= most);
        if interrupted() || enough {
            let logged = self.journal.as_ref().map_or(Ok(()), |j| j.add(job, "not tried", json!({})));
            return Step::Done(match logged {
                Ok(()) => Outcome::NotTried,
                Err(e) => Outcome::Failed(self.fail(&job.input, &e.into())),
            });
        }
        let begin = Instant::now();
        match self.try_one(job, options, progress) {
            Ok(Some((prepared, before))) => Step::Held(Box::new(Held { job, prepared, before, begin })),
            Ok(None) => Step::Done(self.conclude(job, begin, Ok(None))),
            Err(e) => Step::Done(self.conclude(job, begin, Err(e))),
        }
    }

    /// Gives archives their names, and reports and logs the results.
    fn publish(&self, held: Vec<Held<'_>>) -> Vec<(PathBuf, Outcome)> {
        let (rest, prepared): (Vec<_>, Vec<_>) =
            held.into_iter().map(|h| ((h.job, h.before, h.begin), h.prepared)).unzip();
        let published = publish(prepared).into_iter().zip(rest);
        let conclude = |(done, (job, before, begin)): (
            nc3z_writer::Result<Archived>,
            (&Job, Option<Metadata>, Instant),
        )| {
            let done = done.map_err(anyhow::Error::from).and_then(|done| {
                report(&job.input, &job.output, &done);
                if self.args.remove_source {
                    removal::remove(&job.input, before.as_ref(), &done)?;
                }
                Ok(Some(done))
            });
            (job.input.clone(), self.conclude(job, begin, done))
        };
        published.map(conclude).collect()
    }

    /// Reports and logs the result for a file. `None` means that its archive already existed.
    fn conclude(&self, job: &Job, begin: Instant, done: Result<Option<Archived>>) -> Outcome {
        let done = match done {
            Err(e) if self.came_meanwhile(job, &e) => Ok(None),
            done => done,
        };
        let (outcome, state, mut more) = match done {
            Ok(Some(done)) => {
                let sizes = json!({"original_bytes": done.original_len, "stored_bytes": done.stored_len,
                    "parity_bytes": done.parity_len, "original_sha256": text::hex(&done.sha256), "proven": done.proven});
                let outcome = Outcome::Archived { before: done.original_len, after: done.stored_len };
                (outcome, "archived", sizes)
            }
            Ok(None) => {
                if tells_more() {
                    note!("{}: its archive exists already", crate::cmd::shown(&job.input));
                }
                (Outcome::Present, "present", json!({}))
            }
            Err(e) => {
                let exit = self.fail(&job.input, &e);
                let state = if exit == Exit::Interrupted { "interrupted" } else { "failed" };
                (Outcome::Failed(exit), state, json!({"error": text::safe(&chain(&e))}))
            }
        };
        more["seconds"] = json!((begin.elapsed().as_secs_f64() * 1e3).round() / 1e3);
        match self.journal.as_ref().map_or(Ok(()), |journal| journal.add(job, state, more)) {
            Ok(()) => outcome,
            // The archive exists, but a run that resumes by the log would not know it.
            Err(e) => Outcome::Failed(self.fail(&job.input, &e.into())),
        }
    }

    /// Returns nothing if the archive already exists, otherwise also the metadata of the source from before.
    fn try_one(
        &self,
        job: &Job,
        options: &WriterOptions,
        progress: &Progress,
    ) -> Result<Option<(Prepared, Option<Metadata>)>> {
        if self.is_done(job)? {
            return Ok(None);
        }
        if self.args.remove_source {
            removal::prepare(&job.input);
        }
        let before = std::fs::metadata(&job.input).ok();
        if before.is_some() {
            places::prepare(&job.output)?;
        }
        Ok(Some((prepare_file(&job.input, &job.output, options, progress)?, before)))
    }

    /// Returns whether an earlier run has archived this file, by the test that the user chose.
    fn is_done(&self, job: &Job) -> Result<bool> {
        if self.done_before.contains(job.input.as_os_str().as_encoded_bytes()) && job.output.is_file() {
            return Ok(true);
        }
        let Some(how) = self.args.run.skip_existing else { return Ok(false) };
        match Self::is_present(job, how) {
            // An existing file that is not the source's archive will be replaced.
            Err(_) if self.args.force => Ok(false),
            found => Ok(found?),
        }
    }

    /// Returns whether another run with the same work has written the archive after this run looked for it.
    fn came_meanwhile(&self, job: &Job, e: &anyhow::Error) -> bool {
        let exists = |e: &nc3z_writer::Error| matches!(e.kind(), ErrorKind::Exists(_));
        let Some(how) = self.args.run.skip_existing else { return false };
        e.downcast_ref().is_some_and(exists) && Self::is_present(job, how).is_ok_and(|is| is)
    }

    fn is_present(job: &Job, how: SkipArg) -> nc3z_tree::Result<bool> {
        let how = match how {
            SkipArg::Header => Evidence::Header,
            SkipArg::Digest => Evidence::Digest,
            SkipArg::Name => Evidence::Name,
        };
        let silent = Progress::new(0, String::new());
        present::is_present(&job.input, &job.output, how, &crate::registry::open_options(), &silent)
    }

    /// Reports what would be done.
    fn dry_run(&self, found: &Found) -> Exit {
        let mut summary = Summary::new("to archive", &found.others);
        let mut worst = Exit::Done;
        for (path, e) in &found.failures {
            worst = worst.max(self.fail(path, e));
            summary.failed += 1;
        }
        for job in &found.jobs {
            let (input, output) = (crate::cmd::shown(&job.input), crate::cmd::shown(&job.output));
            match self.is_done(job) {
                Ok(true) => summary.kept.0 += 1,
                Ok(false) if !self.args.force && job.output.symlink_metadata().is_ok() => {
                    worst = worst.max(Exit::Failed);
                    summary.failed += 1;
                    note!("nc3z: {input}: `{output}` exists (--skip-existing skips it, --force replaces it)");
                }
                Ok(false) => {
                    summary.done += 1;
                    note!("{input} -> {output}");
                }
                Err(e) => {
                    worst = worst.max(self.fail(&job.input, &e));
                    summary.failed += 1;
                }
            }
        }
        tree::tell(&summary);
        worst
    }

    /// Handles files of a tree that are not classic netCDF: they are skipped, listed, refused or copied.
    fn deal_with_others(&self, others: &[Other], summary: &mut Summary) -> Result<Exit> {
        let arg = match self.args.run.others {
            None => None,
            Some(OthersOfTreeArg::List) => Some(OthersArg::List),
            Some(OthersOfTreeArg::Fail) => Some(OthersArg::Fail),
            Some(OthersOfTreeArg::Copy) => {
                let Some(output) = manifests::output(self.args) else {
                    bail!("--others copy copies into another directory; name it with -o");
                };
                return Ok(self.copy(others, &output, summary));
            }
        };
        Ok(tree::judge(others, arg))
    }

    fn copy(&self, others: &[Other], output: &Path, summary: &mut Summary) -> Exit {
        let mut worst = Exit::Done;
        for other in others.iter().filter(|o| o.kind == FileKind::InsideLink) {
            if let Err(e) = self.link(other, output, summary) {
                summary.failed += 1;
                worst = worst.max(self.fail(&other.path, &e));
            }
        }
        for other in others.iter().filter(|o| o.kind.is_content()) {
            if interrupted() {
                return Exit::Interrupted;
            }
            match copy_file(&other.path, &output.join(&other.name), self.args) {
                Ok(true) => summary.copied += 1,
                Ok(false) => summary.kept.0 += 1,
                Err(e) => {
                    summary.failed += 1;
                    worst = worst.max(self.fail(&other.path, &e));
                }
            }
        }
        worst
    }

    /// Creates a link of the tree in the output, if its target is archived or copied.
    fn link(&self, other: &Other, output: &Path, summary: &mut Summary) -> Result<()> {
        // A target that is copied keeps its name.
        let is_archived = targets::looks_classic(&other.path);
        let rename = |p: &Path| Ok(if is_archived { targets::archive_name(p) } else { p.to_owned() });
        tree::make_link(other, &output.join(&other.name), &rename, self.args.force, summary)
    }

    /// Logs the files of a tree that are skipped, with the reason.
    fn log_others(&self, others: &[Other]) -> nc3z_tree::Result<()> {
        let Some(journal) = &self.journal else { return Ok(()) };
        others.iter().try_for_each(|other| {
            let mut more = json!({"reason": other.kind.to_string()});
            if let Ok(target) = std::fs::read_link(&other.path) {
                more["target"] = text::safe(&target.to_string_lossy()).into();
            }
            journal.add_file(&other.path, journal::PASSED_OVER, more)
        })
    }

    /// Reports and logs directories that could not be read.
    fn fail_unread(&self, path: &Path, error: &anyhow::Error) -> Outcome {
        let exit = self.fail(path, error);
        let more = json!({"error": text::safe(&chain(error))});
        match self.journal.as_ref().map_or(Ok(()), |journal| journal.add_file(path, "failed", more)) {
            Ok(()) => Outcome::Failed(exit),
            Err(e) => Outcome::Failed(self.fail(path, &e.into())),
        }
    }

    /// A failure of `archive` never means a corrupt archive: the exit code is 1, or 130.
    fn fail(&self, path: &Path, error: &anyhow::Error) -> Exit {
        report_error(Some(path), error);
        self.errors.fetch_add(1, Ordering::Relaxed);
        match of_error(error) {
            Exit::Interrupted => Exit::Interrupted,
            _ => Exit::Failed,
        }
    }
}

/// Copies a file with its mode and time. Returns false if an identical copy exists and may be skipped.
fn copy_file(from: &Path, to: &Path, args: &ArchiveArgs) -> Result<bool> {
    let mut source =
        nc3z_reader::source::open_regular(from).with_context(|| format!("open `{}`", from.display()))?;
    let meta = source.metadata().with_context(|| format!("look at `{}`", from.display()))?;
    let looks_same = |there: std::fs::Metadata| {
        there.len() == meta.len() && there.modified().ok() == meta.modified().ok() && there.is_file()
    };
    if args.run.skip_existing.is_some() && std::fs::symlink_metadata(to).is_ok_and(looks_same) {
        return Ok(false);
    }
    places::prepare(to)?;
    let target = AtomicFile::create(to, args.force)?;
    std::io::copy(&mut source, &mut target.file()).with_context(|| format!("copy to `{}`", to.display()))?;
    target.commit(Some(&meta))?;
    Ok(true)
}

fn options(args: &ArchiveArgs) -> WriterOptions {
    let mut quantize = Wanted::default();
    args.quantize.iter().for_each(|(name, mode)| quantize.push(name, *mode));
    let options = encode_options(&args.encode);
    let options = options.with_quantize(quantize).with_verify(!args.no_verify).with_force(args.force);
    let options = options.with_md5(args.digest == Some(DigestArg::Md5));
    let options = options.with_content_digests(args.digest != Some(DigestArg::None));
    match args.parity {
        Some(share) => options.with_parity(share),
        None => options,
    }
}

/// Returns the options that all commands for writing archives share.
pub(super) fn encode_options(args: &EncodeArgs) -> WriterOptions {
    let preset = match args.preset {
        PresetArg::Fast => Preset::Fast,
        PresetArg::Default => Preset::Default,
        PresetArg::Max => Preset::Max,
    };
    let registry = crate::registry::registry();
    let mut chains = Wanted::default();
    let mut options = WriterOptions::default().with_preset(preset).with_memory(args.memory);
    let zarr = args.profile == Some(ProfileArg::Zarr);
    if zarr {
        options = options.with_layout(TileChoice::Chunked);
        let chain = WantedChain::parse(nc3z_refs::PROFILE_CHAIN).expect("a test parses it");
        chains.push("*", chain);
    }
    for rule in &args.chains {
        chains.push(&rule.variable, rule.chain(&registry));
        if rule.needs_plugin() {
            let name = text::safe(&rule.variable);
            note!(
                "nc3z: warning: chain of `{name}`: a plug-in's filter; reading or restoring the archive needs the plug-in, too"
            );
        }
    }
    options = options.with_chains(chains).with_registry(registry);
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
        EdgeArg::Clip if zarr => Edge::Padded,
        EdgeArg::Clip => Edge::Clipped,
        EdgeArg::Pad => Edge::Padded,
    })
}

fn report(input: &Path, output: &Path, done: &Archived) {
    for warning in &done.warnings {
        note!("nc3z: warning: {}: {}", crate::cmd::shown(input), text::safe(warning));
    }
    let proven = match (done.proven, &done.lossy) {
        (true, None) => ", proven",
        (true, Some(_)) => ", LOSSY, the rounded file proven",
        (false, None) => ", not proven",
        (false, Some(_)) => ", LOSSY, not proven",
    };
    let parity = if done.parity_len > 0 {
        let cost = cost(done.stored_len - done.parity_len, done.stored_len);
        format!(", parity {cost}")
    } else {
        String::new()
    };
    tell!(
        "{} -> {}  {} -> {} ({}x){proven}{parity}",
        crate::cmd::shown(input),
        crate::cmd::shown(output),
        text::size(done.original_len),
        text::size(done.stored_len),
        text::ratio(done.original_len, done.stored_len),
    );
    if let Some(lossy) = &done.lossy {
        note!("  values were rounded as requested; the archive restores the rounded file, not the source");
        lossy.variables.iter().for_each(|v| note!("  {}", text::loss(v)));
    }
}
