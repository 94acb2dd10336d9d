//! `nc3z verify`.

mod bundles;

use super::failures::Failures;
use super::offline::without_recalls;
use super::targets::{self, Found, Job};
use super::{member, named};
use super::{
    stdin,
    tree::{self, Other},
    url,
};
use crate::args::{OpenArgs, VerifyArgs};
use crate::exit::{Exit, of_error};
use crate::output::failure::Failure;
use crate::output::progress::Progress;
use crate::output::signals::interrupted;
use crate::output::streams::Stdout;
use crate::output::table::count;
use crate::output::{report_error, set_level, tells, text};
use crate::registry::open_options;
use anyhow::{Context, Result, bail};
use nc3z::opener::Kind;
use nc3z_collections::bundle::Bundle;
use nc3z_look::defects::Defect;
use nc3z_look::tile_location;
use nc3z_look::verify::{
    PARITY_SUGGESTION, WITH_COORDINATES, is_lossy, older_json, parity_json, report_json,
};
use nc3z_reader::parity::ParityReport;
use nc3z_reader::source::{self, SharedSource};
use nc3z_reader::verify::{self, Examination, Examined, OlderVersion, Report, Structure};
use nc3z_reader::{Archive, Monitor, OriginalDifference};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
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
    if args.against.as_ref().is_some_and(|original| args.archives.len() != 1 && !original.is_dir()) {
        refuse!("--against compares one archive with one original, or trees of archives with a directory");
    }
    let Found { jobs, failures, others, .. } = find(args)?;
    let originals = Originals::new(args, &jobs)?;
    let defects = defects(args)?;
    let jobs = without_recalls(jobs, |job| &job.input, &args.tape)?;
    let named: Vec<PathBuf> = jobs.into_iter().map(|job| job.input).collect();
    super::with_threads_for(super::work_on(named.iter()), *args.threads, || {
        let mut out = Stdout::verdicts();
        let mut worst = tree::judge(&others, args.passed_over).max(Failures::new(&failures).worst());
        for path in &originals.unmatched {
            note!("nc3z: error: {}: it has no archive among those named", crate::cmd::shown(path));
            worst = worst.max(Exit::Failed);
        }
        let mut reports = Vec::new();
        let message = if named.len() == 1 { url::shown(&named[0]).into_owned() } else { "verify".into() };
        let bundles::Expanded { paths, bundles, total } = bundles::expand(named, args);
        let noun = if bundles.is_empty() { "archives" } else { "files" };
        let progress = Progress::new(total, text::safe(&message));
        let (mut bad, mut checked, mut bare) = (0, 0, 0);
        let mut batches = paths.chunks(AT_A_TIME);
        let mut done = bundles;
        loop {
            for outcome in done {
                bad += usize::from(outcome.exit != Exit::Done);
                checked += 1;
                bare += usize::from(outcome.is_bare);
                worst = worst.max(outcome.exit);
                if *args.json {
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
                let mut outcome = check(path, args, &originals, &defects, &progress);
                bundles::add_hurt(path, args, &mut outcome);
                outcome
            };
            done = batch.par_iter().map(check).collect();
        }
        drop(progress);
        if *args.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&reports)?)?;
        } else if checked != 1 && (tells() || bad > 0) {
            let others = Other::words(&others).map_or_else(String::new, |words| format!("; {words}"));
            writeln!(out, "{checked} {noun} checked, {bad} of them not sound{others}")?;
        }
        if !*args.json && tells() && bare > 0 {
            let which =
                if bare == checked { "no parity".to_owned() } else { format!("no parity in {bare} of them") };
            note!("nc3z: {which}: {PARITY_SUGGESTION}");
        }
        Ok(worst)
    })?
}

/// The defects to look for: those of the given list, or those that this program knows.
fn defects(args: &VerifyArgs) -> Result<Vec<Defect>> {
    let defects = match &args.known_defects {
        None => return Ok(Vec::new()),
        Some(None) => Defect::known(),
        Some(Some(list)) => {
            let read = || -> Result<_> { Ok(Defect::parse(&std::fs::read(list)?)?) };
            read().with_context(|| format!("read `{}`", list.display()))?
        }
    };
    if tells() {
        note!("nc3z: {} looked for", count(defects.len() as u64, "known defect"));
    }
    Ok(defects)
}

/// Returns the archives to check: as named, or those of the named trees.
fn find(args: &VerifyArgs) -> Result<Found> {
    let is_wanted = |path: &Path| path.extension().is_some_and(|ending| ending == "nc3z");
    let archives = url::expand(&args.archives, &args.remote, &is_wanted)?;
    if !args.recursive {
        if let Some(directory) = archives.iter().find(|a| a.is_dir()) {
            bail!("`{}` is a directory; --recursive goes into it", directory.display());
        }
        let job = |path: &PathBuf| Job { input: path.clone(), output: PathBuf::new(), name: path.clone() };
        return Ok(Found { jobs: archives.iter().map(job).collect(), ..Found::default() });
    }
    let mut found = targets::archives(&archives, None, true)?;
    if args.against.is_some() {
        return Ok(found);
    }
    // A bundle in a tree is checked as one that is named, also if it is too damaged to be known by its content.
    let is_bundle = |other: &Other| {
        other.kind.is_content()
            && (Bundle::is_name(&other.path.to_string_lossy())
                || other.kind == tree::FileKind::Archive && super::unbundle::is_bundle(&other.path))
    };
    let (bundles, others): (Vec<_>, Vec<_>) =
        std::mem::take(&mut found.others).into_iter().partition(is_bundle);
    found.others = others;
    let job = |other: Other| Job { input: other.path, output: PathBuf::new(), name: other.name };
    found.jobs.extend(bundles.into_iter().map(job));
    Ok(found)
}

