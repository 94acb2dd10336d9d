//! Chunks that HDF5's plug-ins and NumCodecs made (`spec/vectors/make_filters.py`), of all types and ragged lengths, decoded as a program
//! does that has them from `h5py`'s `read_direct_chunk`.

#![cfg(feature = "codecs")]

use nc3z_format::NcType;
use nc3z_format::codec::{ChainRequest, CodecScratch, Dependencies, Registry, TileShape, chains_from_json};
use nc3z_format::limits::Limits;
use nc3z_format::tile::Geometry;
use serde_json::Value;

const VECTORS: &str = include_str!("../../spec/vectors/filters.json");
/// Rules of chains that a library may see otherwise (`spec/vectors/make_chains.py`).
const CHAINS: &str = include_str!("../../spec/vectors/chains.json");

fn type_of(name: &str) -> NcType {
    NcType::ALL.into_iter().find(|ty| ty.name() == name).expect("a type of netCDF")
}

/// Number i is 5 + (i / 3) % 4.
fn chunk(ty: NcType, count: usize) -> Vec<u8> {
    let number = |i: usize| 5 + u8::try_from(i / 3 % 4).expect("less than 4");
    let numbers = (0..count).map(number);
    match ty {
        NcType::Float => numbers.flat_map(|n| f32::from(n).to_be_bytes()).collect(),
        NcType::Double => numbers.flat_map(|n| f64::from(n).to_be_bytes()).collect(),
        _ => numbers.flat_map(|n| std::iter::repeat_n(0, ty.size() - 1).chain([n])).collect(),
    }
}

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .as_chunks::<2>()
        .0
        .iter()
        .map(|pair| {
            u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hexadecimal digits")
        })
        .collect()
}

#[test]
fn chunks_of_others_are_decoded_and_ours_come_back() {
    let vectors: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
    assert!(vectors.len() > 300, "{}", vectors.len());
    let (registry, mut scratch) = (Registry::default(), CodecScratch::default());
    for vector in &vectors {
        let ty = type_of(vector["type"].as_str().unwrap());
        let expected = chunk(ty, usize::try_from(vector["count"].as_u64().unwrap()).unwrap());
        let payload = unhex(vector["bytes"].as_str().unwrap());
        // HDF5's as the user wrote it, and with what HDF5 stored in the file.
        for text in
            [vector["chain"].as_str(), vector.get("stored").and_then(Value::as_str)].into_iter().flatten()
        {
            let chain = registry.bind(ChainRequest::parse(text).unwrap().bind(ty, &registry).unwrap());
            let mut out = vec![0; expected.len()];
            chain.decode_bytes(&payload, &mut scratch, &mut out).unwrap_or_else(|e| panic!("{vector}: {e}"));
            assert_eq!(out, expected, "{vector}");
            let (mut ours, mut back) = (Vec::new(), vec![0; expected.len()]);
            chain.encode_bytes(&expected, &mut scratch, &mut ours).unwrap();
            chain.decode_bytes(&ours, &mut scratch, &mut back).unwrap();
            assert_eq!(back, expected, "{vector}");
            // Damage is an error, or other bytes; a cut is always an error.
            for at in 0..payload.len().min(64) {
                let mut damaged = payload.clone();
                damaged[at] ^= 0x55;
                let _ = chain.decode_bytes(&damaged, &mut scratch, &mut out);
                assert!(
                    chain.decode_bytes(&payload[..at], &mut scratch, &mut out).is_err(),
                    "{vector}: {at}"
                );
            }
        }
    }
}

#[test]
fn chains_decode_as_the_specification_says() {
    let vectors: Vec<Value> = serde_json::from_str(CHAINS).unwrap();
    assert!(vectors.len() > 40, "{}", vectors.len());
    let (registry, mut scratch) = (Registry::default(), CodecScratch::default());
    for vector in &vectors {
        let what = vector["what"].as_str().unwrap();
        let json = serde_json::to_vec(&[&vector["chain"]]).unwrap();
        let spec = chains_from_json(&json, &Limits::default()).unwrap().remove(0);
        let chain = registry.bind(spec);
        let mut out = vec![0; usize::try_from(vector["length"].as_u64().unwrap()).unwrap()];
        let payload = unhex(vector["payload"].as_str().unwrap());
        let done = match vector.get("older").map(|older| unhex(older.as_str().unwrap())) {
            None => chain.decode_bytes(&payload, &mut scratch, &mut out),
            Some(older) => {
                let shape = TileShape { ty: NcType::Byte, geometry: Geometry::new(&[]) };
                let given = Dependencies::default().with_base(Some(&older));
                chain.decode_tile(&payload, &shape, &given, &mut scratch, &mut out)
            }
        };
        match vector.get("refused").and_then(Value::as_str) {
            None => {
                done.unwrap_or_else(|e| panic!("{what}: {e}"));
                assert_eq!(out, unhex(vector["decoded"].as_str().unwrap()), "{what}");
            }
            Some("unknown") => assert!(chain.unsupported().is_some() && done.is_err(), "{what}"),
            Some(_) => assert!(done.unwrap_err().is_corrupt(), "{what}"),
        }
    }
}
