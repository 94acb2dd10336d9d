//! Restores many archives, and makes the links of their trees.

use crate::bundle::MemberFile;
use crate::tree::links::{self, Made};
use crate::tree::output_dirs::OutputDirs;
use crate::tree::present::{Evidence, is_restored};
use crate::tree::refusal::Refusal;
use crate::tree::walk::{Job, restored_name};
use crate::tree::{Error, FileKind, Other, Result, Summary};
use nc3z_reader::{Archive, Monitor, RestoreReport};
use nc3z_writer::{Attributes, is_same_file, restore_file};
use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// The options of a run.
#[derive(Debug, Clone, Default)]
pub struct RestoreOptions {
    /// The directory for the restored trees. Without it, each file is restored beside its archive.
    pub output: Option<PathBuf>,
    /// Replaces existing files.
    pub force: bool,
    /// The test by which an existing file is kept. Without it, an existing file is an error.
    pub skip_existing: Option<Evidence>,
}

/// An open input.
pub enum Original {
    /// An archive.
    Archive(Archive),
    /// A member of a bundle that is not an archive.
    Member(MemberFile),
}

/// The file of an input, which must not be the output.
pub struct Like {
    /// The file of the model.
    pub file: Metadata,
    /// Mode and time of the restored file.
    pub attributes: Attributes,
}

impl Like {
    /// The file of this name. None if it cannot be looked at.
    pub fn of_path(path: &Path) -> Option<Self> {
        let file = path.metadata().ok()?;
        Some(Like { attributes: Attributes::of_path(path, &file), file })
    }
}

/// Opens the inputs of a run, and receives its reports. Errors of opening are of the caller's type `E`.
pub trait RestoreObserver<E>: Sync {
    /// Opens an input. Also returns its file; none for an input without a file.
    ///
    /// # Errors
    /// It cannot be opened.
    fn open(&self, input: &Path) -> Result<(Original, Option<Like>), E>;

    /// Returns whether the run ends before the next file.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// Returns the monitor for a file of `bytes` bytes.
    fn monitor(&self, input: &Path, bytes: u64) -> Box<dyn Monitor + '_>;

    /// Is called with each restored file. `restored` is none for a member that is not an archive, whose recorded checksum was compared.
    fn restored(&self, job: &Job, original: &Original, restored: Option<&RestoreReport>);

    /// Is called with each file that existed before.
    fn present(&self, job: &Job) {
        let _ = job;
    }

    /// Is called with each failure.
    fn failed(&self, path: &Path, error: E);

    /// Is called with temporary files of killed runs that were removed.
    fn removed(&self, files: &[PathBuf]) {
        let _ = files;
    }

    /// Is called with each link that leads out of the tree and is not made.
    fn link_leads_out(&self, link: &Path) {
        let _ = link;
    }
}

/// Restores the files of `jobs` one after another, each on all threads of rayon's current pool. Returns the numbers of files, without
/// those that failed.
pub fn restore_jobs<E: From<Error>>(
    jobs: &[Job],
    others: &[Other],
    options: &RestoreOptions,
    places: &OutputDirs,
    observer: &dyn RestoreObserver<E>,
) -> Summary {
    let mut summary = Summary::new("restored", others);
    for (done, job) in jobs.iter().enumerate() {
        if observer.is_cancelled() {
            summary.not_tried = (jobs.len() - done) as u64;
            break;
        }
        match restore_one(job, options, places, observer) {
            Ok(Done::Whole(before, after)) => summary.add(before, after),
            Ok(Done::Present) => {
                summary.kept.0 += 1;
                observer.present(job);
            }
            Ok(Done::Otherwise) => {}
            Err(e) => observer.failed(&job.input, e),
        }
    }
    summary
}

/// Makes the links of trees that lead to restored files or to directories.
pub fn restore_links<E: From<Error>>(
    others: &[Other],
    options: &RestoreOptions,
    places: &OutputDirs,
    observer: &dyn RestoreObserver<E>,
    summary: &mut Summary,
) {
    // A link to a file that is not an archive has no counterpart.
    let is_made = |other: &&Other| {
        let is_link = other.kind == FileKind::InsideLink;
        is_link && (other.path.is_dir() || restored_name(&other.path).is_ok())
    };
    for other in others.iter().filter(is_made) {
        let prepare = |output: &Path| {
            observer.removed(&places.prepare_like(output, Some((&other.path, &other.name)))?);
            Ok(())
        };
        let to = options.output.as_ref().map_or_else(|| other.path.clone(), |o| o.join(&other.name));
        match links::make(other, &to, &restored_name, options.force, &prepare) {
            Ok(Made::New) => summary.link_made(),
            Ok(Made::Present) => summary.link_present(),
            Ok(_) => observer.link_leads_out(&other.path),
            Err(e) => observer.failed(&other.path, e.into()),
        }
    }
}

