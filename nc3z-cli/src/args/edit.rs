//! Arguments of `att`, `set`, `append`, `rename` and `gc`.

use super::versions::{EffortArgs, NoteArgs, parse_version};
use super::{SelectionArgs, parse_size, parse_threads};
use crate::names::{split_once, unescape};
use clap::{ArgGroup, Args};
use nc3z_reader::VersionName;
use std::path::PathBuf;

/// What every edit takes.
#[derive(Debug, Args)]
pub(crate) struct EditArgs {
    #[command(flatten)]
    pub(crate) note: NoteArgs,
    #[command(flatten)]
    pub(crate) effort: EffortArgs,
    /// Do not rebuild the whole version for its SHA-256: the commit costs what was changed, and what was written is read back, but no digest is on record.
    #[arg(long)]
    pub(crate) quick: bool,
}

/// Arguments of `att`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("edits").required(true).multiple(true))]
pub(crate) struct AttArgs {
    /// The archive, which is added to in place.
    pub(crate) archive: PathBuf,
    /// `VARIABLE:ATTRIBUTE=VALUE`, or `:ATTRIBUTE=VALUE` for one of the file. A value is text, or numbers as CDL writes them (`1`, `2.5f`, `3s`, `4b`, `1,2,3`); numbers in
    /// quotes are text. A backslash takes a `:` or a `=` into a name.
    #[arg(group = "edits", value_name = "VARIABLE:ATTRIBUTE=VALUE")]
    pub(crate) assignments: Vec<String>,
    /// In ncatted's manner: attribute, variable (`global` for the file, nothing for all variables), mode (a append, c create, d delete, m modify, n append to what is there, o
    /// overwrite, p prepend), type (f, d, l or i, s, c, b, ub, us, ul, ll, ull), value. A backslash takes a comma into a name.
    #[arg(short = 'a', long = "attribute", group = "edits", value_name = "ATT,VAR,MODE,TYPE,VALUE")]
    pub(crate) ncatted: Vec<String>,
    /// Delete an attribute. As for ncatted, it is no error where there is none.
    #[arg(short = 'd', long = "delete", group = "edits", value_name = "VARIABLE:ATTRIBUTE")]
    pub(crate) delete: Vec<String>,
    #[command(flatten)]
    pub(crate) edit: EditArgs,
}

/// Arguments of `set`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("values").required(true))]
pub(crate) struct SetArgs {
    /// The archive, which is added to in place.
    pub(crate) archive: PathBuf,
    /// The variable, by its whole name.
    pub(crate) variable: String,
    /// `=VALUE` for all that is selected, or as many values as that, with commas between; `=_` for the fill value. Of text (char) the text.
    #[arg(group = "values", value_name = "=VALUE")]
    pub(crate) value: Option<String>,
    /// Take the values out of a classic file or an archive: the variable of that name, which has the lengths of what is selected.
    #[arg(long, group = "values", value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    /// The name that the variable has there.
    #[arg(long, value_name = "NAME", requires = "from")]
    pub(crate) from_variable: Option<String>,
    /// Take numbers out of a text file (`-`: standard input), with blanks, commas or new lines between.
    #[arg(long, group = "values", value_name = "FILE")]
    pub(crate) text: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Print what would be read, copied and written, and do nothing.
    #[arg(long)]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) edit: EditArgs,
}

/// Arguments of `append`.
#[derive(Debug, Args)]
pub(crate) struct AppendArgs {
    /// The archive, which is added to in place.
    pub(crate) archive: PathBuf,
    /// Classic files or archives whose records are appended, in this order.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Take variables without records as they are in the archive, also where the new file has other values.
    #[arg(long)]
    pub(crate) keep_fixed: bool,
    /// Also append where attributes such as `units` and `scale_factor` differ: the numbers then mean something else.
    #[arg(long)]
    pub(crate) any_units: bool,
    /// Write records whose record coordinate (time) the archive has already over the archive's, and append those beyond its last one.
    #[arg(long, conflicts_with = "allow_overlap")]
    pub(crate) replace_overlap: bool,
    /// Append all records, also where the record coordinate (time) does not continue that of the archive.
    #[arg(long)]
    pub(crate) allow_overlap: bool,
    #[command(flatten)]
    pub(crate) edit: EditArgs,
}

/// Arguments of `rename`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("names").required(true).multiple(true))]
pub(crate) struct RenameArgs {
    /// The archive, which is added to in place.
    pub(crate) archive: PathBuf,
    /// Rename a dimension. A backslash takes a comma into a name.
    #[arg(short = 'd', long, group = "names", value_name = "OLD,NEW", value_parser = parse_pair)]
    pub(crate) dimension: Vec<(String, String)>,
    /// Rename a variable. A backslash takes a comma into a name.
    #[arg(short = 'v', long, group = "names", value_name = "OLD,NEW", value_parser = parse_pair)]
    pub(crate) variable: Vec<(String, String)>,
    /// Rename an attribute: of a variable, of the file (`global@OLD`), or, with a name alone, in all places. A backslash takes a comma or a `@`
    /// into a name.
    #[arg(short = 'a', long, group = "names", value_name = "[VAR@]OLD,NEW", value_parser = parse_pair)]
    pub(crate) attribute: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) edit: EditArgs,
}

/// Arguments of `gc`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("target").required(true))]
pub(crate) struct GcArgs {
    /// The archive.
    pub(crate) archive: PathBuf,
    /// The new archive.
    #[arg(short, long, group = "target", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Put the new archive in the place of the old one: what is dropped is gone.
    #[arg(long, group = "target")]
    pub(crate) in_place: bool,
    /// Versions to keep, by number or tag. The newest is kept always, and so are those that tags name.
    #[arg(long, value_name = "VERSION,...", value_delimiter = ',', value_parser = parse_version)]
    pub(crate) keep: Vec<VersionName>,
    /// Also drop versions that tags name, and their tags with them, unless they are named by --keep.
    #[arg(long)]
    pub(crate) drop_tagged: bool,
    /// Report which versions would be dropped, and how large the archive would be; change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write no parity, also where the archive has some. Otherwise the new archive has parity of the same share.
    #[arg(long)]
    pub(crate) no_parity: bool,
    /// Replace an output that exists.
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Memory for buffers. The archive does not depend on it.
    #[arg(long, value_parser = parse_size, default_value = "256MiB", value_name = "SIZE")]
    pub(crate) memory: u64,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = parse_threads)]
    pub(crate) threads: usize,
}

/// Reads `OLD,NEW`; the old name keeps its backslashes, since a `@` may divide it.
fn parse_pair(text: &str) -> Result<(String, String), String> {
    match split_once(text, ',') {
        Some((old, new)) if !old.is_empty() && !new.is_empty() && split_once(new, ',').is_none() => {
            Ok((old.to_owned(), unescape(new)))
        }
        _ => Err(format!("`{text}` is not OLD,NEW; a backslash takes a comma into a name")),
    }
}
