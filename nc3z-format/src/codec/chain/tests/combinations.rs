//! Chains of all filters and codecs.

use super::*;

pub(crate) fn wanted(ty: NcType, stages: &[&str]) -> Chain {
    let registry = Registry::default();
    let text = format!("[{}]", stages.join(","));
    registry.bind(crate::codec::ChainRequest::parse(&text).unwrap().bind(ty, &registry).unwrap())
}

/// Returns chains of each filter and each codec for elements of a type, and chains of several of them.
fn all_chains(ty: NcType) -> Vec<Chain> {
    // `pcodec` is for whole numbers of several bytes, and finds its numbers only in their own order.
    let fits = |codec: &&&str| !codec.contains("pcodec") || ty.size() > 1;
    let mut all: Vec<Chain> = FILTERS.iter().map(|filter| wanted(ty, &[filter])).collect();
    for codec in CODECS.iter().filter(fits) {
        all.push(wanted(ty, &[codec]));
        for filter in FILTERS.iter().filter(|f| !codec.contains("pcodec") || f.contains("shuffle")) {
            all.push(wanted(ty, &[filter, codec]));
            // The output of a codec is not a sequence of whole elements.
            if !filter.contains("delta") {
                all.push(wanted(ty, &[codec, filter]));
            }
        }
        all.push(wanted(ty, &[codec, r#"{"id":"zlib","level":1}"#]));
        all.push(wanted(ty, &[codec, r#"{"id":"fletcher32"}"#, r#"{"id":"lzf"}"#, r#"{"id":"crc32"}"#]));
    }
    all.retain(|chain| chain.unsupported().is_none());
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn chains_of_all_filters_and_codecs_come_back(
        bytes in proptest::collection::vec(0_u8..6, 0..400), ty in 0_usize..11, damage in any::<(u16, u8)>(),
    ) {
        let ty = NcType::ALL[ty];
        let whole = &bytes[..bytes.len() / ty.size() * ty.size()];
        let mut scratch = CodecScratch::default();
        for chain in all_chains(ty) {
            let mut payload = Vec::new();
            if chain.encode_bytes(whole, &mut scratch, &mut payload).is_err() {
                // Differences of floats need not come back; nothing else is refused.
                prop_assert!(chain.to_string().contains("delta") && ty.is_float(), "{chain}");
                continue;
            }
            let mut back = vec![0xEE; whole.len()];
            chain.decode_bytes(&payload, &mut scratch, &mut back).unwrap();
            prop_assert_eq!(&back[..], whole, "{}", chain);
            let mut longer = vec![0; whole.len() + 1];
            prop_assert!(chain.decode_bytes(&payload, &mut scratch, &mut longer).is_err(), "{chain}");
            for cut in (0..payload.len()).step_by(payload.len() / 12 + 1) {
                prop_assert!(chain.decode_bytes(&payload[..cut], &mut scratch, &mut back).is_err(), "{chain}: {cut}");
            }
            payload.push(0);
            prop_assert!(chain.decode_bytes(&payload, &mut scratch, &mut back).is_err(), "{chain}");
            payload.pop();
            if !payload.is_empty() {
                let at = usize::from(damage.0) % payload.len();
                payload[at] ^= damage.1;
                let _ = chain.decode_bytes(&payload, &mut scratch, &mut back);
            }
        }
    }

    #[test]
    fn any_bytes_give_an_error_or_the_declared_length_of_every_codec(
        payload in proptest::collection::vec(any::<u8>(), 0..120), n in 0_usize..40,
    ) {
        let mut scratch = CodecScratch::default();
        let mut out = vec![0; n * 8];
        for chain in all_chains(NcType::Double) {
            let _ = chain.decode_bytes(&payload, &mut scratch, &mut out);
        }
    }
}

#[test]
fn what_is_no_whole_element_comes_back_too() {
    let mut scratch = CodecScratch::default();
    for ty in [NcType::Byte, NcType::Short, NcType::Float, NcType::Double] {
        for chain in all_chains(ty) {
            for len in [1, 7, 127, 129, 255, 257, 511, 1023, 1031, 1647, 2053, 4099] {
                let bytes: Vec<u8> = (0..len).map(|i: u32| (i * i / 600).to_le_bytes()[0]).collect();
                let mut stored = Vec::new();
                // Some chains refuse bytes that are not whole elements.
                if chain.encode_bytes(&bytes, &mut scratch, &mut stored).is_err() {
                    continue;
                }
                let mut back = vec![0xA5; bytes.len()];
                chain
                    .decode_bytes(&stored, &mut scratch, &mut back)
                    .unwrap_or_else(|e| panic!("{}, {len}: {e}", chain.spec()));
                assert!(back == bytes, "{}, {len} bytes", chain.spec());
            }
        }
    }
}
