//! `nc3z repair` of bundles: groups and archives are repaired by their parity, at their places.

use super::{member, unbundle, url};
use crate::args::RepairArgs;
use crate::exit::Exit;
use crate::output::message::{InFileExt, shell_name};
use crate::output::progress::Progress;
use crate::output::streams::Stdout;
use crate::output::table::count;
use crate::output::{report_error, text};
use anyhow::{Context, Result, anyhow, bail};
use nc3z_collections::bundle::{Bundle, RepairedBundle};
use nc3z_reader::source;
use nc3z_writer::AtomicFile;
use serde_json::json;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// The number of members of a damaged group that are listed.
const LISTED: usize = 20;

/// Repairs a bundle. None for a file that is not a bundle.
pub(super) fn run(args: &RepairArgs) -> Result<Option<Exit>> {
    if let Some((bundle, _)) = member::of(&args.archive) {
        let bundle = shell_name(&bundle);
        bail!("members of a bundle are repaired with the bundle: `nc3z repair {bundle} -o NEW`");
    }
    if url::of(&args.archive).is_some() || !unbundle::is_bundle(&args.archive) {
        return Ok(None);
    }
    if args.no_parity || args.uncommitted || args.parity != nc3z_writer::ParityChoice::Keep {
        refuse!(
            "--no-parity, --uncommitted and --parity are for single archives; `nc3z restore -r --fill-lost` saves the intact parts of a bundle"
        );
    }
    super::with_threads(*args.threads, || repair(args))?.map(Some)
}

fn repair(args: &RepairArgs) -> Result<Exit> {
    let input = &args.archive;
    let bundle = Bundle::open(source::open(input, false)?).map_err(unbundle::of_aggregate).in_file(input)?;
    let monitor = |len| Progress::new(len, crate::cmd::shown(input));
    let len = input.metadata().map_or(0, |m| m.len());
    let Some(output) = &args.output else {
        let file = File::options().read(true).write(true).open(input);
        let file = file.with_context(|| format!("open `{}` for writing", input.display()))?;
        nc3z_writer::lock_file(&file, input)?;
        let done = bundle.repair(&file, input, &monitor(len)).map_err(unbundle::of_aggregate)?;
        file.sync_all().context("write the bundle")?;
        return say(args, &bundle, &done, Some(input));
    };
    let mut from = File::open(input).with_context(|| format!("open `{}`", input.display()))?;
    let like = from.metadata().context("look at the bundle")?;
    if nc3z_writer::is_same_file(&like, output) {
        bail!("`{}` is the bundle itself; --in-place repairs it", output.display());
    }
    super::outputs::prepare_new(output, args.out.force)?;
    super::outputs::check_space(output, len, || len)?;
    let target = AtomicFile::create(output, args.out.force)?;
    std::io::copy(&mut from, &mut target.file())
        .with_context(|| format!("copy to `{}`", output.display()))?;
    let done = bundle.repair(target.file(), target.temporary_path(), &monitor(len));
    let done = done.map_err(unbundle::of_aggregate)?;
    // A copy with the same damage is of no use.
    let is_better = done.damaged.is_empty() || !done.repaired.is_empty();
    if is_better {
        target.commit(Some(&like))?;
    }
    say(args, &bundle, &done, is_better.then_some(output))
}

/// Prints the result. `output` is the file that was written.
fn say(args: &RepairArgs, bundle: &Bundle, done: &RepairedBundle, output: Option<&Path>) -> Result<Exit> {
    let exit = if done.damaged.is_empty() { Exit::Done } else { Exit::Corrupt };
    let mut out = Stdout::verdicts();
    let name = crate::cmd::shown(&args.archive);
    if *args.json {
        let damaged = |(part, why): &(String, String)| {
            let members: Vec<String> = members(bundle, part).map(text::safe).collect();
            json!({"name": text::safe(part), "message": text::safe(why), "members": members})
        };
        let report = json!({
            "archive": name, "output": output.map(crate::cmd::shown), "by": "parity", "checked": done.checked,
            "repaired": done.repaired.iter().map(|n| text::safe(n)).collect::<Vec<_>>(), "repaired_bytes": done.bytes,
            "damaged": done.damaged.iter().map(damaged).collect::<Vec<_>>(), "complete": done.damaged.is_empty(),
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(exit);
    }
    for part in &done.repaired {
        writeln!(out, "{name}: repaired by parity: {}", text::safe(part))?;
    }
    for (part, why) in &done.damaged {
        writeln!(out, "{name}: damaged: {}: {}", text::safe(part), text::safe(why))?;
        let (all, mut listed) = (members(bundle, part).count(), members(bundle, part).take(LISTED));
        listed.try_for_each(|member| writeln!(out, "  {}", text::safe(member)))?;
        if all > LISTED {
            writeln!(out, "  and {} more", all - LISTED)?;
        }
    }
    let (checked, repaired) = (count(done.checked as u64, "part"), done.repaired.len());
    let result = match (repaired, done.damaged.len()) {
        (0, 0) => format!("{checked} checked, none is damaged"),
        (_, 0) => format!("{checked} checked, {repaired} damaged and repaired by parity: it is whole again"),
        (_, left) => format!("{checked} checked, {repaired} repaired by parity, {left} still damaged"),
    };
    match output {
        Some(output) => writeln!(out, "{name} -> {}: {result}", crate::cmd::shown(output))?,
        None => writeln!(out, "{name}: {result}; nothing is written")?,
    }
    if exit == Exit::Corrupt {
        report_error(Some(&args.archive), &anyhow!("{}", advice(&args.archive, done)));
    }
    Ok(exit)
}

/// Returns what to do about the rest of the damage.
fn advice(bundle: &Path, done: &RepairedBundle) -> String {
    let whole = format!(
        "write the intact parts with `nc3z restore -r --fill-lost {} -o DIR`, and bundle again from another copy or the originals",
        shell_name(bundle)
    );
    if done.has_parity {
        return format!("the parity cannot repair all of the damage; {whole}");
    }
    format!(
        "the damaged parts have no parity; {whole}; `nc3z bundle --pack --parity 5%` makes the next one repairable"
    )
}

/// The members of a group; none for other parts of a bundle.
fn members<'b>(bundle: &'b Bundle, part: &str) -> impl Iterator<Item = &'b str> + use<'b> {
    let number = bundle.groups().position(|group| group == part);
    number.into_iter().flat_map(|number| bundle.members_of(number))
}
