//! The two notations of a chain that others use: HDF5's filter ids with their parameters, and NumCodecs' JSON with Zarr's split into
//! filters and a compressor. A stage that a notation cannot express is an error, which names the stage.

mod constants;
mod hdf5;
mod numcodecs;

pub(super) use hdf5::missing_plugin;
pub use hdf5::{HDF5_ID, Hdf5Filter, hdf5_filter_name};
pub use numcodecs::zarr_v2;
pub(super) use numcodecs::{canonical, stages_of};
