//! `nc3z repair`.

use super::parity::carried;
use crate::args::{OpenArgs, RepairArgs};
use crate::exit::{Exit, of_error};
use crate::output::message::without_advice;
use crate::output::progress::Progress;
use crate::output::streams::Stdout;
use crate::output::table::count;
use crate::output::{report_error, text};
use anyhow::{Error, Result, anyhow, bail};
use nc3z_collections::tree::repair::to_json;
use nc3z_look::tile_location;
use nc3z_reader::Monitor;
use nc3z_reader::parity::{ParityReport, RepairedShards};
use nc3z_reader::verify::Finding;
use nc3z_writer::{
    ParityChoice, RepairNote, RepairObserver, RepairOptions, RepairOutcome, RepairStep, RepairedBlocks,
    RepairedDigest, RepairedVersions, repair_file, repair_in_place,
};
use std::io::Write;
use std::path::Path;

/// The number of runs of lost tiles that are listed for people. `--json` and the new archive's metadata list
/// more.
const LISTED: usize = 100;
/// The maximal number of findings in a message.
const MOST_FINDINGS: usize = 4;

/// Prints notes and shows the progress.
struct ConsoleObserver<'a>(&'a RepairArgs);

impl RepairObserver for ConsoleObserver<'_> {
    fn monitor(&self, _: RepairStep, bytes: u64) -> Box<dyn Monitor + '_> {
        Box::new(Progress::new(bytes, crate::cmd::shown(&self.0.archive)))
    }

    fn note(&self, note: RepairNote<'_>) {
        let name = crate::cmd::shown(&self.0.archive);
        match note {
            RepairNote::ParityFailed(e) => {
                note!("nc3z: {name}: {e}; the intact parts are saved without parity");
            }
            RepairNote::OlderComplete(whole) => {
                let list: Vec<String> = whole.iter().map(u64::to_string).collect();
                note!(
                    "{name}: the newest version is not intact, and only its intact parts are saved; intact in the damaged archive are the versions {} (`nc3z restore --version`)",
                    list.join(", ")
                );
            }
            _ => {}
        }
    }
}

/// Repairs one archive, or a bundle.
pub(crate) fn run(args: &RepairArgs) -> Result<Exit> {
    super::outputs::check_file(args.output.as_deref(), args.out.parents)?;
    if let Some((bundle, _)) = super::member::of(&args.archive) {
        let bundle = crate::output::message::shell_name(&bundle);
        bail!("members of a bundle are repaired with the bundle: `nc3z repair {bundle} -o NEW`");
    }
    super::named::need_archive_file(&args.archive)?;
    let Some(output) = &args.output else { return in_place(args) };
    super::outputs::prepare(output)?;
    let opened = super::open_archive(&args.archive, &OpenArgs::default());
    if let Some(bytes) = opened.ok().map(|archive| archive.torn_tail()).filter(|&bytes| bytes > 0) {
        let name = crate::cmd::shown(&args.archive);
        note!(
            "nc3z: {name}: the last {} follow the end of the archive, and are left out",
            count(bytes, "byte")
        );
    }
    let options = RepairOptions {
        force: args.out.force,
        without_parity: args.no_parity,
        uncommitted: args.uncommitted,
        parity: args.parity,
        limits: nc3z_format::Limits::of_command(),
        registry: crate::registry::registry(),
    };
    let outcome = super::with_threads(*args.threads, || {
        repair_file(&args.archive, output, &options, &ConsoleObserver(args))
    })?;
    match outcome {
        Ok(outcome) => {
            say(args, output, &outcome)?;
            Ok(if outcome.is_complete() { Exit::Done } else { Exit::Corrupt })
        }
        Err(e) if e.step == RepairStep::Versions => Err(e.source.into()),
        Err(e) => {
            let e = Error::from(e.source);
            let exit = of_error(&e);
            // The advice of other commands is to use this one.
            let e = if exit == Exit::Corrupt { anyhow!("{}", without_advice(&e)) } else { e };
            report_error(Some(&args.archive), &e);
            Ok(exit)
        }
    }
}

/// Repairs an archive in place, or leaves it unchanged.
fn in_place(args: &RepairArgs) -> Result<Exit> {
    match super::with_threads(*args.threads, || repair_in_place(&args.archive, &ConsoleObserver(args)))? {
        Ok(Some(outcome)) => {
            say(args, &args.archive, &RepairOutcome::Parity { report: outcome.report, done: outcome.done })?;
            Ok(judge(args, &outcome.left?))
        }
        Ok(None) => bail!(
            "`{}` has no parity to repair it with; `nc3z repair -o` saves the intact parts",
            args.archive.display()
        ),
        Err(e) => {
            let e = Error::from(e);
            report_error(Some(&args.archive), &e);
            Ok(of_error(&e))
        }
    }
}

/// Reports the damage that the parity did not cover.
fn judge(args: &RepairArgs, left: &[Finding]) -> Exit {
    if left.is_empty() {
        return Exit::Done;
    }
    // A defect may have several effects, and the first in the file need not be its cause.
    let mut what: Vec<_> = left.iter().take(MOST_FINDINGS).map(|f| text::safe(&f.message)).collect();
    if left.len() > MOST_FINDINGS {
        what.push(format!("and {} more", left.len() - MOST_FINDINGS));
    }
    note!(
        "nc3z: {}: parity repaired its part, but the archive is still damaged: {}; `nc3z repair -o` saves the intact parts",
        crate::cmd::shown(&args.archive),
        what.join("; ")
    );
    Exit::Corrupt
}

