//! The part of a variable that a command line selects: `--start/--count/--stride`, or `-d` for some of its
//! dimensions and `--box`.

use crate::args::SelectionArgs;
use crate::output::text;
use anyhow::{Result, bail};
use nc3z_look::selection::{Error, Request, Selection};
use nc3z_reader::{Dataset, Variable};

/// Resolves the request for one variable. Reads only coordinates.
pub(crate) fn of(dataset: &Dataset, variable: &Variable, args: &SelectionArgs) -> Result<Selection> {
    let shape = variable.shape();
    if args.start.is_none() && args.count.is_none() && args.stride.is_none() {
        let request = Request { dims: args.dims.clone(), region: args.region };
        return noted(|notes| request.of(dataset, variable, notes));
    }
    for (flag, len) in [
        ("--start", args.start.as_ref().map(Vec::len)),
        ("--count", args.count.as_ref().map(Vec::len)),
        ("--stride", args.stride.as_ref().map(Vec::len)),
    ] {
        check_rank(variable, flag, len)?;
    }
    Ok(Selection::of_lists(shape, args.start.as_deref(), args.count.as_deref(), args.stride.as_deref()))
}

/// Returns the result of a resolution. Its notes go to standard error.
pub(crate) fn noted<T>(
    resolve: impl FnOnce(&mut Vec<String>) -> nc3z_look::selection::Result<T>,
) -> Result<T> {
    let mut notes = Vec::new();
    let found = resolve(&mut notes).map_err(|e| match e {
        Error::Read { what, source } => anyhow::Error::from(source).context(what),
        e => anyhow::Error::from(e),
    })?;
    notes.iter().for_each(|note| note!("nc3z: {note}"));
    Ok(found)
}

fn check_rank(variable: &Variable, flag: &str, len: Option<usize>) -> Result<()> {
    let rank = variable.shape().len();
    if let Some(len) = len.filter(|len| *len != rank) {
        let dims: Vec<String> = variable
            .dimensions()
            .zip(variable.shape())
            .map(|(d, n)| format!("{}={n}", text::name(&d.name)))
            .collect();
        bail!(
            "{flag} has {len} numbers, variable `{}` has {rank} dimensions ({})",
            text::safe(&variable.name()),
            dims.join(" ")
        );
    }
    Ok(())
}
