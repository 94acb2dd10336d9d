//! Type, attributes and fill value of a joined variable.

use super::join::{Group, own_text};
use super::{Report, attributes};
use crate::master::values::text;
use crate::write::attribute;
use nc3z_format::NcType;
use nc3z_format::classic::Attribute;

/// Attributes that belong to the stored form of one file's values.
pub(super) const STORED: [&str; 10] = [
    "scale_factor",
    "add_offset",
    "_FillValue",
    "missing_value",
    "_Unsigned",
    "valid_min",
    "valid_max",
    "valid_range",
    "actual_range",
    "fragment_fingerprints",
];

/// Returns the type, and the attributes with the fill value, of the joined variable.
pub(super) fn stored_form(group: &Group<'_>, report: &mut Report) -> (NcType, Vec<Attribute>) {
    let first = group.members[0];
    let members = &group.members;
    let mut ty = members.iter().fold(first.ty, |ty, m| promote(ty, m.ty));
    let units = own_text(first, "units");
    let converted = members.iter().any(|m| own_text(m, "units") != units);
    if converted && !ty.is_float() && ty != NcType::Char {
        ty = NcType::Double;
    }
    let lists: Vec<&[Attribute]> = members.iter().map(|m| &m.attributes[..]).collect();
    let (mut attributes, dropped) = attributes::common(&lists);
    let plain = members.iter().all(|m| m.raw == Some(ty)) && !converted;
    attributes.retain(|a| {
        !STORED.iter().any(|n| n.as_bytes() == a.name) || (plain && a.name.starts_with(b"valid_"))
    });
    // A standard name that only some members have applies to all.
    if let Some(name) = members.iter().find_map(|m| m.attributes.iter().find(|a| a.name == b"standard_name"))
        && attributes.iter().all(|a| a.name != b"standard_name")
        && members.iter().filter_map(|m| own_text(m, "standard_name")).all(|t| t == text(name))
    {
        attributes.push(name.clone());
    }
    if converted {
        let own = first.attributes.iter().find(|a| a.name == b"units").cloned();
        attributes.retain(|a| a.name != b"units");
        attributes.extend(own);
    }
    let named = ["units", "scale_factor", "add_offset", "_FillValue", "missing_value"];
    let dropped: Vec<String> = dropped.into_iter().filter(|n| !named.contains(&n.as_str())).collect();
    if !dropped.is_empty() {
        report.notes.push(format!(
            "attributes of `{}` that are not alike in all files are left out: {}",
            first.name,
            dropped.join(", ")
        ));
    }
    if ty != NcType::Char {
        // The fill value that all members have, otherwise the default of the type. It is always written, so
        // that no reader has to know the default.
        let same = members.iter().all(|m| m.raw == Some(ty) && m.fill == first.fill);
        let fill = if same { first.fill.clone() } else { ty.default_fill().to_vec() };
        attributes.push(attribute("_FillValue", ty, fill));
    }
    (ty, attributes)
}

/// A type that can hold the values of both.
fn promote(a: NcType, b: NcType) -> NcType {
    if a == b {
        return a;
    }
    let small = |ty: NcType| ty.size() <= 2;
    match (a, b) {
        (NcType::Float, other) | (other, NcType::Float) if small(other) => NcType::Float,
        (x, y)
            if !x.is_float()
                && !y.is_float()
                && x.size().max(y.size()) <= 4
                && !x.is_unsigned()
                && !y.is_unsigned() =>
        {
            if x.size() >= y.size() {
                x
            } else {
                y
            }
        }
        _ => NcType::Double,
    }
}
