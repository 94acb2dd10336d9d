//! Other files of a tree, which a run copies.

use super::files::Work;
use super::{Ending, Event};
use crate::tree::error::Context as _;
use crate::tree::links::{self, Made};
use crate::tree::refusal::Refusal;
use crate::tree::walk::Job;
use crate::tree::{FileKind, Other, Result, Summary, walk};
use nc3z_reader::source::{Stamp, open_regular};
use nc3z_writer::{AtomicFile, Attributes};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

impl Work<'_> {
    /// Copies files of a tree that are not classic netCDF, and makes its links. What this run has made for another
    /// file is never replaced, also with `force`.
    pub(super) fn copy_others(
        &self,
        others: &[Other],
        jobs: &[Job],
        output: &Path,
        summary: &mut Summary,
    ) -> Ending {
        let mut worst = Ending::Done;
        let mut taken: HashSet<PathBuf> = HashSet::new();
        if self.options.force && !others.is_empty() {
            taken.extend(jobs.iter().map(|job| job.output.clone()));
        }
        for other in others.iter().filter(|o| o.kind == FileKind::InsideLink) {
            if let Err(e) = self.link(other, output, &mut taken, summary) {
                summary.failed += 1;
                worst = worst.max(self.fail(None, &other.path, e).0);
            }
        }
        for other in others.iter().filter(|o| o.kind.is_content()) {
            if self.is_interrupted() {
                return Ending::Interrupted;
            }
            let to = output.join(&other.name);
            let force = self.options.force && taken.insert(to.clone());
            match self.copy_file(other, &to, force) {
                Ok(true) => summary.copied += 1,
                Ok(false) => summary.kept.0 += 1,
                Err(e) => {
                    summary.failed += 1;
                    worst = worst.max(self.fail(None, &other.path, e).0);
                }
            }
        }
        worst
    }

    /// Creates a link of the tree in the output, if its target is archived or copied.
    fn link(
        &self,
        other: &Other,
        output: &Path,
        taken: &mut HashSet<PathBuf>,
        summary: &mut Summary,
    ) -> Result<()> {
        // A target that is copied keeps its name.
        let is_archived = walk::looks_classic(&other.path);
        let rename = |p: &Path| Ok(if is_archived { walk::archive_name(p) } else { p.to_owned() });
        let to = output.join(&other.name);
        let name = if other.path.is_dir() { to.clone() } else { rename(&to)? };
        refuse_over_archive(&other.path, &name)?;
        let force = self.options.force && taken.insert(name);
        match links::make(other, &to, &rename, force, &|to| self.make_place(to, (&other.path, &other.name)))?
        {
            Made::New => summary.link_made(),
            Made::Present => summary.link_present(),
            Made::LeadsOut => self.observer.event(Event::LinkLeadsOut(&other.path)),
        }
        Ok(())
    }

    /// Copies a file with its mode and time. Returns false if an identical copy exists and may be skipped.
    fn copy_file(&self, other: &Other, to: &Path, force: bool) -> Result<bool> {
        let from = &other.path;
        let mut source = open_regular(from).with_context(|| format!("open `{}`", from.display()))?;
        let meta = source.metadata().with_context(|| format!("look at `{}`", from.display()))?;
        let looks_same =
            |there: std::fs::Metadata| there.is_file() && Stamp::new(&there).change(&meta).is_none();
        if self.options.skip_existing.is_some() && std::fs::symlink_metadata(to).is_ok_and(looks_same) {
            return Ok(false);
        }
        refuse_over_archive(from, to)?;
        self.make_place(to, (from, &other.name))?;
        let target = AtomicFile::create(to, force)?;
        std::io::copy(&mut source, &mut target.file())
            .with_context(|| format!("copy to `{}`", to.display()))?;
        target.commit_as(Attributes::of_file(&source, &meta))?;
        Ok(true)
    }
}

/// Refuses to replace an archive, which may be all that is left of its original, by another file. A link of the name is no
/// archive.
fn refuse_over_archive(from: &Path, to: &Path) -> Result<()> {
    if to.is_symlink() || FileKind::from_path(to) != FileKind::Archive {
        return Ok(());
    }
    Err(Refusal::OverArchive { archive: to.to_owned(), file: from.to_owned() }.into())
}