/// The files that archives are compared with.
#[derive(Default)]
struct Originals {
    /// The one file, for any archive.
    all: Option<PathBuf>,
    /// The file for each archive.
    each: HashMap<PathBuf, PathBuf>,
    /// Classic files of the directory that no archive is for.
    unmatched: Vec<PathBuf>,
}

impl Originals {
    /// Pairs archives with the files of a directory by their names in the trees.
    fn new(args: &VerifyArgs, jobs: &[Job]) -> Result<Self> {
        let Some(against) = &args.against else { return Ok(Self::default()) };
        if !against.is_dir() {
            return Ok(Originals { all: Some(against.clone()), ..Self::default() });
        }
        let mut each = HashMap::new();
        for job in jobs {
            if super::unbundle::is_bundle(&job.input) || member::of(&job.input).is_some() {
                let name = crate::cmd::shown(&job.input);
                bail!(
                    "`{name}` is of a bundle; --against compares archives with a directory: restore it first"
                );
            }
            let in_tree =
                if job.name == job.input { job.input.file_name() } else { Some(job.name.as_os_str()) };
            let name = targets::restored_name(Path::new(in_tree.unwrap_or_default()))?;
            each.insert(job.input.clone(), against.join(name));
        }
        let mut unmatched = Vec::new();
        if args.recursive {
            let found = targets::list(std::slice::from_ref(against), true, &targets::looks_classic)?;
            let known: HashSet<&PathBuf> = each.values().collect();
            unmatched = found.files.into_iter().filter(|file| !known.contains(file)).collect();
        }
        Ok(Originals { all: None, each, unmatched })
    }

    fn of(&self, archive: &Path) -> Option<&PathBuf> {
        self.all.as_ref().or_else(|| self.each.get(archive))
    }
}

/// The result for one archive.
struct Outcome {
    path: PathBuf,
    exit: Exit,
    lines: Vec<String>,
    json: Value,
    error: Option<anyhow::Error>,
    /// True for an archive without parity, which could have some.
    is_bare: bool,
}

impl Outcome {
    fn new(path: &Path, exit: Exit, lines: Vec<String>, json: Value) -> Self {
        Outcome { path: path.to_owned(), exit, lines, json, error: None, is_bare: false }
    }

    /// The result for a file that cannot be checked. `parity` is what its parity can do.
    fn failed(path: &Path, e: anyhow::Error, parity: Option<&ParityReport>) -> Self {
        let name = text::safe(&url::shown(path));
        let lines = parity.iter().map(|p| format!("{name}: {p}")).collect();
        let json = json!({"archive": name, "sound": false, "error": Failure::new(&e, Some(path))});
        let exit = of_error(&e);
        Outcome { error: Some(e), ..Outcome::new(path, exit, lines, json) }
    }
}

