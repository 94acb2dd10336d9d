//! The files of a run: each is archived, or skipped, and its result is logged.

use super::limits::Pace;
use super::observer::Silent;
use super::{Ending, Event, Observer, Options, Outcome, Report, logs, with_threads};
use crate::tree::code::Code;
use crate::tree::journal::{self, Journal};
use crate::tree::output_dirs::OutputDirs;
use crate::tree::sync_batch::{PendingArchive, SyncBatch};
use crate::tree::walk::{Found, Job};
use crate::tree::{Error, ErrorKind, Other, Result, Summary, present, removal};
use nc3z_format::bytes::hex;
use nc3z_writer::{ArchiveReport, Prepared, WriterOptions, prepare_file, publish};
use serde_json::json;
use std::collections::HashSet;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// The progress of a file.
enum Step<'j> {
    Done(Outcome),
    /// Its archive is complete, but not yet on disk.
    PendingArchive(Box<PendingArchive<'j>>),
}

/// The state that all files of a run share.
pub(super) struct Work<'a> {
    pub(super) options: &'a Options,
    writer: WriterOptions,
    places: Option<&'a OutputDirs>,
    pub(super) observer: &'a dyn Observer,
    journal: Option<Journal>,
    /// The names of files that an earlier run has finished.
    done_before: HashSet<Vec<u8>>,
    errors: AtomicU64,
    pub(super) pace: Pace,
}

impl<'a> Work<'a> {
    pub(super) fn new(
        options: &'a Options,
        inputs: &[PathBuf],
        planned: usize,
        places: Option<&'a OutputDirs>,
        observer: &'a dyn Observer,
    ) -> Result<Self> {
        let (journal, done_before) = logs(options, inputs, planned)?;
        let writer = options.writer.clone().with_force(options.force);
        let writer = match options.memory {
            Some(memory) => writer.with_memory(memory),
            None => writer,
        };
        let (errors, pace) = (AtomicU64::new(0), Pace::new());
        Ok(Work { options, writer, places, observer, journal, done_before, errors, pace })
    }

    /// A single file uses all threads for its tiles. Several files share the threads and the memory.
    pub(super) fn run_jobs(&self, jobs: &[Job]) -> Result<Vec<(PathBuf, Outcome)>> {
        let bytes = jobs.iter().map(|job| std::fs::metadata(&job.input).map_or(0, |m| m.len())).sum();
        self.observer.begin(jobs, bytes);
        let outcomes = match jobs {
            [job] => with_threads(self.options.threads, || {
                self.wait_for_turn(bytes, &mut || ());
                match self.begin(job, &self.writer) {
                    Step::Done(outcome) => vec![(job.input.clone(), outcome)],
                    Step::PendingArchive(held) => self.publish(vec![*held]),
                }
            }),
            [] => Ok(Vec::new()),
            _ => self.run_many(jobs),
        };
        self.observer.end();
        outcomes
    }

