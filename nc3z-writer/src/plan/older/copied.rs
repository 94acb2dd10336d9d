//! Chooses the encoding of a tile that is copied from an archive without the older tile that it is coded against.

use crate::encode::Form;
use crate::scratch::with_scratch;
use nc3z_format::archive::ArrayId;
use nc3z_format::codec::{Chain, StageSpec};
use nc3z_reader::Archive;

/// True for a chain whose tiles are differences to older tiles.
pub(crate) fn is_coded_against_older(archive: &Archive, chain: u16) -> bool {
    archive.chains().get(usize::from(chain)).is_some_and(|chain| chain.needs().base)
}

/// Decodes a tile, and encodes it with the best of the archive's chains of byte planes and zstd, or stores it as it
/// is. The new archive has the chains of the old one and no others.
pub(crate) fn without_older(archive: &Archive, array: ArrayId, tile: u64) -> nc3z_reader::Result<Form> {
    let bytes = archive.read_tile(array, tile)?;
    let size = archive.arrays().get(array).map_or(1, |info| info.ty.size());
    let shuffled = [StageSpec::shuffle(size).id().to_owned(), StageSpec::zstd(0).id().to_owned()];
    let fits = |chain: &&Chain| {
        let ids = chain.spec().0.iter().map(StageSpec::id);
        let element =
            chain.spec().0.first().and_then(|s| s.get("elementsize")).and_then(serde_json::Value::as_u64);
        chain.spec().is_zstd()
            || (ids.eq(shuffled.iter().map(String::as_str)) && element == Some(size as u64))
    };
    let mut best = Form::Block { chain: 0, payload: bytes.clone() };
    for (number, chain) in (0u16..).zip(archive.chains()).filter(|(_, chain)| fits(chain)) {
        let mut made = Vec::new();
        with_scratch(|scratch| chain.encode_bytes(&bytes, scratch, &mut made))?;
        if let Form::Block { payload, .. } = &best
            && made.len() < payload.len()
        {
            best = Form::Block { chain: number, payload: made };
        }
    }
    Ok(best)
}
