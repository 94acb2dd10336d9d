//! Translates filters between the two notations, by codec plug-ins.

use crate::host::Workers;
use crate::plugins::{Plugins, Use};
use crate::wire::{Op, Request};
use nc3z_format::codec::{ChainSpec, HDF5_ID, Hdf5Filter, StageSpec};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The maximal length of a translation in bytes: JSON, or parameters.
const MOST: u64 = 1 << 20;

impl Plugins {
    /// Returns the codec that is paired with a filter's number: its id, and the library that translates it.
    pub fn codec_of(&self, number: u32) -> Option<&(String, PathBuf)> {
        self.paired().find(|(of, _)| *of == number).map(|(_, codec)| codec)
    }

    /// Returns whether a codec plug-in that is paired with a filter has this id.
    pub fn translates(&self, id: &str) -> bool {
        self.paired().any(|(_, (of, _))| of == id)
    }

    /// Returns numbers of filters with the codecs that are paired with them.
    fn paired(&self) -> impl Iterator<Item = (u32, &(String, PathBuf))> {
        let usable = self.rows().iter().filter(|row| row.usable == Use::Both);
        usable.filter_map(|row| Some((row.id, row.codec.as_ref()?)))
    }

    /// Returns a chain as NumCodecs' objects: a plug-in's filter is translated by the codec that is paired
    /// with it, all others are built in.
    ///
    /// # Errors
    /// The reason why a filter cannot be expressed in JSON.
    pub fn to_numcodecs(&self, chain: &ChainSpec) -> Result<Vec<Value>, String> {
        let one = |stage: &StageSpec| match Hdf5Filter::from_stage(stage) {
            Ok(filter) if stage.id() == HDF5_ID => self.to_json(&filter),
            _ => {
                let mut objects = ChainSpec(vec![stage.clone()]).to_numcodecs().map_err(|e| e.to_string())?;
                Ok(objects.pop().unwrap_or_default())
            }
        };
        chain.0.iter().map(one).collect()
    }

    /// Converts a filter to NumCodecs' object, by `NCZ_hdf5_to_codec` of the codec that is paired with it.
    ///
    /// # Errors
    /// No codec is paired with the filter, or it refuses the parameters, or its output is not JSON of this
    /// codec.
    pub fn to_json(&self, filter: &Hdf5Filter) -> Result<Value, String> {
        let (id, library) = self
            .codec_of(filter.id)
            .ok_or_else(|| format!("no codec plug-in translates HDF5 filter {} to JSON", filter.id))?;
        let request = Request {
            op: Op::ToCodec,
            library: library.as_os_str().as_encoded_bytes(),
            codec: id,
            cd_values: &filter.cd_values,
            input: &[],
            most: MOST,
        };
        let by = |why: &str| {
            let (number, parameters) = (filter.id, &filter.cd_values);
            format!(
                "HDF5 filter {number} with parameters {parameters:?}, codec plug-in `{}`: {why}",
                library.display()
            )
        };
        let text = self.workers.ask(&request).map_err(|why| by(&why.to_string()))?;
        let value: Value =
            serde_json::from_slice(&text).map_err(|e| by(&format!("what it made is not JSON: {e}")))?;
        match value.get("id").and_then(Value::as_str) {
            Some(named) if named == id => Ok(value),
            _ => Err(by(&format!("it made {value}, which is not an object with the id \"{id}\""))),
        }
    }

    /// Converts NumCodecs' object to a filter with its parameters, by `NCZ_codec_to_hdf5` of the codec with
    /// its id.
    ///
    /// # Errors
    /// No codec plug-in has the id, or it refuses the object.
    pub fn to_filter(&self, codec: &StageSpec) -> Result<Hdf5Filter, String> {
        let (number, (id, library)) = self
            .paired()
            .find(|(_, (id, _))| id == codec.id())
            .ok_or_else(|| format!("no codec plug-in translates {codec} to an HDF5 filter"))?;
        to_filter(&self.workers, id, number, library, codec)
    }
}

/// Returns the filter of a codec's JSON object, translated by the library.
pub(crate) fn to_filter(
    workers: &Workers,
    id: &str,
    number: u32,
    library: &Path,
    codec: &StageSpec,
) -> Result<Hdf5Filter, String> {
    let json = codec.to_string();
    let request = Request {
        op: Op::ToHdf5,
        library: library.as_os_str().as_encoded_bytes(),
        codec: id,
        cd_values: &[],
        input: json.as_bytes(),
        most: MOST,
    };
    let words = workers.ask(&request);
    let words = words.map_err(|why| format!("{json}: codec plug-in `{}`: {why}", library.display()))?;
    let cd_values: Vec<u32> = words.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    Ok(Hdf5Filter::new(number, cd_values))
}
