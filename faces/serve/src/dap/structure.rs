//! The structure of the requested part: the DDS.

use super::constraint::seen_rank;
use super::names::name_of;
use super::{Asked, no_type, variable};
use crate::failure::{Answer, Failure};
use nc3z_format::NcType;
use std::fmt::Write;

/// The type's name in DAP2.
pub(crate) fn type_name(ty: NcType) -> Option<&'static str> {
    Some(match ty {
        NcType::Byte | NcType::UByte => "Byte",
        NcType::Char => "String",
        NcType::Short => "Int16",
        NcType::UShort => "UInt16",
        NcType::Int => "Int32",
        NcType::UInt => "UInt32",
        NcType::Float => "Float32",
        NcType::Double => "Float64",
        NcType::Int64 | NcType::UInt64 => return None,
    })
}

pub(crate) fn dds(asked: &Asked) -> Answer<String> {
    let mut out = String::from("Dataset {\n");
    for projection in &asked.projections {
        let variable = variable(asked, projection);
        let name = name_of(&variable.header().name);
        let Some(ty) = type_name(variable.ty()) else {
            let why = no_type(variable.ty());
            return Err(Failure::bad(format!(
                "variable `{}`: {why}; read the file's bytes at /{} (in netCDF programs: its address with #mode=bytes), or ask for other variables",
                variable.name(),
                asked.name
            )));
        };
        let _ = write!(out, "    {ty} {name}");
        for (dimension, count) in variable.dimensions().zip(&projection.slab.count).take(seen_rank(&variable))
        {
            let _ = write!(out, "[{} = {count}]", name_of(&dimension.name));
        }
        out.push_str(";\n");
    }
    let _ = writeln!(out, "}} {};", name_of(asked.name.as_bytes()));
    Ok(out)
}
