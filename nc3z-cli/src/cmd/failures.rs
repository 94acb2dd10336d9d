//! The failures of a command over many files. Each is reported at once; together they give the exit code.

use crate::exit::{Exit, of_error};
use crate::output::report_error;
use anyhow::Error;
use std::path::{Path, PathBuf};

/// The files that failed, and those that were interrupted.
#[derive(Debug, Default)]
pub(crate) struct Failures(Vec<(PathBuf, Exit)>);

impl Failures {
    /// Reports files that could not be found or read.
    pub(crate) fn new(found: &[(PathBuf, Error)]) -> Self {
        let mut all = Failures::default();
        found.iter().for_each(|(path, e)| all.report(path, e));
        all
    }

    pub(crate) fn report(&mut self, path: &Path, e: &Error) {
        report_error(Some(path), e);
        self.add(path, of_error(e));
    }

    /// Adds a failure that was reported otherwise.
    pub(crate) fn add(&mut self, path: &Path, exit: Exit) {
        self.0.push((path.to_owned(), exit));
    }

    /// Returns the number of failures and interrupted files.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the number of failures, without the interrupted files.
    pub(crate) fn count(&self) -> usize {
        self.failed().count()
    }

    /// Returns the number of interrupted files.
    pub(crate) fn interrupted(&self) -> usize {
        self.len() - self.count()
    }

    /// Returns the worst exit code.
    pub(crate) fn worst(&self) -> Exit {
        self.0.iter().map(|(_, exit)| *exit).fold(Exit::Done, Exit::max)
    }

    /// Lists the failures again at the end of a run over several files, for example "archives".
    pub(crate) fn list(&self, all: usize, what: &str) {
        if all > 1 && self.count() > 0 {
            note!("nc3z: {} of {all} {what} failed:", self.count());
            self.failed().for_each(|path| note!("  {}", crate::cmd::shown(path)));
        }
    }

    fn failed(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().filter(|(_, exit)| *exit != Exit::Interrupted).map(|(path, _)| path.as_path())
    }
}
