//! The filters and codecs that need no plug-in.

use nc3z_format::NcType;
use nc3z_format::codec::{ChainRequest, Registry, hdf5_filter_name};
use serde_json::{Value, json};

/// A built-in filter or codec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltIn {
    /// Its id in JSON.
    pub id: String,
    /// An example of its JSON.
    pub example: String,
    /// HDF5's number, if it has one.
    pub number: Option<u32>,
    /// True if it rounds values.
    pub rounds: bool,
}

impl BuiltIn {
    /// Returns it as JSON.
    pub fn to_json(&self) -> Value {
        let example: Value = serde_json::from_str(&self.example).unwrap_or_default();
        let name = self.number.and_then(hdf5_filter_name);
        json!({"id": self.id, "hdf5_id": self.number, "hdf5_name": name, "rounds": self.rounds, "example": example})
    }
}

/// Returns all built-in filters and codecs, sorted by HDF5's number; those without a number are last.
pub fn built_in() -> Vec<BuiltIn> {
    let registry = Registry::default();
    let kinds = registry.ids().filter_map(|id| registry.get(id));
    let mut all: Vec<_> = kinds
        .map(|kind| {
            let chain = ChainRequest::parse(&format!("[{}]", kind.example()));
            let bound = chain.as_ref().ok().and_then(|chain| chain.bind(NcType::Float, &registry).ok());
            BuiltIn {
                id: kind.id().to_owned(),
                example: kind.example().to_owned(),
                number: bound.and_then(|chain| chain.to_hdf5().ok()).map(|filters| filters[0].id),
                rounds: chain.is_ok_and(|chain| chain.rounds(&registry)),
            }
        })
        .collect();
    let example = r#"{"id":"nc3z.num"}"#.to_owned();
    all.push(BuiltIn { id: "nc3z.num".to_owned(), example, number: None, rounds: false });
    all.sort_by_key(|filter| filter.number.unwrap_or(u32::MAX));
    all
}
