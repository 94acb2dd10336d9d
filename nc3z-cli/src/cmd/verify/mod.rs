//! `nc3z verify`.

mod bundles;

use super::named::Named;
use super::targets::{self, Found, Job, Naming};
use super::{
    stdin,
    tree::{self, Other},
    url,
};
use crate::args::VerifyArgs;
use crate::exit::{Exit, of_error};
use crate::output::progress::{Progress, interrupted};
use crate::output::streams::Stdout;
use crate::output::table::count;
use crate::output::{chain, report_error, set_level, tells, text};
use crate::registry::open_options;
use anyhow::{Context, Result, bail};
use nc3z_look::place;
use nc3z_look::verify::{WITH_COORDINATES, is_lossy, parity_json, report_json};
use nc3z_reader::parity::ParityReport;
use nc3z_reader::platform::read_exact_at;
use nc3z_reader::source::{self, SharedSource};
use nc3z_reader::verify::{Report, deep, older_versions, quick};
use nc3z_reader::{Archive, Monitor, Restored};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The number of archives that are checked at a time, each in parallel, too.
const AT_A_TIME: usize = 16;
/// The number of places of one finding that are listed for people.
const PLACES: usize = 8;

/// Checks all archives. Continues after a damaged one.
pub(crate) fn run(args: &VerifyArgs) -> Result<Exit> {
    set_level(&args.tell);
    if let Some(manifest) = &args.manifest {
        return super::fixity::run(args, manifest);
    }
    if args.against.is_some() && args.archives.len() != 1 {
        bail!("--against compares one archive with one original");
    }
    let Found { jobs, failures, others, .. } = find(args)?;
    let named: Vec<PathBuf> = jobs.into_iter().map(|job| job.input).collect();
    super::with_threads(args.threads, || {
        let mut out = Stdout::verdicts();
        let mut worst = tree::judge(&others, args.others);
        let mut reports = Vec::new();
        for (path, e) in &failures {
            report_error(Some(path), e);
            worst = worst.max(of_error(e));
        }
        let message = if named.len() == 1 { url::shown(&named[0]).into_owned() } else { "verify".into() };
        let bundles::Expanded { paths, bundles, total } = bundles::expand(named, args);
        let noun = if bundles.is_empty() { "archives" } else { "files" };
        let progress = Progress::new(total, text::safe(&message));
        let (mut bad, mut checked) = (0, 0);
        let mut batches = paths.chunks(AT_A_TIME);
        let mut done = bundles;
        loop {
            for outcome in done {
                bad += usize::from(outcome.exit != Exit::Done);
                checked += 1;
                worst = worst.max(outcome.exit);
                if args.json {
                    reports.push(outcome.json);
                } else if tells() || outcome.exit != Exit::Done {
                    outcome.lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
                    outcome.error.iter().for_each(|e| report_error(Some(&outcome.path), e));
                }
            }
            let Some(batch) = batches.next() else { break };
            if interrupted() {
                worst = Exit::Interrupted;
                break;
            }
            let check = |path: &PathBuf| {
                let mut outcome = check(path, args, &progress);
                bundles::add_hurt(path, args, &mut outcome);
                outcome
            };
            done = batch.par_iter().map(check).collect();
        }
        drop(progress);
        if args.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&reports)?)?;
        } else if checked > 1 && (tells() || bad > 0) {
            let others = Other::words(&others).map_or_else(String::new, |words| format!("; {words}"));
            writeln!(out, "{checked} {noun} checked, {bad} of them not sound{others}")?;
        }
        Ok(worst)
    })?
}

/// Returns the archives to check: as named, or those of the named trees.
fn find(args: &VerifyArgs) -> Result<Found> {
    let same = |p: &Path| Ok(p.to_owned());
    let wanted = |p: &Path| p.extension().is_some_and(|e| e == "nc3z");
    let naming = Naming { rename: &same, wanted: &wanted };
    if !args.recursive {
        if let Some(directory) = args.archives.iter().find(|a| a.is_dir()) {
            bail!("`{}` is a directory; --recursive goes into it", directory.display());
        }
        let job = |path: &PathBuf| Job { input: path.clone(), output: PathBuf::new(), name: path.clone() };
        return Ok(Found { jobs: args.archives.iter().map(job).collect(), ..Found::default() });
    }
    targets::pair(&args.archives, None, true, &naming)
}

/// The result for one archive.
struct Outcome {
    path: PathBuf,
    exit: Exit,
    lines: Vec<String>,
    json: Value,
    error: Option<anyhow::Error>,
}

