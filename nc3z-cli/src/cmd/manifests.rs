//! `nc3z archive --manifest`: writes the manifest of the archives that were written.

use super::hash::sha256_of_file;
use super::many;
use super::targets::Job;
use crate::args::{ArchiveArgs, ManifestArg};
use crate::output::progress::Progress;
use crate::specification;
use anyhow::{Context, Result, bail};
use nc3z_tree::manifest::{Entry, bag, sums};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// The manifests to write.
pub(crate) struct Manifests {
    kind: ManifestArg,
    /// The directories that get a manifest each.
    roots: Vec<PathBuf>,
    /// Set if a bag gets the specification of the format; the flag says whether that replaces another
    /// version's.
    specification: Option<Replace>,
}

/// If true, existing files that differ are replaced.
#[derive(Clone, Copy)]
struct Replace(bool);

/// Checks, before anything is archived, the paths of the manifests: an existing file must be a manifest.
pub(crate) fn prepare(args: &ArchiveArgs) -> Result<Option<Manifests>> {
    let Some(kind) = args.manifest else { return Ok(None) };
    let roots = match (&args.output, kind) {
        (Some(output), _) => vec![output.clone()],
        (None, ManifestArg::Bagit) => bail!("a bag needs a directory of its own; name it with -o"),
        (None, ManifestArg::Sha256) => {
            if let Some(file) = args.inputs.iter().find(|i| !i.is_dir()) {
                bail!(
                    "`{}` is no directory; a manifest is of directories, or of the one at -o",
                    file.display()
                );
            }
            args.inputs.clone()
        }
    };
    if args.with_spec && kind == ManifestArg::Sha256 {
        bail!(
            "--with-spec is for bags (--manifest bagit); `nc3z spec -o DIR` writes the specification anywhere"
        );
    }
    for root in &roots {
        if root.exists() && !root.is_dir() {
            bail!("`{}` is no directory; a manifest is of a directory", root.display());
        }
        match kind {
            ManifestArg::Sha256 => sums::existing(root).map(|_| ())?,
            ManifestArg::Bagit => bag::check_root(root, args.force)?,
        }
    }
    Ok(Some(Manifests { kind, roots, specification: args.with_spec.then_some(Replace(args.force)) }))
}

/// Returns the directory for archives: for a bag, its payload. It is a directory for any number of inputs.
pub(crate) fn output(args: &ArchiveArgs) -> Option<PathBuf> {
    let output = args.output.as_ref()?;
    Some(match args.manifest {
        None => output.clone(),
        // An empty last component marks it as a directory.
        Some(ManifestArg::Sha256) => output.join(""),
        Some(ManifestArg::Bagit) => output.join(bag::PAYLOAD).join(""),
    })
}

/// Removes the jobs whose archives have names that a bag cannot contain: manifests of bags are UTF-8.
pub(crate) fn refuse_unnameable(args: &ArchiveArgs, jobs: &mut Vec<Job>) -> Vec<(PathBuf, anyhow::Error)> {
    if args.manifest != Some(ManifestArg::Bagit) {
        return Vec::new();
    }
    let (good, bad) = std::mem::take(jobs).into_iter().partition(|job: &Job| job.output.to_str().is_some());
    *jobs = good;
    let error = || anyhow::anyhow!("its name is no UTF-8, and cannot be named in a bag; nothing was written");
    bad.into_iter().map(|job| (job.input, error())).collect()
}

impl Manifests {
    /// Hashes the archives of these jobs, without failed ones, and writes the manifests.
    pub(crate) fn write(&self, jobs: &[Job], failed: &HashSet<&Path>, threads: usize) -> Result<()> {
        let made = jobs.iter().filter(|j| !failed.contains(j.input.as_path())).map(|j| j.output.clone());
        match (self.kind, &self.roots[..]) {
            (ManifestArg::Bagit, [root]) => {
                if let Some(Replace(force)) = self.specification {
                    specification::write(&root.join(specification::DIRECTORY), force)?;
                }
                write_bag(root, threads)
            }
            _ => self.write_sums(&made.collect::<Vec<_>>(), threads),
        }
    }

    fn write_sums(&self, made: &[PathBuf], threads: usize) -> Result<()> {
        let mut by_root: BTreeMap<&Path, Vec<Entry>> = BTreeMap::new();
        for (path, sha256) in hash_all(made, threads)? {
            let roots = self.roots.iter().filter_map(|r| Some((r, path.strip_prefix(r).ok()?)));
            // If one directory is inside another, the file is listed in the inner one.
            let (root, name) =
                roots.max_by_key(|(r, _)| r.components().count()).context("an archive outside the tree")?;
            by_root.entry(root).or_default().push(Entry { path: name.to_owned(), sha256 });
        }
        Ok(by_root.into_iter().try_for_each(|(root, entries)| sums::update(root, &entries))?)
    }
}

/// A bag lists everything in its payload, independent of the run that wrote it.
fn write_bag(root: &Path, threads: usize) -> Result<()> {
    let payload = root.join(bag::PAYLOAD);
    std::fs::create_dir_all(&payload).with_context(|| format!("create `{}`", payload.display()))?;
    let files = bag::payload(root)?;
    let bytes = files.iter().map(|f| root.join(f).metadata().map_or(0, |m| m.len())).sum();
    let hashed = hash_all(&files.into_iter().map(|f| root.join(f)).collect::<Vec<_>>(), threads)?;
    let name = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_owned();
    let entries = hashed.into_iter().map(|(path, sha256)| Entry { path: name(&path), sha256 });
    Ok(bag::write(root, entries.collect(), bytes)?)
}

pub(crate) fn hash_all(files: &[PathBuf], threads: usize) -> Result<Vec<(PathBuf, [u8; 32])>> {
    let progress = Progress::new(0, "manifest".to_owned());
    let mut out = Vec::with_capacity(files.len());
    many::in_order(
        files,
        threads,
        |f| sha256_of_file(f, &progress),
        |f, digest| {
            out.push((f.clone(), digest?));
            Ok(())
        },
    )?;
    Ok(out)
}
