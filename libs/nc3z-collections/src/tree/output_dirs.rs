//! The directories of outputs: creates them, removes temporary files of killed runs from them, and deletes
//! them again if a run wrote nothing to them.

use crate::tree::error::Context as _;
use crate::tree::refusal::Refusal;
use nc3z_writer::{Attributes, refuse_url, remove_leftovers};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use walkdir::WalkDir;

/// The directories that a run has made or looked through.
#[derive(Debug)]
pub struct OutputDirs(Mutex<State>);

#[derive(Debug)]
struct State {
    /// Directories that the run has looked through, each with that of the input.
    seen: Option<HashSet<(PathBuf, Option<PathBuf>)>>,
    /// Directories that the run has made, parents first, with the modes that they get at its end.
    made: Vec<(PathBuf, Option<u32>)>,
    /// True if other runs write to the same directories.
    shared: bool,
}

/// Refuses an output that is meant as a URL, and one in a directory that does not exist, unless `parents` is set: it may be a typing
/// error. The last component of an output may be new, for a file or a directory.
pub fn check(output: Option<&Path>, parents: bool) -> crate::tree::Result<()> {
    output.map_or(Ok(()), refuse_url)?;
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

impl Default for OutputDirs {
    fn default() -> Self {
        Self::new()
    }
}

impl OutputDirs {
    /// Makes the list of a run that has made no directory yet.
    pub const fn new() -> Self {
        OutputDirs(Mutex::new(State { seen: None, made: Vec::new(), shared: false }))
    }

    /// Makes the directory that an output goes into, and removes temporary files that killed runs left in it. Returns their names.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn prepare(&self, output: &Path) -> crate::tree::Result<Vec<PathBuf>> {
        self.prepare_like(output, None)
    }

    /// As [`prepare`](Self::prepare), for the output of a file of a tree. A directory that is made gets the mode of the input's
    /// directory; of several inputs' directories, what all of them allow. `source` is the path of the input, and its name in the tree.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    pub fn prepare_like(
        &self,
        output: &Path,
        source: Option<(&Path, &Path)>,
    ) -> crate::tree::Result<Vec<PathBuf>> {
        let parent = match output.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        refuse_url(output)?;
        // Locked until the directory is there: another thread may need the same one.
        let mut state = self.0.lock().expect("no panic while it is locked");
        let key = (parent.to_owned(), source.and_then(|(input, _)| Some(input.parent()?.to_owned())));
        if state.seen.get_or_insert_default().contains(&key) {
            return Ok(Vec::new());
        }
        let mut ancestors: Vec<(&Path, Option<u32>)> =
            parent.ancestors().take_while(|a| !a.as_os_str().is_empty()).map(|a| (a, None)).collect();
        for ((_, mode), like) in
            ancestors.iter_mut().zip(source.into_iter().flat_map(|s| directories(parent, s)))
        {
            *mode = mode_of(like);
        }
        // Parents first.
        for (directory, mode) in ancestors.into_iter().rev() {
            if let Some((_, known)) = state.made.iter_mut().find(|(made, _)| made == directory) {
                let both = known.zip(mode).map(|(known, mode)| known & mode);
                if both != *known && both.is_some() {
                    *known = both;
                    set_mode(directory, both)?;
                }
            } else if !directory.exists() {
                make(directory, mode)?;
                state.made.push((directory.to_owned(), mode));
            }
        }
        state.seen.get_or_insert_default().insert(key);
        Ok(remove_leftovers(parent))
    }

    /// Gives the directories that the run has made the modes of their sources, without the owner's permissions that only the run
    /// needed. Returns those for which the system refuses this.
    pub fn finish(&self) -> Vec<PathBuf> {
        let mut state = self.0.lock().expect("no panic while it is locked");
        let made = std::mem::take(&mut state.made);
        let closed =
            made.into_iter().rev().filter(|(_, mode)| mode.is_some_and(|mode| mode & OWNER != OWNER));
        closed.filter(|(path, mode)| exactly(path, *mode).is_err()).map(|(path, _)| path).collect()
    }

    /// Keeps empty directories: another run may have found them, and be about to write to them.
    pub fn share(&self) {
        self.0.lock().expect("no panic while it is locked").shared = true;
    }

    /// Removes the directories that the run has made and put nothing in, unless it shares them.
    pub fn remove_empty(&self) {
        let state = self.0.lock().expect("no panic while it is locked");
        if state.shared {
            return;
        }
        for (path, _) in state.made.iter().rev() {
            // This fails, as intended, if the directory is not empty.
            let _ = std::fs::remove_dir(path);
        }
    }
}

/// The permissions of the owner, without which a run could not write.
const OWNER: u32 = 0o700;

/// Returns the directories of the input that those above an output correspond to: `parent` first, and as far as the tree goes. Where the
/// name in the tree is the whole path of the input, the names of the directories must be the same.
fn directories<'a>(
    parent: &'a Path,
    (input, name): (&'a Path, &'a Path),
) -> impl Iterator<Item = &'a Path> + use<'a> {
    let is_whole = input == name;
    let pairs = parent.ancestors().zip(input.ancestors().skip(1)).take(name.components().count());
    let fits = move |(output, input): &(&Path, &Path)| !is_whole || output.file_name() == input.file_name();
    pairs.take_while(fits).map(|(_, input)| input)
}

/// Makes a directory whose mode excludes other users from the first moment.
fn make(directory: &Path, mode: Option<u32>) -> crate::tree::Result<()> {
    let made = create(directory, mode);
    match made {
        // Another process may have made it meanwhile.
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && directory.is_dir() => return Ok(()),
        made => made.with_context(|| format!("create `{}`", directory.display()))?,
    }
    // The process's umask does not limit it.
    set_mode(directory, mode)
}

fn set_mode(directory: &Path, mode: Option<u32>) -> crate::tree::Result<()> {
    let set = exactly(directory, mode.map(|mode| mode | OWNER));
    set.with_context(|| format!("set the mode of `{}`", directory.display()))
}

#[cfg(unix)]
fn create(directory: &Path, mode: Option<u32>) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let mode = mode.map_or(0o777, |mode| mode | OWNER);
    std::fs::DirBuilder::new().mode(mode & 0o777).create(directory)
}

#[cfg(not(unix))]
fn create(directory: &Path, _: Option<u32>) -> std::io::Result<()> {
    std::fs::create_dir(directory)
}

/// Returns the mode of an existing directory.
#[cfg(unix)]
fn mode_of(directory: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let meta = std::fs::metadata(directory).ok().filter(std::fs::Metadata::is_dir)?;
    // The special bits, and the permissions that an access control list leaves to the group.
    let special = meta.permissions().mode() & 0o7000;
    Attributes::of_path(directory, &meta).mode.map(|mode| special | mode)
}

#[cfg(not(unix))]
fn mode_of(_: &Path) -> Option<u32> {
    None
}

#[cfg(unix)]
fn exactly(directory: &Path, mode: Option<u32>) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    mode.map_or(Ok(()), |mode| std::fs::set_permissions(directory, std::fs::Permissions::from_mode(mode)))
}

#[cfg(not(unix))]
fn exactly(_: &Path, _: Option<u32>) -> std::io::Result<()> {
    Ok(())
}
