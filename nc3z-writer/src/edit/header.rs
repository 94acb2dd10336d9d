//! Edits a classic header under the format's rules. This module does not depend on archives.

use nc3z_format::classic::{Attribute, DimId, Dimension, Header, NumRecs, Variable, Version};
use nc3z_format::{Error, NcType, Result};
use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization as _;

/// The longest name that the netCDF library accepts, in bytes.
const NAME_LEN: usize = 256;

/// The owner of attributes: a variable by its name, or the file (`None`).
pub type Owner<'a> = Option<&'a str>;

/// A new name in Unicode's composed form, in which the netCDF library stores names: it finds none in another form.
fn composed(name: &str) -> Cow<'_, str> {
    if name.is_ascii() { Cow::Borrowed(name) } else { Cow::Owned(name.nfc().collect()) }
}

/// Refuses names that the netCDF library refuses.
pub(super) fn check_name(what: &str, name: &str) -> Result<()> {
    let first = name.chars().next();
    let why = if name.is_empty() {
        "it is empty"
    } else if name.len() > NAME_LEN {
        "it is longer than 256 bytes"
    } else if !first.is_some_and(|c| c == '_' || !c.is_ascii() || c.is_ascii_alphanumeric()) {
        "names begin with a letter, a digit or an underscore"
    } else if name.contains('/') || name.chars().any(char::is_control) {
        "slashes and control characters are not allowed"
    } else if name.ends_with(' ') {
        "names do not end in a blank"
    } else {
        return Ok(());
    };
    Err(Error::invalid(format!("invalid name `{}` for {what}: {why}", name.escape_debug())))
}

/// Refuses types that the file's kind does not have.
pub(super) fn check_type(version: Version, what: &str, ty: NcType) -> Result<()> {
    if ty.needs_cdf5() && version != Version::Cdf5 {
        return Err(Error::invalid(format!(
            "{what} of type {ty} needs CDF-5, and the file is {version}: take byte, char, short, int, float or double, or make the file CDF-5 first"
        )));
    }
    Ok(())
}

/// Returns a variable's position in the header.
pub(super) fn find_variable(header: &Header, name: &str) -> Result<usize> {
    let find = |name: &str| header.variable(name.as_bytes()).map(|(id, _)| id.index());
    find(name).or_else(|| find(&composed(name))).ok_or_else(|| {
        let known = nc3z_format::spelling::suggest(name, header.variables.iter().map(|v| v.name_lossy()));
        Error::invalid(format!("no variable `{name}`{known}"))
    })
}

/// Returns a dimension's position in the header.
pub(super) fn find_dimension(header: &Header, name: &str) -> Result<DimId> {
    let find = |name: &str| header.dimension(name.as_bytes()).map(|(id, _)| id);
    find(name).or_else(|| find(&composed(name))).ok_or_else(|| {
        let known = nc3z_format::spelling::suggest(name, header.dimensions.iter().map(Dimension::name_lossy));
        Error::invalid(format!("no dimension `{name}`{known}"))
    })
}

/// Refuses a length of 0, which only the record dimension has.
pub(super) fn check_fixed_len(name: &str, len: u64) -> Result<()> {
    if len > 0 {
        return Ok(());
    }
    let words =
        format!("dimension `{name}` cannot have the length 0, which is the mark of the record dimension");
    Err(Error::invalid(words))
}

fn attributes<'h>(header: &'h mut Header, owner: Owner<'_>) -> Result<&'h mut Vec<Attribute>> {
    Ok(match owner {
        None => &mut header.attributes,
        Some(name) => {
            let at = find_variable(header, name)?;
            &mut header.variables[at].attributes
        }
    })
}

fn words(owner: Owner<'_>, name: &str) -> String {
    owner.map_or(format!("global attribute `{name}`"), |v| format!("attribute `{v}:{name}`"))
}

