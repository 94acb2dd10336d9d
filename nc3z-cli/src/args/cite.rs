//! Arguments of `cite`, and those of reading against a root.

use super::{OpenArgs, OutputArgs, ThreadsArgs};
use clap::{Args, ValueEnum};
use nc3z_format::digest::Root;
use nc3z_look::selection::DimArg;
use std::ffi::OsString;
use std::path::PathBuf;

/// Reads a root.
fn parse_root(text: &str) -> Result<Root, String> {
    text.parse().map_err(|e: nc3z_format::Error| e.to_string())
}

/// Options for reading that is checked against a root.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RootArgs {
    /// Check every value against this root (`nc3z hash --root`) before it is written; bytes that do not match
    /// the root are an error.
    #[arg(long, value_name = "nc3z1:HEX", value_parser = parse_root)]
    pub(crate) root: Option<Root>,
    /// The tree of the file (`nc3z hash --tree`), a file or a URL, which need not be trusted; without it, all
    /// of FILE is read first.
    #[arg(long, value_name = "FILE", requires = "root")]
    pub(crate) tree: Option<PathBuf>,
}

/// The form of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordArg {
    /// An entry for BibTeX.
    Bibtex,
    /// Metadata for DataCite (kernel 4).
    Datacite,
    /// `ro-crate-metadata.json` of RO-Crate 1.1.
    RoCrate,
    /// PROV-JSON.
    Prov,
}

/// Arguments of `cite`.
#[derive(Debug, Args)]
pub(crate) struct CiteArgs {
    /// An archive, a version of one (FILE@VERSION), a classic netCDF file, a member of a bundle, or a URL of one. With
    /// --check, the slice.
    pub(crate) file: PathBuf,
    /// The variables of the slice, separated by commas; without any, only a record is written. With --check, the proof
    /// [default: SLICE.proof].
    pub(crate) variable: Option<OsString>,
    /// One dimension's range, ends included, as in `subset`; may be given for several dimensions.
    #[arg(short = 'd', long = "dim", value_name = "NAME,FIRST[,LAST[,STEP]]", allow_hyphen_values = true)]
    pub(crate) dims: Vec<DimArg>,
    /// Only the named variables, without their coordinates and related variables.
    #[arg(short = 'C', long)]
    pub(crate) no_coordinates: bool,
    /// The slice to write: a classic file, or `.npy` or `.csv` depending on the name; the proof is written to
    /// OUTPUT.proof.
    #[arg(short, long, requires = "variable")]
    pub(crate) output: Option<PathBuf>,
    /// Widen the slice of the first variable so that its proof needs no additional values.
    #[arg(long, requires = "variable")]
    pub(crate) widen: bool,
    /// The tree of the file (`nc3z hash --tree`), a file or a URL; without it, all of FILE is read.
    #[arg(long, value_name = "FILE")]
    pub(crate) tree: Option<PathBuf>,
    /// Print a record that cites the slice or the dataset.
    #[arg(long, value_enum, value_name = "FORM")]
    pub(crate) format: Option<RecordArg>,
    /// DOI of the dataset.
    #[arg(long)]
    pub(crate) doi: Option<String>,
    /// The URL where the dataset or its root is published.
    #[arg(long)]
    pub(crate) url: Option<String>,
    /// Title of the dataset [default: its attribute `title`, or the file's name].
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// The creator of the dataset; may be given several times [default: its attribute `creator_name` or
    /// `institution`].
    #[arg(long = "creator", value_name = "NAME")]
    pub(crate) creators: Vec<String>,
    /// The publisher of the dataset.
    #[arg(long)]
    pub(crate) publisher: Option<String>,
    /// The year of its publication.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=9999))]
    pub(crate) year: Option<u16>,
    /// Check that a slice is a part of the dataset with the root of --root. Only the slice and its proof are read.
    #[arg(
        long,
        requires = "root",
        conflicts_with_all = [
            "dims", "no_coordinates", "output", "widen", "tree", "format", "doi", "url", "title", "creators", "publisher",
            "year", "force", "parents", "threads", "older", "mmap", "as_stored", "outside", "fill_missing", "settings",
        ]
    )]
    pub(crate) check: bool,
    /// With --check: the root, copied from where the dataset is published.
    #[arg(long, value_name = "nc3z1:HEX", value_parser = parse_root, requires = "check")]
    pub(crate) root: Option<Root>,
    /// With --check: machine-readable output.
    #[arg(long, requires = "check")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) out: OutputArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}
