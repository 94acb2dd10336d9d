//! `nc3z read`: prints a variable, or a part of it, as text or as bytes.

use crate::args::{FormatArg, OpenArgs, ReadArgs, SelectionArgs};
use crate::cmd::named::{self, Opens as _};
use crate::exit::Exit;
use crate::names;
use crate::output::progress::while_working;
use crate::output::signals::{interrupted, while_blocked};
use crate::output::streams::Stdout;
use crate::output::text;
use crate::selection;
use anyhow::{Context, Result, anyhow, bail};
use nc3z_format::decode_value::{Decoding, unknown_time};
use nc3z_look::print::{self, Binary, Csv, Json, Lines, Sink, Style};
use nc3z_look::selection::Selection;
use nc3z_reader::cache::budget_from_env;
use nc3z_reader::{Dataset, Variable};
use std::io::{BufWriter, Write};
use std::path::Path;

/// The length of the output buffer in bytes.
const OUT_BUFFER: usize = 256 << 10;

/// Reads the selection and writes it.
pub(crate) fn run(args: &ReadArgs) -> Result<Exit> {
    if args.explain {
        return super::explain::run(args);
    }
    if args.coordinates && !matches!(args.format, FormatArg::Text | FormatArg::Csv) {
        refuse!("--coordinates is for text; CSV has them always, and other formats hold values alone");
    }
    if args.decode && args.format == FormatArg::Raw {
        refuse!("--decode does not apply to --format raw, which writes the stored bytes");
    }
    super::outputs::check(args.output.as_deref(), args.out.parents)?;
    let open = || super::cite::open_verified(&args.file, &args.root, &args.open);
    let as_stored = args.open.fragments.as_stored;
    let (dataset, variable, selection) =
        select_in(&args.file, &open, &args.variable, &args.selection, as_stored)?;
    let output = args.output.as_deref().filter(|o| *o != Path::new("-"));
    let bytes = selection.elements().saturating_mul(variable.ty().size() as u64);
    let done = super::with_threads_for(bytes, *args.threads, || {
        if let Some(output) = output {
            return to_file(output, args, &dataset, &variable, &selection);
        }
        let stdout = Stdout::results();
        if stdout.is_terminal() && matches!(args.format, FormatArg::Npy | FormatArg::Raw) {
            bail!("this format is not for terminals; give --output, or send it through a pipe");
        }
        // Disks then hold no incomplete file: a signal may end the process at once.
        while_blocked(|| write(stdout, args, &dataset, &variable, &selection))
    })?;
    super::in_file(&args.file, done)?;
    Ok(Exit::Done)
}

fn to_file(
    output: &Path,
    args: &ReadArgs,
    dataset: &Dataset,
    variable: &Variable,
    selection: &Selection,
) -> Result<()> {
    let target = super::outputs::output_of(&args.file, output, args.out.force)?;
    let work = || write(target.file(), args, dataset, variable, selection);
    while_working("read", work).with_context(|| format!("write `{}`", output.display()))?;
    target.commit(None)?;
    Ok(())
}

fn write(
    out: impl Write,
    args: &ReadArgs,
    dataset: &Dataset,
    variable: &Variable,
    selection: &Selection,
) -> Result<()> {
    printed(print_to(out, args, dataset, variable, selection))
}

/// Returns the error of the output or of the reader itself, which [`print::Error`] repeats.
pub(crate) fn printed<T>(result: print::Result<T>) -> Result<T> {
    result.map_err(|e| match e {
        print::Error::Output(e) => e.into(),
        print::Error::Read(e) => e.into(),
        other => other.into(),
    })
}

fn print_to(
    out: impl Write,
    args: &ReadArgs,
    dataset: &Dataset,
    variable: &Variable,
    selection: &Selection,
) -> print::Result<()> {
    let mut out = BufWriter::with_capacity(OUT_BUFFER, out);
    let decodes = args.decode || (args.format == FormatArg::Csv && !args.raw);
    let decoding = decodes.then(|| Decoding::new(dataset.header(), variable.header()));
    let decoding = decoding.as_ref();
    if let Some(why) = unknown_time(variable.header()).filter(|_| decodes) {
        note!("`{}` holds numbers, not dates: {}", text::safe(&variable.name()), text::safe(&why));
    }
    let mut sink: Box<dyn Sink + '_> = match args.format {
        FormatArg::Text if args.coordinates => {
            Box::new(Csv::new(&mut out, (dataset, variable), decoding, selection, Style::Named)?)
        }
        FormatArg::Text => Box::new(Lines::new(&mut out, variable, decoding, selection)?),
        FormatArg::Csv => Box::new(Csv::new(&mut out, (dataset, variable), decoding, selection, Style::Csv)?),
        FormatArg::Json => Box::new(Json::new(&mut out, variable, decoding, selection)?),
        FormatArg::Npy => Box::new(Binary::npy(&mut out, variable.ty(), decoding, &selection.counts())?),
        FormatArg::Raw => Box::new(Binary::raw(&mut out)),
    };
    print::for_each_block(variable, selection, &mut |bytes| {
        if interrupted() {
            return Err(nc3z_reader::Error::interrupted().into());
        }
        sink.block(bytes)
    })?;
    sink.finish()?;
    drop(sink);
    out.flush()?;
    Ok(())
}

/// Opens a file of either kind, and finds the variable and its selection, which must be completely inside the
/// file.
pub(super) fn select(
    path: &Path,
    name: &str,
    args: &SelectionArgs,
    open: &OpenArgs,
) -> Result<(Dataset, Variable, Selection)> {
    let as_stored = open.fragments.as_stored;
    select_in(path, &|| named::of(path)?.open_dataset(open), name, args, as_stored)
}

/// The selection of a variable.
pub(super) fn selection_of(
    dataset: &Dataset,
    variable: &Variable,
    args: &SelectionArgs,
) -> Result<Selection> {
    selection::of(dataset, variable, args)
}

/// Returns the name of a variable of the file, which may have a backslash before separators, as in lists of names.
pub(super) fn alone(dataset: &Dataset, name: &str) -> String {
    names::alone(name, |name| dataset.header().variable(name).is_some())
}

fn select_in(
    path: &Path,
    open: &dyn Fn() -> Result<Dataset>,
    name: &str,
    args: &SelectionArgs,
    as_stored: bool,
) -> Result<(Dataset, Variable, Selection)> {
    // The cache size in the environment must be valid: the library would ignore an invalid one.
    budget_from_env().map_err(|e| anyhow!(e))?;
    let found = || -> Result<_> {
        let dataset = open()?;
        let name = alone(&dataset, name);
        named::refuse_of_catalog(&dataset, name.as_bytes(), Some(as_stored))?;
        let variable = dataset.variable(&name)?;
        let selection = selection::of(&dataset, &variable, args)?;
        for (slab, _) in selection.slabs() {
            variable.plan(&slab)?;
        }
        Ok((dataset, variable, selection))
    };
    super::in_file(path, found())
}
