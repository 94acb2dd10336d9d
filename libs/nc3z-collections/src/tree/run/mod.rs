//! Archives many files: those named, those of a list, and those of directories.
//!
//! [`run`] finds the files, archives them on several threads, skips those that are done, logs each result, and copies other files of
//! a tree if that is asked for. A failure of one file stops no other. [`run_jobs`] does so for pairs of file and archive that the
//! caller knows. An [`Observer`] receives each result at once.

mod files;
mod limits;
mod observer;
mod others;

pub use observer::{Event, Observer};

use crate::tree::campaign::Campaign;
use crate::tree::error::Context as _;
use crate::tree::journal::{self, About, Journal};
use crate::tree::manifest::output::nameable;
use crate::tree::offline::{self, Offline};
use crate::tree::output_dirs::OutputDirs;
use crate::tree::present::Evidence;
use crate::tree::refusal::{ManifestFault, Refusal};
use crate::tree::walk::{self, Found, Job, Naming, Shard};
use crate::tree::{Error, Other, Result, Summary};
use files::Work;
use nc3z_reader::OpenOptions;
use nc3z_writer::WriterOptions;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The files of a run.
pub struct Inputs<'a> {
    /// Files and directories.
    pub paths: &'a [PathBuf],
    /// Returns the names of further files. It is called after the paths are checked.
    pub listed: Option<&'a dyn Fn() -> Result<Vec<PathBuf>>>,
}

/// The options of a run. The default archives each file beside itself and replaces nothing.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The options of the archives.
    pub writer: WriterOptions,
    /// The options for opening existing archives.
    pub open: OpenOptions,
    /// The number of threads; 0 means one for each core. A single file uses all, and several files share them.
    pub threads: usize,
    /// The number of files at a time, which share the threads; by default one for each thread.
    pub workers: Option<usize>,
    /// Memory for buffers in bytes, of all files together; none means that of `writer` for each.
    pub memory: Option<u64>,
    /// The archive of a single file, or the directory for archives. Without it, an archive is beside its file.
    pub output: Option<PathBuf>,
    /// Enters directories.
    pub recursive: bool,
    /// The part of the files to archive.
    pub shard: Option<Shard>,
    /// The test by which an existing archive is kept. Without it, an existing archive is an error.
    pub skip_existing: Option<Evidence>,
    /// Replaces existing archives.
    pub force: bool,
    /// Deletes each file after its archive is safe on disk.
    pub remove_source: bool,
    /// The log to append to.
    pub log: Option<PathBuf>,
    /// The command line, without secrets, for the first line of the log.
    pub arguments: Vec<String>,
    /// The name of the list of further files, for the first line of the log.
    pub list: Option<PathBuf>,
    /// The plan and the unit, if the list is a unit of a plan. Files keep their names in the trees.
    pub unit: Option<(Campaign, String)>,
    /// The log of an earlier run, whose finished files are skipped.
    pub resume: Option<PathBuf>,
    /// After this number of failures, no more files are begun.
    pub max_errors: Option<u64>,
    /// After this time, no more files are begun.
    pub stop_after: Option<Duration>,
    /// The bytes of files that are begun in a second, on average. One file may be read faster.
    pub max_rate: Option<u64>,
    /// While this file exists, no more files are begun.
    pub pause: Option<PathBuf>,
    /// The treatment of files whose data are on tape.
    pub offline: Offline,
    /// Refuses archives whose names are not UTF-8, which a bag cannot list.
    pub utf8_names: bool,
    /// Copies the other files of trees to `output`.
    pub copy_others: bool,
    /// Only reports what would be done.
    pub dry_run: bool,
}

/// How a part of a run ended. Later variants are worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Everything was done.
    Done,
    /// Files failed that will never be archived as they are ([`Code::is_permanent_input`](crate::tree::code::Code::is_permanent_input)), and nothing else. Only for a run with a log.
    Refused,
    /// Something failed.
    Failed,
    /// The monitor ended it.
    Interrupted,
}

