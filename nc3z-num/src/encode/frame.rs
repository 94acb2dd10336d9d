//! Writes zstd frames and byte strings.

use crate::error::{Error, Result};
use crate::zstd_table::zstd_hash_log;
use zstd::zstd_safe::zstd_sys::{ZSTD_EndDirective, ZSTD_ErrorCode};
use zstd::zstd_safe::{CParameter, InBuffer, OutBuffer, ResetDirective, Strategy, compress_bound};

/// Planes of this many bytes get blocks of their own. For shorter planes, a block's tables take too many bytes;
/// longer planes fill blocks of 128 KiB anyway.
const OWN_BLOCKS: std::ops::Range<usize> = 4 << 10..128 << 10;
/// If more than 1/`LITTLE` of the bytes remains, separate blocks are nearly always smaller: planes of 585 files
/// grow by 0.03 %.
const LITTLE: usize = 8;
/// Up to this level a second frame takes little time. At level 9 it takes a sixth of all time and saves 0.04 %; at
/// level 1 it saves 1.6 %.
const QUICK: i32 = 3;

/// Additional room that zstd may need while it writes.
const SPARE: usize = 1 << 10;

/// Appends one frame of `content`.
pub(crate) fn compress(content: &[u8], level: i32, zstd: &mut Compressor, out: &mut Vec<u8>) -> Result<()> {
    compress_within(content, level, usize::MAX, zstd, out).map(drop)
}

/// Compresses like [`compress`], but stops once the frame exceeds `most` bytes; returns true if there is a frame.
pub(crate) fn compress_within(
    content: &[u8],
    level: i32,
    most: usize,
    zstd: &mut Compressor,
    out: &mut Vec<u8>,
) -> Result<bool> {
    let frame = zstd.frame(content, Manner::Level(level), most)?;
    out.extend_from_slice(frame.unwrap_or_default());
    Ok(frame.is_some())
}

/// Appends one frame of byte planes, each `len` long. Blocks end at the ends of planes, so that no block mixes the
/// frequencies of two. If a frame without these ends is smaller, it is used: zstd splits only blocks that it forms
/// itself, and each block costs some bytes. May stop once the frame exceeds `most` bytes; returns true if there is
/// a frame.
pub(crate) fn compress_planes(
    planes: &[u8],
    len: usize,
    (level, most): (i32, usize),
    zstd: &mut Compressor,
    out: &mut Vec<u8>,
) -> Result<bool> {
    let manner = Manner::of_planes(planes.len(), level);
    let start = out.len();
    let split = level <= QUICK && OWN_BLOCKS.contains(&len) && len < planes.len();
    if split {
        // If more remains, one frame for all planes is not tried.
        let Some(own) = zstd.frame_of_planes(planes, len, manner, most.max(planes.len() / LITTLE))? else {
            return Ok(false);
        };
        out.extend_from_slice(own);
        if own.len() * LITTLE >= planes.len() {
            return Ok(true);
        }
    }
    let Some(whole) = zstd.frame(planes, manner, most)? else { return Ok(split) };
    if !split || whole.len() <= out.len() - start {
        out.truncate(start);
        out.extend_from_slice(whole);
    }
    Ok(true)
}

/// Appends a byte string, raw (form 0) or as a zstd frame (form 1), whichever is smaller.
pub(crate) fn put_bytes(content: &[u8], level: i32, zstd: &mut Compressor, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    if content.len() >= 32 {
        out.push(1);
        compress(content, level, zstd, out)?;
        if out.len() - start <= content.len() {
            return Ok(());
        }
        out.truncate(start);
    }
    out.push(0);
    out.extend_from_slice(content);
    Ok(())
}

/// Byte planes of at least this many bytes in all are packed with [`LONG_PLANES`] at level 1.
const LONG: usize = 128 << 10;
/// Replaces zstd's parameters of level 1: matches of 8 bytes and more are found at any distance, those of 7 bytes
/// only at short distances. This gives fewer sequences, which are slow to decode.
const LONG_PLANES: [CParameter; 4] = [
    CParameter::Strategy(Strategy::ZSTD_dfast),
    CParameter::HashLog(17),
    CParameter::ChainLog(9),
    CParameter::MinMatch(7),
];

/// The way to pack frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// With a level of zstd.
    Level(i32),
    /// With [`LONG_PLANES`].
    LongPlanes,
}

impl Manner {
    fn of_planes(len: usize, level: i32) -> Self {
        if level == 1 && len >= LONG { Self::LongPlanes } else { Self::Level(level) }
    }
}

