//! `nc3z att` and `nc3z rename`.

use super::{commit, open};
use crate::args::{AttArgs, RenameArgs};
use crate::exit::Exit;
use crate::names::{self, unescape};
use crate::output::text;
use anyhow::{Context, Result, anyhow, bail};
use nc3z_format::NcType;
use nc3z_writer::edit::Edit;
use nc3z_writer::edit::words::{cdl_number, encode, typed};

/// Edits attributes.
pub(crate) fn att(args: &AttArgs) -> Result<Exit> {
    let mut edit = open(&args.archive, &args.edit)?;
    let mut edits = || -> Result<()> {
        for name in &args.delete {
            let (owner, name) = split(name)?;
            delete(&mut edit, owner.as_deref(), &name)?;
        }
        for assignment in &args.assignments {
            assign(&mut edit, assignment).with_context(|| text::safe(assignment))?;
        }
        for words in &args.ncatted {
            ncatted(&mut edit, words).with_context(|| format!("-a {}", text::safe(words)))?;
        }
        Ok(())
    };
    super::super::in_file(&args.archive, edits())?;
    commit(edit, &args.archive, &args.edit)
}

/// Renames dimensions, variables and attributes.
pub(crate) fn rename(args: &RenameArgs) -> Result<Exit> {
    let mut edit = open(&args.archive, &args.edit)?;
    let mut edits = || -> Result<()> {
        // Attributes first: they are named with the variables' old names.
        for (old, new) in &args.attribute {
            rename_attribute(&mut edit, old, new)?;
        }
        args.variable.iter().try_for_each(|(old, new)| edit.rename_variable(&unescape(old), new))?;
        args.dimension.iter().try_for_each(|(old, new)| edit.rename_dimension(&unescape(old), new))?;
        Ok(())
    };
    super::super::in_file(&args.archive, edits())?;
    commit(edit, &args.archive, &args.edit)
}

fn rename_attribute(edit: &mut Edit, old: &str, new: &str) -> Result<()> {
    if let Some((owner, name)) = names::split_once(old, '@') {
        return Ok(edit.rename_attribute(owner_of(&unescape(owner)), &unescape(name), new)?);
    }
    let old = &unescape(old);
    let owners: Vec<Option<String>> =
        owners(edit).into_iter().filter(|owner| edit.attribute(owner.as_deref(), old).is_some()).collect();
    if owners.is_empty() {
        bail!("there is no attribute `{}`", text::safe(old));
    }
    owners.iter().try_for_each(|owner| Ok(edit.rename_attribute(owner.as_deref(), old, new)?))
}

/// Returns the file, and all variables with a name that can be written.
fn owners(edit: &Edit) -> Vec<Option<String>> {
    let names = edit.header().variables.iter().filter_map(|v| String::from_utf8(v.name.clone()).ok());
    std::iter::once(None).chain(names.map(Some)).collect()
}

/// `global` means the file, as in NCO, and so does an empty name.
fn owner_of(name: &str) -> Option<&str> {
    (!name.is_empty() && !name.eq_ignore_ascii_case("global")).then_some(name)
}

/// Splits `VARIABLE:ATTRIBUTE`. Without a variable it is a global attribute.
fn split(name: &str) -> Result<(Option<String>, String)> {
    let (owner, attribute) = names::split_once(name, ':')
        .ok_or_else(|| anyhow!("`{}` is not VARIABLE:ATTRIBUTE", text::safe(name)))?;
    Ok(((!owner.is_empty()).then(|| unescape(owner)), unescape(attribute)))
}

fn assign(edit: &mut Edit, assignment: &str) -> Result<()> {
    let (name, value) = names::split_once(assignment, '=').context("expected VARIABLE:ATTRIBUTE=VALUE")?;
    let (owner, name) = split(name)?;
    let owner = owner.as_deref();
    check_owner(edit, owner)?;
    let (ty, values) = value_of(edit, owner, &name, value)?;
    Ok(edit.set_attribute(owner, &name, ty, &values)?)
}

/// Returns type and value: text, unless it is numbers.
fn value_of(edit: &Edit, owner: Option<&str>, name: &str, value: &str) -> Result<(NcType, Vec<u8>)> {
    if let Some(quoted) =
        value.strip_prefix('"').and_then(|v| v.strip_suffix('"')).filter(|_| value.len() > 1)
    {
        return Ok((NcType::Char, quoted.as_bytes().to_vec()));
    }
    let numbers: Option<Vec<_>> = value.split(',').map(cdl_number).collect();
    let Some(numbers) = numbers else { return Ok((NcType::Char, value.as_bytes().to_vec())) };
    let said: Vec<NcType> = numbers.iter().filter_map(|(_, said, _)| *said).collect();
    let ty = if let Some(&ty) = said.first() {
        if said.iter().any(|other| *other != ty) {
            bail!("the values have several types");
        }
        ty
    } else {
        let there = edit.attribute(owner, name).map(|a| a.ty).filter(|ty| *ty != NcType::Char);
        let of_variable = owner
            .filter(|_| {
                matches!(name, "_FillValue" | "missing_value" | "valid_min" | "valid_max" | "valid_range")
            })
            .and_then(|v| edit.header().variable(v.as_bytes()))
            .map(|(_, v)| v.ty);
        let double = numbers.iter().any(|(_, _, ty)| *ty == NcType::Double);
        there.or(of_variable).unwrap_or(if double { NcType::Double } else { NcType::Int })
    };
    let mut values = Vec::new();
    for (number, _, _) in &numbers {
        values.extend(encode(ty, number)?);
    }
    Ok((ty, values))
}

