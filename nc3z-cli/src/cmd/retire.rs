//! `nc3z retire` and `nc3z reconcile`: originals that are given up, and a catalogue compared with archives.

use super::outputs;
use crate::args::{ReconcileArgs, RetireArgs};
use crate::exit::{Exit, of_error};
use crate::output::progress::Progress;
use crate::output::streams::Stdout;
use crate::output::table::count;
use crate::output::target::{Content, Target};
use crate::output::{report_error, set_level, text};
use anyhow::{Context, Result, bail};
use nc3z_collections::tree::campaign::reconcile::{Columns, Reconciled, Reconciling, reconcile as compare};
use nc3z_collections::tree::campaign::retire::{Retired, Trash, Watch};
use nc3z_reader::Monitor;
use serde_json::json;
use std::cell::Cell;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// The number of files of each result that are listed for people.
const LISTED: usize = 20;

struct ConsoleObserver {
    progress: Progress,
    verb: &'static str,
    done: Cell<(u64, u64)>,
    worst: Cell<Exit>,
}

impl Watch for ConsoleObserver {
    fn monitor(&self) -> &dyn Monitor {
        &self.progress
    }

    fn done(&self, file: &Retired) {
        let (files, bytes) = self.done.get();
        self.done.set((files + 1, bytes.saturating_add(file.size)));
        tell!("{}: {}", crate::cmd::shown(&file.original), self.verb);
    }

    fn failed(&self, path: &Path, error: nc3z_collections::tree::Error) {
        let error = anyhow::Error::from(error);
        self.worst.set(self.worst.get().max(of_error(&error)));
        report_error(Some(path), &error);
    }
}

/// Moves originals into a trash, deletes them, or puts them back.
pub(crate) fn retire(args: &RetireArgs) -> Result<Exit> {
    set_level(&args.tell);
    outputs::check_file(Some(&args.trash), true)?;
    let verb = match () {
        () if args.undo => "put back",
        () if args.purge && args.yes => "deleted",
        () if args.purge => "would be deleted",
        () => "moved into the trash",
    };
    let console = ConsoleObserver {
        progress: Progress::new(0, "retire".to_owned()),
        verb,
        done: Cell::new((0, 0)),
        worst: Cell::new(Exit::Done),
    };
    let open = crate::registry::open_options();
    let mut trash = Trash::open(&args.trash, !args.purge && !args.undo)?;
    match &args.paths[..] {
        names if args.undo => trash.undo(names, &console),
        [] if args.purge => trash.purge(args.after, args.yes, &open, &console),
        [data, archives] if !args.purge => trash.retire(data, archives, &open, &console)?,
        _ if args.purge => refuse!("--purge takes no files: it deletes from the trash what is old enough"),
        _ => bail!("name the directory of the originals and that of their archives"),
    }
    let (files, bytes) = console.done.get();
    let left = trash.files().count() as u64;
    let hint = if args.purge && !args.yes && files > 0 { "; --yes deletes them" } else { "" };
    note!(
        "nc3z: {} {verb}, {}; {} in the trash{hint}",
        count(files, "file"),
        text::size(bytes),
        count(left, "file")
    );
    Ok(if crate::output::signals::interrupted() { Exit::Interrupted } else { console.worst.get() })
}

/// Compares a catalogue with archives.
pub(crate) fn reconcile(args: &ReconcileArgs) -> Result<Exit> {
    outputs::check(args.write.as_deref(), false)?;
    let mut columns = Columns::preset(&args.preset).with_context(|| {
        format!("unknown preset `{}`; expected plain, esgf or intake-esm", text::safe(&args.preset))
    })?;
    if let Some(names) = &args.columns {
        let parts: Vec<&str> = names.split(',').collect();
        let [path, rest @ ..] = &parts[..] else { refuse!("--columns names path, size and checksum") };
        let name = |n: usize| rest.get(n).filter(|name| !name.is_empty()).map(|name| (*name).to_owned());
        columns = Columns { path: (*path).to_owned(), size: name(0), checksum: name(1) };
    }
    let open = crate::registry::open_options();
    let how = Reconciling {
        catalogue: &args.catalogue,
        columns: &columns,
        root: args.root.as_deref(),
        by_name: args.by_name,
        archives: &args.archives,
        open: &open,
    };
    let target =
        args.write.as_deref().map(|path| Target::create(path, args.force, Content::Text)).transpose()?;
    let found = match &target {
        None => compare(&how, None)?,
        Some(target) => {
            let mut table = BufWriter::new(target.file());
            let found = compare(&how, Some(&mut table))?;
            table.flush().context("write the table")?;
            found
        }
    };
    let mut out = BufWriter::new(Stdout::verdicts());
    if *args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&to_json(&found))?)?;
    } else {
        tell_reconciled(&found, &mut out)?;
    }
    out.flush()?;
    target.map_or(Ok(()), Target::commit)?;
    let mut worst = if found.is_same() { Exit::Done } else { Exit::Failed };
    for (path, error) in found.failures {
        let error = anyhow::Error::from(error);
        worst = worst.max(of_error(&error));
        report_error(Some(&path), &error);
    }
    Ok(worst)
}

fn tell_reconciled(found: &Reconciled, out: &mut impl Write) -> Result<()> {
    writeln!(
        out,
        "{} matched, {} missing, {} extra, {} different",
        found.matched, found.missing.0, found.extra.0, found.different.0
    )?;
    if found.not_compared > 0 {
        writeln!(
            out,
            "{} without a digest of the same kind in catalogue and archive; the lengths that the catalogue has agree",
            count(found.not_compared, "file")
        )?;
    }
    let lists = [
        ("missing", &found.missing, "no archive"),
        ("extra", &found.extra, "not in the catalogue"),
        ("twice", &found.twice, "twice in the catalogue"),
    ];
    for (_, (all, paths), why) in lists {
        for path in paths.iter().take(LISTED) {
            writeln!(out, "{}: {why}", crate::cmd::shown(path))?;
        }
        if *all > LISTED as u64 {
            writeln!(out, "and {} more: {why}", all - LISTED as u64)?;
        }
    }
    for (path, why) in found.different.1.iter().take(LISTED) {
        writeln!(out, "{}: {}", crate::cmd::shown(path), text::safe(why))?;
    }
    if found.different.0 > LISTED as u64 {
        writeln!(out, "and {} more that are different", found.different.0 - LISTED as u64)?;
    }
    Ok(())
}

fn to_json(found: &Reconciled) -> serde_json::Value {
    let names = |paths: &[PathBuf]| paths.iter().map(|path| crate::cmd::shown(path)).collect::<Vec<_>>();
    let different = found
        .different
        .1
        .iter()
        .map(|(path, why)| json!({"file": crate::cmd::shown(path), "what": text::safe(why)}));
    json!({
        "matched": found.matched, "missing": found.missing.0, "extra": found.extra.0, "different": found.different.0,
        "not_compared": found.not_compared, "twice": found.twice.0, "failed": found.failures.len(),
        "first": {
            "missing": names(&found.missing.1), "extra": names(&found.extra.1), "twice": names(&found.twice.1),
            "different": different.collect::<Vec<_>>(),
        },
    })
}
