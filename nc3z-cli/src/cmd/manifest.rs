//! `nc3z hash --manifest`: writes the list of a tree's archives and their SHA-256, from the tree or from the logs of
//! the runs that wrote it.

use super::failures::Failures;
use super::targets::{self, SUFFIX};
use crate::args::HashArgs;
use crate::exit::Exit;
use crate::output::progress::Progress;
use crate::output::streams::Stdout;
use anyhow::{Result, bail};
use nc3z_collections::tree::manifest::compare::Difference;
use nc3z_collections::tree::manifest::entries::Listed;
use nc3z_collections::tree::manifest::from_log::from_logs;
use nc3z_collections::tree::manifest::output::hash_all;
use nc3z_collections::tree::manifest::{Entry, sha256sums};
use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};

pub(super) fn run(args: &HashArgs) -> Result<Exit> {
    let [root] = &args.files[..] else {
        refuse!("--manifest writes the manifest of one directory");
    };
    super::outputs::check(args.output.as_deref(), args.parents)?;
    if !root.is_dir() {
        bail!("`{}` is not a directory; name the directory of the archives", root.display());
    }
    let (archives, mut exit) = if args.from_log.is_empty() { below(root)? } else { logged(args, root)? };
    let archives = super::offline::without_recalls(archives, PathBuf::as_path, &args.tape)?;
    let place = args.output.clone().unwrap_or_else(|| root.join(sha256sums::NAME));
    let to_stdout = place.as_os_str() == "-";
    super::outputs::refuse_among(&archives, &place)?;
    let mut entries = match sha256sums::of_file(&place) {
        _ if to_stdout => BTreeMap::new(),
        // A file that is not a manifest is overwritten.
        Err(_) if args.force => BTreeMap::new(),
        entries => entries?,
    };
    let known = entries.len();
    let bytes = archives.iter().map(|path| path.metadata().map_or(0, |m| m.len())).sum();
    let progress = Progress::new(bytes, "manifest".to_owned());
    let hashed = hash_all(&archives, *args.threads, &progress)?.into_iter();
    let name = |path: PathBuf| path.strip_prefix(root).map_or(path.clone(), Path::to_owned);
    let found: Vec<Entry> = hashed.map(|(path, sha256)| Entry { path: name(path), sha256 }).collect();
    let listed = found.len();
    if args.force {
        // The others leave the list.
        let names: HashSet<&PathBuf> = found.iter().map(|entry| &entry.path).collect();
        entries.retain(|path, _| names.contains(path));
    }
    let open = crate::registry::open_options();
    let rules = Listed { root, is_new: &|_| false, force: args.force, open: &open, monitor: &progress };
    let kept = rules.add(&mut entries, found)?;
    drop(progress);
    exit = exit.max(tell_kept(&kept));
    if to_stdout {
        Stdout::results().write_all(&sha256sums::encode(&entries))?;
    } else {
        nc3z_collections::tree::manifest::replace(&place, &sha256sums::encode(&entries))?;
        let before = if known > 0 { format!("; {known} were listed before") } else { String::new() };
        note!("nc3z: {}: {listed} archives{before}", crate::cmd::shown(&place));
    }
    if entries.is_empty() {
        note!("nc3z: warning: no archives to list");
        exit = exit.max(Exit::Failed);
    }
    Ok(exit)
}

/// Names the listed files that have other bytes now. Damaged ones end with the exit code of a corrupt archive.
pub(super) fn tell_kept(kept: &[(PathBuf, Difference)]) -> Exit {
    let exits = kept.iter().map(|(path, difference)| {
        let (advice, exit) = match difference {
            Difference::Sound { .. } => ("`nc3z hash --manifest --force` lists it anew", Exit::Failed),
            Difference::NotThere(_) => ("put it back, or delete its line", Exit::Failed),
            _ => (
                "it is damaged or not an archive: repair it with `nc3z repair`, or archive it again",
                Exit::Corrupt,
            ),
        };
        note!("nc3z: error: {}: {difference}; the listed entry stays ({advice})", crate::cmd::shown(path));
        exit
    });
    exits.max().unwrap_or(Exit::Done)
}

/// Returns all archives below a directory, by their names.
fn below(root: &Path) -> Result<(Vec<PathBuf>, Exit)> {
    let is_archive = |p: &Path| p.as_os_str().as_encoded_bytes().ends_with(SUFFIX.as_bytes());
    let found = targets::list(&[root.to_owned()], true, &is_archive)?;
    Ok((found.files, Failures::new(&found.failures).worst()))
}

/// Returns the archives that logs list as done. The others are reported.
fn logged(args: &HashArgs, root: &Path) -> Result<(Vec<PathBuf>, Exit)> {
    let (archives, others) = from_logs(&args.from_log, root)?;
    for (file, why) in &others {
        note!("nc3z: error: {}: {why}", crate::cmd::shown(file));
    }
    Ok((archives, if others.is_empty() { Exit::Done } else { Exit::Failed }))
}
