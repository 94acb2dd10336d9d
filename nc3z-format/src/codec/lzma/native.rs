//! LZMA2 by liblzma, a C library.

use super::Lzma;
use crate::codec::stage::{Contexts, Stage};
use crate::error::{Error, Result};
use liblzma::stream::{Action, Filters, LzmaOptions, Status, Stream};

/// Level 9 with everything tried: streams are short, and written once.
const PRESET: u32 = 9 | 1 << 31;
/// LZMA2 packs at most 2 MiB into a chunk, whose least length is seven bytes.
const MOST_PER_BYTE: u64 = (2 << 20) / 7 + 1;

impl Lzma {
    fn filters(self, preset: u32, dict_size: u32) -> Result<Filters> {
        let mut options =
            LzmaOptions::new_preset(preset).map_err(|e| Error::invalid(format!("lzma: {e}")))?;
        options.dict_size(dict_size);
        options.literal_context_bits(self.lc).literal_position_bits(self.lp).position_bits(self.pb);
        let mut filters = Filters::new();
        filters.lzma2(&options);
        Ok(filters)
    }

    /// Appends the stream of `input`.
    #[cfg(feature = "encode")]
    fn put(self, preset: u32, input: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let failed = |e: liblzma::stream::Error| Error::invalid(format!("lzma: {e}"));
        let mut stream = Stream::new_raw_encoder(&self.filters(preset, reach(input.len(), self.dict_size))?)
            .map_err(failed)?;
        // Chunks that do not shrink are stored, three bytes more for each 64 KiB.
        out.reserve(input.len() + input.len() / 8192 + 64);
        loop {
            let done = usize::try_from(stream.total_in()).expect("bounded by the input");
            match stream.process_vec(&input[done..], out, Action::Finish).map_err(failed)? {
                Status::StreamEnd => return Ok(()),
                Status::Ok | Status::MemNeeded | Status::GetCheck => out.reserve(64 << 10),
            }
        }
    }
}

/// The bytes that each part adds to one stream of all parts, that is, its cost after the parts before it.
///
/// Uses a preset of liblzma (0 to 9) below the one of [`Lzma`], with a flush after each part. Suitable for
/// comparisons: each length is a few bytes too large.
///
/// # Errors
/// An error of liblzma, which means a lack of memory.
#[cfg(feature = "encode")]
pub fn lzma_shares<'a>(
    lzma: Lzma,
    preset: u32,
    parts: impl IntoIterator<Item = &'a [u8], IntoIter: Clone>,
) -> Result<Vec<u64>> {
    let parts = parts.into_iter();
    let dictionary = reach(parts.clone().map(<[u8]>::len).sum(), lzma.dict_size);
    let failed = |e: liblzma::stream::Error| Error::invalid(format!("lzma: {e}"));
    let mut stream = Stream::new_raw_encoder(&lzma.filters(preset, dictionary)?).map_err(failed)?;
    let mut out = [0; 4096];
    let mut shares = Vec::new();
    for part in parts {
        let (begin, before) = (stream.total_in(), stream.total_out());
        loop {
            let done = usize::try_from(stream.total_in() - begin).expect("bounded by the part");
            if matches!(
                stream.process(&part[done..], &mut out, Action::SyncFlush).map_err(failed)?,
                Status::StreamEnd
            ) {
                break;
            }
        }
        shares.push(stream.total_out() - before);
    }
    Ok(shares)
}

/// One stream, at a preset of liblzma's (0 to 9).
///
/// # Errors
/// As [`lzma_shares`].
#[cfg(feature = "encode")]
pub fn encode_lzma(lzma: Lzma, preset: u32, input: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    lzma.put(preset, input, &mut out)?;
    Ok(out)
}

/// The smallest dictionary for `len` bytes, and at most `most`, so that memory depends on the data.
fn reach(len: usize, most: u32) -> u32 {
    u32::try_from(len).unwrap_or(most).min(most).max(Lzma::LEAST_DICT)
}

impl Stage for Lzma {
    #[cfg(feature = "encode")]
    fn encode(&self, input: &[u8], _: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        self.put(PRESET, input, out)
    }

