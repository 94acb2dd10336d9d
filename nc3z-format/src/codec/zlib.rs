//! One zlib stream (RFC 1950), as NumCodecs' `zlib` and HDF5's deflate filter make it.

use super::chain::MAX_ZLIB_LEVEL;
use super::registry::{ByteStage, Contexts as AllContexts};
use crate::error::{Error, Result};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// The codec, with the level it writes at.
pub(super) struct Zlib(pub(super) u32);

/// Streams for compression and decompression, made when first needed.
#[derive(Default)]
pub(super) struct Contexts {
    compress: Option<(u32, Compress)>,
    decompress: Option<Decompress>,
}

impl ByteStage for Zlib {
    fn encode(&self, input: &[u8], contexts: &mut AllContexts, out: &mut Vec<u8>) -> Result<()> {
        let level = self.0;
        if level > MAX_ZLIB_LEVEL {
            return Err(Error::invalid(format!("zlib level {level}: at most {MAX_ZLIB_LEVEL}")));
        }
        let stream = match &mut contexts.zlib.compress {
            Some((l, stream)) if *l == level => {
                stream.reset();
                stream
            }
            other => &mut other.insert((level, Compress::new(Compression::new(level), true))).1,
        };
        // Enough for incompressible input: five bytes a 16 KiB stored block, header and checksum.
        out.reserve(input.len() + input.len() / 1024 + 64);
        loop {
            let done = usize::try_from(stream.total_in()).expect("bounded by the input");
            let status = stream.compress_vec(&input[done..], out, FlushCompress::Finish);
            match status.map_err(|e| Error::invalid(format!("zlib: {e}")))? {
                Status::StreamEnd => return Ok(()),
                Status::Ok | Status::BufError => out.reserve(1024),
            }
        }
    }

    fn decode_into(&self, input: &[u8], contexts: &mut AllContexts, out: &mut [u8]) -> Result<()> {
        let stream = contexts.zlib.decompress.get_or_insert_with(|| Decompress::new(true));
        stream.reset(true);
        let wrong = |what, expected: String, found: String| {
            Error::corrupt("zlib stream", None, what, expected, found)
        };
        let status = stream
            .decompress(input, out, FlushDecompress::Finish)
            .map_err(|e| wrong("content", "a zlib stream".into(), e.to_string()))?;
        if status != Status::StreamEnd && stream.total_out() == out.len() as u64 {
            // All bytes are here; only the checksum may be missing. A stream that wants more room is too long.
            let mut more = [0];
            let done = usize::try_from(stream.total_in()).expect("bounded by the input");
            let status = stream
                .decompress(&input[done..], &mut more, FlushDecompress::Finish)
                .map_err(|e| wrong("content", "a zlib stream".into(), e.to_string()))?;
            if status != Status::StreamEnd {
                return Err(wrong(
                    "decoded length",
                    out.len().to_string(),
                    "another, or a cut stream".into(),
                ));
            }
        }
        if stream.total_out() != out.len() as u64 {
            return Err(wrong("decoded length", out.len().to_string(), stream.total_out().to_string()));
        }
        if stream.total_in() != input.len() as u64 {
            return Err(wrong(
                "length of the stream",
                input.len().to_string(),
                stream.total_in().to_string(),
            ));
        }
        Ok(())
    }

    fn keeps_length(&self) -> bool {
        false
    }
}
