//! Chains forward and back, over every stage of this build.

mod combinations;

use super::*;
use crate::Limits;
use crate::archive::{ArrayId, IndexEntry};
use crate::codec::spec::{chains_from_json, chains_to_json};
use crate::codec::{Lzma, OlderTile, TileCoder, encode_tile};
use crate::tile::Geometry;
use crate::types::NcType;
use combinations::wanted;
use nc3z_num::EncodePlan;
use proptest::prelude::*;

fn bind(stages: Vec<StageSpec>) -> Chain {
    Registry::default().bind(ChainSpec(stages))
}

fn chains() -> Vec<Chain> {
    let mut all = vec![bind(vec![])];
    let codecs = [
        StageSpec::zstd(3),
        StageSpec::zlib(6),
        StageSpec::gzip(6),
        StageSpec::lz4(1),
        StageSpec::from(Lzma::for_elements(4, Lzma::LEAST_DICT)),
    ];
    for codec in codecs {
        all.push(bind(vec![codec.clone()]));
        for elementsize in [1, 2, 3, 4, 8, 24] {
            all.push(bind(vec![StageSpec::shuffle(elementsize)]));
            all.push(bind(vec![StageSpec::shuffle(elementsize), codec.clone()]));
            let bits = StageSpec::bitshuffle(elementsize, elementsize * 8);
            all.push(bind(vec![bits.clone()]));
            all.push(bind(vec![bits, codec.clone()]));
            let two = StageSpec::shuffle(5);
            all.push(bind(vec![two.clone(), StageSpec::shuffle(elementsize), two, codec.clone()]));
        }
    }
    all
}

proptest! {
    #[test]
    fn every_chain_gives_back_what_it_took(bytes in proptest::collection::vec(0u8..8, 0..700)) {
        let mut scratch = CodecScratch::default();
        for chain in chains() {
            let mut payload = Vec::new();
            chain.encode_bytes(&bytes, &mut scratch, &mut payload).unwrap();
            let mut back = vec![0xEE; bytes.len()];
            chain.decode_bytes(&payload, &mut scratch, &mut back).unwrap();
            prop_assert_eq!(&back, &bytes);
            let mut longer = vec![0; bytes.len() + 1];
            prop_assert!(chain.decode_bytes(&payload, &mut scratch, &mut longer).is_err());
            if !bytes.is_empty() {
                let n = bytes.len() - 1;
                prop_assert!(chain.decode_bytes(&payload, &mut scratch, &mut back[..n]).is_err());
            }
            for cut in 0..payload.len().min(40) {
                prop_assert!(chain.decode_bytes(&payload[..cut], &mut scratch, &mut back).is_err());
            }
            payload.push(0);
            prop_assert!(chain.decode_bytes(&payload, &mut scratch, &mut back).is_err());
        }
    }

    #[test]
    fn any_payload_gives_an_error_or_the_declared_length(payload in proptest::collection::vec(any::<u8>(), 0..200), n in 0usize..300) {
        let mut scratch = CodecScratch::default();
        let mut out = vec![0; n];
        for chain in chains() {
            let _ = chain.decode_bytes(&payload, &mut scratch, &mut out);
        }
    }
}

#[test]
fn unknown_codec_is_named_with_its_parameters() {
    let lz9 = StageSpec::from_value(serde_json::json!({"id":"lz9","window":7})).unwrap();
    let chain = bind(vec![lz9]);
    let e = chain.decode_bytes(b"", &mut CodecScratch::default(), &mut []).unwrap_err();
    assert!(e.is_unsupported());
    assert!(e.to_string().contains("lz9") && e.to_string().contains("\"window\":7"), "{e}");
}

