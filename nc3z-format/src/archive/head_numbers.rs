//! The packed form of a head copy whose attributes have many numbers (`spec/archive.md`, "Numbers apart").
//! The numeric codec stores the numbers separately; the rest is a zstd frame.
//!
//! Some headers contain much numeric data, such as outlines of regions as attributes. The numeric codec
//! compresses these better than a codec for bytes.

use super::section_codec;
use crate::NcType;
use crate::bytes::{ByteCursor, reserve};
use crate::codec::{ChainSpec, CodecScratch, Dependencies, Registry, StageSpec, TileShape};
use crate::error::{Error, Result};
use crate::tile::Geometry;

const SECTION: &str = "head copy";
/// The first bytes of this form. Other packed heads begin with the magic of zstd.
const MAGIC: [u8; 4] = [0xB1, 0x4E, 0x43, 0x68];
/// Largest number of bytes of all separate numbers.
const MOST: usize = 1 << 24;
/// Largest number of places from which they are taken.
const MOST_RUNS: usize = 1 << 20;

struct NumbersOfType {
    ty: NcType,
    stored_len: usize,
    /// The decoded numbers, in the order of their runs.
    values: Vec<u8>,
    /// The number of their bytes that have been put back.
    placed: usize,
}

impl NumbersOfType {
    const fn new(ty: NcType, stored_len: usize) -> Self {
        NumbersOfType { ty, stored_len, values: Vec::new(), placed: 0 }
    }
}

/// A run of consecutive numbers in the head.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    /// Remaining bytes between the previous run and this one.
    skip: usize,
    kind: usize,
    elements: usize,
}

/// The decoded form of a packed head copy, of at most `limit` bytes.
///
/// # Errors
/// Damage; more bytes than that.
pub(super) fn unpack(stored: &[u8], limit: u64) -> Result<Vec<u8>> {
    match stored.strip_prefix(&MAGIC) {
        Some(apart) => join(apart, limit),
        None => section_codec::unpack(stored, limit),
    }
}

fn join(stored: &[u8], limit: u64) -> Result<Vec<u8>> {
    let mut c = ByteCursor::new(SECTION, MAGIC.len() as u64, stored);
    let len = c.varint_up_to("length of the frame", stored.len())?;
    let text = section_codec::unpack(c.split("frame", len)?, limit)?;
    let mut t = ByteCursor::new(SECTION, 0, &text);
    let mut kinds = read_kinds(&mut t, stored.len())?;
    let runs = read_runs(&mut t, kinds.len())?;
    let rest = t.rest();
    let mut lens = vec![0usize; kinds.len()];
    for run in &runs {
        lens[run.kind] =
            lens[run.kind].saturating_add(run.elements.saturating_mul(kinds[run.kind].ty.size()));
    }
    // Compared before memory is allocated.
    let numbers = lens.iter().fold(0usize, |sum, &len| sum.saturating_add(len));
    if numbers > MOST {
        return Err(Error::corrupt(SECTION, None, "bytes of numbers", format!("at most {MOST}"), numbers));
    }
    let total = rest.len() as u64 + numbers as u64;
    if total > limit {
        return Err(Error::limit(SECTION, None, "decoded length", limit, total));
    }
    for (kind, len) in kinds.iter_mut().zip(lens) {
        kind.values = decode(c.split("numbers", kind.stored_len)?, kind.ty, len)?;
    }
    c.finish()?;
    let mut out = Vec::new();
    reserve(&mut out, SECTION, "decoded length in memory", rest.len() + numbers)?;
    let mut rest = ByteCursor::new(SECTION, 0, rest);
    for Run { skip, kind, elements } in runs {
        out.extend(rest.split("bytes before numbers", skip)?);
        let NumbersOfType { ty, values, placed, .. } = &mut kinds[kind];
        let from = std::mem::replace(placed, *placed + elements * ty.size());
        out.extend(&values[from..*placed]);
    }
    out.extend(rest.rest());
    Ok(out)
}

fn read_kinds(t: &mut ByteCursor<'_>, most: usize) -> Result<Vec<NumbersOfType>> {
    let mut kinds: Vec<NumbersOfType> = Vec::new();
    for _ in 0..t.varint_up_to("types of numbers", NcType::ALL.len())? {
        let at = t.offset();
        let ty = NcType::from_code(t.u8("type of numbers")?.into()).map_err(|e| e.within(SECTION, at))?;
        if kinds.last().is_some_and(|before| before.ty >= ty) {
            return Err(Error::corrupt(SECTION, at, "types of numbers", "ascending ones", ty.code()));
        }
        let stored_len = t.varint_up_to("length of numbers", most)?;
        kinds.push(NumbersOfType::new(ty, stored_len));
    }
    Ok(kinds)
}

