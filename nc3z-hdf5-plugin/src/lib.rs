//! The numeric codec `nc3z.num` as a filter plug-in of HDF5, and as a codec of netCDF-C's NCZarr in the same library.
//!
//! HDF5 gives a filter bytes and its parameters, nothing else. What the codec must know of a chunk, its type and shape, `set_local` takes
//! from HDF5 when a dataset is made, and stores as parameters ([`Parameters`]). Reading needs those alone: no HDF5 function is called.
//!
//! The payload of a chunk is that of `spec/num.md`, without dictionary and reference: every chunk is chosen a plan for by itself.
//! The CRC-32 of the payload follows it, in little-endian order, unless that is left out: a payload may decode to other numbers where a
//! bit of it is flipped.

mod codec;
mod ffi;
mod parameters;

pub use codec::{decode, encode};
pub use parameters::{FILTER_ID, NAME, Parameters, Wanted};