/// The result for one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It was archived.
    Archived {
        /// The length of the file.
        before: u64,
        /// The length of its archive.
        after: u64,
    },
    /// Its archive already existed.
    Present,
    /// It was not archived, or not logged.
    Failed(Ending),
    /// The run ended before it.
    NotTried,
}

/// The results of a run.
#[derive(Debug)]
pub struct Report {
    /// The number of files by their results.
    pub summary: Summary,
    /// The files to archive, with their archives.
    pub jobs: Vec<Job>,
    /// The files that this run archived.
    pub archived: HashSet<PathBuf>,
    /// The files that failed, and those that were interrupted.
    pub failed: Vec<(PathBuf, Ending)>,
    /// The number of files, with those that could not be read.
    pub files: usize,
    /// Other files of the trees.
    pub others: Vec<Other>,
    /// The end of copying the other files; in a dry run, the end that it would have.
    pub ending: Ending,
    /// The number of files that were left out, because their data are on tape.
    pub offline: usize,
    /// True if any input was a directory.
    pub is_tree: bool,
}

impl Report {
    /// Returns the archives of the files that did not fail.
    pub fn archives(&self) -> Vec<PathBuf> {
        let failed: HashSet<&Path> = self.failed.iter().map(|(path, _)| path.as_path()).collect();
        let made = self.jobs.iter().filter(|job| !failed.contains(job.input.as_path()));
        made.map(|job| job.output.clone()).collect()
    }

    /// Returns the archives that this run has written.
    pub fn made(&self) -> HashSet<&Path> {
        let made = self.jobs.iter().filter(|job| self.archived.contains(&job.input));
        made.map(|job| job.output.as_path()).collect()
    }
}

/// Archives files. The directories of archives are made in `places`.
///
/// # Errors
/// The inputs are wrong, and nothing was archived; a log cannot be read or written. The failure of a file is in the report.
pub fn run(
    inputs: &Inputs<'_>,
    options: &Options,
    places: &OutputDirs,
    observer: &dyn Observer,
) -> Result<Report> {
    if options.copy_others && options.output.is_none() {
        return Err(Refusal::CopyInPlace.into());
    }
    if options.unit.is_some() || options.shard.is_some() {
        places.share();
    }
    let (found, skipped) = find(inputs, options, observer)?;
    let planned = found.jobs.len() + found.failures.len() + found.others.len() + skipped.len();
    let work = Work::new(options, inputs.paths, planned, Some(places), observer)?;
    if options.dry_run {
        return Ok(work.dry_run(found));
    }
    let mut summary = Summary::new("archived", &found.others);
    let files = found.jobs.len() + found.failures.len();
    let failures = found.failures.into_iter().map(|(path, e)| {
        let outcome = work.fail_unread(&path, e);
        (path, outcome)
    });
    let mut outcomes: Vec<(PathBuf, Outcome)> = failures.collect();
    work.log_others(&found.others)?;
    work.log_offline(&skipped)?;
    outcomes.extend(work.run_jobs(&found.jobs)?);
    work.end()?;
    let (mut archived, mut failed, mut stopped) = (HashSet::new(), Vec::new(), Vec::new());
    for (path, outcome) in outcomes {
        match outcome {
            Outcome::Archived { before, after } => {
                summary.add(before, after);
                archived.insert(path);
            }
            Outcome::Present => summary.kept.0 += 1,
            Outcome::NotTried => summary.not_tried += 1,
            Outcome::Failed(Ending::Interrupted) => {
                summary.interrupted += 1;
                stopped.push((path, Ending::Interrupted));
            }
            Outcome::Failed(ending) => {
                summary.failed += 1;
                failed.push((path, ending));
            }
        }
    }
    let ending = match &options.output {
        Some(output) if options.copy_others => {
            work.copy_others(&found.others, &found.jobs, output, &mut summary)
        }
        _ => Ending::Done,
    };
    failed.extend(stopped);
    let (jobs, others, is_tree) = (found.jobs, found.others, found.is_tree);
    let offline = skipped.len();
    Ok(Report { summary, jobs, archived, failed, files, others, ending, offline, is_tree })
}

