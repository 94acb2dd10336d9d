//! The outputs of a run: what is checked before the work, and their directories ([`nc3z_collections::tree::output_dirs`]), with a note of each file that was removed from them.

use super::named::{self, Opens as _};
use super::tree::FileKind;
use anyhow::{Result, bail};
use nc3z_collections::tree::output_dirs::{self, OutputDirs};
use nc3z_writer::{AtomicFile, is_same_file};
use std::path::{Path, PathBuf};

static OUTPUT_DIRS: OutputDirs = OutputDirs::new();

/// The directories of this run.
pub(crate) fn all() -> &'static OutputDirs {
    &OUTPUT_DIRS
}

/// Refuses an output that the user has named, in a directory that does not exist, unless `parents` is set, or in which no file can be
/// created. Every command that writes files calls this before its work.
pub(crate) fn check(output: Option<&Path>, parents: bool) -> Result<()> {
    output_dirs::check(output, parents)?;
    output.filter(|output| !super::stdin::is(output)).map_or(Ok(()), check_permission)
}

/// Refuses an output that does not exist, in a directory in which no file can be created.
fn check_permission(output: &Path) -> Result<()> {
    #[cfg(not(unix))]
    let _ = output;
    #[cfg(unix)]
    {
        use rustix::fs::{Access, access};
        use rustix::io::Errno;
        if output.exists() && !output.is_dir() {
            return Ok(());
        }
        let directory = if output.is_dir() { output } else { existing(output) };
        if let Err(e @ (Errno::ACCESS | Errno::ROFS)) = access(directory, Access::WRITE_OK | Access::EXEC_OK)
        {
            bail!(
                "no file can be created in `{}`: {}; choose another directory, or change its permissions",
                crate::cmd::shown(directory),
                crate::output::message::system_words(&e.into())
            );
        }
    }
    Ok(())
}

/// Returns the directory of an output, or the first one above it that exists.
#[cfg(unix)]
fn existing(output: &Path) -> &Path {
    output.ancestors().skip(1).find(|d| d.is_dir()).unwrap_or(Path::new("."))
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
    print(&OUTPUT_DIRS.prepare(output)?);
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

/// Refuses outputs for which their file system has no space. With `enough` free bytes there certainly is; otherwise `needed` computes a
/// number of bytes that they take at least.
pub(crate) fn check_space(output: &Path, enough: u64, needed: impl FnOnce() -> u64) -> Result<()> {
    let Some(free) = free_space(output).filter(|free| *free < enough) else { return Ok(()) };
    let needed = needed();
    if free < needed {
        bail!(
            "`{}` needs {}, and its file system has {} left; free some space, or write to another directory",
            crate::cmd::shown(output),
            crate::output::text::size(needed),
            crate::output::text::size(free)
        );
    }
    Ok(())
}

/// Warns of outputs that may not find space: they take at most `most` bytes, and usually fewer.
pub(crate) fn warn_of_space(output: &Path, most: u64) {
    if let Some(free) = free_space(output).filter(|free| *free < most) {
        tell!(
            "nc3z: warning: the file system of `{}` has {} left, and the inputs have {}; `nc3z estimate` predicts the size of their archives",
            crate::cmd::shown(output),
            crate::output::text::size(free),
            crate::output::text::size(most)
        );
    }
}

/// Returns the free bytes of the file system of an output. None where the system does not report them.
fn free_space(output: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let system = rustix::fs::statvfs(existing(output)).ok()?;
        // A file system without blocks, such as /proc, reports nothing.
        (system.f_blocks > 0).then(|| system.f_bavail.saturating_mul(system.f_frsize))
    }
    #[cfg(not(unix))]
    {
        let _ = output;
        None
    }
}

/// As [`prepare`], for the output of a file of a tree: a directory that is made gets the mode of the input's.
pub(crate) fn prepare_like(job: &super::targets::Job) -> Result<()> {
    check_file(Some(&job.output), true)?;
    print(&OUTPUT_DIRS.prepare_like(&job.output, Some((&job.input, &job.name)))?);
    Ok(())
}

/// Gives the directories that this run created the modes of their sources.
pub(crate) fn finish() {
    for path in OUTPUT_DIRS.finish() {
        note!("nc3z: warning: {}: its mode is not that of its source", crate::cmd::shown(&path));
    }
}

/// Returns whether the output is the file that an input names, also by another link.
fn is_input(file: &Path, output: &Path) -> Result<bool> {
    Ok(named::of(file)?.metadata()?.is_some_and(|input| is_same_file(&input, output)))
}

/// Refuses an output for a part of a file that is the file itself.
pub(crate) fn refuse_same(file: &Path, output: &Path) -> Result<()> {
    if is_input(file, output)? {
        bail!("input and output are the same file `{}`", output.display());
    }
    Ok(())
}

/// Refuses an output that is one of the files of which it is made, or any classic file: a tree may have it.
pub(crate) fn refuse_among<'f>(files: impl IntoIterator<Item = &'f PathBuf>, output: &Path) -> Result<()> {
    if !output.exists() {
        return Ok(());
    }
    // A file that cannot be looked at is reported when it is read.
    if files.into_iter().any(|file| is_input(file, output).unwrap_or(false)) {
        bail!("`{}` is an input, too; name another output", output.display());
    }
    if FileKind::from_path(output) == FileKind::Classic {
        bail!(
            "`{}` is a classic netCDF file, which this output does not replace; name another",
            output.display()
        );
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
    OUTPUT_DIRS.remove_empty();
}

pub(super) fn print(removed: &[PathBuf]) {
    for path in removed {
        note!("nc3z: removed {}, left by a run that was killed", crate::cmd::shown(path));
    }
}
