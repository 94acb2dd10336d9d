//! Chains as a user writes them.

use nc3z_format::NcType;
use nc3z_format::codec::{ChainRequest, ChainSpec, CodecScratch, Registry, zarr_v2};

/// Upper limit of the input, in bytes: the slowest level must end in time.
const CONTENT: usize = 96;

/// A byte chooses a type; the rest is a chain in HDF5's notation, in NumCodecs' JSON or as Zarr splits it. An accepted chain is printed in
/// both notations, which must parse to the same chain, and it must decode its own output.
pub fn chain_text(data: &[u8]) {
    let Some((&ty, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let ty = NcType::ALL[usize::from(ty) % NcType::ALL.len()];
    let registry = Registry::default();
    let Ok(wanted) = ChainRequest::parse(text) else { return };
    let Ok(chain) = wanted.bind(ty, &registry) else { return };
    reread(&chain, ty, &registry);
    roundtrip(&chain, data, ty, &registry);
}

/// Checks that the printed text of a chain parses to a chain with the same text.
fn reread(chain: &ChainSpec, ty: NcType, registry: &Registry) {
    let bind = |text: &str| {
        ChainRequest::parse(text)
            .and_then(|wanted| wanted.bind(ty, registry))
            .unwrap_or_else(|e| panic!("{text}, printed of {chain}: {e}"))
    };
    if let Ok(filters) = chain.to_hdf5() {
        let text = filters.iter().map(ToString::to_string).collect::<Vec<_>>().join("|");
        let again = bind(&text).to_hdf5().expect("it has been said in HDF5's notation");
        assert_eq!(again, filters, "{text}");
    }
    if let Ok(stages) = chain.to_numcodecs() {
        let text = format!("[{}]", stages.iter().map(ToString::to_string).collect::<Vec<_>>().join(","));
        let again = bind(&text).to_numcodecs().expect("it has been said in NumCodecs' notation");
        assert_eq!(again, stages, "{text}");
        let split = zarr_v2(stages.clone()).to_string();
        assert_eq!(bind(&split).to_numcodecs().ok(), Some(stages), "{split}");
    }
    let stored = chain.to_string();
    assert_eq!(bind(&stored), *chain, "{stored}");
}

/// Checks that the chain decodes its own output, and to the same bytes unless it rounds.
fn roundtrip(chain: &ChainSpec, data: &[u8], ty: NcType, registry: &Registry) {
    let rounds = chain.rounding(registry).expect("the chain was bound").is_some();
    let mut content: Vec<u8> = data.iter().copied().cycle().take(CONTENT).collect();
    content.truncate(CONTENT / ty.size() * ty.size());
    let bound = registry.bind(chain.clone());
    let (mut scratch, mut stored) = (CodecScratch::default(), Vec::new());
    if bound.is_numeric() || bound.encode_bytes(&content, &mut scratch, &mut stored).is_err() {
        return;
    }
    let mut back = vec![0; content.len()];
    bound.decode_bytes(&stored, &mut scratch, &mut back).unwrap_or_else(|e| panic!("{chain}: {e}"));
    assert!(rounds || back == content, "{chain}: other bytes");
}
