//! The part of a variable that a command line selects: `--start/--count/--stride`, or `-d` for some of its
//! dimensions and `--box`.

use crate::args::SelectionArgs;
use crate::output::text;
use anyhow::{Result, bail};
use nc3z_look::selection::{Error, Request, Segment, Selection};
use nc3z_reader::{Dataset, Variable};

/// Resolves the request for one variable. Reads only coordinates.
pub(crate) fn of(dataset: &Dataset, variable: &Variable, args: &SelectionArgs) -> Result<Selection> {
    let shape = variable.shape();
    if args.start.is_none() && args.count.is_none() && args.stride.is_none() {
        let request = Request { dims: args.dims.clone(), region: args.region };
        return noted(|notes| request.of(dataset, variable, notes));
    }
    let rank = shape.len();
    check_rank(variable, "--start", args.start.as_deref())?;
    check_rank(variable, "--count", args.count.as_deref())?;
    check_rank(variable, "--stride", args.stride.as_deref())?;
    let stride = args.stride.clone().unwrap_or_else(|| vec![1; rank]);
    // By default the start is where the stride begins, and the count goes to where it ends.
    let start = args.start.clone().unwrap_or_else(|| {
        shape.iter().zip(&stride).map(|(n, s)| if *s < 0 { n.saturating_sub(1) } else { 0 }).collect()
    });
    let count = args.count.clone().unwrap_or_else(|| {
        let reach = |((start, n), stride): ((&u64, &u64), &i64)| {
            let left =
                if *stride < 0 { (*start).min(*n) + u64::from(start < n) } else { n.saturating_sub(*start) };
            left.div_ceil(stride.unsigned_abs().max(1))
        };
        start.iter().zip(shape).zip(&stride).map(reach).collect()
    });
    let segment = |((start, count), stride): ((&u64, &u64), &i64)| {
        vec![Segment { start: *start, count: *count, stride: *stride }]
    };
    Ok(Selection::new(start.iter().zip(&count).zip(&stride).map(segment).collect()))
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

fn check_rank<T>(variable: &Variable, flag: &str, list: Option<&[T]>) -> Result<()> {
    let rank = variable.shape().len();
    if let Some(list) = list.filter(|list| list.len() != rank) {
        let dims: Vec<String> = variable
            .dimensions()
            .zip(variable.shape())
            .map(|(d, n)| format!("{}={n}", text::name(&d.name)))
            .collect();
        bail!(
            "{flag} has {} numbers, variable `{}` has {rank} dimensions ({})",
            list.len(),
            text::safe(&variable.name()),
            dims.join(" ")
        );
    }
    Ok(())
}
