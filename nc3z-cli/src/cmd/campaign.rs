//! `nc3z plan` and `nc3z status`: campaigns of many runs.

use super::failures::Failures;
use super::{outputs, targets};
use crate::args::{PlanArgs, StatusArgs};
use crate::exit::Exit;
use crate::output::progress::{Progress, while_working};
use crate::output::streams::Stdout;
use crate::output::table::{Side, Table, count};
use crate::output::target::{Content, Target};
use crate::output::{failure, set_level, text};
use anyhow::{Context, Result};
use nc3z_collections::tree::campaign::Campaign;
use nc3z_collections::tree::campaign::plan::{self, Amount, Inputs, Planned, Saving};
use nc3z_collections::tree::campaign::status::{State, Status};
use serde_json::{Value, json};
use std::io::{BufWriter, Write};

/// The number of directories that are listed for people.
const DIRECTORIES: usize = 10;

/// Plans a campaign, or compares it with its trees.
pub(crate) fn plan(args: &PlanArgs) -> Result<Exit> {
    set_level(&args.tell);
    outputs::check_file(Some(&args.output), true)?;
    let listed = args.files_from.as_deref().map(|list| targets::read_names(list, args.null)).transpose()?;
    let inputs = Inputs { roots: &args.directories, listed };
    if let Some(root) = inputs.roots.iter().find(|root| !root.is_dir()) {
        anyhow::bail!("`{}` is not a directory; name single files by --files-from", root.display());
    }
    let work = || plan::plan(&inputs, &args.output, args.unit, args.update);
    let mut planned = while_working("plan", work)?;
    let failures: Vec<_> =
        std::mem::take(&mut planned.failures).into_iter().map(|(path, e)| (path, e.into())).collect();
    let failed = failures.len() as u64;
    let worst = Failures::new(&failures).worst();
    let saving = if args.no_samples { None } else { planned.saving(&Progress::new(0, "plan".to_owned())) };
    let is_written = planned.changes.is_none() || args.update;
    let worst = if is_written && !args.no_acl && cfg!(target_os = "linux") {
        worst.max(super::acl::write(inputs.roots, &args.output)?)
    } else {
        worst
    };
    let mut out = Stdout::verdicts();
    if *args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&to_json(&planned, saving, failed))?)?;
    } else {
        tell_plan(args, &planned, saving, &mut out)?;
    }
    out.flush()?;
    let differs = planned.changes.as_ref().is_some_and(|changes| !changes.is_none());
    Ok(if differs && !args.update { worst.max(Exit::Failed) } else { worst })
}

fn words(amount: Amount) -> String {
    format!("{}, {}", count(amount.files, "file"), text::size(amount.bytes))
}

fn tell_plan(args: &PlanArgs, planned: &Planned, saving: Option<Saving>, out: &mut Stdout) -> Result<()> {
    let camp = crate::cmd::shown(&args.output);
    writeln!(out, "{camp}: {} in {}", words(planned.all), count(planned.units.into(), "unit"))?;
    if let Some(saving) = saving {
        let saved = planned.all.bytes.saturating_sub(saving.stored);
        writeln!(
            out,
            "to save: about {} ({} -> {}, {}x), by {} that were sampled; about {:.1} core hours",
            text::size(saved),
            text::size(planned.all.bytes),
            text::size(saving.stored),
            text::ratio(planned.all.bytes, saving.stored),
            count(saving.samples as u64, "file"),
            saving.core_hours
        )?;
    }
    if planned.offline.files > 0 {
        writeln!(out, "to recall: {}, by units in their order", words(planned.offline))?;
    }
    if planned.links > 0 {
        writeln!(
            out,
            "hard links: {}, each in the unit of the file's first name",
            count(planned.links, "name")
        )?;
    }
    for (kind, n) in &planned.others {
        writeln!(out, "passed over: {n} {kind}")?;
    }
    let Some(changes) = &planned.changes else {
        writeln!(
            out,
            "next: nc3z archive --unit {camp}/units/00001.list -o ARCHIVES, and so on; nc3z status {camp}"
        )?;
        return Ok(());
    };
    for (amount, what) in [(changes.new, "new"), (changes.changed, "changed"), (changes.gone, "gone")] {
        writeln!(out, "{what}: {}", words(amount))?;
        for (_, path) in changes.first.iter().filter(|(word, _)| *word == what) {
            writeln!(out, "  {}", crate::cmd::shown(path))?;
        }
    }
    if !changes.is_none() && !args.update {
        writeln!(out, "the plan is unchanged; --update adds units for new and changed files")?;
    }
    Ok(())
}

