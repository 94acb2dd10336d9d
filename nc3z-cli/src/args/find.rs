//! Arguments of `find`.

use super::{JsonArgs, OfflineArgs, OpenArgs, ThreadsArgs};
use clap::Args;
use nc3z_collections::catalog::Condition;
use nc3z_format::units::Period;
use nc3z_look::selection::BoxArg;
use std::path::PathBuf;

/// Arguments of `find`.
#[derive(Debug, Args)]
pub(crate) struct FindArgs {
    /// The text to find: a part of a name or of a text, or a pattern with `*` and `?` for the whole of it;
    /// ATTRIBUTE=VALUE searches only the values of this attribute. Upper and lower case are not
    /// distinguished.
    #[arg(required_unless_present_any = ["conditions", "area", "time"])]
    pub(crate) pattern: Option<String>,
    /// Archives, classic files and catalogues; directories, with all archives and classic files below them.
    #[arg(required_unless_present_any = ["conditions", "area", "time"])]
    pub(crate) inputs: Vec<PathBuf>,
    /// Find files by their values, such as 'tas > 310' (also <, <=, >= and ==, in the units of the variable). The pattern
    /// may then be left out. If it is given several times, files must meet all conditions, and the pattern if there is
    /// one. A catalogue (`nc3z catalog`) has the answer; of other inputs, all values are read.
    #[arg(long = "where", value_name = "CONDITION")]
    pub(crate) conditions: Vec<Condition>,
    /// Find files that have coordinates in this region: west, east, south, north. A file whose place is not known
    /// is listed as unknown.
    #[arg(long = "box", value_name = "W,E,S,N", allow_hyphen_values = true)]
    pub(crate) area: Option<BoxArg>,
    /// Find files that have times in this period, or from the first to the last of two, such as
    /// 2001-02,2001-04. A file whose times are not known is listed as unknown.
    #[arg(long, value_name = "FROM[,TO]", value_parser = periods)]
    pub(crate) time: Option<(Period, Period)>,
    /// Print only the names of files with matches.
    #[arg(short = 'l', long, conflicts_with = "json")]
    pub(crate) files_with_matches: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
    #[command(flatten)]
    pub(crate) tape: OfflineArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgs,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

fn periods(text: &str) -> Result<(Period, Period), String> {
    let (from, to) = text.split_once(',').unwrap_or((text, text));
    let period = |text: &str| {
        let period: Period = text.parse()?;
        let is_date = period.is_in_some_calendar();
        if is_date { Ok(period) } else { Err(format!("the date `{text}` exists in no calendar")) }
    };
    Ok((period(from)?, period(to)?))
}