/// Archives pairs of file and archive, as [`run`] does. Returns the outcome for each, in the order in which they finish. Without
/// `places`, the directories of archives must exist.
///
/// # Errors
/// As [`run`].
pub fn run_jobs(
    jobs: &[Job],
    options: &Options,
    places: Option<&OutputDirs>,
    observer: &dyn Observer,
) -> Result<Vec<(PathBuf, Outcome)>> {
    let inputs: Vec<PathBuf> = jobs.iter().map(|job| job.input.clone()).collect();
    let work = Work::new(options, &inputs, jobs.len(), places, observer)?;
    let outcomes = work.run_jobs(jobs)?;
    work.end()?;
    Ok(outcomes)
}

/// Returns the files to archive, without those of other shards, and the offline files that are left out.
fn find(inputs: &Inputs<'_>, options: &Options, observer: &dyn Observer) -> Result<(Found, Vec<PathBuf>)> {
    options.output.as_deref().map_or(Ok(()), nc3z_writer::refuse_url)?;
    let rename = |p: &Path| Ok(walk::archive_name(p));
    let naming = Naming { rename: &rename, wanted: &walk::looks_classic };
    let output = options.output.as_deref();
    let mut found = walk::pair(inputs.paths, output, options.recursive, &naming)?;
    found.notices.iter().for_each(|notice| observer.event(Event::Notice(notice)));
    let listed = inputs.listed.map_or_else(|| Ok(Vec::new()), |names| names())?;
    let place = |file: &Path| match &options.unit {
        Some((campaign, _)) => campaign.name_of(file).to_owned(),
        None => file.to_owned(),
    };
    walk::pair_list(listed, output, &naming, &place, &mut found)?;
    if let Some(shard) = options.shard {
        walk::keep_shard(&mut found.jobs, shard);
        walk::keep_others_of_shard(&mut found.others, shard);
    }
    let (jobs, offline) = offline::sorted(found.jobs, |job| &job.input, options.offline)?;
    found.jobs = jobs;
    offline.iter().for_each(|files| observer.event(Event::Offline(files)));
    let mut skipped = offline.map(|files| files.skipped).unwrap_or_default();
    if options.copy_others {
        let (others, offline) = offline::sorted(found.others, |other| &other.path, options.offline)?;
        found.others = others;
        offline.iter().for_each(|files| observer.event(Event::Offline(files)));
        skipped.extend(offline.into_iter().flat_map(|files| files.skipped));
    }
    if options.utf8_names {
        let (good, bad) = std::mem::take(&mut found.jobs).into_iter().partition(nameable);
        found.jobs = good;
        let error = || Error::from(ManifestFault::ArchiveName);
        found.failures.extend(bad.into_iter().map(|job: Job| (job.input, error())));
    }
    Ok((found, skipped))
}

/// Calls `work` in a pool of `threads` threads; 0 means one for each core.
///
/// # Errors
/// The system starts no threads.
pub fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> Result<T> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(std::io::Error::other).with_context(|| "start threads".to_owned())?;
    Ok(pool.install(work))
}

/// Opens the log and reads that of an earlier run. The earlier is read first, since both may be one file.
fn logs(
    options: &Options,
    inputs: &[PathBuf],
    planned: usize,
) -> Result<(Option<Journal>, HashSet<Vec<u8>>)> {
    let done_before = options.resume.as_deref().map_or_else(|| Ok(HashSet::new()), journal::done_in)?;
    let about = About {
        arguments: &options.arguments,
        inputs,
        list: options.list.as_deref(),
        output: options.output.as_deref(),
        shard: options.shard,
        unit: options.unit.as_ref().map(|(campaign, unit)| (&*campaign.digest, &**unit)),
        planned: planned as u64,
    };
    let log = options.log.as_deref().filter(|_| !options.dry_run);
    Ok((log.map(|log| Journal::open(log, &about)).transpose()?, done_before))
}
