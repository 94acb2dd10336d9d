//! Updates manifests after archives were replaced by others with the same content.

use super::{Entry, bag, sha256sums};
use crate::tree::error::Context as _;
use crate::tree::{Result, sha256_of_file};
use nc3z_reader::Monitor;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The suffixes of signatures of a list.
const SIGNATURES: [&str; 3] = ["sig", "asc", "minisig"];

/// An archive that was replaced.
pub struct Replaced {
    /// The path of the archive.
    pub path: PathBuf,
    /// The SHA-256 of the former archive.
    pub before: [u8; 32],
}

/// A notice for the user about manifests that were updated.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice {
    /// A line lists something else than the archive that was replaced; it stays.
    OtherLine {
        /// The path of the archive.
        archive: PathBuf,
        /// The directory of the manifest.
        directory: PathBuf,
    },
    /// A manifest lists archives anew.
    Relisted {
        /// The path of the manifest.
        manifest: PathBuf,
        /// The number of archives.
        archives: u64,
    },
    /// The manifest changed, and its signature did not.
    Signed {
        /// The path of the signature.
        signature: PathBuf,
    },
    /// A manifest cannot be read, and stays as it is.
    Unreadable {
        /// The error that caused it.
        error: crate::tree::Error,
    },
}

impl Notice {
    /// Returns whether the user has to do something.
    pub fn is_warning(&self) -> bool {
        !matches!(self, Notice::Relisted { .. })
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::OtherLine { archive, directory } => write!(
                f,
                "{}: it was not the file that the manifest in `{}` lists; that line stays",
                crate::tree::shown(archive),
                crate::tree::shown(directory)
            ),
            Notice::Relisted { manifest, archives } => {
                let plural = if *archives == 1 { "" } else { "s" };
                write!(f, "{}: {archives} archive{plural} listed anew", crate::tree::shown(manifest))
            }
            Notice::Signed { signature } => {
                write!(
                    f,
                    "{} is a signature of the old manifest; sign it again",
                    crate::tree::shown(signature)
                )
            }
            Notice::Unreadable { error } => {
                write!(f, "{}; it is not brought up to date", nc3z_look::text::safe(&error.with_causes()))
            }
        }
    }
}

/// A manifest in a parent directory of some of the archives.
struct Manifest {
    is_bag: bool,
    listed: BTreeMap<PathBuf, [u8; 32]>,
    anew: Vec<Entry>,
}

/// Returns whether a directory above the archive has a manifest, which may list it.
pub fn may_be_listed(archive: &Path) -> bool {
    let path = archive.canonicalize();
    path.is_ok_and(|path| {
        path.ancestors()
            .skip(1)
            .any(|d| d.join(sha256sums::NAME).is_file() || d.join(bag::MANIFEST).is_file())
    })
}

/// Updates the entries of the archives in every manifest of their directories and of those above that lists
/// the former archive. A line with another digest is kept, and reported.
pub fn relist(replaced: &[Replaced], monitor: &dyn Monitor, notify: &mut dyn FnMut(&Notice)) -> Result<()> {
    let mut manifests: BTreeMap<PathBuf, Option<Manifest>> = BTreeMap::new();
    for archive in replaced {
        let path =
            archive.path.canonicalize().with_context(|| format!("find `{}`", archive.path.display()))?;
        let mut now = None;
        for directory in path.ancestors().skip(1) {
            let found = manifests.entry(directory.to_owned()).or_insert_with(|| load(directory, notify));
            let Some(manifest) = found else { continue };
            let name = path.strip_prefix(directory).unwrap_or(&path);
            match manifest.listed.get(name) {
                Some(listed) if *listed == archive.before => {
                    let sha256 = match now {
                        Some(sha256) => sha256,
                        None => sha256_of_file(&path, monitor)?,
                    };
                    now = Some(sha256);
                    manifest.anew.push(Entry { path: name.to_owned(), sha256 });
                }
                Some(_) => notify(&Notice::OtherLine {
                    archive: archive.path.clone(),
                    directory: directory.to_owned(),
                }),
                None => {}
            }
        }
    }
    for (directory, manifest) in manifests {
        let Some(Manifest { is_bag, anew, .. }) = manifest.filter(|m| !m.anew.is_empty()) else { continue };
        let path = directory.join(if is_bag { bag::MANIFEST } else { sha256sums::NAME });
        if is_bag {
            bag::update(&directory, &anew)?;
        } else {
            sha256sums::update(&directory, &anew)?;
        }
        notify(&Notice::Relisted { manifest: path.clone(), archives: anew.len() as u64 });
        for suffix in SIGNATURES {
            let mut signature = path.clone().into_os_string();
            signature.push(".");
            signature.push(suffix);
            if Path::new(&signature).exists() {
                notify(&Notice::Signed { signature: signature.into() });
            }
        }
    }
    Ok(())
}

/// Reads the manifest of a directory, if it has one that can be read.
fn load(directory: &Path, notify: &mut dyn FnMut(&Notice)) -> Option<Manifest> {
    let is_bag = directory.join(bag::DECLARATION).is_file();
    let path = directory.join(if is_bag { bag::MANIFEST } else { sha256sums::NAME });
    if !path.is_file() {
        return None;
    }
    let entries = super::read(&path).and_then(|bytes| {
        if is_bag { bag::decode(&bytes, &path) } else { sha256sums::decode(&bytes, &path) }
    });
    match entries {
        Ok(entries) => {
            let listed = entries.into_iter().map(|e| (e.path, e.sha256)).collect();
            Some(Manifest { is_bag, listed, anew: Vec::new() })
        }
        Err(e) => {
            notify(&Notice::Unreadable { error: e });
            None
        }
    }
}
