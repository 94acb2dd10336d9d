//! `nc3z find`: finds variables, dimensions and attributes in archives and classic files. Reads only headers.

use super::failures::Failures;
use super::named::{self, Opens as _};
use super::offline::without_recalls;
use super::{in_order_counted, targets};
use crate::args::FindArgs;
use crate::exit::Exit;
use crate::output::failure::Failure;
use crate::output::streams::Stdout;
use crate::output::table::{Side, Table};
use crate::output::text;
use anyhow::{Context, Result, bail};
use nc3z_collections::catalog::{Catalog, described};
use nc3z_collections::tree::offline::is_netcdf_name;
use nc3z_format::classic::Header;
use nc3z_look::find::{Match, MatchedPart, Pattern, known_by, matches, signature, to_json};
use serde_json::json;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The number of characters of an attribute's value that are shown.
const SHOWN: usize = 60;
pub(crate) fn run(args: &FindArgs) -> Result<Exit> {
    if !args.conditions.is_empty() || args.area.is_some() || args.time.is_some() {
        return super::catalog::find(args);
    }
    let text = args.pattern.as_deref().unwrap_or_default();
    let Some(pattern) = Pattern::new(text) else {
        bail!("the pattern is empty; expected a part of a name, or ATTRIBUTE=VALUE");
    };
    let all = super::url::expand(&args.inputs, &args.open.remote, &is_netcdf_name)?;
    let (catalogs, inputs): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|path| super::catalog::is_catalog(path));
    let found = targets::list(&inputs, true, &targets::is_netcdf)?;
    let found_files = without_recalls(found.files, PathBuf::as_path, &args.tape)?;
    let mut failures = Failures::new(&found.failures);
    let mut files = Vec::new();
    for path in found_files {
        match super::member::members(&path, &args.open) {
            Ok(Some(members)) => files.extend(members),
            Ok(None) => files.push(path),
            Err(e) => failures.report(&path, &e),
        }
    }
    let mut out = Stdout::results();
    let (mut rows, mut all) = (Vec::new(), 0);
    let mut table = Table::new(&[("", Side::Left); 5]);
    in_order_counted(
        &files,
        *args.threads,
        "find",
        |path| look(path, &pattern, args),
        |path, looked| {
            let name = text::safe(&super::url::shown(path));
            match looked {
                Err(e) => {
                    failures.report(path, &e);
                    rows.push(json!({"file": name, "error": Failure::new(&e, Some(path))}));
                }
                Ok((_, hits)) if hits.is_empty() => {}
                Ok((header, hits)) => {
                    all += hits.len();
                    if *args.json {
                        rows.push(to_json(&name, &header, &hits));
                    } else if args.files_with_matches {
                        writeln!(out, "{name}")?;
                    } else {
                        hits.iter().for_each(|hit| table.push(row(&name, &header, hit)));
                    }
                }
            }
            Ok(())
        },
    )?;
    for path in &catalogs {
        let catalog = super::catalog::open(path, &args.open)?;
        super::catalog::tell_changed(path, &catalog)?;
        of_catalog(path, &catalog, &pattern, &mut |name, header, hits| {
            all += hits.len();
            if *args.json {
                rows.push(to_json(name, header, hits));
            } else if args.files_with_matches {
                writeln!(out, "{name}")?;
            } else {
                hits.iter().for_each(|hit| table.push(row(name, header, hit)));
            }
            Ok(())
        })?;
    }
    if *args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
    }
    table.print(&mut out, "")?;
    out.flush()?;
    // Like grep.
    let least = if all == 0 { Exit::Failed } else { Exit::Done };
    Ok(failures.worst().max(least))
}

/// Searches the headers in a catalogue, each once. `tell` gets the files with matches.
pub(super) fn of_catalog(
    path: &Path,
    catalog: &Catalog,
    pattern: &Pattern,
    tell: &mut dyn FnMut(&str, &Header, &[Match]) -> Result<()>,
) -> Result<()> {
    let place = || format!("`{}`", super::url::shown(path));
    for block in catalog.blocks() {
        let (names, heads) = (block.names().with_context(place)?, block.heads().with_context(place)?);
        let headers = block.headers().with_context(place)?;
        let mut known: HashMap<usize, (Header, Vec<Match>)> = HashMap::new();
        for (name, (head, number)) in names.iter().zip(&heads) {
            let hits = match known.entry(*number) {
                Entry::Occupied(hits) => hits.into_mut(),
                Entry::Vacant(vacant) => {
                    let bytes =
                        headers.get(*number).context("the catalogue does not have a header that it names")?;
                    let dataset = described(head, bytes, Vec::new()).with_context(place)?;
                    vacant.insert((dataset.header().clone(), matches(&dataset, pattern)))
                }
            };
            if !hits.1.is_empty() {
                tell(&text::safe(name), &hits.0, &hits.1)?;
            }
        }
    }
    Ok(())
}

/// Returns the matches in one file.
fn look(path: &Path, pattern: &Pattern, args: &FindArgs) -> Result<(Header, Vec<Match>)> {
    let dataset = named::of(path)?.open_dataset(&args.open)?;
    Ok((dataset.header().clone(), matches(&dataset, pattern)))
}

fn row(file: &str, header: &Header, hit: &Match) -> Vec<String> {
    let variable = hit.variable.map_or_else(|| "-".to_owned(), |id| signature(header, id));
    let units = hit.variable.and_then(|id| known_by(header, id, b"units"));
    let units = units.map_or_else(|| "-".to_owned(), |units| short(&units));
    let (key, value) = match &hit.what {
        MatchedPart::Name => {
            let id = hit.variable.unwrap_or_default();
            let said = known_by(header, id, b"standard_name").or_else(|| known_by(header, id, b"long_name"));
            ("variable".to_owned(), said.unwrap_or_default())
        }
        MatchedPart::Dimension { name, len } => ("dimension".to_owned(), format!("{name} = {len}")),
        MatchedPart::Attribute { name, value } => (name.clone(), value.clone()),
    };
    vec![file.to_owned(), variable, units, key, short(&value)]
}

fn short(value: &str) -> String {
    match value.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &value[..at]),
        None => value.to_owned(),
    }
}
