//! Attributes: the DAS. It describes the whole data set, whichever part is requested.

use super::structure::{name_of, type_name};
use super::{Asked, no_type};
use crate::failure::Answer;
use nc3z_format::NcType;
use nc3z_format::classic::Attribute;
use nc3z_look::part::numbers;
use std::fmt::Write;

/// The DAS.
pub(crate) fn das(asked: &Asked) -> Answer<String> {
    let header = asked.dataset.header();
    let mut out = String::from("Attributes {\n");
    for projection in &asked.projections {
        let variable = &header.variables[projection.variable.index()];
        let _ = writeln!(out, "    {} {{", name_of(&variable.name));
        write(&mut out, &variable.attributes, asked, &variable.name_lossy())?;
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
    write(&mut out, &header.attributes, asked, "")?;
    out.push_str("    }\n");
    if let Some(record) = header.dimensions.iter().find(|d| d.is_record()) {
        let name = quoted(name_of(&record.name).as_bytes());
        let _ = writeln!(out, "    DODS_EXTRA {{\n        String Unlimited_Dimension {name};\n    }}");
    }
    out.push_str("}\n");
    Ok(out)
}

fn write(out: &mut String, attributes: &[Attribute], asked: &Asked, of: &str) -> Answer<()> {
    for attribute in attributes {
        let name = name_of(&attribute.name);
        let Some(ty) = attribute_type(attribute) else {
            let what = format!("attribute `{of}:{}`", attribute.name_lossy());
            return Err(no_type(&what, attribute.ty, &asked.name));
        };
        let values = if attribute.ty == NcType::Char {
            quoted(&attribute.values)
        } else {
            numbers(attribute.ty, &attribute.values).join(", ")
        };
        // DAP2 has no attribute without values.
        if !values.is_empty() {
            let _ = writeln!(out, "        {ty} {name} {values};");
        }
    }
    Ok(())
}

/// Returns the type's name in DAP2. 64-bit integers that fit become 32-bit ones: if a DAS is an error,
/// clients continue without any attribute.
fn attribute_type(attribute: &Attribute) -> Option<&'static str> {
    let fits = |b: &[u8]| match (attribute.ty, b.try_into()) {
        (NcType::Int64, Ok(b)) => i32::try_from(i64::from_be_bytes(b)).is_ok(),
        (NcType::UInt64, Ok(b)) => i32::try_from(u64::from_be_bytes(b)).is_ok(),
        _ => false,
    };
    let is_long = matches!(attribute.ty, NcType::Int64 | NcType::UInt64);
    if is_long && attribute.values.chunks_exact(8).all(fits) {
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
    fn values_of_attributes_come_back() {
        let long = |ty, b: [u8; 8]| Attribute { name: b"a".to_vec(), ty, values: b.to_vec() };
        assert_eq!(attribute_type(&long(NcType::Int64, (-7_i64).to_be_bytes())), Some("Int32"));
        assert_eq!(attribute_type(&long(NcType::UInt64, (1_u64 << 40).to_be_bytes())), None);
        assert_eq!(quoted(b"a\"b\\c\nd\0\0"), "\"a\\\"b\\\\c\nd\"");
    }
}
