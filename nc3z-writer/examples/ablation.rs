//! Measures the gain of each rule of the planner. All given classic files are archived in memory, without a check:
//! first with every rule on, then with one rule off at a time. Prints bytes, processor time, and the files on which
//! a rule matters most.
//!
//! ```sh
//! cargo run --release -p nc3z-writer --features ablation --example ablation -- [--preset default] [--rule NAME]... FILE...
//! ```

use nc3z_reader::source::{MemorySource, SharedSource};
use nc3z_writer::ablation::{RULES, Rule, switch_off};
use nc3z_writer::{Preset, WriterOptions, archive_to_vec};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Returns the bytes of each file's archive, `None` for a refused file, and the seconds.
fn run(files: &[(PathBuf, Arc<Vec<u8>>)], preset: Preset) -> (Vec<Option<u64>>, f64) {
    let options = WriterOptions::default().with_preset(preset).with_verify(false);
    let begin = processor_seconds();
    let sizes = files
        .iter()
        .map(|(_, bytes)| {
            let source: SharedSource = Arc::new(MemorySource::new(bytes.as_ref().clone()));
            let made = archive_to_vec(source, &options, &()).ok();
            made.map(|(archive, _)| archive.len() as u64)
        })
        .collect();
    (sizes, processor_seconds() - begin)
}

/// Processor time of this process, from the kernel's count of hundredths of a second; 0 if it is not available.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|f| f.parse::<f64>().ok()).sum::<f64>() / 100.0
}

#[expect(clippy::cast_precision_loss, reason = "ratios of sizes below 2^53")]
fn ratio(more: u64, less: u64) -> f64 {
    more as f64 / less as f64
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn main() {
    let mut preset = Preset::Default;
    let mut wanted: Vec<String> = Vec::new();
    let mut files = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--preset" => {
                preset = match args.next().as_deref() {
                    Some("fast") => Preset::Fast,
                    Some("max") => Preset::Max,
                    _ => Preset::Default,
                }
            }
            "--rule" => wanted.extend(args.next()),
            path => {
                let bytes = std::fs::read(path).unwrap_or_default();
                if bytes.starts_with(b"CDF") {
                    files.push((PathBuf::from(path), Arc::new(bytes)));
                }
            }
        }
    }
    let (all, seconds) = run(&files, preset);
    let total: u64 = all.iter().flatten().sum();
    println!("{} files, preset {}: {total} bytes, {seconds:.1} s\n", files.len(), preset.name());
    println!(
        "| without | bytes | larger by | geometric mean | time | files that change by 0.2 % and more | their mean | what stands out |\n|---|---|---|---|---|---|---|---|"
    );
    let rules: Vec<&'static Rule> =
        RULES.iter().filter(|r| wanted.is_empty() || wanted.iter().any(|w| w == r.name)).collect();
    for rule in rules {
        switch_off(Some(rule));
        let (sizes, taken) = run(&files, preset);
        switch_off(None);
        let sum: u64 = sizes.iter().flatten().sum();
        let mut changes: Vec<(f64, String)> = all
            .iter()
            .zip(&sizes)
            .zip(&files)
            .filter_map(|((a, b), (path, _))| Some((ratio((*b)?, (*a)?), name(path))))
            .collect();
        let logs: f64 = changes.iter().map(|c| c.0.ln()).sum();
        let mean = (logs * ratio(1, changes.len().max(1) as u64)).exp();
        changes.sort_by(|a, b| b.0.ln().abs().total_cmp(&a.0.ln().abs()));
        let touched: Vec<f64> = changes.iter().map(|c| c.0.ln()).filter(|ln| ln.abs() > 0.002).collect();
        let of_touched = (touched.iter().sum::<f64>() * ratio(1, touched.len().max(1) as u64)).exp();
        let notable: Vec<String> = changes
            .iter()
            .take(3)
            .filter(|c| (c.0 - 1.0).abs() > 0.002)
            .map(|(ratio, name)| format!("`{name}` {:+.1} %", (ratio - 1.0) * 100.0))
            .collect();
        println!(
            "| {}: {} | {sum} | {:+.2} % | {:+.2} % | {:+.1} % | {} | {:+.2} % | {} |",
            rule.name,
            rule.without,
            (ratio(sum, total) - 1.0) * 100.0,
            (mean - 1.0) * 100.0,
            (taken / seconds - 1.0) * 100.0,
            touched.len(),
            (of_touched - 1.0) * 100.0,
            notable.join(", ")
        );
    }
}
