//! Documents of Zarr 3 and virtual chunks, for a repository of Icechunk or a manifest of VirtualiZarr.

use crate::array::{Array, Chunk};
use crate::codecs::Codecs;
use crate::error::Result;
use crate::{Arrays, values};
use base64::Engine as _;
use nc3z_format::NcType;
use nc3z_format::classic::{Header, Variable};
use nc3z_format::decode_value::{self, Number};
use serde_json::{Map, Value, json};

/// The attribute that names what a form of the data set does not contain.
pub const LEFT_OUT: &str = "nc3z_left_out";
const FILL_VALUE: &str = "_FillValue";

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
        let codecs = Codecs::new(&array.chain, variable.ty, &array.chunk)?.zarr3(variable.ty);
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
    if let Some(fill) = attributes.remove(FILL_VALUE) {
        let ty = variable.ty;
        match fill_attribute(variable) {
            Some(fill) => {
                attributes.insert(FILL_VALUE.to_owned(), fill);
            }
            None if ty == NcType::Char => {}
            None => {
                let why = format!("attribute {FILL_VALUE} = {fill}: the type {ty} cannot hold it");
                attributes.insert(LEFT_OUT.to_owned(), why.into());
            }
        }
    }
    json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": data_type(variable.ty),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill_value(variable), "codecs": codecs, "attributes": attributes,
        "dimension_names": values::dimensions(header, variable), "storage_transformers": [],
    })
}

/// Returns the attribute `_FillValue` as xarray writes it: floats by their bytes, so that none is lost. None if the type cannot
/// hold it: xarray would fail, or make another number of it.
fn fill_attribute(variable: &Variable) -> Option<Value> {
    let attribute = variable.attribute(FILL_VALUE.as_bytes()).filter(|a| a.count() == 1)?;
    let number = decode_value::numbers(attribute).next()?;
    if variable.ty == NcType::Char || !number.fits(variable.ty) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "floats are what the values are, and whole numbers fit the type"
    )]
    Some(match (variable.ty, number) {
        (NcType::Float | NcType::Double, number) => {
            let single = variable.ty == NcType::Float;
            let value = if single { f64::from(number.real() as f32) } else { number.real() };
            base64::engine::general_purpose::STANDARD.encode(value.to_le_bytes()).into()
        }
        (NcType::UInt64, Number::Whole(n)) => json!(u64::try_from(n).ok()?),
        (_, Number::Whole(n)) => json!(i64::try_from(n).ok()?),
        (_, Number::Real(x)) => json!(x as i64),
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
