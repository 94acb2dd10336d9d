//! The directories of outputs: creates them, removes temporary files of killed runs from them, and deletes
//! them again if a run wrote nothing to them.

use crate::error::Context as _;
use crate::refusal::Refusal;
use nc3z_writer::remove_leftovers;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use walkdir::WalkDir;

/// The directories that a run has made or looked through.
#[derive(Debug)]
pub struct Places(Mutex<State>);

#[derive(Debug)]
struct State {
    /// Directories that the run has looked through.
    seen: Option<HashSet<PathBuf>>,
    /// Directories that the run has made, parents first.
    made: Vec<PathBuf>,
}

/// Refuses an output in a directory that does not exist, unless `parents` is set: it may be a typing error.
/// The last component of an output may be new, for a file or a directory.
pub fn check(output: Option<&Path>, parents: bool) -> crate::Result<()> {
    let parent = output.and_then(Path::parent).filter(|p| !p.as_os_str().is_empty());
    match parent.filter(|p| !parents && !p.exists()) {
        Some(parent) => Err(Refusal::NoParent(parent.to_owned()).into()),
        None => Ok(()),
    }
}

/// Removes the temporary files that killed runs left anywhere in a tree, and returns their names.
pub fn clean(root: &Path) -> Vec<PathBuf> {
    let directories = WalkDir::new(root).follow_links(false).into_iter().filter_map(Result::ok);
    let directories = directories.filter(|e| e.file_type().is_dir());
    directories.flat_map(|directory| remove_leftovers(directory.path())).collect()
}

impl Default for Places {
    fn default() -> Self {
        Self::new()
    }
}

impl Places {
    /// Of a run that has made nothing yet.
    pub const fn new() -> Self {
        Places(Mutex::new(State { seen: None, made: Vec::new() }))
    }

    /// Makes the directory that an output goes into, and removes temporary files that killed runs left in it. Returns their names.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn prepare(&self, output: &Path) -> crate::Result<Vec<PathBuf>> {
        let parent = match output.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        // Locked until the directory is there: another thread may need the same one.
        let mut state = self.0.lock().expect("no panic while it is locked");
        if state.seen.get_or_insert_default().contains(parent) {
            return Ok(Vec::new());
        }
        let missing: Vec<_> =
            parent.ancestors().take_while(|a| !a.as_os_str().is_empty() && !a.exists()).collect();
        state.made.extend(missing.iter().rev().map(|a| (*a).to_owned()));
        std::fs::create_dir_all(parent).with_context(|| format!("create `{}`", parent.display()))?;
        state.seen.get_or_insert_default().insert(parent.to_owned());
        Ok(remove_leftovers(parent))
    }

    /// Removes the directories that the run has made and put nothing in.
    pub fn remove_empty(&self) {
        let state = self.0.lock().expect("no panic while it is locked");
        for path in state.made.iter().rev() {
            // This fails, as intended, if the directory is not empty.
            let _ = std::fs::remove_dir(path);
        }
    }
}
