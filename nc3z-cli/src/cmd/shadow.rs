//! `nc3z index`, and `find --where`, which is answered from its result. No file but the shadow is opened then.

use super::named::Named;
use super::{in_order, targets, with_threads};
use crate::args::{FindArgs, IndexArgs, OpenArgs};
use crate::exit::{Exit, of_error};
use crate::output::progress::interrupted;
use crate::output::streams::Stdout;
use crate::output::table::{Side, Table, count};
use crate::output::target::{Content, Target};
use crate::output::{report_error, text};
use crate::specification;
use anyhow::{Context, Result, bail};
use nc3z_aggregate::bundle::Bundle;
use nc3z_aggregate::shadow::{self, Area, Location, Member, Question, Shadow, Writer, scan};
use nc3z_reader::source::SharedSource;
use nc3z_reader::{Dataset, Error};
use serde_json::json;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file to look at.
struct Job {
    name: String,
    path: PathBuf,
    /// The bundle that has it, and its name there.
    bundle: Option<(Arc<Bundle>, String)>,
}

/// Writes the shadow of all files.
pub(crate) fn index(args: &IndexArgs) -> Result<Exit> {
    super::places::check(Some(&args.output), args.place.parents)?;
    let is_wanted = |path: &Path| targets::is_netcdf(path) || super::unbundle::is_bundle(path);
    let mut inputs = args.inputs.clone();
    if let Some(list) = &args.files_from {
        inputs.extend(targets::read_names(list, false)?);
    }
    let found = targets::list(&inputs, true, &is_wanted)?;
    let mut worst = Exit::Done;
    for (path, e) in &found.failures {
        report_error(Some(path), e);
        worst = worst.max(of_error(e));
    }
    let mut jobs = Vec::new();
    for path in found.files {
        // The shadow is for other users, too: the secrets used to open a file are not included.
        let name = super::url::shown(&path).into_owned();
        if !super::unbundle::is_bundle(&path) {
            jobs.push(Job { name, path, bundle: None });
            continue;
        }
        let bundle = super::member::open(&path, &args.open)?;
        for member in bundle.names().iter().filter(|member| !specification::is_part(member)) {
            let name = format!("{name}!/{member}");
            let path = PathBuf::from(&name);
            jobs.push(Job { name, path, bundle: Some((Arc::clone(&bundle), member.clone())) });
        }
    }
    if jobs.is_empty() {
        bail!("the inputs contain no archive and no classic file");
    }
    Ok(worst.max(write(&jobs, (&args.output, args.force), args.threads, &args.open)?))
}

/// Checks that a shadow can be written to `output`, before the work that comes first.
pub(super) fn check(output: &Path, force: bool) -> Result<()> {
    super::places::prepare(output)?;
    if output.exists() && !force {
        return Err(nc3z_writer::Error::from(nc3z_writer::ErrorKind::Exists(output.to_owned())).into());
    }
    Ok(())
}

/// Writes the shadow of archives that were just written.
pub(super) fn of_archives(archives: Vec<PathBuf>, output: (&Path, bool), threads: usize) -> Result<Exit> {
    let job = |path: PathBuf| Job { name: path.display().to_string(), path, bundle: None };
    let jobs: Vec<Job> = archives.into_iter().map(job).collect();
    write(&jobs, output, threads, &OpenArgs::default())
}

/// Writes the shadow of files to `output`, which may exist if the second part of it is true. A file that cannot be read is
/// reported, and the others are still in the shadow.
fn write(jobs: &[Job], (output, force): (&Path, bool), threads: usize, open: &OpenArgs) -> Result<Exit> {
    let mut worst = Exit::Done;
    let target = Target::create(output, force, Content::Binary)?;
    let mut writer = Writer::new(BufWriter::new(target.file()))?;
    let (mut files, mut len) = (0_u64, 0_u64);
    in_order(
        jobs,
        threads,
        |job| if interrupted() { Err(Error::interrupted().into()) } else { look(job, open) },
        |job, member| {
            match member {
                Ok(member) => {
                    (files, len) = (files + 1, len.saturating_add(member.head.len));
                    writer.push(member)?;
                }
                Err(e) => {
                    worst = worst.max(of_error(&e));
                    report_error(Some(&job.path), &e);
                }
            }
            Ok(())
        },
    )?;
    // A shadow of no file would only hide that none was read.
    if worst == Exit::Interrupted || files == 0 {
        return Ok(worst);
    }
    writer.finish()?.flush().context("write the shadow")?;
    let stored = text::size(target.file().metadata().map_or(0, |m| m.len()));
    target.commit()?;
    let (name, all) = (crate::cmd::shown(output), text::size(len));
    note!("{} of {all} -> {name}  {stored}", count(files, "file"));
    Ok(worst)
}

