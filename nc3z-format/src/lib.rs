//! The classic netCDF formats and the nc3z archive format as pure values: bytes in, values out.
//!
//! This crate is an unstable part of the crate `nc3z`. Programs use `nc3z`: this interface may change with any version.
//!
//! No files, threads, clocks or `unsafe` here. Any bytes may be given to any parser: the answer is a value or an
//! [`Error`], never a panic, and memory stays proportional to the input and [`Limits`].
//!
//! ```text
//!  0   superblock   head copy   blocks ...   sections   section table   trailer   end
//! ```
//!
//! # What is here, and how stable it is
//!
//! Most programs want the crates `nc3z-reader` and `nc3z-writer`, which do the input and output. The
//! following parts of this crate stay compatible from one minor version to the next. They are for reading
//! headers, planning reads and adding codecs:
//! - [`classic`]: [`parse`](classic::parse()) a header, [`Layout`](classic::Layout) for the place of every
//!   part, [`NcType`];
//! - [`Hyperslab`], [`TileLayout`], [`Tiling`], [`Plan`]: the tiles that a read touches, and the elements
//!   copied from each;
//! - [`codec`]: [`ChainSpec`](codec::ChainSpec), [`Registry`](codec::Registry), [`Chain`](codec::Chain) and
//!   the traits of filters and codecs;
//! - [`Error`], [`Limits`].
//!
//! The rest ([`archive`], [`parity`], [`digest`], [`cdl`], [`quantize`], …) is public for the other crates of this
//! repository and follows the archive format; its Rust names may change.
//!
//! ```
//! use nc3z_format::classic::{Layout, parse};
//! use nc3z_format::{Hyperslab, Limits, NcType, Plan, TileLayout};
//!
//! // netcdf { dimensions: x = 3; variables: short v(x); }, and its data.
//! let header = b"CDF\x01\0\0\0\0\0\0\0\x0a\0\0\0\x01\0\0\0\x01x\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\
//!     \0\0\0\x0b\0\0\0\x01\0\0\0\x01v\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\x08\0\0\0\x50";
//! let file = [&header[..], &[0, 1, 0, 2, 0, 3, 0, 0]].concat();
//!
//! let parsed = parse(&file, file.len() as u64, &Limits::default())?;
//! let (id, _) = parsed.header.variable(b"v").expect("it is there");
//! let layout = Layout::new(&parsed.header, parsed.header_len, file.len() as u64)?;
//! let place = layout.variable(id).expect("every variable has a place");
//! assert_eq!((place.ty, place.present), (NcType::Short, 3));
//!
//! // The last two elements, backwards, of an array that is cut into tiles of two.
//! let slab = Hyperslab::new([2], [2], [-1])?;
//! let plan = Plan::new(&[3], &TileLayout::linear(2), &slab)?;
//! let touched: Vec<u64> = plan.tiles().map(|tile| tile.tile).collect();
//! assert_eq!((plan.selected(), touched), (2, vec![0, 1]));
//! # Ok::<(), nc3z_format::Error>(())
//! ```
//!
//! # Features
//!
//! `codecs` (on by default) has every codec; each is a feature too, so that a program leaves out what it does not read: `zlib`
//! (and gzip), `lz4`, `bitshuffle` are Rust, `zstd` and `lzma` link C libraries. Without a C compiler, `ruzstd` and
//! `lzma-rs` decode those two in Rust, several times slower. A chain whose codec was left out is reported with the feature that has
//! it, and only its tiles are unreadable; heads and sections of archives need one of the two zstd features. `encode` (on by
//! default) adds the encoders.

/// The version of nc3z. This crate, like all parts of `nc3z`, has a version of its own.
macro_rules! version {
    () => {
        "0.1.0"
    };
}
/// The version of nc3z: of the tool, the crate `nc3z`, the Python package and the C library.
pub const VERSION: &str = version!();
/// The name of this program in archives, logs and pages.
pub const SOFTWARE: &str = concat!("nc3z ", version!());

pub mod archive;
pub mod array;
pub mod array_table;
pub mod bytes;
pub mod cdl;
pub mod classic;
pub mod codec;
pub mod coordinates;
pub mod damage;
pub mod decode_value;
pub mod digest;
pub mod double_double;
pub mod error;
pub mod json;
pub mod limits;
pub mod names;
pub mod parity;
pub mod plan;
pub mod quantize;
pub mod selection;
pub mod spelling;
pub mod tile;
pub mod types;
pub mod units;
pub mod url;

pub use error::{Error, ErrorKind, Location, Result};
pub use limits::Limits;
pub use nc3z_num as num;
pub use plan::Plan;
pub use selection::Hyperslab;
pub use tile::{TileLayout, Tiling};
pub use types::NcType;
