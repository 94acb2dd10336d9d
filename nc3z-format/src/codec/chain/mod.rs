//! Chains bound to what runs them: once when an archive is opened or planned, then shared by all tiles and threads.

use super::needs::Needs;
use super::notation::missing_plugin;
#[cfg(feature = "encode")]
use super::numeric_tile::ReferenceTile;
#[cfg(feature = "encode")]
use super::numeric_tile::encode_numeric;
use super::numeric_tile::{Dependencies, TileShape, decode_numeric};
use super::older::OlderTile;
use super::registry::{Registry, left_out};
use super::scratch::{Between, CodecScratch};
use super::spec::{BASE_ID, ChainSpec, DICTIONARY, NUM_ID, REFERENCE, StageSpec};
use super::stage::{Contexts, Stage};
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
    /// Filters and a codec, or the numeric codec alone, over the difference to an older tile. The payload
    /// begins with that tile's name.
    Base(Difference),
    /// The numeric codec `nc3z.num`.
    Num(Needs),
    /// Why this build cannot run it. Only the tiles it made are unreadable.
    Unsupported(String),
}

/// The coder of the difference to an older tile.
enum Difference {
    Bytes(Vec<Box<dyn Stage>>),
    Num,
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

    /// The data that its tiles need besides their payloads.
    pub fn needs(&self) -> Needs {
        match &self.0.program {
            Program::Num(needs) => *needs,
            Program::Base { .. } => Needs { base: true, ..Needs::default() },
            _ => Needs::default(),
        }
    }

