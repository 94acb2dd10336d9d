//! `nc3z set`.

use super::{commit, open, plan};
use crate::args::{OpenArgs, SetArgs};
use crate::cmd::named::{self, Opens as _};
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
use std::io::{BufWriter, Read, Write};
use std::path::Path;

pub(crate) fn set(args: &SetArgs) -> Result<Exit> {
    let mut edit = open(&args.archive, &args.edit)?;
    // The file in which an error was met.
    let mut concerned = &args.archive;
    let mut staged = || -> Result<bool> {
        let dataset = Dataset::from(edit.archive().clone());
        let name = alone(&dataset, &args.variable);
        named::refuse_of_catalog(&dataset, name.as_bytes(), None)?;
        let variable = dataset.variable(&name)?;
        if variable.attribute("aggregated_dimensions").is_some() && nc3z_collections::is_aggregation(&dataset)
        {
            bail!(
                "`{}` is a variable of an aggregation, whose values are in its fragments: set them there",
                text::safe(&name)
            );
        }
        if args.selection.region.is_some() {
            bail!("--box may select cells that are not a box of indices; give ranges of dimensions with -d");
        }
        let selection = selection::of(&dataset, &variable, &args.selection)?;
        if args.plan {
            let mut out = BufWriter::new(Stdout::results());
            plan::write(&mut out, edit.archive(), &variable, &selection)?;
            out.flush()?;
            return Ok(true);
        }
        let values = values_of(args, &variable, &selection)?;
        let done = edit.set_part(&name, &selection, &values);
        if let (Err(e), Some(from)) = (&done, &args.from)
            && matches!(e.kind(), nc3z_writer::ErrorKind::Source(_))
        {
            concerned = from;
        }
        done?;
        Ok(false)
    };
    let staged = staged();
    if super::super::in_file(concerned, staged)? {
        return Ok(Exit::Done);
    }
    commit(edit, &args.archive, &args.edit)
}

fn values_of(args: &SetArgs, variable: &Variable, selection: &Selection) -> Result<PartValues> {
    let (ty, wanted) = (variable.ty(), selection.elements());
    if let Some(file) = &args.from {
        let name = args.from_variable.as_deref().unwrap_or(&args.variable);
        let found = || -> Result<PartValues> {
            let dataset = named::of(file)?.open_dataset(&OpenArgs::default())?;
            let other = dataset.variable(&alone(&dataset, name))?;
            Ok(PartValues::of_variable(other, ty, &selection.counts())?)
        };
        return super::super::in_file(file, found());
    }
    let mut all = String::new();
    let words: Vec<&str> = match (&args.value, &args.text) {
        (Some(value), _) => {
            let value = value
                .strip_prefix('=')
                .ok_or_else(|| anyhow!("expected =VALUE, found `{}`", text::safe(value)))?;
            if ty == NcType::Char && value != "_" {
                return Ok(PartValues::of_text(value, wanted)?);
            }
            value.split(',').collect()
        }
        (None, Some(file)) => {
            if file == Path::new("-") {
                std::io::stdin().lock().read_to_string(&mut all).context("read standard input")?;
            } else {
                all = std::fs::read_to_string(file).with_context(|| format!("read `{}`", file.display()))?;
            }
            all.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()).collect()
        }
        (None, None) => bail!("no values are given"),
    };
    Ok(PartValues::of_words(variable.header(), words, wanted)?)
}
