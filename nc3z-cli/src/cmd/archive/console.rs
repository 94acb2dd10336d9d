//! Messages of `nc3z archive` while it works.

use super::super::parity::cost;
use crate::args::ArchiveArgs;
use crate::output::progress::{Interrupt, Progress};
use crate::output::table::count;
use crate::output::{chain, report_error, tells_more, text};
use nc3z_collections::tree::run::{Event, Observer};
use nc3z_collections::tree::walk::Job;
use nc3z_reader::Monitor;
use nc3z_writer::ArchiveReport;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Prints each result, and shows the progress of a run.
pub(super) struct ConsoleObserver<'a> {
    args: &'a ArchiveArgs,
    progress: OnceLock<Progress>,
    /// The number of archived files, and of those without a variable to which `--tile` applies.
    archived: (AtomicU64, AtomicU64),
}

impl<'a> ConsoleObserver<'a> {
    pub(super) fn new(args: &'a ArchiveArgs) -> Self {
        ConsoleObserver { args, progress: OnceLock::new(), archived: Default::default() }
    }

    /// Notes how many files have nothing that `--tile` is for.
    pub(super) fn end(&self) {
        let [all, without] = [&self.archived.0, &self.archived.1].map(|n| n.load(Ordering::Relaxed));
        if without > 0 {
            let all = count(all, "file");
            note!(
                "nc3z: note: {without} of {all} have no variable with the dimensions of --tile, which had no effect on them"
            );
        }
    }
}

impl Observer for ConsoleObserver<'_> {
    fn monitor(&self) -> &dyn Monitor {
        self.progress.get().map_or(&Interrupt, |progress| progress)
    }

    fn begin(&self, jobs: &[Job], bytes: u64) {
        crate::cmd::begin_long_work(if jobs.len() == 1 { *self.args.threads } else { 1 });
        // Each byte is read twice: for archiving and for verification.
        let passes = if self.args.no_verify { 1 } else { 2 };
        let message = match jobs {
            [job] => crate::cmd::shown(&job.input),
            _ => "archive".to_owned(),
        };
        if let [first, ..] = jobs {
            crate::cmd::outputs::warn_of_space(&first.output, bytes);
        }
        let _ = self.progress.set(Progress::with_passes(bytes, passes, message).of_files(jobs.len() as u64));
    }

    fn end(&self) {
        self.progress.get().into_iter().for_each(Progress::finish);
    }

    fn event(&self, event: Event<'_>) {
        let shown = crate::cmd::shown;
        match event {
            Event::Notice(notice) => crate::cmd::targets::print(std::slice::from_ref(notice)),
            Event::Offline(files) => crate::cmd::offline::tell(files),
            Event::Removed(path) => crate::cmd::outputs::print(&[path.to_owned()]),
            Event::Archived(job, done) => {
                self.archived.0.fetch_add(1, Ordering::Relaxed);
                self.archived.1.fetch_add(done.without_chunks.into(), Ordering::Relaxed);
                report(&job.input, &job.output, done);
            }
            Event::Present(job) if tells_more() => {
                note!("{}: its archive exists already", shown(&job.input));
            }
            Event::FileDone => self.progress.get().into_iter().for_each(Progress::file_done),
            Event::WouldArchive(job) => {
                note!("{} would be archived as {}", shown(&job.input), shown(&job.output));
            }
            Event::WouldFail(job) => {
                let (input, output) = (shown(&job.input), shown(&job.output));
                note!(
                    "nc3z: {input} would not be archived: `{output}` exists (--skip-existing skips it, --force replaces it)"
                );
            }
            Event::LinkLeadsOut(path) => crate::cmd::tree::tell_leads_out(path),
            _ => {}
        }
    }

    fn failed(&self, _: Option<&Job>, path: &Path, error: nc3z_collections::tree::Error) -> String {
        let error = anyhow::Error::from(error);
        report_error(Some(path), &error);
        text::safe(&chain(&error))
    }
}

/// Prints the result for a file.
pub(super) fn report(input: &Path, output: &Path, done: &ArchiveReport) {
    for warning in &done.warnings {
        note!("nc3z: warning: {}: {}", crate::cmd::shown(input), text::safe(warning));
    }
    let proven = match (done.proven, &done.lossy) {
        (true, None) => ", verified",
        (true, Some(_)) => ", LOSSY, the rounded file verified",
        (false, None) => ", not verified",
        (false, Some(_)) => ", LOSSY, not verified",
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
