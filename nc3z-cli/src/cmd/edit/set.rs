//! `nc3z set`.

use super::{commit, open, plan};
use crate::args::{OpenArgs, SetArgs};
use crate::cmd::named::Named;
use crate::exit::Exit;
use crate::output::streams::Stdout;
use crate::output::text;
use crate::selection;
use anyhow::{Context, Result, anyhow, bail};
use nc3z_format::{Hyperslab, NcType};
use nc3z_look::selection::Selection;
use nc3z_reader::{Dataset, Variable};
use nc3z_writer::edit::Edit;
use nc3z_writer::edit::words::encode;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

/// The number of bytes of values that are read and staged at a time.
const BAND_LEN: u64 = 16 << 20;

/// Values, and the part of the selection that they belong to.
enum Values {
    /// One element for the whole selection.
    One(Vec<u8>),
    /// All values, row-major.
    All(Vec<u8>),
    /// The values of a variable.
    Of(Box<Variable>),
}

/// Overwrites values.
pub(crate) fn set(args: &SetArgs) -> Result<Exit> {
    let mut edit = open(&args.archive, &args.edit)?;
    let mut staged = || -> Result<bool> {
        let dataset = Dataset::from(edit.archive().clone());
        let variable = dataset.variable(&args.variable)?;
        if args.selection.region.is_some() {
            bail!("--box selects cells, which may be no box of indices; give ranges of dimensions with -d");
        }
        let selection = selection::of(&dataset, &variable, &args.selection)?;
        if args.plan {
            let mut out = BufWriter::new(Stdout::results());
            plan::write(&mut out, edit.archive(), &variable, &selection)?;
            out.flush()?;
            return Ok(true);
        }
        let values = values_of(args, &variable, &selection)?;
        stage(&mut edit, &args.variable, &selection, &values)?;
        Ok(false)
    };
    if super::super::in_file(&args.archive, staged())? {
        return Ok(Exit::Done);
    }
    commit(edit, &args.archive, &args.edit)
}

fn values_of(args: &SetArgs, variable: &Variable, selection: &Selection) -> Result<Values> {
    let (ty, wanted) = (variable.ty(), selection.elements());
    if let Some(file) = &args.from {
        let name = args.from_variable.as_deref().unwrap_or(&args.variable);
        let found = || -> Result<Variable> {
            let other = Named::of(file)?.open_dataset(&OpenArgs::default())?.variable(name)?;
            if other.ty() != ty {
                bail!("`{}` is of type {}, and {ty} is wanted", text::safe(name), other.ty());
            }
            // Dimensions of one element may be missing.
            let long = |lens: &[u64]| lens.iter().copied().filter(|&n| n != 1).collect::<Vec<u64>>();
            let (is, should) = (long(other.shape()), long(&selection.counts()));
            if is != should {
                bail!(
                    "`{}` has the lengths {:?}, and {:?} is selected",
                    text::safe(name),
                    other.shape(),
                    selection.counts()
                );
            }
            Ok(other)
        };
        return Ok(Values::Of(Box::new(super::super::in_file(file, found())?)));
    }
    let words = match (&args.value, &args.text) {
        (Some(value), _) => {
            let value = value
                .strip_prefix('=')
                .ok_or_else(|| anyhow!("expected =VALUE, found `{}`", text::safe(value)))?;
            if value == "_" {
                return Ok(Values::One(variable.header().fill_value().to_vec()));
            }
            if ty == NcType::Char {
                return text_values(value, wanted);
            }
            value.split(',').map(str::to_owned).collect::<Vec<_>>()
        }
        (None, Some(file)) => {
            let mut all = String::new();
            if file == Path::new("-") {
                std::io::stdin().lock().read_to_string(&mut all).context("read standard input")?;
            } else {
                all = std::fs::read_to_string(file).with_context(|| format!("read `{}`", file.display()))?;
            }
            all.split(|c: char| c.is_whitespace() || c == ',')
                .filter(|w| !w.is_empty())
                .map(str::to_owned)
                .collect()
        }
        (None, None) => bail!("no values are given"),
    };
    let mut bytes = Vec::new();
    for word in &words {
        if word == "_" {
            bytes.extend(variable.header().fill_value());
        } else {
            bytes.extend(encode(ty, word)?);
        }
    }
    match words.len() as u64 {
        1 => Ok(Values::One(bytes)),
        n if n == wanted => Ok(Values::All(bytes)),
        n => bail!("{n} values are given, and {wanted} are selected"),
    }
}