fn check(
    path: &Path,
    args: &VerifyArgs,
    originals: &Originals,
    defects: &[Defect],
    progress: &Progress,
) -> Outcome {
    if let Some(outcome) = bundles::plain_member(path, args, progress) {
        return outcome;
    }
    let name = text::safe(&url::shown(path));
    let Examined { report, archive, older, .. } = match examine_at_rest(path, args, originals, progress) {
        Ok(examined) => examined,
        Err(e) => {
            // An archive that cannot be parsed may still have valid parity.
            let parity = repairable(path, args, progress);
            let mut outcome = Outcome::failed(path, e, parity.as_ref());
            outcome.json["parity"] = parity.as_ref().map(parity_json).into();
            return outcome;
        }
    };
    let exit_of = |e: &nc3z_reader::Error| if e.is_unsupported() { Exit::Failed } else { Exit::Corrupt };
    let worst_older = older.iter().filter_map(|(_, done)| Some(exit_of(done.as_ref().err()?))).max();
    let is_added_to = has_only_a_tail(&report)
        && named::of(path).is_ok_and(|named| nc3z_writer::is_being_changed(&named.without_version()));
    let exit = match report.is_complete() {
        _ if !report.is_sound() && !is_added_to => Exit::Corrupt,
        true => Exit::Done,
        // No defect was found, but not everything was checked that was requested.
        false => Exit::Failed,
    };
    let mut exit = exit.max(worst_older.unwrap_or(Exit::Done));
    let mut lines = lines(&name, &report, archive.as_ref());
    lines.extend(older.iter().map(|version| format!("{name}: {}", version_words(version))));
    let mut json = report_json(&name, &report, archive.as_ref());
    if is_added_to {
        lines = vec![format!("{name}: sound; another process is adding a version, which was not checked")];
        (json["sound"], json["being_changed"]) = (report.is_complete().into(), true.into());
    }
    if args.all_versions {
        json["sound"] = (exit == Exit::Done).into();
        json["older_versions"] = older.iter().map(older_json).collect();
    }
    if args.known_defects.is_some() {
        let affects = |defect: &&Defect| archive.as_ref().is_some_and(|archive| defect.affects(archive));
        let found: Vec<&Defect> = defects.iter().filter(affects).collect();
        let words = |d: &&Defect| format!("{name}: AFFECTED by {}: {} {}", d.id, d.about, d.remedy);
        lines.extend(found.iter().map(words).map(|line| text::safe(&line)));
        json["defects"] =
            found.iter().map(|d| json!({"id": d.id, "about": d.about, "remedy": d.remedy})).collect();
        exit = if found.is_empty() { exit } else { exit.max(Exit::Failed) };
    }
    let is_bare =
        report.parity.is_none() && named::of(path).is_ok_and(|named| named.without_version().is_file());
    Outcome { is_bare, ..Outcome::new(path, exit, lines, json) }
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

/// While another process adds a version, its bytes are behind the archive.
fn has_only_a_tail(report: &Report) -> bool {
    !report.findings.is_empty() && report.findings.iter().all(|finding| finding.structure == Structure::Tail)
}

/// As [`examine`], and once more if an archive with bytes behind its end was changed meanwhile: they were of a version that another
/// process was adding.
fn examine_at_rest(
    path: &Path,
    args: &VerifyArgs,
    originals: &Originals,
    progress: &Progress,
) -> Result<Examined> {
    let stamp = || {
        let found = std::fs::metadata(named::of(path).ok()?.without_version()).ok()?;
        Some((found.len(), found.modified().ok()))
    };
    let before = stamp();
    let found = examine(path, args, originals, progress)?;
    if has_only_a_tail(&found.report) && stamp() != before {
        return examine(path, args, originals, progress);
    }
    Ok(found)
}

/// Returns the results, after the comparison with an original if there is one.
fn examine(path: &Path, args: &VerifyArgs, originals: &Originals, progress: &Progress) -> Result<Examined> {
    let named = named::of(path)?;
    let source = open(&named.without_version(), args)?;
    let deep = args.deep || args.against.is_some();
    let what = Examination { version: named.requested().cloned(), deep, all_versions: args.all_versions };
    let opener = || named::opener(path, &OpenArgs { remote: args.remote.clone(), ..OpenArgs::default() });
    let found = verify::examine(&source, &what, &open_options(), progress)
        .map_err(|e| opener().explained(e, source, &named, Kind::Archive))?;
    if let (Some(original), Some(archive), true) =
        (originals.of(path), &found.archive, found.report.is_sound() && found.report.is_complete())
    {
        let why =
            "the archive is lossy: values were rounded, and it does not hold the file that was archived";
        compare(archive, original, progress)
            .map_err(|e| if is_lossy(Some(archive)) { e.context(why) } else { e })?;
    }
    Ok(found)
}

/// Describes the result for an older version.
fn version_words((number, done): &OlderVersion) -> String {
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
            let verdict = if e.is_unsupported() { "NOT CHECKED" } else { "NOT WHOLE" };
            format!("version {number}: {verdict}: {}", text::safe(&e.with_causes()))
        }
    }
}

/// Returns the parity report of an archive that cannot be checked otherwise.
fn repairable(path: &Path, args: &VerifyArgs, progress: &Progress) -> Option<ParityReport> {
    let source = open(path, args).ok()?;
    nc3z_reader::parity::judge(&source, &open_options(), progress).ok()?
}

/// Compares the rebuilt bytes with a file.
fn compare(archive: &Archive, original: &Path, progress: &dyn Monitor) -> Result<()> {
    let file = source::open_regular(original).with_context(|| format!("open `{}`", original.display()))?;
    match archive.compare_original(&file, original, progress)? {
        None => Ok(()),
        Some(OriginalDifference::Length { file, original: held }) => {
            bail!("`{}` has {file} bytes, the archive holds {held}", original.display())
        }
        Some(OriginalDifference::Byte(at)) => bail!("`{}` differs at byte {at}", original.display()),
        Some(_) => bail!("`{}` differs", original.display()),
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
            lines.push(format!("{name}:   {}", tile_location::words(place, archive)));
        }
        if finding.places.len() > PLACES {
            lines.push(format!("{name}:   and {} more places", finding.places.len() - PLACES));
        }
    }
    if report.more > 0 {
        lines.push(format!("{name}: and {} more findings", report.more));
    }
    for place in &report.lost {
        lines.push(format!("{name}: lost before it was repaired: {}", tile_location::words(place, archive)));
    }
    for undecoded in &report.not_decoded {
        let place = tile_location::words(&undecoded.place, None);
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
