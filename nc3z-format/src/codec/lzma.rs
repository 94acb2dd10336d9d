//! One raw LZMA2 stream, as NumCodecs' `lzma` makes it with `"format":3` (no container, no checksum of its own).
//!
//! What it is for: tables, text and other values that recur instead of running smoothly. It finds in them what no other codec
//! here does, and decodes at a tenth of their speed.

use super::registry::{ByteStage, Contexts};
use crate::error::{Error, Result};
use liblzma::stream::{Action, Filters, LzmaOptions, Status, Stream};
use serde_json::{Map, Value, json};

/// What the encoder may choose; decoders need none of it, since LZMA2 says it itself and distances end at the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lzma {
    /// Bytes that are searched back, from [`Lzma::LEAST_DICT`] to [`Lzma::MOST_DICT`].
    pub dict_size: u32,
    /// High bits of the byte before that a literal's context has.
    pub lc: u32,
    /// Low bits of the position that a literal's context has: `lc + lp` is at most 4.
    pub lp: u32,
    /// Low bits of the position that every other context has, at most 4.
    pub pb: u32,
}

/// NumCodecs' and liblzma's number of a stream without container, and of the LZMA2 filter.
const FORMAT_RAW: i64 = 3;
const FILTER_LZMA2: i64 = 33;
/// Level 9 with everything tried: streams are short, and written once.
const PRESET: u32 = 9 | 1 << 31;
/// The level at which shares are measured.
const SHARES_PRESET: u32 = 6;
/// LZMA2 packs at most 2 MiB into a chunk, whose least length is seven bytes.
const MOST_PER_BYTE: u64 = (2 << 20) / 7 + 1;

impl Lzma {
    /// The smallest dictionary there is.
    pub const LEAST_DICT: u32 = 4 << 10;
    /// The largest dictionary that a chain may ask for.
    pub const MOST_DICT: u32 = 64 << 20;

    /// Settings for elements of so many bytes: contexts know the byte's place in its element. For single bytes, those of text.
    #[must_use]
    pub const fn for_elements(size: usize, dict_size: u32) -> Self {
        let align = match size {
            1 => return Lzma { dict_size, lc: 3, lp: 0, pb: 0 },
            2 => 1,
            4 => 2,
            _ => 3,
        };
        Lzma { dict_size, lc: 4 - align, lp: align, pb: align }
    }

    /// The same dictionary with other contexts, one of which fits better now and then.
    #[must_use]
    pub const fn rivals(self) -> [Self; 2] {
        [Lzma { lc: 0, ..self }, Lzma { lc: 3, lp: 0, ..self }]
    }

    /// The keys beside the id.
    pub(super) fn to_map(self) -> Map<String, Value> {
        let Lzma { dict_size, lc, lp, pb } = self;
        let filter = json!({"dict_size": dict_size, "id": FILTER_LZMA2, "lc": lc, "lp": lp, "pb": pb});
        let keys = [
            ("check", json!(-1)),
            ("filters", json!([filter])),
            ("format", json!(FORMAT_RAW)),
            ("preset", Value::Null),
        ];
        keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// The same keys read back; `None` for any others, which may mean something else.
    pub(super) fn from_map(map: &Map<String, Value>) -> Option<Self> {
        let filter = map.get("filters")?.as_array().filter(|f| f.len() == 1)?[0].as_object()?;
        let number = |key: &str| filter.get(key)?.as_u64().and_then(|n| u32::try_from(n).ok());
        let found =
            Lzma { dict_size: number("dict_size")?, lc: number("lc")?, lp: number("lp")?, pb: number("pb")? };
        let mut expected = found.to_map();
        expected.insert("id".into(), "lzma".into());
        let allowed = (Self::LEAST_DICT..=Self::MOST_DICT).contains(&found.dict_size)
            && found.lc.checked_add(found.lp).is_some_and(|sum| sum <= 4)
            && found.pb <= 4;
        (allowed && *map == expected).then_some(found)
    }

    fn filters(self, preset: u32, dict_size: u32) -> Result<Filters> {
        let mut options =
            LzmaOptions::new_preset(preset).map_err(|e| Error::invalid(format!("lzma: {e}")))?;
        options.dict_size(dict_size);
        options.literal_context_bits(self.lc).literal_position_bits(self.lp).position_bits(self.pb);
        let mut filters = Filters::new();
        filters.lzma2(&options);
        Ok(filters)
    }
}

/// What each part adds to one stream of all parts: what it costs where the parts before it are known already.
///
/// At a lower level than [`Lzma`] writes, a flush after each part; good for comparing, a few bytes too much for each.
///
/// # Errors
/// liblzma's refusal, which would be a lack of memory.
pub fn lzma_shares<'a>(lzma: Lzma, parts: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<u64>> {
    let failed = |e: liblzma::stream::Error| Error::invalid(format!("lzma: {e}"));
    let mut stream =
        Stream::new_raw_encoder(&lzma.filters(SHARES_PRESET, lzma.dict_size)?).map_err(failed)?;
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

/// The least dictionary that reaches over `len` bytes, and not more than asked for: memory follows the data.
fn reach(len: usize, most: u32) -> u32 {
    u32::try_from(len).unwrap_or(most).min(most).max(Lzma::LEAST_DICT)
}

impl ByteStage for Lzma {
    fn encode(&self, input: &[u8], _: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        let failed = |e: liblzma::stream::Error| Error::invalid(format!("lzma: {e}"));
        let mut stream = Stream::new_raw_encoder(&self.filters(PRESET, reach(input.len(), self.dict_size))?)
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
        // The end marker comes after the last byte, in the same call or in the next.
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

    fn keeps_length(&self) -> bool {
        false
    }
}

#[cfg(test)]
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
        let shares = lzma_shares(TEXT, [&noise[..], b"", &noise, &noise[..8]]).unwrap();
        assert!(shares[0] > 10_000 && shares[1] < 8 && shares[2] < 200 && shares[3] < 40, "{shares:?}");
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

    #[test]
    fn other_keys_are_not_this_codec() {
        let whole = |lzma: Lzma| {
            let mut map = lzma.to_map();
            map.insert("id".into(), "lzma".into());
            map
        };
        assert_eq!(Lzma::from_map(&whole(TEXT)), Some(TEXT));
        for odd in [
            Lzma { dict_size: 0, ..TEXT },
            Lzma { dict_size: Lzma::MOST_DICT + 1, ..TEXT },
            Lzma { lp: 2, ..TEXT },
            Lzma { pb: 5, ..TEXT },
        ] {
            assert_eq!(Lzma::from_map(&whole(odd)), None, "{odd:?}");
        }
        for (key, value) in
            [("format", json!(1)), ("preset", json!(6)), ("check", json!(4)), ("more", json!(0))]
        {
            let mut map = whole(TEXT);
            map.insert(key.into(), value);
            assert_eq!(Lzma::from_map(&map), None, "{key}");
        }
    }
}
