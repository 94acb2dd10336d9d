//! One zlib stream (RFC 1950), as written by NumCodecs' `zlib` and HDF5's deflate filter; or one gzip member
//! (RFC 1952), as written by NumCodecs' `gzip`.

use super::spec::StageSpec;
use super::stage::{Contexts, OTHER_KEYS, Stage, StageKind};
use crate::error::{Error, Result};
use crate::types::NcType;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use serde_json::Value;

pub(super) struct DeflateKind {
    pub(super) gzip: bool,
}

impl StageKind for DeflateKind {
    fn id(&self) -> &'static str {
        name(self.gzip)
    }

    fn example(&self) -> &'static str {
        if self.gzip { r#"{"id":"gzip","level":6}"# } else { r#"{"id":"zlib","level":6}"# }
    }

    fn bind(&self, spec: &StageSpec) -> Result<Box<dyn Stage>, String> {
        let [level] = spec.integers(["level"]).ok_or(OTHER_KEYS)?;
        let level = u32::try_from(level).ok().filter(|level| *level <= MAX_LEVEL).ok_or(OTHER_KEYS)?;
        Ok(Box::new(Deflate { level, gzip: self.gzip }))
    }

    fn complete(&self, spec: StageSpec, _: NcType) -> Result<StageSpec, String> {
        // NumCodecs writes -1 for the default level of zlib, which is 6.
        Ok(if spec.get("level").and_then(Value::as_i64) == Some(-1) { spec.with("level", 6) } else { spec })
    }
}

const fn name(gzip: bool) -> &'static str {
    if gzip { "gzip" } else { "zlib" }
}

/// The codec, with the level it writes at and what is around the deflated bytes.
pub(super) struct Deflate {
    pub(super) level: u32,
    pub(super) gzip: bool,
}

const MAX_LEVEL: u32 = 9;

/// The largest window, as zlib counts.
const WINDOW_BITS: u8 = 15;

impl Deflate {
    const fn name(&self) -> &'static str {
        name(self.gzip)
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers pass numbers and strings")]
    fn wrong(&self, what: &'static str, expected: impl ToString, found: impl ToString) -> Error {
        let place = if self.gzip { "gzip member" } else { "zlib stream" };
        Error::corrupt(place, None, what, expected.to_string(), found.to_string())
    }

    fn compress(&self) -> Compress {
        let level = Compression::new(self.level);
        if self.gzip { Compress::new_gzip(level, WINDOW_BITS) } else { Compress::new(level, true) }
    }

    fn decompress(&self) -> Decompress {
        if self.gzip { Decompress::new_gzip(WINDOW_BITS) } else { Decompress::new(true) }
    }

    /// A gzip decoder is made anew: resetting one would turn it into a zlib decoder.
    fn fresh<'a>(&self, contexts: &'a mut Contexts) -> &'a mut Decompress {
        let streams = &mut contexts.get::<Streams>().0[usize::from(self.gzip)];
        if self.gzip {
            return streams.decompress.insert(self.decompress());
        }
        let stream = streams.decompress.get_or_insert_with(|| self.decompress());
        stream.reset(true);
        stream
    }
}

/// The streams of zlib and of gzip.
#[derive(Default)]
struct Streams([Pair; 2]);

/// Streams for compression and decompression, made when first needed.
#[derive(Default)]
struct Pair {
    compress: Option<(u32, Compress)>,
    decompress: Option<Decompress>,
}

impl Stage for Deflate {
    fn encode(&self, input: &[u8], contexts: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        let level = self.level;
        let streams = &mut contexts.get::<Streams>().0[usize::from(self.gzip)];
        let stream = match &mut streams.compress {
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

    fn decode_into(&self, input: &[u8], contexts: &mut Contexts, out: &mut [u8]) -> Result<()> {
        let len = self.decode_up_to(input, contexts, out)?;
        if len != out.len() {
            return Err(self.wrong("decoded length", out.len(), len));
        }
        Ok(())
    }

    fn finds_length(&self) -> bool {
        true
    }

    fn decode_up_to(&self, input: &[u8], contexts: &mut Contexts, out: &mut [u8]) -> Result<usize> {
        let stream = self.fresh(contexts);
        let wrong =
            |e: flate2::DecompressError| self.wrong("content", format!("a {} stream", self.name()), e);
        let mut status = stream.decompress(input, out, FlushDecompress::Finish).map_err(wrong)?;
        if status != Status::StreamEnd && stream.total_out() == out.len() as u64 {
            // All bytes are here; only the checksum may be missing. A stream that wants more room is too long.
            let mut more = [0];
            let done = usize::try_from(stream.total_in()).expect("bounded by the input");
            status = stream.decompress(&input[done..], &mut more, FlushDecompress::Finish).map_err(wrong)?;
        }
        if status != Status::StreamEnd {
            return Err(self.wrong("decoded length", out.len(), "another, or a cut stream"));
        }
        if stream.total_in() != input.len() as u64 {
            return Err(self.wrong("length of the stream", input.len(), stream.total_in()));
        }
        Ok(usize::try_from(stream.total_out()).expect("bounded by the output"))
    }
}