/// A zstd context, created on first use, with its parameters.
type Context = Option<(Manner, zstd::bulk::Compressor<'static>)>;

/// A zstd context, and room for a frame.
#[derive(Default)]
pub(crate) struct Compressor {
    context: Context,
    frame: Vec<u8>,
}

impl Compressor {
    /// Returns `None` if the frame has more than `most` bytes.
    fn frame(&mut self, content: &[u8], manner: Manner, most: usize) -> Result<Option<&[u8]>> {
        const TOO_SMALL: usize = (ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall as usize).wrapping_neg();
        let Self { context, frame } = self;
        let context = packing(context, manner)?.context_mut();
        let room = compress_bound(content.len()).min(most.saturating_add(SPARE));
        if frame.len() < room {
            frame.resize(room, 0);
        }
        match context.compress2(&mut frame[..room], content) {
            Ok(len) => Ok((len <= most).then_some(&frame[..len])),
            Err(TOO_SMALL) => {
                context.reset(ResetDirective::SessionOnly).map_err(failed)?;
                Ok(None)
            }
            Err(code) => Err(failed(code)),
        }
    }

    /// Returns `None` if the frame has more than `most` bytes.
    fn frame_of_planes(
        &mut self,
        planes: &[u8],
        len: usize,
        manner: Manner,
        most: usize,
    ) -> Result<Option<&[u8]>> {
        let Self { context, frame } = self;
        let context = packing(context, manner)?.context_mut();
        context.reset(ResetDirective::SessionOnly).map_err(failed)?;
        context.set_pledged_src_size(Some(planes.len() as u64)).map_err(failed)?;
        let count = planes.len().div_ceil(len);
        let room = compress_bound(planes.len()) + count * compress_bound(0);
        if frame.len() < room {
            frame.resize(room, 0);
        }
        let mut output = OutBuffer::around(&mut frame[..room]);
        for (at, plane) in planes.chunks(len).enumerate() {
            let end =
                if at + 1 == count { ZSTD_EndDirective::ZSTD_e_end } else { ZSTD_EndDirective::ZSTD_e_flush };
            let mut input = InBuffer::around(plane);
            // The buffer has room for the whole frame.
            if context.compress_stream2(&mut output, &mut input, end).map_err(failed)? != 0 {
                return Err(Error::invalid("zstd: a frame is longer than its bound".to_owned()));
            }
            if output.pos() > most {
                return Ok(None);
            }
        }
        let packed = output.pos();
        Ok(Some(&frame[..packed]))
    }
}

fn refused(e: &std::io::Error) -> Error {
    Error::invalid(format!("zstd: {e}"))
}

/// Returns the context with the parameters of a manner.
fn packing(context: &mut Context, manner: Manner) -> Result<&mut zstd::bulk::Compressor<'static>> {
    let (now, made) = match context {
        Some(made) => made,
        none => none.insert((Manner::Level(1), zstd::bulk::Compressor::new(1).map_err(|e| refused(&e))?)),
    };
    if *now != manner {
        made.context_mut().reset(ResetDirective::SessionAndParameters).map_err(failed)?;
        match manner {
            Manner::Level(level) => {
                made.set_compression_level(level).map_err(|e| refused(&e))?;
                made.set_parameter(CParameter::HashLog(zstd_hash_log(level))).map_err(|e| refused(&e))?;
            }
            Manner::LongPlanes => {
                for parameter in LONG_PLANES {
                    made.set_parameter(parameter).map_err(|e| refused(&e))?;
                }
            }
        }
        *now = manner;
    }
    Ok(made)
}

fn failed(code: usize) -> Error {
    Error::invalid(format!("zstd: {}", zstd::zstd_safe::get_error_name(code)))
}

impl std::fmt::Debug for Compressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Compressor")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::expand;
    use crate::scratch::Scratch;

    /// A plane of random bytes below `below`, and one of nearly constant bytes.
    fn planes(len: usize, below: u8) -> Vec<u8> {
        let mut seed = 1u32;
        let noise = (0..len).map(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed.to_be_bytes()[0] % below
        });
        let rest = (0..len).map(|i| u8::from(i % 50 == 0));
        noise.chain(rest).collect()
    }

    #[test]
    fn planes_of_other_frequencies_have_blocks_of_their_own() {
        let content = planes(40_000, 64);
        let (mut one, mut own) = (Vec::new(), Vec::new());
        let mut zstd = Compressor::default();
        compress(&content, 1, &mut zstd, &mut one).unwrap();
        compress_planes(&content, 40_000, (1, usize::MAX), &mut zstd, &mut own).unwrap();
        assert!(own.len() + own.len() / 50 < one.len(), "{} and {} bytes", own.len(), one.len());
        for level in [1, 3, 9] {
            for len in [0, 1, 4_095, 4_096, 4_097, 131_071, 131_072] {
                let content = planes(len, 200);
                let (mut frame, mut back) = (Vec::new(), Vec::new());
                compress_planes(&content, len, (level, usize::MAX), &mut zstd, &mut frame).unwrap();
                expand(&frame, content.len()..=content.len(), &mut Scratch::default().zstd, &mut back)
                    .unwrap();
                assert!(back == content, "{len} at level {level}");
            }
        }
    }

    #[test]
    fn frames_within_a_bound_are_those_without() {
        let mut zstd = Compressor::default();
        for level in [1, 3, 9] {
            for (len, below) in [(100, 3), (5_000, 2), (5_000, 200), (40_000, 64), (140_000, 200)] {
                let content = planes(len, below);
                for of_planes in [false, true] {
                    let mut made = |most: usize| {
                        let mut out = vec![7];
                        let is_there = if of_planes {
                            compress_planes(&content, len, (level, most), &mut zstd, &mut out)
                        } else {
                            compress_within(&content, level, most, &mut zstd, &mut out)
                        };
                        (is_there.unwrap(), out.split_off(1))
                    };
                    let (_, frame) = made(usize::MAX);
                    for most in [0, 1, frame.len() / 2, frame.len() - 1, frame.len(), content.len()] {
                        let (is_there, other) = made(most);
                        // There is a frame if one fits. If not, there may be a frame of the other form, which is
                        // longer.
                        assert!(is_there || frame.len() > most, "{len} at level {level}, at most {most}");
                        assert!(!is_there || other == frame || other.len() > most, "{len} at level {level}");
                        assert!(is_there || other.is_empty());
                    }
                }
            }
        }
    }
}
