//! Arguments of `archive`.

use super::layout::{LayoutArg, parse_chunks, parse_layout};
use super::{parse_size, parse_threads};
use clap::{Args, ValueEnum};
use nc3z_writer::ChunkRequest;
use std::path::PathBuf;

/// How hard to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PresetArg {
    /// Quickest to write and read.
    Fast,
    /// Small, still quick to read.
    Default,
    /// The smallest; writing takes long.
    Max,
}

/// What chunks at the upper edges of an array hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EdgeArg {
    /// Only what is in the array.
    Clip,
    /// The full chunk shape.
    Pad,
}

/// Arguments of `archive`.
#[derive(Debug, Args)]
pub(crate) struct ArchiveArgs {
    /// Classic netCDF files (or directories with --recursive); `-` is standard input.
    #[arg(required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Output file, or a directory where there are several inputs; `-` is standard output. Default: INPUT.nc3z.
    #[arg(short, long)]
    pub(crate) output: Option<PathBuf>,
    /// Trade size against time.
    #[arg(long, value_enum, default_value_t = PresetArg::Default)]
    pub(crate) preset: PresetArg,
    /// Size of a tile before compression [default: 1MiB, 4MiB with --preset max].
    #[arg(long, value_parser = parse_size, value_name = "SIZE")]
    pub(crate) block_size: Option<u64>,
    /// Chunk lengths by dimension, for all variables that have the dimensions named (`time=1,lat=90`) or for one
    /// (`tas:time=1,lat=90`); dimensions not named take their whole length. May be repeated: the last that applies to a variable
    /// counts, one that names it goes first. A backslash takes `:`, `,` or `=` into a name.
    #[arg(long, value_parser = parse_chunks, value_name = "[VAR:]DIM=LENGTH,...")]
    pub(crate) chunk: Vec<ChunkRequest>,
    /// How variables without --chunk are cut into tiles, all (`auto`) or one (`tas=series`): linear, runs of the array; auto,
    /// chunks where they make maps and time series much cheaper to read; chunked, such chunks everywhere; series, long in time;
    /// map, whole maps. May be repeated [default: linear].
    #[arg(long, value_parser = parse_layout, value_name = "[VAR=]LAYOUT")]
    pub(crate) layout: Vec<LayoutArg>,
    /// What chunks at the upper edges hold: only what is in the array, or the full chunk shape, as in Zarr and HDF5, filled up
    /// with the variable's fill value.
    #[arg(long, value_enum, default_value_t = EdgeArg::Clip)]
    pub(crate) edge: EdgeArg,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
    /// Memory for buffers. The archive does not depend on it.
    #[arg(long, value_parser = parse_size, default_value = "256MiB", value_name = "SIZE")]
    pub(crate) memory: u64,
    /// Go into directories, archiving every classic file in them.
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// Overwrite existing outputs.
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Skip the proof of the round trip (not the checksums).
    #[arg(long)]
    pub(crate) no_verify: bool,
    /// Delete each input once its archive is proven and safe on disk.
    #[arg(long, conflicts_with = "no_verify")]
    pub(crate) remove_source: bool,
}
