//! The payload: three or four fixed bytes, lengths of the parts, the parts; and its decoder.

use crate::bits::Cursor;
use crate::dictionary::Dictionary;
use crate::element::ElementType;
use crate::error::{Error, Result, bad};
use crate::exceptions::ExceptionForm;
use crate::geometry::{DeltaAxes, Geometry};
use crate::scratch::Scratch;
use crate::transform::{self, Transform};
use crate::word::{Word, index};
use crate::{ctx, delta, exceptions, frame, lorenzo, mask, mix, planes, reference};

/// The largest number of elements of a tile: positions are 32 bits wide.
pub const MAX_ELEMENTS: usize = 1 << 30;

/// First byte of a payload.
const VERSION: u8 = 1;

/// The contents of the fixed bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stages {
    /// 0 nothing masked, 1 mixed, 2 all masked.
    pub(crate) mask: u8,
    /// [`Transform::code`].
    pub(crate) transform: u8,
    pub(crate) exceptions: ExceptionForm,
    pub(crate) axes: DeltaAxes,
    /// 0 store, 1 zstd, 2 planes, 3 ctx, 4 mix.
    pub(crate) coder: u8,
}

impl Stages {
    /// Appends the fixed bytes.
    #[cfg(feature = "encode")]
    pub(crate) fn put(self, out: &mut Vec<u8>) {
        let [again, _] = (self.axes.0 >> 4).to_le_bytes();
        let [axes, _] = self.axes.0.to_le_bytes();
        let first = self.mask | self.transform << 2 | (self.exceptions as u8) << 4;
        let second = axes & 15 | self.coder << 4 | u8::from(again > 0) << 7;
        out.extend_from_slice(&[VERSION, first, second]);
        if again > 0 {
            out.push(again);
        }
    }

    fn parse(cursor: &mut Cursor<'_>, geom: &Geometry, n: usize) -> Result<Self> {
        let version = cursor.byte()?;
        if version != VERSION {
            return Err(Error::Unsupported(format!("version {version}")));
        }
        let (a, b) = (cursor.byte()?, cursor.byte()?);
        let again = if b >> 7 == 1 { cursor.byte()? } else { 0 };
        let known = || bad("stage bytes", "known stages", format_args!("{a:#04x} {b:#04x} {again:#04x}"));
        let stages = Self {
            mask: a & 3,
            transform: a >> 2 & 3,
            exceptions: ExceptionForm::from_bits(a >> 4 & 3).ok_or_else(known)?,
            axes: DeltaAxes(u16::from(b & 15) | u16::from(again) << 4),
            coder: b >> 4 & 7,
        };
        let repeats = (again == 0) == (b >> 7 == 0) && again >> 5 == 0;
        if stages.mask == 3 || stages.coder > 4 || a >> 6 != 0 || !repeats {
            return Err(known());
        }
        if !stages.axes.fit(geom, n) {
            let rule = "axes that the tile has, repeated where they are named, or by value";
            return Err(bad("delta axes", rule, format_args!("{b:#04x} {again:#04x}")));
        }
        let empty = (stages.mask == 2 || n == 0) && (a & 0xFC != 0 || b != 0);
        let unknown = stages.exceptions != ExceptionForm::None && stages.transform < 2;
        if empty || (n == 0 && stages.mask != 0) || unknown {
            return Err(bad("stage bytes", "stages that go together", format_args!("{a:#04x} {b:#04x}")));
        }
        Ok(stages)
    }
}

/// The parts; absent ones are empty.
#[derive(Debug, Default, Clone, Copy)]
struct Parts<'a> {
    mask: &'a [u8],
    base: &'a [u8],
    transform: &'a [u8],
    exceptions: &'a [u8],
    residuals: &'a [u8],
}

impl<'a> Parts<'a> {
    fn parse(mut cursor: Cursor<'a>, stages: Stages) -> Result<Self> {
        if stages.mask == 2 {
            return Ok(Self { mask: cursor.rest(), ..Self::default() });
        }
        let present = [
            stages.mask == 1,
            stages.axes.has_neighbours(),
            Transform::has_part(stages.transform),
            stages.exceptions != ExceptionForm::None,
        ];
        let mut lengths = [0usize; 4];
        for (length, _) in lengths.iter_mut().zip(present).filter(|(_, p)| *p) {
            *length = index(cursor.varint()?);
        }
        Ok(Self {
            mask: cursor.take(lengths[0])?,
            base: cursor.take(lengths[1])?,
            transform: cursor.take(lengths[2])?,
            exceptions: cursor.take(lengths[3])?,
            residuals: cursor.rest(),
        })
    }
}

