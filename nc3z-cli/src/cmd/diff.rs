//! `nc3z diff`: compares two files, or two versions.

use super::named::{self, Opens as _};
use crate::args::{DiffArgs, OpenArgs};
use crate::exit::{Exit, of_error};
use crate::names;
use crate::output::message::InFileExt;
use crate::output::progress::Progress;
use crate::output::report_error;
use crate::output::streams::{self, Stdout};
use crate::output::text;
use crate::selection::noted;
use anyhow::Result;
use nc3z::Name;
use nc3z_look::diff::Parts;
use nc3z_reader::Dataset;
use nc3z_reader::diff::{DiffOptions, Part, diff};
use nc3z_writer::is_same_file;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

/// Compares; 0 equal, 1 different, 2 not compared, 3 corrupt.
pub(crate) fn run(args: &DiffArgs) -> Result<Exit> {
    match compare(args) {
        Err(e) if streams::is_reader_gone(&e) => Err(e),
        Err(e) => {
            report_error(None, &e);
            Ok(match of_error(&e) {
                Exit::Failed => Exit::Refused,
                exit => exit,
            })
        }
        done => done,
    }
}

fn compare(args: &DiffArgs) -> Result<Exit> {
    let before = named::of(&args.before)?;
    let mut after = named::of(&args.after)?;
    // `@2` alone is another version of the same archive.
    if let Some(version) = args.after.to_str().and_then(|s| s.strip_prefix('@'))
        && !args.after.exists()
    {
        after = before.clone().with_requested(Some(version.parse()?));
    }
    let (a, b) = (open(&before, &args.before, &args.open)?, open(&after, &args.after, &args.open)?);
    let same_archive = a.archive().is_some()
        && b.archive().is_some()
        && std::fs::metadata(before.without_version())
            .is_ok_and(|meta| is_same_file(&meta, &after.without_version()));
    let variables =
        args.variables.iter().flat_map(|list| names::list(list)).map(String::into_bytes).collect();
    let is_part = !args.dims.is_empty() || args.region.is_some();
    let parts = || noted(|notes| Parts::new(&a, &b, &args.dims, args.region, notes));
    let part = is_part.then(parts).transpose()?;
    let options = DiffOptions {
        part: part.map(|part| Arc::new(part) as Arc<dyn Part>),
        abs: args.abs,
        rel: args.rel,
        variables: (!args.variables.is_empty()).then_some(variables),
        header_only: args.header,
        listed: args.first,
        exact: args.exact,
        same_archive,
    };
    let found = super::with_threads(*args.threads, || {
        let progress = Progress::new(a.original_len(), "diff".to_owned());
        diff(&a, &b, &options, &progress)
    })??;
    let equal = found.is_equal() && (!args.exact || found.layout.is_empty());
    if !args.quiet {
        let mut out = BufWriter::new(Stdout::verdicts());
        let names = [&args.before, &args.after].map(|path| text::safe(&super::url::shown(path)));
        if *args.json {
            writeln!(
                out,
                "{}",
                serde_json::to_string_pretty(&nc3z_look::diff::json(&found, &names, equal))?
            )?;
        } else {
            nc3z_look::diff::write(&found, args.exact, &a, &b, &mut out)?;
        }
        out.flush()?;
    }
    Ok(if equal { Exit::Done } else { Exit::Failed })
}

fn open(named: &Name, path: &Path, args: &OpenArgs) -> Result<Dataset> {
    named.open_dataset(args).in_file(path)
}
