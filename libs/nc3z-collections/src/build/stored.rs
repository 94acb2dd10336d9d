//! Type, attributes and fill value of a joined variable.

use super::join::{Group, own_text};
use super::scan::Array;
use super::{Report, attributes};
use crate::master::conform::text;
use crate::write::attribute;
use nc3z_format::NcType;
use nc3z_format::classic::Attribute;
use nc3z_format::units::TimeUnit;
use std::sync::Arc;

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
    let mut ty = promote_all(members.iter().map(|m| m.ty)).unwrap_or(first.ty);
    let units = own_text(first, "units");
    let converted = members.iter().any(|m| own_text(m, "units") != units);
    // A float does not hold the days of a century to the minute.
    let is_time = units.as_deref().is_some_and(TimeUnit::is_time);
    if converted && (is_time || !ty.is_float()) && ty != NcType::Char {
        ty = NcType::Double;
    }
    // Single bytes have no default fill value: each of them may be data. A short has room for one beside them.
    let names_fill =
        |m: &&Array| m.attributes.iter().any(|a| a.name == b"_FillValue" || a.name == b"missing_value");
    let is_byte = matches!(ty, NcType::Byte | NcType::UByte);
    let limits = |m: &Array| {
        m.attributes.iter().filter(|a| a.name.starts_with(b"valid_")).cloned().collect::<Vec<_>>()
    };
    let bare = is_byte && members.iter().all(|m| !names_fill(m) && limits(m) == limits(first));
    let alike = |m: &&Array| names_fill(m) && m.raw == Some(ty) && m.fill == first.fill;
    if is_byte && !bare && !members.iter().all(alike) {
        ty = NcType::Short;
    }
    let lists: Vec<&[Arc<Attribute>]> = members.iter().map(|m| &m.attributes[..]).collect();
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
        attributes.push((**name).clone());
    }
    if converted {
        let own = first.attributes.iter().find(|a| a.name == b"units");
        attributes.retain(|a| a.name != b"units");
        attributes.extend(own.map(|own| (**own).clone()));
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
    if ty != NcType::Char && !bare {
        // The fill value that all members have, otherwise the default of the type. It is written, so that no reader has to know the
        // default.
        let same = members.iter().all(|m| m.raw == Some(ty) && m.fill == first.fill);
        let fill = if same { first.fill.clone() } else { ty.default_fill().to_vec() };
        attributes.push(attribute("_FillValue", ty, fill));
    }
    (ty, attributes)
}

/// The smallest type that holds the values of all, whatever their order: floats come first, since `short` and `unsigned short` are
/// `float` beside a `float`, and `int` without it.
pub(crate) fn promote_all(types: impl IntoIterator<Item = NcType>) -> Option<NcType> {
    let mut types: Vec<NcType> = types.into_iter().collect();
    types.sort_unstable_by_key(|ty| (!ty.is_float(), *ty));
    types.into_iter().reduce(promote)
}

/// The smallest type that holds the values of both, as NumPy's `result_type`. A double beside an integer of 64 bits does not hold all
/// of its values; reading refuses the others.
fn promote(a: NcType, b: NcType) -> NcType {
    match (a.is_float(), b.is_float()) {
        _ if a == b => a,
        (false, false) => of_integers(a, b),
        (true, false) if a == NcType::Float && b.size() <= 2 => a,
        (false, true) if b == NcType::Float && a.size() <= 2 => b,
        _ => NcType::Double,
    }
}

fn of_integers(a: NcType, b: NcType) -> NcType {
    let (unsigned, signed) = match (a.is_unsigned(), b.is_unsigned()) {
        (true, false) => (a, b),
        (false, true) => (b, a),
        _ => return if a.size() >= b.size() { a } else { b },
    };
    match unsigned.size() {
        size if size < signed.size() => signed,
        1 => NcType::Short,
        2 => NcType::Int,
        4 => NcType::Int64,
        _ => NcType::Double,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_joined_as_by_numpy() {
        use NcType::{Byte, Double, Float, Int, Int64, Short, UByte, UInt, UInt64, UShort};
        for (a, b, joined) in [
            (Short, Float, Float),
            (UShort, Float, Float),
            (Int, Float, Double),
            (Float, Double, Double),
            (Byte, UByte, Short),
            (UByte, Short, Short),
            (Short, UShort, Int),
            (UInt, Int, Int64),
            (Int, Int64, Int64),
            (UInt64, UByte, UInt64),
            (UInt64, Byte, Double),
            (Int64, Float, Double),
        ] {
            assert_eq!((promote(a, b), promote(b, a)), (joined, joined), "{a} and {b}");
        }
        assert_eq!(promote_all([Short, UShort, Float]), Some(Float));
        assert_eq!(promote_all([Float, Int, Short]), Some(Double));
    }
}
