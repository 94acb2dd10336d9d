//! `nc3z bundle --extract`, and `nc3z restore` of bundles: write each member to a separate file.

use super::failures::Failures;
use super::member::{self, Damaged};
use super::{named, url};
use crate::args::{BundleArgs, OpenArgs, RestoreArgs};
use crate::exit::{Exit, of_error};
use crate::output::message::InFileExt;
use crate::output::progress::Progress;
use crate::output::signals::interrupted;
use crate::output::table::count;
use crate::output::{message, report_error, text};
use anyhow::{Result, anyhow, bail};
use nc3z_collections::Error;
use nc3z_collections::bundle::{Bundle, MemberForm, extract};
use nc3z_collections::pack::LostPart;
use nc3z_reader::Monitor;
use std::path::{Path, PathBuf};

/// The number of lost parts of a file that are listed.
const LISTED: usize = 100;

/// Writes the members as archives.
pub(super) fn run(args: &BundleArgs) -> Result<Exit> {
    let [bundle] = &args.inputs[..] else {
        refuse!("--extract takes one bundle");
    };
    let open = OpenArgs { remote: args.remote.clone(), ..OpenArgs::default() };
    super::outputs::check_file(Some(&args.output), args.out.parents)?;
    super::with_threads(*args.threads, || {
        let how = How { force: args.out.force, form: MemberForm::Archives, fill_lost: false };
        all(bundle, &args.output, &open, how)
    })?
}

/// Restores all members of a bundle.
pub(crate) fn restore(path: &Path, args: &RestoreArgs) -> Result<Exit> {
    let Some(output) = &args.output else {
        bail!("`{}` is a bundle; name the directory for its files with -o", url::shown(path))
    };
    let how = How { force: args.out.force, form: MemberForm::Originals, fill_lost: args.fill_lost };
    super::with_threads(*args.threads, || all(path, output, &args.open, how))?
}

/// Returns whether a path is that of a bundle as a whole.
pub(crate) fn is_bundle(path: &Path) -> bool {
    if let Some(url) = url::of(path) {
        let name = url.split(['?', '#']).next().unwrap_or_default();
        return member::of(path).is_none() && Bundle::is_name(name.split('@').next().unwrap_or(name));
    }
    named::of(path).is_ok_and(|name| name.member().is_none() && Bundle::is_file(name.file()))
}

/// The way in which members are written.
#[derive(Debug, Clone, Copy)]
struct How {
    force: bool,
    form: MemberForm,
    fill_lost: bool,
}

/// Writes each member. Continues after one that cannot be read. A group that cannot be opened is reported once, with its members.
fn all(path: &Path, output: &Path, open: &OpenArgs, how: How) -> Result<Exit> {
    let bundle = member::open_as(path, open, if how.fill_lost { Damaged::Filled } else { Damaged::Refused })?;
    let damage = bundle.damage().map(|e| report_damage(path, e));
    if output.exists() && !output.is_dir() {
        bail!("`{}` is a file; the members of a bundle need a directory", output.display());
    }
    bundle.check_outputs(how.form).in_file(path)?;
    let progress = Progress::new(bundle.len() as u64, text::safe(&url::shown(path)));
    let plain = bundle.plain_names().in_file(path)?;
    let groups = bundle.groups().in_file(path)?;
    let mut run = Run {
        path,
        output,
        how,
        bundle: &bundle,
        progress: &progress,
        failures: Failures::default(),
        done: 0,
        filled: 0,
    };
    let is_whole = run.groups(&groups)? && run.members(plain.into_iter());
    let (failures, done, filled) = (run.failures, run.done, run.filled);
    drop(progress);
    let shown = text::safe(&url::shown(path));
    let output = crate::cmd::shown(output);
    if failures.len() > 0 {
        let with_fill =
            if filled > 0 { format!(", {filled} of them with fill values") } else { String::new() };
        let failed = failures.len() - filled;
        note!("{shown} -> {output}  {} written{with_fill}, {failed} failed", count(done, "file"));
    } else {
        tell!("{shown} -> {output}  {}", count(done, "file"));
    }
    let least = if is_whole { damage.unwrap_or(Exit::Done) } else { Exit::Interrupted };
    Ok(failures.worst().max(least))
}

/// Reports that the members of a damaged bundle may be fewer than it had.
fn report_damage(path: &Path, damage: &Error) -> Exit {
    let name = text::safe(&url::shown(path));
    note!("nc3z: warning: {name}: {}; members may be MISSING", text::safe(&damage.to_string()));
    Exit::Corrupt
}

/// The members of a bundle on their way to files.
struct Run<'r> {
    path: &'r Path,
    output: &'r Path,
    how: How,
    bundle: &'r Bundle,
    progress: &'r Progress,
    failures: Failures,
    /// The number of written files.
    done: u64,
    /// The number of them that have fill values.
    filled: usize,
}

impl Run<'_> {
    /// Writes the members of all groups. Returns false if the run was interrupted.
    fn groups(&mut self, groups: &[String]) -> Result<bool> {
        for (number, group) in groups.iter().enumerate() {
            let names = self.bundle.members_of(number).in_file(self.path)?;
            match self.bundle.group(number) {
                Err(e) => self.group_failed(group, &names, &of_aggregate(e)),
                Ok(_) if !self.members(names.into_iter()) => return Ok(false),
                Ok(_) => {}
            }
        }
        Ok(true)
    }

    /// Reports a group that cannot be opened, and each of its members.
    fn group_failed(&mut self, group: &str, names: &[&str], e: &anyhow::Error) {
        let advice = if self.bundle.has_parity() {
            format!("`nc3z repair {} -o NEW` repairs it with its parity", message::shell_name(self.path))
        } else {
            message::ELSEWHERE.to_owned()
        };
        let lost = count(names.len() as u64, "member");
        let said = format!(
            "{lost} cannot be read, with the group `{group}`: {}; {advice}",
            message::without_advice(e)
        );
        report_error(Some(self.path), &anyhow!(said));
        for name in names {
            note!("  lost: {}", text::safe(name));
            self.failures.add(&self.member(name), of_error(e));
            self.progress.advance(1);
        }
    }

    /// Writes members. Returns false if the run was interrupted.
    fn members<'n>(&mut self, names: impl Iterator<Item = impl AsRef<str> + 'n>) -> bool {
        let options = crate::registry::open_options();
        for name in names {
            if interrupted() {
                return false;
            }
            let (name, How { force, form, .. }) = (name.as_ref(), self.how);
            match extract(self.bundle, name, self.output, force, form, &options).map_err(of_aggregate) {
                Ok(lost) => {
                    self.done += 1;
                    if !lost.is_empty() {
                        self.filled += 1;
                        report_lost(&self.member(name), &lost);
                        self.failures.add(&self.member(name), Exit::Corrupt);
                    }
                }
                Err(e) => self.failures.report(&self.member(name), &e),
            }
            self.progress.advance(1);
        }
        true
    }

    fn member(&self, name: &str) -> PathBuf {
        member::inside(self.path, name)
    }
}

/// Reports the parts of a file that are not the original's.
pub(crate) fn report_lost(path: &Path, lost: &[LostPart]) {
    let part = |part: &LostPart| {
        format!("{} ({} of {})", text::safe(&part.what), text::size(part.bytes), text::size(part.of))
    };
    let mut parts: Vec<String> = lost.iter().take(LISTED).map(part).collect();
    if lost.len() > LISTED {
        parts.push(format!("and {} more", lost.len() - LISTED));
    }
    let name = text::safe(&url::shown(path));
    note!("nc3z: warning: {name}: lost, and FILL VALUES, not data: {}", parts.join(", "));
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
