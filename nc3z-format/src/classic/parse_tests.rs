use proptest::prelude::*;

use super::*;
use crate::classic::encode::encode;
use crate::error::ErrorKind;

const NONE: [u32; 2] = [0, 0];

fn bytes(version: u8, words: &[&[u32]]) -> Vec<u8> {
    let mut out = vec![b'C', b'D', b'F', version];
    out.extend(words.iter().copied().flatten().flat_map(|w| w.to_be_bytes()));
    out
}

/// CDF-1: dimensions `t` (record) and `x` = 3; `title` = "hi"; `short v(t, x)` with `f` = 1.0.
fn small() -> Vec<u8> {
    let word = u32::from_be_bytes;
    bytes(
        1,
        &[
            &[5],
            &[10, 2, 1, word(*b"t\0\0\0"), 0, 1, word(*b"x\0\0\0"), 3],
            &[12, 1, 5, word(*b"titl"), word(*b"e\0\0\0"), 2, 2, word(*b"hi\0\0")],
            &[11, 1, 1, word(*b"v\0\0\0"), 2, 0, 1],
            &[12, 1, 1, word(*b"f\0\0\0"), 5, 1, 0x3F80_0000],
            &[3, 8, 136],
        ],
    )
}

fn parsed(input: &[u8]) -> Result<Header> {
    parse(input, input.len() as u64, &Limits::default()).map(|p| p.header)
}

fn message(input: &[u8]) -> String {
    parsed(input).unwrap_err().to_string()
}

#[test]
fn small_header_has_its_parts() {
    let input = small();
    let Parsed { header, header_len } = parse(&input, 9999, &Limits::default()).unwrap();
    assert_eq!(header_len, input.len() as u64);
    assert_eq!((header.version, header.numrecs), (Version::Cdf1, NumRecs::Count(5)));
    assert_eq!(header.dimension(b"x").unwrap().1.len, 3);
    assert_eq!(header.attribute(b"title").unwrap().values, b"hi");
    let (_, v) = header.variable(b"v").unwrap();
    assert_eq!((v.ty, v.vsize, v.begin), (NcType::Short, 8, 136));
    assert_eq!(v.attribute(b"f").unwrap().count(), 1);
    assert!(header.is_record(v));
    assert_eq!(encode(&header).unwrap(), input);
}

#[test]
fn bytes_behind_the_header_are_not_read() {
    let mut input = small();
    let header_len = input.len() as u64;
    input.extend([0xFF; 100]);
    assert_eq!(parse(&input, input.len() as u64, &Limits::default()).unwrap().header_len, header_len);
}

#[test]
fn streaming_is_all_ones() {
    let h = parsed(&bytes(2, &[&[u32::MAX], &NONE, &NONE, &NONE])).unwrap();
    assert_eq!(h.numrecs, NumRecs::Streaming);
    let h = parsed(&bytes(5, &[&[u32::MAX; 2], &[0; 9]])).unwrap();
    assert_eq!(h.numrecs, NumRecs::Streaming);
    let h = parsed(&bytes(5, &[&[0, u32::MAX], &[0; 9]])).unwrap();
    assert_eq!(h.numrecs, NumRecs::Count(u32::MAX.into()));
}

#[test]
fn empty_lists_may_carry_their_tag() {
    assert!(parsed(&bytes(1, &[&[0], &[10, 0], &[12, 0], &[11, 0]])).is_ok());
}

#[test]
fn absent_list_with_elements_is_rejected() {
    let text = message(&bytes(1, &[&[0], &[0, 3], &NONE, &NONE]));
    assert!(text.contains("dimension list") && text.contains("at byte 8") && text.contains("is 3"), "{text}");
}

#[test]
fn wrong_tag_is_rejected_with_place_expected_and_found() {
    let text = message(&bytes(1, &[&[0], &[11, 1], &NONE, &NONE]));
    assert_eq!(text, "corrupt dimension list, list at byte 8: tag is 11, expected 10 or 0");
}

#[test]
fn nonzero_padding_is_tolerated() {
    let mut input = small();
    input[21] = b'0';
    assert_eq!(parsed(&input).unwrap(), parsed(&small()).unwrap());
}

#[test]
fn type_of_cdf5_in_cdf1_is_rejected() {
    let mut input = small();
    let at = input.len() - 9;
    assert_eq!(input[at], 3);
    input[at] = 7;
    let text = message(&input);
    assert!(text.contains("variable 0") && text.contains("1 to 6"), "{text}");
}

