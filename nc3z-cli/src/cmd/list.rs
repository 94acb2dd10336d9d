//! `nc3z list`: lists the files of a directory, a bundle or an aggregation, one in each line.

use super::named::{self, Opens as _};
use super::offline::without_recalls;
use super::targets;
use super::unbundle::is_bundle;
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
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use tempfile::SpooledTempFile;

/// Columns that are cut, or removed from the last on, if the terminal is narrow.
const FLEXIBLE: [&str; 4] = ["time", "variables", "dimensions", "other ranges"];

/// The number of files that are described at a time. Each is then a row: descriptions of all files of a large tree would not fit memory.
const AT_A_TIME: usize = 1024;

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
    let has_prefix = args.inputs.iter().any(|input| super::url::is_prefix(input));
    let threads = if has_prefix && *args.threads == 0 { super::url::REQUESTS } else { *args.threads };
    let mut out = Stdout::results();
    let mut listed = Listed::new(args, (!args.wide).then(|| out.width()))?;
    super::with_threads(threads, || {
        let mut files = Vec::new();
        super::url::check_credentials(&args.inputs, &args.remote)?;
        for input in targets::expand(&args.inputs)? {
            if super::url::is_prefix(&input.path) {
                let found = super::url::objects(&input.path, &args.remote, &is_netcdf_name)?;
                let is_file = |path: &Path| !super::catalog::is_catalog(path) && !is_bundle(path);
                files.extend(found.into_iter().map(|path| (is_file(&path), path)));
            } else if input.path.is_dir() {
                files.extend(targets::netcdf_files(&input.path)?.into_iter().map(|path| (true, path)));
            } else {
                files.push((false, input.path));
            }
        }
        let files = without_recalls(files, |(_, path)| path, &args.tape)?;
        for run in files.chunk_by(|a, b| a.0 && b.0) {
            list(run, args, &mut |entry| listed.add(&entry))?;
        }
        Ok::<_, anyhow::Error>(())
    })??;
    let worst = listed.print(&mut out)?;
    out.flush()?;
    Ok(worst)
}

/// Receives the entries in their order.
type Emit<'a> = &'a mut dyn FnMut(Entry) -> Result<()>;

/// Describes items in parallel, a part of them at a time.
fn each<T: Sync>(items: &[T], entry: impl Fn(&T) -> Entry + Sync, emit: Emit<'_>) -> Result<()> {
    for part in items.chunks(AT_A_TIME) {
        let found: Vec<Entry> = part.par_iter().map(&entry).collect();
        found.into_iter().try_for_each(&mut *emit)?;
    }
    Ok(())
}

