//! Chains: what turns a tile's bytes into a block's payload and back.
//!
//! A chain is stored as JSON in NumCodecs' notation ([`ChainSpec`]). A [`Registry`] binds it, once, to what runs it ([`Chain`]):
//! byte filters and a codec ([`Stage`]), or the numeric codec. A new stage is a file here and a line in `registry.rs`, or
//! a [`StageKind`] that a caller adds.
//!
//! Files, each using only those before it: `spec`, `stage`, the stages, `registry`, `scratch`, `tile`, `chain`, `wanted`.

#[cfg(feature = "bitshuffle")]
mod bitshuffle;
#[cfg(feature = "blosc")]
mod blosc;
#[cfg(feature = "bz2")]
mod bz2;
mod chain;
mod chain_request;
mod checksum;
mod delta;
mod dtype;
mod fixed_scale_offset;
mod lossy;
#[cfg(feature = "lz4")]
mod lz4;
#[cfg(feature = "lz4")]
mod lz4h5;
mod lzf;
mod lzma;
mod matches;
mod needs;
mod notation;
mod numeric_tile;
mod older;
mod packbits;
#[cfg(feature = "pcodec")]
mod pcodec;
mod registry;
mod scratch;
mod shuffle;
mod spec;
mod stage;
#[cfg(feature = "zlib")]
mod zlib;
mod zstd;

pub use chain::Chain;
#[cfg(feature = "encode")]
pub use chain::{TileCoder, encode_tile};
pub use chain_request::ChainRequest;
pub use lzma::{Lzma, decode_lzma, is_lzma2, lzma2_len};
#[cfg(all(feature = "lzma", feature = "encode"))]
pub use lzma::{encode_lzma, lzma_shares};
pub use needs::Needs;
pub use notation::{HDF5_ID, Hdf5Filter, hdf5_filter_name, zarr_v2};
#[cfg(feature = "encode")]
pub use numeric_tile::encode_dictionary;
pub use numeric_tile::{Dependencies, ReferenceTile, TileShape, decode_dictionary, patterns_of, words_of};
pub use older::OlderTile;
pub use registry::Registry;
pub use scratch::CodecScratch;
pub use shuffle::{shuffle, unshuffle};
pub use spec::{ChainSpec, StageSpec, chains_from_json, chains_to_json};
pub use stage::{Contexts, Stage, StageKind};
#[cfg(feature = "zstd")]
pub use zstd::zstd_len_within;
pub use zstd::{
    ZstdDictionary, decode_zstd_frame, decode_zstd_frame_after, decode_zstd_frame_after_within,
    decode_zstd_frame_with, encode_zstd_frame, encode_zstd_frame_after, encode_zstd_frame_with,
};
