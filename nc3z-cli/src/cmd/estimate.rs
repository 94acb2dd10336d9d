//! `nc3z estimate`: estimates the savings.

use super::failures::Failures;
use super::offline::without_recalls;
use super::targets::{list, looks_classic};
use super::tree::{self, Other};
use crate::args::{EstimateArgs, OpenArgs, PresetArg};
use crate::exit::{Exit, of_error};
use crate::output::failure::Failure;
use crate::output::progress::Progress;
use crate::output::signals::interrupted;
use crate::output::streams::Stdout;
use crate::output::table::{Side, Table};
use crate::output::{report_error, text};
use anyhow::{Result, bail};
use nc3z_collections::tree::estimate::{EstimateSums, TreeLen, spread, to_json};
use nc3z_format::classic::Header;
use nc3z_reader::Monitor;
use nc3z_writer::{Estimate, Preset, estimate};
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// Estimates all files. Continues after one that cannot be read.
pub(crate) fn run(args: &EstimateArgs) -> Result<Exit> {
    let mut presets: Vec<Preset> = args.preset.iter().map(|p| preset(*p)).collect();
    presets.dedup();
    let is_max_left_out = presets.is_empty() && args.recursive;
    if presets.is_empty() {
        presets = vec![Preset::Fast, Preset::Default];
        // For a tree, `max` would take longer than archiving it with the default preset.
        presets.extend((!args.recursive).then_some(Preset::Max));
    }
    super::url::check_credentials(&args.files, &args.remote)?;
    let open = OpenArgs { remote: args.remote.clone(), ..OpenArgs::default() };
    let mut listed = list(&args.files, args.recursive, &looks_classic)?;
    listed.files = without_recalls(listed.files, std::path::PathBuf::as_path, &args.tape)?;
    let mut worst = Failures::new(&listed.failures).worst();
    tree::judge(&listed.others, None);
    let all = TreeLen::from_files(&listed.files);
    let files = if args.recursive { spread(listed.files, args.most) } else { listed.files };
    super::with_threads(args.threads, || {
        let mut out = Stdout::verdicts();
        let (mut reports, mut sums) = (Vec::new(), EstimateSums::default());
        let progress = Progress::counting(files.len(), "estimate");
        for path in &files {
            let name = crate::cmd::shown(path);
            progress.advance(1);
            match one(path, &open, &presets, args.sample) {
                Ok((header, found)) => {
                    sums.add(&found);
                    if *args.json {
                        reports.push(to_json(&name, &header, &found));
                    } else if args.recursive {
                        print_line(&mut out, &name, &found)?;
                    } else {
                        print(&mut out, &name, &header, &found)?;
                    }
                }
                Err(e) => {
                    if *args.json {
                        reports.push(json!({"file": name, "error": Failure::new(&e, Some(path))}));
                    }
                    report_error(Some(path), &e);
                    worst = worst.max(of_error(&e));
                    if worst == Exit::Interrupted {
                        return Ok(worst);
                    }
                }
            }
        }
        if *args.json && args.recursive {
            let mut summary = sums.scaled(all).to_json(&presets);
            summary["passed_over"] = Other::to_json(&listed.others);
            let report = json!({"files": reports, "summary": summary});
            writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        } else if *args.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&reports)?)?;
        } else if args.recursive {
            if all.files > sums.files {
                writeln!(out, "{} of {} files were sampled; scaled by their bytes:", sums.files, all.files)?;
            }
            print_sums(&sums.scaled(all), &mut out, &presets)?;
            if is_max_left_out {
                writeln!(out, "  --preset max estimates that preset, which takes several times as long")?;
            }
            if let Some(words) = Other::words(&listed.others) {
                writeln!(out, "{words}")?;
            }
        } else if args.files.len() > 1 {
            print_sums(&sums, &mut out, &presets)?;
        }
        Ok(worst)
    })?
}

pub(super) fn preset(arg: PresetArg) -> Preset {
    match arg {
        PresetArg::Fast => Preset::Fast,
        PresetArg::Default => Preset::Default,
        PresetArg::Max => Preset::Max,
    }
}

/// No progress is shown, but the user may stop it.
struct Quiet;

impl Monitor for Quiet {
    fn advance(&self, _: u64) {}

    fn is_cancelled(&self) -> bool {
        interrupted()
    }
}

fn one(path: &Path, open: &OpenArgs, presets: &[Preset], sample: u64) -> Result<(Header, Estimate)> {
    let dataset = super::open_input(path, open)?;
    let Some(classic) = dataset.classic() else {
        let (original, stored) =
            (dataset.original_len(), dataset.archive().map_or(0, nc3z_reader::Archive::stored_len));
        bail!(
            "is an archive already: {} of {}, ratio {} (see nc3z info)",
            text::size(stored),
            text::size(original),
            text::ratio(original, stored)
        );
    };
    Ok((classic.header().clone(), estimate(classic, presets, sample, &Quiet)?))
}