/// Reads the runs, which are stored as three columns.
fn read_runs(t: &mut ByteCursor<'_>, kinds: usize) -> Result<Vec<Run>> {
    // A run takes at least three bytes.
    let most = (t.left() / 3).min(if kinds == 0 { 0 } else { MOST_RUNS });
    let count = t.varint_up_to("runs of numbers", most)?;
    let mut runs = vec![Run::default(); count];
    let last = kinds.saturating_sub(1);
    for run in &mut runs {
        run.skip = t.varint_up_to("bytes before numbers", usize::MAX)?;
    }
    for run in &mut runs {
        run.kind = t.varint_up_to("which numbers", last)?;
    }
    for run in &mut runs {
        run.elements = t.varint_up_to("number of numbers", MOST)?;
    }
    Ok(runs)
}

fn decode(payload: &[u8], ty: NcType, len: usize) -> Result<Vec<u8>> {
    let mut out = vec![0; len];
    let chain = Registry::default().bind(ChainSpec(vec![StageSpec::num(None)]));
    let given = Dependencies::default();
    chain.decode_tile(payload, &shape(ty, len), &given, &mut CodecScratch::default(), &mut out)?;
    Ok(out)
}

/// The shape of one row of `len` bytes.
fn shape(ty: NcType, len: usize) -> TileShape {
    TileShape { ty, geometry: Geometry::new(&[(len / ty.size()) as u64]) }
}

#[cfg(not(feature = "encode"))]
pub(super) fn pack(decoded: &[u8], _: &[u8]) -> Result<Option<Vec<u8>>> {
    section_codec::pack(decoded)
}

#[cfg(feature = "encode")]
pub(super) use encode::pack;

#[cfg(feature = "encode")]
mod encode {
    use super::{MAGIC, MOST, MOST_RUNS, NumbersOfType, Run, shape};
    use crate::NcType;
    use crate::archive::section_codec;
    use crate::bytes::put_varint;
    use crate::classic::{Attribute, Header, Version, parse};
    use crate::codec::{CodecScratch, TileCoder, encode_tile, encode_zstd_frame, words_of};
    use crate::error::Result;
    use crate::limits::Limits;
    use crate::num::{self, Effort, Extent, Width};

    /// Lists with fewer numbers are not separated.
    const RUN: usize = 16;
    /// If all lists together have fewer bytes, none is separated.
    const LEAST: usize = 4 << 10;
    /// The chooser sees this many elements of longer lists, taken at three places.
    const SAMPLE: usize = 64 << 10;
    /// The form must save at least 1/WORTH of the bytes of a single frame, since any zstd decodes a single
    /// frame.
    const WORTH: usize = 16;
    /// Making a frame with full effort saves less than 1/EFFORT of a quick frame's bytes.
    const EFFORT: usize = 4;
    const QUICK_LEVEL: i32 = 3;
    /// Bytes of a tag. Names and values are padded to multiples of this.
    const WORD: usize = 4;

    /// The packed form of a head copy, if it is smaller. Many numbers are stored separately. The classic
    /// header ends at the end of `header`, and its length precedes it.
    pub(in crate::archive) fn pack(decoded: &[u8], header: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some(apart) = apart(decoded, header)? else { return section_codec::pack(decoded) };
        if apart.len() + apart.len() / EFFORT < encode_zstd_frame(decoded, QUICK_LEVEL)?.len() {
            return Ok(Some(apart));
        }
        let frame = section_codec::pack(decoded)?;
        let independent = frame.as_ref().map_or(decoded.len(), Vec::len);
        Ok(if apart.len() + independent / WORTH < independent { Some(apart) } else { frame })
    }

    fn apart(decoded: &[u8], header: &[u8]) -> Result<Option<Vec<u8>>> {
        // Most headers are too short for this to save bytes.
        if header.len() < LEAST || !num::switch::is_on("numbers-apart") {
            return Ok(None);
        }
        let mut before = Vec::new();
        put_varint(&mut before, header.len() as u64);
        let (runs, mut kinds) = find(header, before.len());
        if kinds.iter().map(|kind| kind.values.len()).sum::<usize>() < LEAST {
            return Ok(None);
        }
        let mut payloads = Vec::new();
        for kind in &mut kinds {
            let begin = payloads.len();
            match kind.ty.size() {
                2 => encode::<u16>(kind, &mut payloads)?,
                4 => encode::<u32>(kind, &mut payloads)?,
                _ => encode::<u64>(kind, &mut payloads)?,
            }
            kind.stored_len = payloads.len() - begin;
        }
        let frame = section_codec::pack_frame(&text(decoded, &runs, &kinds))?;
        let mut out = MAGIC.to_vec();
        put_varint(&mut out, frame.len() as u64);
        out.extend(frame);
        out.extend(payloads);
        Ok(Some(out))
    }