fn find(list: &[Attribute], owner: Owner<'_>, name: &str) -> Result<usize> {
    let find = |name: &str| list.iter().position(|a| a.name == name.as_bytes());
    find(name).or_else(|| find(&composed(name))).ok_or_else(|| {
        let known: Vec<_> = list.iter().take(20).map(Attribute::name_lossy).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Error::invalid(format!("no {}; there are {known}", words(owner, name)))
    })
}

/// Sets an attribute in its present position, or after the others. Values are big-endian.
pub(super) fn set_attribute(
    header: &mut Header,
    owner: Owner<'_>,
    name: &str,
    ty: NcType,
    values: Vec<u8>,
) -> Result<()> {
    // An attribute that another program stored in another form is found as it is.
    let is_there = attributes(header, owner)?.iter().any(|a| a.name == name.as_bytes());
    let name = if is_there { Cow::Borrowed(name) } else { composed(name) };
    let name = &*name;
    let what = words(owner, name);
    check_name("an attribute", name)?;
    check_type(header.version, &what, ty)?;
    if !values.len().is_multiple_of(ty.size()) {
        return Err(Error::invalid(format!("{what} of type {ty} was given part of a value")));
    }
    if let (Some(variable), "_FillValue") = (owner, name) {
        let of = header.variables[find_variable(header, variable)?].ty;
        if of != ty || values.len() != ty.size() {
            let given = values.len() / ty.size();
            return Err(Error::invalid(format!(
                "{what} must be one value of the variable's type {of}, not {given} of type {ty}"
            )));
        }
    }
    let list = attributes(header, owner)?;
    let attribute = Attribute { name: name.into(), ty, values };
    match list.iter_mut().find(|a| a.name == name.as_bytes()) {
        Some(there) => *there = attribute,
        None => list.push(attribute),
    }
    Ok(())
}

pub(super) fn delete_attribute(header: &mut Header, owner: Owner<'_>, name: &str) -> Result<()> {
    let list = attributes(header, owner)?;
    list.remove(find(list, owner, name)?);
    Ok(())
}

pub(super) fn rename_attribute(header: &mut Header, owner: Owner<'_>, name: &str, new: &str) -> Result<()> {
    let new = &*composed(new);
    check_name("an attribute", new)?;
    let list = attributes(header, owner)?;
    let at = find(list, owner, name)?;
    if name != new && list.iter().any(|a| a.name == new.as_bytes()) {
        return Err(Error::invalid(format!("there is a {} already", words(owner, new))));
    }
    if let (Some(_), "_FillValue") = (owner, new) {
        let (ty, values) = (list[at].ty, list[at].values.clone());
        // Applies all rules for new attributes.
        let mut probe = header.clone();
        set_attribute(&mut probe, owner, new, ty, values)?;
    }
    attributes(header, owner)?[at].name = new.into();
    Ok(())
}

pub(super) fn rename_dimension(header: &mut Header, name: &str, new: &str) -> Result<()> {
    let new = &*composed(new);
    check_name("a dimension", new)?;
    let at = find_dimension(header, name)?;
    if name != new && header.dimension(new.as_bytes()).is_some() {
        return Err(Error::invalid(format!("there is a dimension `{new}` already")));
    }
    header.dimensions[at.index()].name = new.into();
    Ok(())
}

pub(super) fn rename_variable(header: &mut Header, name: &str, new: &str) -> Result<()> {
    let new = &*composed(new);
    check_name("a variable", new)?;
    let at = find_variable(header, name)?;
    if name != new && header.variable(new.as_bytes()).is_some() {
        return Err(Error::invalid(format!("there is a variable `{new}` already")));
    }
    header.variables[at].name = new.into();
    Ok(())
}

/// Adds a dimension; with length 0, it is the record dimension.
pub(super) fn add_dimension(header: &mut Header, name: &str, len: u64) -> Result<()> {
    let name = &*composed(name);
    check_name("a dimension", name)?;
    if header.dimension(name.as_bytes()).is_some() {
        return Err(Error::invalid(format!("there is a dimension `{name}` already")));
    }
    if len == 0
        && let Some(record) = header.dimensions.iter().find(|d| d.is_record())
    {
        let there = record.name_lossy();
        return Err(Error::invalid(format!(
            "a classic file has one record dimension, and `{there}` is it: give `{name}` a length"
        )));
    }
    header.dimensions.push(Dimension { name: name.into(), len });
    Ok(())
}