fn look(job: &Job, open: &OpenArgs) -> Result<Member> {
    let Some((bundle, member)) = &job.bundle else {
        let dataset = Named { file: job.path.clone(), version: None }.open_dataset(open)?;
        let stored = std::fs::metadata(&job.path).map_or(0, |m| m.len());
        return Ok(scan(&job.name, &dataset, Location { stored, ..Location::default() })?);
    };
    let missing = "it is not there";
    let source: SharedSource = bundle.member(member)?.context(missing)?;
    let (offset, stored, packed) = bundle.location(member)?.context(missing)?;
    let dataset = Dataset::from_source(source, &crate::registry::open_options())?;
    Ok(scan(&job.name, &dataset, Location { offset, stored, packed })?)
}

/// Returns whether a file is a shadow; of a URL, whether its name says so.
pub(super) fn is_shadow(path: &Path) -> bool {
    match super::url::of(path) {
        Some(url) => {
            let name = Path::new(url.split(['?', '#']).next().unwrap_or_default());
            name.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("nc3x"))
        }
        None => targets::first_bytes(path).is_ok_and(|bytes| Shadow::is_shadow(&bytes)),
    }
}

/// Splits `SHADOW!/FILE`. None where no shadow is named.
pub(super) fn named(path: &Path) -> Option<(PathBuf, Option<String>)> {
    if let Some((shadow, member)) = path.to_str().and_then(|name| name.split_once("!/"))
        && is_shadow(Path::new(shadow))
    {
        return Some((shadow.into(), Some(member.to_owned())));
    }
    is_shadow(path).then(|| (path.to_owned(), None))
}

/// Opens a shadow; at a URL, too.
pub(super) fn open(path: &Path, args: &OpenArgs) -> Result<Shadow> {
    let source = Named { file: path.to_owned(), version: None }.source(args)?;
    Shadow::open(source).with_context(|| format!("`{}`", super::url::shown(path)))
}

/// Names the files whose values meet all conditions, as far as the shadow tells.
pub(crate) fn find(args: &FindArgs) -> Result<Exit> {
    let area =
        args.area.as_ref().map(|a| Area { west: a.west, east: a.east, south: a.south, north: a.north });
    let question = Question { conditions: args.conditions.clone(), area, periods: args.time };
    let conditions = &question.conditions;
    let first = args.pattern.iter().map(PathBuf::from);
    let shadows: Vec<PathBuf> = first.chain(args.inputs.iter().cloned()).collect();
    let mut out = Stdout::results();
    let (mut rows, mut hits) = (Vec::new(), 0);
    let mut table = Table::new(&[("", Side::Left); 3]);
    with_threads(args.threads, || -> Result<()> {
        for path in &shadows {
            let found = shadow::find(&open(path, &args.open)?, &question)
                .with_context(|| format!("`{}`", super::url::shown(path)))?;
            for hit in found {
                hits += 1;
                let name = text::safe(&hit.file);
                if args.json {
                    let each = conditions.iter().zip(&hit.tiles);
                    let each = each.map(|(c, (tiles, of))| {
                        json!({"condition": c.to_string(), "variable": text::safe(c.variable()), "tiles": tiles, "of": of})
                    });
                    rows.push(json!({"file": name, "conditions": each.collect::<Vec<_>>()}));
                } else if args.files_with_matches || conditions.is_empty() {
                    writeln!(out, "{name}")?;
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
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
    }
    table.print(&mut out, "")?;
    out.flush()?;
    Ok(if hits == 0 { Exit::Failed } else { Exit::Done })
}
