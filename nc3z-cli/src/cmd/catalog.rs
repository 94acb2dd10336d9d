//! `nc3z catalog`, and `find --where`, which is answered from a catalogue: no other file is opened then. Other inputs are
//! described in memory first.

use super::failures::Failures;
use super::named::{self, Opens as _, of as named_of};
use super::offline::without_recalls;
use super::tree::Other;
use super::{targets, with_threads};
use crate::args::{CatalogArgs, FindArgs, OfflineArgs, OpenArgs};
use crate::exit::Exit;
use crate::output::message::InFileExt;
use crate::output::progress::{Interrupt, Progress};
use crate::output::streams::Stdout;
use crate::output::table::{Side, Table, count};
use crate::output::target::{Content, Target};
use crate::output::{failure, text};
use anyhow::{Result, bail};
use nc3z::opener::Kind;
use nc3z_collections::catalog::{self, Area, Catalog, Condition, Hit, Question, Unknown};
use nc3z_collections::tree::answers::hit_json;
use nc3z_collections::tree::has_changed;
use nc3z_collections::tree::index::{self, Failed, IndexInput, IndexOptions, Indexed};
use nc3z_collections::tree::members::is_member;
use nc3z_collections::tree::offline::{is_netcdf_name, is_offline};
use nc3z_format::spelling::suggest;
use nc3z_look::find::Pattern;
use nc3z_reader::Monitor as _;
use nc3z_reader::source::MemorySource;
use serde_json::json;
use std::collections::{BTreeSet, HashSet};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Endings of names of bundles that have no data on disk.
const BUNDLES: [&str; 3] = ["zip", "tar", "nc3z"];

/// The files that inputs name, with the failures and the other files of directories.
struct Gathered {
    inputs: Vec<IndexInput>,
    others: Vec<nc3z_collections::tree::Other>,
    /// The exit code of files that could not be found or read, and their number.
    failed: (Exit, usize),
}

/// Returns the files that the inputs name; directories and bundles are entered.
fn gather(paths: &[PathBuf], tape: &OfflineArgs, open: &OpenArgs) -> Result<Gathered> {
    // Looking into an offline file would recall it: its name tells.
    let is_wanted =
        |path: &Path| is_member(path, &BUNDLES) || !is_offline(path) && super::unbundle::is_bundle(path);
    let paths = super::url::expand(paths, &open.remote, &is_netcdf_name)?;
    let found = targets::list(&paths, true, &is_wanted)?;
    let failed = (Failures::new(&found.failures).worst(), found.failures.len());
    let mut inputs = Vec::new();
    // Catalogues among the files are about them.
    let is_data = |path: &PathBuf| !Catalog::is_name(&path.to_string_lossy());
    let files = found.files.into_iter().filter(is_data).collect();
    for path in without_recalls(files, PathBuf::as_path, tape)? {
        // A catalogue is for other users, too: the secrets used to open a file are not included.
        let name = super::url::shown(&path).into_owned();
        if super::unbundle::is_bundle(&path) {
            let bundle = super::member::open(&path, open)?;
            inputs.extend(IndexInput::members(&name, &bundle).in_file(&path)?);
        } else {
            inputs.push(IndexInput::file(path, name));
        }
    }
    if inputs.is_empty() {
        let others = Other::words(&found.others).map(|words| format!(": {words}")).unwrap_or_default();
        bail!("the inputs contain no archive and no classic file{others}");
    }
    Ok(Gathered { inputs, others: found.others, failed })
}

