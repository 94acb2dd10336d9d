//! Documents of Zarr 3 and virtual chunks, for a repository of Icechunk or a manifest of VirtualiZarr.

use crate::array::{Array, Chunk};
use crate::codecs::Codecs;
use crate::error::Result;
use crate::{Arrays, values};
use base64::Engine as _;
use nc3z_format::NcType;
use nc3z_format::classic::{Header, Variable};
use serde_json::{Map, Value, json};

impl Arrays<'_> {
    /// Returns documents of Zarr 3 by path, and for each array its grid, its chunks in the archive and its
    /// inlined chunks. Readers find the archive at `url`. `checksum` identifies its content: `{"etag": …}` or
    /// `{"last_modified": …}`.
    ///
    /// # Errors
    /// A codec that Zarr does not have.
    pub fn icechunk(&self, url: &str, checksum: &Value) -> Result<Value> {
        let header = self.archive.header();
        let (mut documents, mut arrays) = (Map::new(), Map::new());
        documents.insert("zarr.json".to_owned(), group_document(header));
        for array in &self.arrays {
            let document = self.document(array).map_err(|e| e.in_variable(&array.name))?;
            documents.insert(format!("{}/zarr.json", array.name), document);
            arrays.insert(array.name.clone(), chunks(array));
        }
        Ok(json!({
            "version": 1, "location": url, "checksum": checksum, "documents": documents, "arrays": arrays,
        }))
    }

    fn document(&self, array: &Array) -> Result<Value> {
        let header = self.archive.header();
        let variable = &header.variables[array.id.index()];
        let codecs = Codecs::of(&array.chain, variable.ty, &array.chunk)?.zarr3(variable.ty);
        Ok(array_document(header, variable, &array.shape, &array.chunk, &codecs))
    }
}

/// Returns the document of a group with the global attributes.
pub fn group_document(header: &Header) -> Value {
    json!({
        "zarr_format": 3, "node_type": "group", "attributes": values::attributes(&header.attributes, None),
    })
}

/// Returns the document of a variable as an array with chunks of one shape.
pub fn array_document(
    header: &Header,
    variable: &Variable,
    shape: &[u64],
    chunk: &[u64],
    codecs: &[Value],
) -> Value {
    let mut attributes = values::attributes(&variable.attributes, None);
    // As written by xarray: floats by their bytes, so that none is lost.
    match values::own_fill(variable).filter(|_| matches!(variable.ty, NcType::Float | NcType::Double)) {
        Some(fill) => {
            let bytes = values::float(variable.ty, fill).to_le_bytes();
            let text = base64::engine::general_purpose::STANDARD.encode(bytes);
            attributes.insert("_FillValue".to_owned(), text.into());
        }
        None if variable.ty == NcType::Char => {
            attributes.remove("_FillValue");
        }
        None => {}
    }
    json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": data_type(variable.ty),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill_value(variable), "codecs": codecs, "attributes": attributes,
        "dimension_names": values::dimensions(header, variable), "storage_transformers": [],
    })
}

/// Returns the grid, the chunks in the archive as `[index, …, offset, length]`, and the inlined chunks by
/// their index in the grid.
fn chunks(array: &Array) -> Value {
    let (mut places, mut inlined) = (Vec::new(), Map::new());
    for (index, chunk) in array.numbered() {
        match chunk {
            Chunk::Place { offset, len } => {
                places.push(json!([index, offset, len]));
            }
            Chunk::Bytes(bytes) => {
                let key = index.iter().map(u64::to_string).collect::<Vec<_>>().join("/");
                inlined.insert(key, base64::engine::general_purpose::STANDARD.encode(bytes).into());
            }
        }
    }
    json!({"grid": array.grid(), "chunks": places, "inlined": inlined})
}

fn data_type(ty: NcType) -> Value {
    match ty {
        NcType::Byte => "int8".into(),
        NcType::Char => json!({"name": "null_terminated_bytes", "configuration": {"length_bytes": 1}}),
        NcType::Short => "int16".into(),
        NcType::Int => "int32".into(),
        NcType::Float => "float32".into(),
        NcType::Double => "float64".into(),
        NcType::UByte => "uint8".into(),
        NcType::UShort => "uint16".into(),
        NcType::UInt => "uint32".into(),
        NcType::Int64 => "int64".into(),
        NcType::UInt64 => "uint64".into(),
    }
}

/// Returns the value of missing chunks, although no chunk is missing.
fn fill_value(variable: &Variable) -> Value {
    match (values::fill_value(variable), variable.ty) {
        (Value::Null, NcType::Char) => "".into(),
        (Value::Null, NcType::Float | NcType::Double) => json!(0.0),
        (Value::Null, _) => json!(0),
        (fill, _) => fill,
    }
}