/// Decodes the residuals of the valid elements into the front of `out`, and undoes the zigzag.
fn residuals<W: Word>(
    part: &[u8],
    n: usize,
    (stages, signed): (Stages, bool),
    scratch: &mut Scratch,
    out: &mut [W],
) -> Result<()> {
    let len = out.len() * W::BYTES;
    let Scratch { zstd, residuals: bytes, valid, ctx: work, mix: work_mix, .. } = scratch;
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
        3 => {
            let valid = (out.len() < n).then_some(&valid[..]);
            ctx::decode(part, n, valid, signed, work, out)?;
        }
        _ => mix::decode(part, n, (out.len() < n).then_some(&valid[..]), work_mix, out)?,
    }
    Ok(())
}

/// Does the work of [`crate::decode_against`] for one width.
pub(crate) fn decode_tile<W: Word>(
    payload: &[u8],
    (ty, geom): (ElementType, &Geometry),
    dict: Option<&Dictionary>,
    against: Option<&[W]>,
    scratch: &mut Scratch,
    out: &mut [W],
) -> Result<()> {
    let n = out.len();
    reference::check(against, n)?;
    if ty.size() != W::BYTES || n > MAX_ELEMENTS {
        return Err(Error::invalid(format!("{n} elements of {} bytes of type {ty}", W::BYTES)));
    }
    let mut cursor = Cursor::new(payload);
    let stages = Stages::parse(&mut cursor, geom, n)?;
    let by_value = stages.axes.is_by_value();
    if by_value && (!ty.is_float() || stages.transform > 1 || against.is_some()) {
        return Err(bad("delta axes", "values only of floats in their order, without a reference", ty));
    }
    let parts = Parts::parse(cursor, stages)?;
    if stages.mask == 2 {
        out.fill(mask::decode_all(parts.mask)?);
        return Ok(());
    }
    let Scratch { zstd, bytes, valid, .. } = &mut *scratch;
    let (mut pattern, mut nv) = (None, n);
    if stages.mask == 1 {
        let found = mask::decode::<W>(parts.mask, (n, geom), zstd, (bytes, valid))?;
        (pattern, nv) = (Some(found.0), found.1);
    }
    if stages.coder >= 3 && nv == 0 {
        return Err(bad("residuals", "no ctx and no mix without values", 0));
    }
    let signed = stages.axes.0 != 0 || against.is_some();
    residuals(parts.residuals, n, (stages, signed), scratch, &mut out[..nv])?;
    rebuild(stages, &parts, (pattern, nv, against), (ty, geom, dict), scratch, out)
}

/// Converts residuals to elements.
fn rebuild<W: Word>(
    stages: Stages,
    parts: &Parts<'_>,
    (pattern, nv, against): (Option<W>, usize, Option<&[W]>),
    (ty, geom, dict): (ElementType, &Geometry, Option<&Dictionary>),
    scratch: &mut Scratch,
    out: &mut [W],
) -> Result<()> {
    let Scratch { zstd, bytes, valid, pairs, reference: integers, lorenzo, .. } = scratch;
    if pattern.is_some() {
        mask::scatter(out, valid, nv);
    }
    let map = Transform::take::<W>(stages.transform, parts.transform, out.len(), ty)?;
    if stages.axes.are_alone() {
        delta::decode_alone(out, pattern.map(|_| &valid[..]), geom, stages.axes);
    } else if stages.axes.0 != 0 {
        let mut base = [W::default()];
        if parts.base.len() != W::BYTES {
            return Err(bad("base", W::BYTES, parts.base.len()));
        }
        W::get_le(parts.base, &mut base);
        if pattern.is_some() && delta::needs_pairs(geom, out.len(), stages.axes) {
            mask::pairs(valid, pairs);
        }
        let masked = pattern.map(|_| delta::Masked { valid, pairs });
        let first = delta::check_first(out, masked)?;
        match stages.axes.stencil(geom, out.len()) {
            Some(stencil) => lorenzo::decode(out, (first, base[0]), masked, (stencil, map.trim()), lorenzo),
            None => delta::decode(out, base[0], masked, geom, stages.axes),
        }
    }
    if let Some(against) = against {
        let integers = W::pool(integers);
        reference::integers(against, pattern, &map, (ty, dict), integers, bytes)?;
        reference::add(out, integers);
    }
    if pattern.is_some() && matches!(map, Transform::ScaleOffset(_) | Transform::Dictionary) {
        mask::fill_masked(out, valid, W::default());
    }
    transform::invert(out, &map, ty, dict)?;
    let exceptional = pattern.map(|_| (&valid[..], nv));
    match stages.exceptions {
        ExceptionForm::None => {}
        ExceptionForm::Listed => exceptions::apply_list(parts.exceptions, out, exceptional, ty, zstd, bytes)?,
        ExceptionForm::Marked => {
            exceptions::apply_marked(parts.exceptions, out, exceptional, ty, zstd, (pairs, bytes, integers))?;
        }
    }
    if let Some(pattern) = pattern {
        mask::fill_masked(out, valid, pattern);
    }
    Ok(())
}