/// Writes the catalogue of all files.
pub(crate) fn write_catalog(args: &CatalogArgs) -> Result<Exit> {
    let is_stream = super::stdin::is(&args.output);
    if args.json && is_stream {
        refuse!("--json reports on standard output, where -o - writes the catalogue; name a file with -o");
    }
    if args.append {
        super::outputs::check_file(Some(&args.output), args.out.parents)?;
        if !args.output.exists() {
            let name = crate::cmd::shown(&args.output);
            bail!("`{name}` does not exist: leave out --append to write it");
        }
        if !is_catalog(&args.output) {
            let name = crate::cmd::shown(&args.output);
            bail!("`{name}` is not a catalogue, to which --append adds files: name one with -o");
        }
    } else {
        super::outputs::check(Some(&args.output), args.out.parents)?;
        if !is_stream {
            super::outputs::refuse_among(&args.inputs, &args.output)?;
            super::outputs::prepare_new(&args.output, args.out.force)?;
        }
    }
    let mut paths = args.inputs.clone();
    if let Some(list) = &args.files_from {
        paths.extend(targets::read_names(list, false)?);
    }
    let found = gather(&paths, &args.tape, &args.open)?;
    let worst = found.failed.0.max(super::tree::judge(&found.others, args.passed_over));
    let written = if args.append {
        append(&found.inputs, args)?
    } else {
        write(&found.inputs, (&args.output, args.out.force), *args.threads, &args.open)?
    };
    if args.json {
        let report = json!({
            "catalog": crate::cmd::shown(&args.output), "files": written.files, "original_bytes": written.original_len,
            "present": written.present, "passed_over": Other::to_json(&found.others),
            "failed": written.failed + found.failed.1, "errors": failure::reported(),
        });
        writeln!(Stdout::results(), "{}", serde_json::to_string_pretty(&report)?)?;
    } else if let Some(words) = Other::words(&found.others) {
        note!("nc3z: {words}");
    }
    Ok(worst.max(written.exit))
}

/// Catalogues, each with its name for messages.
pub(super) type Catalogs = Vec<(PathBuf, Catalog)>;

/// Opens the catalogues among the inputs, and describes all other inputs in memory, for which their values are read. The table of a
/// bundle is one of the catalogues if `tables` has a value, and it tells all that is asked for: statistics, if that is true.
pub(super) fn of_inputs(
    inputs: &[PathBuf],
    tape: &OfflineArgs,
    threads: usize,
    args: &OpenArgs,
    tables: Option<bool>,
) -> Result<(Catalogs, Exit)> {
    let (named, files): (Vec<_>, Vec<_>) = inputs.iter().cloned().partition(|path| is_catalog(path));
    let mut all: Catalogs = Vec::new();
    let mut data = Vec::new();
    for path in files {
        let table = tables.map(|statistics| of_bundle(&path, args, statistics)).transpose()?;
        match table.flatten() {
            Some(catalog) => all.push((path, catalog)),
            None => data.push(path),
        }
    }
    for path in named {
        let catalog = open(&path, args)?;
        all.push((path, catalog));
    }
    let Some(first) = data.first().cloned() else { return Ok((all, Exit::Done)) };
    let found = gather(&data, tape, args)?;
    let mut failures = Failures::default();
    let mut bytes = Vec::new();
    let Some(done) = describe(&found.inputs, &mut bytes, threads, args, &mut failures)? else {
        return Err(nc3z_reader::Error::interrupted().into());
    };
    if done.files > 0 {
        all.push((first, Catalog::open(Arc::new(MemorySource::new(bytes)))?));
    }
    Ok((all, found.failed.0.max(failures.worst())))
}

/// Returns the table of a bundle, if it tells all that is asked for.
fn of_bundle(path: &Path, args: &OpenArgs, statistics: bool) -> Result<Option<Catalog>> {
    if super::stdin::is(path) || !super::unbundle::is_bundle(path) {
        return Ok(None);
    }
    let bundle = super::member::open(path, args)?;
    let catalog = bundle.catalog(&super::url::shown(path)).in_file(path)?;
    let Some(catalog) = catalog else { return Ok(None) };
    Ok(catalog.is_complete(statistics).in_file(path)?.then_some(catalog))
}

/// Writes the catalogue of archives that were just written.
pub(super) fn of_archives(archives: Vec<PathBuf>, output: (&Path, bool), threads: usize) -> Result<Exit> {
    let input = |path: PathBuf| IndexInput::file(path.clone(), path.display().to_string());
    let inputs: Vec<IndexInput> = archives.into_iter().map(input).collect();
    Ok(write(&inputs, output, threads, &OpenArgs::default())?.exit)
}

