//! The slice of a proof: its content, and its file.

use crate::args::{CiteArgs, RootArgs, SubsetArgs};
use crate::cmd::read::printed;
use crate::cmd::subset::{arrangement, request_of, write};
use crate::cmd::{named::Named, places};
use crate::output::progress::interrupted;
use crate::output::text;
use crate::selection::noted;
use anyhow::{Context, Result, bail};
use nc3z_cite::{Part, render_csv, widen};
use nc3z_format::classic::Dimension;
use nc3z_format::select::Hyperslab;
use nc3z_look::part::Contents;
use nc3z_look::print::{Binary, Sink, for_each_block};
use nc3z_look::selection::{DimArg, Selection};
use nc3z_reader::{Dataset, Variable};
use nc3z_writer::{AtomicFile, is_same_file};
use std::ffi::OsString;
use std::io::{BufWriter, Write};
use std::path::Path;

/// The format of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SliceFormat {
    Classic,
    Npy,
    Csv,
}

/// A slice before it is written.
pub(super) struct Planned {
    kind: SliceFormat,
    subset: SubsetArgs,
    contents: Contents,
    parts: Vec<Part>,
}

impl Planned {
    pub(super) fn new(
        args: &CiteArgs,
        dataset: &Dataset,
        variables: OsString,
        output: &Path,
    ) -> Result<Self> {
        let kind = match output.extension().and_then(|e| e.to_str()) {
            Some("npy") => SliceFormat::Npy,
            Some("csv") => SliceFormat::Csv,
            _ => SliceFormat::Classic,
        };
        let mut subset = SubsetArgs {
            file: args.file.clone(),
            variables: vec![variables],
            dims: args.dims.clone(),
            region: None,
            no_coordinates: args.no_coordinates || kind != SliceFormat::Classic,
            output: output.to_owned(),
            kind: None,
            no_history: true,
            force: args.force,
            place: args.place.clone(),
            threads: args.threads,
            root: RootArgs::default(),
            open: args.open.clone(),
        };
        let mut contents = contents_of(dataset, &subset)?;
        if args.widen {
            let alone = SubsetArgs { no_coordinates: true, ..subset };
            let named = contents_of(dataset, &alone)?;
            subset =
                SubsetArgs { dims: widened(&named)?, no_coordinates: contents.variables.len() == 1, ..alone };
            contents = contents_of(dataset, &subset)?;
        }
        contents.check_present()?;
        let part = |(variable, selection): &(Variable, Selection)| {
            Ok(Part { variable: variable.id(), slab: one_slab(variable, selection)? })
        };
        let parts = contents.variables.iter().map(part).collect::<Result<Vec<_>>>()?;
        if kind != SliceFormat::Classic && parts.len() != 1 {
            bail!("npy and csv hold one variable, and {} are named", parts.len());
        }
        Ok(Planned { kind, subset, contents, parts })
    }

    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns true if the slice has the attributes of the file.
    pub(super) fn is_classic(&self) -> bool {
        self.kind == SliceFormat::Classic
    }

    pub(super) fn write(&self, output: &Path) -> Result<()> {
        if self.kind == SliceFormat::Classic {
            return write(&self.subset, &self.contents, &arrangement(&self.contents, None)?);
        }
        places::prepare(output)?;
        let input = Named::of(&self.subset.file)?.metadata()?;
        if input.is_some_and(|input| is_same_file(&input, output)) {
            bail!("input and output are the same file `{}`", output.display());
        }
        let target = AtomicFile::create_with_mode(output, self.subset.force, 0o666)?;
        let mut out = BufWriter::new(target.file());
        self.write_values(&mut out).with_context(|| format!("write `{}`", output.display()))?;
        out.flush()?;
        drop(out);
        Ok(target.commit(None)?)
    }

    /// Writes one variable as npy or CSV.
    fn write_values(&self, out: &mut impl Write) -> Result<()> {
        let (variable, selection) = &self.contents.variables[0];
        let counts = selection.counts();
        if self.kind == SliceFormat::Csv {
            let values = variable.read_bytes(&self.parts[0].slab)?;
            let names: Vec<&[u8]> = variable.dimensions().map(|d| &d.name[..]).collect();
            let dimensions: Vec<(&[u8], u64)> = names.into_iter().zip(counts).collect();
            let text = render_csv(&variable.header().name, variable.ty(), &dimensions, &values)?;
            return Ok(out.write_all(text.as_bytes())?);
        }
        let mut write = || {
            let mut npy = Binary::npy(out, variable.ty(), None, &counts)?;
            for_each_block(variable, selection, &mut |bytes| {
                if interrupted() {
                    return Err(nc3z_reader::Error::interrupted().into());
                }
                npy.block(bytes)
            })
        };
        printed(write())
    }
}

fn contents_of(dataset: &Dataset, args: &SubsetArgs) -> Result<Contents> {
    noted(|notes| Contents::of(dataset, &request_of(args), notes))
}

/// Returns the selection as one hyperslab.
fn one_slab(variable: &Variable, selection: &Selection) -> Result<Hyperslab> {
    let mut slabs = selection.slabs();
    match (slabs.pop(), slabs.is_empty()) {
        (Some((slab, _)), true) => Ok(slab),
        _ => bail!(
            "the selection of `{}` wraps around the end of a dimension: cite its two parts as two slices",
            text::safe(&variable.name())
        ),
    }
}

/// Returns the ranges of dimensions for which the proof of the first variable contains no values.
fn widened(named: &Contents) -> Result<Vec<DimArg>> {
    let (variable, selection) = named.variables.first().context("a variable is named")?;
    let slab = one_slab(variable, selection)?;
    let wide = widen(variable.ty(), variable.shape(), &slab);
    let range = |(n, dimension): (usize, &Dimension)| {
        let name = dimension.name_lossy().replace('\\', "\\\\").replace(',', "\\,");
        let last = wide.start[n] + wide.count[n].saturating_sub(1);
        format!("{name},{},{last}", wide.start[n]).parse::<DimArg>().map_err(anyhow::Error::msg)
    };
    variable.dimensions().enumerate().map(range).collect()
}
