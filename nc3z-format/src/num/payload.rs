//! The payload: three fixed bytes, lengths of the parts, the parts; and its decoder.

use super::bits::Cursor;
use super::dict::Dictionary;
use super::domain::{self, Map};
use super::mask::{self};
use super::params::{Geometry, Params, Strides};
use super::scratch::Scratch;
use super::word::{Word, index};
use super::{bad, ctx, delta, frame, planes};
use crate::error::{Error, Result};
use crate::types::NcType;

/// First byte of every payload.
pub(super) const VERSION: u8 = 1;

/// The fixed bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Stages {
    /// 0 nothing masked, 1 mixed, 2 all masked.
    pub(super) mask: u8,
    /// [`Map::code`].
    pub(super) domain: u8,
    pub(super) exceptions: bool,
    pub(super) strides: Strides,
    /// 0 store, 1 zstd, 2 planes, 3 ctx.
    pub(super) coder: u8,
}

impl Stages {
    pub(super) fn bytes(self) -> [u8; 3] {
        let (neighbours, rows) = self.strides.repeats();
        let first = self.mask | self.domain << 2 | u8::from(self.exceptions) << 5 | neighbours << 6;
        [VERSION, first, self.strides.0 & 15 | self.coder << 4 | rows << 6]
    }

    fn parse(cursor: &mut Cursor<'_>, geom: &Geometry, n: usize) -> Result<Self> {
        let version = cursor.byte()?;
        if version != VERSION {
            return Err(Error::unsupported("nc3z.num payload", 0, format!("payload version {version}")));
        }
        let (a, b) = (cursor.byte()?, cursor.byte()?);
        let stages = Self {
            mask: a & 3,
            domain: a >> 2 & 7,
            exceptions: a >> 5 & 1 == 1,
            strides: Strides(b & 15 | a >> 6 << 4 | b >> 6 << 6),
            coder: b >> 4 & 3,
        };
        if stages.mask == 3 || stages.domain > 3 {
            return Err(bad("stage bytes", "known stages", format_args!("{a:#04x} {b:#04x}")));
        }
        if !stages.strides.fit(geom, n) {
            let rule = "strides that the tile has, repeated where they are named";
            return Err(bad("strides", rule, format_args!("{a:#04x} {b:#04x}")));
        }
        let empty = (stages.mask == 2 || n == 0) && (a & 0xFC != 0 || b != 0);
        if empty || (n == 0 && stages.mask != 0) || (stages.exceptions && stages.domain < 2) {
            return Err(bad("stage bytes", "stages that go together", format_args!("{a:#04x} {b:#04x}")));
        }
        Ok(stages)
    }
}

/// The parts; empty where absent.
#[derive(Debug, Default, Clone, Copy)]
struct Parts<'a> {
    mask: &'a [u8],
    base: &'a [u8],
    domain: &'a [u8],
    exceptions: &'a [u8],
    residuals: &'a [u8],
}

impl<'a> Parts<'a> {
    fn parse(mut cursor: Cursor<'a>, stages: Stages) -> Result<Self> {
        if stages.mask == 2 {
            return Ok(Self { mask: cursor.rest(), ..Self::default() });
        }
        let present =
            [stages.mask == 1, stages.strides.0 != 0, Map::has_part(stages.domain), stages.exceptions];
        let mut lengths = [0usize; 4];
        for (length, _) in lengths.iter_mut().zip(present).filter(|(_, p)| *p) {
            *length = index(cursor.varint()?);
        }
        Ok(Self {
            mask: cursor.take(lengths[0])?,
            base: cursor.take(lengths[1])?,
            domain: cursor.take(lengths[2])?,
            exceptions: cursor.take(lengths[3])?,
            residuals: cursor.rest(),
        })
    }
}

