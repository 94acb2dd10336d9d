//! Recompresses many archives.

use crate::tree::Error;
use crate::tree::manifest::relist::Replaced;
use crate::tree::ordered::{in_order, workers};
use crate::tree::walk::Job;
use nc3z_reader::Monitor;
use nc3z_writer::{Recompressed, ReplacePolicy, WriterOptions, recompress_file};

/// The options of a run.
#[derive(Debug, Clone)]
pub struct RecompressOptions {
    /// The options of the new archives.
    pub writer: WriterOptions,
    /// The conditions under which an archive is replaced.
    pub policy: ReplacePolicy,
    /// True if each new archive replaces the old one, and the outputs of the jobs are not used.
    pub in_place: bool,
    /// The number of threads; 0 means one for each core. A single file uses all, and several files share them.
    pub threads: usize,
    /// Memory for buffers in bytes, of all files together.
    pub memory: u64,
}

/// Recompresses the archives of `jobs`. `begin` is called before each, and may refuse it. `emit` receives the results in the order of
/// the jobs. A failure stops no other file. Returns the archives that were replaced, for
/// [`relist`](crate::tree::manifest::relist::relist).
///
/// # Errors
/// The system starts no threads.
pub fn recompress_jobs<E: From<Error> + Send>(
    jobs: &[Job],
    options: &RecompressOptions,
    begin: &(dyn Fn(&Job) -> Result<(), E> + Sync),
    emit: &mut (dyn FnMut(&Job, Result<Recompressed, E>) + Send),
    monitor: &dyn Monitor,
) -> Result<Vec<Replaced>, E> {
    let workers = workers(options.threads, jobs.len()).max(1);
    let writer = options.writer.clone().with_memory(options.memory / workers as u64);
    let work = |job: &Job| {
        if monitor.is_cancelled() {
            return Err(Error::from(nc3z_reader::Error::interrupted()).into());
        }
        begin(job)?;
        let output = (!options.in_place).then_some(job.output.as_path());
        Ok(recompress_file(&job.input, output, &writer, options.policy, monitor).map_err(Error::from)?)
    };
    let mut replaced = Vec::new();
    in_order(jobs, options.threads, work, |job, done: Result<Recompressed, E>| {
        if let Ok(done) = done.as_ref()
            && done.written
            && options.in_place
        {
            replaced.push(Replaced { path: job.input.clone(), before: done.old_sha256 });
        }
        emit(job, done);
        Ok::<_, E>(())
    })?;
    Ok(replaced)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nc3z_writer::Preset;
    use std::path::{Path, PathBuf};

    #[test]
    fn archives_are_replaced_and_a_failure_stops_no_other() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/archives/v1_0_0");
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::copy(golden.join("winds.default.nc3z"), path("a.nc3z")).unwrap();
        std::fs::write(path("b.nc3z"), "no archive").unwrap();
        std::fs::copy(golden.join("numeric.default.nc3z"), path("c.nc3z")).unwrap();
        let job = |name: &str| Job { input: path(name), output: PathBuf::new(), name: name.into() };
        let options = RecompressOptions {
            writer: WriterOptions::default().with_preset(Preset::Fast),
            policy: ReplacePolicy::default(),
            in_place: true,
            threads: 2,
            memory: 64 << 20,
        };
        let mut results = Vec::new();
        let jobs = ["a.nc3z", "b.nc3z", "c.nc3z"].map(job);
        let mut emit = |_: &Job, done: Result<_, Error>| results.push(done.is_ok());
        let replaced = recompress_jobs(&jobs, &options, &|_| Ok(()), &mut emit, &()).unwrap();
        assert_eq!(results, [true, false, true]);
        assert_eq!(replaced.iter().map(|r| &r.path).collect::<Vec<_>>(), [&jobs[0].input, &jobs[2].input]);
    }
}
