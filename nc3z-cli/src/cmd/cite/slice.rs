//! The slice of a proof, planned from the arguments and written.

use crate::args::CiteArgs;
use crate::cmd::outputs::output_of;
use crate::cmd::read::printed;
use crate::cmd::subset::{arrangement, write};
use crate::output::progress::{Interrupt, while_working};
use anyhow::{Context, Result};
use nc3z_cite::{Error, PlannedSlice, SliceForm};
use nc3z_look::part::SubsetRequest;
use nc3z_look::selection::Request;
use nc3z_reader::Dataset;
use std::ffi::OsString;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Plans the slice of the arguments.
pub(super) fn planned(
    args: &CiteArgs,
    dataset: &Dataset,
    variables: OsString,
    output: &Path,
) -> Result<PlannedSlice> {
    let request = SubsetRequest {
        variables: vec![variables],
        no_coordinates: args.no_coordinates,
        part: Request { dims: args.dims.clone(), region: None },
    };
    let form = SliceForm::of_name(output);
    PlannedSlice::new(dataset, request, form, args.widen, &mut |note| note!("nc3z: {note}")).map_err(unpacked)
}

pub(super) fn write_slice(
    args: &CiteArgs,
    dataset: &Dataset,
    slice: &PlannedSlice,
    output: &Path,
) -> Result<()> {
    if slice.form() == SliceForm::Classic {
        let contents = slice.contents();
        return write((&args.file, output, args.out.force), dataset, contents, &arrangement(contents, None)?);
    }
    let target = output_of(&args.file, output, args.out.force)?;
    let mut out = BufWriter::new(target.file());
    let work = || slice.write_values(&mut out, &Interrupt);
    let written = while_working("cite", work).map_err(unpacked);
    written.with_context(|| format!("write `{}`", output.display()))?;
    out.flush()?;
    drop(out);
    dataset.check_unchanged()?;
    Ok(target.commit(None)?)
}

/// Returns the error of the reader or the system itself, which [`Error`] repeats.
fn unpacked(e: Error) -> anyhow::Error {
    match e {
        Error::Read(e) => e.into(),
        Error::Print(e) => printed::<()>(Err(e)).expect_err("it is an error"),
        e => e.into(),
    }
}
