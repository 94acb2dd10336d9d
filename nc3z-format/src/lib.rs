//! The classic netCDF formats and the nc3z archive format as pure values: bytes in, values out.
//!
//! No files, threads, clocks or `unsafe` here. Any bytes may be given to any parser: the answer is a value or an
//! [`Error`], never a panic, and memory stays proportional to the input and [`Limits`].
//!
//! ```text
//!  0   superblock   head copy   blocks ...   sections   section table   trailer   end
//! ```

pub mod archive;
pub mod arrays;
pub mod bytes;
pub mod cdl;
pub mod classic;
pub mod codec;
pub mod digest;
pub mod error;
pub mod flat;
pub mod limits;
pub mod num;
pub mod parity;
pub mod plan;
pub mod quantize;
pub mod select;
pub mod tile;
pub mod types;

pub use error::{Error, ErrorKind, Location, Result};
pub use limits::Limits;
pub use plan::Plan;
pub use select::Hyperslab;
pub use tile::{TileLayout, Tiling};
pub use types::NcType;
