//! Files whose data are on tape: reading them recalls them, which takes minutes, a drive and a place on the disk. Runs do so
//! only on request.

use crate::tree::campaign::{Numbers, number_of};
use crate::tree::error::Context as _;
use crate::tree::refusal::Refusal;
use crate::tree::{Error, Result};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Shorter files may be stored without a block of their own on disk, and are never taken for offline.
const SHORTEST: u64 = 4096;
/// Endings of the names of classic files.
const CLASSIC: [&str; 4] = ["nc", "cdf", "nc3", "netcdf"];
/// The ending of the names of archives.
const ARCHIVE: &str = "nc3z";
/// The words by which commands of storage systems say that the data of a file are on tape alone: Lustre's `lfs hsm_state`, IBM's
/// `eeadm file state`, DMF's `dmattr`, and what a site's own script may print.
const ON_TAPE: [&str; 4] = ["released", "migrated", "OFL", "offline"];
/// The place of a file's name in the words of a command.
const NAME: &str = "{}";

/// The site's way to find out which files are on tape. It is that of the whole process: a storage system does not change between runs.
#[derive(Debug, Default)]
pub struct Residency {
    /// The words of a command; none without a command.
    command: Vec<String>,
    /// The places of files in the list of those on tape, by the numbers of their names.
    listed: Numbers<u32>,
    /// The answers of the command, by the numbers of the names.
    answers: Mutex<Numbers<bool>>,
    /// The first failure of the command.
    failure: Mutex<Option<Error>>,
}

static RESIDENCY: RwLock<Option<Arc<Residency>>> = RwLock::new(None);

impl Residency {
    /// Takes a command, whose words are separated by spaces, and a list of files on tape in the order in which they are recalled. `{}` in
    /// a word is the name of a file; without it, the name is the last word. No shell runs.
    pub fn new(command: Option<&str>, listed: &[PathBuf]) -> Self {
        let mut command: Vec<String> =
            command.into_iter().flat_map(str::split_whitespace).map(str::to_owned).collect();
        if !command.is_empty() && !command.iter().any(|word| word.contains(NAME)) {
            command.push(NAME.to_owned());
        }
        let place = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let listed = listed.iter().enumerate().map(|(n, path)| (number_of_file(path), place(n))).collect();
        Residency { command, listed, ..Self::default() }
    }

    /// Uses this for all later questions of the process.
    pub fn set(self) {
        *RESIDENCY.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(self));
    }

    fn current() -> Option<Arc<Self>> {
        RESIDENCY.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns whether a file is on tape; nothing where neither list nor command decides. If the command fails, the file counts as on
    /// tape, so that nothing recalls it, and [`sorted`] returns the failure.
    fn is_offline(&self, path: &Path) -> Option<bool> {
        let number = number_of_file(path);
        if self.listed.contains_key(&number) {
            return Some(true);
        }
        if self.command.is_empty() {
            return None;
        }
        let known = |answers: &Mutex<Numbers<bool>>| {
            answers.lock().unwrap_or_else(PoisonError::into_inner).get(&number).copied()
        };
        if let Some(answer) = known(&self.answers) {
            return Some(answer);
        }
        let answer = match self.ask(path) {
            Ok(answer) => answer,
            Err(e) => {
                self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
                true
            }
        };
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).insert(number, answer);
        Some(answer)
    }

    /// Runs the command for a file.
    fn ask(&self, path: &Path) -> Result<bool> {
        let name = path.as_os_str();
        let words = self.command.iter().map(|word| match word.split_once(NAME) {
            Some((before, after)) => {
                let mut word = std::ffi::OsString::from(before);
                word.push(name);
                word.push(after);
                word
            }
            None => word.into(),
        });
        let words: Vec<_> = words.collect();
        let shown = || self.command.join(" ").replace(NAME, &crate::tree::shown(path));
        let run = Command::new(&words[0]).args(&words[1..]).stdin(Stdio::null()).output();
        let done = run.with_context(|| format!("run `{}`", shown()))?;
        if !done.status.success() {
            let reason = nc3z_look::text::safe(String::from_utf8_lossy(&done.stderr).trim());
            return Err(
                Refusal::TapeCommand { command: shown(), status: done.status.to_string(), reason }.into()
            );
        }
        // The name itself may have such a word.
        let answer = String::from_utf8_lossy(&done.stdout).replace(&*name.to_string_lossy(), " ");
        Ok(answer.split(|c: char| !c.is_alphanumeric()).any(|word| ON_TAPE.contains(&word)))
    }

    /// Returns the place of a file in the list; that behind all others for a file that it lacks.
    fn place(&self, path: &Path) -> u32 {
        self.listed.get(&number_of_file(path)).copied().unwrap_or(u32::MAX)
    }
}

