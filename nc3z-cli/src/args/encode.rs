//! Arguments of all commands that write archives: tiling and encoding.

use super::Cli;
use super::layout::{LayoutArg, parse_layout};
use super::{EdgeArg, PresetArg, parse_size};
use crate::names::{split_once, unescape};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, ValueEnum};
use nc3z_format::codec::{ChainRequest, Registry};
use nc3z_writer::ChunkRequest;

/// The heading of these options in help texts.
pub(super) const HEADING: &str = "Tiles and encoding";

/// Options for encoding an archive.
#[derive(Debug, Args)]
pub(crate) struct EncodeArgs {
    /// Balance between size and time.
    #[arg(help_heading = HEADING, long, value_enum, default_value_t = PresetArg::Default)]
    pub(crate) preset: PresetArg,
    /// Store arrays for other readers: `zarr` stores them as Zarr 2 and 3 do, so that `nc3z refs` can refer
    /// to them: chunks of one shape, padded at the edges, all encoded with shuffle and zstd. --layout,
    /// --tile and --chain take precedence.
    #[arg(help_heading = HEADING, long, value_enum, value_name = "READER")]
    pub(crate) profile: Option<ProfileArg>,
    /// Size of a tile before compression [default: 1MiB, 4MiB with --preset max; 256KiB for arrays of at
    /// least 16MiB if that hardly increases the size].
    #[arg(help_heading = HEADING, long, value_parser = parse_size, value_name = "SIZE")]
    pub(crate) tile_size: Option<u64>,
    /// Lengths of tiles by dimension, for all variables that have the named dimensions (`time=1,lat=90`) or for
    /// one variable (`tas:time=1,lat=90`). Other dimensions are not divided. May be repeated: of several that
    /// apply to a variable, the last is used, but one that names the variable takes precedence. Of many files,
    /// those without such a variable are archived without it. A backslash makes `:`, `,` or `=` part of a name.
    #[arg(help_heading = HEADING, long, value_parser = str::parse::<ChunkRequest>, value_name = "[VAR:]DIM=LENGTH,...")]
    pub(crate) tile: Vec<ChunkRequest>,
    /// Layout of tiles of variables without --tile, for all (`auto`) or one (`tas=series`). linear: runs of
    /// the array; auto: chunks, if they make maps and time series much faster to read; chunked: such chunks
    /// for all variables; series: long in time; map: whole maps. May be repeated [default: linear].
    #[arg(help_heading = HEADING, long, value_parser = parse_layout, value_name = "[VAR=]LAYOUT")]
    pub(crate) layout: Vec<LayoutArg>,
    /// Content of chunks at the upper edges: only elements of the array, or the full chunk shape, as in Zarr
    /// and HDF5, padded with the variable's fill value.
    #[arg(help_heading = HEADING, long, value_enum, default_value_t = EdgeArg::Clip)]
    pub(crate) edge: EdgeArg,
    /// Encode a variable's tiles by this chain, instead of one chosen automatically: VAR=CHAIN, or *=CHAIN
    /// for all other variables. A chain is given as in HDF5 (`2|32015,9`, as for nccopy), as NumCodecs' JSON,
    /// or as Zarr's {"filters":[...],"compressor":{...}}; `nc3z filters` lists the available filters and
    /// codecs. A filter that rounds makes the archive LOSSY.
    #[arg(help_heading = HEADING, long = "chain", value_parser = parse_chain, value_name = "VAR=CHAIN")]
    pub(crate) chains: Vec<ChainRule>,
    /// Memory for buffers. It does not affect the archive.
    #[arg(help_heading = HEADING, long, value_parser = parse_size, default_value = "256MiB", value_name = "SIZE")]
    pub(crate) memory: u64,
}

/// Other readers for which arrays can be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileArg {
    /// Zarr.
    Zarr,
}

/// Splits `VAR=WHAT`.
pub(super) fn split_rule<'a>(text: &'a str, example: &str) -> Result<(String, &'a str), String> {
    let (name, what) = split_once(text, '=').ok_or_else(|| format!("expected {example}"))?;
    if name.is_empty() {
        Err(format!("no variable before `=`; {example}"))
    } else {
        Ok((unescape(name), what))
    }
}

/// A chain for a variable, or for all others. The available filters and codecs depend on the plug-ins.
#[derive(Debug, Clone)]
pub(crate) struct ChainRule {
    pub(crate) variable: String,
    text: String,
}

impl ChainRule {
    /// Returns the chain. An invalid one is a usage error, which ends the program.
    pub(crate) fn chain(&self, registry: &Registry) -> ChainRequest {
        ChainRequest::parse_with(&self.text, registry).unwrap_or_else(|e| {
            let rule =
                format!("invalid value '{}={}' for '--chain <VAR=CHAIN>': {}", self.variable, self.text, e);
            Cli::command().error(ErrorKind::ValueValidation, rule).exit()
        })
    }
}

impl ChainRule {
    /// Returns whether the chain needs a plug-in.
    pub(crate) fn needs_plugin(&self) -> bool {
        ChainRequest::parse(&self.text).is_err()
    }
}

/// Parses `tas=2|32015,9` and `tas=[{"id":"zstd","level":9}]`.
fn parse_chain(text: &str) -> Result<ChainRule, String> {
    let (variable, chain) = split_rule(
        text,
        r#"VAR=CHAIN, such as tas=2|32015,9 or tas=[{"id":"shuffle"},{"id":"zstd","level":9}]"#,
    )?;
    Ok(ChainRule { variable, text: chain.to_owned() })
}