    /// The attributes that are long lists of numbers, in the order of the header. The header begins `at`
    /// bytes after the beginning.
    fn find(header: &[u8], at: usize) -> (Vec<Run>, Vec<NumbersOfType>) {
        let Ok(parsed) = parse(header, header.len() as u64, &Limits::default()) else {
            return (Vec::new(), Vec::new());
        };
        let places = places(&parsed.header);
        // Values that are not at their expected place are not separated.
        let long: Vec<(usize, &Attribute)> = places
            .into_iter()
            .filter(|(from, a)| {
                let stands = header.get(*from..).is_some_and(|rest| rest.starts_with(&a.values));
                a.ty.size() > 1 && a.count() >= RUN && stands
            })
            .take(MOST_RUNS)
            .collect();
        let mut types: Vec<NcType> = long.iter().map(|(_, a)| a.ty).collect();
        types.sort_unstable();
        types.dedup();
        let mut kinds: Vec<NumbersOfType> = types.iter().map(|&ty| NumbersOfType::new(ty, 0)).collect();
        let (mut runs, mut end, mut numbers) = (Vec::new(), 0, 0);
        for (from, attribute) in long {
            numbers += attribute.values.len();
            if numbers > MOST {
                break;
            }
            let kind = types.binary_search(&attribute.ty).expect("it is one of these");
            kinds[kind].values.extend(&attribute.values);
            runs.push(Run { skip: at + from - end, kind, elements: attribute.count() });
            end = at + from + attribute.values.len();
        }
        (runs, kinds)
    }

    /// The offset of each attribute's values, computed from the lengths of the header's parts.
    fn places(header: &Header) -> Vec<(usize, &Attribute)> {
        let (count, offset) = match header.version {
            Version::Cdf1 => (4, 4),
            Version::Cdf2 => (4, 8),
            Version::Cdf5 => (8, 8),
        };
        let dimensions = header.dimensions.iter().map(|d| count + padded(&d.name) + count).sum::<usize>();
        let mut out = Vec::new();
        // Magic, number of records, tag and count.
        let mut at = WORD + count + WORD + count + dimensions;
        at = places_of(&header.attributes, at, count, &mut out) + WORD + count;
        for variable in &header.variables {
            at += count + padded(&variable.name) + count + variable.dimensions.len() * count;
            at = places_of(&variable.attributes, at, count, &mut out) + WORD + count + offset;
        }
        out
    }

    /// The offsets for a list of attributes that begins at `at`. Returns the end of the list.
    fn places_of<'h>(
        attributes: &'h [Attribute],
        mut at: usize,
        count: usize,
        out: &mut Vec<(usize, &'h Attribute)>,
    ) -> usize {
        at += WORD + count;
        for attribute in attributes {
            at += count + padded(&attribute.name) + WORD + count;
            out.push((at, attribute));
            at += padded(&attribute.values);
        }
        at
    }

    fn padded(bytes: &[u8]) -> usize {
        bytes.len().next_multiple_of(WORD)
    }

    fn encode<W: Width>(kind: &NumbersOfType, out: &mut Vec<u8>) -> Result<()> {
        let words: Vec<W> = words_of(&kind.values);
        let samples: Vec<&[W]> = if words.len() <= 3 * SAMPLE {
            vec![&words]
        } else {
            let last = words.len() - SAMPLE;
            [0, last / 2, last].map(|from| &words[from..][..SAMPLE]).to_vec()
        };
        let shape = shape(kind.ty, kind.values.len());
        let extent = Extent { elements: words.len() as u64, whole_len: 0, dictionary: false };
        let found =
            num::choose_with(&samples, kind.ty.into(), &shape.geometry, Effort::Default, &[], extent, None)?;
        let plan = found.plans.into_iter().next().unwrap_or_default();
        encode_tile(TileCoder::Num(&plan), &kind.values, &shape, &mut CodecScratch::default(), out)
    }

    /// The content of the frame: kinds, runs in three columns, the remaining bytes.
    fn text(decoded: &[u8], runs: &[Run], kinds: &[NumbersOfType]) -> Vec<u8> {
        let mut out = Vec::with_capacity(decoded.len());
        put_varint(&mut out, kinds.len() as u64);
        for kind in kinds {
            out.push(kind.ty as u8);
            put_varint(&mut out, kind.stored_len as u64);
        }
        put_varint(&mut out, runs.len() as u64);
        for column in [|run: &Run| run.skip, |run: &Run| run.kind, |run: &Run| run.elements] {
            runs.iter().for_each(|run| put_varint(&mut out, column(run) as u64));
        }
        let mut rest = decoded;
        for run in runs {
            let (before, from) = rest.split_at(run.skip);
            out.extend(before);
            rest = &from[run.elements * kinds[run.kind].ty.size()..];
        }
        out.extend(rest);
        out
    }
}

