//! `nc3z attr` and `nc3z rename`.

use super::{commit, open};
use crate::args::{AttrArgs, RenameArgs};
use crate::cmd::named::refuse_of_catalog;
use crate::exit::Exit;
use crate::names::unescape;
use crate::output::table::count;
use crate::output::text;
use anyhow::{Context, Result};
use nc3z_reader::Dataset;
use nc3z_writer::edit::Edit;
use nc3z_writer::edit::parse::attributes::{self, NoAttribute};

pub(crate) fn attr(args: &AttrArgs) -> Result<Exit> {
    let mut edit = open(&args.archive, &args.edit)?;
    let mut edits = || -> Result<()> {
        for name in &args.delete {
            tell_missing(attributes::delete(&mut edit, name)?);
        }
        for assignment in &args.assignments {
            attributes::assign(&mut edit, assignment).with_context(|| text::safe(assignment))?;
        }
        for words in &args.ncatted {
            let missing = attributes::ncatted(&mut edit, words);
            tell_missing(missing.with_context(|| format!("-a {}", text::safe(words)))?);
        }
        tell_fill_changes(&mut edit, args)
    };
    super::super::in_file(&args.archive, edits())?;
    commit(edit, &args.archive, &args.edit)
}

/// Reports values that another `_FillValue` makes data or missing, or replaces them.
fn tell_fill_changes(edit: &mut Edit, args: &AttrArgs) -> Result<()> {
    let archive = crate::cmd::shown(&args.archive);
    for change in edit.fill_changes()? {
        let (name, all) = (text::safe(&change.variable), change.elements);
        if change.became_data > 0 && !(args.replace_fill && change.is_replaceable) {
            let offer = if change.is_replaceable {
                "; --replace-fill writes the new _FillValue in their places, as ncatted does"
            } else {
                ""
            };
            let n = change.became_data;
            note!("nc3z: {archive}: {n} of {all} values of `{name}` were missing and are data now{offer}");
        }
        if change.became_missing > 0 {
            let n = change.became_missing;
            note!("nc3z: {archive}: {n} of {all} values of `{name}` were data and are missing now");
        }
    }
    if args.replace_fill {
        let replaced = edit.replace_fill()?;
        tell!("{archive}: {} changed to the new _FillValue", count(replaced, "value"));
    }
    Ok(())
}

/// Renames dimensions, variables and attributes.
pub(crate) fn rename(args: &RenameArgs) -> Result<Exit> {
    let mut edit = open(&args.archive, &args.edit)?;
    let mut edits = || -> Result<()> {
        let dataset = Dataset::from(edit.archive().clone());
        for (old, _) in &args.variable {
            refuse_of_catalog(&dataset, unescape(old).as_bytes(), None)?;
        }
        // Attributes first: they are named with the variables' old names.
        for (old, new) in &args.attribute {
            attributes::rename(&mut edit, old, new)?;
        }
        args.variable.iter().try_for_each(|(old, new)| edit.rename_variable(&unescape(old), new))?;
        args.dimension.iter().try_for_each(|(old, new)| edit.rename_dimension(&unescape(old), new))?;
        Ok(())
    };
    super::super::in_file(&args.archive, edits())?;
    commit(edit, &args.archive, &args.edit)
}

/// Reports an attribute that was to be deleted and does not exist.
fn tell_missing(missing: Option<NoAttribute>) {
    if let Some(NoAttribute { owner, name }) = missing {
        let (owner, name) = (text::safe(owner.as_deref().unwrap_or_default()), text::safe(&name));
        tell!("no attribute `{owner}:{name}`: nothing to delete");
    }
}
