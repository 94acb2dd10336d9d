//! Archives many files with `nc3z_collections::tree::run_jobs`, while the calling thread hands on each result.

use crate::error::{Failure, of_file};
use crate::operations::{Options, archived};
use crate::work::{self, Cancel};
use nc3z::opener::Kind;
use nc3z_collections::tree::run::{Event, Observer};
use nc3z_collections::tree::walk::Job;
use nc3z_collections::tree::{Error, ErrorKind};
use nc3z_reader::Monitor;
use nc3z_writer::{ArchiveReport, WriterOptions};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::Sender;

/// The number of a file, and its result.
type Done = (usize, Result<ArchiveReport, Failure>);

/// Sends results to the calling thread.
struct Results<'a> {
    watch: &'a work::Watch,
    results: Mutex<Sender<Done>>,
}

impl Results<'_> {
    fn send(&self, number: usize, done: Result<ArchiveReport, Failure>) {
        // It is lost after the calling thread has raised an exception.
        let _ = self.results.lock().expect("no panic while it is locked").send((number, done));
    }
}

impl Observer for Results<'_> {
    fn monitor(&self) -> &dyn Monitor {
        self.watch
    }

    fn event(&self, event: Event<'_>) {
        if let Event::Archived(job, done) = event {
            self.send(number_of(job), Ok(done.clone()));
        }
    }

    fn failed(&self, job: Option<&Job>, _: &Path, error: Error) -> String {
        let words = error.with_causes();
        if let Some(job) = job {
            self.send(number_of(job), Err(failure(error)));
        }
        words
    }
}

/// Returns the number that [`archive_many`] gives a job as its name.
fn number_of(job: &Job) -> usize {
    job.name.to_str().and_then(|name| name.parse().ok()).expect("a job's name is its number")
}

fn failure(error: Error) -> Failure {
    match error.into_kind() {
        ErrorKind::Write(e) => e.into(),
        ErrorKind::Read(e) => e.into(),
        other => Failure::Unfit(Error::from(other).with_causes()),
    }
}

/// Archives pairs of file and archive, `workers` at a time. Calls `on_result` on the calling thread with the number of a pair and a
/// dict, or an exception. Pairs that the end of the work came before have no result.
#[pyfunction]
pub(crate) fn archive_many(
    py: Python<'_>,
    pairs: Vec<(PathBuf, PathBuf)>,
    options: &Bound<'_, PyAny>,
    workers: usize,
    on_result: Py<PyAny>,
    cancel: &Cancel,
) -> PyResult<()> {
    let numbered = |(number, (input, output)): (usize, (PathBuf, PathBuf))| Job {
        input,
        output,
        name: number.to_string().into(),
    };
    let jobs: Vec<Job> = pairs.into_iter().enumerate().map(numbered).collect();
    let writer = || -> Result<(WriterOptions, bool), Failure> {
        let options = options.extract::<Options>()?;
        let force = options.force;
        Ok((options.into_writer()?, force))
    };
    let name = |number: usize| jobs[number].input.to_string_lossy().into_owned();
    let Ok((ready, force)) = writer() else {
        // Options that are wrong are the failure of each file.
        for number in 0..jobs.len() {
            if let Err(e) = writer() {
                on_result.call1(py, (number, e.in_file(Some(&name(number)))))?;
            }
        }
        return Ok(());
    };
    let options = nc3z_collections::tree::Options {
        writer: ready,
        threads: crate::process::threads(),
        workers: Some(workers),
        force,
        ..nc3z_collections::tree::Options::default()
    };
    let tell = |(number, done): Done| -> PyResult<()> {
        Python::attach(|py| {
            match done {
                Ok(done) => on_result.call1(py, (number, archived(py, &done)?)),
                Err(e) => on_result.call1(py, (number, of_file(&jobs[number].input, Kind::Classic, e))),
            }
            .map(drop)
        })
    };
    let ran = work::run_telling(py, cancel, &tell, |watch, results| {
        let observer = Results { watch, results: Mutex::new(results) };
        nc3z_collections::tree::run_jobs(&jobs, &options, None, &observer).map(drop).map_err(failure)
    });
    Ok(ran?)
}
