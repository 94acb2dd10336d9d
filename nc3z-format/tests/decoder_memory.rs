//! What decoders ask memory for: the tile that was declared, whatever the payload claims to hold.
//!
//! Memory of the C libraries (zstd's and liblzma's contexts) is not counted here; `tests/test_limits.py` measures whole processes.

#![cfg(feature = "codecs")]

use nc3z_format::NcType;
use nc3z_format::codec::{Chain, ChainRequest, CodecScratch, Dependencies, Registry, TileShape};
use nc3z_format::tile::Geometry;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Bytes of the declared tile.
const TILE: usize = 64 << 10;
/// What a decoder may hold beside it: copies of the tile between the filters of a chain, and tables of its own, of which bzip2's are the
/// largest (3.6 MB whatever the length).
const MOST: usize = 8 * TILE + (4 << 20);

const CHAINS: &[&str] = &[
    "1,6",
    "2|1,6",
    "307,9",
    "32000",
    "32001,0,0,0,0,5,1,0",
    "32001,0,0,0,0,5,2,1",
    "32001,0,0,0,0,5,1,3",
    "32001,0,0,0,0,5,0,4",
    "32001,0,0,0,0,5,1,5",
    "32004",
    "32004,64",
    "32008,0,2",
    "32008,0,3,3",
    "32015,3",
    "2|32015,3|3",
    "32008,0,2|32000|307,1",
    r#"[{"id":"gzip","level":5}]"#,
    r#"[{"id":"lz4"}]"#,
    r#"[{"id":"lzma","format":3,"check":-1,"preset":null,"filters":[{"id":33,"dict_size":1048576,"lc":2,"lp":2,"pb":2}]}]"#,
    r#"[{"id":"pcodec"}]"#,
    r#"[{"id":"delta"},{"id":"crc32"}]"#,
    r#"[{"id":"fixedscaleoffset","offset":0,"scale":1},{"id":"zlib","level":1}]"#,
    r#"[{"id":"packbits"},{"id":"adler32"}]"#,
    r#"[{"id":"lz4"},{"id":"zstd","level":1},{"id":"lzf"},{"id":"crc32c"}]"#,
];

/// Decodes as a tile of `TILE` bytes; the most memory that was held at once beside what was held before.
fn peak(chain: &Chain, payload: &[u8], ty: NcType, out: &mut [u8]) -> usize {
    let shape = TileShape { ty, geometry: Geometry::default() };
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let _ = chain.decode_tile(payload, &shape, &Dependencies::default(), &mut CodecScratch::default(), out);
    MEMORY.peak_usage() - before
}

/// The payload with each place of its first bytes, and of its last, set to a length of many bytes.
fn claims(payload: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    const WORDS: [&[u8]; 6] = [
        &[0xFF, 0xFF, 0xFF, 0x7F],
        &[0x7F, 0xFF, 0xFF, 0xFF],
        &[0, 0, 0, 0x40],
        &[0x40, 0, 0, 0],
        &[0, 0, 0, 0, 0, 1, 0, 0],
        &[0, 0, 1, 0, 0, 0, 0, 0],
    ];
    let places = (0..payload.len().min(32)).chain(payload.len().saturating_sub(12)..payload.len());
    places.flat_map(move |at| {
        WORDS.into_iter().filter_map(move |word| {
            let mut bad = payload.to_vec();
            bad.get_mut(at..at + word.len())?.copy_from_slice(word);
            Some(bad)
        })
    })
}

/// A tile of numbers that compress.
fn numbers(ty: NcType) -> Vec<u8> {
    let values = (0..TILE / ty.size()).map(|i| i16::try_from(i * i / 900 % 3000).expect("below 3000"));
    match ty {
        NcType::Float => values.flat_map(|n| f32::from(n).to_be_bytes()).collect(),
        NcType::Double => values.flat_map(|n| f64::from(n).to_be_bytes()).collect(),
        _ => values.flat_map(i16::to_be_bytes).collect(),
    }
}

#[test]
fn no_decoder_asks_for_more_than_the_declared_tile() {
    let registry = Registry::default();
    let mut scratch = CodecScratch::default();
    let mut out = vec![0; TILE];
    for ty in [NcType::Short, NcType::Float, NcType::Double] {
        for text in CHAINS {
            let spec = match ChainRequest::parse(text).and_then(|wanted| wanted.bind(ty, &registry)) {
                Ok(spec) => spec,
                Err(e) => panic!("{text}, {ty:?}: {e}"),
            };
            let chain = registry.bind(spec);
            // 256 times the bytes of the tile, all zeros, which compress to a few bytes.
            let mut payload = Vec::new();
            if ty == NcType::Float
                && chain.encode_bytes(&vec![0; TILE << 8], &mut scratch, &mut payload).is_ok()
            {
                let used = peak(&chain, &payload, ty, &mut out);
                assert!(used < MOST + payload.len(), "{text}: {used} bytes for zeros");
            }
            payload.clear();
            // `packbits` takes nothing but 0 and 1.
            let bits: Vec<u8> = (0..TILE).map(|i| u8::from(i % 5 == 0)).collect();
            let taken = chain.encode_bytes(&numbers(ty), &mut scratch, &mut payload);
            taken
                .or_else(|_| chain.encode_bytes(&bits, &mut scratch, &mut payload))
                .unwrap_or_else(|e| panic!("{text}, {ty:?}: {e}"));
            for bad in claims(&payload) {
                let used = peak(&chain, &bad, ty, &mut out);
                assert!(
                    used < MOST + bad.len(),
                    "{text}, {ty:?}: {used} bytes for a payload of {}",
                    bad.len()
                );
            }
        }
    }
}
