//! Attributes: the DAS. It describes the whole data set, whichever part is requested.

use super::names::{attribute_name, is_readable, name_of};
use super::structure::type_name;
use super::{Asked, no_type};
use nc3z_format::NcType;
use nc3z_format::classic::{Attribute, Variable};
use nc3z_format::decode_value;
use nc3z_look::part::numbers;
use nc3z_zarr::LEFT_OUT;
use std::fmt::Write;

/// The number of values of an attribute that this one shows.
const SHOWN: usize = 8;

pub(crate) fn das(asked: &Asked) -> String {
    let header = asked.dataset.header();
    let mut out = String::from("Attributes {\n");
    let mut left_out = asked.left_out.clone();
    for projection in &asked.projections {
        let variable = &header.variables[projection.variable.index()];
        let _ = writeln!(out, "    {} {{", name_of(&variable.name));
        write(&mut out, &variable.attributes, Some(variable), &mut left_out);
        if variable.ty == NcType::Char && variable.dimensions.is_empty() {
            out.push_str("        Int32 DODS.strlen 1;\n");
        }
        if let (NcType::Char, Some(last)) = (variable.ty, variable.dimensions.last()) {
            // Flat names: netcdf-c moves containers to the global attributes.
            let dimension = &header.dimensions[last.index()];
            let len = if dimension.is_record() { asked.dataset.records() } else { dimension.len };
            let _ = writeln!(out, "        Int32 DODS.strlen {len};");
            let _ =
                writeln!(out, "        String DODS.dimName {};", quoted(name_of(&dimension.name).as_bytes()));
        }
        out.push_str("    }\n");
    }
    out.push_str("    NC_GLOBAL {\n");
    // A file that was copied by DAP2 may have this attribute.
    let (copied, others): (Vec<_>, Vec<_>) =
        header.attributes.iter().partition(|a| a.name == LEFT_OUT.as_bytes());
    write(&mut out, others, None, &mut left_out);
    left_out.splice(0..0, copied.iter().map(|a| String::from_utf8_lossy(&a.values).into_owned()));
    if !left_out.is_empty() {
        let texts: Vec<String> = left_out.iter().map(|text| quoted(text.as_bytes())).collect();
        let _ = writeln!(out, "        String {LEFT_OUT} {};", texts.join(", "));
    }
    out.push_str("    }\n");
    if let Some(record) = header.dimensions.iter().find(|d| d.is_record() && is_readable(&d.name)) {
        let name = quoted(name_of(&record.name).as_bytes());
        let _ = writeln!(out, "    DODS_EXTRA {{\n        String Unlimited_Dimension {name};\n    }}");
    }
    out.push_str("}\n");
    out
}

/// Writes the attributes of a variable, or the global ones.
fn write<'a>(
    out: &mut String,
    attributes: impl IntoIterator<Item = &'a Attribute>,
    of: Option<&Variable>,
    left_out: &mut Vec<String>,
) {
    for attribute in attributes {
        let ty = attribute_type(attribute);
        let misfit = of.filter(|variable| is_misfit(attribute, variable));
        let why = match (ty, misfit) {
            _ if !is_readable(&attribute.name) => "netCDF-C cannot read its name by DAP2".to_owned(),
            (Some(ty), None) => {
                let (name, values) = (attribute_name(&attribute.name), values_of(attribute, usize::MAX));
                // DAP2 has no attribute without values.
                if !values.is_empty() {
                    let _ = writeln!(out, "        {ty} {name} {values};");
                }
                continue;
            }
            (Some(_), Some(variable)) => format!("the type {} cannot hold it", variable.ty),
            (None, _) => no_type(attribute.ty),
        };
        let of = of.map(Variable::name_lossy).unwrap_or_default();
        let (name, values) = (attribute.name_lossy(), values_of(attribute, SHOWN));
        left_out.push(format!("attribute {of}:{name} = {values}: {why}"));
    }
}

/// Returns the first values of an attribute, separated by commas.
fn values_of(attribute: &Attribute, most: usize) -> String {
    if attribute.ty == NcType::Char {
        return quoted(&attribute.values);
    }
    let size = attribute.ty.size();
    let shown = attribute.values.len().min(most.saturating_mul(size));
    let mut text = numbers(attribute.ty, &attribute.values[..shown]).join(", ");
    if shown < attribute.values.len() {
        text.push_str(", ...");
    }
    text
}

/// Returns whether netCDF-C would make another number of this `_FillValue`. It converts it to the variable's type without a check.
fn is_misfit(attribute: &Attribute, variable: &Variable) -> bool {
    if attribute.name != b"_FillValue" || attribute.ty == variable.ty {
        return false;
    }
    let is_text = [attribute.ty, variable.ty].contains(&NcType::Char);
    is_text || !decode_value::numbers(attribute).all(|number| number.fits(variable.ty))
}

/// Returns the type's name in DAP2. 64-bit integers that fit become 32-bit ones.
fn attribute_type(attribute: &Attribute) -> Option<&'static str> {
    let is_long = matches!(attribute.ty, NcType::Int64 | NcType::UInt64);
    if is_long && decode_value::numbers(attribute).all(|number| number.fits(NcType::Int)) {
        Some("Int32")
    } else {
        type_name(attribute.ty)
    }
}

/// Returns text in quotes, up to the first NUL, as in C.
fn quoted(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(&bytes[..end]);
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_integers_are_sent_where_they_fit() {
        let long = |ty, b: [u8; 8]| Attribute { name: b"a".to_vec(), ty, values: b.to_vec() };
        assert_eq!(attribute_type(&long(NcType::Int64, (-7_i64).to_be_bytes())), Some("Int32"));
        assert_eq!(attribute_type(&long(NcType::UInt64, (1_u64 << 40).to_be_bytes())), None);
        assert_eq!(quoted(b"a\"b\\c\nd\0\0"), "\"a\\\"b\\\\c\nd\"");
    }
}