/// Decodes the residuals of the valid elements into the front of `out`; zigzag is undone.
fn residuals<W: Word>(
    part: &[u8],
    n: usize,
    stages: Stages,
    scratch: &mut Scratch,
    out: &mut [W],
) -> Result<()> {
    let signed = stages.strides.0 != 0;
    let len = out.len() * W::BYTES;
    let Scratch { zstd, bytes, runs, ctx: work, .. } = scratch;
    match stages.coder {
        0 if part.len() == len => W::get_le(part, out),
        0 => return Err(bad("stored residuals", len, part.len())),
        1 => {
            frame::expand(part, len..=len, zstd, bytes)?;
            W::get_le(bytes, out);
        }
        2 => {
            frame::expand(part, len..=len, zstd, bytes)?;
            planes::unshuffle(bytes, signed, out);
        }
        _ => ctx::decode(part, n, runs, signed, work, out)?,
    }
    Ok(())
}

/// Decodes a payload into exactly `out.len()` elements.
///
/// `dict` is the dictionary that `params.dict` names; a payload that does not use ranks ignores it.
///
/// # Errors
/// Corrupt if the bytes are not a payload of this tile; unsupported if their version is newer.
pub fn decode<W: Word>(
    payload: &[u8],
    ty: NcType,
    geom: &Geometry,
    params: &Params,
    dict: Option<&Dictionary>,
    scratch: &mut Scratch,
    out: &mut [W],
) -> Result<()> {
    let n = out.len();
    if ty.size() != W::BYTES || n > super::MAX_ELEMENTS {
        return Err(Error::invalid(format!("{n} elements of {} bytes of type {ty}", W::BYTES)));
    }
    let _ = params;
    let mut cursor = Cursor::new(payload);
    let stages = Stages::parse(&mut cursor, geom, n)?;
    let parts = Parts::parse(cursor, stages)?;
    if stages.mask == 2 {
        out.fill(mask::decode_all(parts.mask)?);
        return Ok(());
    }
    let Scratch { zstd, runs, bytes, valid, .. } = &mut *scratch;
    let mut pattern = None;
    if stages.mask == 1 {
        pattern = Some(mask::decode::<W>(parts.mask, n, geom, zstd, (bytes, valid), runs)?);
    } else {
        runs.all(n);
    }
    let nv = scratch.runs.valid;
    if stages.coder == 3 && nv == 0 {
        return Err(bad("residuals", "no ctx without values", 0));
    }
    residuals(parts.residuals, n, stages, scratch, &mut out[..nv])?;
    rebuild(stages, &parts, pattern, (ty, geom, dict), scratch, out)
}

/// Residuals to elements.
fn rebuild<W: Word>(
    stages: Stages,
    parts: &Parts<'_>,
    pattern: Option<W>,
    (ty, geom, dict): (NcType, &Geometry, Option<&Dictionary>),
    scratch: &mut Scratch,
    out: &mut [W],
) -> Result<()> {
    let Scratch { zstd, runs, bytes, pairs, .. } = scratch;
    if pattern.is_some() {
        runs.scatter(out);
    }
    if stages.strides.0 != 0 {
        let mut base = [W::default()];
        if parts.base.len() != W::BYTES {
            return Err(bad("base", W::BYTES, parts.base.len()));
        }
        W::get_le(parts.base, &mut base);
        if pattern.is_some() && stages.strides.later(geom, out.len()).iter().any(Option::is_some) {
            mask::pairs(runs, out.len(), pairs);
        }
        delta::decode(out, base[0], pairs, runs, geom, stages.strides)?;
    }
    let map = Map::take::<W>(stages.domain, parts.domain, out.len(), ty)?;
    if pattern.is_some() && matches!(map, Map::Lattice(_) | Map::Rank) {
        runs.fill_gaps(out, W::default());
    }
    domain::invert(out, &map, ty, dict)?;
    if stages.exceptions {
        domain::apply_exceptions(parts.exceptions, out, runs, ty, zstd, bytes)?;
    }
    if let Some(pattern) = pattern {
        runs.fill_gaps(out, pattern);
    }
    Ok(())
}
