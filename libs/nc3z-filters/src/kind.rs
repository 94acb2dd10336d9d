//! Plug-ins as codecs: `{"id":"hdf5","filter":N,"cd_values":[…]}`, and codecs that a plug-in translates to that.

use crate::host::{Failure, Workers};
use crate::translate::to_filter;
use crate::wire::{Op, Request};
use nc3z_format::codec::{Contexts, HDF5_ID, Hdf5Filter, Stage, StageKind, StageSpec, hdf5_filter_name};
use nc3z_format::{Error, NcType};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Filters of plug-ins, by number.
pub(crate) struct Hdf5Kind {
    workers: Workers,
    filters: BTreeMap<u32, PathBuf>,
}

impl Hdf5Kind {
    pub(crate) fn new(workers: Workers, filters: BTreeMap<u32, PathBuf>) -> Self {
        Hdf5Kind { workers, filters }
    }
}

/// A kind that is shared by several kinds.
pub(crate) struct Shared<K>(pub(crate) Arc<K>);

impl StageKind for Shared<Hdf5Kind> {
    fn id(&self) -> &'static str {
        HDF5_ID
    }

    fn example(&self) -> &'static str {
        r#"{"id":"hdf5","filter":32015,"cd_values":[9]}"#
    }

    fn bind(&self, spec: &StageSpec) -> Result<Box<dyn Stage>, String> {
        let known = spec.parameters().count() == 2;
        let filter = Hdf5Filter::from_stage(spec).ok().filter(|_| known);
        let filter = filter.ok_or("it takes a filter's number and its cd_values, numbers of 32 bits")?;
        let Some(library) = self.0.filters.get(&filter.id) else {
            let all: Vec<_> = self.0.filters.keys().map(ToString::to_string).collect();
            let all = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
            let name = hdf5_filter_name(filter.id).map_or_else(String::new, |name| format!(" ({name})"));
            return Err(format!("no plug-in has HDF5 filter {}{name}; loaded are {all}", filter.id));
        };
        let (workers, library) = (self.0.workers.clone(), library.clone());
        Ok(Box::new(PluginStage { workers, library, filter }))
    }
}

/// A filter of a plug-in, with its parameters.
struct PluginStage {
    workers: Workers,
    library: PathBuf,
    filter: Hdf5Filter,
}

impl PluginStage {
    fn call(&self, op: Op, input: &[u8], most: usize) -> Result<Vec<u8>, Error> {
        // HDF5 does not pass empty chunks to filters.
        if input.is_empty() {
            return Ok(Vec::new());
        }
        let request = Request {
            op,
            library: self.library.as_os_str().as_encoded_bytes(),
            codec: "",
            cd_values: &self.filter.cd_values,
            input,
            most: most as u64,
        };
        self.workers.ask(&request).map_err(|failure| {
            let words = format!(
                "HDF5 filter {} with parameters {:?}, plug-in `{}`: {failure}",
                self.filter.id,
                self.filter.cd_values,
                self.library.display()
            );
            match (failure, op) {
                (Failure::Refused(_), Op::Decode) => {
                    Error::corrupt("payload", None, "content", "what the plug-in decodes", words)
                }
                (Failure::Lost(_), Op::Decode) => Error::unsupported("chain", None, &words),
                _ => Error::invalid(words),
            }
        })
    }
}

impl Stage for PluginStage {
    fn encode(&self, input: &[u8], _: &mut Contexts, out: &mut Vec<u8>) -> nc3z_format::Result<()> {
        // The length that chains reserve between two codecs.
        let most = input.len().saturating_add(input.len() / 4).saturating_add(64 << 10);
        let made = self.call(Op::Encode, input, most)?;
        // A filter's output is decoded and compared before it is stored: plug-ins are not trusted.
        let back = self.call(Op::Decode, &made, input.len())?;
        if back != input {
            return Err(Error::invalid(format!(
                "HDF5 filter {} with parameters {:?}, plug-in `{}`: what it makes does not give the values back; a filter that \
                 changes values cannot be a plug-in's",
                self.filter.id,
                self.filter.cd_values,
                self.library.display()
            )));
        }
        out.extend_from_slice(&made);
        Ok(())
    }

    fn decode_into(&self, input: &[u8], contexts: &mut Contexts, out: &mut [u8]) -> nc3z_format::Result<()> {
        let len = self.decode_up_to(input, contexts, out)?;
        if len != out.len() {
            let what = format!("{len} bytes by plug-in `{}`", self.library.display());
            return Err(Error::corrupt("payload", None, "decoded length", out.len(), what));
        }
        Ok(())
    }

    fn finds_length(&self) -> bool {
        true
    }

    fn decode_up_to(&self, input: &[u8], _: &mut Contexts, out: &mut [u8]) -> nc3z_format::Result<usize> {
        let made = self.call(Op::Decode, input, out.len())?;
        let place =
            out.get_mut(..made.len()).expect("the worker returns at most the allowed number of bytes");
        place.copy_from_slice(&made);
        Ok(made.len())
    }
}

/// A codec that a plug-in translates to its filter's parameters. Chains store these parameters.
pub(crate) struct CodecKind {
    id: String,
    hdf5_id: u32,
    library: PathBuf,
    filters: Arc<Hdf5Kind>,
}

impl CodecKind {
    pub(crate) fn new(id: String, hdf5_id: u32, library: PathBuf, filters: Arc<Hdf5Kind>) -> Self {
        CodecKind { id, hdf5_id, library, filters }
    }

    fn translated(&self, spec: &StageSpec) -> Result<StageSpec, String> {
        let filter = to_filter(&self.filters.workers, &self.id, self.hdf5_id, &self.library, spec)?;
        Ok(filter.as_plugin())
    }
}

impl StageKind for CodecKind {
    fn id(&self) -> &str {
        &self.id
    }

    fn example(&self) -> &'static str {
        r#"{"id":…}, with the plug-in's own keys"#
    }

    fn takes(&self, _: &str) -> bool {
        true
    }

    fn bind(&self, spec: &StageSpec) -> Result<Box<dyn Stage>, String> {
        let spec = if spec.id() == HDF5_ID { spec.clone() } else { self.translated(spec)? };
        Shared(Arc::clone(&self.filters)).bind(&spec)
    }

    fn complete(&self, spec: StageSpec, _: NcType) -> Result<StageSpec, String> {
        self.translated(&spec)
    }
}
