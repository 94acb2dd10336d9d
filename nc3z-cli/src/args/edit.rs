//! Arguments of `attr`, `set`, `append`, `rename` and `prune`.

use super::versions::{EffortArgs, NoteArgs, parse_version};
use super::{OutputArgs, SelectionArgs, ThreadsArgs, parse_size};
use crate::names::{split_once, unescape};
use clap::{ArgGroup, Args};
use nc3z_reader::VersionName;
use std::path::PathBuf;

/// Arguments of all edits.
#[derive(Debug, Args)]
pub(crate) struct EditArgs {
    #[command(flatten)]
    pub(crate) note: NoteArgs,
    #[command(flatten)]
    pub(crate) effort: EffortArgs,
    /// Do not rebuild the whole version to compute its SHA-256: the time depends only on the size of the
    /// change. Written data are read back, but no digest is stored.
    #[arg(long)]
    pub(crate) quick: bool,
}

/// Arguments of `attr`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("edits").required(true).multiple(true))]
pub(crate) struct AttrArgs {
    /// The archive to change.
    pub(crate) archive: PathBuf,
    /// `VARIABLE:ATTRIBUTE=VALUE`, or `:ATTRIBUTE=VALUE` for a global attribute. A value is text, or numbers
    /// in CDL (`1`, `2.5f`, `3s`, `4b`, `1,2,3`); numbers in quotes are text. A backslash makes a `:` or a
    /// `=` part of a name.
    #[arg(group = "edits", value_name = "VARIABLE:ATTRIBUTE=VALUE")]
    pub(crate) assignments: Vec<String>,
    /// As in ncatted: attribute, variable (`global` for the file, nothing for all variables), mode (a append,
    /// c create, d delete, m modify, n append to an existing one, o overwrite, p prepend), type (f, d, l or
    /// i, s, c, b, ub, us, ul, ll, ull), value. A backslash makes a comma part of a name.
    #[arg(short = 'a', long = "attribute", group = "edits", value_name = "ATT,VAR,MODE,TYPE,VALUE")]
    pub(crate) ncatted: Vec<String>,
    /// Delete an attribute. As in ncatted, a missing attribute is not an error.
    #[arg(short = 'd', long = "delete", group = "edits", value_name = "VARIABLE:ATTRIBUTE")]
    pub(crate) delete: Vec<String>,
    /// Where `_FillValue` is changed, also change the values that equal the old one, as ncatted does. Otherwise
    /// they stay and become data, which is reported.
    #[arg(long)]
    pub(crate) replace_fill: bool,
    #[command(flatten)]
    pub(crate) edit: EditArgs,
}

/// Arguments of `set`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("values").required(true))]
pub(crate) struct SetArgs {
    /// The archive to change.
    pub(crate) archive: PathBuf,
    /// The exact name of the variable.
    pub(crate) variable: String,
    /// `=VALUE` for all selected elements, or as many values as elements, separated by commas; `=_` for the
    /// fill value. For char variables, text.
    #[arg(group = "values", value_name = "=VALUE")]
    pub(crate) value: Option<String>,
    /// Copy the values from a classic file or an archive: from the variable with the same name, whose lengths
    /// must be those of the selection.
    #[arg(long, group = "values", value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    /// The name of the variable in that file.
    #[arg(long, value_name = "NAME", requires = "from", conflicts_with_all = ["value", "text"])]
    pub(crate) from_variable: Option<String>,
    /// Read numbers from a text file (`-`: standard input), separated by blanks, commas or line breaks.
    #[arg(long, group = "values", value_name = "FILE")]
    pub(crate) text: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Print what would be read, copied and written, and change nothing.
    #[arg(long)]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) edit: EditArgs,
}

/// Arguments of `append`.
#[derive(Debug, Args)]
pub(crate) struct AppendArgs {
    /// The archive to change.
    pub(crate) archive: PathBuf,
    /// Classic files or archives whose records are appended, in this order.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Keep the archive's variables without records, also if the new file has other values.
    #[arg(long)]
    pub(crate) keep_fixed: bool,
    /// Also append if attributes such as `units` and `scale_factor` differ: the numbers then have another
    /// meaning.
    #[arg(long)]
    pub(crate) any_units: bool,
    /// Replace records whose record coordinate (time) already exists, and append later ones.
    #[arg(long, conflicts_with = "allow_overlap")]
    pub(crate) replace_overlap: bool,
    /// Append all records, also if the record coordinate (time) does not continue that of the archive.
    #[arg(long)]
    pub(crate) allow_overlap: bool,
    #[command(flatten)]
    pub(crate) edit: EditArgs,
}

/// Arguments of `rename`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("names").required(true).multiple(true))]
pub(crate) struct RenameArgs {
    /// The archive to change.
    pub(crate) archive: PathBuf,
    /// Rename a dimension. A backslash makes a comma part of a name.
    #[arg(short = 'd', long, group = "names", value_name = "OLD,NEW", value_parser = parse_pair)]
    pub(crate) dimension: Vec<(String, String)>,
    /// Rename a variable. A backslash makes a comma part of a name.
    #[arg(short = 'v', long, group = "names", value_name = "OLD,NEW", value_parser = parse_pair)]
    pub(crate) variable: Vec<(String, String)>,
    /// Rename an attribute: of a variable, of the file (`global@OLD`), or, with a name alone, everywhere. A
    /// backslash makes a comma or a `@` part of a name.
    #[arg(short = 'a', long, group = "names", value_name = "[VAR@]OLD,NEW", value_parser = parse_pair)]
    pub(crate) attribute: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) edit: EditArgs,
}

/// Arguments of `prune`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("target").required(true))]
pub(crate) struct PruneArgs {
    /// The archive.
    pub(crate) archive: PathBuf,
    /// The new archive; `-` is standard output.
    #[arg(short, long, group = "target", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the old archive by the new one: dropped versions are lost.
    #[arg(long, group = "target", conflicts_with_all = ["force", "parents"])]
    pub(crate) in_place: bool,
    /// Versions to keep, by number or tag. The newest and tagged ones are always kept.
    #[arg(long, value_name = "VERSION,...", value_delimiter = ',', value_parser = parse_version)]
    pub(crate) keep: Vec<VersionName>,
    /// Also drop tagged versions, with their tags, unless --keep names them.
    #[arg(long)]
    pub(crate) drop_tagged: bool,
    /// Report which versions would be dropped, and how large the archive would become; change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write no parity. Otherwise, if the archive has parity, the new one has parity of the same share.
    #[arg(long)]
    pub(crate) no_parity: bool,
    #[command(flatten)]
    pub(crate) out: OutputArgs,
    /// Memory for buffers. It does not affect the archive.
    #[arg(long, value_parser = parse_size, default_value = "256MiB", value_name = "SIZE")]
    pub(crate) memory: u64,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
}

/// Parses `OLD,NEW`. The old name keeps its backslashes, since a `@` may divide it.
fn parse_pair(text: &str) -> Result<(String, String), String> {
    match split_once(text, ',') {
        Some((old, new)) if !old.is_empty() && !new.is_empty() && split_once(new, ',').is_none() => {
            Ok((old.to_owned(), unescape(new)))
        }
        _ => Err(format!("`{text}` is not OLD,NEW; a backslash takes a comma into a name")),
    }
}