fn check(path: &Path, args: &VerifyArgs, progress: &Progress) -> Outcome {
    if let Some(outcome) = bundles::plain_member(path, args, progress) {
        return outcome;
    }
    let name = text::safe(&url::shown(path));
    match examine(path, args, progress) {
        Ok((report, archive, older)) => {
            let worst_older = older.iter().filter_map(|(_, done)| Some(done.as_ref().err()?.exit())).max();
            let exit = match report.is_complete() {
                _ if !report.is_sound() => Exit::Corrupt,
                true => Exit::Done,
                // No defect was found, but not everything was checked that was requested.
                false => Exit::Failed,
            };
            let exit = exit.max(worst_older.unwrap_or(Exit::Done));
            let mut lines = lines(&name, &report, archive.as_ref());
            lines.extend(
                older.iter().map(|(number, done)| format!("{name}: {}", version_words(*number, done))),
            );
            let mut json = report_json(&name, &report, archive.as_ref());
            if args.all_versions {
                json["sound"] = (exit == Exit::Done).into();
                json["older_versions"] =
                    older.iter().map(|(number, done)| version_json(*number, done)).collect();
            }
            Outcome { path: path.to_owned(), exit, lines, json, error: None }
        }
        Err(e) => {
            // An archive that cannot be parsed may still have valid parity.
            let parity = mendable(path, args, progress);
            let lines = parity.iter().map(|p| format!("{name}: {p}")).collect();
            let json = json!({
                "archive": name, "sound": false, "error": text::safe(&chain(&e)), "parity": parity.as_ref().map(parity_json),
            });
            Outcome { path: path.to_owned(), exit: of_error(&e), lines, json, error: Some(e) }
        }
    }
}

/// Returns the bytes of an archive, all of which will be read.
fn open(path: &Path, args: &VerifyArgs) -> Result<SharedSource> {
    if let Some(member) = bundles::source(path, args)? {
        return Ok(member);
    }
    match url::of(path) {
        None if stdin::is(path) => stdin::source(),
        Some(url) => url::open_forward(url, &args.remote),
        // By position: with a memory map, a failing disk would kill the process.
        None => Ok(source::open(path, false)?),
    }
}

/// Older versions that were rebuilt, newest first, with their results.
type Older = Vec<(u64, Result<Restored, NotRebuilt>)>;

/// The reason why an older version was not rebuilt.
struct NotRebuilt {
    words: String,
    /// True if it needs a filter or codec that this build does not have.
    unsupported: bool,
}

impl NotRebuilt {
    fn exit(&self) -> Exit {
        if self.unsupported { Exit::Failed } else { Exit::Corrupt }
    }
}

/// Returns the report, and the archive if it opens: coordinates are read from it.
fn examine(path: &Path, args: &VerifyArgs, progress: &Progress) -> Result<(Report, Option<Archive>, Older)> {
    let named = Named::of(path)?;
    let source = open(&named.file, args)?;
    let all = open_options();
    let options = all.clone().with_version(named.version.clone());
    let is_deep = args.deep || args.all_versions || args.against.is_some();
    // For another version than the newest, all bytes are checked, and that version is rebuilt.
    let verify = if is_deep && named.version.is_none() { deep } else { quick };
    let mut report = verify(&source, &all, progress)?;
    let archive = match Archive::from_source(source.clone(), &options) {
        Err(e) if named.version.is_some() => return Err(e.into()),
        archive => archive.ok(),
    };
    if let (Some(archive), true, true) = (&archive, named.version.is_some(), is_deep) {
        report.restored = Some(archive.check_original(progress)?);
    }
    let older = match &archive {
        Some(archive) if args.all_versions => older_versions(archive, &source, &all, progress)?,
        _ => Vec::new(),
    };
    let why = |e: nc3z_reader::Error| NotRebuilt { words: e.with_causes(), unsupported: e.is_unsupported() };
    let older = older.into_iter().map(|(number, done)| (number, done.map_err(why))).collect();
    if let (Some(original), Some(archive), true) =
        (&args.against, &archive, report.is_sound() && report.is_complete())
    {
        let why =
            "the archive is lossy: values were rounded, and it does not hold the file that was archived";
        compare(archive, original, progress)
            .map_err(|e| if is_lossy(Some(archive)) { e.context(why) } else { e })?;
    }
    Ok((report, archive, older))
}