    fn run_many(&self, jobs: &[Job]) -> Result<Vec<(PathBuf, Outcome)>> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if self.options.threads == 0 { cores } else { self.options.threads };
        let workers = self.options.workers.unwrap_or(threads).clamp(1, jobs.len().max(1));
        // Without a number of workers, each thread has a file of its own.
        let each = self.options.workers.map_or(1, |_| (threads / workers).max(1));
        let writer = match self.options.memory {
            Some(memory) => self.writer.clone().with_memory(memory / workers as u64),
            None => self.writer.clone(),
        };
        let next = AtomicUsize::new(0);
        let waiting = SyncBatch::default();
        let work = || {
            with_threads(each, || {
                let mut outcomes = Vec::new();
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let bytes = std::fs::metadata(&job.input).map_or(0, |m| m.len());
                    // Archives do not stay without a name while the run waits.
                    self.wait_for_turn(bytes, &mut || outcomes.extend(self.publish(waiting.rest())));
                    let step = self.begin(job, &writer);
                    if !matches!(step, Step::Done(Outcome::NotTried)) {
                        self.observer.event(Event::FileDone);
                    }
                    match step {
                        Step::Done(outcome) => outcomes.push((job.input.clone(), outcome)),
                        // The thread that completes a batch waits for the disk, and the others continue.
                        Step::PendingArchive(held) => outcomes.extend(self.publish(waiting.add(*held))),
                    }
                }
                outcomes
            })
        };
        let mut outcomes = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
            let done = handles.into_iter().map(|h| h.join().expect("a worker's panic is that of the run"));
            Ok::<_, Error>(done.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect::<Vec<_>>())
        })?;
        outcomes.extend(self.publish(waiting.rest()));
        Ok(outcomes)
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.observer.monitor().is_cancelled()
    }

    /// Archives one file, unless it is already done. The archive has no name yet.
    fn begin<'j>(&self, job: &'j Job, writer: &WriterOptions) -> Step<'j> {
        let enough = self.options.max_errors.is_some_and(|most| self.errors.load(Ordering::Relaxed) >= most);
        if self.is_interrupted() || enough || self.pace.is_over(self.options) {
            let logged = self.log(|journal| journal.add(job, journal::NOT_TRIED, json!({})));
            return Step::Done(match logged {
                Ok(()) => Outcome::NotTried,
                Err(e) => Outcome::Failed(self.fail(Some(job), &job.input, e).0),
            });
        }
        let begin = Instant::now();
        match self.try_one(job, writer) {
            Ok(Some((prepared, before))) => {
                Step::PendingArchive(Box::new(PendingArchive { job, prepared, before, begin }))
            }
            Ok(None) => Step::Done(self.conclude(job, begin, Ok(None))),
            Err(e) => Step::Done(self.conclude(job, begin, Err(e))),
        }
    }

    /// Gives archives their names, and reports and logs the results.
    fn publish(&self, held: Vec<PendingArchive<'_>>) -> Vec<(PathBuf, Outcome)> {
        let (rest, prepared): (Vec<_>, Vec<_>) =
            held.into_iter().map(|h| ((h.job, h.before, h.begin), h.prepared)).unzip();
        let published = publish(prepared).into_iter().zip(rest);
        let conclude = |(done, (job, before, begin)): (
            nc3z_writer::Result<ArchiveReport>,
            (&Job, Option<Metadata>, Instant),
        )| {
            let done = done.map_err(Error::from).and_then(|done| {
                self.observer.event(Event::Archived(job, &done));
                if self.options.remove_source {
                    removal::remove(&job.input, before.as_ref(), &done)?;
                }
                Ok(Some(done))
            });
            (job.input.clone(), self.conclude(job, begin, done))
        };
        published.map(conclude).collect()
    }

    /// Reports and logs the result for a file. `None` means that its archive already existed.
    fn conclude(&self, job: &Job, begin: Instant, done: Result<Option<ArchiveReport>>) -> Outcome {
        let done = match done {
            Err(e) if self.came_meanwhile(job, &e) => Ok(None),
            done => done,
        };
        let done = match done {
            // An earlier run was stopped between the archive and the removal.
            Ok(None) if self.options.remove_source => self.remove_archived(job).map(|()| None),
            done => done,
        };
        let (outcome, state, mut more) = match done {
            Ok(Some(done)) => {
                let sizes = json!({"original_bytes": done.original_len, "stored_bytes": done.stored_len,
                    "parity_bytes": done.parity_len, "original_sha256": hex(&done.sha256), "proven": done.proven});
                let outcome = Outcome::Archived { before: done.original_len, after: done.stored_len };
                (outcome, "archived", sizes)
            }
            Ok(None) => {
                self.observer.event(Event::Present(job));
                (Outcome::Present, "present", json!({}))
            }
            Err(e) => {
                let code = Code::of_file(&e, &job.input);
                let (ending, words) = self.fail(Some(job), &job.input, e);
                let state = if ending == Ending::Interrupted { journal::INTERRUPTED } else { "failed" };
                (
                    Outcome::Failed(ending),
                    state,
                    json!({"error": words, "code": code.name, "retry": code.retry}),
                )
            }
        };
        more["seconds"] = json!((begin.elapsed().as_secs_f64() * 1e3).round() / 1e3);
        match self.log(|journal| journal.add(job, state, more)) {
            Ok(()) => outcome,
            // The archive exists, but a run that resumes by the log would not know it.
            Err(e) => Outcome::Failed(self.fail(Some(job), &job.input, e).0),
        }
    }

    fn remove_archived(&self, job: &Job) -> Result<()> {
        let silent = Silent(self.observer.monitor());
        removal::remove_archived(&job.input, &job.output, &self.options.open, &silent)
    }

    /// Returns nothing if the archive already exists, otherwise also the metadata of the source from before.
    fn try_one(&self, job: &Job, writer: &WriterOptions) -> Result<Option<(Prepared, Option<Metadata>)>> {
        if self.is_done(job)? {
            return Ok(None);
        }
        if self.options.remove_source {
            removal::prepare(&job.input);
        }
        let before = std::fs::metadata(&job.input).ok();
        if before.is_some() {
            self.make_place(&job.output, (&job.input, &job.name))?;
        }
        Ok(Some((prepare_file(&job.input, &job.output, writer, self.observer.monitor())?, before)))
    }

    /// Makes the directory of an output. `source` is the path of the input, and its name in the tree.
    pub(super) fn make_place(&self, output: &Path, source: (&Path, &Path)) -> Result<()> {
        let Some(places) = self.places else { return Ok(()) };
        let removed = places.prepare_like(output, Some(source))?;
        removed.iter().for_each(|path| self.observer.event(Event::Removed(path)));
        Ok(())
    }

    /// Returns whether an earlier run has archived this file, by the test of the options.
    fn is_done(&self, job: &Job) -> Result<bool> {
        if self.done_before.contains(job.input.as_os_str().as_encoded_bytes()) && job.output.is_file() {
            return Ok(true);
        }
        // A file that is named alone may be replaced with all its versions.
        let is_tree = self.options.recursive || self.options.list.is_some() || self.options.unit.is_some();
        if self.options.force && is_tree {
            present::refuse_history(&job.output, &self.options.open)?;
        }
        match self.is_present(job) {
            // An existing file that is not the source's archive will be replaced.
            Err(_) if self.options.force => Ok(false),
            found => found,
        }
    }

    /// Returns whether another run with the same work has written the archive after this run looked for it.
    fn came_meanwhile(&self, job: &Job, e: &Error) -> bool {
        let exists = |e: &ErrorKind| match e {
            ErrorKind::Write(e) => matches!(e.kind(), nc3z_writer::ErrorKind::Exists(_)),
            _ => false,
        };
        exists(e.kind()) && self.is_present(job).is_ok_and(|is| is)
    }

    /// Returns whether the file's archive exists, by the test of the options; without one, false.
    fn is_present(&self, job: &Job) -> Result<bool> {
        let Some(how) = self.options.skip_existing else { return Ok(false) };
        let silent = Silent(self.observer.monitor());
        present::is_present(&job.input, &job.output, how, &self.options.open, &silent)
    }

    /// Reports what would be done.
    pub(super) fn dry_run(&self, found: Found) -> Report {
        let mut summary = Summary::new("to archive", &found.others);
        let mut ending = Ending::Done;
        let files = found.jobs.len() + found.failures.len();
        for (path, e) in found.failures {
            ending = ending.max(self.fail(None, &path, e).0);
            summary.failed += 1;
        }
        for job in &found.jobs {
            match self.is_done(job) {
                Ok(true) => summary.kept.0 += 1,
                Ok(false) if !self.options.force && job.output.symlink_metadata().is_ok() => {
                    ending = ending.max(Ending::Failed);
                    summary.failed += 1;
                    self.observer.event(Event::WouldFail(job));
                }
                Ok(false) => {
                    summary.done += 1;
                    self.observer.event(Event::WouldArchive(job));
                }
                Err(e) => {
                    ending = ending.max(self.fail(Some(job), &job.input, e).0);
                    summary.failed += 1;
                }
            }
        }
        let (jobs, others, is_tree) = (found.jobs, found.others, found.is_tree);
        Report {
            summary,
            jobs,
            archived: HashSet::new(),
            failed: Vec::new(),
            files,
            others,
            ending,
            offline: 0,
            is_tree,
        }
    }

    /// Adds to the log, if there is one.
    fn log(&self, add: impl FnOnce(&Journal) -> Result<()>) -> Result<()> {
        self.journal.as_ref().map_or(Ok(()), add)
    }

    /// Logs the files of a tree that are skipped, with the reason.
    pub(super) fn log_others(&self, others: &[Other]) -> Result<()> {
        let Some(journal) = &self.journal else { return Ok(()) };
        others.iter().try_for_each(|other| {
            let mut more = json!({"reason": other.kind.to_string()});
            if let Ok(target) = std::fs::read_link(&other.path) {
                more["target"] = crate::tree::shown(&target).into();
            }
            journal.add_file(&other.path, journal::PASSED_OVER, more)
        })
    }

    /// Logs the files that are left out, because their data are on tape.
    pub(super) fn log_offline(&self, skipped: &[PathBuf]) -> Result<()> {
        let Some(journal) = &self.journal else { return Ok(()) };
        let reason = "no data on disk";
        skipped
            .iter()
            .try_for_each(|path| journal.add_file(path, journal::ON_TAPE, json!({"reason": reason})))
    }

    pub(super) fn end(&self) -> Result<()> {
        self.log(Journal::end)
    }

    /// Reports and logs directories that could not be read.
    pub(super) fn fail_unread(&self, path: &Path, error: Error) -> Outcome {
        let code = Code::from_error(&error);
        let (ending, words) = self.fail(None, path, error);
        let more = json!({"error": words, "code": code.name, "retry": code.retry});
        match self.log(|journal| journal.add_file(path, "failed", more)) {
            Ok(()) => Outcome::Failed(ending),
            Err(e) => Outcome::Failed(self.fail(None, path, e).0),
        }
    }

    /// Reports and counts a failure. Returns its text, too. Failures after the end of the run was asked for count as interrupted.
    pub(super) fn fail(&self, job: Option<&Job>, path: &Path, error: Error) -> (Ending, String) {
        let is_interrupted = self.is_interrupted() || error.is_interrupted();
        // Without a log, nothing says which inputs these are.
        let is_refused = self.journal.is_some() && Code::from_error(&error).is_permanent_input();
        let words = self.observer.failed(job, path, error);
        self.errors.fetch_add(1, Ordering::Relaxed);
        let ending = match (is_interrupted, is_refused) {
            (true, _) => Ending::Interrupted,
            (false, true) => Ending::Refused,
            (false, false) => Ending::Failed,
        };
        (ending, words)
    }
}
