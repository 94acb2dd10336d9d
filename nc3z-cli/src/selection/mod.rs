//! What of a variable a command line selects: `--start/--count/--stride`, or `-d` for some of its dimensions.

pub(crate) mod arg;
mod coordinate;
mod dimension;

pub(crate) use dimension::select;

use crate::args::SelectionArgs;
use crate::output::text;
use anyhow::{Result, bail};
use nc3z_format::near::nearest;
use nc3z_look::selection::{Segment, Selection};
use nc3z_reader::{Dataset, Variable};

/// Dimensions that may wrap around: each doubles the number of hyperslabs.
const MAX_WRAPPED: usize = 8;

/// Resolves what was asked for in one variable. Nothing is read but coordinate variables.
pub(crate) fn of(dataset: &Dataset, variable: &Variable, args: &SelectionArgs) -> Result<Selection> {
    let shape = variable.shape();
    if args.start.is_none() && args.count.is_none() && args.stride.is_none() {
        return by_dimensions(dataset, variable, args);
    }
    let rank = shape.len();
    check_rank(variable, "--start", args.start.as_deref())?;
    check_rank(variable, "--count", args.count.as_deref())?;
    check_rank(variable, "--stride", args.stride.as_deref())?;
    let stride = args.stride.clone().unwrap_or_else(|| vec![1; rank]);
    // Without a start, from where the stride begins; without a count, to where it ends.
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

fn by_dimensions(dataset: &Dataset, variable: &Variable, args: &SelectionArgs) -> Result<Selection> {
    let ids = &variable.header().dimensions;
    let names: Vec<String> = variable.dimensions().map(|d| text::name(&d.name)).collect();
    for (n, arg) in args.dims.iter().enumerate() {
        let known = variable.dimensions().any(|d| d.name == arg.name.as_bytes());
        if !known {
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let known: Vec<_> = names.iter().map(|n| n.as_str().into()).collect();
            let meant = nearest(&arg.name, &known);
            let meant = meant.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"));
            bail!(
                "variable `{}` has no dimension `{}`{meant}; it has {there}",
                text::safe(&variable.name()),
                text::safe(&arg.name)
            );
        }
        if args.dims[..n].iter().any(|other| other.name == arg.name) {
            bail!("dimension `{}` is given twice", text::safe(&arg.name));
        }
    }
    let each = variable.dimensions().zip(ids).zip(variable.shape());
    let dims = each.map(|((dim, id), &len)| -> Result<_> {
        match args.dims.iter().find(|arg| arg.name.as_bytes() == dim.name) {
            Some(arg) => select(dataset, *id, len, arg),
            None => Ok(vec![Segment { start: 0, count: len, stride: 1 }]),
        }
    });
    let dims: Vec<Vec<Segment>> = dims.collect::<Result<_>>()?;
    let wrapped = dims.iter().filter(|segments| segments.len() > 1).count();
    if wrapped > MAX_WRAPPED {
        bail!("{wrapped} dimensions wrap around; at most {MAX_WRAPPED} may");
    }
    Ok(Selection::new(dims))
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
