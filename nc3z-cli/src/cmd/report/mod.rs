//! `nc3z report`: writes a page about a collection: sizes, ratios, the largest variables, unreadable files.
//! Reads only headers and indices.

mod page;
mod treemap;

use super::targets::{self, Job, Naming};
use super::tree::{FileKind, Other};
use super::{Input, in_order, open_input};
use crate::args::{CollectionReportArgs, OpenArgs};
use crate::exit::{Exit, of_error};
use crate::output::{chain, report_error, text};
use anyhow::{Context, Result, bail};
use nc3z_format::archive::constants::MAGIC;
use nc3z_look::cost::Costs;
use nc3z_writer::AtomicFile;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// The facts about one file.
struct File {
    /// Its name relative to the directory.
    name: String,
    bytes: u64,
    state: State,
}

/// The kind of a file.
enum State {
    Archive {
        original: u64,
        variables: Vec<Cost>,
    },
    /// A classic file: not archived.
    Classic,
    /// It cannot be read, for this reason.
    Failed(String),
}

/// The size of a variable.
struct Cost {
    name: String,
    original: u64,
    stored: u64,
}

/// The content of the page.
struct Collection {
    name: String,
    files: Vec<File>,
    others: Vec<Other>,
}

/// Examines a directory and writes the page.
pub(crate) fn run(args: &CollectionReportArgs) -> Result<Exit> {
    if !args.directory.is_dir() {
        bail!("`{}` is no directory; a report is of a directory", args.directory.display());
    }
    super::places::prepare(&args.output)?;
    let target = AtomicFile::create_with_mode(&args.output, args.force, 0o666)?;
    let keep = |p: &Path| Ok(p.to_owned());
    let wanted = |p: &Path| targets::first_bytes(p).map_or(true, |b| b == MAGIC) || targets::looks_classic(p);
    let naming = Naming { rename: &keep, wanted: &wanted };
    let found = targets::pair(std::slice::from_ref(&args.directory), None, true, &naming)?;
    let mut worst = Exit::Done;
    let mut files = Vec::new();
    for (path, e) in &found.failures {
        report_error(Some(path), e);
        worst = worst.max(of_error(e));
        let name = crate::cmd::shown(path);
        files.push(File { name, bytes: 0, state: State::Failed(text::safe(&chain(e))) });
    }
    in_order(&found.jobs, args.threads, look, |job, looked| {
        let name = crate::cmd::shown(&job.name);
        let bytes = job.input.metadata().map_or(0, |m| m.len());
        let state = looked.unwrap_or_else(|e| {
            report_error(Some(&job.input), &e);
            worst = worst.max(of_error(&e));
            State::Failed(text::safe(&chain(&e)))
        });
        files.push(File { name, bytes, state });
        Ok(())
    })?;
    // The page itself, which is being written, is one of them.
    let others = found.others.into_iter().filter(|o| o.kind != FileKind::Temporary).collect();
    let name = crate::cmd::shown(&args.directory);
    let collection = Collection { name, files, others };
    target
        .file()
        .write_all(page::html(&collection).as_bytes())
        .with_context(|| format!("write `{}`", args.output.display()))?;
    target.commit(None)?;
    Ok(worst)
}

/// Examines one file.
fn look(job: &Job) -> Result<State> {
    let archive = match open_input(&job.input, &OpenArgs::default())? {
        Input::Classic(_) => return Ok(State::Classic),
        Input::Archive(archive) => archive,
    };
    let costs = Costs::of(&archive, archive.source())?;
    let variables = archive.header().variables().zip(&costs.variables).map(|((id, v), cost)| Cost {
        name: text::name(&v.name),
        original: archive.layout().variable(id).map_or(0, |l| l.present.saturating_mul(v.ty.size() as u64)),
        stored: cost.bytes,
    });
    Ok(State::Archive { original: archive.original_len(), variables: variables.collect() })
}

impl Collection {
    fn archives(&self) -> impl Iterator<Item = (&File, u64, &[Cost])> {
        self.files.iter().filter_map(|f| match &f.state {
            State::Archive { original, variables } => Some((f, *original, &variables[..])),
            _ => None,
        })
    }

    fn failures(&self) -> impl Iterator<Item = (&File, &str)> {
        self.files.iter().filter_map(|f| match &f.state {
            State::Failed(why) => Some((f, &why[..])),
            _ => None,
        })
    }

    fn classic(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|f| matches!(f.state, State::Classic))
    }

    /// Returns variables by name: number of files, original bytes, stored bytes; the largest first.
    fn variables(&self) -> Vec<(&str, u64, u64, u64)> {
        let mut by_name: BTreeMap<&str, (u64, u64, u64)> = BTreeMap::new();
        for cost in self.archives().flat_map(|(_, _, variables)| variables) {
            let sum = by_name.entry(&cost.name).or_default();
            *sum = (sum.0 + 1, sum.1.saturating_add(cost.original), sum.2.saturating_add(cost.stored));
        }
        let mut all: Vec<_> = by_name.into_iter().map(|(name, (n, a, b))| (name, n, a, b)).collect();
        all.sort_by_key(|&(name, _, _, stored)| (std::cmp::Reverse(stored), name));
        all
    }
}
