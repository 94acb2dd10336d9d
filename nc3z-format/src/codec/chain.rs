//! Chains bound to what runs them: once when an archive is opened or planned, then shared by all tiles and threads.

use super::registry::{Registry, left_out};
use super::scratch::Scratch;
use super::spec::{BASE_ID, ChainSpec, DICTIONARY, NUM_ID, REFERENCE, StageSpec};
use super::stage::Stage;
#[cfg(feature = "encode")]
use super::tile::ReferenceTile;
#[cfg(feature = "encode")]
use super::tile::encode_numeric;
use super::tile::{Dependencies, TileShape, decode_numeric};
use crate::archive::IndexEntry;
use crate::archive::constants::ENTRY_LEN;
use crate::bytes::reserve;
use crate::error::{Error, Result};
#[cfg(feature = "encode")]
use nc3z_num::EncodePlan;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

/// A stored chain and what runs it. Immutable; clones share it.
#[derive(Clone)]
pub struct Chain(Arc<Bound>);

struct Bound {
    spec: ChainSpec,
    program: Program,
}

enum Program {
    /// Filters, then at most one codec, over big-endian bytes.
    Bytes(Vec<Box<dyn Stage>>),
    /// The same, or the numeric codec by itself, over the difference to an older tile, which the payload names first.
    Base(Difference),
    /// The numeric codec.
    Num(Needs),
    /// Why this build cannot run it. Only the tiles it made are unreadable.
    Unsupported(String),
}

/// What codes the difference to an older tile.
enum Difference {
    Bytes(Vec<Box<dyn Stage>>),
    Num,
}

/// What a tile needs besides its own payload. Its chain says so, before anything is fetched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needs {
    /// The number of the definition, among those of the tile's variable, that holds the dictionary.
    pub dictionary: Option<u64>,
    /// How much less the id of the variable is whose tile of the same number the tile is coded against.
    pub reference: Option<NonZeroU32>,
    /// Whether it is coded against an older tile in its own place, whose index entry its payload begins with.
    pub base: bool,
}

impl Registry {
    /// What runs a stored chain. A chain that cannot be run is bound too: its use is an error that says why.
    pub fn bind(&self, spec: ChainSpec) -> Chain {
        let program = program(&spec, self).unwrap_or_else(Program::Unsupported);
        Chain(Arc::new(Bound { spec, program }))
    }
}

impl Chain {
    /// The chain as stored.
    pub fn spec(&self) -> &ChainSpec {
        &self.0.spec
    }

    /// Why this build cannot run the chain, if so.
    pub fn unsupported(&self) -> Option<&str> {
        match &self.0.program {
            Program::Unsupported(why) => Some(why),
            _ => None,
        }
    }

    /// True for the numeric codec.
    pub fn is_numeric(&self) -> bool {
        matches!(self.0.program, Program::Num(_))
    }

    /// What its tiles need besides their payloads.
    pub fn needs(&self) -> Needs {
        match &self.0.program {
            Program::Num(needs) => *needs,
            Program::Base(_) => Needs { base: true, ..Needs::default() },
            _ => Needs::default(),
        }
    }

    /// Decodes a tile's payload into exactly `out`: big-endian elements, as they stand in the classic file. `given` is what
    /// [`Chain::needs`] asks for.
    ///
    /// # Errors
    /// A chain that this build cannot run; a payload that does not decode to just so many bytes; a dictionary or reference that is
    /// missing; a reference with another number of elements.
    pub fn decode_tile(
        &self,
        payload: &[u8],
        shape: &TileShape,
        given: &Dependencies<'_>,
        scratch: &mut Scratch,
        out: &mut [u8],
    ) -> Result<()> {
        match &self.0.program {
            Program::Bytes(stages) => decode(stages, payload, scratch, out),
            Program::Base(difference) => {
                let base = given.base.ok_or_else(|| Error::invalid("the older tile was not given"))?;
                let (_, payload) = split_base(payload)?;
                match difference {
                    Difference::Bytes(stages) => decode(stages, payload, scratch, out),
                    Difference::Num => decode_numeric(
                        payload,
                        shape,
                        &Needs::default(),
                        &Dependencies::default(),
                        scratch,
                        out,
                    ),
                }?;
                out.iter_mut().zip(base).for_each(|(byte, base)| *byte ^= base);
                Ok(())
            }
            Program::Num(needs) => decode_numeric(payload, shape, needs, given, scratch, out),
            Program::Unsupported(why) => Err(unsupported(why)),
        }
    }

