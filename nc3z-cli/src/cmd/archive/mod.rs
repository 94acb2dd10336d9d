//! `nc3z archive`.

mod console;
mod options;
mod piped;

pub(super) use options::encode_options;

use super::failures::Failures;
use super::outputs;
use super::targets;
use super::tree::{self, evidence};
use super::url;
use crate::args::{ArchiveArgs, ManifestArg, PassedOverArg, PassedOverOfTreeArg};
use crate::exit::Exit;
use crate::output::progress::Progress;
use crate::output::signals::interrupted;
use crate::output::{set_level, text};
use anyhow::{Result, bail};
use console::ConsoleObserver;
use nc3z_collections::tree::campaign::Campaign;
use nc3z_collections::tree::manifest::output::{ManifestKind, Manifests, directory};
use nc3z_collections::tree::run::{Ending, Report};
use nc3z_collections::tree::specification;
use nc3z_collections::tree::{Inputs, Options};
use nc3z_writer::WriterOptions;
use std::path::Path;

/// Archives all inputs. If one fails, the others are still archived.
pub(crate) fn run(args: &ArchiveArgs) -> Result<Exit> {
    set_level(&args.tell);
    // Chunk lengths that fit some files of many need not fit all.
    let many = is_run(args) || args.inputs.len() > 1;
    let writer = options::options(args).with_optional_chunks(many);
    if let Some(url) = args.inputs.iter().find(|i| url::of(i).is_some()) {
        let url = text::safe(&url::shown(url));
        bail!(
            "`{url}` is a URL, and `nc3z archive` reads files: `curl -s {url} | nc3z archive - -o NAME.nc3z` takes one from a server"
        );
    }
    outputs::check(args.output.as_deref(), args.out.parents)?;
    [&args.run.log, &args.catalog, &args.acl]
        .into_iter()
        .try_for_each(|file| outputs::check(file.as_deref(), true))?;
    if args.inputs.iter().any(|i| i.as_os_str() == "-") || args.output.as_deref() == Some(Path::new("-")) {
        if args.catalog.is_some() {
            refuse!("--catalog reads the archives again: give files, not `-`");
        }
        return super::with_threads(*args.threads, || piped::run(args, &writer))?;
    }
    if let Some(catalog) = args.catalog.as_ref().filter(|_| !args.run.dry_run) {
        outputs::prepare_new(catalog, args.out.force)?;
    }
    let manifests = manifests(args)?;
    if args.clean_temps && !args.run.dry_run {
        let roots = args.output.as_ref().map_or(&args.inputs[..], std::slice::from_ref);
        roots.iter().filter(|root| root.is_dir()).for_each(|root| outputs::clean(root));
    }
    // Before --remove-source removes anything.
    let kept =
        args.acl.as_ref().map_or(Ok(Exit::Done), |directory| super::acl::write(&args.inputs, directory))?;
    let unit = args.run.unit.as_deref().map(Campaign::of_unit).transpose()?;
    let listed = || match (&args.run.unit, &args.run.files_from) {
        (Some(unit), _) => targets::read_names(unit, true),
        (None, Some(list)) => targets::read_names(list, args.run.null),
        (None, None) => Ok(Vec::new()),
    };
    let inputs = Inputs { paths: &args.inputs, listed: Some(&listed) };
    let console = ConsoleObserver::new(args);
    let report =
        nc3z_collections::tree::run(&inputs, &options_of(args, writer, unit), outputs::all(), &console)?;
    console.end();
    if args.run.dry_run {
        tree::tell(&report.summary);
        return Ok(exit_of(report.ending));
    }
    let mut worst = match args.run.passed_over {
        None => tree::judge(&report.others, None),
        Some(PassedOverOfTreeArg::List) => tree::judge(&report.others, Some(PassedOverArg::List)),
        Some(PassedOverOfTreeArg::Fail) => tree::judge(&report.others, Some(PassedOverArg::Fail)),
        Some(PassedOverOfTreeArg::Copy) => exit_of(report.ending),
    };
    if report.is_tree || is_listed(args) {
        tree::tell_run(&report.summary, args.out.force);
    }
    // A run with a log says what remains: files on tape can be archived later.
    if report.offline > 0 && (args.run.log.is_some() || args.run.unit.is_some()) {
        worst = worst.max(Exit::Failed);
    }
    let mut failures = Failures::default();
    report.failed.iter().for_each(|(path, ending)| failures.add(path, exit_of(*ending)));
    failures.list(report.files, "files");
    // After a signal that follows the last file, only the manifest is missing.
    let not_tried = report.summary.not_tried > 0;
    let is_late = not_tried && args.run.stop_after.is_some();
    if is_late || (interrupted() && (not_tried || manifests.is_some() || args.catalog.is_some())) {
        worst = Exit::Interrupted;
    } else if !not_tried {
        if let Some(manifests) = manifests {
            worst = worst.max(write(&manifests, &report, args)?);
        }
        let archives = report.archives();
        if let Some(catalog) = args.catalog.as_ref().filter(|_| !archives.is_empty()) {
            worst =
                worst.max(super::catalog::of_archives(archives, (catalog, args.out.force), *args.threads)?);
        }
    }
    Ok(failures.worst().max(worst).max(kept))
}

