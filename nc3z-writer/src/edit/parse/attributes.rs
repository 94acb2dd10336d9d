//! Edits of attributes in words: assignments, renames, and the form of ncatted.

use super::{cdl_number, encode, typed};
use crate::edit::Edit;
use crate::error::Result;
use nc3z_format::names::{self, unescape};
use nc3z_format::spelling::suggest;
use nc3z_format::{Error as FormatError, NcType};

/// An attribute that was to be deleted, and does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoAttribute {
    /// The variable. None for the file.
    pub owner: Option<String>,
    /// The name of the attribute.
    pub name: String,
}

fn invalid(what: impl Into<String>) -> FormatError {
    FormatError::invalid(what)
}

fn refuse<T>(what: impl Into<String>) -> Result<T> {
    Err(invalid(what).into())
}

/// Deletes an attribute: `VARIABLE:ATTRIBUTE`. Returns it if it does not exist, which is not an error.
///
/// # Errors
/// Words of another form; a variable that does not exist.
pub fn delete(edit: &mut Edit, words: &str) -> Result<Option<NoAttribute>> {
    let (owner, name) = split(words)?;
    delete_one(edit, owner.as_deref(), &name)
}

/// Renames an attribute: `VARIABLE@ATTRIBUTE`, or the attribute of this name of the file and of all variables.
///
/// # Errors
/// The attribute does not exist; the new name is invalid.
pub fn rename(edit: &mut Edit, old: &str, new: &str) -> Result<()> {
    if let Some((owner, name)) = names::split_once(old, '@') {
        return edit.rename_attribute(owner_of(&unescape(owner)), &unescape(name), new);
    }
    let old = &unescape(old);
    let owners: Vec<Option<String>> =
        owners(edit).into_iter().filter(|owner| edit.attribute(owner.as_deref(), old).is_some()).collect();
    if owners.is_empty() {
        return refuse(format!("no attribute `{old}`"));
    }
    owners.iter().try_for_each(|owner| edit.rename_attribute(owner.as_deref(), old, new))
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
    let (owner, attribute) =
        names::split_once(name, ':').ok_or_else(|| invalid(format!("`{name}` is not VARIABLE:ATTRIBUTE")))?;
    Ok(((!owner.is_empty()).then(|| unescape(owner)), unescape(attribute)))
}

/// Sets an attribute: `VARIABLE:ATTRIBUTE=VALUE`. Without a variable it is global. A value is text unless it is numbers as in CDL.
///
/// # Errors
/// Words of another form; a variable that does not exist; a value that the type does not have.
pub fn assign(edit: &mut Edit, assignment: &str) -> Result<()> {
    let (name, value) =
        names::split_once(assignment, '=').ok_or_else(|| invalid("expected VARIABLE:ATTRIBUTE=VALUE"))?;
    let (owner, name) = split(name)?;
    let owner = owner.as_deref();
    check_owner(edit, owner)?;
    let (ty, values) = value_of(edit, owner, &name, value)?;
    edit.set_attribute(owner, &name, ty, &values)
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
            return refuse("the values have several types");
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

/// Applies one edit in the form of ncatted: `ATTRIBUTE,VARIABLE,MODE,TYPE,VALUE`. Returns the attribute that was to be deleted and does
/// not exist, if any.
///
/// # Errors
/// Words of another form; a variable that does not exist; a value that the type does not have.
pub fn ncatted(edit: &mut Edit, words: &str) -> Result<Option<NoAttribute>> {
    let mut missing = None;
    let names =
        names::split_once(words, ',').and_then(|(name, rest)| Some((name, names::split_once(rest, ',')?)));
    let Some((name, (variable, rest))) = names else {
        return refuse("expected ATTRIBUTE,VARIABLE,MODE,TYPE,VALUE");
    };
    let (name, variable) = (&unescape(name)[..], &unescape(variable)[..]);
    let rest: Vec<&str> = rest.splitn(3, ',').collect();
    let (mode, rest) = (rest[0], &rest[1..]);
    let given: Option<(NcType, Vec<u8>)> = match (mode, rest) {
        ("d" | "delete", _) => None,
        (_, [ty, value]) => match typed(ty, value) {
            Err(e) if !names::hint(edit.header()).is_empty() => {
                return refuse(format!("{e}{}", names::hint(edit.header())));
            }
            found => Some(found?),
        },
        _ => return refuse(format!("mode `{mode}` wants a type and a value{}", names::hint(edit.header()))),
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
                return refuse("only mode d works on all attributes");
            }
            delete_all(edit, owner)?;
            continue;
        }
        let there = edit.attribute(owner, name).cloned();
        let Some((ty, values)) = &given else {
            if !every {
                missing = delete_one(edit, owner, name)?;
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
                return refuse("the attribute is of another type; mode o overwrites it");
            }
            ("a" | "append" | "n" | "nappend", Some(a)) => joined(&a.values, values),
            ("p" | "prepend", Some(a)) => joined(values, &a.values),
            ("a" | "append" | "c" | "create" | "o" | "overwrite" | "p" | "prepend", _)
            | ("m" | "modify", Some(_)) => values.clone(),
            (other, _) => return refuse(format!("unknown mode `{other}`; expected a, c, d, m, n, o or p")),
        };
        edit.set_attribute(owner, name, *ty, &new)?;
    }
    Ok(missing)
}

/// Checks that the variable exists.
fn check_owner(edit: &Edit, owner: Option<&str>) -> Result<()> {
    match owner.filter(|v| edit.header().variable(v.as_bytes()).is_none()) {
        Some(v) => {
            let known = suggest(v, edit.header().variables.iter().map(|v| v.name_lossy()));
            refuse(format!("no variable `{v}`{known}{}", names::hint(edit.header())))
        }
        None => Ok(()),
    }
}

/// Deletes an attribute. As in ncatted, a missing attribute is not an error.
fn delete_one(edit: &mut Edit, owner: Option<&str>, name: &str) -> Result<Option<NoAttribute>> {
    check_owner(edit, owner)?;
    if edit.attribute(owner, name).is_none() {
        return Ok(Some(NoAttribute { owner: owner.map(str::to_owned), name: name.to_owned() }));
    }
    edit.delete_attribute(owner, name)?;
    Ok(None)
}

fn delete_all(edit: &mut Edit, owner: Option<&str>) -> Result<()> {
    let list = match owner {
        None => edit.header().attributes.clone(),
        Some(v) => {
            edit.header().variable(v.as_bytes()).map(|(_, v)| v.attributes.clone()).unwrap_or_default()
        }
    };
    for attribute in list {
        let name = String::from_utf8(attribute.name).map_err(|_| invalid("a name that is not UTF-8"))?;
        edit.delete_attribute(owner, &name)?;
    }
    Ok(())
}