/// The result of writing a catalogue.
struct Written {
    exit: Exit,
    /// The number of files that could not be read.
    failed: usize,
    files: u64,
    original_len: u64,
    /// The number of files that the catalogue had already.
    present: u64,
}

/// Writes the catalogue of files to `output`, which may exist if the second part of it is true. A file that cannot be read is
/// reported, and the others are still in the catalogue.
fn write(inputs: &[IndexInput], output: (&Path, bool), threads: usize, args: &OpenArgs) -> Result<Written> {
    let mut failures = Failures::default();
    let target = Target::create(output.0, output.1, Content::Binary)?;
    let done = describe(inputs, BufWriter::new(target.file()), threads, args, &mut failures)?;
    let mut written = Written::none(&failures);
    let Some(done) = done else { return Ok(Written { exit: Exit::Interrupted, ..written }) };
    // A catalogue of no file would only hide that none was read.
    if done.files == 0 {
        return Ok(written);
    }
    (written.files, written.original_len) = (done.files, done.original_len);
    let stored = text::size(target.file().metadata().map_or(0, |m| m.len()));
    target.commit()?;
    let (name, all) = (crate::cmd::shown(output.0), text::size(done.original_len));
    note!("{} of {all} -> {name}  {stored}", count(done.files, "file"));
    Ok(written)
}

impl Written {
    /// The result before any file was written.
    fn none(failures: &Failures) -> Self {
        Written { exit: failures.worst(), failed: failures.count(), files: 0, original_len: 0, present: 0 }
    }
}

/// Adds files to the catalogue that is the output.
fn append(inputs: &[IndexInput], args: &CatalogArgs) -> Result<Written> {
    let mut failures = Failures::default();
    let done = described(inputs, *args.threads, &args.open, &mut failures, |options, failed| {
        index::append(&args.output, inputs, options, failed).in_file(&args.output)
    })?;
    let mut written = Written::none(&failures);
    let Some(done) = done else { return Ok(Written { exit: Exit::Interrupted, ..written }) };
    (written.files, written.original_len, written.present) =
        (done.new.files, done.new.original_len, done.present);
    let (name, there) = (crate::cmd::shown(&args.output), count(done.present, "file"));
    if let Some(version) = done.version {
        let (files, all) = (count(done.new.files, "file"), text::size(done.new.original_len));
        let added = text::size(done.added_len);
        note!("{files} of {all} -> {name}@{version}  +{added}");
    }
    if done.present > 0 {
        note!("nc3z: {name} had {there} already");
    }
    Ok(written)
}

/// Writes the catalogue of files to `out`. None if the run was interrupted.
fn describe(
    inputs: &[IndexInput],
    out: impl Write + Send,
    threads: usize,
    args: &OpenArgs,
    failures: &mut Failures,
) -> Result<Option<Indexed>> {
    described(inputs, threads, args, failures, |options, failed| index::write(inputs, out, options, failed))
}

/// Calls `run` with the way to open and describe files.
fn described<T>(
    inputs: &[IndexInput],
    threads: usize,
    args: &OpenArgs,
    failures: &mut Failures,
    run: impl FnOnce(&IndexOptions<'_, anyhow::Error>, Failed<'_, anyhow::Error>) -> Result<T>,
) -> Result<T> {
    crate::cmd::begin_long_work(if inputs.len() > 1 { 1 } else { threads });
    // A file is counted when it is opened.
    let progress = Progress::counting(inputs.len(), "catalog");
    let open = |path: &Path| {
        progress.advance(1);
        named_of(path)?.open_dataset(args)
    };
    let mut failed = |path: &Path, e| failures.report(path, &e);
    let members = crate::registry::open_options();
    // The statistics are those of the values that a file has.
    let warn = |path: &Path, words: &str| {
        note!("nc3z: warning: {}: {}", crate::cmd::shown(path), text::safe(words));
    };
    let options = IndexOptions { threads, open: &open, members: &members, warn: &warn, monitor: &Interrupt };
    run(&options, &mut failed)
}

/// Returns whether a file is a catalogue; of a URL, whether its name says so.
pub(super) fn is_catalog(path: &Path) -> bool {
    match super::url::of(path) {
        Some(url) => Catalog::is_name(url.split(['?', '#']).next().unwrap_or_default()),
        None => named_of(path).is_ok_and(|name| name.member().is_none() && Catalog::is_at(name.file())),
    }
}

