//! The description of a file as JSON for the page.

use nc3z_format::cdl::kind;
use nc3z_format::classic::Attribute;
use nc3z_format::coordinates::Direction;
use nc3z_reader::{Dataset, Variable};
use nc3z_zarr::attributes_json;
use serde_json::{Value, json};

/// The maximal total length of attributes that the page gets, in bytes.
const VALUES_LEN: usize = 16 << 20;

/// Returns the JSON of a data set: names and members as in `nc3z info --json`, and the attributes' values.
pub(crate) fn describe(dataset: &Dataset, stored_len: u64) -> Result<Value, String> {
    let header = dataset.header();
    let all = |list: &[Attribute]| list.iter().map(|a| a.values.len()).sum::<usize>();
    let len: usize =
        all(&header.attributes) + header.variables.iter().map(|v| all(&v.attributes)).sum::<usize>();
    if len > VALUES_LEN {
        return Err(format!("the attributes have {len} bytes; the page shows at most {VALUES_LEN}"));
    }
    let dimension = |d: &nc3z_format::classic::Dimension| {
        let len = if d.is_record() { dataset.records() } else { d.len };
        json!({"name": d.name_lossy(), "length": len, "unlimited": d.is_record()})
    };
    let variable = |v: Variable| {
        let names: Vec<_> = v.dimensions().map(|d| d.name_lossy().into_owned()).collect();
        let elements = v.shape().iter().fold(1_u64, |n, len| n.saturating_mul(*len));
        json!({
            "name": v.name(), "type": v.ty().to_string(), "dimensions": names, "shape": v.shape(),
            "original_bytes": elements.saturating_mul(v.ty().size() as u64),
            "attribute_values": attributes_json(v.attributes()),
            "coordinate": Direction::name_of(v.header()),
        })
    };
    let mut found = json!({
        "format": kind(header.version), "original_bytes": dataset.original_len(),
        "dimensions": header.dimensions.iter().map(dimension).collect::<Vec<_>>(),
        "attributes": attributes_json(&header.attributes),
        "variables": dataset.variables().map(variable).collect::<Vec<_>>(),
    });
    if dataset.archive().is_some() {
        found["archive_bytes"] = stored_len.into();
    }
    Ok(found)
}
