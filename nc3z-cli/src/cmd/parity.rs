//! `nc3z parity`. `verify` finds damage, `repair` repairs it.

use super::failures::Failures;
use super::targets::{self, Job};
use super::tree::{self, Other};
use crate::args::{ParityAddArgs, ParityCommand, ParityFiles, ParityInfoArgs, ParityRemoveArgs};
use crate::exit::Exit;
use crate::output::failure::Failure;
use crate::output::progress::Progress;
use crate::output::signals::interrupted;
use crate::output::streams::Stdout;
use crate::output::text;
use anyhow::{Context, Result, anyhow};
use nc3z_collections::tree::manifest::relist::{Replaced, may_be_listed};
use nc3z_collections::tree::sha256_of_file;
use nc3z_format::archive::TRAILER_LEN;
use nc3z_look::verify::ParityPlace;
use nc3z_reader::parity::locate;
use nc3z_reader::source;
use nc3z_writer::Share;
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// The largest number of zeros before parity, in bytes: it begins at a multiple of a shard's length.
const MOST_ZEROS: u64 = 4096;

/// Runs one of the commands for parity.
pub(crate) fn run(command: &ParityCommand) -> Result<Exit> {
    match command {
        ParityCommand::Add(args) => super::with_threads(*args.threads, || add(args))?,
        ParityCommand::Remove(args) => remove(args),
        ParityCommand::Info(args) => info(args),
    }
}

fn add(args: &ParityAddArgs) -> Result<Exit> {
    let mut replaced = Vec::new();
    let exit = each(&args.which, |path, out| {
        let len = std::fs::metadata(path).map_or(0, |m| m.len());
        let listed = listed(path)?;
        // The archive is read once for the checksums and once for the parity.
        let progress = Progress::with_passes(len, 2, crate::cmd::shown(path));
        let (before, after) = nc3z_writer::parity::add(path, args.share, args.memory, &progress)?;
        drop(progress);
        let name = crate::cmd::shown(path);
        writeln!(out, "{name}: parity of {} added, {}", args.share, cost(before, after))?;
        replaced.extend(listed);
        Ok(())
    })?;
    relisted(&replaced)?;
    Ok(exit)
}

/// Returns what manifests above the archive may list: the archive with its present SHA-256.
fn listed(path: &Path) -> Result<Option<Replaced>> {
    if !may_be_listed(path) {
        return Ok(None);
    }
    let len = std::fs::metadata(path).map_or(0, |m| m.len());
    let before = sha256_of_file(path, &Progress::new(len, "digest for the manifest".to_owned()))?;
    Ok(Some(Replaced { path: path.to_owned(), before }))
}

/// Brings manifests up to date: the archives hold what they held.
fn relisted(replaced: &[Replaced]) -> Result<()> {
    tree::relisted(replaced).context("the archives are changed, but a manifest still lists the old ones")
}

fn remove(args: &ParityRemoveArgs) -> Result<Exit> {
    let mut replaced = Vec::new();
    let exit = each(&args.which, |path, out| {
        let len = std::fs::metadata(path).map_or(0, |m| m.len());
        let listed = listed(path)?;
        let progress = Progress::new(len, crate::cmd::shown(path));
        let done = nc3z_writer::parity::remove(path, &progress)?;
        drop(progress);
        let name = crate::cmd::shown(path);
        if done.left == 0 {
            writeln!(out, "{name}: parity removed, {}", text::size(done.before - done.after))?;
        } else {
            writeln!(
                out,
                "{name}: parity removed; its {} stay in the file as history, since other commits follow it (`nc3z recompress --drop-history` drops them)",
                text::size(done.left)
            )?;
        }
        replaced.extend(listed);
        Ok(())
    })?;
    relisted(&replaced)?;
    Ok(exit)
}

/// Processes all archives. If one fails, the others are still processed.
fn each(which: &ParityFiles, mut work: impl FnMut(&Path, &mut dyn Write) -> Result<()>) -> Result<Exit> {
    which.archives.iter().try_for_each(|path| super::named::refuse_others(path))?;
    let mut found = targets::archives(&which.archives, None, which.recursive)?;
    let mut out = Stdout::verdicts();
    let mut worst = tree::judge(&found.others, which.passed_over);
    let mut failures = Failures::new(&found.failures);
    found.jobs = super::offline::without_recalls(found.jobs, |job| &job.input, &which.tape)?;
    for Job { input: path, .. } in &found.jobs {
        if interrupted() {
            worst = Exit::Interrupted;
            break;
        }
        if let Err(e) = work(path, &mut out) {
            failures.report(path, &e);
        }
    }
    if found.is_tree {
        let others = Other::words(&found.others).map_or_else(String::new, |words| format!(", {words}"));
        note!("nc3z: {} archives, {} failed{others}", found.jobs.len(), failures.len());
    }
    Ok(failures.worst().max(worst))
}

