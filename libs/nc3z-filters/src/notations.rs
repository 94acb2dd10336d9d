//! A chain in the notations of other programs: HDF5's numbers, and NumCodecs' JSON.

use crate::plugins::Plugins;
use nc3z_format::Limits;
use nc3z_format::codec::{ChainSpec, Hdf5Filter, Registry, StageSpec};
use serde_json::Value;

/// A reason why a chain is not translated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotationError {
    /// The text looks like JSON, and is none.
    #[error("the chain is not JSON")]
    NoJson(#[source] serde_json::Error),
    /// The text is not a chain, or the other notation cannot express it.
    #[error(transparent)]
    Format(#[from] nc3z_format::Error),
    /// A plug-in does not translate it.
    #[error("{0}")]
    Plugin(String),
    /// NumCodecs' notation has no such filter.
    #[error("HDF5 filter {0} cannot be written in JSON")]
    NoObject(u32),
}

type Result<T> = std::result::Result<T, NotationError>;

/// A chain in both notations.
#[derive(Debug, Clone, PartialEq)]
pub struct BothNotations {
    /// HDF5's filters with their parameters.
    pub hdf5: Vec<Hdf5Filter>,
    /// NumCodecs' objects.
    pub numcodecs: Value,
    /// True if it was given as JSON.
    pub from_json: bool,
}

/// Translates a chain in either notation. Loaded codec plug-ins translate their own codecs, and built-in
/// rules all others.
///
/// # Errors
/// The text is not a chain, or the other notation cannot express it.
pub fn translate(text: &str, plugins: Option<&Plugins>, registry: &Registry) -> Result<BothNotations> {
    let from_json = text.trim_start().starts_with(['[', '{']);
    let (hdf5, numcodecs) = if from_json {
        let value: Value = serde_json::from_str(text).map_err(NotationError::NoJson)?;
        let list = if value.is_object() { Value::Array(vec![value]) } else { value };
        let chain = ChainSpec::from_value(list.clone(), &Limits::default())?;
        let filters = chain.0.iter().map(|stage| to_hdf5(stage, plugins)).collect::<Result<Vec<_>>>()?;
        (filters, list)
    } else {
        let filters = Hdf5Filter::parse_chain(text)?;
        let stages =
            filters.iter().map(|filter| to_json(filter, plugins, registry)).collect::<Result<Vec<_>>>()?;
        (filters, Value::Array(stages))
    };
    Ok(BothNotations { hdf5, numcodecs, from_json })
}

fn to_hdf5(stage: &StageSpec, plugins: Option<&Plugins>) -> Result<Hdf5Filter> {
    match plugins.filter(|plugins| plugins.translates(stage.id())) {
        Some(plugins) => plugins.to_filter(stage).map_err(NotationError::Plugin),
        None => Ok(Hdf5Filter::from_stage(stage)?),
    }
}

fn to_json(filter: &Hdf5Filter, plugins: Option<&Plugins>, registry: &Registry) -> Result<Value> {
    let paired = plugins.filter(|plugins| plugins.codec_of(filter.id).is_some());
    if let Some(plugins) = paired {
        return plugins.to_json(filter).map_err(NotationError::Plugin);
    }
    let stage = filter.to_stage(registry)?;
    let mut stages = ChainSpec(vec![stage]).to_numcodecs()?;
    match stages.pop() {
        Some(stage) => Ok(stage),
        None => Err(NotationError::NoObject(filter.id)),
    }
}