fn to_json(planned: &Planned, saving: Option<Saving>, failed: u64) -> Value {
    let amount = |amount: Amount| json!({"files": amount.files, "bytes": amount.bytes});
    let others: serde_json::Map<String, Value> =
        planned.others.iter().map(|(kind, n)| (kind.to_string(), (*n).into())).collect();
    json!({
        "planned": amount(planned.all), "units": planned.units, "on_tape": amount(planned.offline), "hard_links": planned.links,
        "passed_over": others, "failed": failed, "errors": failure::reported(),
        "estimate": saving.map(|s| json!({"samples": s.samples, "stored_bytes": s.stored, "core_hours": s.core_hours})),
        "changes": planned.changes.as_ref().map(|c| json!({
            "new": amount(c.new), "changed": amount(c.changed), "gone": amount(c.gone),
            "first": c.first.iter().map(|(what, path)| json!({"what": what, "file": crate::cmd::shown(path)})).collect::<Vec<_>>(),
        })),
    })
}

/// Compares a plan with the logs of its runs.
pub(crate) fn status(args: &StatusArgs) -> Result<Exit> {
    outputs::check(args.html.as_deref(), false)?;
    let campaign = Campaign::open(&args.camp)?;
    let mut out = BufWriter::new(Stdout::verdicts());
    let table: Option<&mut dyn Write> = if args.csv { Some(&mut out) } else { None };
    let status = Status::new(&campaign, &args.log, table)?;
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&status.to_json())?)?;
    } else if args.prometheus {
        out.write_all(status.to_prometheus().as_bytes())?;
    } else if !args.csv {
        tell_status(&status, &mut out)?;
    }
    out.flush()?;
    if let Some(page) = &args.html {
        // A page is written again and again.
        let target = Target::create(page, true, Content::Text)?;
        let written = target.file().write_all(status.to_html().as_bytes());
        written.with_context(|| format!("write `{}`", page.display()))?;
        target.commit()?;
    }
    Ok(match () {
        () if status.is_done() => Exit::Done,
        () if status.is_only_refused() => Exit::InputsRefused,
        () => Exit::Failed,
    })
}

fn tell_status(status: &Status, out: &mut impl Write) -> Result<()> {
    let (all, done, left) = (status.all(), status.amount(State::Done), status.left());
    writeln!(
        out,
        "{}: {} of {} done, {} of {}; {} of {} finished",
        status.name,
        done.files,
        count(all.files, "file"),
        text::size(done.bytes),
        text::size(all.bytes),
        status.finished_units,
        count(status.units.into(), "unit")
    )?;
    let meanings = [
        (State::Open, "no run has a result for them"),
        (State::Stopped, "a run stopped before it reached them"),
        (State::Offline, "left out, because their data are on tape"),
        (State::Failed, "failed; a new run may help"),
        (State::Refused, "failed, and will fail again as they are"),
        (State::Other, "no classic files any more"),
    ];
    for (state, meaning) in meanings {
        let amount = status.amount(state);
        if amount.files > 0 {
            writeln!(out, "{}: {}: {meaning}", state.name(), words(amount))?;
        }
    }
    // Files that were refused are never archived, so they have no time to the end.
    if left.files > 0
        && !status.is_only_refused()
        && let Some(rate) = status.rate()
    {
        writeln!(
            out,
            "rate: {} an hour; {} hours to the end at this rate",
            text::size(rate),
            left.bytes.div_ceil(rate)
        )?;
    }
    if !status.failures.is_empty() {
        let mut table =
            Table::new(&[("failures", Side::Left), ("files", Side::Right), ("for instance", Side::Left)]);
        for (code, failures) in &status.failures {
            let first = failures
                .first
                .first()
                .map(|(path, why)| format!("{}: {}", crate::cmd::shown(path), text::safe(why)));
            table.push(vec![(*code).to_owned(), failures.files.to_string(), first.unwrap_or_default()]);
        }
        writeln!(out)?;
        table.print(out, "")?;
    }
    let mut rows: Vec<_> = status.directories.iter().filter(|(_, (_, left))| left.files > 0).collect();
    rows.sort_by_key(|(_, (_, left))| std::cmp::Reverse(left.bytes));
    if !rows.is_empty() {
        let mut table = Table::new(&[
            ("remains in", Side::Left),
            ("files", Side::Right),
            ("of", Side::Right),
            ("size", Side::Right),
        ]);
        for (name, (all, left)) in rows.iter().take(DIRECTORIES) {
            let (left_files, all_files) = (left.files.to_string(), all.files.to_string());
            table.push(vec![crate::cmd::shown(name), left_files, all_files, text::size(left.bytes)]);
        }
        writeln!(out)?;
        table.print(out, "")?;
        if rows.len() > DIRECTORIES {
            writeln!(out, "and {} more directories", rows.len() - DIRECTORIES)?;
        }
    }
    for (log, why) in &status.gaps {
        writeln!(out, "{}: {}", crate::cmd::shown(log), text::safe(why))?;
    }
    if status.unplanned > 0 {
        writeln!(out, "{} in the logs are not in the plan", count(status.unplanned, "result"))?;
    }
    Ok(())
}
