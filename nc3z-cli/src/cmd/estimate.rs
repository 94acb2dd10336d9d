//! `nc3z estimate`: estimates the savings.

use super::Input;
use super::targets::{list, looks_classic};
use super::tree::{self, Other};
use crate::args::{EstimateArgs, OpenArgs, PresetArg};
use crate::exit::{Exit, of_error};
use crate::output::progress::interrupted;
use crate::output::streams::Stdout;
use crate::output::table::{Side, Table};
use crate::output::{chain, report_error, text};
use anyhow::{Result, bail};
use nc3z_format::classic::Header;
use nc3z_reader::Monitor;
use nc3z_writer::{Estimate, Preset, estimate};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Estimates all files. Continues after one that cannot be read.
pub(crate) fn run(args: &EstimateArgs) -> Result<Exit> {
    let mut presets: Vec<Preset> = args.preset.iter().map(|p| preset(*p)).collect();
    presets.dedup();
    if presets.is_empty() {
        presets = vec![Preset::Fast, Preset::Default, Preset::Max];
    }
    let listed = list(&args.files, args.recursive, &looks_classic)?;
    let mut worst = Exit::Done;
    for (path, e) in &listed.failures {
        report_error(Some(path), e);
        worst = worst.max(Exit::Failed);
    }
    tree::judge(&listed.others, None);
    let all = Tree::of(&listed.files);
    let files = if args.recursive { spread(listed.files, args.most) } else { listed.files };
    super::with_threads(args.threads, || {
        let mut out = Stdout::verdicts();
        let (mut reports, mut sums) = (Vec::new(), Sums::default());
        for path in &files {
            let name = crate::cmd::shown(path);
            match one(path, &presets, args.sample) {
                Ok((header, found)) => {
                    sums.add(&found);
                    if args.json {
                        reports.push(to_json(&name, &header, &found));
                    } else if args.recursive {
                        print_line(&mut out, &name, &found)?;
                    } else {
                        print(&mut out, &name, &header, &found)?;
                    }
                }
                Err(e) => {
                    if args.json {
                        reports.push(json!({"file": name, "error": chain(&e)}));
                    }
                    report_error(Some(path), &e);
                    worst = worst.max(of_error(&e));
                    if worst == Exit::Interrupted {
                        return Ok(worst);
                    }
                }
            }
        }
        if args.json && args.recursive {
            let mut summary = sums.scaled(all).to_json(&presets);
            summary["passed_over"] = Other::to_json(&listed.others);
            let report = json!({"files": reports, "summary": summary});
            writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        } else if args.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&reports)?)?;
        } else if args.recursive {
            if all.files > sums.files {
                writeln!(out, "{} of {} files were sampled; scaled by their bytes:", sums.files, all.files)?;
            }
            sums.scaled(all).print(&mut out, &presets)?;
            if let Some(words) = Other::words(&listed.others) {
                writeln!(out, "{words}")?;
            }
        } else if args.files.len() > 1 {
            sums.print(&mut out, &presets)?;
        }
        Ok(worst)
    })?
}

/// The files of a tree.
#[derive(Debug, Clone, Copy)]
struct Tree {
    files: usize,
    bytes: u64,
}

impl Tree {
    fn of(files: &[PathBuf]) -> Self {
        Tree { files: files.len(), bytes: files.iter().map(|path| len(path)).sum() }
    }
}

/// Returns the length of a file in bytes, or 0 if it is unknown; the error is then reported when the file is
/// opened.
fn len(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |meta| meta.len())
}

