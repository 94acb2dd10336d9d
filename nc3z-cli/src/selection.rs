//! The part of a variable that a command line selects: `--start/--count/--stride`, or `-d` for some of its
//! dimensions and `--box`.

use crate::args::SelectionArgs;
use crate::output::text;
use anyhow::{Result, bail};
use nc3z_format::selection::{Segment, Selection};
use nc3z_look::selection::{Error, Request};
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
    Ok(of_lists(shape, args))
}

/// Selects by lists with an item for each dimension. By default the start is where the stride begins, the count goes to where it
/// ends, and the stride is 1.
fn of_lists(shape: &[u64], args: &SelectionArgs) -> Selection {
    let segment = |(dim, &len): (usize, &u64)| {
        let stride = args.stride.as_ref().map_or(1, |list| list[dim]);
        let first = if stride < 0 { len.saturating_sub(1) } else { 0 };
        let start = args.start.as_ref().map_or(first, |list| list[dim]);
        let left =
            if stride < 0 { start.min(len) + u64::from(start < len) } else { len.saturating_sub(start) };
        let reach = left.div_ceil(stride.unsigned_abs().max(1));
        vec![Segment { start, count: args.count.as_ref().map_or(reach, |list| list[dim]), stride }]
    };
    Selection::new(shape.iter().enumerate().map(segment).collect())
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
