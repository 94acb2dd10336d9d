//! `nc3z repair` with parity: restores the archive byte for byte.

use crate::args::RepairArgs;
use crate::exit::Exit;
use crate::output::progress::Progress;
use crate::output::streams::Stdout;
use crate::output::{report_error, text};
use anyhow::{Result, bail};
use nc3z_reader::parity::{ParityReport, RepairedShards};
use nc3z_reader::verify::quick;
use nc3z_reader::{OpenOptions, source};
use nc3z_writer::parity::{add, remove, repair_file, repair_in_place};
use nc3z_writer::{DEFAULT_MEMORY, Error, ParityChoice};
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// Repairs an archive in place, or leaves it unchanged.
pub(super) fn in_place(args: &RepairArgs) -> Result<Exit> {
    let done = super::with_threads(args.threads, || repair_in_place(&args.archive, &progress(args)))?;
    match done {
        Ok(Some((report, done))) => {
            say(args, &args.archive, &report, &done)?;
            is_sound(args)
        }
        Ok(None) => bail!(
            "`{}` has no parity to mend it by; `nc3z repair -o` saves the intact parts",
            args.archive.display()
        ),
        Err(e) => {
            let exit = if e.is_corrupt() { Exit::Corrupt } else { of_error_of(&e) };
            report_error(Some(&args.archive), &e.into());
            Ok(exit)
        }
    }
}

/// The maximal number of findings in a message.
const MOST_FINDINGS: usize = 4;

/// Returns whether `verify` would call the archive sound now: parity repairs only what it covers.
fn is_sound(args: &RepairArgs) -> Result<Exit> {
    let source = source::open(&args.archive, false)?;
    let report = super::with_threads(args.threads, || {
        quick(&source, &OpenOptions::default(), &progress(args)).map_err(anyhow::Error::from)
    })??;
    if report.findings.is_empty() {
        return Ok(Exit::Done);
    }
    let name = crate::cmd::shown(&args.archive);
    // A defect may have several effects, and the first in the file need not be its cause.
    let mut what: Vec<_> =
        report.findings.iter().take(MOST_FINDINGS).map(|f| text::safe(&f.message)).collect();
    if report.findings.len() > MOST_FINDINGS {
        what.push(format!("and {} more", report.findings.len() - MOST_FINDINGS));
    }
    note!(
        "nc3z: {name}: not sound all the same, beyond what the parity covers: {}; `nc3z repair -o` saves the intact parts",
        what.join("; ")
    );
    Ok(Exit::Corrupt)
}

/// Repairs to a new file and reports it; `None` if there is no parity or not enough. If the repaired file is
/// still not sound (its parity does not cover everything, or was added after damage), it is passed to
/// `rewrite` before it is deleted.
pub(super) fn to_file(
    args: &RepairArgs,
    output: &Path,
    rewrite: &mut (dyn FnMut(&Path) -> Result<()> + Send),
) -> Result<Option<Exit>> {
    let mut failed = None;
    let mut sound = false;
    let done = super::with_threads(args.threads, || {
        let progress = progress(args);
        repair_file(&args.archive, output, args.force, &progress, &mut |mended| {
            let source = source::open(mended, false)?;
            sound = quick(&source, &crate::registry::open_options(), &progress)
                .is_ok_and(|report| report.is_sound());
            if sound {
                change_parity(args, mended, &progress)?;
            } else {
                failed = rewrite(mended).err();
            }
            Ok(sound)
        })
    })?;
    if let Some(e) = failed {
        return Err(e);
    }
    match done {
        Ok(Some((report, done))) if sound => {
            say(args, output, &report, &done)?;
            Ok(Some(Exit::Done))
        }
        Ok(_) => Ok(None),
        Err(e) if e.is_corrupt() => {
            let name = crate::cmd::shown(&args.archive);
            note!("nc3z: {name}: {e}; the intact parts are saved without parity");
            Ok(None)
        }
        Err(e) => {
            let exit = of_error_of(&e);
            report_error(Some(&args.archive), &e.into());
            Ok(Some(exit))
        }
    }
}

/// The repaired archive has its former parity. If another share is requested, the parity is changed before
/// the archive gets its name.
fn change_parity(args: &RepairArgs, mended: &Path, progress: &Progress) -> nc3z_writer::Result<()> {
    if args.parity == ParityChoice::Keep {
        return Ok(());
    }
    remove(mended, progress)?;
    if let Some(share) = args.parity.share(None) {
        add(mended, share, DEFAULT_MEMORY, progress)?;
    }
    Ok(())
}

fn progress(args: &RepairArgs) -> Progress {
    let len = std::fs::metadata(&args.archive).map_or(0, |m| m.len());
    Progress::new(len.saturating_mul(3), crate::cmd::shown(&args.archive))
}

fn of_error_of(e: &Error) -> Exit {
    if e.is_interrupted() { Exit::Interrupted } else { Exit::Failed }
}

fn say(args: &RepairArgs, output: &Path, report: &ParityReport, done: &RepairedShards) -> Result<()> {
    let mut out = Stdout::verdicts();
    let (name, output) = (crate::cmd::shown(&args.archive), crate::cmd::shown(output));
    if args.json {
        let report = json!({
            "archive": name, "output": output, "complete": true, "by": "parity", "mended_shards": done.shards,
            "mended_packets": done.packets, "mended_bytes": done.bytes, "stale_bytes": report.uncovered,
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(());
    }
    let parity = match args.parity {
        ParityChoice::Keep => ", and its parity".to_owned(),
        ParityChoice::Without => "; its parity was taken away".to_owned(),
        ParityChoice::Share(share) => format!("; its parity is now of {share}"),
    };
    let (shards, packets) = (report.layout.shard_count(), report.layout.packet_count());
    writeln!(
        out,
        "{name} -> {output}: mended by parity, {} of {shards} shards and {} of {packets} packets; it has the digest it had{parity}",
        done.shards, done.packets
    )?;
    if report.uncovered > 0 {
        writeln!(
            out,
            "{name}: the parity is stale: it does not cover the last {}",
            text::size(report.uncovered)
        )?;
    }
    Ok(())
}