/// Returns the number of a file's name, which may be relative in the list and absolute in a run.
fn number_of_file(path: &Path) -> u64 {
    let absolute = std::path::absolute(path);
    number_of(absolute.as_deref().unwrap_or(path).as_os_str().as_encoded_bytes())
}

/// The treatment of files that have no data on disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Offline {
    /// The run fails before anything is read.
    #[default]
    Refuse,
    /// They are left out.
    Skip,
    /// They are read after all others, in their order.
    Last,
}

/// The offline files of a run that were left out or put last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfflineFiles {
    /// Their number; at least 1.
    pub count: usize,
    /// The first of them.
    pub first: PathBuf,
    /// The files that were left out.
    pub skipped: Vec<PathBuf>,
    /// True if they were left out, false if they are read last.
    pub left_out: bool,
}

impl fmt::Display for OfflineFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, s) = (self.count, if self.count == 1 { "" } else { "s" });
        let what = match (self.left_out, n) {
            (true, _) => "left out",
            (false, 1) => "is read last",
            (false, _) => "are read last, in their order",
        };
        write!(f, "{n} file{s} without data on disk {what}, such as {}", self.first.display())
    }
}

/// Returns whether the data of a file are on tape, so that reading it recalls them: by the site's list or command, or because it has a
/// length and no block on disk.
pub fn is_offline(path: &Path) -> bool {
    let Ok(meta) = path.metadata() else { return false };
    if !meta.is_file() || meta.len() == 0 {
        return false;
    }
    let by_site = Residency::current().and_then(|residency| residency.is_offline(path));
    by_site.unwrap_or_else(|| has_no_blocks(&meta))
}

#[cfg(unix)]
fn has_no_blocks(meta: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    meta.len() > SHORTEST && meta.blocks() == 0
}

/// The system does not tell.
#[cfg(not(unix))]
fn has_no_blocks(_: &std::fs::Metadata) -> bool {
    false
}

/// Returns the first failure of the site's command, if it failed for any file.
///
/// # Errors
/// The site's command failed.
pub fn check() -> Result<()> {
    let failure = Residency::current()
        .and_then(|residency| residency.failure.lock().unwrap_or_else(PoisonError::into_inner).take());
    failure.map_or(Ok(()), Err)
}

/// Returns whether the name of a file is that of a classic file.
pub(crate) fn is_classic_name(path: &Path) -> bool {
    path.extension().is_some_and(|e| CLASSIC.iter().any(|known| e == *known))
}

/// Returns whether the name of a file is that of a classic file or an archive.
pub fn is_netcdf_name(path: &Path) -> bool {
    is_classic_name(path) || path.extension().is_some_and(|e| e == ARCHIVE)
}

/// Refuses offline files, leaves them out, or puts them last: in the order of the site's list, if there is one. `path_of` returns the path
/// of a file. No file is opened.
///
/// # Errors
/// Some are offline, and are to be refused; the site's command failed.
pub fn sorted<T>(
    files: Vec<T>,
    path_of: impl Fn(&T) -> &Path,
    treatment: Offline,
) -> Result<(Vec<T>, Option<OfflineFiles>)> {
    let (mut offline, mut online): (Vec<T>, Vec<T>) =
        files.into_iter().partition(|file| is_offline(path_of(file)));
    check()?;
    if let Some(residency) = Residency::current().filter(|residency| !residency.listed.is_empty()) {
        offline.sort_by_key(|file| residency.place(path_of(file)));
    }
    let Some(first) = offline.first() else { return Ok((online, None)) };
    let first = path_of(first).to_owned();
    let count = offline.len();
    let mut skipped = Vec::new();
    match treatment {
        Offline::Refuse => return Err(Error::from(Refusal::Offline { count, first })),
        Offline::Skip => skipped.extend(offline.iter().map(|file| path_of(file).to_owned())),
        Offline::Last => online.extend(offline),
    }
    Ok((online, Some(OfflineFiles { count, first, skipped, left_out: treatment == Offline::Skip })))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn files_on_tape_are_refused_left_out_or_read_last() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::File::create(path("hole.nc")).unwrap().set_len(1 << 20).unwrap();
        std::fs::write(path("a.nc"), "here").unwrap();
        let all = || vec![path("hole.nc"), path("a.nc")];
        let refused = sorted(all(), |p| p, Offline::Refuse).unwrap_err().to_string();
        assert!(refused.contains("hole.nc") && refused.contains("from tape"), "{refused}");
        let (files, note) = sorted(all(), |p| p, Offline::Skip).unwrap();
        assert_eq!(files, [path("a.nc")]);
        assert!(note.unwrap().to_string().contains("1 file without data on disk left out"));
        let (files, note) = sorted(all(), |p| p, Offline::Last).unwrap();
        assert_eq!(files, [path("a.nc"), path("hole.nc")]);
        assert!(!note.unwrap().left_out);
        assert_eq!(sorted(vec![path("a.nc")], |p| p, Offline::Refuse).unwrap().1, None);
    }
}
