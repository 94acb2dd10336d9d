//! What of a variable a command line selects: `--start/--count/--stride`, or `-d` for some of its dimensions.

pub(crate) mod arg;
mod coordinate;
mod dimension;

pub(crate) use coordinate::coordinate_variable;
pub(crate) use dimension::{Segment, select};

use crate::args::SelectionArgs;
use crate::output::text;
use anyhow::{Result, bail};
use nc3z_format::Hyperslab;
use nc3z_format::near::nearest;
use nc3z_reader::{Dataset, Variable};

/// Dimensions that may wrap around: each doubles the number of hyperslabs.
const MAX_WRAPPED: usize = 8;

/// Segments along each dimension: one, or two where a range wraps around. The elements are those of their cross product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selection {
    dims: Vec<Vec<Segment>>,
}

impl Selection {
    /// The cross product of some segments along each dimension.
    pub(crate) fn new(dims: Vec<Vec<Segment>>) -> Self {
        Selection { dims }
    }

    /// Resolves what was asked for in one variable. Nothing is read but coordinate variables.
    pub(crate) fn of(dataset: &Dataset, variable: &Variable, args: &SelectionArgs) -> Result<Self> {
        let shape = variable.shape();
        if args.start.is_none() && args.count.is_none() && args.stride.is_none() {
            return Self::by_dimensions(dataset, variable, args);
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
                let left = if *stride < 0 {
                    (*start).min(*n) + u64::from(start < n)
                } else {
                    n.saturating_sub(*start)
                };
                left.div_ceil(stride.unsigned_abs().max(1))
            };
            start.iter().zip(shape).zip(&stride).map(reach).collect()
        });
        let segment = |((start, count), stride): ((&u64, &u64), &i64)| {
            vec![Segment { start: *start, count: *count, stride: *stride }]
        };
        Ok(Selection { dims: start.iter().zip(&count).zip(&stride).map(segment).collect() })
    }

    fn by_dimensions(dataset: &Dataset, variable: &Variable, args: &SelectionArgs) -> Result<Self> {
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
        Ok(Selection { dims })
    }

    /// What is selected along a dimension.
    pub(crate) fn segments(&self, dim: usize) -> &[Segment] {
        &self.dims[dim]
    }

    /// Elements selected along each dimension.
    pub(crate) fn counts(&self) -> Vec<u64> {
        self.dims.iter().map(|segments| segments.iter().map(|s| s.count).sum()).collect()
    }

    /// Elements selected; 0 if any dimension has none, however long the others.
    pub(crate) fn elements(&self) -> u64 {
        elements(&self.counts())
    }

    /// Index in the variable of the `n`-th one selected along a dimension.
    pub(crate) fn index(&self, dim: usize, mut n: u64) -> u64 {
        for s in &self.dims[dim] {
            if n < s.count {
                return s.start.wrapping_add(s.stride.cast_unsigned().wrapping_mul(n));
            }
            n -= s.count;
        }
        n
    }

    /// The hyperslabs that make it up, and the place of each in the whole: its first position along each dimension.
    pub(crate) fn slabs(&self) -> Vec<(Hyperslab, Vec<u64>)> {
        let none = Hyperslab { start: vec![], count: vec![], stride: vec![] };
        let mut slabs = vec![(none, Vec::new())];
        for segments in &self.dims {
            let mut longer = Vec::with_capacity(slabs.len() * segments.len());
            for (slab, place) in &slabs {
                let mut at = 0;
                for s in segments {
                    let (mut slab, mut place) = (slab.clone(), place.clone());
                    slab.start.push(s.start);
                    slab.count.push(s.count);
                    slab.stride.push(s.stride);
                    place.push(at);
                    at += s.count;
                    longer.push((slab, place));
                }
            }
            slabs = longer;
        }
        slabs
    }

    /// The positions `from..to` along one dimension, and all of the others.
    pub(crate) fn part(&self, dim: usize, from: u64, to: u64) -> Self {
        let mut segments = Vec::new();
        let mut begin = 0;
        for s in &self.dims[dim] {
            let (low, high) = (from.max(begin), to.min(begin + s.count));
            if low < high {
                let start = s.start.wrapping_add(s.stride.cast_unsigned().wrapping_mul(low - begin));
                segments.push(Segment { start, count: high - low, stride: s.stride });
            }
            begin += s.count;
        }
        let mut part = self.clone();
        part.dims[dim] = segments;
        part
    }
}

/// Elements of an array of these lengths; saturates.
pub(crate) fn elements(counts: &[u64]) -> u64 {
    if counts.contains(&0) { 0 } else { counts.iter().fold(1, |all, n| all.saturating_mul(*n)) }
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