#[cfg(test)]
#[cfg(feature = "encode")]
mod tests {
    use super::*;
    use crate::archive::Head;
    use crate::archive::TileLayoutSpec;
    use crate::classic::{Attribute, Header, NumRecs, Version, encode as encode_header};

    const LIMIT: u64 = 1 << 20;

    /// Text, and lists of numbers of three types, some of them short.
    fn head(version: Version) -> Head {
        let attribute = |name: &str, ty: NcType, values: Vec<u8>| Attribute { name: name.into(), ty, values };
        let outline =
            |n: u16, at: f32| (0..n).flat_map(move |i| (at + f32::from(i % 97) * 0.125).to_be_bytes());
        let mut attributes = vec![attribute("title", NcType::Char, b"outlines of regions".to_vec())];
        for i in 0..20u8 {
            let at = f32::from(i);
            attributes.push(attribute("lat", NcType::Float, outline(40 + u16::from(i), at).collect()));
            attributes.push(attribute("lon", NcType::Float, outline(40 + u16::from(i), -at).collect()));
            attributes.push(attribute("levels", NcType::Short, (0..i).flat_map(|n| [0, n]).collect()));
        }
        let rows = (0..100u16).flat_map(|n| f64::from(n).to_be_bytes()).collect();
        attributes.push(attribute("rows", NcType::Double, rows));
        let header =
            Header { version, numrecs: NumRecs::Count(0), dimensions: vec![], attributes, variables: vec![] };
        Head {
            header: encode_header(&header).unwrap(),
            chains: vec![ChainSpec::default()],
            layouts: vec![TileLayoutSpec::Linear(1)],
            padding_tile_lens: vec![],
            gap_tile_len: 1,
        }
    }

    #[test]
    fn long_lists_of_numbers_stand_apart() {
        for version in [Version::Cdf1, Version::Cdf2, Version::Cdf5] {
            let head = head(version);
            let (stored, len) = head.store().unwrap();
            assert!(stored.starts_with(&MAGIC) && stored.len() < len as usize / 8, "{}", stored.len());
            assert_eq!(unpack(&stored, LIMIT).unwrap(), head.encode());
            assert!(unpack(&stored, u64::from(len) - 1).unwrap_err().is_limit());
        }
    }

    #[test]
    fn every_prefix_is_an_error_and_every_flipped_bit_an_error_or_some_bytes() {
        let (stored, _) = head(Version::Cdf1).store().unwrap();
        for len in 0..stored.len() {
            assert!(unpack(&stored[..len], LIMIT).is_err(), "{len}");
        }
        for bit in 0..stored.len() * 8 {
            let mut bad = stored.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            if let Ok(bytes) = unpack(&bad, LIMIT) {
                assert!(bytes.len() as u64 <= LIMIT);
            }
        }
    }

    /// The form with this text in its frame.
    fn form(text: &[u8], payloads: &[u8]) -> Vec<u8> {
        let frame = section_codec::pack_frame(text).unwrap();
        [&MAGIC[..], &[u8::try_from(frame.len()).unwrap()], &frame, payloads].concat()
    }

    #[test]
    fn what_the_runs_ask_for_is_compared_before_memory_is() {
        // All masked: any number of elements from seven bytes.
        let ones = [1, 2, 0, 0x3F, 0x80, 0, 0];
        let made = |elements: &[u8]| {
            let text = [&[1, 5, 7, 1, 1, 0][..], elements, b"ab"].concat();
            unpack(&form(&text, &ones), 1 << 30)
        };
        assert_eq!(made(&[2]).unwrap(), b"a\0\0\x80\x3F\0\0\x80\x3Fb");
        assert!(made(&[0xFF, 0xFF, 0xFF, 0x07]).unwrap_err().to_string().contains("at most"));
        // No types, types twice or falling, a run of a type that there is not, more runs than bytes.
        for text in [
            &[0, 1, 0, 0, 1][..],
            &[2, 5, 0, 5, 0, 0],
            &[2, 5, 0, 4, 0, 0],
            &[1, 5, 0, 1, 0, 1, 1],
            &[1, 5, 0, 99],
        ] {
            assert!(unpack(&form(text, b""), LIMIT).unwrap_err().is_corrupt(), "{text:?}");
        }
        assert_eq!(unpack(&form(b"\0\0text", b""), LIMIT).unwrap(), b"text");
        assert!(unpack(&form(b"\0\0text", b"more"), LIMIT).unwrap_err().is_corrupt());
    }

    #[test]
    fn few_numbers_stay_where_they_are() {
        let mut few = head(Version::Cdf1);
        few.header.truncate(3000);
        let (stored, _) = few.store().unwrap();
        assert!(stored.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]));
    }
}
