//! `nc3z restore`.

use super::failures::Failures;
use super::member::{self, Damaged};
use super::named::{self, Opens as _};
use super::offline::without_recalls;
use super::targets::{self, Job, Naming};
use super::{outputs, stdin, tree, unbundle, url};
use crate::args::{Access, OpenArgs, RestoreArgs};
use crate::exit::Exit;
use crate::output::message::InFileExt;
use crate::output::progress::Progress;
use crate::output::signals::{interrupted, while_blocked};
use crate::output::streams::{self, Stdout};
use crate::output::{set_level, tells_more, text};
use anyhow::{Result, bail};
use nc3z::Name;
use nc3z_collections::bundle::{Bundle, MemberFile};
use nc3z_collections::tree::Refusal;
use nc3z_collections::tree::restore::{
    Like, Original, RestoreObserver, RestoreOptions, restore_jobs, restore_links,
};
use nc3z_look::cost::Costs;
use nc3z_look::tile_location::words;
use nc3z_look::verify::is_lossy;
use nc3z_reader::{Archive, Monitor, RestoreReport};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of runs of lost tiles that are listed.
const LISTED: usize = 100;

/// Restores all archives one after another, each in parallel.
pub(crate) fn run(args: &RestoreArgs) -> Result<Exit> {
    set_level(&args.tell);
    super::outputs::check(args.output.as_deref(), args.out.parents)?;
    url::check_credentials(&args.archives, &args.open.remote)?;
    if args.output.as_deref().is_some_and(|o| o == Path::new("-") || o == Path::new("/dev/stdout")) {
        let bytes = super::work_on(args.archives.iter());
        return super::with_threads_for(bytes, *args.threads, || to_stdout(args))?;
    }
    let (bundles, archives): (Vec<PathBuf>, Vec<PathBuf>) =
        args.archives.iter().cloned().partition(|p| args.recursive && unbundle::is_bundle(p));
    let mut worst = Exit::Done;
    for bundle in &bundles {
        worst = worst.max(unbundle::restore(bundle, args)?);
    }
    if archives.is_empty() {
        return Ok(worst);
    }
    run_named(&archives, args).map(|exit| exit.max(worst))
}

/// Restores archives, and those in directories.
fn run_named(archives: &[PathBuf], args: &RestoreArgs) -> Result<Exit> {
    let rename = |p: &Path| match args.version {
        Some(_) => Err(Refusal::VersionName.into()),
        None if stdin::is(p) => Err(Refusal::NoName.into()),
        None if named::of(p).is_ok_and(|name| name.requested().is_some()) => Err(Refusal::VersionName.into()),
        // Members of bundles and files on servers are restored to the current directory, independent of the
        // directories in their names.
        None => match (url::of(p), member::of(p)) {
            (Some(url), _) => targets::restored_name(Path::new(last_name(url))),
            (None, Some((_, name))) => {
                targets::restored_name(Path::new(name.rsplit('/').next().unwrap_or_default()))
            }
            (None, None) => targets::restored_name(p),
        },
    };
    // If -o names a file, the archive may have any name.
    let single = archives.len() == 1
        && args.output.as_ref().is_some_and(|o| !targets::is_directory_name(o))
        && !archives[0].is_dir();
    let keep = |p: &Path| Ok(p.to_owned());
    let naming = Naming { rename: if single { &keep } else { &rename }, wanted: &targets::is_archive_name };
    let mut found = targets::pair(archives, args.output.as_deref(), args.recursive, &naming)?;
    if args.recursive {
        found.jobs = without_recalls(found.jobs, |job| &job.input, &args.tape)?;
    }
    check_space(&found.jobs, args.out.force)?;
    // A run that fills lost tiles writes them again, so that they are reported.
    let is_run = args.recursive && !args.fill_lost;
    let options = RestoreOptions {
        output: args.output.clone(),
        force: args.out.force,
        skip_existing: tree::evidence(args.skip_existing, is_run, args.out.force),
    };
    let console = ConsoleObserver { args, failures: Mutex::new(Failures::new(&found.failures)) };
    let bytes = super::work_on(found.jobs.iter().map(|job| &job.input));
    let mut summary = super::with_threads_for(bytes, *args.threads, || {
        restore_jobs(&found.jobs, &found.others, &options, outputs::all(), &console)
    })?;
    restore_links(&found.others, &options, outputs::all(), &console, &mut summary);
    let failures = console.failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    let others = tree::judge(&found.others, args.passed_over);
    if found.is_tree {
        summary.failed = failures.count() as u64;
        summary.interrupted = failures.interrupted() as u64;
        tree::tell_run(&summary, args.out.force);
    }
    failures.list(found.jobs.len() + found.failures.len(), "archives");
    let others = match (&args.acl, &args.output) {
        (Some(acl), Some(output)) if summary.not_tried == 0 => others.max(super::acl::apply(acl, output)?),
        _ => others,
    };
    let least = if summary.not_tried > 0 { Exit::Interrupted } else { others };
    Ok(failures.worst().max(least))
}

