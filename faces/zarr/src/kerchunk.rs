//! Writes Kerchunk's JSON, version 1: a group of Zarr 2.

use crate::array::{Array, Chunk};
use crate::codecs::Codecs;
use crate::error::Result;
use crate::{Arrays, values};
use base64::Engine as _;
use serde_json::{Map, Value, json};

impl Arrays<'_> {
    /// Returns Kerchunk's references to the archive at `url`.
    ///
    /// # Errors
    /// A codec that NumCodecs does not have.
    pub fn kerchunk(&self, url: &str) -> Result<Value> {
        let header = self.archive.header();
        let mut refs = Map::new();
        refs.insert(".zgroup".to_owned(), json!({"zarr_format": 2}).to_string().into());
        let attributes = Value::from(values::attributes(&header.attributes, None));
        refs.insert(".zattrs".to_owned(), attributes.to_string().into());
        for array in &self.arrays {
            self.add(array, url, &mut refs).map_err(|e| e.in_variable(&array.name))?;
        }
        Ok(json!({"version": 1, "refs": refs}))
    }

    /// Adds the documents and chunks of a variable.
    fn add(&self, array: &Array, url: &str, refs: &mut Map<String, Value>) -> Result<()> {
        let header = self.archive.header();
        let variable = &header.variables[array.id.index()];
        let codecs = Codecs::new(&array.chain, variable.ty, &array.chunk)?;
        let fill = values::fill_value(variable);
        let dtype = codecs.dtype(variable.ty);
        let (compressor, filters) = codecs.zarr2();
        let document = json!({
            "zarr_format": 2, "shape": array.shape, "chunks": array.chunk, "dtype": dtype, "order": "C",
            "fill_value": fill, "compressor": compressor, "filters": filters, "dimension_separator": ".",
        });
        let name = &array.name;
        refs.insert(format!("{name}/.zarray"), document.to_string().into());
        let mut attributes =
            values::attributes(&variable.attributes, (!fill.is_null()).then_some("_FillValue"));
        attributes.insert("_ARRAY_DIMENSIONS".to_owned(), values::dimensions(header, variable).into());
        refs.insert(format!("{name}/.zattrs"), Value::from(attributes).to_string().into());
        for (index, chunk) in array.numbered() {
            let index: Vec<String> = index.iter().map(u64::to_string).collect();
            let key =
                if index.is_empty() { format!("{name}/0") } else { format!("{name}/{}", index.join(".")) };
            let value = match chunk {
                Chunk::Place { offset, len } => json!([url, offset, len]),
                Chunk::Bytes(bytes) => {
                    format!("base64:{}", base64::engine::general_purpose::STANDARD.encode(bytes)).into()
                }
            };
            refs.insert(key, value);
        }
        Ok(())
    }
}
