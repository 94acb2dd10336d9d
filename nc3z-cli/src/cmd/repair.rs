//! `nc3z repair`.

use super::parity_repair;
use crate::args::{OpenArgs, RepairArgs};
use crate::exit::{Exit, of_error};
use crate::output::progress::Progress;
use crate::output::streams::Stdout;
use crate::output::table::count;
use crate::output::text;
use crate::output::words::without_advice;
use anyhow::{Result, anyhow};
use nc3z_look::place;
use nc3z_reader::Monitor;
use nc3z_writer::{
    RepairOptions, Repaired, RepairedDigest, SavedVersions, WriterOptions, repair_file, save_versions,
};
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// The number of runs of lost tiles that are listed for people. `--json` and the new archive's metadata list
/// more.
const LISTED: usize = 100;

/// Repairs one archive.
pub(crate) fn run(args: &RepairArgs) -> Result<Exit> {
    let Some(output) = &args.output else { return parity_repair::in_place(args) };
    super::places::check_file(Some(output), args.place.parents)?;
    super::places::prepare(output)?;
    let opened = super::open_archive(&args.archive, &OpenArgs::default());
    if let Some(bytes) = opened.ok().map(|archive| archive.torn_tail()).filter(|&bytes| bytes > 0) {
        let name = crate::cmd::shown(&args.archive);
        note!(
            "nc3z: {name}: the last {} follow the end of the archive, and are left out",
            count(bytes, "byte")
        );
    }
    let mut rewritten = None;
    if !args.no_parity {
        let mended = parity_repair::to_file(args, output, &mut |mended| {
            rewritten = Some(rewrite(args, mended, output)?);
            Ok(())
        })?;
        if let Some(exit) = mended {
            return Ok(exit);
        }
    }
    match rewritten {
        Some(exit) => Ok(exit),
        None => rewrite(args, &args.archive, output),
    }
}

/// Writes the intact parts of `input`, which is the archive or the result of a repair with parity.
fn rewrite(args: &RepairArgs, input: &Path, output: &Path) -> Result<Exit> {
    if let Some(exit) = rewrite_versions(args, input, output)? {
        return Ok(exit);
    }
    let options = RepairOptions {
        force: args.force,
        uncommitted: args.uncommitted,
        parity: args.parity,
        limits: nc3z_format::Limits::of_command(),
    };
    let len = std::fs::metadata(input).map_or(0, |m| m.len());
    let done = super::with_threads(args.threads, || {
        let progress = Progress::new(len, crate::cmd::shown(&args.archive));
        let done = repair_file(input, output, &options, &progress);
        if done.is_err() && progress.is_cancelled() {
            return Err(nc3z_reader::Error::interrupted().into());
        }
        done.map_err(anyhow::Error::from)
    })?;
    let repaired = match done {
        Ok(repaired) => repaired,
        Err(e) => {
            let exit = of_error(&e);
            // The advice of other commands is to use this one.
            let e = match exit {
                Exit::Corrupt => anyhow!("{}", without_advice(&e)),
                _ => e,
            };
            crate::output::report_error(Some(&args.archive), &e);
            return Ok(exit);
        }
    };
    if args.json {
        to_json(args, output, &repaired)?;
    } else {
        to_text(args, output, &repaired)?;
    }
    Ok(if repaired.is_complete() { Exit::Done } else { Exit::Corrupt })
}

