//! `nc3z set`.

use super::{commit, open, plan};
use crate::args::{OpenArgs, SetArgs};
use crate::cmd::named::Named;
use crate::cmd::read::alone;
use crate::exit::Exit;
use crate::output::streams::Stdout;
use crate::output::text;
use crate::selection;
use anyhow::{Context, Result, anyhow, bail};
use nc3z_format::NcType;
use nc3z_look::selection::Selection;
use nc3z_reader::{Dataset, Variable};
use nc3z_writer::edit::PartValues;
use nc3z_writer::edit::words::encode;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

/// Overwrites values.
pub(crate) fn set(args: &SetArgs) -> Result<Exit> {
    let mut edit = open(&args.archive, &args.edit)?;
    let mut staged = || -> Result<bool> {
        let dataset = Dataset::from(edit.archive().clone());
        let name = alone(&dataset, &args.variable);
        let variable = dataset.variable(&name)?;
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
        edit.set_part(&name, &selection.slabs(), &selection.counts(), &values)?;
        Ok(false)
    };
    if super::super::in_file(&args.archive, staged())? {
        return Ok(Exit::Done);
    }
    commit(edit, &args.archive, &args.edit)
}

fn values_of(args: &SetArgs, variable: &Variable, selection: &Selection) -> Result<PartValues> {
    let (ty, wanted) = (variable.ty(), selection.elements());
    if let Some(file) = &args.from {
        let name = args.from_variable.as_deref().unwrap_or(&args.variable);
        let found = || -> Result<Variable> {
            let dataset = Named::of(file)?.open_dataset(&OpenArgs::default())?;
            let other = dataset.variable(&alone(&dataset, name))?;
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
        return Ok(PartValues::Of(Box::new(super::super::in_file(file, found())?)));
    }
    let words = match (&args.value, &args.text) {
        (Some(value), _) => {
            let value = value
                .strip_prefix('=')
                .ok_or_else(|| anyhow!("expected =VALUE, found `{}`", text::safe(value)))?;
            if value == "_" {
                return Ok(PartValues::One(variable.header().fill_value().to_vec()));
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
        1 => Ok(PartValues::One(bytes)),
        n if n == wanted => Ok(PartValues::All(bytes)),
        n => bail!("{n} values are given, and {wanted} are selected"),
    }
}

/// Returns text, padded with zero bytes.
fn text_values(value: &str, wanted: u64) -> Result<PartValues> {
    let mut bytes = value.as_bytes().to_vec();
    let wanted = usize::try_from(wanted).context("too much is selected")?;
    if bytes.len() > wanted {
        bail!("the text has {} bytes, and {wanted} are selected", bytes.len());
    }
    bytes.resize(wanted, 0);
    Ok(PartValues::All(bytes))
}