fn info(args: &ParityInfoArgs) -> Result<Exit> {
    let mut reports = Vec::new();
    let exit = each(&args.which, |path, out| {
        let name = crate::cmd::shown(path);
        let described = describe(path);
        if *args.json {
            let mut row = match &described {
                Ok(Some(place)) => json!(place),
                Ok(None) => json!({}),
                Err(e) => json!({"error": Failure::new(e, Some(path))}),
            };
            row["archive"] = name.clone().into();
            if let Ok(place) = &described {
                row["parity"] = place.is_some().into();
            }
            reports.push(row);
        }
        let place = described?;
        if !*args.json {
            write_text(out, &name, place.as_ref())?;
        }
        Ok(())
    })?;
    if *args.json {
        writeln!(Stdout::verdicts(), "{}", serde_json::to_string_pretty(&reports)?)?;
    }
    Ok(exit)
}

/// Returns the place of an archive's parity. None for an archive without parity.
fn describe(path: &Path) -> Result<Option<ParityPlace>> {
    let source = source::open(path, false)?;
    let Some(located) = locate(&source)? else {
        let mut magic = [0; 8];
        if source.len() < 8
            || source.read_into(0, &mut magic).is_err()
            || magic != nc3z_format::archive::constants::MAGIC
        {
            return Err(nc3z_reader::Archive::from_source(source, &crate::registry::open_options())
                .err()
                .map_or_else(
                    || anyhow!("it is not an nc3z archive and holds no parity of one"),
                    Into::into,
                ));
        }
        return Ok(None);
    };
    let len = source.len();
    let mut place = ParityPlace::new(&located, len);
    let (begin, end) = (located.layout.params.begin, located.layout.params.archive_len);
    let archive = nc3z_reader::Archive::from_source(source, &crate::registry::open_options()).ok();
    // Behind the end of a whole archive. An archive that has lost its end does not open.
    if len < end && archive.as_ref().is_some_and(|archive| archive.trailer().archive_len <= begin) {
        let name = crate::cmd::shown(path);
        note!(
            "nc3z: warning: {name}: its parity was not finished and repairs nothing; `nc3z parity add` makes it"
        );
        return Ok(None);
    }
    // What adding it cost, where it is the last that was added: zeros before it, and the end behind it, too.
    let before = archive.map(|archive| archive.trailer().previous + TRAILER_LEN as u64);
    if let Some(before) = before.filter(|&before| before <= begin && begin - before <= MOST_ZEROS) {
        place.added_bytes = Some(end - before);
    }
    Ok(Some(place))
}

/// Describes the size of parity, in bytes and relative to the archive without it.
pub(crate) fn cost(before: u64, after: u64) -> String {
    let added = after.saturating_sub(before);
    #[expect(clippy::cast_precision_loss, reason = "a percentage for people")]
    let share = 100.0 * added as f64 / before.max(1) as f64;
    format!("{} ({share:.1} % of the archive)", text::size(added))
}

/// Describes the change of parity when an archive was made from another; none if neither has any.
pub(crate) fn carried(before: Option<Share>, now: Option<Share>) -> Option<String> {
    match (before, now) {
        (None, None) => None,
        (Some(before), Some(now)) if before == now => Some(format!("parity of {now} as before")),
        (Some(before), Some(now)) => Some(format!("parity of {now} (it had {before})")),
        (None, Some(now)) => Some(format!("parity of {now} added")),
        (Some(before), None) => Some(format!("without the parity of {before} that it had")),
    }
}

fn write_text(out: &mut dyn Write, name: &str, place: Option<&ParityPlace>) -> Result<()> {
    let Some(place) = place else {
        writeln!(out, "{name}: no parity")?;
        return Ok(());
    };
    let covered = place.covers - place.region_bytes;
    // As `parity add` reports it.
    let cost = match place.added_bytes {
        Some(added) => cost(place.covers - added, place.covers),
        None => cost(covered, place.covers),
    };
    writeln!(out, "{name}: parity of commit {}", place.commit)?;
    writeln!(out, "  covers       {} and itself", text::size(covered))?;
    writeln!(out, "  costs        {cost}")?;
    writeln!(
        out,
        "  shards       {} of data, {} of parity, {} bytes each, in {} groups",
        place.data_shards, place.parity_shards, place.shard_bytes, place.groups
    )?;
    writeln!(out, "  can lose     {} shards of each group", place.parity_shards_per_group)?;
    writeln!(
        out,
        "  packets      {} of {} bytes, {} needed",
        place.packets, place.packet_bytes, place.packets_needed
    )?;
    if place.stale_bytes > 0 {
        writeln!(out, "  stale        it does not cover the last {}", text::size(place.stale_bytes))?;
    }
    if place.missing_bytes > 0 {
        writeln!(out, "  missing      {} of what it covers", text::size(place.missing_bytes))?;
    }
    Ok(())
}
