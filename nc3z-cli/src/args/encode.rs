//! Arguments of every command that writes archives: how tiles are cut and encoded.

use super::Cli;
use super::layout::{LayoutArg, parse_chunks, parse_layout};
use super::{EdgeArg, PresetArg, parse_size};
use crate::names::{split_once, unescape};
use crate::output::words::plain;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, ValueEnum};
use nc3z_format::codec::{Registry, WantedChain};
use nc3z_writer::ChunkRequest;

/// How an archive is made.
#[derive(Debug, Args)]
pub(crate) struct EncodeArgs {
    /// Trade size against time.
    #[arg(long, value_enum, default_value_t = PresetArg::Default)]
    pub(crate) preset: PresetArg,
    /// How arrays are stored for other readers: `zarr`, as Zarr 2 and 3 store them, so that `nc3z refs` can lead there: chunks of one
    /// shape, filled up at the edges, and one chain, shuffle and zstd, whatever the data are. --layout, --chunk and --chain go before it.
    #[arg(long, value_enum, value_name = "READER")]
    pub(crate) profile: Option<ProfileArg>,
    /// Size of a tile before compression [default: 1MiB, 4MiB with --preset max; 256KiB for arrays of at least 16MiB where that costs
    /// next to nothing].
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
    /// Encode a variable's tiles by this chain instead of a chosen one: VAR=CHAIN, or *=CHAIN for all the others. A chain is
    /// HDF5's (`2|32015,9`, as for nccopy), NumCodecs' JSON, or Zarr's {"filters":[...],"compressor":{...}}; `nc3z filters` lists what
    /// it may name. A filter that rounds makes the archive LOSSY.
    #[arg(long = "chain", value_parser = parse_chain, value_name = "VAR=CHAIN")]
    pub(crate) chains: Vec<ChainRule>,
    /// Memory for buffers. The archive does not depend on it.
    #[arg(long, value_parser = parse_size, default_value = "256MiB", value_name = "SIZE")]
    pub(crate) memory: u64,
}

/// Other readers whose way of storing arrays is kept to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileArg {
    /// Zarr.
    Zarr,
}

/// Splits `VAR=WHAT`.
pub(super) fn split_rule<'a>(text: &'a str, example: &str) -> Result<(String, &'a str), String> {
    let (name, what) = split_once(text, '=').ok_or_else(|| format!("`{text}` is not {example}"))?;
    if name.is_empty() {
        Err(format!("no variable before `=`; {example}"))
    } else {
        Ok((unescape(name), what))
    }
}

/// A chain for a variable, or for all the others. What it may name depends on the plug-ins.
#[derive(Debug, Clone)]
pub(crate) struct ChainRule {
    pub(crate) variable: String,
    text: String,
}

impl ChainRule {
    /// The chain; what is none is a usage error, which ends the program.
    pub(crate) fn chain(&self, registry: &Registry) -> WantedChain {
        WantedChain::parse_with(&self.text, registry).unwrap_or_else(|e| {
            let rule = format!(
                "invalid value '{}={}' for '--chain <VAR=CHAIN>': {}",
                self.variable,
                self.text,
                plain(&e)
            );
            Cli::command().error(ErrorKind::ValueValidation, rule).exit()
        })
    }
}

impl ChainRule {
    /// Whether it names what is not built in.
    pub(crate) fn needs_plugin(&self) -> bool {
        WantedChain::parse(&self.text).is_err()
    }
}

/// Reads `tas=2|32015,9` and `tas=[{"id":"zstd","level":9}]`.
fn parse_chain(text: &str) -> Result<ChainRule, String> {
    let (variable, chain) = split_rule(
        text,
        r#"VAR=CHAIN, such as tas=2|32015,9 or tas=[{"id":"shuffle"},{"id":"zstd","level":9}]"#,
    )?;
    Ok(ChainRule { variable, text: chain.to_owned() })
}
