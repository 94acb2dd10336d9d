//! Variables by their names.

use super::{Error, Result};
use crate::text;
use nc3z_format::classic::{Header, VarId};
use nc3z_format::names;
use nc3z_format::spelling::suggest;
use std::collections::BTreeSet;
use std::ffi::OsString;

/// Returns the variables of lists of names with commas; `None` without lists, which means all.
///
/// # Errors
/// A variable that does not exist.
pub fn named_variables(lists: &[OsString], header: &Header) -> Result<Option<BTreeSet<VarId>>> {
    if lists.is_empty() {
        return Ok(None);
    }
    let mut found = BTreeSet::new();
    for name in lists.iter().flat_map(|list| names::split(list.as_encoded_bytes(), b',')) {
        let name = &names::unescape_bytes(name)[..];
        match header.variable(name) {
            Some((id, _)) => found.insert(id),
            None if name.is_empty() => continue,
            None => {
                let (name, all) =
                    (text::name(name), header.variables.iter().map(|v| text::name(&v.name).into()));
                let known = suggest(&name, all);
                return Err(Error::Wrong(format!("no variable `{name}`{known}{}", names::hint(header))));
            }
        };
    }
    Ok(Some(found))
}
