//! The directories of this run's outputs ([`nc3z_collections::tree::output_dirs`]), with a note of each file that was removed from them.

use super::named::{self, Opens as _};
use anyhow::{Result, bail};
use nc3z_collections::tree::output_dirs::{self, OutputDirs};
use nc3z_writer::{AtomicFile, is_same_file};
use std::path::{Path, PathBuf};

static PLACES: OutputDirs = OutputDirs::new();

/// The directories of this run.
pub(crate) fn all() -> &'static OutputDirs {
    &PLACES
}

/// Refuses an output that the user has named, in a directory that does not exist, unless `parents` is set. Every
/// command that writes files calls this before its work.
pub(crate) fn check(output: Option<&Path>, parents: bool) -> Result<()> {
    Ok(output_dirs::check(output, parents)?)
}

/// As [`check`], and also refuses standard output: the command writes to a file only.
pub(crate) fn check_file(output: Option<&Path>, parents: bool) -> Result<()> {
    if output.is_some_and(super::stdin::is) {
        bail!("`-` is standard output, and this command writes to a file only: name it with -o");
    }
    check(output, parents)
}

/// Creates the directory of an output, and removes temporary files of killed runs from it. No file is named `-`,
/// which is standard output: commands that write to it do not call this.
pub(crate) fn prepare(output: &Path) -> Result<()> {
    check_file(Some(output), true)?;
    print(&PLACES.prepare(output)?);
    Ok(())
}

/// As [`prepare`], and refuses a file that exists, unless `force` is set: before the work, not after it.
pub(crate) fn prepare_new(output: &Path, force: bool) -> Result<()> {
    prepare(output)?;
    if output.exists() && !force {
        return Err(nc3z_writer::Error::from(nc3z_writer::ErrorKind::Exists(output.to_owned())).into());
    }
    Ok(())
}

/// Refuses an output of about `needed` bytes for which its file system has no space. It says nothing where the system does not
/// tell.
pub(crate) fn check_space(output: &Path, needed: u64) -> Result<()> {
    #[cfg(unix)]
    {
        let directory = output.ancestors().skip(1).find(|d| d.is_dir()).unwrap_or(Path::new("."));
        let Ok(system) = rustix::fs::statvfs(directory) else { return Ok(()) };
        let free = system.f_bavail.saturating_mul(system.f_frsize);
        if free < needed {
            bail!(
                "`{}` needs {}, and its file system has {} left; free some space, or write to another directory",
                crate::cmd::shown(output),
                crate::output::text::size(needed),
                crate::output::text::size(free)
            );
        }
    }
    Ok(())
}

/// As [`prepare`], for the output of a file of a tree: a directory that is made gets the mode of the input's.
pub(crate) fn prepare_like(job: &super::targets::Job) -> Result<()> {
    check_file(Some(&job.output), true)?;
    print(&PLACES.prepare_like(&job.output, Some((&job.input, &job.name)))?);
    Ok(())
}

/// Gives the directories that this run created the modes of their sources.
pub(crate) fn finish() {
    for path in PLACES.finish() {
        note!("nc3z: warning: {}: its mode is not that of its source", crate::cmd::shown(&path));
    }
}

/// Refuses an output for a part of a file that is the file itself.
pub(crate) fn refuse_same(file: &Path, output: &Path) -> Result<()> {
    if named::of(file)?.metadata()?.is_some_and(|input| is_same_file(&input, output)) {
        bail!("input and output are the same file `{}`", output.display());
    }
    Ok(())
}

/// Creates the output for a part of a file, which may not be the file itself.
pub(crate) fn output_of(file: &Path, output: &Path, force: bool) -> Result<AtomicFile> {
    prepare(output)?;
    refuse_same(file, output)?;
    Ok(AtomicFile::create_with_mode(output, force, 0o666)?)
}

/// Removes the temporary files that killed runs left anywhere in a tree.
pub(crate) fn clean(root: &Path) {
    print(&output_dirs::clean(root));
}

/// Removes the directories that this run created and wrote nothing to.
pub(crate) fn remove_empty() {
    PLACES.remove_empty();
}

pub(super) fn print(removed: &[PathBuf]) {
    for path in removed {
        note!("nc3z: removed {}, left by a run that was killed", crate::cmd::shown(path));
    }
}
