//! `nc3z index` and what is answered from its result: `stats`, and `find --where`. No file but the shadow is opened then.

use super::named::Named;
use super::{in_order, targets, with_threads};
use crate::args::{FindArgs, IndexArgs, OpenArgs, StatsArgs};
use crate::exit::{Exit, of_error};
use crate::output::progress::interrupted;
use crate::output::streams::Stdout;
use crate::output::table::{Side, Table, count};
use crate::output::{report_error, text};
use crate::specification;
use anyhow::{Context, Result, bail};
use nc3z_aggregate::bundle::Bundle;
use nc3z_aggregate::shadow::{Condition, Member, Shadow, Summary, scan};
use nc3z_reader::source::SharedSource;
use nc3z_reader::{Dataset, Error};
use nc3z_writer::AtomicFile;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
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
    super::places::prepare(&args.output)?;
    let is_wanted = |path: &Path| targets::is_netcdf(path) || super::unbundle::is_bundle(path);
    let found = targets::list(&args.inputs, true, &is_wanted)?;
    let mut worst = Exit::Done;
    for (path, e) in &found.failures {
        report_error(Some(path), e);
        worst = worst.max(of_error(e));
    }
    let mut jobs = Vec::new();
    for path in found.files {
        let name = path.display().to_string();
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
    let mut members = Vec::with_capacity(jobs.len());
    in_order(
        &jobs,
        args.threads,
        |job| if interrupted() { Err(Error::interrupted().into()) } else { look(job, &args.open) },
        |job, member| {
            match member {
                Ok(member) => members.push(member),
                Err(e) => {
                    worst = worst.max(of_error(&e));
                    report_error(Some(&job.path), &e);
                }
            }
            Ok(())
        },
    )?;
    if worst == Exit::Interrupted {
        return Ok(worst);
    }
    let (files, len) = (members.len() as u64, members.iter().map(|m| m.len).sum());
    let bytes = Shadow::new(members).to_bytes()?;
    let target = AtomicFile::create_with_mode(&args.output, args.force, 0o666)?;
    target.file().write_all(&bytes).context("write the shadow")?;
    target.commit(None)?;
    let name = crate::cmd::shown(&args.output);
    let (stored, all) = (text::size(bytes.len() as u64), text::size(len));
    note!("{} of {all} -> {name}  {stored}", count(files, "file"));
    Ok(worst)
}

fn look(job: &Job, open: &OpenArgs) -> Result<Member> {
    let (dataset, stored) = match &job.bundle {
        None => {
            let dataset = Named { file: job.path.clone(), version: None }.open_dataset(open)?;
            let stored = std::fs::metadata(&job.path).map_or(0, |m| m.len());
            (dataset, stored)
        }
        Some((bundle, member)) => {
            let source: SharedSource = bundle.member(member)?.context("it is not there")?;
            let stored = source.len();
            (Dataset::from_source(source, &crate::registry::open_options())?, stored)
        }
    };
    Ok(scan(&job.name, &dataset, stored)?)
}

fn read(path: &Path) -> Result<Shadow> {
    let bytes = std::fs::read(path).with_context(|| format!("open `{}`", path.display()))?;
    Shadow::from_bytes(&bytes).with_context(|| format!("`{}`", path.display()))
}

/// Statistics of variables.
pub(crate) fn stats(args: &StatsArgs) -> Result<Exit> {
    let shadow = read(&args.shadow)?;
    // By file, if each is asked for, and by the variable's name.
    let mut all: BTreeMap<(&str, &str), (Summary, &str)> = BTreeMap::new();
    for member in &shadow.members {
        for variable in member.variables.iter().filter(|v| !v.tiles.is_empty()) {
            if !args.variables.is_empty() && !args.variables.contains(&variable.name) {
                continue;
            }
            let units = variable.attributes.get("units").map_or("", String::as_str);
            let file = if args.each { member.name.as_str() } else { "" };
            let entry = all.entry((file, &variable.name)).or_insert_with(|| (Summary::default(), units));
            if entry.1 != units {
                entry.1 = "(several)";
            }
            entry.0.add(variable);
        }
    }
    let known = |name: &&String| !all.keys().any(|(_, variable)| variable == name);
    if let Some(missing) = args.variables.iter().find(known) {
        bail!("no file of `{}` has values of a variable `{}`", args.shadow.display(), text::safe(missing));
    }
    let mut out = Stdout::results();
    if args.json {
        let rows: Vec<Value> =
            all.iter().map(|((file, name), (s, units))| row(file, name, units, s)).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
        out.flush()?;
        return Ok(Exit::Done);
    }
    let right = |title| (title, Side::Right);
    let mut columns =
        vec![("variable", Side::Left), right("files"), right("values"), right("min"), right("max")];
    columns.extend([right("mean"), right("deviation"), ("units", Side::Left)]);
    if args.each {
        columns.insert(0, ("file", Side::Left));
        columns.remove(2);
    }
    let mut table = Table::new(&columns);
    let number = |x: Option<f64>| x.map_or_else(String::new, |x| x.to_string());
    for ((file, name), (s, units)) in &all {
        let mut cells = vec![text::safe(name), s.files.to_string(), s.count.to_string(), number(s.min)];
        cells.extend([
            number(s.max),
            number(s.mean().map(|m| m.0)),
            number(s.deviation()),
            text::safe(units),
        ]);
        if args.each {
            cells.remove(1);
            cells.insert(0, text::safe(file));
        }
        table.push(cells);
    }
    table.print(&mut out, "")?;
    out.flush()?;
    Ok(Exit::Done)
}

fn row(file: &str, name: &str, units: &str, s: &Summary) -> Value {
    let mut row = json!({
        "variable": text::safe(name), "units": text::safe(units), "files": s.files, "count": s.count, "infinite": s.infinite,
        "min": s.min, "max": s.max, "mean": s.mean().map(|m| m.0), "mean_error_bound": s.mean().map(|m| m.1),
        "standard_deviation": s.deviation(),
    });
    if !file.is_empty() {
        row["file"] = text::safe(file).into();
    }
    row
}

/// Names the files whose values meet all conditions, as far as the shadow tells.
pub(crate) fn find(args: &FindArgs, conditions: &[Condition]) -> Result<Exit> {
    let first = args.pattern.iter().map(PathBuf::from);
    let shadows: Vec<PathBuf> = first.chain(args.inputs.iter().cloned()).collect();
    let mut out = Stdout::results();
    let (mut rows, mut hits) = (Vec::new(), 0);
    let mut table = Table::new(&[("", Side::Left); 3]);
    with_threads(args.threads, || -> Result<()> {
        for path in &shadows {
            for member in &read(path)?.members {
                let found: Option<Vec<_>> = conditions.iter().map(|c| c.tiles(member)).collect();
                let Some(found) = found.filter(|all| all.iter().all(|(tiles, _)| !tiles.is_empty())) else {
                    continue;
                };
                hits += 1;
                let name = text::safe(&member.name);
                if args.json {
                    let each = conditions.iter().zip(&found);
                    let each = each.map(|(c, (tiles, of))| {
                        json!({"condition": c.to_string(), "variable": text::safe(c.variable()), "tiles": tiles, "of": of})
                    });
                    rows.push(json!({"file": name, "conditions": each.collect::<Vec<_>>()}));
                } else if args.files_with_matches {
                    writeln!(out, "{name}")?;
                } else {
                    for (c, (tiles, of)) in conditions.iter().zip(&found) {
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
