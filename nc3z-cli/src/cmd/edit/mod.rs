//! Commands that edit what an archive holds, as a new version: `att`, `rename`, `set`, `append`; and `gc`, which drops versions.

mod att;
mod number;
mod set;

pub(crate) use att::{att, rename};
pub(crate) use set::{append, set};

use crate::args::{EditArgs, GcArgs};
use crate::exit::Exit;
use crate::output::progress::Progress;
use crate::output::table::count;
use crate::output::{set_quiet, text};
use anyhow::{Context, Result, bail};
use nc3z_reader::VersionName;
use nc3z_writer::edit::Edit;
use nc3z_writer::{WriterOptions, collect_file};
use std::path::Path;

/// Opens an archive for edits.
fn open(path: &Path, args: &EditArgs) -> Result<Edit> {
    if !path.is_file() {
        bail!("`{}` is no file", path.display());
    }
    let options =
        WriterOptions::default().with_registry(crate::plugins::registry()).with_memory(args.effort.memory);
    set_quiet(args.note.quiet);
    let edit = Edit::open(path, &options).with_context(|| format!("edit `{}`", path.display()))?;
    Ok(edit.with_digest(!args.quick))
}

fn progress_of(len: u64, path: &Path) -> Progress {
    Progress::new(len, text::safe(&path.to_string_lossy()))
}

/// Commits what was edited and tells of it.
fn commit(mut edit: Edit, path: &Path, args: &EditArgs) -> Result<Exit> {
    let note = super::versions::note_of(&args.note);
    let progress = progress_of(edit.archive().original_len(), path);
    let done = super::with_threads(args.effort.threads, || edit.commit(&note, &progress))?;
    drop(progress);
    super::versions::tell(path, &done.with_context(|| format!("edit `{}`", path.display()))?);
    Ok(Exit::Done)
}

/// Drops versions.
pub(crate) fn gc(args: &GcArgs) -> Result<Exit> {
    let path = &args.archive;
    let mut keep = args.keep.clone();
    if args.keep_tagged {
        let archive = super::in_file(path, super::open_archive(path, &crate::args::OpenArgs::default()))?;
        keep.extend(archive.tags()?.into_values().map(VersionName::Number));
    }
    if let Some(output) = &args.output {
        super::places::prepare(output)?;
    }
    let options = WriterOptions::default()
        .with_registry(crate::plugins::registry())
        .with_memory(args.memory)
        .with_force(args.force);
    let done = super::with_threads(args.threads, || {
        let progress = Progress::new(0, text::safe(&path.to_string_lossy()));
        collect_file(path, args.output.as_deref(), &keep, &options, &progress)
    })?;
    let done = done.with_context(|| format!("drop versions of `{}`", path.display()))?;
    let (before, after) = done.stored_len;
    note!(
        "{}: {} kept, {} dropped, {} -> {}",
        text::safe(&path.to_string_lossy()),
        count(done.kept.len() as u64, "version"),
        done.dropped.len(),
        text::size(before),
        text::size(after)
    );
    if !done.dropped_tags.is_empty() {
        note!("  tags that named dropped versions are gone: {}", text::safe(&done.dropped_tags.join(", ")));
    }
    if done.parity_before.is_some() {
        note!("  parity did not come along: `nc3z parity add` makes it anew");
    }
    Ok(Exit::Done)
}
