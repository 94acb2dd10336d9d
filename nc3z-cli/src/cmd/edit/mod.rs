//! Commands that edit the content of an archive, as a new version: `attr`, `rename`, `set`, `append`;
//! and `prune`, which drops versions.

mod append;
mod attr;
mod plan;
mod prune;
mod set;

pub(crate) use append::append;
pub(crate) use attr::{attr, rename};
pub(crate) use prune::prune;
pub(crate) use set::set;

use crate::args::{EditArgs, OpenArgs};
use crate::exit::Exit;
use crate::output::progress::Progress;
use crate::output::set_quiet;
use anyhow::{Context, Result};
use nc3z_writer::WriterOptions;
use nc3z_writer::edit::Edit;
use std::path::Path;

/// Opens an archive for editing.
fn open(path: &Path, args: &EditArgs) -> Result<Edit> {
    crate::cmd::named::need_archive_file(path)?;
    crate::cmd::named::refuse_bundle(path, &OpenArgs::default())?;
    let options =
        WriterOptions::default().with_registry(crate::registry::registry()).with_memory(args.effort.memory);
    set_quiet(args.note.quiet);
    let edit = Edit::open(path, &options).with_context(|| format!("edit `{}`", path.display()))?;
    let renewed = !args.effort.no_parity;
    Ok(edit.with_digest(!args.quick).with_dry_run(args.effort.dry_run).with_parity_renewed(renewed))
}

fn progress_of(len: u64, path: &Path) -> Progress {
    Progress::new(len, crate::cmd::shown(path))
}

/// Commits the edits, and reports the result.
fn commit(mut edit: Edit, path: &Path, args: &EditArgs) -> Result<Exit> {
    let note = super::versions::note_of(&args.note);
    let progress = progress_of(edit.archive().original_len(), path);
    let done = super::with_threads(*args.effort.threads, || edit.commit(&note, &progress))?;
    drop(progress);
    let done = done.with_context(|| format!("edit `{}`", path.display()))?;
    super::versions::tell(path, &done, args.effort.dry_run);
    Ok(Exit::Done)
}