/// Returns at most `most` files, evenly spread over their lengths, in the given order. 0 means all.
fn spread(files: Vec<PathBuf>, most: usize) -> Vec<PathBuf> {
    if most == 0 || files.len() <= most {
        return files;
    }
    let mut by_len: Vec<(u64, usize)> = files.iter().enumerate().map(|(i, path)| (len(path), i)).collect();
    by_len.sort_unstable();
    let mut picked: Vec<usize> =
        (0..most).map(|i| by_len[(2 * i + 1) * files.len() / (2 * most)].1).collect();
    picked.sort_unstable();
    picked.into_iter().map(|i| files[i].clone()).collect()
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

fn one(path: &Path, presets: &[Preset], sample: u64) -> Result<(Header, Estimate)> {
    match super::open_input(path, &OpenArgs::default())? {
        Input::Archive(archive) => {
            let (original, stored) = (archive.original_len(), archive.stored_len());
            bail!(
                "is an archive already: {} of {}, ratio {} (see nc3z info)",
                text::size(stored),
                text::size(original),
                text::ratio(original, stored)
            );
        }
        Input::Classic(classic) => {
            Ok((classic.header().clone(), estimate(&classic, presets, sample, &Quiet)?))
        }
    }
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
        table.push([name, text::size(v.original_len)].into_iter().chain(ratios).collect());
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

fn to_json(name: &str, header: &Header, found: &Estimate) -> Value {
    let presets: Vec<Value> = found
        .presets
        .iter()
        .map(|p| {
            json!({
                "preset": p.preset.name(), "stored_bytes": p.stored_len, "ratio": ratio(found.file_len, p.stored_len),
                "uncertainty": p.uncertainty, "archive_seconds": p.archive_seconds, "restore_seconds": p.restore_seconds,
            })
        })
        .collect();
    let peers: Vec<Value> = found
        .peers
        .iter()
        .map(|p| json!({"name": p.name, "stored_bytes": p.stored_len, "ratio": ratio(found.file_len, p.stored_len)}))
        .collect();
    let variables: Vec<Value> = found
        .variables
        .iter()
        .map(|v| {
            let stored: serde_json::Map<String, Value> =
                found.presets.iter().zip(&v.stored_len).map(|(p, n)| (p.preset.name().to_owned(), (*n).into())).collect();
            let peers: serde_json::Map<String, Value> =
                found.peers.iter().zip(&v.peer_len).map(|(p, n)| (p.name.to_owned(), (*n).into())).collect();
            json!({
                "id": v.id.0, "name": text::name(&header.variables[v.id.index()].name), "original_bytes": v.original_len,
                "sampled_bytes": v.sampled_len, "stored_bytes": stored, "peers": peers,
            })
        })
        .collect();
    json!({
        "file": name, "original_bytes": found.file_len, "sampled_bytes": found.sampled_len, "whole": found.whole,
        "threads": found.threads, "presets": presets, "peers": peers, "variables": variables,
    })
}

#[expect(clippy::cast_precision_loss, reason = "the exact numbers are next to it")]
fn ratio(original: u64, stored: u64) -> Value {
    if stored == 0 { Value::Null } else { (original as f64 / stored as f64).into() }
}

/// All files together.
#[derive(Default)]
struct Sums {
    files: usize,
    original: u64,
    presets: Vec<u64>,
    seconds: Vec<f64>,
    peers: Vec<(&'static str, u64)>,
}

impl Sums {
    fn add(&mut self, found: &Estimate) {
        self.files += 1;
        self.original += found.file_len;
        self.presets.resize(found.presets.len(), 0);
        self.seconds.resize(found.presets.len(), 0.0);
        for (i, p) in found.presets.iter().enumerate() {
            self.presets[i] += p.stored_len;
            self.seconds[i] += p.archive_seconds;
        }
        if self.peers.is_empty() {
            self.peers = found.peers.iter().map(|p| (p.name, 0)).collect();
        }
        self.peers.iter_mut().zip(&found.peers).for_each(|(sum, p)| sum.1 += p.stored_len);
    }

    /// Extrapolates to all files of a tree, assuming that the other files are similar.
    fn scaled(&self, all: Tree) -> Sums {
        let scale = |n: u64| {
            let scaled = u128::from(n) * u128::from(all.bytes) / u128::from(self.original.max(1));
            u64::try_from(scaled).unwrap_or(u64::MAX)
        };
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let longer = all.bytes as f64 / self.original.max(1) as f64;
        Sums {
            files: all.files,
            original: scale(self.original),
            presets: self.presets.iter().map(|n| scale(*n)).collect(),
            seconds: self.seconds.iter().map(|s| s * longer).collect(),
            peers: self.peers.iter().map(|(name, n)| (*name, scale(*n))).collect(),
        }
    }

    fn to_json(&self, presets: &[Preset]) -> Value {
        let of = |(preset, (stored, seconds)): (&Preset, (&u64, &f64))| {
            json!({
                "preset": preset.name(), "stored_bytes": stored, "ratio": ratio(self.original, *stored),
                "archive_seconds": seconds,
            })
        };
        let found: Vec<Value> = presets.iter().zip(self.presets.iter().zip(&self.seconds)).map(of).collect();
        let peers: Vec<Value> =
            self.peers.iter().map(|(name, stored)| json!({"name": name, "stored_bytes": stored})).collect();
        json!({"files": self.files, "original_bytes": self.original, "presets": found, "peers": peers})
    }

    fn print(&self, out: &mut dyn Write, presets: &[Preset]) -> Result<()> {
        use Side::{Left, Right};
        let plural = if self.files == 1 { "" } else { "s" };
        writeln!(out, "{} file{plural}: {}", self.files, text::size(self.original))?;
        let mut table = Table::new(&[("", Left), ("size", Right), ("ratio", Right), ("archive", Right)]);
        for ((preset, stored), seconds) in presets.iter().zip(&self.presets).zip(&self.seconds) {
            let name = format!("nc3z {}", preset.name());
            table.push(vec![
                name,
                text::size(*stored),
                text::ratio(self.original, *stored),
                duration(*seconds),
            ]);
        }
        for (name, stored) in &self.peers {
            table.push(vec![
                (*name).to_owned(),
                text::size(*stored),
                text::ratio(self.original, *stored),
                String::new(),
            ]);
        }
        Ok(table.print(out, "  ")?)
    }
}