/// An original is rarely this many times as long as its archive.
const MOST_RATIO: u64 = 64;

/// Refuses archives whose originals find no space. Files that exist are kept, or with `replaces` stay until the new file is
/// complete.
fn check_space(jobs: &[Job], replaces: bool) -> Result<()> {
    let (old, new): (Vec<&Job>, Vec<&Job>) = jobs.iter().partition(|job| job.output.exists());
    let old = if replaces { old } else { Vec::new() };
    let Some(first) = new.first().or(old.first()) else { return Ok(()) };
    let all = || new.iter().chain(&old);
    let stored: u64 = all().filter_map(|job| job.input.metadata().ok()).map(|m| m.len()).sum();
    outputs::check_space(&first.output, stored.saturating_mul(MOST_RATIO), || {
        let largest = old.iter().map(|job| needed(job)).max().unwrap_or(0);
        new.iter().map(|job| needed(job)).sum::<u64>().max(largest)
    })
}

/// Returns the number of bytes that an original takes at least. Runs of zeros take no space.
fn needed(job: &Job) -> u64 {
    let archive = super::open_archive(&job.input, &OpenArgs::default());
    let Some((archive, costs)) = archive.ok().and_then(|archive| {
        let costs = Costs::new(&archive, archive.source()).ok()?;
        Some((archive, costs))
    }) else {
        return 0;
    };
    let has_runs = costs.variables.iter().any(|cost| cost.constant + cost.absent > 0);
    if has_runs { costs.payload } else { archive.original_len() }
}

/// Opens the archives of a run, prints each result, and collects the failures.
struct ConsoleObserver<'a> {
    args: &'a RestoreArgs,
    failures: Mutex<Failures>,
}

impl ConsoleObserver<'_> {
    fn failures(&self) -> MutexGuard<'_, Failures> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RestoreObserver<anyhow::Error> for ConsoleObserver<'_> {
    fn open(&self, input: &Path) -> Result<(Original, Option<Like>)> {
        if let Some(member) = member_file(input, self.args)? {
            return Ok((Original::Member(member), None));
        }
        let named = named(input, self.args)?;
        let mut like = named.metadata()?.and_then(|_| Like::of_path(named.file()));
        if let Some(name) = named.member()
            && let Some(like) = &mut like
        {
            let stamp = open_for(named.file(), self.args)?.stamp(name)?;
            like.attributes.mode = stamp.mode().or(like.attributes.mode);
            like.attributes.modified = stamp.modified().or(like.attributes.modified);
        }
        Ok((Original::Archive(open(&named, self.args)?), like))
    }

    fn is_cancelled(&self) -> bool {
        interrupted()
    }

    fn monitor(&self, input: &Path, bytes: u64) -> Box<dyn Monitor + '_> {
        Box::new(Progress::new(bytes, text::safe(&url::shown(input))))
    }

    fn restored(&self, job: &Job, original: &Original, restored: Option<&RestoreReport>) {
        let (from, to) = (text::safe(&url::shown(&job.input)), crate::cmd::shown(&job.output));
        let (archive, restored) = match (original, restored) {
            (Original::Archive(archive), Some(restored)) => (archive, restored),
            (Original::Member(member), _) => {
                let lost = member.lost().unwrap_or_default();
                let digest = match (lost.is_empty(), member.recorded()) {
                    (false, _) => "NOT the original: lost data are replaced by fill values".to_owned(),
                    (true, Some(checksum)) => format!("{checksum} as recorded"),
                    (true, None) => "a tar records no checksum".to_owned(),
                };
                tell!("{from} -> {to}  {} ({digest})", text::size(member.len()));
                if !lost.is_empty() {
                    unbundle::report_lost(&job.input, &lost);
                    self.failures().add(&job.input, Exit::Corrupt);
                }
                return;
            }
            _ => return,
        };
        let digest = match restored.matches_record {
            true => "SHA-256 as recorded",
            false if !archive.filled().is_empty() => {
                "NOT the original: lost data are replaced by fill values"
            }
            false => "no digest recorded",
        };
        tell!("{from} -> {to}  {} ({digest})", text::size(restored.len));
        report_lossy(&job.input, archive);
        if report_filled(&job.input, archive) == Exit::Corrupt {
            self.failures().add(&job.input, Exit::Corrupt);
        }
    }

    fn present(&self, job: &Job) {
        if tells_more() {
            note!("{}: its original exists already", text::safe(&url::shown(&job.input)));
        }
    }

    fn failed(&self, path: &Path, error: anyhow::Error) {
        self.failures().report(path, &error);
    }

    fn removed(&self, files: &[PathBuf]) {
        outputs::print(files);
    }

    fn link_leads_out(&self, link: &Path) {
        tree::tell_leads_out(link);
    }
}

/// Returns a member of a bundle that is not an archive. None for other inputs.
fn member_file(input: &Path, args: &RestoreArgs) -> Result<Option<MemberFile>> {
    let named = named::of(input)?;
    let Some(name) = named.member() else { return Ok(None) };
    open_for(named.file(), args)?.member_file(name).map_err(unbundle::of_aggregate)
}

