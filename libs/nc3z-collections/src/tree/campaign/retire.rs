//! Originals that are given up in two steps: moved into a trash on the same file system, after archive and original were read again,
//! and deleted later, after both were read once more.
//!
//! ```text
//! trash/retired.jsonl      a line before each move, and after each end of it
//! trash/files/NAME         the originals, by their names in the tree
//! ```
//! A file is moved by one rename, so that after a loss of power it is in one of the two places.

use crate::tree::error::Context as _;
use crate::tree::manifest::fixity::{append, date};
use crate::tree::output_dirs::OutputDirs;
use crate::tree::refusal::Refusal;
use crate::tree::removal::compare;
use crate::tree::walk::{Visited, restored_name, visit};
use crate::tree::{Error, Result};
use nc3z_reader::{Monitor, OpenOptions};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The journal of a trash.
const JOURNAL: &str = "retired.jsonl";
/// The directory of a trash with the files.
const FILES: &str = "files";

/// A file that was moved into a trash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retired {
    /// Its name in the trees.
    pub name: PathBuf,
    /// The path that it had.
    pub original: PathBuf,
    /// The path of its archive.
    pub archive: PathBuf,
    /// Its length in bytes.
    pub size: u64,
    /// When it was moved, in seconds since 1970.
    pub time: u64,
}

/// The trash of a campaign.
#[derive(Debug)]
pub struct Trash {
    directory: PathBuf,
    /// The files that are in it, by the journal.
    files: BTreeMap<PathBuf, Retired>,
    /// The names of the files that were deleted from it.
    purged: BTreeSet<PathBuf>,
}

/// The action for each file, and its result.
pub trait Watch {
    /// Receives the progress.
    fn monitor(&self) -> &dyn Monitor;
    /// Is called with each file that was moved, deleted or put back.
    fn done(&self, file: &Retired);
    /// Is called with each file that stays where it is.
    fn failed(&self, path: &Path, error: Error);
}

impl Trash {
    /// Opens a trash. With `make`, it may be new.
    ///
    /// # Errors
    /// There is none, or its journal cannot be read.
    pub fn open(directory: &Path, make: bool) -> Result<Self> {
        nc3z_writer::refuse_url(directory)?;
        let journal = directory.join(JOURNAL);
        let (mut files, mut purged) = (BTreeMap::new(), BTreeSet::new());
        if make && !journal.exists() {
            let place = directory.join(FILES);
            let making = || format!("create `{}`", directory.display());
            let inside = place.join("name");
            let kept = existing(&inside);
            fs::create_dir_all(&place).with_context(making)?;
            // The journal has its name before it has a line: a file that is moved is found also after a loss of power.
            File::create(&journal).with_context(making)?;
            sync_names(&inside, &kept)?;
            sync_directory(directory)?;
            return Ok(Trash { directory: directory.to_owned(), files, purged });
        }
        let reading = || format!("read the journal `{}`", journal.display());
        for line in BufReader::new(File::open(&journal).with_context(reading)?).split(b'\n') {
            let line = line.with_context(reading)?;
            // The incomplete line of a killed run was written before its file was moved.
            let Ok(value) = serde_json::from_slice::<Value>(&line) else { continue };
            let Some((state, file)) = read_line(&value) else { continue };
            files.remove(&file.name);
            purged.remove(&file.name);
            match state.as_str() {
                "retired" => _ = files.insert(file.name.clone(), file),
                "purged" => _ = purged.insert(file.name),
                _ => {}
            }
        }
        // A file that is not there was not moved: the run ended between its line and its move.
        let place = directory.join(FILES);
        files.retain(|name, _| place.join(name).symlink_metadata().is_ok());
        Ok(Trash { directory: directory.to_owned(), files, purged })
    }

    /// Returns the files in the trash.
    pub fn files(&self) -> impl Iterator<Item = &Retired> {
        self.files.values()
    }

    /// Moves the originals of the archives below `archives` from `data` into the trash, after both were read again.
    ///
    /// # Errors
    /// The trash is on another file system. The failure of a file goes to `watch`.
    pub fn retire(
        &mut self,
        data: &Path,
        archives: &Path,
        open: &OpenOptions,
        watch: &dyn Watch,
    ) -> Result<()> {
        for (what, path) in [("trash", &self.directory), ("archives", &archives.to_owned())] {
            if path
                .canonicalize()
                .is_ok_and(|p| data.canonicalize().is_ok_and(|data| p.starts_with(data) && what == "trash"))
            {
                return Err(Refusal::TrashInside(self.directory.clone()).into());
            }
        }
        let look = |path: &Path| path.metadata().with_context(|| format!("look at `{}`", path.display()));
        if device(&look(data)?) != device(&look(&self.directory)?) {
            return Err(Refusal::OtherDevice(self.directory.clone()).into());
        }
        let places = OutputDirs::new();
        let wanted = |path: &Path| path.extension().is_some_and(|e| e == "nc3z");
        visit(archives, &wanted, &mut |visited| {
            if watch.monitor().is_cancelled() {
                return;
            }
            match visited {
                Visited::File(archive, name) => {
                    let original = restored_name(&name).map(|name| (data.join(&name), name));
                    match original.and_then(|(original, name)| {
                        self.move_one(original, name, archive.clone(), open, &places, watch)
                    }) {
                        Ok(Some(file)) => watch.done(&file),
                        Ok(None) => {}
                        Err(e) => watch.failed(&archive, e),
                    }
                }
                Visited::Failure(path, error) => watch.failed(&path, error),
                Visited::Other(_) | Visited::Notice(_) => {}
            }
        });
        places.finish();
        Ok(())
    }

