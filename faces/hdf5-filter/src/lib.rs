//! The numeric codec `nc3z.num` as a filter plug-in of HDF5, and as a codec of netCDF-C's NCZarr in the same library.
//!
//! HDF5 passes only bytes and parameters to a filter. The codec also needs the type and shape of a chunk.
//! `set_local` gets them from HDF5 when a dataset is created, and stores them as parameters ([`Parameters`]).
//! Reading needs only these: no HDF5 function is called.
//!
//! The payload of a chunk is that of `spec/num.md`, without dictionary and reference: the plan is chosen for
//! every chunk independently. The CRC-32 of the payload follows, in little-endian order, unless it is
//! disabled: without it, a flipped bit in a payload may decode to other numbers.

mod codec;
mod ffi;
mod parameters;

pub use codec::{decode, encode};
pub use parameters::{FILTER_ID, NAME, Parameters, RequestedParameters};
