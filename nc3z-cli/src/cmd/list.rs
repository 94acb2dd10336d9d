//! `nc3z list`: lists the files of a directory, a bundle or an aggregation, one in each line.

use super::named::{self, Opens as _};
use super::offline::without_recalls;
use super::targets;
use crate::args::{Access, ListArgs, OpenArgs};
use crate::exit::{Exit, of_error};
use crate::output::failure::Failure;
use crate::output::message::InFileExt;
use crate::output::progress::Progress;
use crate::output::streams::Stdout;
use crate::output::table::{Side, Table};
use crate::output::{message, text};
use anyhow::Result;
use nc3z::Name;
use nc3z_collections::tree::list::{FileSummary, describe, of_catalog};
use nc3z_collections::tree::manifest::bag::is_specification;
use nc3z_collections::tree::offline::is_netcdf_name;
use nc3z_collections::{FileRef, as_aggregation};
use nc3z_reader::source::{self, SharedSource};
use nc3z_reader::{Dataset, Monitor as _};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Columns that are cut, or removed from the last on, if the terminal is narrow.
const FLEXIBLE: [&str; 4] = ["time", "variables", "dimensions", "other ranges"];

/// One file of a list.
struct Entry {
    name: String,
    /// Its kind and content, or the reason why it cannot be read.
    found: Result<FileSummary>,
}

pub(crate) fn run(args: &ListArgs) -> Result<Exit> {
    if let Some(output) = &args.html {
        return super::report::run(args, output);
    }
    let entries = super::with_threads(*args.threads, || {
        let mut entries = Vec::new();
        let mut files = Vec::new();
        let inputs = super::url::expand(&args.inputs, &args.remote, &is_netcdf_name)?;
        for input in targets::expand(&inputs)? {
            if input.path.is_dir() {
                let found = targets::netcdf_files(&input.path)?;
                files.extend(found.into_iter().map(|path| (path, true)));
            } else {
                files.push((input.path, false));
            }
        }
        let files = without_recalls(files, |(path, _)| path, &args.tape)?;
        for run in files.chunk_by(|a, b| a.1 && b.1) {
            entries.extend(list(run, args)?);
        }
        Ok::<_, anyhow::Error>(entries)
    })??;
    let mut out = Stdout::results();
    if *args.json {
        let all: Vec<Value> = entries.iter().map(to_json).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
    } else {
        let width = (!args.wide).then(|| out.width());
        print(&entries, width, &mut out)?;
    }
    out.flush()?;
    Ok(entries.iter().filter_map(|e| e.found.as_ref().err()).map(of_error).max().unwrap_or(Exit::Done))
}

/// Returns the entries of files of directories, or of one named file.
fn list(files: &[(PathBuf, bool)], args: &ListArgs) -> Result<Vec<Entry>> {
    let name = |path: &Path| crate::cmd::shown(path);
    let input = match files {
        [(input, false)] => input.as_path(),
        files => {
            let progress = Progress::counting(files.len(), "list");
            let entry = |path: &Path| {
                let found = of_path(path, args).map(|found| found.0);
                progress.advance(1);
                Entry { name: name(path), found }
            };
            return Ok(files.par_iter().map(|(path, _)| entry(path)).collect());
        }
    };
    if super::catalog::is_catalog(input) {
        let catalog = super::catalog::open(input, &open_args(args))?;
        super::catalog::tell_changed(input, &catalog)?;
        let files = of_catalog(&catalog)?;
        let entry = |(name, found): (String, nc3z_collections::Result<FileSummary>)| Entry {
            name,
            found: found.map_err(super::unbundle::of_aggregate),
        };
        return Ok(files.into_iter().map(entry).collect());
    }
    let named = named::of(input)?;
    let source = named.source(&open_args(args))?;
    if named.member().is_none() && super::unbundle::is_bundle(input) {
        let bundle = super::member::open(input, &open_args(args))?;
        let data = bundle.names().in_file(input)?.par_iter().filter(|member| !is_specification(member));
        let each = data.map(|member| {
            let found = bundle.member(member).map_err(super::unbundle::of_aggregate).and_then(|source| {
                let source = source.ok_or_else(|| anyhow::anyhow!("it is not there"))?;
                Ok(of_source(source, &input.join(member), args, true)?.0)
            });
            Entry { name: text::safe(member), found }
        });
        return Ok(each.collect());
    }
    let (found, dataset) = match of_source(source, input, args, false) {
        Ok(found) => found,
        Err(e) => return Ok(vec![Entry { name: name(input), found: Err(e) }]),
    };
    let mut entries = vec![Entry { name: name(input), found: Ok(found) }];
    let Some(aggregation) = as_aggregation(&dataset) else { return Ok(entries) };
    let uris: Vec<_> = aggregation.uris()?.into_iter().collect();
    entries.par_extend(uris.par_iter().map(|(uri, fingerprint)| {
        let opened = aggregation.fragments().open(&FileRef::Uri(uri.clone()), fingerprint.as_deref());
        let found = opened.map_err(Into::into).and_then(|dataset| {
            let dataset = dataset.ok_or_else(|| anyhow::anyhow!("it is not there"))?;
            let bytes = dataset.archive().map_or(dataset.original_len(), nc3z_reader::Archive::stored_len);
            Ok(describe(&dataset, bytes)?)
        });
        Entry { name: crate::cmd::shown(Path::new(uri)), found }
    }));
    Ok(entries)
}