/// Every codec of this build as a user may write it.
const CODECS: [&str; 12] = [
    r#"{"id":"zstd","level":3}"#,
    r#"{"id":"zlib","level":6}"#,
    r#"{"id":"gzip","level":6}"#,
    r#"{"id":"lz4"}"#,
    r#"{"id":"bz2","level":1}"#,
    r#"{"id":"lz4h5","blocksize":512}"#,
    r#"{"id":"lzf"}"#,
    r#"{"id":"blosc","cname":"blosclz"}"#,
    r#"{"id":"blosc","cname":"zstd","shuffle":2,"blocksize":1024}"#,
    r#"{"id":"bitshuffle","blocksize":128,"cname":"lz4"}"#,
    r#"{"id":"bitshuffle","cname":"zstd","clevel":1}"#,
    r#"{"id":"pcodec"}"#,
];
const FILTERS: [&str; 8] = [
    r#"{"id":"shuffle"}"#,
    r#"{"id":"bitshuffle"}"#,
    r#"{"id":"delta"}"#,
    r#"{"id":"fletcher32"}"#,
    r#"{"id":"crc32"}"#,
    r#"{"id":"crc32c"}"#,
    r#"{"id":"adler32"}"#,
    r#"{"id":"adler32","location":"end"}"#,
];

