//! `nc3z unbundle`, and `nc3z restore` of bundles: write each member to a separate file.

use super::failures::Failures;
use super::{member, url};
use crate::args::{OpenArgs, RestoreArgs, UnbundleArgs};
use crate::exit::Exit;
use crate::output::progress::{Progress, interrupted};
use crate::output::table::count;
use crate::output::{set_level, text};
use anyhow::{Result, bail};
use nc3z_aggregate::Error;
use nc3z_aggregate::bundle::{Bundle, MemberForm, extract};
use nc3z_reader::{Monitor, source};
use std::path::Path;

/// Writes the members as archives.
pub(crate) fn run(args: &UnbundleArgs) -> Result<Exit> {
    set_level(&args.tell);
    super::places::check_file(Some(&args.output), args.place.parents)?;
    super::with_threads(args.threads, || {
        all(&args.bundle, &args.output, &args.open, args.force, MemberForm::Archives)
    })?
}

/// Restores all members of a bundle.
pub(crate) fn restore(path: &Path, args: &RestoreArgs) -> Result<Exit> {
    let Some(output) = &args.output else {
        bail!("`{}` is a bundle; name the directory for its files with -o", url::shown(path))
    };
    super::with_threads(args.threads, || all(path, output, &args.open, args.force, MemberForm::Originals))?
}

/// Returns whether a path is that of a bundle as a whole.
pub(crate) fn is_bundle(path: &Path) -> bool {
    if url::of(path).is_some() {
        return member::of(path).is_none() && path.extension().is_some_and(|e| e == "zip" || e == "tar");
    }
    path.is_file() && source::open(path, false).is_ok_and(|s| Bundle::is_bundle(&s).unwrap_or(false))
}

/// Writes each member. Continues after one that cannot be read.
fn all(path: &Path, output: &Path, open: &OpenArgs, force: bool, form: MemberForm) -> Result<Exit> {
    let bundle = member::open(path, open)?;
    if output.exists() && !output.is_dir() {
        bail!("`{}` is a file; the members of a bundle need a directory", output.display());
    }
    let options = crate::registry::open_options();
    let (mut failures, mut done, mut least) = (Failures::default(), 0, Exit::Done);
    let progress = Progress::new(bundle.names().len() as u64, text::safe(&url::shown(path)));
    for name in bundle.names() {
        if interrupted() {
            least = Exit::Interrupted;
            break;
        }
        match extract(&bundle, name, output, force, form, &options).map_err(of_aggregate) {
            Ok(()) => done += 1,
            Err(e) => {
                let mut whole = path.as_os_str().to_owned();
                whole.push("!/");
                whole.push(name);
                failures.report(Path::new(&whole), &e);
            }
        }
        progress.advance(1);
    }
    drop(progress);
    let shown = text::safe(&url::shown(path));
    let output = crate::cmd::shown(output);
    if failures.len() > 0 {
        note!("{shown} -> {output}  {} written, {} failed", count(done, "file"), failures.len());
    } else {
        tell!("{shown} -> {output}  {}", count(done, "file"));
    }
    Ok(failures.worst().max(least))
}

/// Returns the error of the reader, the writer or the system itself, which [`Error`] repeats.
pub(crate) fn of_aggregate(e: Error) -> anyhow::Error {
    match e {
        Error::Reader(e) => e.into(),
        Error::Writer(e) => e.into(),
        Error::Output(e) => e.into(),
        e => e.into(),
    }
}