    /// Decodes bytes that are no tile, a container or a list, into exactly `out`.
    ///
    /// # Errors
    /// A chain that this build cannot run; the numeric codec, which has tiles only; a payload that does not decode to just so many
    /// bytes.
    pub fn decode_bytes(&self, payload: &[u8], scratch: &mut Scratch, out: &mut [u8]) -> Result<()> {
        decode(self.stages()?, payload, scratch, out)
    }

    /// Runs a byte chain forward; appends to `out`.
    ///
    /// # Errors
    /// A chain that this build cannot run, or can only decode; the numeric codec.
    pub fn encode_bytes(&self, input: &[u8], scratch: &mut Scratch, out: &mut Vec<u8>) -> Result<()> {
        encode(self.stages()?, input, scratch, out)
    }

    fn stages(&self) -> Result<&[Box<dyn Stage>]> {
        match &self.0.program {
            Program::Bytes(stages) => Ok(stages),
            Program::Num(_) | Program::Base(_) => {
                Err(unsupported(&unknown(&self.0.spec.0[0], "it codes tiles, not bytes")))
            }
            Program::Unsupported(why) => Err(unsupported(why)),
        }
    }
}

/// The index entry that the payload of a tile begins with that is coded against an older one, and the rest.
///
/// # Errors
/// Corrupt: fewer bytes, or no entry of a block.
pub fn split_base(payload: &[u8]) -> Result<(IndexEntry, &[u8])> {
    const WHAT: &str = "payload";
    let (entry, rest) = payload.split_first_chunk().ok_or_else(|| {
        let needed = ENTRY_LEN - payload.len();
        Error::truncated(WHAT, 0, "index entry of the older tile", needed as u64, payload.len() as u64)
    })?;
    let entry = IndexEntry::decode(entry, 0)?;
    if !matches!(entry, IndexEntry::Stored { .. }) {
        return Err(Error::corrupt(WHAT, 0, "index entry of the older tile", "a block", "another"));
    }
    Ok((entry, rest))
}