#[test]
fn only_what_finds_its_length_stands_behind_a_codec() {
    let pcodec = r#"{"id":"pcodec"}"#;
    for (stages, is_allowed) in [
        (vec![CODECS[0], FILTERS[0]], true),
        (vec![CODECS[0], CODECS[0]], true),
        (vec![FILTERS[0], pcodec, CODECS[0], FILTERS[3]], true),
        (vec![CODECS[0], pcodec], false),
        (vec![CODECS[0], r#"{"id":"packbits"}"#], false),
        (vec![CODECS[0]; 4], true),
        (vec![CODECS[0]; 5], false),
    ] {
        let text = format!("[{}]", stages.join(","));
        assert_eq!(crate::codec::ChainRequest::parse(&text).is_ok(), is_allowed, "{text}");
    }
    // A stored one is bound all the same, and its use an error both ways.
    let packbits = StageSpec::new::<&str>("packbits", []);
    let chain = bind(vec![StageSpec::zstd(1), packbits]);
    let mut out = Vec::new();
    let e = chain.encode_bytes(b"abcdef", &mut CodecScratch::default(), &mut out).unwrap_err();
    assert!(e.is_unsupported() && out.is_empty(), "{chain}");
    let e = chain.decode_bytes(b"abcdef", &mut CodecScratch::default(), &mut [0; 6]).unwrap_err();
    assert!(e.is_unsupported(), "{chain}");
}

#[test]
fn values_that_would_not_come_back_are_refused() {
    let floats: Vec<u8> = [1.0e10_f32, 1.0, 0.3].iter().flat_map(|x| x.to_be_bytes()).collect();
    let bits: Vec<u8> = vec![1, 0, 0, 1, 1, 1, 0, 1, 1, 0, 1];
    let packed: Vec<u8> = [1.5_f32, -2.25, 273.75].iter().flat_map(|x| x.to_be_bytes()).collect();
    let scale = r#"{"id":"fixedscaleoffset","offset":1,"scale":4,"astype":"i2"}"#;
    let mut scratch = CodecScratch::default();
    for (ty, stage, bytes, comes_back) in [
        (NcType::Float, r#"{"id":"delta"}"#, &floats, false),
        (NcType::Byte, r#"{"id":"packbits"}"#, &bits, true),
        (NcType::Byte, r#"{"id":"packbits"}"#, &floats, false),
        (NcType::Float, scale, &packed, true),
        (NcType::Float, scale, &floats, false),
    ] {
        let chain = wanted(ty, &[stage, CODECS[0]]);
        let mut payload = Vec::new();
        assert_eq!(chain.encode_bytes(bytes, &mut scratch, &mut payload).is_ok(), comes_back, "{chain}");
        if comes_back {
            let mut back = vec![0; bytes.len()];
            chain.decode_bytes(&payload, &mut scratch, &mut back).unwrap();
            assert_eq!(&back, bytes, "{chain}");
        }
    }
}

#[test]
fn a_filter_of_a_plug_in_is_named_where_it_is_missing() {
    let stage = crate::codec::Hdf5Filter::new(32_013, [1, 2, 3]).as_plugin();
    let e =
        bind(vec![stage]).decode_bytes(b"", &mut CodecScratch::default(), &mut []).unwrap_err().to_string();
    assert!(e.contains("32013 (ZFP)") && e.contains("[1,2,3]") && e.contains("hdf5plugin"), "{e}");
}

#[test]
fn contexts_are_sound_after_errors() {
    let bytes: Vec<u8> = (0..3000_u32).flat_map(|i| (i / 3).to_be_bytes()).collect();
    let mut scratch = CodecScratch::default();
    for chain in chains() {
        let mut payload = Vec::new();
        chain.encode_bytes(&bytes, &mut scratch, &mut payload).unwrap();
        let mut out = vec![0; bytes.len()];
        for at in (0..payload.len()).step_by(payload.len() / 50 + 1) {
            payload[at] ^= 0x10;
            let _ = chain.decode_bytes(&payload, &mut scratch, &mut out);
            payload[at] ^= 0x10;
        }
        chain.decode_bytes(&payload, &mut scratch, &mut out).unwrap();
        assert_eq!(out, bytes, "{chain}");
    }
}

#[test]
fn zlib_and_gzip_have_levels_up_to_9() {
    for codec in [StageSpec::zlib(10), StageSpec::gzip(10)] {
        let chain = bind(vec![codec]);
        assert!(chain.encode_bytes(b"abc", &mut CodecScratch::default(), &mut Vec::new()).is_err());
    }
}

#[test]
fn every_bit_flip_is_an_error_or_honest_bytes() {
    let bytes: Vec<u8> = (0..400_u32).flat_map(|i| (i * i / 7).to_be_bytes()).collect();
    let mut scratch = CodecScratch::default();
    let mut out = vec![0; bytes.len()];
    let lzma = StageSpec::from(Lzma::for_elements(1, 1 << 16));
    for codec in [StageSpec::lz4(1), StageSpec::gzip(6), lzma] {
        let bits = StageSpec::bitshuffle(4, 0);
        let chain = bind(vec![bits, codec]);
        let mut payload = Vec::new();
        chain.encode_bytes(&bytes, &mut scratch, &mut payload).unwrap();
        for n in 0..payload.len() {
            assert!(chain.decode_bytes(&payload[..n], &mut scratch, &mut out).is_err(), "{chain}: {n}");
        }
        for bit in 0..payload.len() * 8 {
            payload[bit / 8] ^= 1 << (bit % 8);
            let done = chain.decode_bytes(&payload, &mut scratch, &mut out);
            // Gzip has a checksum of its own; some bits of its header, and its padding, mean nothing.
            let checked = chain.spec().0[1].id() == "gzip";
            assert!(done.is_err() || !checked || out == bytes, "{chain}: bit {bit}");
            payload[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn known_ids_with_other_keys_are_kept_as_they_are_and_only_their_tiles_unreadable() {
    for odd in [
        r#"{"id":"shuffle"}"#,
        r#"{"elementsize":0,"id":"shuffle"}"#,
        r#"{"elementsize":4.0,"id":"shuffle"}"#,
        r#"{"elementsize":4294967296,"id":"shuffle"}"#,
        r#"{"elementsize":4,"id":"shuffle","x":1}"#,
        r#"{"id":"zstd"}"#,
        r#"{"id":"zstd","level":"3"}"#,
        r#"{"id":"zstd","level":2147483648}"#,
        r#"{"checksum":true,"id":"zstd","level":3}"#,
        r#"{"id":"zlib"}"#,
        r#"{"id":"zlib","level":10}"#,
        r#"{"id":"zlib","level":-1}"#,
        r#"{"id":"gzip","level":10}"#,
        r#"{"id":"lz4"}"#,
        r#"{"check":-1,"filters":null,"format":1,"id":"lzma","preset":6}"#,
        r#"{"acceleration":4294967296,"id":"lz4"}"#,
        r#"{"elementsize":4,"id":"bitshuffle"}"#,
        r#"{"blocksize":12,"elementsize":4,"id":"bitshuffle"}"#,
        r#"{"blocksize":0,"elementsize":0,"id":"bitshuffle"}"#,
    ] {
        let text = format!("[[],[{odd}]]");
        let chains = chains_from_json(text.as_bytes(), &Limits::default()).unwrap();
        assert!(Registry::default().bind(chains[1].clone()).unsupported().is_some(), "{odd}");
        assert_eq!(chains_to_json(&chains), text);
        let mut scratch = CodecScratch::default();
        let e =
            Registry::default().bind(chains[1].clone()).decode_bytes(b"", &mut scratch, &mut []).unwrap_err();
        assert!(e.is_unsupported() && e.to_string().contains(odd), "{e}");
    }
}

#[test]
fn unknown_parameters_of_the_numeric_codec_are_unsupported_and_named() {
    let stage = |json: &str| StageSpec::from_value(serde_json::from_str(json).unwrap()).unwrap();
    for odd in [
        r#"{"id":"nc3z.num","x":1}"#,
        r#"{"dict":-1,"id":"nc3z.num"}"#,
        r#"{"dict":1,"id":"nc3z.num","x":1}"#,
    ] {
        let chain = bind(vec![stage(odd)]);
        let shape = TileShape { ty: crate::NcType::Int, geometry: crate::tile::Geometry::new(&[]) };
        let e =
            chain.decode_tile(b"", &shape, &Dependencies::default(), &mut CodecScratch::default(), &mut []);
        let e = e.unwrap_err();
        assert!(e.is_unsupported() && e.to_string().contains(odd), "{e}");
    }
    let needs = |stage| bind(vec![stage]).needs().dictionary;
    assert_eq!((needs(StageSpec::num(Some(3))), needs(StageSpec::num(None))), (Some(3), None));
}

#[test]
fn the_numeric_codec_codes_tiles_only_and_stands_alone() {
    let mut scratch = CodecScratch::default();
    for stages in [vec![StageSpec::num(None)], vec![StageSpec::shuffle(4), StageSpec::num(None)]] {
        let chain = bind(stages);
        let e = chain.decode_bytes(b"abcd", &mut scratch, &mut [0; 4]).unwrap_err();
        assert!(e.is_unsupported() && e.to_string().contains("nc3z.num"), "{e}");
        assert!(chain.encode_bytes(b"abcd", &mut scratch, &mut Vec::new()).unwrap_err().is_unsupported());
    }
}

/// A filter that puts a byte in front: what a checksum would be.
struct Prefix;

impl Stage for Prefix {
    fn decode_into(&self, input: &[u8], _: &mut crate::codec::Contexts, out: &mut [u8]) -> Result<()> {
        match input.split_first() {
            Some((b'!', rest)) if rest.len() == out.len() => out.copy_from_slice(rest),
            _ => return Err(Error::corrupt("prefix", None, "first byte", "!", "another")),
        }
        Ok(())
    }

    fn encode(&self, input: &[u8], _: &mut crate::codec::Contexts, out: &mut Vec<u8>) -> Result<()> {
        out.push(b'!');
        out.extend_from_slice(input);
        Ok(())
    }

    fn encoded_len(&self, decoded_len: usize) -> Option<usize> {
        decoded_len.checked_add(1)
    }
}

impl crate::codec::StageKind for Prefix {
    fn id(&self) -> &'static str {
        "prefix"
    }

    fn example(&self) -> &'static str {
        r#"{"id":"prefix"}"#
    }

    fn bind(&self, _: &StageSpec) -> Result<Box<dyn Stage>, String> {
        Ok(Box::new(Prefix))
    }
}

#[test]
fn filters_may_change_the_length_wherever_they_stand() {
    let registry = Registry::default().with(Prefix);
    let prefix = || StageSpec::new::<&str>("prefix", []);
    let bytes = b"0123456789abcdef";
    let mut scratch = CodecScratch::default();
    for stages in [
        vec![prefix()],
        vec![prefix(), StageSpec::zstd(1)],
        vec![StageSpec::shuffle(4), prefix()],
        vec![prefix(), StageSpec::shuffle(4), prefix(), prefix(), StageSpec::zlib(1)],
    ] {
        let chain = registry.bind(ChainSpec(stages));
        let (mut payload, mut back) = (Vec::new(), [0; 16]);
        chain.encode_bytes(bytes, &mut scratch, &mut payload).unwrap();
        chain.decode_bytes(&payload, &mut scratch, &mut back).unwrap();
        assert_eq!(&back, bytes, "{chain}");
        assert!(chain.decode_bytes(&payload, &mut scratch, &mut back[..15]).is_err(), "{chain}");
        payload.push(0);
        assert!(chain.decode_bytes(&payload, &mut scratch, &mut back).is_err(), "{chain}");
    }
    assert!(Registry::empty().get("zstd").is_none() && registry.ids().any(|id| id == "prefix"));
}

#[test]
fn chains_are_shared_between_threads() {
    fn shared<T: Send + Sync + Clone>() {}
    shared::<Chain>();
    shared::<Registry>();
}

#[test]
fn a_tile_is_coded_against_an_older_one_of_any_length() {
    let old: Vec<u8> = (0..6000_u32).flat_map(|i| (i * i).to_be_bytes()).collect();
    let stored = IndexEntry::Stored { offset: 160, len: 9, chain: 1, check: 7 };
    let packed = IndexEntry::Shared { offset: 160, start: 9, len: 10, chain: 1, check: 7 };
    let named = |entry| OlderTile { entry, array: ArrayId::variable(7), tile: 300, decoded_len: 24_000 };
    let older = [named(stored), named(packed)];
    let shape = TileShape { ty: NcType::Int, geometry: Geometry::new(&[6, 1000]) };
    let mut scratch = CodecScratch::default();
    let rests = [
        vec![StageSpec::zstd(3)],
        vec![StageSpec::shuffle(4), StageSpec::zstd(3)],
        vec![StageSpec::num(None)],
        vec![],
    ];
    for (rest, older) in rests.into_iter().flat_map(|rest| older.map(|o| (rest.clone(), o))) {
        let chain = bind([vec![StageSpec::base()], rest.clone()].concat());
        assert!(chain.needs().base && chain.unsupported().is_none(), "{chain}");
        for len in [4, 20_000, 24_000, 28_000] {
            let mut new: Vec<u8> = old.iter().copied().chain(std::iter::repeat(3)).take(len).collect();
            new[2] ^= 5;
            let difference: Vec<u8> =
                new.iter().zip(old.iter().chain(std::iter::repeat(&0))).map(|(a, b)| a ^ b).collect();
            let mut payload = older.encode();
            match &rest[..] {
                [stage] if stage.id() == "nc3z.num" => {
                    let coder = TileCoder::Num(&EncodePlan::default());
                    encode_tile(coder, &difference, &shape, &mut scratch, &mut payload).unwrap();
                }
                _ => bind(rest.clone()).encode_bytes(&difference, &mut scratch, &mut payload).unwrap(),
            }
            assert_eq!(chain.older_tile(&payload).unwrap(), Some(older));
            let mut out = vec![0; len];
            let given = Dependencies::default().with_base(Some(&old));
            chain.decode_tile(&payload, &shape, &given, &mut scratch, &mut out).unwrap();
            assert_eq!(out, new, "{chain}");
            let none = Dependencies::default();
            assert!(chain.decode_tile(&payload, &shape, &none, &mut scratch, &mut out).is_err());
            for n in (0..payload.len().min(200)).chain([payload.len() - 1]) {
                assert!(
                    chain.decode_tile(&payload[..n], &shape, &given, &mut scratch, &mut out).is_err(),
                    "{n}"
                );
            }
        }
    }
}

#[test]
fn what_may_stand_behind_a_base() {
    let num = StageSpec::num(None);
    for bad in [
        vec![StageSpec::num(Some(0))],
        vec![num.clone().against(1)],
        vec![StageSpec::shuffle(4), num.clone()],
        vec![num, StageSpec::zstd(1)],
        vec![StageSpec::base()],
        vec![StageSpec::zstd(1), StageSpec::new::<&str>("packbits", [])],
    ] {
        let chain = bind([vec![StageSpec::base()], bad].concat());
        assert!(chain.unsupported().is_some(), "{chain}");
    }
    for bad in [StageSpec::base().with("of", "any"), StageSpec::base().with("more", 1)] {
        assert!(bind(vec![bad, StageSpec::zstd(1)]).unsupported().is_some());
    }
    assert!(bind(vec![StageSpec::shuffle(4), StageSpec::base()]).unsupported().is_some());
    // No bytes of our own making, such as containers.
    let chain = bind(vec![StageSpec::base(), StageSpec::zstd(1)]);
    assert!(chain.decode_bytes(&[0; 40], &mut CodecScratch::default(), &mut [0; 4]).is_err());
    assert!(chain.encode_bytes(&[0; 40], &mut CodecScratch::default(), &mut Vec::new()).is_err());
    for entry in [IndexEntry::Absent, IndexEntry::Constant { value: [1; 8] }] {
        assert!(chain.older_tile(&entry.encode()).is_err());
    }
    assert_eq!(bind(vec![StageSpec::zstd(1)]).older_tile(&[]).unwrap(), None);
}