    fn decode_into(&self, input: &[u8], _: &mut Contexts, out: &mut [u8]) -> Result<()> {
        let wrong = |what, expected: String, found: String| {
            Error::corrupt("LZMA2 stream", None, what, expected, found)
        };
        if out.len() as u64 > (input.len() as u64).saturating_mul(MOST_PER_BYTE) {
            return Err(wrong("length", format!("enough for {} bytes", out.len()), input.len().to_string()));
        }
        // No match reaches farther back than to the first byte, whatever dictionary the encoder had.
        let reach = reach(out.len(), u32::MAX - 15);
        let refused = |e: liblzma::stream::Error| wrong("content", "an LZMA2 stream".into(), e.to_string());
        let mut stream = Stream::new_raw_decoder(&self.filters(PRESET, reach)?).map_err(refused)?;
        // The end marker is written after the last byte, in the same call or in the next.
        let mut status = stream.process(input, out, Action::Finish);
        if matches!(status, Ok(Status::Ok)) && stream.total_out() == out.len() as u64 {
            let done = usize::try_from(stream.total_in()).expect("bounded by the input");
            status = stream.process(&input[done..], &mut [0], Action::Finish);
        }
        let (read, made) = (stream.total_in(), stream.total_out());
        match status {
            Ok(Status::StreamEnd) if made == out.len() as u64 && read == input.len() as u64 => Ok(()),
            Ok(Status::StreamEnd) if made == out.len() as u64 => {
                Err(wrong("length of the stream", input.len().to_string(), read.to_string()))
            }
            Ok(_) => Err(wrong("decoded length", out.len().to_string(), format!("{made}, or a cut stream"))),
            Err(e) => Err(refused(e)),
        }
    }
}

#[cfg(test)]
#[cfg(feature = "encode")]
mod tests {
    use super::*;

    const TEXT: Lzma = Lzma::for_elements(1, 1 << 20);

    fn encoded(lzma: Lzma, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        lzma.encode(bytes, &mut Contexts::default(), &mut out).unwrap();
        out
    }

    fn decoded(payload: &[u8], len: usize) -> Result<Vec<u8>> {
        let mut out = vec![0; len];
        TEXT.decode_into(payload, &mut Contexts::default(), &mut out).map(|()| out)
    }

    #[test]
    fn streams_that_numcodecs_wrote_are_read() {
        // numcodecs.LZMA(format=3, filters=[{"id":33,"dict_size":65536,"lc":3,"lp":0,"pb":2}]).encode(b"a" * 42)
        let letters = b"\xe0\x00\x29\x00\x06\x5d\x00\x30\xee\x2a\x00\x00\x00\x00";
        assert_eq!(decoded(letters, 42).map_err(|e| e.to_string()), Ok(vec![b'a'; 42]));
        assert_eq!(decoded(b"\0", 0).unwrap(), b"");
    }

    #[test]
    fn any_settings_are_decoded_by_any_others() {
        let bytes: Vec<u8> = (0..20_000u32).flat_map(|i| (i * i % 977).to_be_bytes()).collect();
        for size in [1, 2, 4, 8] {
            let payload = encoded(Lzma::for_elements(size, 1 << 16), &bytes);
            assert!(payload.len() < bytes.len() / 8);
            assert_eq!(decoded(&payload, bytes.len()).unwrap(), bytes, "{size}");
        }
    }

    #[test]
    fn a_part_that_was_there_before_costs_next_to_nothing() {
        let noise: Vec<u8> = (0..4000u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
        for preset in [3, 6] {
            let shares = lzma_shares(TEXT, preset, [&noise[..], b"", &noise, &noise[..8]]).unwrap();
            assert!(shares[0] > 10_000 && shares[1] < 8 && shares[2] < 200 && shares[3] < 40, "{shares:?}");
        }
    }

    #[test]
    fn claims_beyond_what_a_stream_can_hold_are_refused_before_memory_is_asked_for() {
        let e = decoded(b"\0", 1 << 24).unwrap_err();
        assert!(e.is_corrupt() && e.to_string().contains("enough for"), "{e}");
    }

    #[test]
    fn zeros_are_the_densest_stream_and_pass_the_check_of_claims() {
        let zeros = vec![0; 16 << 20];
        let payload = encoded(TEXT, &zeros);
        assert_eq!(decoded(&payload, zeros.len()).unwrap(), zeros);
    }
}
