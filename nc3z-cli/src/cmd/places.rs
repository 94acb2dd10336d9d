//! Where outputs go: their directories are made, rid of what killed runs left there, and taken away again where a run put nothing in.

use anyhow::{Context, Result, bail};
use nc3z_writer::remove_leftovers;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use walkdir::WalkDir;

/// What this run has done to directories.
struct Places {
    /// Directories that it has looked through.
    seen: Option<HashSet<PathBuf>>,
    /// Directories that it has made, parents first.
    made: Vec<PathBuf>,
}

static PLACES: Mutex<Places> = Mutex::new(Places { seen: None, made: Vec::new() });

/// Refuses an output in a directory that is not there, unless `parents` asks for it to be made: it may be a slip of the pen. The last name of
/// an output may be new, whether it is a file's or a directory's.
pub(crate) fn check(output: Option<&Path>, parents: bool) -> Result<()> {
    let parent = output.and_then(Path::parent).filter(|p| !p.as_os_str().is_empty());
    match parent.filter(|p| !parents && !p.exists()) {
        Some(parent) => bail!("there is no directory `{}`; --parents makes it", parent.display()),
        None => Ok(()),
    }
}

/// Makes the directory that an output goes into, and removes temporary files that killed runs left in it.
pub(crate) fn prepare(output: &Path) -> Result<()> {
    let parent = match output.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // Held until the directory is there: another thread may need the same one.
    let mut places = PLACES.lock().expect("no panic while it is locked");
    if places.seen.get_or_insert_default().contains(parent) {
        return Ok(());
    }
    let missing: Vec<_> =
        parent.ancestors().take_while(|a| !a.as_os_str().is_empty() && !a.exists()).collect();
    places.made.extend(missing.iter().rev().map(|a| (*a).to_owned()));
    std::fs::create_dir_all(parent).with_context(|| format!("create `{}`", parent.display()))?;
    for path in remove_leftovers(parent) {
        note!("nc3z: removed {}, left by a run that was killed", crate::cmd::shown(&path));
    }
    places.seen.get_or_insert_default().insert(parent.to_owned());
    Ok(())
}

/// Removes the temporary files that killed runs left anywhere in a tree.
pub(crate) fn clean(root: &Path) {
    let directories = WalkDir::new(root).follow_links(false).into_iter().filter_map(Result::ok);
    for directory in directories.filter(|e| e.file_type().is_dir()) {
        for path in remove_leftovers(directory.path()) {
            note!("nc3z: removed {}, left by a run that was killed", crate::cmd::shown(&path));
        }
    }
}

/// Removes the directories that this run has made and put nothing in.
pub(crate) fn remove_empty() {
    let places = PLACES.lock().expect("no panic while it is locked");
    for path in places.made.iter().rev() {
        // Fails, as it should, where there is something in it.
        let _ = std::fs::remove_dir(path);
    }
}