/// Applies one edit in the form of ncatted.
fn ncatted(edit: &mut Edit, words: &str) -> Result<()> {
    let names =
        names::split_once(words, ',').and_then(|(name, rest)| Some((name, names::split_once(rest, ',')?)));
    let Some((name, (variable, rest))) = names else {
        bail!("expected ATTRIBUTE,VARIABLE,MODE,TYPE,VALUE");
    };
    let (name, variable) = (&unescape(name)[..], &unescape(variable)[..]);
    let rest: Vec<&str> = rest.splitn(3, ',').collect();
    let (mode, rest) = (rest[0], &rest[1..]);
    let given: Option<(NcType, Vec<u8>)> = match (mode, rest) {
        ("d" | "delete", _) => None,
        (_, [ty, value]) => Some(typed(ty, value)?),
        _ => bail!("mode `{}` wants a type and a value", text::safe(mode)),
    };
    let every = variable.is_empty();
    let owners: Vec<Option<String>> = if every {
        owners(edit).into_iter().skip(1).collect()
    } else {
        vec![owner_of(variable).map(str::to_owned)]
    };
    for owner in owners {
        let owner = owner.as_deref();
        check_owner(edit, owner)?;
        if name.is_empty() {
            if given.is_some() {
                bail!("only mode d works on all attributes");
            }
            delete_all(edit, owner)?;
            continue;
        }
        let there = edit.attribute(owner, name).cloned();
        let Some((ty, values)) = &given else {
            if !every {
                delete(edit, owner, name)?;
            } else if there.is_some() {
                edit.delete_attribute(owner, name)?;
            }
            continue;
        };
        let joined = |first: &[u8], second: &[u8]| [first, second].concat();
        let same = there.as_ref().is_none_or(|a| a.ty == *ty);
        let new = match (mode, &there) {
            ("c" | "create", Some(_)) | ("m" | "modify" | "n" | "nappend", None) => continue,
            ("a" | "append" | "n" | "nappend" | "p" | "prepend", Some(_)) if !same => {
                bail!("the attribute is of another type; mode o overwrites it")
            }
            ("a" | "append" | "n" | "nappend", Some(a)) => joined(&a.values, values),
            ("p" | "prepend", Some(a)) => joined(values, &a.values),
            ("a" | "append" | "c" | "create" | "o" | "overwrite" | "p" | "prepend", _)
            | ("m" | "modify", Some(_)) => values.clone(),
            (other, _) => bail!("`{}` is no mode: a, c, d, m, n, o or p", text::safe(other)),
        };
        edit.set_attribute(owner, name, *ty, &new)?;
    }
    Ok(())
}

/// Checks that the variable exists.
fn check_owner(edit: &Edit, owner: Option<&str>) -> Result<()> {
    match owner.filter(|v| edit.header().variable(v.as_bytes()).is_none()) {
        Some(v) => {
            let known =
                nc3z_format::spelling::suggest(v, edit.header().variables.iter().map(|v| v.name_lossy()));
            bail!("no variable `{}`{}{}", text::safe(v), text::safe(&known), names::hint(edit.header()))
        }
        None => Ok(()),
    }
}

/// Deletes an attribute. As in ncatted, a missing attribute is not an error, but it is reported.
fn delete(edit: &mut Edit, owner: Option<&str>, name: &str) -> Result<()> {
    check_owner(edit, owner)?;
    if edit.attribute(owner, name).is_none() {
        tell!(
            "there is no attribute `{}:{}`: nothing to delete",
            text::safe(owner.unwrap_or_default()),
            text::safe(name)
        );
        return Ok(());
    }
    Ok(edit.delete_attribute(owner, name)?)
}

fn delete_all(edit: &mut Edit, owner: Option<&str>) -> Result<()> {
    let list = match owner {
        None => edit.header().attributes.clone(),
        Some(v) => {
            edit.header().variable(v.as_bytes()).map(|(_, v)| v.attributes.clone()).unwrap_or_default()
        }
    };
    for attribute in list {
        let name = String::from_utf8(attribute.name).context("a name that is not UTF-8")?;
        edit.delete_attribute(owner, &name)?;
    }
    Ok(())
}