/// Splits `CATALOG!/FILE`. None where no catalogue is named.
pub(super) fn named(path: &Path) -> Option<(PathBuf, Option<String>)> {
    if let Some((catalog, member)) = path.to_str().and_then(|name| name.split_once("!/"))
        && is_catalog(Path::new(catalog))
    {
        return Some((catalog.into(), Some(member.to_owned())));
    }
    is_catalog(path).then(|| (path.to_owned(), None))
}

/// Opens a catalogue; at a URL, too.
pub(super) fn open(path: &Path, args: &OpenArgs) -> Result<Catalog> {
    let name = named_of(path)?;
    let source = name.source(args)?;
    let kind = Kind::from_source(&source)?;
    if kind == Kind::Bundle {
        let wrong = named::opener(path, args).wrong_kind(kind, Kind::Catalog, source, &name);
        return Err(nc3z_reader::Error::other(wrong).into());
    }
    Catalog::from_dataset(name.open_stored(args)?).in_file(path)
}

/// Returns the pattern, if the first of the words is one, and the inputs.
fn pattern_of(args: &FindArgs) -> Result<(Option<Pattern>, Vec<PathBuf>)> {
    let Some(first) = args.pattern.as_deref() else { return Ok((None, args.inputs.clone())) };
    let path = Path::new(first);
    let is_file =
        path.exists() || super::url::of(path).is_some() || Catalog::is_name(first) || is_catalog(path);
    if is_file {
        return Ok((None, std::iter::once(path.to_owned()).chain(args.inputs.iter().cloned()).collect()));
    }
    if args.inputs.is_empty() {
        bail!(
            "`{0}` does not exist; if it is the pattern, name files or catalogues after it: `nc3z find {0} --where CONDITION FILE`",
            text::safe(first)
        );
    }
    let Some(pattern) = Pattern::new(first) else {
        bail!("the pattern is empty; expected a part of a name, or ATTRIBUTE=VALUE")
    };
    Ok((Some(pattern), args.inputs.clone()))
}

/// Names the files whose values meet all conditions, as far as the catalogue tells.
pub(crate) fn find(args: &FindArgs) -> Result<Exit> {
    let area =
        args.area.as_ref().map(|a| Area { west: a.west, east: a.east, south: a.south, north: a.north });
    let question = Question { conditions: args.conditions.clone(), area, periods: args.time };
    let conditions = &question.conditions;
    let (pattern, inputs) = pattern_of(args)?;
    let mut out = Stdout::results();
    let (mut rows, mut hits) = (Vec::new(), 0);
    let mut unknown = Unknowns::default();
    let mut table = Table::new(&[("", Side::Left); 3]);
    let (opened, worst) =
        of_inputs(&inputs, &args.tape, *args.threads, &args.open, Some(!conditions.is_empty()))?;
    with_threads(*args.threads, || -> Result<()> {
        // A file that could not be read may have them.
        if worst == Exit::Done {
            check_variables(conditions, &opened)?;
        }
        for (path, catalog) in &opened {
            let found = catalog::find(catalog, &question, &|name, head| has_changed(path, name, head))
                .in_file(path)?;
            let mut named = HashSet::new();
            if let Some(pattern) = &pattern {
                super::find::of_catalog(path, catalog, pattern, &mut |name, _, _| {
                    named.insert(name.to_owned());
                    Ok(())
                })?;
            }
            for hit in found {
                let name = text::safe(&hit.file);
                let has_changed = hit.unknown.contains(&Unknown::Changed);
                if pattern.is_some() && !has_changed && !named.contains(&name) {
                    continue;
                }
                hits += 1;
                unknown.add(&hit);
                if *args.json {
                    rows.push(hit_json(&hit, conditions));
                } else if args.files_with_matches {
                    writeln!(out, "{name}")?;
                } else if !hit.unknown.is_empty() {
                    let why: Vec<_> = hit.unknown.iter().map(|why| why.words()).collect();
                    table.push(vec![name, format!("unknown: {}", why.join(", ")), String::new()]);
                } else if conditions.is_empty() {
                    table.push(vec![name, String::new(), String::new()]);
                } else {
                    for (c, (tiles, of)) in conditions.iter().zip(&hit.tiles) {
                        let tiles = format!("{} of {}", tiles.len(), count(*of as u64, "tile"));
                        table.push(vec![name.clone(), text::safe(&c.to_string()), tiles]);
                    }
                }
            }
        }
        Ok(())
    })??;
    if *args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
    }
    table.print(&mut out, "")?;
    out.flush()?;
    unknown.tell();
    Ok(worst.max(if hits == 0 { Exit::Failed } else { Exit::Done }))
}

