//! `nc3z subset`: writes variables, or a part of them, to a new classic file.

pub(super) mod history;

use crate::args::SubsetArgs;
use crate::exit::Exit;
use crate::output::progress::Progress;
use crate::output::signals::interrupted;
use crate::output::target::{Content, Target};
use crate::output::text;
use crate::selection::noted;
use anyhow::{Context, Result};
use nc3z_format::classic::{Arrangement, VarId, Version, arrange};
use nc3z_look::part::{Contents, SubsetRequest};
use nc3z_look::print::for_each_block;
use nc3z_look::selection::{Request, Selection};
use nc3z_reader::{Dataset, Monitor};
use nc3z_writer::{ClassicValues, Sink, write_classic};
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path;

/// The length of the output buffer in bytes.
const OUT_BUFFER: usize = 1 << 20;

pub(crate) fn run(args: &SubsetArgs) -> Result<Exit> {
    super::outputs::check(Some(&args.output), args.out.parents)?;
    super::with_threads(*args.threads, || super::in_file(&args.file, subset(args)))??;
    Ok(Exit::Done)
}

fn subset(args: &SubsetArgs) -> Result<()> {
    let dataset = super::cite::open_verified(&args.file, &args.root, &args.open)?;
    let lists = args.names.iter().chain(&args.variables);
    super::named::refuse_lists_of_catalog(&dataset, lists, Some(args.open.fragments.as_stored))?;
    let mut contents = noted(|notes| Contents::new(&dataset, &request_of(args), notes))?;
    contents.check_present()?;
    if !args.no_history {
        history::append(&mut contents.header)?;
    }
    let arrangement = arrangement(&contents, args.kind.map(Version::from))?;
    let version = arrangement.header.version;
    if args.kind.is_none() && version != dataset.header().version {
        note!("nc3z: note: written as {version}: the subset does not fit {}", dataset.header().version);
    }
    write((&args.file, &args.output, args.out.force), &dataset, &contents, &arrangement)?;
    note!(
        "{} -> {}  {} variables, {}",
        text::safe(&super::url::shown(&args.file)),
        crate::cmd::shown(&args.output),
        contents.header.variables.len(),
        text::size(arrangement.layout.file_len)
    );
    Ok(())
}

fn request_of(args: &SubsetArgs) -> SubsetRequest {
    SubsetRequest {
        variables: args.names.iter().chain(&args.variables).cloned().collect(),
        no_coordinates: args.no_coordinates,
        part: Request { dims: args.dims.clone(), region: args.region },
    }
}

/// Returns the new file's header, in the requested format, or in the first one that can express it.
pub(super) fn arrangement(contents: &Contents, kind: Option<Version>) -> Result<Arrangement> {
    let Some(version) = kind else {
        let fitting = nc3z_look::part::arrangement(&contents.header, contents.records);
        return fitting.context("the subset is not a classic file");
    };
    let mut header = contents.header.clone();
    header.version = version;
    arrange(header, contents.records).with_context(|| format!("the subset cannot be written as {version}"))
}

/// Writes the values of a subset of `file` to the file `output`, which is replaced if `force` is true.
pub(super) fn write(
    (file, output, force): (&Path, &Path, bool),
    dataset: &Dataset,
    contents: &Contents,
    arrangement: &Arrangement,
) -> Result<()> {
    super::outputs::refuse_same(file, output)?;
    if !super::stdin::is(output) {
        let len = arrangement.layout.file_len;
        super::outputs::check_space(output, len, || len)?;
    }
    let target = Target::create(output, force, Content::Binary)?;
    let progress = Progress::new(arrangement.layout.file_len, crate::cmd::shown(output));
    let mut out = BufWriter::with_capacity(OUT_BUFFER, target.file());
    let mut values = Values { contents, progress: &progress };
    // Errors of reading name the input.
    let in_writing = |e: anyhow::Error| {
        if e.is::<std::io::Error>() { e.context(format!("write `{}`", output.display())) } else { e }
    };
    write_classic(arrangement, &mut values, &mut out).map_err(in_writing)?;
    out.flush().map_err(|e| in_writing(e.into()))?;
    drop(out);
    drop(progress);
    if interrupted() {
        return Err(nc3z_reader::Error::interrupted().into());
    }
    dataset.check_unchanged()?;
    target.commit()
}

/// The selected values, read in the order of the new file.
struct Values<'a> {
    contents: &'a Contents,
    progress: &'a Progress,
}

impl ClassicValues for Values<'_> {
    type Error = anyhow::Error;

    fn read(&mut self, var: VarId, rows: Range<u64>, sink: &mut Sink<'_, anyhow::Error>) -> Result<()> {
        let (variable, selection) = &self.contents.variables[var.index()];
        let rows: Option<Selection> =
            self.contents.is_record(var).then(|| selection.part(0, rows.start, rows.end));
        for_each_block(variable, rows.as_ref().unwrap_or(selection), &mut |bytes| {
            if interrupted() {
                return Err(nc3z_reader::Error::interrupted().into());
            }
            self.progress.advance(bytes.len() as u64);
            sink(&bytes)
        })
    }
}