/// How a tile is encoded.
#[cfg(feature = "encode")]
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum TileCoder<'a> {
    /// A byte chain.
    Bytes(&'a Chain),
    /// The numeric codec by a plan.
    Num(&'a EncodePlan),
    /// The same, against a tile of another variable.
    NumAgainst(&'a EncodePlan, ReferenceTile<'a>),
}

/// Appends the payload of a tile of big-endian elements to `out`.
///
/// # Errors
/// A chain that this build cannot run; bytes that are no whole elements.
#[cfg(feature = "encode")]
pub fn encode_tile(
    coder: TileCoder<'_>,
    bytes: &[u8],
    shape: &TileShape,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<()> {
    match coder {
        TileCoder::Bytes(chain) => chain.encode_bytes(bytes, scratch, out),
        TileCoder::Num(plan) => encode_numeric(plan, None, bytes, shape, scratch, out),
        TileCoder::NumAgainst(plan, other) => encode_numeric(plan, Some(other), bytes, shape, scratch, out),
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Chain").field(&self.0.spec.to_string()).finish()
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.spec.fmt(f)
    }
}

fn unsupported(why: &str) -> Error {
    Error::unsupported("chain", None, why)
}

fn unknown(stage: &StageSpec, why: &str) -> String {
    format!("filter or codec \"{}\" with [{stage}]: {why}", stage.id())
}

fn program(spec: &ChainSpec, registry: &Registry) -> Result<Program, String> {
    if let [stage] = &spec.0[..]
        && stage.id() == NUM_ID
    {
        return numeric(stage);
    }
    let (is_base, rest) = match &spec.0[..] {
        // Of the numeric codec, what needs nothing more.
        [first, stage] if first.id() == BASE_ID && stage.id() == NUM_ID => {
            let alone = [first, stage].iter().all(|stage| stage.parameters().next().is_none());
            return if alone {
                Ok(Program::Base(Difference::Num))
            } else {
                Err(unknown(stage, "a newer nc3z may read it"))
            };
        }
        [first, rest @ ..] if first.id() == BASE_ID => {
            if first.parameters().next().is_some() {
                return Err(unknown(first, "a newer nc3z may read it"));
            }
            (true, rest)
        }
        all => (false, all),
    };
    let stages = rest.iter().map(|stage| bound(stage, registry)).collect::<Result<Vec<_>, _>>()?;
    // Every length between two stages is known that way.
    if stages.split_last().is_some_and(|(_, filters)| filters.iter().any(|s| s.encoded_len(0).is_none())) {
        return Err(format!("{spec}: a codec must be the last of its chain"));
    }
    Ok(if is_base { Program::Base(Difference::Bytes(stages)) } else { Program::Bytes(stages) })
}

fn bound(stage: &StageSpec, registry: &Registry) -> Result<Box<dyn Stage>, String> {
    let Some(kind) = registry.get(stage.id()) else {
        let why = match left_out(stage.id()) {
            Some(feature) => format!("this build of nc3z-format was made without {feature}"),
            None => "another build or version of nc3z may have it".to_owned(),
        };
        return Err(unknown(stage, &why));
    };
    kind.bind(stage)
        .map_err(|why| unknown(stage, &format!("{why}; another build or version of nc3z may have it")))
}

fn numeric(stage: &StageSpec) -> Result<Program, String> {
    let newer = || format!("{NUM_ID} with [{stage}]; a newer nc3z may read it");
    let number = |value: &serde_json::Value| value.as_u64().ok_or_else(newer);
    let mut needs = Needs::default();
    for (key, value) in stage.parameters() {
        match key {
            DICTIONARY => needs.dictionary = Some(number(value)?),
            // 0 stands for the same tile in the generation before.
            REFERENCE => {
                let distance = u32::try_from(number(value)?).ok().and_then(NonZeroU32::new);
                needs.reference = Some(distance.ok_or_else(newer)?);
            }
            _ => return Err(newer()),
        }
    }
    Ok(Program::Num(needs))
}

fn encode(stages: &[Box<dyn Stage>], input: &[u8], scratch: &mut Scratch, out: &mut Vec<u8>) -> Result<()> {
    let Some((last, filters)) = stages.split_last() else {
        out.extend_from_slice(input);
        return Ok(());
    };
    let Scratch { contexts, between: [held, next], .. } = scratch;
    let mut current = input;
    for filter in filters {
        next.clear();
        filter.encode(current, contexts, next)?;
        std::mem::swap(held, next);
        current = held;
    }
    last.encode(current, contexts, out)
}

fn decode(stages: &[Box<dyn Stage>], payload: &[u8], scratch: &mut Scratch, out: &mut [u8]) -> Result<()> {
    let Scratch { contexts, between: [held, next], lengths, .. } = scratch;
    // What each stage decodes to; a codec is the last, so only the payload's own length may stay open.
    lengths.clear();
    let mut encoded = Some(out.len());
    for stage in stages {
        let decoded = encoded.ok_or_else(|| Error::invalid("a filter that has no length"))?;
        lengths.push(decoded);
        encoded = stage.encoded_len(decoded);
    }
    if let Some(len) = encoded
        && len != payload.len()
    {
        return Err(Error::corrupt("payload", None, "length", len, payload.len()));
    }
    match stages {
        [] => out.copy_from_slice(payload),
        [only] => only.decode_into(payload, contexts, out)?,
        [first, middle @ .., last] => {
            resize(held, lengths[stages.len() - 1])?;
            last.decode_into(payload, contexts, held)?;
            for (stage, &len) in middle.iter().zip(&lengths[1..]).rev() {
                resize(next, len)?;
                stage.decode_into(held, contexts, next)?;
                std::mem::swap(held, next);
            }
            first.decode_into(held, contexts, out)?;
        }
    }
    Ok(())
}

/// Filters of others may make more bytes than a tile has: no memory is an error, too.
fn resize(buffer: &mut Vec<u8>, len: usize) -> Result<()> {
    reserve(buffer, "payload", "length between filters", len.saturating_sub(buffer.len()))?;
    buffer.resize(len, 0);
    Ok(())
}

#[cfg(test)]
#[cfg(all(feature = "encode", feature = "codecs"))]
mod tests;