/// Opens the bundle of an input.
fn open_for(bundle: &Path, args: &RestoreArgs) -> Result<Arc<Bundle>> {
    member::open_as(bundle, &args.open, if args.fill_lost { Damaged::Filled } else { Damaged::Refused })
}

/// Returns the text after the last slash of a URL.
fn last_name(url: &str) -> &str {
    url::address(url).rsplit('/').next().unwrap_or_default()
}

/// Returns the archive and the requested version.
fn named(path: &Path, args: &RestoreArgs) -> Result<Name> {
    let named = named::of(path)?;
    if args.version.is_none() {
        return Ok(named);
    }
    if named.requested().is_some() {
        refuse!("`{}` names a version, and so does --version: give one of them", super::shown(path));
    }
    Ok(named.with_requested(args.version.clone()))
}

/// Opens an archive. With `--fill-lost` also a damaged one, whose index is then rebuilt.
fn open(named: &Name, args: &RestoreArgs) -> Result<Archive> {
    let refuse_bundle = || super::named::refuse_bundle(&named.without_version(), &args.open);
    if !args.fill_lost {
        let opened = named.open_archive(&args.open);
        // Bundles of other formats are not archives.
        if opened.as_ref().ok().is_none_or(|archive| Bundle::is_one(&archive.clone().into())) {
            refuse_bundle()?;
        }
        let archive = opened?;
        archive.require_whole()?;
        return Ok(archive);
    }
    refuse_bundle()?;
    if named.requested().is_some() {
        refuse!("--fill-lost gives the newest version only");
    }
    let file = named.without_version();
    // By position: with a memory map, a failing disk would kill the process. All of it is read.
    let whole = OpenArgs { mmap: false, access: Access::Forward, ..args.open.clone() };
    let source = named.source(&whole)?;
    let name = text::safe(&url::shown(&file));
    let progress = Progress::new(source.len(), name.clone());
    let options = crate::registry::with_read_repair(crate::registry::open_options(), &file);
    let (archive, notes) = Archive::open_filled(&source, &options, &progress)?;
    notes.iter().for_each(|note| note!("nc3z: warning: {name}: {}", text::safe(note)));
    Ok(archive)
}

/// Reports that the archive's values were rounded, if so.
fn report_lossy(path: &Path, archive: &Archive) {
    if is_lossy(Some(archive)) {
        let name = text::safe(&url::shown(path));
        note!(
            "nc3z: note: {name} is LOSSY: values were rounded when it was made; these are not the source's bytes"
        );
    }
}

/// Warns about bytes that are not the original's.
fn report_filled(path: &Path, archive: &Archive) -> Exit {
    let filled = archive.filled();
    if filled.is_empty() {
        return Exit::Done;
    }
    let name = text::safe(&url::shown(path));
    let runs = archive.filled_runs();
    note!("nc3z: warning: {name}: {} tiles are lost; these are FILL VALUES, not data:", filled.len());
    for (array, tiles) in runs.iter().take(LISTED) {
        note!("  {}", words(&archive.place(*array, tiles.clone()), None));
    }
    if runs.len() > LISTED {
        note!("  and {} more", runs.len() - LISTED);
    }
    Exit::Corrupt
}

fn to_stdout(args: &RestoreArgs) -> Result<Exit> {
    if args.skip_existing.is_some() {
        refuse!("--skip-existing keeps a file, and -o - writes to standard output");
    }
    let mut worst = Exit::Done;
    // The number of filled bytes is known only at the end: with --fill-lost everything is decoded, even if
    // standard output is closed.
    let mut out = if args.fill_lost { Stdout::verdicts() } else { Stdout::results() };
    if out.is_terminal() && !args.to_terminal {
        bail!(
            "a netCDF file is not for a terminal; name a file with -o, send it through a pipe, or write it there with --to-terminal"
        );
    }
    let mut is_read = true;
    for path in &args.archives {
        if let Some(member) = member_file(path, args)? {
            let mut write = |bytes: &[u8]| out.write_all(bytes).map_err(nc3z_collections::Error::Output);
            match while_blocked(|| member.copy(&mut write)).map_err(unbundle::of_aggregate) {
                Err(e) if streams::is_reader_gone(&e) => is_read = false,
                done => done.in_file(path)?,
            }
            let lost = member.lost()?;
            if !lost.is_empty() {
                unbundle::report_lost(path, &lost);
                worst = Exit::Corrupt;
            }
            continue;
        }
        let archive = open(&named(path, args)?, args).in_file(path)?;
        if is_read {
            let progress = Progress::new(archive.original_len(), text::safe(&url::shown(path)));
            let done = while_blocked(|| archive.restore_to_stream(&mut out, &progress));
            match done.map_err(anyhow::Error::from) {
                Ok(_) => {}
                // The other archives are still opened: if one cannot be opened, that is a failure.
                Err(e) if streams::is_reader_gone(&e) => is_read = false,
                Err(e) => return Err(e),
            }
        }
        report_lossy(path, &archive);
        worst = worst.max(report_filled(path, &archive));
    }
    Ok(worst)
}
