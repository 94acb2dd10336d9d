//! Arguments of `info`.

use super::OpenArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Arguments of `info`.
#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// Archives and classic netCDF files.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Machine-readable output; for several files, a list.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
    /// Also show each variable's chains in HDF5's notation (`2,4|32015,9`) or in NumCodecs' JSON, divided as
    /// in Zarr.
    #[arg(long, value_enum, value_name = "NOTATION")]
    pub(crate) notation: Option<NotationArg>,
    /// Also list the versions of an archive.
    #[arg(long)]
    pub(crate) versions: bool,
    /// Show where each byte is stored: the sections and tiles of an archive, and the places of the original.
    #[arg(long, conflicts_with_all = ["notation", "versions"])]
    pub(crate) layout: bool,
}

/// The notation of chains in other programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NotationArg {
    /// Numbers of filters with their parameters.
    Hdf5,
    /// NumCodecs' objects.
    Json,
}
