//! The two traits of a filter or codec: its kind reads the stored JSON object, and a bound stage encodes and decodes.

use super::spec::StageSpec;
use crate::error::{Error, Result};
use crate::quantize::Quantize;
use crate::types::NcType;
use std::any::Any;
use std::fmt;

/// A filter or codec that a [`Registry`](super::Registry) knows by its id.
///
/// It reads the stored JSON object and makes the [`Stage`] that does the work, once for each chain of an archive.
pub trait StageKind: Send + Sync {
    /// The id in stored chains.
    fn id(&self) -> &str;

    /// A valid JSON object, for messages. It has all keys that a user may give.
    fn example(&self) -> &str;

    /// Returns true if a user may give this key.
    fn takes(&self, key: &str) -> bool {
        self.example().contains(&format!("\"{key}\""))
    }

    /// Makes the stage for a stored object with this id. The object may have any other keys.
    ///
    /// # Errors
    /// The reason in a few words. A key that is missing, unknown or out of range must be an error, since it may change the meaning.
    fn bind(&self, spec: &StageSpec) -> Result<Box<dyn Stage>, String>;

    /// Completes an object that a user wrote, for elements of a type: adds the omitted keys.
    ///
    /// # Errors
    /// The reason why it does not fit such elements.
    fn complete(&self, spec: StageSpec, ty: NcType) -> Result<StageSpec, String> {
        let _ = ty;
        Ok(spec)
    }

    /// The rounding of values at this filter's position in a chain. The writer rounds them before the chain
    /// runs, proves the bound and declares the loss. The filter itself then passes bytes on unchanged, in
    /// both directions.
    fn rounding(&self, spec: &StageSpec) -> Option<Quantize> {
        let _ = spec;
        None
    }
}

/// One step of a byte chain, bound to its parameters. Immutable, and shared by all threads that decode.
pub trait Stage: Send + Sync {
    /// Decodes into exactly `out`. Any input gives a result or an error, in time and memory proportional to
    /// both.
    ///
    /// # Errors
    /// Damage; more or fewer bytes than `out` has.
    fn decode_into(&self, input: &[u8], contexts: &mut Contexts, out: &mut [u8]) -> Result<()>;

    /// Appends the encoded form of `input` to `out`. The same input gives the same bytes, whatever the state
    /// of `contexts`.
    ///
    /// # Errors
    /// An error of the library; a stage that only decodes.
    fn encode(&self, input: &[u8], contexts: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        let _ = (input, contexts, out);
        Err(Error::invalid("this build decodes this filter or codec, and does not encode it"))
    }

    /// The length of the encoded form of `decoded_len` bytes where their values do not matter: for filters. `None` (always or
    /// never) for codecs.
    fn encoded_len(&self, decoded_len: usize) -> Option<usize> {
        let _ = decoded_len;
        None
    }

    /// The inverse of [`Stage::encoded_len`], for filters that may follow a codec. `None` if no input has
    /// this encoded length, and for all other stages.
    fn decoded_len(&self, encoded_len: usize) -> Option<usize> {
        let _ = encoded_len;
        None
    }

    /// Returns true if [`Stage::decode_up_to`] can be called. Then another codec may precede this one.
    fn finds_length(&self) -> bool {
        false
    }

    /// Decodes into the beginning of `out`, if the length is not known beforehand. Returns the decoded
    /// length.
    ///
    /// # Errors
    /// As [`Stage::decode_into`], except that `out` may be longer.
    fn decode_up_to(&self, input: &[u8], contexts: &mut Contexts, out: &mut [u8]) -> Result<usize> {
        let _ = (input, contexts, out);
        Err(Error::invalid("this codec does not say how long its content is"))
    }
}

/// State that stages keep between calls: contexts of libraries, buffers. One for each thread, with one value
/// of each type.
#[derive(Default)]
pub struct Contexts(Vec<Box<dyn Any + Send>>);

impl Contexts {
    /// The value of this type, made at its first use.
    pub fn get<T: Any + Send + Default>(&mut self) -> &mut T {
        let known = self.0.iter().position(|context| (**context).is::<T>());
        let at = known.unwrap_or_else(|| {
            self.0.push(Box::<T>::default());
            self.0.len() - 1
        });
        self.0[at].downcast_mut().expect("found by its type, or made with it")
    }
}

impl fmt::Debug for Contexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contexts").finish_non_exhaustive()
    }
}

/// Why a built-in stage is not bound.
pub(super) const OTHER_KEYS: &str = "a key is missing, not known or out of range";
