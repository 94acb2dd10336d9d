//! Writes zstd frames and byte strings.

use crate::error::{Error, Result};

/// Appends one frame of `content`.
pub(crate) fn compress(content: &[u8], level: i32, zstd: &mut Compressor, out: &mut Vec<u8>) -> Result<()> {
    let compressor = zstd.at(level)?;
    let frame = compressor.compress(content).map_err(|e| Error::invalid(format!("zstd: {e}")))?;
    out.extend_from_slice(&frame);
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

/// A zstd context, made on first use, and its level.
#[derive(Default)]
pub(crate) struct Compressor(Option<(i32, zstd::bulk::Compressor<'static>)>);

impl Compressor {
    fn at(&mut self, level: i32) -> Result<&mut zstd::bulk::Compressor<'static>> {
        let refused = |e: std::io::Error| Error::invalid(format!("zstd: {e}"));
        match &mut self.0 {
            Some((at, made)) => {
                if *at != level {
                    made.set_compression_level(level).map_err(refused)?;
                    *at = level;
                }
                Ok(made)
            }
            none => {
                let made = zstd::bulk::Compressor::new(level).map_err(refused)?;
                Ok(&mut none.insert((level, made)).1)
            }
        }
    }
}

impl std::fmt::Debug for Compressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Compressor")
    }
}
