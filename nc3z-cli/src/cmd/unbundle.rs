//! `nc3z unbundle`, and `nc3z restore` of bundles: write each member to a separate file.

use super::{member, url};
use crate::args::{OpenArgs, RestoreArgs, UnbundleArgs};
use crate::exit::{Exit, of_error};
use crate::output::progress::{Progress, interrupted};
use crate::output::table::count;
use crate::output::{report_error, set_level, text};
use anyhow::{Context, Result, bail};
use nc3z_aggregate::bundle::{Bundle, inside};
use nc3z_aggregate::pack::PackedMember;
use nc3z_format::archive::constants::MAGIC;
use nc3z_reader::source::{self, ByteSource, SharedSource};
use nc3z_reader::{Archive, Monitor};
use nc3z_writer::{AtomicFile, WriterOptions, archive_source};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The number of bytes copied at once.
const COPY_LEN: u64 = 4 << 20;

/// The form in which members are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Become {
    Originals,
    Archives,
}

/// Writes the members as archives.
pub(crate) fn run(args: &UnbundleArgs) -> Result<Exit> {
    set_level(&args.tell);
    super::with_threads(args.threads, || {
        all(&args.bundle, &args.output, &args.open, args.force, Become::Archives)
    })?
}

/// Restores all members of a bundle.
pub(crate) fn restore(path: &Path, args: &RestoreArgs) -> Result<Exit> {
    let Some(output) = &args.output else {
        bail!("`{}` is a bundle; name the directory for its files with -o", url::shown(path))
    };
    super::with_threads(args.threads, || all(path, output, &args.open, args.force, Become::Originals))?
}

/// Returns whether a path is that of a bundle as a whole.
pub(crate) fn is_bundle(path: &Path) -> bool {
    if url::of(path).is_some() {
        return member::of(path).is_none() && path.extension().is_some_and(|e| e == "zip" || e == "tar");
    }
    path.is_file() && source::open(path, false).is_ok_and(|s| Bundle::is_bundle(&s).unwrap_or(false))
}

/// Writes each member. Continues after one that cannot be read.
fn all(path: &Path, output: &Path, open: &OpenArgs, force: bool, to: Become) -> Result<Exit> {
    let bundle = member::open(path, open)?;
    if output.exists() && !output.is_dir() {
        bail!("`{}` is a file; the members of a bundle need a directory", output.display());
    }
    let (mut worst, mut done, mut failed) = (Exit::Done, 0_u64, 0_u64);
    let progress = Progress::new(bundle.names().len() as u64, text::safe(&url::shown(path)));
    for name in bundle.names() {
        if interrupted() {
            worst = worst.max(Exit::Interrupted);
            break;
        }
        match one(&bundle, name, output, force, to) {
            Ok(()) => done += 1,
            Err(e) => {
                let mut whole = path.as_os_str().to_owned();
                whole.push("!/");
                whole.push(name);
                report_error(Some(&PathBuf::from(whole)), &e);
                failed += 1;
                worst = worst.max(of_error(&e));
            }
        }
        progress.advance(1);
    }
    drop(progress);
    let shown = text::safe(&url::shown(path));
    let output = crate::cmd::shown(output);
    if failed > 0 {
        note!("{shown} -> {output}  {} written, {failed} failed", count(done, "file"));
    } else {
        tell!("{shown} -> {output}  {}", count(done, "file"));
    }
    Ok(worst)
}

fn one(bundle: &Bundle, name: &str, output: &Path, force: bool, to: Become) -> Result<()> {
    let name_inside = inside("", name).filter(|n| !n.is_empty());
    let name_inside = name_inside.with_context(|| format!("`{name}` leads out of the directory"))?;
    if let Some(packed) = bundle.packed_member(name)? {
        return match to {
            Become::Originals => write_packed(&packed, &output.join(name_inside), force),
            Become::Archives => {
                let target = parented(output.join(format!("{name_inside}.nc3z")))?;
                let options = WriterOptions::default().with_force(force);
                archive_source(Arc::new(packed), &target, &options, &())?;
                Ok(())
            }
        };
    }
    let source = bundle.member(name)?.context("it is not there")?;
    let mut magic = [0; MAGIC.len()];
    if source.len() >= magic.len() as u64 {
        source.read_into(0, &mut magic)?;
    }
    if magic == MAGIC && to == Become::Originals {
        let archive = Archive::from_source(source, &crate::registry::open_options())?;
        let target = parented(output.join(name_inside.strip_suffix(".nc3z").unwrap_or(&name_inside)))?;
        let file = AtomicFile::create_with_mode(&target, force, 0o666)?;
        archive.restore_to_file(file.file(), &target, &())?;
        file.commit(None)?;
        return Ok(());
    }
    copy(&source, &parented(output.join(name_inside))?, force)
}

/// Writes the original file of a packed member, and compares its digest.
pub(crate) fn write_packed(packed: &PackedMember, target: &Path, force: bool) -> Result<()> {
    let mut hash = Sha256::new();
    let target = parented(target.to_owned())?;
    let file = AtomicFile::create_with_mode(&target, force, 0o666)?;
    pieces(packed, &mut |bytes| {
        hash.update(bytes);
        Ok(file.file().write_all(bytes)?)
    })?;
    if hash.finalize()[..] != packed.sha256() {
        bail!(damaged(packed.name()));
    }
    file.commit(None)?;
    Ok(())
}

/// Checks that a packed member has the bytes that were packed.
pub(crate) fn check_packed(packed: &PackedMember) -> Result<()> {
    let mut hash = Sha256::new();
    pieces(packed, &mut |bytes| {
        hash.update(bytes);
        Ok(())
    })?;
    if hash.finalize()[..] == packed.sha256() { Ok(()) } else { bail!(damaged(packed.name())) }
}

fn damaged(name: &str) -> nc3z_reader::Error {
    let found = "another one".to_owned();
    let error = nc3z_format::Error::corrupt(name, None, "SHA-256", "that of the file that was packed", found);
    error.into()
}

fn pieces(source: &dyn ByteSource, to: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut at = 0;
    while at < source.len() {
        let len = (source.len() - at).min(COPY_LEN);
        to(&source.read_at(at, usize::try_from(len).context("copy")?)?)?;
        at += len;
    }
    Ok(())
}

fn copy(source: &SharedSource, target: &Path, force: bool) -> Result<()> {
    let file = AtomicFile::create_with_mode(target, force, 0o666)?;
    pieces(source.as_ref(), &mut |bytes| Ok(file.file().write_all(bytes)?))?;
    file.commit(None)?;
    Ok(())
}

/// Returns the path, after creating its directories.
fn parented(path: PathBuf) -> Result<PathBuf> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).with_context(|| format!("create `{}`", parent.display()))?;
    }
    Ok(path)
}