    /// Decodes a tile's payload into exactly `out`: big-endian elements, as in the classic file. `given` is
    /// the data of [`Chain::needs`].
    ///
    /// # Errors
    /// A chain that this build cannot run; a payload that decodes to another number of bytes; a dictionary or
    /// reference that is missing; a reference with another number of elements.
    pub fn decode_tile(
        &self,
        payload: &[u8],
        shape: &TileShape,
        given: &Dependencies<'_>,
        scratch: &mut CodecScratch,
        out: &mut [u8],
    ) -> Result<()> {
        match &self.0.program {
            Program::Bytes(stages) => decode(stages, payload, scratch, out),
            Program::Base(difference) => {
                let base = given.base.ok_or_else(|| Error::invalid("the older tile was not given"))?;
                let (_, payload) = OlderTile::read(payload)?;
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

    /// The older tile that a payload of this chain is coded against; none, where the chain codes against none.
    ///
    /// # Errors
    /// Corrupt: the payload does not begin as such payloads do.
    pub fn older_tile(&self, payload: &[u8]) -> Result<Option<OlderTile>> {
        match &self.0.program {
            Program::Base(_) => Ok(Some(OlderTile::read(payload)?.0)),
            _ => Ok(None),
        }
    }

    /// Decodes bytes that are not a tile, a container or a list, into exactly `out`.
    ///
    /// # Errors
    /// A chain that this build cannot run; the numeric codec, which has tiles only; a payload that decodes to
    /// another number of bytes.
    pub fn decode_bytes(&self, payload: &[u8], scratch: &mut CodecScratch, out: &mut [u8]) -> Result<()> {
        decode(self.stages()?, payload, scratch, out)
    }

    /// Runs a byte chain forward; appends to `out`.
    ///
    /// # Errors
    /// A chain that this build cannot run, or can only decode; the numeric codec.
    pub fn encode_bytes(&self, input: &[u8], scratch: &mut CodecScratch, out: &mut Vec<u8>) -> Result<()> {
        encode(self.stages()?, input, scratch, out)
    }

    fn stages(&self) -> Result<&[Box<dyn Stage>]> {
        match &self.0.program {
            Program::Bytes(stages) => Ok(stages),
            Program::Num(_) | Program::Base { .. } => {
                Err(unsupported(&unknown(&self.0.spec.0[0], "it codes tiles, not bytes")))
            }
            Program::Unsupported(why) => Err(unsupported(why)),
        }
    }
}

/// The method by which a tile is encoded.
#[cfg(feature = "encode")]
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum TileCoder<'a> {
    /// A byte chain.
    Bytes(&'a Chain),
    /// The numeric codec by a plan.
    Num(&'a EncodePlan),
    /// A plan of the numeric codec, against a tile of another variable.
    NumAgainst(&'a EncodePlan, ReferenceTile<'a>),
}

/// Appends the payload of a tile of big-endian elements to `out`.
///
/// # Errors
/// A chain that this build cannot run; bytes that are not a multiple of the element size.
#[cfg(feature = "encode")]
pub fn encode_tile(
    coder: TileCoder<'_>,
    bytes: &[u8],
    shape: &TileShape,
    scratch: &mut CodecScratch,
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
    let (is_difference, rest) = match &spec.0[..] {
        [first, rest @ ..] if first.id() == BASE_ID => {
            if first.parameters().next().is_some() {
                return Err(unknown(first, "a newer nc3z may read it"));
            }
            (true, rest)
        }
        all => (false, all),
    };
    // The numeric codec without any further data.
    if let (true, [stage]) = (is_difference, rest)
        && stage.id() == NUM_ID
    {
        let alone = stage.parameters().next().is_none();
        return if alone {
            Ok(Program::Base(Difference::Num))
        } else {
            Err(unknown(stage, "a newer nc3z may read it"))
        };
    }
    let stages = rest.iter().map(|stage| bound(stage, registry)).collect::<Result<Vec<_>, _>>()?;
    lengths_are_known(rest, &stages).map_err(|why| format!("{spec}: {why}"))?;
    Ok(if is_difference { Program::Base(Difference::Bytes(stages)) } else { Program::Bytes(stages) })
}

/// Largest number of codecs of a chain. Each needs a buffer a little larger than the one before.
const MOST_CODECS: usize = 4;

/// Checks that every stage after a codec can find its decoded length: from its own encoded form, or from the
/// encoded length.
fn lengths_are_known(specs: &[StageSpec], stages: &[Box<dyn Stage>]) -> Result<(), String> {
    let is_codec = |stage: &dyn Stage| stage.encoded_len(0).is_none();
    let Some(first) = stages.iter().position(|stage| is_codec(&**stage)) else { return Ok(()) };
    if stages.iter().filter(|stage| is_codec(&***stage)).count() > MOST_CODECS {
        return Err(format!("more than {MOST_CODECS} codecs"));
    }
    for (spec, stage) in specs.iter().zip(stages).skip(first + 1) {
        // The output of a codec can have any length.
        let finds = if is_codec(&**stage) {
            stage.finds_length()
        } else {
            stage.encoded_len(61).and_then(|len| stage.decoded_len(len)) == Some(61)
        };
        if !finds {
            return Err(format!(
                "\"{}\" cannot follow a codec that does not record the length of its content; here a codec must be the last of its chain",
                spec.id()
            ));
        }
    }
    Ok(())
}

fn bound(stage: &StageSpec, registry: &Registry) -> Result<Box<dyn Stage>, String> {
    let Some(kind) = registry.get(stage.id()) else {
        let why = match (left_out(stage.id()), missing_plugin(stage)) {
            (Some(feature), _) => format!("this build of nc3z-format was made without {feature}"),
            (None, Some(why)) => why,
            (None, None) => "another build or version of nc3z may have it".to_owned(),
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
            // 0 would mean the same tile in the generation before.
            REFERENCE => {
                let distance = u32::try_from(number(value)?).ok().and_then(NonZeroU32::new);
                needs.reference = Some(distance.ok_or_else(newer)?);
            }
            _ => return Err(newer()),
        }
    }
    Ok(Program::Num(needs))
}

fn encode(
    stages: &[Box<dyn Stage>],
    input: &[u8],
    scratch: &mut CodecScratch,
    out: &mut Vec<u8>,
) -> Result<()> {
    let Some((last, filters)) = stages.split_last() else {
        out.extend_from_slice(input);
        return Ok(());
    };
    let CodecScratch { contexts, between: [held, next], .. } = scratch;
    let mut current = input;
    let mut most = input.len();
    for filter in filters {
        next.clear();
        filter.encode(current, contexts, next)?;
        most = filter.encoded_len(most).unwrap_or_else(|| most_encoded(most));
        if next.len() > most {
            let why = format!("a codec made {} bytes of {}", next.len(), current.len());
            return Err(Error::invalid(format!("{why}; {most} are what a decoder would make room for")));
        }
        std::mem::swap(held, next);
        current = held;
    }
    last.encode(current, contexts, out)
}

/// The largest encoded length of a codec for `len` bytes. The buffer between two codecs never exceeds it.
fn most_encoded(len: usize) -> usize {
    len.saturating_add(len / 4).saturating_add(64 << 10)
}

/// The decoded length of each stage: known from the tile's length up to the first codec, and from the
/// payload's length after the last.
fn lengths_between(
    stages: &[Box<dyn Stage>],
    decoded: usize,
    payload: usize,
    lengths: &mut Vec<Between>,
) -> Result<()> {
    lengths.clear();
    let mut length = Between::Exactly(decoded);
    for stage in stages {
        lengths.push(length);
        length = match (length, stage.encoded_len(length.most())) {
            (Between::Exactly(_), Some(len)) => Between::Exactly(len),
            (Between::AtMost(_), Some(len)) => Between::AtMost(len),
            (of, None) => Between::AtMost(most_encoded(of.most())),
        };
    }
    let wrong = |expected: usize, found: usize| Error::corrupt("payload", None, "length", expected, found);
    let mut known = payload;
    if let Between::Exactly(len) = length {
        return if len == payload { Ok(()) } else { Err(wrong(len, payload)) };
    }
    for (stage, length) in stages.iter().zip(lengths.iter_mut()).rev() {
        if stage.encoded_len(0).is_none() {
            break;
        }
        // A chain is bound only if every filter after a codec can compute this.
        known = stage
            .decoded_len(known)
            .ok_or_else(|| Error::corrupt("payload", None, "length", "one that the filter makes", known))?;
        *length = Between::Exactly(known);
    }
    Ok(())
}

fn decode(
    stages: &[Box<dyn Stage>],
    payload: &[u8],
    scratch: &mut CodecScratch,
    out: &mut [u8],
) -> Result<()> {
    let CodecScratch { contexts, between: [held, next], lengths, .. } = scratch;
    lengths_between(stages, out.len(), payload.len(), lengths)?;
    match stages {
        [] => out.copy_from_slice(payload),
        [only] => only.decode_into(payload, contexts, out)?,
        [first, rest @ ..] => {
            let mut input = payload;
            for (stage, length) in rest.iter().zip(&lengths[1..]).rev() {
                decode_between(&**stage, input, contexts, *length, next)?;
                std::mem::swap(held, next);
                input = held;
            }
            first.decode_into(input, contexts, out)?;
        }
    }
    Ok(())
}

/// Decodes one stage. Its output is the input of the stage before it.
fn decode_between(
    stage: &dyn Stage,
    input: &[u8],
    contexts: &mut Contexts,
    length: Between,
    out: &mut Vec<u8>,
) -> Result<()> {
    match length {
        Between::Exactly(len) => {
            resize(out, len)?;
            stage.decode_into(input, contexts, out)
        }
        Between::AtMost(most) if stage.finds_length() => {
            resize(out, most)?;
            let len = stage.decode_up_to(input, contexts, out)?;
            out.truncate(len);
            Ok(())
        }
        // A filter between two codecs: its input is here, so its length is known.
        Between::AtMost(most) => {
            let len = stage.decoded_len(input.len()).filter(|len| *len <= most).ok_or_else(|| {
                Error::corrupt(
                    "payload",
                    None,
                    "length between filters",
                    "one that the filter makes",
                    input.len(),
                )
            })?;
            resize(out, len)?;
            stage.decode_into(input, contexts, out)
        }
    }
}

/// Filters of plug-ins may produce more bytes than a tile has. A failed allocation is an error, too.
fn resize(buffer: &mut Vec<u8>, len: usize) -> Result<()> {
    reserve(buffer, "payload", "length between filters", len.saturating_sub(buffer.len()))?;
    buffer.resize(len, 0);
    Ok(())
}

#[cfg(test)]
#[cfg(all(feature = "encode", feature = "codecs"))]
mod tests;