/// Formats `1.2 s`, `3 min`.
fn duration(seconds: f64) -> String {
    if seconds < 0.95 {
        format!("{:.0} ms", (seconds * 1000.0).max(1.0))
    } else if seconds < 95.0 {
        format!("{seconds:.1} s")
    } else {
        format!("{:.0} min", seconds / 60.0)
    }
}

/// Formats the uncertainty of a size.
fn plus_minus(found: &Estimate, uncertainty: f64) -> String {
    if found.whole && uncertainty == 0.0 {
        "exact".to_owned()
    } else {
        format!("±{:.1} %", uncertainty * 100.0)
    }
}

/// Prints one file of a tree.
fn print_line(out: &mut dyn Write, name: &str, found: &Estimate) -> Result<()> {
    let ratios = found
        .presets
        .iter()
        .map(|p| format!("{} {}", p.preset.name(), text::ratio(found.file_len, p.stored_len)));
    let ratios = ratios.collect::<Vec<_>>().join(", ");
    Ok(writeln!(out, "{name}: {}; {ratios}", text::size(found.file_len))?)
}

fn print(out: &mut dyn Write, name: &str, header: &Header, found: &Estimate) -> Result<()> {
    use Side::{Left, Right};
    writeln!(out, "{name}: {}", text::size(found.file_len))?;
    let mut table = Table::new(&[
        ("", Left),
        ("size", Right),
        ("ratio", Right),
        ("off by", Right),
        ("archive", Right),
        ("restore", Right),
    ]);
    for p in &found.presets {
        table.push(vec![
            format!("nc3z {}", p.preset.name()),
            text::size(p.stored_len),
            text::ratio(found.file_len, p.stored_len),
            plus_minus(found, p.uncertainty),
            duration(p.archive_seconds),
            duration(p.restore_seconds),
        ]);
    }
    for p in &found.peers {
        let ratio = text::ratio(found.file_len, p.stored_len);
        table.push(vec![
            p.name.to_owned(),
            text::size(p.stored_len),
            ratio,
            String::new(),
            String::new(),
            String::new(),
        ]);
    }
    table.print(out, "  ")?;
    let mut columns = vec![("variable", Left), ("bytes", Right)];
    columns.extend(found.presets.iter().map(|p| (p.preset.name(), Right)));
    columns.extend([("gzip", Right), ("nc4 d1", Right), ("nc4 d5", Right)]);
    let mut table = Table::new(&columns);
    for v in &found.variables {
        let ratios = v.stored_len.iter().chain(&v.peer_len).map(|n| text::ratio(v.original_len, *n));
        let mark = if v.sampled_len == 0 { " *" } else { "" };
        let name = format!("{}{mark}", text::name(&header.variables[v.id.index()].name));
        table.push([name, text::size(v.original_len)].into_iter().chain(ratios));
    }
    if !found.variables.is_empty() {
        table.print(out, "  ")?;
    }
    if found.variables.iter().any(|v| v.sampled_len == 0) {
        writeln!(out, "  * assumed to be like others of its type and size, which were sampled")?;
    }
    let sampled = if found.whole {
        "every byte was sampled".to_owned()
    } else {
        format!(
            "from {} of samples (max: half); ± is two standard errors of the sampling",
            text::size(found.sampled_len)
        )
    };
    let threads = found.threads;
    Ok(writeln!(
        out,
        "  ratios of variables; {sampled}; times for {threads} thread{}",
        if threads == 1 { "" } else { "s" }
    )?)
}

fn print_sums(sums: &EstimateSums, out: &mut dyn Write, presets: &[Preset]) -> Result<()> {
    use Side::{Left, Right};
    let plural = if sums.files == 1 { "" } else { "s" };
    writeln!(out, "{} file{plural}: {}", sums.files, text::size(sums.original))?;
    let mut table = Table::new(&[("", Left), ("size", Right), ("ratio", Right), ("archive", Right)]);
    for ((preset, stored), seconds) in presets.iter().zip(&sums.presets).zip(&sums.seconds) {
        let name = format!("nc3z {}", preset.name());
        table.push(vec![name, text::size(*stored), text::ratio(sums.original, *stored), duration(*seconds)]);
    }
    for (name, stored) in &sums.peers {
        table.push(vec![
            (*name).to_owned(),
            text::size(*stored),
            text::ratio(sums.original, *stored),
            String::new(),
        ]);
    }
    Ok(table.print(out, "  ")?)
}
