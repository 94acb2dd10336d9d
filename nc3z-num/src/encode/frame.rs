//! Writes zstd frames and byte strings.

use crate::error::{Error, Result};
use zstd::zstd_safe::zstd_sys::ZSTD_EndDirective;
use zstd::zstd_safe::{InBuffer, OutBuffer, ResetDirective, compress_bound};

/// Planes of so many bytes have blocks of their own: shorter ones are not worth a block's tables, and longer ones fill blocks of 128 KiB anyway.
const OWN_BLOCKS: std::ops::Range<usize> = 4 << 10..128 << 10;
/// Up to this level a second frame costs little time. At level 9 it costs a sixth of all time, and saves 0.04 %; at level 1 it saves 1.6 %.
const QUICK: i32 = 3;

/// Appends one frame of `content`.
pub(crate) fn compress(content: &[u8], level: i32, zstd: &mut Compressor, out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(zstd.frame(content, level)?);
    Ok(())
}

/// Appends one frame of byte planes, each `len` long. Blocks end where planes do, so that none has the frequencies of two; unless the frame of
/// all of them is smaller: zstd splits blocks of its own only, and each block costs some bytes.
pub(crate) fn compress_planes(
    planes: &[u8],
    len: usize,
    level: i32,
    zstd: &mut Compressor,
    out: &mut Vec<u8>,
) -> Result<()> {
    let start = out.len();
    compress(planes, level, zstd, out)?;
    if level <= QUICK && OWN_BLOCKS.contains(&len) && len < planes.len() {
        let own = zstd.frame_of_planes(planes, len, level)?;
        if own.len() < out.len() - start {
            out.truncate(start);
            out.extend_from_slice(own);
        }
    }
    Ok(())
}

/// A byte string that is stored raw (form 0) or as a zstd frame (form 1), whichever is smaller.
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

/// A zstd context, made on first use, its level, and room for a frame.
#[derive(Default)]
pub(crate) struct Compressor {
    context: Option<(i32, zstd::bulk::Compressor<'static>)>,
    frame: Vec<u8>,
}

impl Compressor {
    fn frame(&mut self, content: &[u8], level: i32) -> Result<&[u8]> {
        let Self { context, frame } = self;
        let context = at_level(context, level)?;
        frame.clear();
        frame.reserve(compress_bound(content.len()));
        context.compress_to_buffer(content, frame).map_err(|e| refused(&e))?;
        Ok(frame)
    }

    fn frame_of_planes(&mut self, planes: &[u8], len: usize, level: i32) -> Result<&[u8]> {
        let Self { context, frame } = self;
        let context = at_level(context, level)?.context_mut();
        let failed = |code| Error::invalid(format!("zstd: {}", zstd::zstd_safe::get_error_name(code)));
        context.reset(ResetDirective::SessionOnly).map_err(failed)?;
        context.set_pledged_src_size(Some(planes.len() as u64)).map_err(failed)?;
        let count = planes.len().div_ceil(len);
        frame.clear();
        frame.reserve(compress_bound(planes.len()) + count * compress_bound(0));
        let mut output = OutBuffer::around(frame);
        for (at, plane) in planes.chunks(len).enumerate() {
            let end =
                if at + 1 == count { ZSTD_EndDirective::ZSTD_e_end } else { ZSTD_EndDirective::ZSTD_e_flush };
            let mut input = InBuffer::around(plane);
            // There is room for all of it.
            if context.compress_stream2(&mut output, &mut input, end).map_err(failed)? != 0 {
                return Err(Error::invalid("zstd: a frame is longer than its bound".to_owned()));
            }
        }
        Ok(frame)
    }
}

fn refused(e: &std::io::Error) -> Error {
    Error::invalid(format!("zstd: {e}"))
}

/// The context, at a level.
fn at_level<'a>(
    context: &'a mut Option<(i32, zstd::bulk::Compressor<'static>)>,
    level: i32,
) -> Result<&'a mut zstd::bulk::Compressor<'static>> {
    match context {
        Some((at, made)) => {
            if *at != level {
                made.set_compression_level(level).map_err(|e| refused(&e))?;
                *at = level;
            }
            Ok(made)
        }
        none => Ok(&mut none.insert((level, zstd::bulk::Compressor::new(level).map_err(|e| refused(&e))?)).1),
    }
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

    /// A plane of random bytes below `below`, and one that hardly changes.
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
        compress_planes(&content, 40_000, 1, &mut zstd, &mut own).unwrap();
        assert!(own.len() + own.len() / 50 < one.len(), "{} and {} bytes", own.len(), one.len());
        for level in [1, 3, 9] {
            for len in [0, 1, 4_095, 4_096, 4_097, 131_071, 131_072] {
                let content = planes(len, 200);
                let (mut frame, mut back) = (Vec::new(), Vec::new());
                compress_planes(&content, len, level, &mut zstd, &mut frame).unwrap();
                expand(&frame, content.len()..=content.len(), &mut Scratch::default().zstd, &mut back)
                    .unwrap();
                assert!(back == content, "{len} at level {level}");
            }
        }
    }
}
