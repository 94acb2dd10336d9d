//! The manifests of a run that archives: checked before it, and written after it.

use super::compare::Difference;
use super::entries::Listed;
use super::{Entry, bag, sha256sums};
use crate::tree::error::Context as _;
use crate::tree::refusal::{ManifestFault, NotThere};
use crate::tree::walk::Job;
use crate::tree::{Error, Result, ordered, sha256_of_file};
use nc3z_reader::{Monitor, OpenOptions};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// The kinds of manifests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ManifestKind {
    /// A list as `sha256sum` writes it, in each directory.
    Sums,
    /// A BagIt bag, with the archives in its payload.
    Bag,
}

/// The manifests to write.
#[derive(Debug, Clone)]
pub struct Manifests {
    kind: ManifestKind,
    /// The directories that get a manifest each.
    roots: Vec<PathBuf>,
}

impl Manifests {
    /// Checks the directories of the manifests before anything is archived. An existing file must be a manifest; with `force`, a
    /// bag's may differ.
    ///
    /// # Errors
    /// A bag needs a directory and has none; a root is not a directory; another file has the name of the manifest.
    pub fn prepare(
        kind: ManifestKind,
        inputs: &[PathBuf],
        output: Option<&Path>,
        force: bool,
    ) -> Result<Self> {
        let roots = match (output, kind) {
            (Some(output), _) => vec![output.to_owned()],
            (None, ManifestKind::Bag) => return Err(ManifestFault::NoBagDirectory.into()),
            (None, ManifestKind::Sums) => {
                if let Some(file) = inputs.iter().find(|i| !i.is_dir()) {
                    return Err(ManifestFault::InputFile(file.clone()).into());
                }
                inputs.to_vec()
            }
        };
        Manifests { kind, roots }.checked(force)
    }

    fn checked(self, force: bool) -> Result<Self> {
        for root in &self.roots {
            if root.exists() && !root.is_dir() {
                return Err(ManifestFault::NoDirectory(root.clone()).into());
            }
            match self.kind {
                ManifestKind::Sums => sha256sums::existing(root).map(|_| ())?,
                ManifestKind::Bag => bag::check_root(root, force)?,
            }
        }
        Ok(self)
    }

    /// Returns the directory of the bag.
    pub fn bag(&self) -> Option<&Path> {
        match (self.kind, &self.roots[..]) {
            (ManifestKind::Bag, [root]) => Some(root),
            _ => None,
        }
    }

    /// Hashes the archives and writes the manifests. A bag lists everything in its payload, independent of the run that wrote it.
    /// `made` are the archives that the run has written: other listed entries stay, and those whose files have other bytes are returned.
    ///
    /// # Errors
    /// A file cannot be read or written; the monitor ended the work.
    pub fn write(
        &self,
        archives: &[PathBuf],
        made: &HashSet<&Path>,
        threads: usize,
        open: &OpenOptions,
        monitor: &dyn Monitor,
    ) -> Result<Vec<(PathBuf, Difference)>> {
        let is_new = |path: &Path| made.contains(path);
        let listed = |root| Listed { root, is_new: &is_new, force: false, open, monitor };
        if let Some(root) = self.bag() {
            return write_bag(root, &listed(root), threads);
        }
        let mut kept = Vec::new();
        for (root, entries) in self.sums(archives, threads, monitor)? {
            let mut all = sha256sums::existing(root)?;
            let changed = listed(root).add(&mut all, entries)?;
            kept.extend(changed.into_iter().map(|(name, difference)| (root.join(name), difference)));
            super::replace(&root.join(sha256sums::NAME), &sha256sums::encode(&all))?;
        }
        Ok(kept)
    }

    fn sums(
        &self,
        archives: &[PathBuf],
        threads: usize,
        monitor: &dyn Monitor,
    ) -> Result<BTreeMap<&Path, Vec<Entry>>> {
        let mut by_root: BTreeMap<&Path, Vec<Entry>> = BTreeMap::new();
        for (path, sha256) in hash_all(archives, threads, monitor)? {
            let roots = self.roots.iter().filter_map(|r| Some((r, path.strip_prefix(r).ok()?)));
            // If one directory is inside another, the file is listed in the inner one.
            let (root, name) =
                roots.max_by_key(|(r, _)| r.components().count()).ok_or(ManifestFault::Outside)?;
            by_root.entry(root).or_default().push(Entry { path: name.to_owned(), sha256 });
        }
        Ok(by_root)
    }
}

/// Returns the directory for archives: for a bag, its payload. With a manifest it is a directory for any number of inputs.
pub fn directory(kind: Option<ManifestKind>, output: &Path) -> PathBuf {
    match kind {
        None => output.to_owned(),
        // An empty last component marks it as a directory.
        Some(ManifestKind::Sums) => output.join(""),
        Some(ManifestKind::Bag) => output.join(bag::PAYLOAD).join(""),
    }
}

/// Returns whether a bag can list the archive: its manifests are UTF-8.
pub(crate) fn nameable(job: &Job) -> bool {
    job.output.to_str().is_some()
}

fn write_bag(root: &Path, listed: &Listed<'_>, threads: usize) -> Result<Vec<(PathBuf, Difference)>> {
    let payload = root.join(bag::PAYLOAD);
    std::fs::create_dir_all(&payload).with_context(|| format!("create `{}`", payload.display()))?;
    let files = bag::payload(root)?;
    let bytes = files.iter().map(|f| root.join(f).metadata().map_or(0, |m| m.len())).sum();
    let paths: Vec<PathBuf> = files.iter().map(|f| root.join(f)).collect();
    let hashed = hash_all(&paths, threads, listed.monitor)?;
    let name = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_owned();
    let entries = hashed.into_iter().map(|(path, sha256)| Entry { path: name(&path), sha256 }).collect();
    let mut all = bag::existing(root)?;
    let mut kept = listed.add(&mut all, entries)?;
    let there: HashSet<&PathBuf> = files.iter().collect();
    let missing = all.keys().filter(|path| !there.contains(path)).cloned();
    kept.extend(missing.map(|path| (path, Difference::NotThere(NotThere::Missing))));
    bag::write(root, all.into_iter().map(|(path, sha256)| Entry { path, sha256 }).collect(), bytes)?;
    Ok(kept.into_iter().map(|(path, difference)| (root.join(path), difference)).collect())
}

/// Returns the SHA-256 of each file, in the same order.
///
/// # Errors
/// A file cannot be read; the monitor ended the work.
pub fn hash_all(
    files: &[PathBuf],
    threads: usize,
    monitor: &dyn Monitor,
) -> Result<Vec<(PathBuf, [u8; 32])>> {
    let mut out = Vec::with_capacity(files.len());
    ordered::in_order(
        files,
        threads,
        |f| sha256_of_file(f, monitor),
        |f, digest| {
            out.push((f.clone(), digest?));
            Ok::<_, Error>(())
        },
    )?;
    Ok(out)
}
