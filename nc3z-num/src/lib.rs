//! The numeric codec `nc3z.num`: encodes numbers into a small payload, and decodes it; pure functions.
//!
//! This crate is an unstable part of the crate `nc3z`. Programs use `nc3z`: this interface may change with any version.
//!
//! Stages: a mask removes one bit pattern; a transform undoes quantisation; another tile (the reference) and
//! differences along delta axes predict; a residual codec stores the remaining differences. All decisions of a tile
//! are in its payload, whose layout is in spec/num.md. Any bytes may be decoded: the result is an error or exactly
//! the requested elements, in time and memory proportional to both. The caller verifies checksums and swaps bytes.
//!
//! ```
//! use nc3z_num::{Effort, ElementType, Geometry, Scratch, choose, decode, encode};
//!
//! // 20 rows of 50 temperatures with one decimal; the codec sees the bit patterns.
//! let field: Vec<u32> = (0..1000u16).map(|i| (f32::from(2731 + i % 50 + i / 50) / 10.0).to_bits()).collect();
//! let geometry = Geometry::new(&[20, 50]);
//!
//! // Rank plans by samples of the array's tiles, of which there is one here; then encode each tile by the best.
//! let plans = choose(&[&field], ElementType::F32, &geometry, Effort::Default, &[])?.plans;
//! let mut scratch = Scratch::new();
//! let mut payload = Vec::new();
//! encode(&field, ElementType::F32, &geometry, &plans[0], &mut scratch, &mut payload)?;
//! assert!(payload.len() < 100, "{} bytes of 4000", payload.len());
//!
//! // A payload contains everything except the type, the geometry and the number of elements.
//! let mut decoded = vec![0; field.len()];
//! decode(&payload, ElementType::F32, &geometry, None, &mut scratch, &mut decoded)?;
//! assert_eq!(decoded, field);
//! # Ok::<(), nc3z_num::Error>(())
//! ```
//!
//! Features: `encode` (on by default) contains the encoder, the chooser of plans and the builder of dictionaries; a
//! reader links only the decoder. `zstd` (on by default) links the C library; `ruzstd` decodes zstd frames in Rust
//! if the C library is not built. Without both, payloads with zstd frames are [`Error::Unsupported`].

#[cfg(target_arch = "x86_64")]
mod avx2;
mod bits;
#[cfg(feature = "encode")]
mod choose;
mod ctx;
mod definition;
mod delta;
mod dictionary;
mod element;
#[cfg(feature = "encode")]
mod encode;
mod entry;
mod error;
mod exceptions;
mod frame;
mod geometry;
mod lorenzo;
mod mask;
mod mix;
mod payload;
mod planes;
mod reference;
mod running_sums;
mod scale_offset;
mod scratch;
#[doc(hidden)]
mod transform;
mod word;
mod zstd_frame;
mod zstd_table;

#[cfg(test)]
#[cfg(feature = "encode")]
mod lorenzo_tests;
#[cfg(test)]
#[cfg(feature = "encode")]
mod mutation_tests;
#[cfg(test)]
#[cfg(feature = "encode")]
mod reference_tests;
#[cfg(test)]
#[cfg(feature = "encode")]
mod tests;

#[cfg(feature = "encode")]
pub use choose::{Against, Candidates, Effort, Extent};
pub use dictionary::{Dictionary, MAX_DICTIONARY};
pub use element::ElementType;
#[cfg(feature = "encode")]
pub use encode::{Coder, DictionaryBuilder, EncodePlan, Shape, TransformPlan};
pub use entry::{Width, decode, decode_against};
#[cfg(feature = "encode")]
pub use entry::{choose, choose_reference, choose_with, encode, encode_against};
pub use error::{Error, Result};
pub use geometry::{DeltaAxes, Geometry};
pub use payload::MAX_ELEMENTS;
pub use reference::convert;
pub use scale_offset::ScaleOffset;
pub use scratch::Scratch;
pub use word::{Pool, Word};
pub use zstd_frame::ZstdFrame;
pub use zstd_table::zstd_hash_log;