/// Returns text, padded with zero bytes.
fn text_values(value: &str, wanted: u64) -> Result<Values> {
    let mut bytes = value.as_bytes().to_vec();
    let wanted = usize::try_from(wanted).context("too much is selected")?;
    if bytes.len() > wanted {
        bail!("the text has {} bytes, and {wanted} are selected", bytes.len());
    }
    bytes.resize(wanted, 0);
    Ok(Values::All(bytes))
}

/// Stages the values of a selection, hyperslab by hyperslab.
fn stage(edit: &mut Edit, name: &str, selection: &Selection, values: &Values) -> Result<()> {
    let counts = selection.counts();
    for (slab, place) in selection.slabs() {
        match values {
            Values::One(value) => edit.set(name, &slab, value)?,
            Values::All(all) => {
                let size = all.len() as u64 / selection.elements().max(1);
                let bytes = part_of(all, usize::try_from(size)?, &counts, &place, &slab.count)?;
                edit.set(name, &slab, &bytes)?;
            }
            Values::Of(variable) => copy(edit, name, &slab, &place, &counts, variable)?,
        }
    }
    Ok(())
}

/// Returns a box of row-major values.
fn part_of(all: &[u8], size: usize, lens: &[u64], place: &[u64], counts: &[u64]) -> Result<Vec<u8>> {
    let total: u64 = counts.iter().product();
    let mut out = Vec::with_capacity(usize::try_from(total)? * size);
    for n in 0..total {
        let (mut rest, mut position, mut unit) = (n, 0, 1);
        for axis in (0..lens.len()).rev() {
            position += (place[axis] + rest % counts[axis]) * unit;
            rest /= counts[axis];
            unit *= lens[axis];
        }
        let at = usize::try_from(position)? * size;
        out.extend_from_slice(&all[at..at + size]);
    }
    Ok(out)
}

/// Copies from another file's variable, some indices of the first dimension at a time.
fn copy(
    edit: &mut Edit,
    name: &str,
    slab: &Hyperslab,
    place: &[u64],
    counts: &[u64],
    variable: &Variable,
) -> Result<()> {
    let size = variable.ty().size() as u64;
    let row: u64 = slab.count.iter().skip(1).product::<u64>() * size;
    let rows = slab.count.first().copied().unwrap_or(1);
    let step = BAND_LEN.checked_div(row).unwrap_or(rows).max(1);
    let mut done = 0;
    while done < rows {
        let take = step.min(rows - done);
        let mut to = slab.clone();
        let mut from =
            Hyperslab { start: place.to_vec(), count: slab.count.clone(), stride: vec![1; place.len()] };
        if !to.start.is_empty() {
            to.start[0] = to.start[0].wrapping_add(to.stride[0].cast_unsigned().wrapping_mul(done));
            to.count[0] = take;
            from.start[0] += done;
            from.count[0] = take;
        }
        // Its dimensions of one element may differ from those of the selection.
        let from = fitted(&from, counts, variable.shape());
        edit.set(name, &to, &variable.read_bytes(&from)?)?;
        done += take;
    }
    Ok(())
}

/// Returns the same box for an array with other dimensions of one element.
fn fitted(slab: &Hyperslab, lens: &[u64], shape: &[u64]) -> Hyperslab {
    let mut long =
        (0..lens.len()).filter(|&n| lens[n] != 1).map(|n| (slab.start[n], slab.count[n], slab.stride[n]));
    let mut out = Hyperslab { start: vec![], count: vec![], stride: vec![] };
    for &len in shape {
        let (start, count, stride) = if len == 1 { (0, 1, 1) } else { long.next().unwrap_or((0, len, 1)) };
        out.start.push(start);
        out.count.push(count);
        out.stride.push(stride);
    }
    out
}