/// Describes the result for an older version.
fn version_words(number: u64, done: &Result<Restored, NotRebuilt>) -> String {
    match done {
        Ok(r) if r.matches_record => {
            format!(
                "version {number}: {} with SHA-256 {} as recorded",
                text::size(r.len),
                text::hex(&r.sha256)
            )
        }
        Ok(r) => format!("version {number}: {}, no digest recorded", text::size(r.len)),
        Err(e) => {
            let verdict = if e.unsupported { "NOT CHECKED" } else { "NOT WHOLE" };
            format!("version {number}: {verdict}: {}", text::safe(&e.words))
        }
    }
}

fn version_json(number: u64, done: &Result<Restored, NotRebuilt>) -> Value {
    match done {
        Ok(r) => {
            json!({"version": number, "sound": true, "sha256": text::hex(&r.sha256), "sha256_matches": r.matches_record})
        }
        Err(e) => json!({"version": number, "sound": false, "error": text::safe(&e.words)}),
    }
}

/// Returns the parity report of an archive that cannot be checked otherwise.
fn mendable(path: &Path, args: &VerifyArgs, progress: &Progress) -> Option<ParityReport> {
    let source = open(path, args).ok()?;
    nc3z_reader::parity::judge(&source, &open_options(), progress).ok()?
}

/// Compares the rebuilt bytes with a file.
fn compare(archive: &Archive, original: &Path, progress: &dyn Monitor) -> Result<()> {
    let file = nc3z_reader::source::open_regular(original)
        .with_context(|| format!("open `{}`", original.display()))?;
    let len = file.metadata().with_context(|| format!("read the length of `{}`", original.display()))?.len();
    if len != archive.original_len() {
        bail!("`{}` has {len} bytes, the archive holds {}", original.display(), archive.original_len());
    }
    let mut buffer = Vec::new();
    archive.restore_into(progress, &mut |at: u64, bytes: &[u8]| -> Result<(), CompareError> {
        buffer.resize(bytes.len(), 0);
        read_exact_at(&file, &mut buffer, at).map_err(|e| CompareError(e.into()))?;
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

/// Carries our own errors through the rebuild.
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

/// Returns the lines for people.
fn lines(name: &str, report: &Report, archive: Option<&Archive>) -> Vec<String> {
    let mut lines = Vec::new();
    for (i, finding) in report.findings.iter().enumerate() {
        let archive = archive.filter(|_| i < WITH_COORDINATES);
        let place = if finding.bytes.is_empty() {
            String::new()
        } else {
            format!(", bytes {} to {} of the archive", finding.bytes.start, finding.bytes.end - 1)
        };
        let message = text::safe(&finding.message);
        lines.push(format!("{name}: {}{place}: {message}", finding.structure.name()));
        for place in finding.places.iter().take(PLACES) {
            lines.push(format!("{name}:   {}", place::words(place, archive)));
        }
        if finding.places.len() > PLACES {
            lines.push(format!("{name}:   and {} more places", finding.places.len() - PLACES));
        }
    }
    if report.more > 0 {
        lines.push(format!("{name}: and {} more findings", report.more));
    }
    for place in &report.lost {
        lines.push(format!("{name}: lost before it was repaired: {}", place::words(place, archive)));
    }
    for undecoded in &report.not_decoded {
        let place = place::words(&undecoded.place, None);
        let (tiles, why) = (count(undecoded.tiles, "tile"), text::safe(&undecoded.why));
        lines.push(format!("{name}: NOT CHECKED: {tiles} of {place}: {why}"));
    }
    if let Some(parity) = &report.parity {
        lines.push(format!("{name}: {parity}"));
    }
    if report.unchecked > 0 {
        lines.push(format!("{name}: {} bytes of sections could not be checked", report.unchecked));
    }
    if report.is_sound() && !report.is_complete() {
        let why = report.not_rebuilt.as_ref().filter(|_| report.not_decoded.is_empty());
        let why = why.map_or_else(String::new, |why| format!(": {}", text::safe(why)));
        let hint = if report.undecoded > 0 && crate::registry::loaded().is_none() {
            "; --plugins loads those of HDF5_PLUGIN_PATH"
        } else {
            ""
        };
        lines.push(format!(
            "{name}: not checked as requested: the stored bytes are intact, but the original was not rebuilt{why}{hint}"
        ));
    } else if report.is_sound() {
        let lost = if report.lost.is_empty() { "" } else { ", HOLDS LOST TILES" };
        let lossy = if is_lossy(archive) { ", LOSSY (values were rounded when it was made)" } else { "" };
        lines.push(format!(
            "{name}: sound{lost}{lossy}, {}, {}, {}{}",
            count(report.tiles, "tile"),
            count(report.blocks, "block"),
            text::size(report.stored_len),
            digest_words(report)
        ));
    }
    lines
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