#[test]
fn dimension_id_beyond_the_list_is_rejected() {
    let mut input = small();
    let at = input.len() - 12 - 28 - 1;
    assert_eq!(input[at], 1);
    input[at] = 2;
    assert!(message(&input).contains("dimension id is 2, expected below 2"));
}

#[test]
fn counts_are_compared_with_the_file_before_memory_is_asked_for() {
    for count in [1 << 20, 1 << 31, u32::MAX] {
        for list in 0..3 {
            let mut words = [0_u32; 7];
            (words[1 + 2 * list], words[2 + 2 * list]) = ([10, 12, 11][list], count);
            let e = parsed(&bytes(1, &[&words])).unwrap_err();
            // A list of variables has a limit besides.
            let limited = list == 2 && matches!(e.kind(), ErrorKind::Limit { what: "variables", .. });
            assert!(limited || matches!(e.kind(), ErrorKind::Truncated { what: "element count", .. }), "{e}");
        }
    }
    let e = parsed(&bytes(5, &[&[0, 0], &[10, 1 << 31, 0], &[0; 20]])).unwrap_err();
    assert!(e.is_corrupt());
}

#[test]
fn limits_hold_for_names_ranks_and_the_header() {
    let input = small();
    let with = |change: fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        matches!(parse(&input, 9999, &limits).unwrap_err().kind(), ErrorKind::Limit { .. })
    };
    assert!(with(|l| l.name_len = 4));
    assert!(with(|l| l.rank = 1));
    assert!(with(|l| l.header_len = 100));
}

#[test]
fn other_formats_are_named() {
    let e = parsed(b"\x89HDF\r\n\x1a\n________________").unwrap_err();
    assert!(e.is_unsupported() && e.to_string().contains("nccopy"), "{e}");
    assert!(parsed(b"\x91\x92\x93\x94").unwrap_err().is_corrupt());
    assert!(parsed(b"").unwrap_err().is_corrupt());
    assert!(parsed(b"CDF").unwrap_err().is_corrupt());
}

#[test]
fn every_prefix_is_truncated_as_a_file_and_incomplete_as_a_prefix() {
    let input = small();
    let file_len = input.len() as u64 + 50;
    for n in 0..input.len() {
        let e = parse(&input[..n], n as u64, &Limits::default()).unwrap_err();
        assert!(e.is_corrupt() || e.is_unsupported(), "{n}: {e}");
        match parse_prefix(&input[..n], file_len, &Limits::default()).unwrap() {
            Parse::Incomplete { at_least } => {
                assert!(at_least > n as u64 && at_least <= input.len() as u64, "{n}: {at_least}");
            }
            Parse::Done(..) => panic!("{n}"),
        }
    }
}

#[test]
fn every_bit_flip_is_an_error_or_an_honest_header() {
    let input = small();
    for bit in 0..input.len() * 8 {
        let mut flipped = input.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        for byte in 0..2_u8 {
            let mut changed = flipped.clone();
            changed[bit / 8] = if byte == 0 { flipped[bit / 8] } else { 0xFF };
            if let Ok(p) = parse(&changed, 500, &Limits::default()) {
                let layout = crate::classic::Layout::new(&p.header, p.header_len, 500).unwrap();
                assert_eq!(layout.segments().iter().map(|s| s.len).sum::<u64>(), 500);
            }
        }
    }
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..9)
}

fn attribute(types: usize) -> BoxedStrategy<Attribute> {
    (name(), 0..types, prop::collection::vec(any::<u8>(), 0..32))
        .prop_map(|(name, ty, mut values)| {
            let ty = NcType::ALL[ty];
            values.truncate(values.len() / ty.size() * ty.size());
            Attribute { name, ty, values }
        })
        .boxed()
}

