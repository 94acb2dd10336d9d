//! Arguments of `refs`.

use super::{OpenArgs, OutputArgs};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Arguments of `refs`.
#[derive(Debug, Args)]
pub(crate) struct RefsArgs {
    /// An archive whose arrays are stored as Zarr stores them, such as one made with --profile zarr.
    pub(crate) archive: PathBuf,
    /// Kind of references.
    #[arg(long, value_enum, default_value_t = RefsFormat::Kerchunk)]
    pub(crate) format: RefsFormat,
    /// The URL of the archive for readers; for a member, that of its bundle [default: the given name, made
    /// absolute].
    #[arg(long)]
    pub(crate) url: Option<String>,
    /// Output file; `-` is standard output (the default).
    #[arg(short, long)]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) out: OutputArgs,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

/// Kinds of references.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RefsFormat {
    /// Kerchunk's JSON, version 1: Zarr 2.
    Kerchunk,
    /// Documents of Zarr 3 and virtual chunks, which the Python package writes into repositories of Icechunk.
    Icechunk,
}