/// The result for one file.
enum Done {
    /// All values are the original's: the lengths of archive and original.
    Whole(u64, u64),
    /// The file existed before.
    Present,
    /// A packed member, or a file with fill values.
    Otherwise,
}

fn restore_one<E: From<Error>>(
    job: &Job,
    options: &RestoreOptions,
    places: &OutputDirs,
    observer: &dyn RestoreObserver<E>,
) -> Result<Done, E> {
    observer.removed(&places.prepare_like(&job.output, Some((&job.input, &job.name)))?);
    let (original, like) = observer.open(&job.input)?;
    if like.as_ref().is_some_and(|like| is_same_file(&like.file, &job.output)) {
        return Err(Error::from(Refusal::SameFile(job.output.clone())).into());
    }
    let archive = match &original {
        Original::Archive(archive) => archive,
        Original::Member(member) => {
            // The observer asks the member for its lost parts.
            let _ = member.write(&job.output, options.force).map_err(Error::from)?;
            observer.restored(job, &original, None);
            return Ok(Done::Otherwise);
        }
    };
    let monitor = observer.monitor(&job.input, archive.original_len());
    let attributes = like.map(|like| like.attributes);
    if let Some(how) = options.skip_existing
        && is_restored(archive, attributes, &job.output, how, &*monitor)?
    {
        return Ok(Done::Present);
    }
    let restored = restore_file(archive, attributes, &job.output, options.force, &*monitor);
    drop(monitor);
    let restored = restored.map_err(Error::from)?;
    observer.restored(job, &original, Some(&restored));
    let is_whole = archive.filled().is_empty();
    Ok(if is_whole { Done::Whole(archive.stored_len(), restored.len) } else { Done::Otherwise })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::walk::{Naming, pair};
    use nc3z_reader::OpenOptions;
    use nc3z_reader::source;
    use std::sync::Mutex;

    #[derive(Default)]
    struct Seen {
        restored: Mutex<Vec<PathBuf>>,
        failed: Mutex<Vec<PathBuf>>,
    }

    impl RestoreObserver<Error> for Seen {
        fn open(&self, input: &Path) -> Result<(Original, Option<Like>)> {
            let archive = Archive::from_source(source::open(input, false)?, &OpenOptions::default())?;
            Ok((Original::Archive(archive), Like::of_path(input)))
        }

        fn monitor(&self, _: &Path, _: u64) -> Box<dyn Monitor + '_> {
            Box::new(())
        }

        fn restored(&self, job: &Job, _: &Original, restored: Option<&RestoreReport>) {
            assert!(restored.unwrap().matches_record);
            self.restored.lock().unwrap().push(job.output.clone());
        }

        fn failed(&self, path: &Path, _: Error) {
            self.failed.lock().unwrap().push(path.to_owned());
        }
    }

    #[test]
    fn a_tree_is_restored_with_its_links_and_a_failure_stops_no_other() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
        let dir = tempfile::tempdir().unwrap();
        let (tree, output) = (dir.path().join("tree"), dir.path().join("out"));
        std::fs::create_dir_all(tree.join("a")).unwrap();
        for name in ["winds", "numeric"] {
            let archive = golden.join(format!("archives/v1_0_0/{name}.default.nc3z"));
            std::fs::copy(archive, tree.join(format!("a/{name}.nc.nc3z"))).unwrap();
        }
        std::fs::write(tree.join("bad.nc.nc3z"), "no archive").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("a/winds.nc.nc3z", tree.join("link.nc.nc3z")).unwrap();
        let wanted = |path: &Path| path.extension().is_some_and(|e| e == "nc3z");
        let naming = Naming { rename: &restored_name, wanted: &wanted };
        let found = pair(&[tree], Some(&output), true, &naming).unwrap();
        let options = RestoreOptions { output: Some(output.clone()), ..RestoreOptions::default() };
        let (places, seen) = (OutputDirs::new(), Seen::default());
        let mut summary = restore_jobs(&found.jobs, &found.others, &options, &places, &seen);
        restore_links(&found.others, &options, &places, &seen, &mut summary);
        assert_eq!(
            (summary.done, seen.restored.lock().unwrap().len(), seen.failed.lock().unwrap().len()),
            (2, 2, 1)
        );
        let original = std::fs::read(golden.join("classic/winds.nc")).unwrap();
        assert!(std::fs::read(output.join("a/winds.nc")).unwrap() == original);
        #[cfg(unix)]
        assert_eq!(std::fs::read_link(output.join("link.nc")).unwrap(), Path::new("a/winds.nc"));
        // The archives are older than the restored files would be without their time.
        let options = RestoreOptions { skip_existing: Some(Evidence::Header), ..options };
        let again = restore_jobs(&found.jobs, &found.others, &options, &places, &seen);
        assert_eq!((again.done, again.kept.0, seen.restored.lock().unwrap().len()), (0, 2, 2));
    }
}