/// Adds a variable after the others.
pub(super) fn add_variable(header: &mut Header, name: &str, ty: NcType, dimensions: &[&str]) -> Result<()> {
    let name = &*composed(name);
    check_name("a variable", name)?;
    check_type(header.version, &format!("variable `{name}`"), ty)?;
    if header.variable(name.as_bytes()).is_some() {
        return Err(Error::invalid(format!("there is a variable `{name}` already")));
    }
    let ids = dimensions.iter().map(|d| find_dimension(header, d)).collect::<Result<Vec<DimId>>>()?;
    if let Some(at) = ids.iter().skip(1).position(|d| header.dimensions[d.index()].is_record()) {
        let record = dimensions[at + 1];
        return Err(Error::invalid(format!(
            "variable `{name}`: the record dimension `{record}` can only be the first"
        )));
    }
    header.variables.push(Variable {
        name: name.into(),
        dimensions: ids,
        attributes: Vec::new(),
        ty,
        vsize: 0,
        begin: 0,
    });
    Ok(())
}

/// Changes the kind of the file, if that kind has all types in use.
pub(super) fn set_kind(header: &mut Header, version: Version) -> Result<()> {
    for variable in &header.variables {
        check_type(version, &format!("variable `{}`", variable.name_lossy()), variable.ty)?;
        for a in &variable.attributes {
            let what = format!("attribute `{}:{}`", variable.name_lossy(), a.name_lossy());
            check_type(version, &what, a.ty)?;
        }
    }
    for a in &header.attributes {
        check_type(version, &format!("global attribute `{}`", a.name_lossy()), a.ty)?;
    }
    header.version = version;
    header.numrecs = NumRecs::Count(0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_library() {
        for good in ["a", "_x", "T2m", "a b", "é", "2m", "a.b-c+d@e"] {
            assert!(check_name("a variable", good).is_ok(), "{good}");
        }
        for bad in ["", "a/b", "a ", "\u{1}", "-a", " a", "a\nb", &"x".repeat(257)] {
            assert!(check_name("a variable", bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn what_the_kind_does_not_have_is_told() {
        let mut header = Header {
            version: Version::Cdf2,
            numrecs: NumRecs::Count(0),
            dimensions: vec![],
            attributes: vec![],
            variables: vec![],
        };
        let e = set_attribute(&mut header, None, "n", NcType::Int64, vec![0; 8]).unwrap_err().to_string();
        assert!(e.contains("needs CDF-5") && e.contains("CDF-2"), "{e}");
        add_dimension(&mut header, "t", 0).unwrap();
        add_dimension(&mut header, "x", 3).unwrap();
        let e = add_dimension(&mut header, "u", 0).unwrap_err().to_string();
        assert!(e.contains("`t` is it"), "{e}");
        let e = add_variable(&mut header, "v", NcType::Int, &["x", "t"]).unwrap_err().to_string();
        assert!(e.contains("can only be the first"), "{e}");
        add_variable(&mut header, "v", NcType::Int, &["t", "x"]).unwrap();
        let e = set_attribute(&mut header, Some("v"), "_FillValue", NcType::Short, vec![0; 2]).unwrap_err();
        assert!(e.to_string().contains("variable's type int"), "{e}");
        set_attribute(&mut header, Some("v"), "bad", NcType::Short, vec![0; 2]).unwrap();
        assert!(rename_attribute(&mut header, Some("v"), "bad", "_FillValue").is_err());
        set_kind(&mut header, Version::Cdf5).unwrap();
        set_attribute(&mut header, None, "n", NcType::Int64, vec![0; 8]).unwrap();
        let e = set_kind(&mut header, Version::Cdf1).unwrap_err().to_string();
        assert!(e.contains("global attribute `n`"), "{e}");
    }
}