fn say(args: &RepairArgs, output: &Path, outcome: &RepairOutcome) -> Result<()> {
    let mut out = Stdout::verdicts();
    let (name, output) = (crate::cmd::shown(&args.archive), crate::cmd::shown(output));
    if *args.json {
        let report = to_json(&name, &output, args.parity, outcome);
        return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?);
    }
    let lines = match outcome {
        RepairOutcome::Parity { report, done } => by_parity(report, done, args.parity),
        RepairOutcome::Versions(saved) => by_versions(saved, args.parity),
        RepairOutcome::Blocks(repaired) => by_blocks(repaired),
        _ => Lines::default(),
    };
    lines.before.iter().try_for_each(|line| writeln!(out, "{name}: {line}"))?;
    writeln!(out, "{name} -> {output}: {}", lines.result)?;
    Ok(lines.after.iter().try_for_each(|line| writeln!(out, "{name}: {line}"))?)
}

#[derive(Default)]
struct Lines {
    before: Vec<String>,
    result: String,
    after: Option<String>,
}

fn by_parity(report: &ParityReport, done: &RepairedShards, choice: ParityChoice) -> Lines {
    let parity = match choice {
        ParityChoice::Keep => ", and its parity".to_owned(),
        ParityChoice::Without => "; its parity was removed".to_owned(),
        ParityChoice::Share(share) => format!("; its parity is now of {share}"),
    };
    let (shards, packets) = (report.layout.shard_count(), report.layout.packet_count());
    let result = format!(
        "repaired by parity, {} of {shards} shards and {} of {packets} packets; it has the digest it had{parity}",
        done.shards, done.packets
    );
    let after = (report.uncovered > 0)
        .then(|| format!("the parity is stale: it does not cover the last {}", text::size(report.uncovered)));
    Lines { before: Vec::new(), result, after }
}

fn by_versions(saved: &RepairedVersions, choice: ParityChoice) -> Lines {
    let RepairedVersions::Written { done, lost, unproven, note } = saved else { return Lines::default() };
    let mut before: Vec<String> = note.iter().map(|note| text::safe(note)).collect();
    before.extend(lost.iter().map(|(number, why)| format!("lost: version {number}: {}", text::safe(why))));
    if let (Some(first), Some(last)) = (unproven.first(), unproven.last()) {
        before.push(format!(
            "{} versions from {first} to {last} are whole by their checksums; they were not rebuilt, which would take too long: `nc3z restore --version N` compares the SHA-256 of one",
            unproven.len()
        ));
    }
    let newest_is_lost = lost.last().is_some_and(|(lost, _)| done.kept.iter().all(|kept| kept < lost));
    let newest = if newest_is_lost { "is lost" } else { "is whole" };
    let parity = carried(done.parity_before, choice.share(done.parity_before));
    let parity = parity.map_or_else(String::new, |words| format!("; {words}"));
    let (kept, lost) = (done.kept.len(), lost.len());
    let result = format!("{kept} versions saved, {lost} lost; the newest {newest}{parity}");
    Lines { before, result, after: None }
}

fn by_blocks(repaired: &RepairedBlocks) -> Lines {
    let mut before: Vec<String> = repaired.notes.iter().map(|note| text::safe(note)).collect();
    before.extend(repaired.lost.iter().take(LISTED).map(|run| {
        format!("lost: {}: {}", tile_location::words(&run.place, None), text::safe(&run.message))
    }));
    if repaired.lost.len() > LISTED {
        before.push(format!("lost: and {} more", repaired.lost.len() - LISTED));
    }
    let digest = match repaired.digest {
        RepairedDigest::Confirmed => "all is saved: the rebuilt original has the recorded SHA-256",
        RepairedDigest::Recomputed => {
            "all is saved, by the checksums of its blocks and the archive's salt; the recorded SHA-256 was lost and is made anew"
        }
        RepairedDigest::Unconfirmed => {
            "all blocks are saved, by their checksums; no SHA-256 of the original is recorded, or it was lost (catalogues and bundles have none), and nothing else says that they are of one file: none is recorded now"
        }
        RepairedDigest::Differs => {
            "all blocks are saved, but the rebuilt original does NOT have the SHA-256 that the archive was made with, if it was made with one (catalogues and bundles are not); none is recorded now"
        }
        RepairedDigest::CarriedOver => {
            "all is saved; some tiles are made with chains that this build does not know and were carried over unread"
        }
        RepairedDigest::Lost => {
            "lost tiles are marked as lost; `nc3z restore --fill-lost` replaces them by fill values"
        }
    };
    let digest = if repaired.earlier > 0 && !repaired.is_older {
        digest.replace("all is saved", "the newest version is saved")
    } else if repaired.is_older {
        let state = digest.replace("all is saved", "whole");
        format!("the newest version is lost; the one before it was saved: {state}")
    } else {
        digest.to_owned()
    };
    let earlier = match repaired.earlier {
        0 => String::new(),
        1 => "; the version before it is not in the new archive: keep the damaged one".to_owned(),
        n => format!("; the {n} versions before it are not in the new archive: keep the damaged one"),
    };
    let parity = carried(repaired.parity_before, repaired.parity);
    let parity = parity.map_or_else(String::new, |words| format!("; {words}"));
    let result =
        format!("{} tiles saved, {} lost; {digest}{earlier}{parity}", repaired.tiles, repaired.lost_tiles);
    Lines { before, result, after: None }
}
