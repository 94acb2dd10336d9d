//! Manifests brought up to date with archives that were replaced by others of the same content.

use super::{Entry, bag, sums};
use crate::cmd::hash::sha256_of_file;
use crate::output::progress::Progress;
use crate::output::table::count;
use crate::output::text;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Signatures of a list, by what is behind its name.
const SIGNATURES: [&str; 3] = ["sig", "asc", "minisig"];

/// An archive that was replaced.
pub(crate) struct Replaced {
    pub(crate) path: PathBuf,
    /// SHA-256 of the archive that was there before.
    pub(crate) before: [u8; 32],
}

/// A manifest above some of the archives.
struct Manifest {
    is_bag: bool,
    listed: BTreeMap<PathBuf, [u8; 32]>,
    anew: Vec<Entry>,
}

/// Lists the archives anew in every manifest of their directories and of those above them that lists what they were. A line that lists
/// something else stays, and is told.
pub(crate) fn relist(replaced: &[Replaced]) -> Result<()> {
    let mut manifests: BTreeMap<PathBuf, Option<Manifest>> = BTreeMap::new();
    let silent = Progress::new(0, String::new());
    for archive in replaced {
        let path =
            archive.path.canonicalize().with_context(|| format!("find `{}`", archive.path.display()))?;
        let mut now = None;
        for directory in path.ancestors().skip(1) {
            let found = manifests.entry(directory.to_owned()).or_insert_with(|| load(directory));
            let Some(manifest) = found else { continue };
            let name = path.strip_prefix(directory).unwrap_or(&path);
            match manifest.listed.get(name) {
                Some(listed) if *listed == archive.before => {
                    let sha256 = match now {
                        Some(sha256) => sha256,
                        None => sha256_of_file(&path, &silent)?,
                    };
                    now = Some(sha256);
                    manifest.anew.push(Entry { path: name.to_owned(), sha256 });
                }
                Some(_) => note!(
                    "nc3z: warning: {}: it was not what the manifest in `{}` lists; that line stays",
                    text::safe(&archive.path.to_string_lossy()),
                    text::safe(&directory.to_string_lossy())
                ),
                None => {}
            }
        }
    }
    for (directory, manifest) in manifests {
        let Some(Manifest { is_bag, anew, .. }) = manifest.filter(|m| !m.anew.is_empty()) else { continue };
        let path = directory.join(if is_bag { bag::MANIFEST } else { sums::NAME });
        if is_bag {
            bag::update(&directory, &anew)?;
        } else {
            sums::update(&directory, &anew)?;
        }
        let name = text::safe(&path.to_string_lossy());
        note!("nc3z: {name}: {} listed anew", count(anew.len() as u64, "archive"));
        for suffix in SIGNATURES {
            let mut signature = path.clone().into_os_string();
            signature.push(".");
            signature.push(suffix);
            if Path::new(&signature).exists() {
                note!("nc3z: warning: {name}.{suffix} signs the manifest as it was; sign it again");
            }
        }
    }
    Ok(())
}

/// The manifest of a directory, if it has one that can be read.
fn load(directory: &Path) -> Option<Manifest> {
    let is_bag = directory.join(bag::DECLARATION).is_file();
    let path = directory.join(if is_bag { bag::MANIFEST } else { sums::NAME });
    if !path.is_file() {
        return None;
    }
    let entries = super::read(&path)
        .and_then(|bytes| if is_bag { bag::decode(&bytes, &path) } else { sums::decode(&bytes, &path) });
    match entries {
        Ok(entries) => {
            let listed = entries.into_iter().map(|e| (e.path, e.sha256)).collect();
            Some(Manifest { is_bag, listed, anew: Vec::new() })
        }
        Err(e) => {
            note!("nc3z: warning: {}; it is not brought up to date", text::safe(&crate::output::chain(&e)));
            None
        }
    }
}