fn any_header() -> impl Strategy<Value = Header> {
    prop::sample::select(vec![Version::Cdf1, Version::Cdf2, Version::Cdf5]).prop_flat_map(|version| {
        let types = if version == Version::Cdf5 { 11 } else { 6 };
        let word = if version == Version::Cdf5 { 0..=u64::MAX } else { 0..=u32::MAX.into() };
        let begin = if version == Version::Cdf1 { 0..=u32::MAX.into() } else { 0..=u64::MAX };
        let dim = (name(), word.clone()).prop_map(|(name, len)| Dimension { name, len });
        let atts = prop::collection::vec(attribute(types), 0..4);
        let ids = prop::collection::vec(any::<prop::sample::Index>(), 0..4);
        let var = (name(), ids, atts.clone(), 0..types, word.clone(), begin);
        (word, prop::collection::vec(dim, 0..4), atts, prop::collection::vec(var, 0..4)).prop_map(
            move |(numrecs, dimensions, attributes, vars)| {
                let streaming = numrecs == if version == Version::Cdf5 { u64::MAX } else { u32::MAX.into() };
                let id = |i: prop::sample::Index| DimId(u32::try_from(i.index(dimensions.len())).unwrap());
                let var = |(name, ids, attributes, ty, vsize, begin): (
                    _,
                    Vec<prop::sample::Index>,
                    _,
                    usize,
                    _,
                    _,
                )| {
                    let ids = if dimensions.is_empty() { vec![] } else { ids };
                    let dimensions = ids.into_iter().map(id).collect();
                    Variable { name, dimensions, attributes, ty: NcType::ALL[ty], vsize, begin }
                };
                let variables = vars.into_iter().map(var).collect();
                let numrecs = if streaming { NumRecs::Streaming } else { NumRecs::Count(numrecs) };
                Header { version, numrecs, dimensions, attributes, variables }
            },
        )
    })
}

proptest! {
    #[test]
    fn encoded_headers_parse_to_themselves(header in any_header(), tail in 0_u64..1000) {
        let bytes = encode(&header).unwrap();
        let len = bytes.len() as u64;
        let back = parse(&bytes, len + tail, &Limits::default()).unwrap();
        prop_assert_eq!(&encode(&back.header).unwrap(), &bytes);
        prop_assert_eq!(back, Parsed { header, header_len: len });
    }

    #[test]
    fn fetching_what_is_asked_for_ends_with_the_header(header in any_header()) {
        let bytes = encode(&header).unwrap();
        let (mut have, mut rounds) = (0, 0);
        loop {
            match parse_prefix(&bytes[..have], bytes.len() as u64, &Limits::default()).unwrap() {
                Parse::Done(back, len) => {
                    prop_assert_eq!((&*back, len), (&header, bytes.len() as u64));
                    break;
                }
                Parse::Incomplete { at_least } => {
                    let next = usize::try_from(at_least).unwrap();
                    prop_assert!(next > have && next <= bytes.len() && rounds < 500);
                    (have, rounds) = (next, rounds + 1);
                }
            }
        }
    }

    #[test]
    fn random_bytes_never_panic(version in prop::sample::select(vec![1_u8, 2, 5]), words in prop::collection::vec(prop::sample::select(vec![0_u32, 1, 2, 3, 4, 5, 10, 11, 12, 1 << 31, u32::MAX]), 0..60)) {
        let input = bytes(version, &[&words]);
        if let Ok(p) = parse(&input, input.len() as u64, &Limits::default()) {
            crate::classic::Layout::new(&p.header, p.header_len, input.len() as u64).unwrap();
        }
    }
}

/// Not a benchmark: it only catches a parser that has become quadratic.
#[test]
fn a_hundred_thousand_variables_parse_quickly() {
    let variable = |n: u32| Variable {
        name: format!("var{n:06}").into_bytes(),
        dimensions: vec![DimId(0)],
        attributes: vec![],
        ty: NcType::Float,
        vsize: 4,
        begin: u64::from(6_000_000 + 4 * n),
    };
    let header = Header {
        version: Version::Cdf2,
        numrecs: NumRecs::Count(0),
        dimensions: vec![Dimension { name: b"x".to_vec(), len: 1 }],
        attributes: vec![],
        variables: (0..100_000).map(variable).collect(),
    };
    let bytes = encode(&header).unwrap();
    let start = std::time::Instant::now();
    let back = parse(&bytes, 6_400_000, &Limits::default()).unwrap();
    let parse_time = start.elapsed();
    let layout = crate::classic::Layout::new(&back.header, back.header_len, 6_400_000).unwrap();
    println!("{} header bytes: parse {parse_time:?}, with layout {:?}", bytes.len(), start.elapsed());
    assert_eq!(layout.segments().len(), 100_002);
    assert!(start.elapsed().as_secs() < 5);
}