/// Returns whether the run is long enough to be continued: it is of a tree or of a list.
fn is_run(args: &ArchiveArgs) -> bool {
    args.recursive || is_listed(args)
}

fn is_listed(args: &ArchiveArgs) -> bool {
    args.run.files_from.is_some() || args.run.unit.is_some()
}

/// A failure of `archive` never means a corrupt archive: the exit code is 1, 4 or 130.
fn exit_of(ending: Ending) -> Exit {
    match ending {
        Ending::Done => Exit::Done,
        Ending::Refused => Exit::InputsRefused,
        Ending::Failed => Exit::Failed,
        Ending::Interrupted => Exit::Interrupted,
    }
}

fn manifest_kind(args: &ArchiveArgs) -> Option<ManifestKind> {
    args.manifest.map(|kind| match kind {
        ManifestArg::Sha256 => ManifestKind::Sums,
        ManifestArg::Bagit => ManifestKind::Bag,
    })
}

/// Checks, before anything is archived, the paths of the manifests.
fn manifests(args: &ArchiveArgs) -> Result<Option<Manifests>> {
    let Some(kind) = manifest_kind(args) else { return Ok(None) };
    if args.with_spec && kind == ManifestKind::Sums {
        refuse!(
            "--with-spec is for bags (--manifest bagit); `nc3z spec -o DIR` writes the specification anywhere"
        );
    }
    Ok(Some(Manifests::prepare(kind, &args.inputs, args.output.as_deref(), args.out.force)?))
}

/// Writes the manifests of the archives that are there, and the specification into a bag.
fn write(manifests: &Manifests, report: &Report, args: &ArchiveArgs) -> Result<Exit> {
    if let Some(bag) = manifests.bag().filter(|_| args.with_spec) {
        specification::write(&bag.join(specification::DIRECTORY), args.out.force)?;
    }
    let archives = report.archives();
    let bytes = archives.iter().map(|path| path.metadata().map_or(0, |m| m.len())).sum();
    let progress = Progress::new(bytes, "manifest".to_owned());
    let open = crate::registry::open_options();
    let kept = manifests.write(&archives, &report.made(), *args.threads, &open, &progress)?;
    drop(progress);
    Ok(super::manifest::tell_kept(&kept))
}

fn options_of(args: &ArchiveArgs, writer: WriterOptions, unit: Option<(Campaign, String)>) -> Options {
    let log = unit.as_ref().map(|(campaign, name)| campaign.log(name));
    let pause = unit.as_ref().map(|(campaign, _)| campaign.pause());
    Options {
        writer,
        open: crate::registry::open_options(),
        threads: *args.threads,
        workers: None,
        memory: Some(args.encode.memory),
        output: args.output.as_deref().map(|output| directory(manifest_kind(args), output)),
        recursive: args.recursive,
        shard: args.run.shard,
        skip_existing: evidence(args.run.skip_existing, is_run(args), args.out.force),
        force: args.out.force,
        remove_source: args.remove_source,
        log: log.or_else(|| args.run.log.clone()),
        arguments: std::env::args_os().map(|word| url::hidden_in(&word.to_string_lossy())).collect(),
        list: args.run.unit.clone().or_else(|| args.run.files_from.clone()),
        unit,
        resume: args.run.resume.clone(),
        max_errors: args.run.max_errors,
        stop_after: args.run.stop_after,
        max_rate: args.run.max_rate,
        pause,
        offline: args.run.tape.on_tape.into(),
        utf8_names: args.manifest == Some(ManifestArg::Bagit),
        copy_others: args.run.passed_over == Some(PassedOverOfTreeArg::Copy),
        dry_run: args.run.dry_run,
    }
}
