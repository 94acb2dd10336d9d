//! Chains: what turns a tile's bytes into a block's payload and back.
//!
//! A chain is stored as JSON in NumCodecs' notation ([`ChainSpec`]); `registry.rs` knows what each object does. Byte
//! stages implement [`ByteStage`]; a new one is a file here and a line in the registry.

mod bitshuffle;
mod chain;
mod lz4;
mod lzma;
mod registry;
mod shuffle;
mod tile;
mod wanted;
mod zlib;
mod zstd;

pub use chain::{ChainSpec, StageSpec, chains_from_json, chains_to_json};
pub use lzma::{Lzma, lzma_shares};
pub use registry::{ByteStage, decode_bytes, encode_bytes};
pub use shuffle::{shuffle, unshuffle};
pub use tile::{TileCoder, TileShape, decode_tile, dictionary_number, encode_tile, words_of};
pub use wanted::WantedChain;
pub use zstd::{
    ZstdDictionary, decode_zstd_frame, decode_zstd_frame_with, encode_zstd_frame, encode_zstd_frame_with,
};

/// Contexts and buffers that outlive one call; one for each thread.
#[derive(Default)]
pub struct Scratch {
    contexts: registry::Contexts,
    /// Buffers between the stages of a chain.
    between: [Vec<u8>; 2],
    num: crate::num::Scratch,
    words: crate::num::Pool,
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}