/// Lists files of directories and of stores, of which the first part is true, or one named file.
fn list(files: &[(bool, PathBuf)], args: &ListArgs, emit: Emit<'_>) -> Result<()> {
    let name = |path: &Path| crate::cmd::shown(path);
    let input = match files {
        [(false, input)] => input.as_path(),
        files => {
            let progress = Progress::counting(files.len(), "list");
            let entry = |(_, path): &(bool, PathBuf)| {
                let found = of_path(path, args).map(|found| found.0);
                progress.advance(1);
                Entry { name: name(path), found }
            };
            return each(files, entry, emit);
        }
    };
    if super::catalog::is_catalog(input) {
        let catalog = super::catalog::open(input, &open_args(args))?;
        super::catalog::tell_changed(input, &catalog)?;
        for block in of_catalog(&catalog) {
            for (name, found) in block? {
                emit(Entry { name, found: found.map_err(super::unbundle::of_aggregate) })?;
            }
        }
        return Ok(());
    }
    let named = named::of(input)?;
    let source = named.source(&open_args(args))?;
    if named.member().is_none() && is_bundle(input) {
        let bundle = super::member::open(input, &open_args(args))?;
        let names = bundle.names().in_file(input)?.iter();
        let data: Vec<&String> = names.filter(|member| !is_specification(member)).collect();
        let entry = |member: &&String| {
            let found = bundle.member(member).map_err(super::unbundle::of_aggregate).and_then(|source| {
                let source = source.ok_or_else(|| anyhow::anyhow!("it is not there"))?;
                Ok(of_source(source, &input.join(member), args, true)?.0)
            });
            Entry { name: text::safe(member), found }
        };
        return each(&data, entry, emit);
    }
    let (found, dataset) = match of_source(source, input, args, false) {
        Ok(found) => found,
        Err(e) => return emit(Entry { name: name(input), found: Err(e) }),
    };
    emit(Entry { name: name(input), found: Ok(found) })?;
    let Some(aggregation) = as_aggregation(&dataset) else { return Ok(()) };
    let uris: Vec<_> = aggregation.uris()?.into_iter().collect();
    let entry = |(uri, fingerprint): &(String, Option<String>)| {
        let opened = aggregation.fragments().open(&FileRef::Uri(uri.clone()), fingerprint.as_deref());
        let found = opened.map_err(Into::into).and_then(|dataset| {
            let dataset = dataset.ok_or_else(|| anyhow::anyhow!("it is not there"))?;
            let bytes = dataset.archive().map_or(dataset.original_len(), nc3z_reader::Archive::stored_len);
            Ok(describe(&dataset, bytes)?)
        });
        Entry { name: crate::cmd::shown(Path::new(uri)), found }
    };
    each(&uris, entry, emit)
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
    let source = match super::url::of(path) {
        Some(_) => named::of(path)?.source(&open_args(args))?,
        None => source::open(path, false)?,
    };
    of_source(source, path, args, false)
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

/// The list as it is printed at the end: rows of a table, or JSON in a temporary file.
struct Listed {
    /// The width of the terminal. None for a table that is not fitted to it.
    width: Option<usize>,
    table: Table,
    json: Option<SpooledTempFile>,
    /// Names with their errors, which follow the table on a terminal, since they are longer than a line.
    errors: Vec<(String, String)>,
    worst: Exit,
}

/// Bytes of JSON that are kept in memory.
const JSON_IN_MEMORY: usize = 1 << 20;

impl Listed {
    fn new(args: &ListArgs, width: Option<usize>) -> Result<Self> {
        let table = Table::new(&[
            ("name", Side::Left),
            ("kind", Side::Left),
            ("size", Side::Right),
            ("ratio", Side::Right),
            ("variables", Side::Left),
            ("dimensions", Side::Left),
            ("time", Side::Left),
            ("other ranges", Side::Left),
            ("state", Side::Left),
        ]);
        let mut json = (*args.json).then(|| SpooledTempFile::new(JSON_IN_MEMORY));
        json.iter_mut().try_for_each(|json| json.write_all(b"["))?;
        Ok(Listed { width, table, json, errors: Vec::new(), worst: Exit::Done })
    }

    fn add(&mut self, entry: &Entry) -> Result<()> {
        if let Err(e) = &entry.found {
            self.worst = self.worst.max(of_error(e));
        }
        if let Some(json) = &mut self.json {
            let separator = if json.stream_position()? == 1 { "\n  " } else { ",\n  " };
            let text = serde_json::to_string_pretty(&to_json(entry))?.replace('\n', "\n  ");
            return Ok(write!(json, "{separator}{text}")?);
        }
        let name = entry.name.as_str();
        let f = match &entry.found {
            Ok(found) => found,
            Err(e) => {
                let words = message::of(e, Some(Path::new(name)));
                let state = if self.width.is_some() { "error" } else { &words };
                self.table.push([name, "", "", "", "", "", "", "", state]);
                if self.width.is_some() {
                    self.errors.push((name.to_owned(), words));
                }
                return Ok(());
            }
        };
        let dims: Vec<String> = f.dimensions.iter().map(|(n, len)| format!("{n}={len}")).collect();
        let time = f.time().map_or_else(
            String::new,
            |(a, b)| {
                if a == b { a.clone() } else { format!("{a} to {b}") }
            },
        );
        let ratio = if f.kind == "archive" { text::ratio(f.original, f.bytes) } else { String::new() };
        let (size, names, ranges) = (text::size(f.bytes), f.variable_names(), f.other_ranges());
        self.table.push([name, f.kind, &size, &ratio, &names, &dims.join(" "), &time, &ranges, "ok"]);
        Ok(())
    }

    /// Prints the list. Returns the worst result of a file.
    fn print(mut self, out: &mut dyn Write) -> Result<Exit> {
        if let Some(mut json) = self.json {
            let end: &[u8] = if json.stream_position()? == 1 { b"]\n" } else { b"\n]\n" };
            json.write_all(end)?;
            json.rewind()?;
            io::copy(&mut json, out)?;
            return Ok(self.worst);
        }
        let Some(width) = self.width else {
            self.table.print_ragged(out)?;
            return Ok(self.worst);
        };
        if self.worst == Exit::Done {
            self.table.remove("state");
        }
        self.table.fit(width, &FLEXIBLE);
        self.table.print(out, "")?;
        for (name, words) in &self.errors {
            let words = words.strip_prefix(&format!("`{name}`: ")).unwrap_or(words);
            write!(out, "\n{}", wrapped(&format!("{name}: {words}"), width))?;
        }
        Ok(self.worst)
    }
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
