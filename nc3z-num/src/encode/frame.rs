//! Writes zstd frames and byte strings.

use crate::error::{Error, Result};

/// Appends one frame of `content`.
pub(crate) fn compress(content: &[u8], level: i32, zstd: &mut Compressor, out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(zstd.frame(content, level)?);
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
        let refused = |e: std::io::Error| Error::invalid(format!("zstd: {e}"));
        let context = match &mut self.context {
            Some((at, made)) => {
                if *at != level {
                    made.set_compression_level(level).map_err(refused)?;
                    *at = level;
                }
                made
            }
            none => &mut none.insert((level, zstd::bulk::Compressor::new(level).map_err(refused)?)).1,
        };
        self.frame.clear();
        self.frame.reserve(zstd::zstd_safe::compress_bound(content.len()));
        context.compress_to_buffer(content, &mut self.frame).map_err(refused)?;
        Ok(&self.frame)
    }
}

impl std::fmt::Debug for Compressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Compressor")
    }
}
