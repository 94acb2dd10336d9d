//! One zlib stream (RFC 1950), as NumCodecs' `zlib` and HDF5's deflate filter make it; or one gzip member (RFC 1952), as
//! NumCodecs' `gzip` does.

use super::chain::MAX_ZLIB_LEVEL;
use super::registry::{ByteStage, Contexts as AllContexts};
use crate::error::{Error, Result};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// The codec, with the level it writes at and what is around the deflated bytes.
pub(super) struct Deflate {
    level: u32,
    gzip: bool,
}

/// The largest window, as zlib counts.
const WINDOW_BITS: u8 = 15;

impl Deflate {
    pub(super) const fn zlib(level: u32) -> Self {
        Deflate { level, gzip: false }
    }

    pub(super) const fn gzip(level: u32) -> Self {
        Deflate { level, gzip: true }
    }

    const fn name(&self) -> &'static str {
        if self.gzip { "gzip" } else { "zlib" }
    }

    fn compress(&self) -> Compress {
        let level = Compression::new(self.level);
        if self.gzip { Compress::new_gzip(level, WINDOW_BITS) } else { Compress::new(level, true) }
    }

    fn decompress(&self) -> Decompress {
        if self.gzip { Decompress::new_gzip(WINDOW_BITS) } else { Decompress::new(true) }
    }

    /// A gzip decoder is made anew: resetting it would make a zlib decoder of it.
    fn fresh<'a>(&self, contexts: &'a mut AllContexts) -> &'a mut Decompress {
        if self.gzip {
            return contexts.gzip.decompress.insert(self.decompress());
        }
        let stream = contexts.zlib.decompress.get_or_insert_with(|| self.decompress());
        stream.reset(true);
        stream
    }
}

/// Streams for compression and decompression, made when first needed.
#[derive(Default)]
pub(super) struct Contexts {
    compress: Option<(u32, Compress)>,
    decompress: Option<Decompress>,
}

impl ByteStage for Deflate {
    fn encode(&self, input: &[u8], contexts: &mut AllContexts, out: &mut Vec<u8>) -> Result<()> {
        let level = self.level;
        if level > MAX_ZLIB_LEVEL {
            return Err(Error::invalid(format!("{} level {level}: at most {MAX_ZLIB_LEVEL}", self.name())));
        }
        let contexts = if self.gzip { &mut contexts.gzip } else { &mut contexts.zlib };
        let stream = match &mut contexts.compress {
            Some((l, stream)) if *l == level => {
                stream.reset();
                stream
            }
            other => &mut other.insert((level, self.compress())).1,
        };
        // Enough for incompressible input: five bytes a 16 KiB stored block, header and checksum.
        out.reserve(input.len() + input.len() / 1024 + 64);
        loop {
            let done = usize::try_from(stream.total_in()).expect("bounded by the input");
            let status = stream.compress_vec(&input[done..], out, FlushCompress::Finish);
            match status.map_err(|e| Error::invalid(format!("{}: {e}", self.name())))? {
                Status::StreamEnd => return Ok(()),
                Status::Ok | Status::BufError => out.reserve(1024),
            }
        }
    }

    fn decode_into(&self, input: &[u8], contexts: &mut AllContexts, out: &mut [u8]) -> Result<()> {
        let stream = self.fresh(contexts);
        let wrong = |what, expected: String, found: String| {
            let place = if self.gzip { "gzip member" } else { "zlib stream" };
            Error::corrupt(place, None, what, expected, found)
        };
        let status = stream
            .decompress(input, out, FlushDecompress::Finish)
            .map_err(|e| wrong("content", format!("a {} stream", self.name()), e.to_string()))?;
        if status != Status::StreamEnd && stream.total_out() == out.len() as u64 {
            // All bytes are here; only the checksum may be missing. A stream that wants more room is too long.
            let mut more = [0];
            let done = usize::try_from(stream.total_in()).expect("bounded by the input");
            let status = stream
                .decompress(&input[done..], &mut more, FlushDecompress::Finish)
                .map_err(|e| wrong("content", format!("a {} stream", self.name()), e.to_string()))?;
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