    /// Returns nothing if the original was moved before, or moved and deleted.
    fn move_one(
        &mut self,
        original: PathBuf,
        name: PathBuf,
        archive: PathBuf,
        open: &OpenOptions,
        places: &OutputDirs,
        watch: &dyn Watch,
    ) -> Result<Option<Retired>> {
        let target = self.directory.join(FILES).join(&name);
        let is_known = self.files.contains_key(&name) || self.purged.contains(&name);
        if original.symlink_metadata().is_err() && is_known {
            return Ok(None);
        }
        if target.symlink_metadata().is_ok() {
            return Err(Refusal::Exists(target).into());
        }
        if original.is_symlink() {
            return Err(Refusal::RetiredLink(original).into());
        }
        let meta = compare(&archive, &original, open, watch.monitor())?;
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        let file = Retired {
            name,
            original: absolute(original),
            archive: absolute(archive),
            size: meta.len(),
            time,
        };
        let kept = existing(&target);
        places.prepare_like(&target, Some((&file.original, &file.name)))?;
        sync_names(&target, &kept)?;
        // The journal knows the file before it leaves its place.
        self.log("retired", &file)?;
        rename(&file.original, &target)?;
        self.files.insert(file.name.clone(), file.clone());
        Ok(Some(file))
    }

    /// Deletes files that were moved at least `after` ago, after archive and file were read once more. Without `delete`, they are only
    /// read.
    pub fn purge(&mut self, after: Duration, delete: bool, open: &OpenOptions, watch: &dyn Watch) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let old = |file: &&Retired| now.saturating_sub(file.time) >= after.as_secs();
        for file in self.files.values().filter(old).cloned().collect::<Vec<_>>() {
            if watch.monitor().is_cancelled() {
                return;
            }
            let place = self.directory.join(FILES).join(&file.name);
            let purged = compare(&file.archive, &place, open, watch.monitor()).and_then(|_| {
                if delete {
                    fs::remove_file(&place).with_context(|| format!("remove `{}`", place.display()))?;
                    self.log("purged", &file)?;
                    self.files.remove(&file.name);
                }
                Ok(())
            });
            match purged {
                Ok(()) => watch.done(&file),
                Err(e) => watch.failed(&place, e),
            }
        }
    }

    /// Moves files back: those whose names begin with one of `names`, or all.
    pub fn undo(&mut self, names: &[PathBuf], watch: &dyn Watch) {
        let wanted = |file: &&Retired| {
            names.is_empty() || names.iter().any(|n| file.name.starts_with(n) || file.original.starts_with(n))
        };
        for file in self.files.values().filter(wanted).cloned().collect::<Vec<_>>() {
            let place = self.directory.join(FILES).join(&file.name);
            let moved = if file.original.symlink_metadata().is_ok() {
                Err(Refusal::Exists(file.original.clone()).into())
            } else {
                let kept = existing(&file.original);
                OutputDirs::new()
                    .prepare(&file.original)
                    .and_then(|_| sync_names(&file.original, &kept))
                    .and_then(|()| rename(&place, &file.original))
                    .and_then(|()| self.log("undone", &file))
            };
            match moved {
                Ok(()) => {
                    self.files.remove(&file.name);
                    watch.done(&file);
                }
                Err(e) => watch.failed(&file.original, e),
            }
        }
    }

    fn log(&self, state: &str, file: &Retired) -> Result<()> {
        let line = json!({
            "state": state, "name": super::name_json(&file.name), "original": super::name_json(&file.original),
            "archive": super::name_json(&file.archive), "size": file.size, "seconds": file.time, "time": date(SystemTime::now()),
        });
        append(&self.directory.join(JOURNAL), &line)
    }
}

fn read_line(value: &Value) -> Option<(String, Retired)> {
    let path = |key: &str| super::name_in(&value[key]);
    let file = Retired {
        name: path("name")?,
        original: path("original")?,
        archive: path("archive")?,
        size: value["size"].as_u64()?,
        time: value["seconds"].as_u64()?,
    };
    // Names of a journal do not lead out of the trash.
    let inside = file.name.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    inside.then_some((value["state"].as_str()?.to_owned(), file))
}

/// Moves a file to a name that is free, and syncs both directories: afterwards it is there also after a loss of power.
fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).with_context(|| format!("move `{}` to `{}`", from.display(), to.display()))?;
    for path in [to, from] {
        sync_directory(path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")))?;
    }
    Ok(())
}

fn sync_directory(directory: &Path) -> Result<()> {
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.with_context(|| format!("sync the directory `{}`", directory.display()))
}

/// Returns the directory above a path that exists.
fn existing(path: &Path) -> PathBuf {
    let above = path.ancestors().skip(1).find(|directory| directory.is_dir());
    above.unwrap_or(Path::new("")).to_owned()
}

/// Syncs the directories between a path and `kept`, which existed before, so that the names of new ones are not lost. The caller syncs
/// the innermost one.
fn sync_names(path: &Path, kept: &Path) -> Result<()> {
    let parent = path.parent().unwrap_or(path);
    let new = parent.ancestors().take_while(|directory| *directory != kept);
    for directory in new.filter_map(Path::parent) {
        sync_directory(if directory.as_os_str().is_empty() { Path::new(".") } else { directory })?;
    }
    Ok(())
}

#[cfg(unix)]
fn device(meta: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    meta.dev()
}

#[cfg(not(unix))]
fn device(_: &Metadata) -> u64 {
    0
}