/// Saves the intact versions, if there are several and the newest is one of them.
fn rewrite_versions(args: &RepairArgs, input: &Path, output: &Path) -> Result<Option<Exit>> {
    if args.uncommitted {
        return Ok(None);
    }
    let options = WriterOptions::default().with_registry(crate::registry::registry()).with_force(args.force);
    let name = crate::cmd::shown(&args.archive);
    let saved = super::with_threads(args.threads, || {
        let progress = Progress::new(0, name.clone());
        let saved = save_versions(input, output, &options, &progress);
        if saved.is_err() && progress.is_cancelled() {
            return Err(nc3z_reader::Error::interrupted().into());
        }
        let saved = saved?;
        if let SavedVersions::Written { done, .. } = &saved
            && let Some(share) = args.parity.share(done.parity_before)
        {
            nc3z_writer::parity::add(output, share, nc3z_writer::DEFAULT_MEMORY, &progress)?;
        }
        anyhow::Ok(saved)
    })??;
    let (done, lost, unproven, note) = match saved {
        SavedVersions::None => return Ok(None),
        SavedVersions::Older(whole) => {
            if !whole.is_empty() {
                let list: Vec<String> = whole.iter().map(u64::to_string).collect();
                note!(
                    "{name}: the newest version is not intact, and only its intact parts are saved; intact in the damaged archive are the versions {} (`nc3z restore --version`)",
                    list.join(", ")
                );
            }
            return Ok(None);
        }
        SavedVersions::Written { done, lost, unproven, note } => (done, lost, unproven, note),
    };
    let newest_is_lost = lost.last().is_some_and(|(lost, _)| done.kept.iter().all(|kept| kept < lost));
    let share_before = done.parity_before;
    let mut out = Stdout::verdicts();
    if args.json {
        let list: Vec<_> =
            lost.iter().map(|(n, e)| json!({"version": n, "message": text::safe(e)})).collect();
        let report = json!({
            "archive": name, "output": crate::cmd::shown(output), "complete": lost.is_empty() && unproven.is_empty(), "versions": done.kept,
            "lost_versions": list, "unproven_versions": unproven, "notes": note.iter().map(|n| text::safe(n)).collect::<Vec<_>>(), "stored_bytes": done.stored_len.1,
            "parity": args.parity.share(share_before).map(|s| s.to_string()),
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        if let Some(note) = &note {
            writeln!(out, "{name}: {}", text::safe(note))?;
        }
        for (number, why) in &lost {
            writeln!(out, "{name}: lost: version {number}: {}", text::safe(why))?;
        }
        if let (Some(first), Some(last)) = (unproven.first(), unproven.last()) {
            writeln!(
                out,
                "{name}: {} versions from {first} to {last} are whole by their checksums; they were not rebuilt, which would take too long: `nc3z restore --version N` compares the SHA-256 of one",
                unproven.len()
            )?;
        }
        let parity = super::parity::carried(share_before, args.parity.share(share_before));
        let parity = parity.map_or_else(String::new, |words| format!("; {words}"));
        writeln!(
            out,
            "{name} -> {}: {} versions saved, {} lost; the newest {}{parity}",
            crate::cmd::shown(output),
            done.kept.len(),
            lost.len(),
            if newest_is_lost { "is lost" } else { "is whole" }
        )?;
    }
    Ok(Some(if lost.is_empty() && unproven.is_empty() { Exit::Done } else { Exit::Corrupt }))
}

fn to_text(args: &RepairArgs, output: &Path, repaired: &Repaired) -> Result<()> {
    let mut out = Stdout::verdicts();
    let name = crate::cmd::shown(&args.archive);
    for note in &repaired.notes {
        writeln!(out, "{name}: {}", text::safe(note))?;
    }
    for run in repaired.lost.iter().take(LISTED) {
        writeln!(out, "{name}: lost: {}: {}", place::words(&run.place, None), text::safe(&run.message))?;
    }
    if repaired.lost.len() > LISTED {
        writeln!(out, "{name}: lost: and {} more", repaired.lost.len() - LISTED)?;
    }
    let digest = match repaired.digest {
        RepairedDigest::Confirmed => "all is saved: the rebuilt original has the recorded SHA-256",
        RepairedDigest::Recomputed => {
            "all is saved, by the checksums of its blocks and the archive's salt; the recorded SHA-256 was lost and is made anew"
        }
        RepairedDigest::Unconfirmed => {
            "all blocks are saved, by their checksums; the recorded SHA-256 was lost, and nothing else says that they are of one file: none is recorded now"
        }
        RepairedDigest::Differs => {
            "all blocks are saved, but the rebuilt original has NOT the recorded SHA-256; none is recorded now"
        }
        RepairedDigest::CarriedOver => {
            "all is saved; some tiles are made with chains that this build does not know and were carried over unread"
        }
        RepairedDigest::Lost => {
            "lost tiles are marked as lost; `nc3z restore --fill-lost` replaces them by fill values"
        }
    };
    let digest = if repaired.is_older {
        let state = digest.replace("all is saved", "whole");
        format!("the last state is lost, and what is saved is the one before it: {state}")
    } else {
        digest.to_owned()
    };
    let parity = super::parity::carried(repaired.parity_before, repaired.parity);
    let parity = parity.map_or_else(String::new, |words| format!("; {words}"));
    writeln!(
        out,
        "{name} -> {}: {} tiles saved, {} lost; {digest}{parity}",
        crate::cmd::shown(output),
        repaired.tiles,
        repaired.lost_tiles
    )?;
    Ok(())
}

fn to_json(args: &RepairArgs, output: &Path, repaired: &Repaired) -> Result<()> {
    let digest = match repaired.digest {
        RepairedDigest::Confirmed => "confirmed",
        RepairedDigest::Recomputed => "recomputed",
        RepairedDigest::Unconfirmed => "unconfirmed",
        RepairedDigest::Differs => "differs",
        RepairedDigest::CarriedOver => "carried over",
        RepairedDigest::Lost => "lost",
    };
    let lost: Vec<_> = repaired
        .lost
        .iter()
        .map(|run| {
            let mut value = place::to_json(&run.place, None);
            value["message"] = text::safe(&run.message).into();
            value
        })
        .collect();
    let notes: Vec<_> = repaired.notes.iter().map(|n| text::safe(n)).collect();
    let report = json!({
        "archive": crate::cmd::shown(&args.archive), "output": crate::cmd::shown(output),
        "complete": repaired.is_complete(), "tiles": repaired.tiles, "lost_tiles": repaired.lost_tiles, "lost": lost,
        "notes": notes, "uncommitted_blocks": repaired.uncommitted, "digest": digest,
        "rebuilt_sha256": text::hex(&repaired.sha256), "original_bytes": repaired.original_len,
        "stored_bytes": repaired.stored_len, "parity_before": repaired.parity_before.map(|s| s.to_string()),
        "parity": repaired.parity.map(|s| s.to_string()),
    });
    writeln!(Stdout::verdicts(), "{}", serde_json::to_string_pretty(&report)?)?;
    Ok(())
}
