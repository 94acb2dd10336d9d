//! Arguments of `dump`: the letters of ncdump, each also with a long name.

use super::OpenArgs;
use clap::{ArgAction, Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Arguments of `dump`.
#[derive(Debug, Args)]
pub(crate) struct DumpArgs {
    /// An nc3z archive or a classic netCDF file.
    pub(crate) file: PathBuf,
    /// Header only, no data.
    #[arg(short = 'h', long)]
    pub(crate) header: bool,
    /// Data of coordinate variables only.
    #[arg(short = 'c', long)]
    pub(crate) coordinates: bool,
    /// Data of these variables only, separated by commas; a backslash makes a comma part of a name.
    #[arg(short = 'v', long, value_name = "NAME,...")]
    pub(crate) variables: Vec<OsString>,
    /// Name after `netcdf`, instead of one made from the file's name.
    #[arg(short = 'n', long, value_name = "NAME")]
    pub(crate) name: Option<OsString>,
    /// Significant digits of floats and of doubles, 1 to 20; the attribute C_format is then ignored.
    #[arg(short = 'p', long, value_name = "FLOAT[,DOUBLE]", value_parser = parse_digits)]
    pub(crate) precision: Option<Digits>,
    /// Comments with C or Fortran indices before each row.
    #[arg(short = 'b', long, value_name = "LANGUAGE", ignore_case = true)]
    pub(crate) brief: Option<Language>,
    /// Comments with C or Fortran indices after each value.
    #[arg(short = 'f', long, value_name = "LANGUAGE", ignore_case = true)]
    pub(crate) full: Option<Language>,
    /// Maximal length of a line of values, at least 10.
    #[arg(short = 'l', long, value_name = "BYTES", default_value_t = 80, value_parser = parse_line_len)]
    pub(crate) line_length: usize,
    /// Also special attributes: the kind of file, and those that netCDF-4 hides.
    #[arg(short = 's', long)]
    pub(crate) special: bool,
    /// Only the kind of file: classic, 64-bit offset, or cdf5.
    #[arg(short = 'k', long)]
    pub(crate) kind: bool,
    /// Dates instead of times since a date: `"2000-01-02 06:30"`.
    #[arg(short = 't', long)]
    pub(crate) time: bool,
    /// As -t, with a `T` between date and time of day: `"2000-01-02T06:30"`.
    #[arg(short = 'i', long)]
    pub(crate) iso: bool,
    /// Has no effect: ncdump caches variables at a DAP server with it, and data are always cached here.
    #[arg(short = 'w', long)]
    with_cache: bool,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
    /// Print help.
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
}

/// The language whose indices are in comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// From 0, slowest dimension first.
    C,
    /// From 1, fastest dimension first.
    #[value(alias = "fortran")]
    F,
}

/// The requested significant digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digits {
    pub(crate) float: Option<u32>,
    pub(crate) double: Option<u32>,
}

/// Parses `9`, `9,17`, `,17`.
fn parse_digits(text: &str) -> Result<Digits, String> {
    let (float, double) = text.split_once(',').map_or((text, None), |(f, d)| (f, Some(d)));
    let number = |text: &str| {
        let number = text.parse().ok().filter(|n| (1..=20).contains(n));
        number.ok_or_else(|| "expected a number from 1 to 20".to_owned())
    };
    let float = if float.is_empty() && double.is_some() { None } else { Some(number(float)?) };
    Ok(Digits { float, double: double.map(number).transpose()? })
}

fn parse_line_len(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n >= 10).ok_or_else(|| "expected a number from 10 on".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits() {
        assert_eq!(parse_digits("9"), Ok(Digits { float: Some(9), double: None }));
        assert_eq!(parse_digits("9,17"), Ok(Digits { float: Some(9), double: Some(17) }));
        assert_eq!(parse_digits(",17"), Ok(Digits { float: None, double: Some(17) }));
        for text in ["", ",", "0", "21", "9,", "x", "9,17,1"] {
            assert!(parse_digits(text).is_err(), "{text}");
        }
    }
}