/// Files are read by position, since a list opens many.
fn open_args(args: &ListArgs) -> OpenArgs {
    // Of each file it reads its header and the ends of its coordinates.
    OpenArgs {
        fragments: args.fragments.clone(),
        remote: args.remote.clone(),
        mmap: false,
        access: Access::Paged,
        ..OpenArgs::default()
    }
}

fn of_path(path: &Path, args: &ListArgs) -> Result<(FileSummary, Dataset)> {
    of_source(source::open(path, false)?, path, args, false)
}

fn of_source(
    source: SharedSource,
    path: &Path,
    args: &ListArgs,
    inside: bool,
) -> Result<(FileSummary, Dataset)> {
    let open = open_args(args);
    let bytes = source.stored_len();
    // The name of a member is that of its bytes here.
    let name = if inside { Name::whole(path) } else { named::of(path)? };
    let dataset = named::opener(path, &open).stored_from(source, &name)?;
    if inside || args.fragments.as_stored || !nc3z_collections::is_aggregation(&dataset) {
        let found = describe(&dataset, bytes)?;
        return Ok((found, dataset));
    }
    // With its fragments from its directory, its server, or its bundle.
    let dataset = named::present(dataset, path, &open)?;
    Ok((describe(&dataset, bytes)?, dataset))
}

fn print(entries: &[Entry], width: Option<usize>, out: &mut dyn Write) -> Result<()> {
    let columns = [
        ("name", Side::Left),
        ("kind", Side::Left),
        ("size", Side::Right),
        ("ratio", Side::Right),
        ("variables", Side::Left),
        ("dimensions", Side::Left),
        ("time", Side::Left),
        ("other ranges", Side::Left),
        ("state", Side::Left),
    ];
    let all_ok = entries.iter().all(|entry| entry.found.is_ok());
    let mut table = Table::new(&columns);
    for Entry { name, found } in entries {
        let row = match found {
            Err(e) => {
                let mut row = vec![String::new(); columns.len()];
                row[0].clone_from(name);
                // On a terminal, messages follow the table, since they are longer than a line.
                row[columns.len() - 1] =
                    if width.is_some() { "error".to_owned() } else { message::of(e, Some(Path::new(name))) };
                row
            }
            Ok(f) => {
                let dims: Vec<String> = f.dimensions.iter().map(|(n, len)| format!("{n}={len}")).collect();
                let time =
                    f.time().map_or_else(
                        String::new,
                        |(a, b)| {
                            if a == b { a.clone() } else { format!("{a} to {b}") }
                        },
                    );
                let ratio =
                    if f.kind == "archive" { text::ratio(f.original, f.bytes) } else { String::new() };
                vec![
                    name.clone(),
                    f.kind.to_owned(),
                    text::size(f.bytes),
                    ratio,
                    f.variable_names(),
                    dims.join(" "),
                    time,
                    f.other_ranges(),
                    if width.is_some() && all_ok { String::new() } else { "ok".to_owned() },
                ]
            }
        };
        table.push(row);
    }
    match width {
        Some(width) => {
            table.fit(width, &FLEXIBLE);
            table.print(out, "")?;
        }
        None => table.print_ragged(out)?,
    }
    for (name, e) in entries.iter().filter_map(|entry| Some((&entry.name, entry.found.as_ref().err()?))) {
        let Some(width) = width else { break };
        let words = message::of(e, Some(Path::new(name)));
        let words = words.strip_prefix(&format!("`{name}`: ")).unwrap_or(&words);
        write!(out, "\n{}", wrapped(&format!("{name}: {words}"), width))?;
    }
    Ok(())
}

/// Breaks a text into lines of at most `width` characters, between words where there are any.
fn wrapped(text: &str, width: usize) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for word in text.split(' ') {
        let mut word: Vec<char> = word.chars().collect();
        if column > 0 && column + 1 + word.len() > width {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        while word.len() > width.max(1) {
            out.extend(word.drain(..width.max(1)));
            out.push('\n');
        }
        column += word.len();
        out.extend(word);
    }
    out.push('\n');
    out
}

fn to_json(entry: &Entry) -> Value {
    match &entry.found {
        Err(e) => {
            let failure = Failure::new(e, Some(Path::new(&entry.name)));
            json!({"name": entry.name, "state": "error", "error": failure})
        }
        Ok(found) => found.to_json(&entry.name),
    }
}