/// The numbers of files of which the catalogue does not know whether they have what is asked for.
#[derive(Default)]
struct Unknowns([u64; 4]);

impl Unknowns {
    const KINDS: [Unknown; 4] = [Unknown::Place, Unknown::Time, Unknown::Values, Unknown::Changed];

    fn add(&mut self, hit: &Hit) {
        let each = self.0.iter_mut().zip(Self::KINDS);
        each.filter(|(_, kind)| hit.unknown.contains(kind)).for_each(|(n, _)| *n += 1);
    }

    fn tell(&self) {
        for (n, kind) in self.0.iter().zip(Self::KINDS).filter(|(n, _)| **n > 0) {
            let files = count(*n, "file");
            match kind {
                Unknown::Place => note!("of {files} the place is unknown; they are listed, too"),
                Unknown::Time => note!("of {files} the time is unknown; they are listed, too"),
                Unknown::Values => note!("of {files} some values are missing; they are listed, too"),
                Unknown::Changed => {
                    note!(
                        "{files} changed after the catalogue was made, and are listed, too; run `nc3z catalog` again"
                    );
                }
            }
        }
    }
}

/// Refuses conditions on variables that no file has, or that have no numbers.
fn check_variables(conditions: &[Condition], catalogs: &[(PathBuf, Catalog)]) -> Result<()> {
    for condition in conditions {
        let name = condition.variable();
        let mut found = None;
        for (path, catalog) in catalogs {
            let here = catalog.has_numbers(name);
            found = found.max(here.in_file(path)?);
        }
        match found {
            Some(true) => {}
            Some(false) => bail!("the variable `{}` has no numbers to compare", text::safe(name)),
            None => bail!(
                "no file has a variable `{}`{}",
                text::safe(name),
                suggestion(name, catalogs.iter().map(|s| &s.1))
            ),
        }
    }
    Ok(())
}

/// Returns which variable of some catalogues may be meant.
pub(super) fn suggestion<'s>(name: &str, catalogs: impl Iterator<Item = &'s Catalog>) -> String {
    let names: BTreeSet<&str> =
        catalogs.flat_map(|s| s.blocks().flat_map(|block| block.variables())).collect();
    suggest(name, names.into_iter().map(|name| text::safe(name).into()))
}

/// Warns of files that lacked values when they were described: the statistics are those of the others.
pub(super) fn tell_cut(path: &Path, catalog: &Catalog) -> Result<()> {
    let cut = catalog.cut_files().in_file(path)?;
    if let Some(first) = cut.first() {
        note!(
            "nc3z: warning: {}: values are missing in {}, such as `{}`; the statistics are those of the values that are there",
            crate::cmd::shown(path),
            count(cut.len() as u64, "file"),
            text::safe(first)
        );
    }
    Ok(())
}

/// Reports which files changed after they were indexed.
pub(super) fn tell_changed(path: &Path, catalog: &Catalog) -> Result<()> {
    let (mut n, mut first) = (0, None);
    for block in catalog.blocks() {
        for (name, (head, _)) in block.names()?.into_iter().zip(block.heads()?) {
            if has_changed(path, &name, &head) {
                n += 1;
                first.get_or_insert(name);
            }
        }
    }
    if let Some(first) = first {
        let files = count(n, "file");
        note!(
            "{files} changed after the catalogue was made, such as `{}`; run `nc3z catalog` again",
            text::safe(&first)
        );
    }
    Ok(())
}
