//! `nc3z verify`.

use crate::args::VerifyArgs;
use crate::exit::{Exit, of_error};
use crate::output::progress::Progress;
use crate::output::{chain, report_error, text};
use anyhow::{Context, Result, bail};
use nc3z_reader::Archive;
use nc3z_reader::verify::{Report, verify};
use serde_json::json;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Checks all archives; goes on after a bad one.
pub(crate) fn run(args: &VerifyArgs) -> Result<Exit> {
    if args.against.is_some() && args.archives.len() != 1 {
        bail!("--against compares one archive with one original");
    }
    super::with_threads(args.threads, || {
        let mut out = std::io::stdout().lock();
        let mut worst = Exit::Done;
        let mut reports = Vec::new();
        for path in &args.archives {
            let (exit, report) = run_one(path, args, &mut out)?;
            worst = worst.max(exit);
            reports.push(report);
        }
        if args.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&reports)?)?;
        }
        Ok(worst)
    })?
}

fn run_one(path: &Path, args: &VerifyArgs, out: &mut impl Write) -> Result<(Exit, serde_json::Value)> {
    let name = text::safe(&path.to_string_lossy());
    match check(path, args) {
        Ok((report, archive)) => {
            let sound = report.is_sound();
            if !args.json {
                for finding in &report.findings {
                    writeln!(out, "{name}: {}", text::safe(&finding.message))?;
                }
                if sound {
                    writeln!(out, "{name}: sound, {} tiles{}", report.tiles, digest_words(&report))?;
                }
            }
            let findings: Vec<_> = report.findings.iter().map(|f| finding_json(f, &archive)).collect();
            let digest = report.restored.as_ref().map(|r| text::hex(&r.sha256));
            let json = json!({"archive": name, "sound": sound, "tiles": report.tiles, "sha256": digest, "findings": findings});
            Ok((if sound { Exit::Done } else { Exit::Corrupt }, json))
        }
        Err(e) => {
            if !args.json {
                report_error(Some(path), &e);
            }
            Ok((of_error(&e), json!({"archive": name, "sound": false, "error": chain(&e)})))
        }
    }
}

fn check(path: &Path, args: &VerifyArgs) -> Result<(Report, Archive)> {
    let archive = super::open_archive(path, !args.no_mmap)?;
    let progress = Progress::new(archive.original_len(), text::safe(&path.to_string_lossy()));
    let report = verify(&archive, &progress)?;
    if let (Some(original), true) = (&args.against, report.is_sound()) {
        compare(&archive, original, &progress)?;
    }
    Ok((report, archive))
}

/// Compares the rebuilt bytes with a file.
fn compare(archive: &Archive, original: &Path, progress: &Progress) -> Result<()> {
    let file = std::fs::File::open(original).with_context(|| format!("open `{}`", original.display()))?;
    let len = file.metadata().with_context(|| format!("read the length of `{}`", original.display()))?.len();
    if len != archive.original_len() {
        bail!("`{}` has {len} bytes, the archive holds {}", original.display(), archive.original_len());
    }
    let mut buffer = Vec::new();
    archive.rebuild_into(progress, &mut |at: u64, bytes: &[u8]| -> Result<(), CompareError> {
        buffer.resize(bytes.len(), 0);
        file.read_exact_at(&mut buffer, at).map_err(|e| CompareError(e.into()))?;
        match buffer.iter().zip(bytes).position(|(a, b)| a != b) {
            None => Ok(()),
            Some(i) => Err(CompareError(anyhow::anyhow!(
                "`{}` differs at byte {}",
                original.display(),
                at + i as u64
            ))),
        }
    })?;
    Ok(())
}

/// Lets the rebuild carry our own errors.
#[derive(Debug)]
struct CompareError(anyhow::Error);

impl From<nc3z_reader::Error> for CompareError {
    fn from(e: nc3z_reader::Error) -> Self {
        CompareError(e.into())
    }
}

impl From<CompareError> for anyhow::Error {
    fn from(e: CompareError) -> Self {
        e.0
    }
}

fn digest_words(report: &Report) -> String {
    match &report.restored {
        Some(r) if r.matches_record => {
            format!(", original {} with SHA-256 {} as recorded", text::size(r.len), text::hex(&r.sha256))
        }
        Some(r) => format!(", original {}, no digest recorded", text::size(r.len)),
        None => String::new(),
    }
}

fn finding_json(finding: &nc3z_reader::verify::Finding, archive: &Archive) -> serde_json::Value {
    use nc3z_format::archive::Role;
    let variable = finding.array.and_then(|a| match a.role() {
        Role::Variable(v) => archive.header().variables.get(v as usize).map(|v| text::name(&v.name)),
        _ => Some(a.to_string()),
    });
    json!({"variable": variable, "tile": finding.tile, "message": finding.message})
}
