//! `nc3z list --html`: writes a page about a collection: sizes, ratios, the largest variables, unreadable files.
//! Reads only headers and indices.

use super::failures::Failures;
use super::offline::without_recalls;
use super::targets::{self, Job, Naming};
use super::tree::FileKind;
use super::{in_order_counted, open_input};
use crate::args::{ListArgs, OpenArgs};
use crate::exit::Exit;
use crate::output::target::{Content, Target};
use crate::output::{chain, text};
use anyhow::{Context, Result, bail};
use nc3z_collections::tree::report::{Collection, File, State};
use std::io::Write;
use std::path::Path;

/// Examines a directory and writes the page.
pub(super) fn run(args: &ListArgs, output: &Path) -> Result<Exit> {
    let [directory] = &args.inputs[..] else {
        refuse!("--html writes a page about one directory");
    };
    if !directory.is_dir() {
        bail!("`{}` is not a directory; --html writes a page about one directory", directory.display());
    }
    super::outputs::check(Some(output), args.parents)?;
    super::outputs::refuse_among(std::iter::empty(), output)?;
    let target = Target::create(output, args.force, Content::Text)?;
    let keep = |p: &Path| Ok(p.to_owned());
    let naming = Naming { rename: &keep, wanted: &targets::is_netcdf };
    let found = targets::pair(std::slice::from_ref(directory), None, true, &naming)?;
    let jobs = without_recalls(found.jobs, |job| &job.input, &args.tape)?;
    let mut failures = Failures::new(&found.failures);
    let mut files = Vec::new();
    for (path, e) in &found.failures {
        let name = crate::cmd::shown(path);
        files.push(File { name, bytes: 0, state: State::Failed(text::safe(&chain(e))) });
    }
    in_order_counted(&jobs, *args.threads, "list", look, |job, looked| {
        let name = crate::cmd::shown(&job.name);
        let bytes = job.input.metadata().map_or(0, |m| m.len());
        let state = looked.unwrap_or_else(|e| {
            failures.report(&job.input, &e);
            State::Failed(text::safe(&chain(&e)))
        });
        files.push(File { name, bytes, state });
        Ok(())
    })?;
    // The page itself, which is being written, is one of them.
    let others = found.others.into_iter().filter(|o| o.kind != FileKind::Temporary).collect();
    let name = crate::cmd::shown(directory);
    let collection = Collection { name, files, others };
    target
        .file()
        .write_all(collection.html().as_bytes())
        .with_context(|| format!("write `{}`", output.display()))?;
    target.commit()?;
    Ok(failures.worst())
}

fn look(job: &Job) -> Result<State> {
    match open_input(&job.input, &OpenArgs::default())?.archive() {
        None => Ok(State::Classic),
        Some(archive) => Ok(State::new(archive)?),
    }
}
