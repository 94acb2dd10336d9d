//! `nc3z filters --translate`: translates a chain from one notation to the other.

use crate::registry;
use anyhow::{Context, Result, anyhow, bail};
use nc3z_format::Limits;
use nc3z_format::codec::{ChainSpec, Hdf5Filter, StageSpec};
use nc3z_look::dump::hdf5_text;
use nc3z_plugin::Plugins;
use serde_json::Value;

/// A chain in both notations.
pub(super) struct Both {
    pub(super) hdf5: String,
    pub(super) numcodecs: Value,
    /// True if it was given as JSON.
    pub(super) from_json: bool,
}

/// Translates a chain in either notation. Loaded codec plug-ins translate their own codecs, and built-in
/// rules all others.
pub(super) fn translate(text: &str) -> Result<Both> {
    let plugins = registry::loaded();
    let from_json = text.trim_start().starts_with(['[', '{']);
    let (hdf5, numcodecs) = if from_json {
        let value: Value = serde_json::from_str(text).with_context(|| format!("`{text}` is not JSON"))?;
        let list = if value.is_object() { Value::Array(vec![value]) } else { value };
        let chain = ChainSpec::from_value(list.clone(), &Limits::default())?;
        let filters = chain.0.iter().map(|stage| to_hdf5(stage, plugins)).collect::<Result<Vec<_>>>()?;
        (filters, list)
    } else {
        let filters = Hdf5Filter::parse_chain(text)?;
        let stages = filters.iter().map(|filter| to_json(filter, plugins)).collect::<Result<Vec<_>>>()?;
        (filters, Value::Array(stages))
    };
    Ok(Both { hdf5: hdf5_text(&hdf5), numcodecs, from_json })
}

fn to_hdf5(stage: &StageSpec, plugins: Option<&Plugins>) -> Result<Hdf5Filter> {
    match plugins.filter(|plugins| plugins.translates(stage.id())) {
        Some(plugins) => plugins.to_filter(stage).map_err(|why| anyhow!(why)),
        None => Ok(Hdf5Filter::from_stage(stage)?),
    }
}

fn to_json(filter: &Hdf5Filter, plugins: Option<&Plugins>) -> Result<Value> {
    let paired = plugins.filter(|plugins| plugins.codec_of(filter.id).is_some());
    if let Some(plugins) = paired {
        return plugins.to_json(filter).map_err(|why| anyhow!(why));
    }
    let stage = filter.to_stage(&registry::registry())?;
    let mut stages = ChainSpec(vec![stage]).to_numcodecs()?;
    match stages.pop() {
        Some(stage) => Ok(stage),
        None => bail!("HDF5 filter {} cannot be said in JSON", filter.id),
    }
}
