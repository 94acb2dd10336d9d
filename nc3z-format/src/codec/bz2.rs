//! One bzip2 stream, as written by NumCodecs' `bz2` and HDF5's filter 307. Uses libbz2-rs, in Rust.

use super::spec::StageSpec;
use super::stage::{Contexts, OTHER_KEYS, Stage, StageKind};
use crate::error::{Error, Result};
use crate::types::NcType;
use bzip2::{Decompress, Status};

pub(super) struct Bz2Kind;

impl StageKind for Bz2Kind {
    fn id(&self) -> &'static str {
        "bz2"
    }

    fn example(&self) -> &'static str {
        r#"{"id":"bz2","level":9}"#
    }

    fn bind(&self, spec: &StageSpec) -> Result<Box<dyn Stage>, String> {
        let [level] = spec.integers(["level"]).ok_or(OTHER_KEYS)?;
        let level = u32::try_from(level).ok().filter(|level| (1..=9).contains(level)).ok_or(OTHER_KEYS)?;
        Ok(Box::new(Bz2(level)))
    }

    fn complete(&self, spec: StageSpec, _: NcType) -> Result<StageSpec, String> {
        Ok(spec.or_default("level", 1))
    }
}

/// The codec, with its level: the length of a block in units of 100 kB.
struct Bz2(#[cfg_attr(not(feature = "encode"), expect(dead_code, reason = "only encoding needs it"))] u32);

#[expect(clippy::needless_pass_by_value, reason = "callers pass numbers and strings")]
fn wrong(what: &'static str, expected: impl ToString, found: impl ToString) -> Error {
    Error::corrupt("bzip2 stream", None, what, expected.to_string(), found.to_string())
}

impl Stage for Bz2 {
    #[cfg(feature = "encode")]
    fn encode(&self, input: &[u8], _: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        use bzip2::{Action, Compress, Compression};
        let mut stream = Compress::new(Compression::new(self.0), 0);
        // One percent and 600 bytes more than the input is the library's bound.
        out.reserve(input.len() + input.len() / 100 + 600);
        loop {
            let done = usize::try_from(stream.total_in()).expect("bounded by the input");
            let status = stream.compress_vec(&input[done..], out, Action::Finish);
            match status.map_err(|e| Error::invalid(format!("bz2: {e}")))? {
                Status::StreamEnd => return Ok(()),
                _ => out.reserve(1024),
            }
        }
    }

    fn decode_into(&self, input: &[u8], contexts: &mut Contexts, out: &mut [u8]) -> Result<()> {
        let len = self.decode_up_to(input, contexts, out)?;
        if len != out.len() {
            return Err(wrong("decoded length", out.len(), len));
        }
        Ok(())
    }

    fn finds_length(&self) -> bool {
        true
    }

    fn decode_up_to(&self, input: &[u8], _: &mut Contexts, out: &mut [u8]) -> Result<usize> {
        let mut stream = Decompress::new(false);
        let count = |total: u64| usize::try_from(total).expect("bounded by its buffer");
        let mut more = [0];
        loop {
            let (read, written) = (count(stream.total_in()), count(stream.total_out()));
            let full = written >= out.len();
            // All bytes may be here and only the end of the stream missing: one byte more shows whether it is too long.
            let room = if full { &mut more[..] } else { &mut out[written..] };
            let status =
                stream.decompress(&input[read..], room).map_err(|e| wrong("content", "a bzip2 stream", e))?;
            let (read_now, written_now) = (count(stream.total_in()), count(stream.total_out()));
            if written_now > out.len() {
                return Err(wrong("decoded length", format!("at most {}", out.len()), "more"));
            }
            if status == Status::StreamEnd {
                return match read_now {
                    all if all == input.len() => Ok(written_now),
                    other => Err(wrong("length of the stream", input.len(), other)),
                };
            }
            if (read_now, written_now) == (read, written) {
                return Err(wrong("content", "a whole bzip2 stream", "one that is cut"));
            }
        }
    }
}
