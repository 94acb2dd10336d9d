//! Open archives, and facts of archives that were open before. `stat` needs only the facts, and opens no
//! archive again.

use super::attr::{Signature, Stat};
use super::event::{Event, Log};
use super::facts::{ContentId, Facts};
use super::original::Original;
use super::tree::{Content, Tree};
use nc3z_reader::parity::ReadRepair;
use nc3z_reader::source::{FileSource, SharedSource};
use nc3z_reader::{Archive, OpenOptions, VersionName};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The maximal number of archives that are kept open without a reader. Each has an open file.
const HELD: usize = 128;
/// The time that an archive is kept open without a reader.
const IDLE: Duration = Duration::from_secs(60);
/// The number of archives whose facts are kept; about 200 bytes each.
const FACTS: usize = 200_000;

type Key = (PathBuf, Option<u64>);

struct OpenOriginal {
    original: Arc<Original>,
    signature: Signature,
    used: Instant,
}

#[derive(Default)]
struct Tables {
    held: HashMap<Key, OpenOriginal>,
    facts: HashMap<Key, (Signature, Facts)>,
    /// Archives that could not be opened. Each is reported once.
    failed: HashMap<Key, Signature>,
}

pub(crate) struct Originals {
    tables: Mutex<Tables>,
    options: OpenOptions,
}

impl Originals {
    pub(crate) fn new(options: OpenOptions) -> Self {
        Originals { tables: Mutex::default(), options }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns attributes of an archive's file, and facts of its original.
    pub(crate) fn facts(
        &self,
        tree: &dyn Tree,
        path: &Path,
        version: Option<u64>,
        log: &Log,
    ) -> io::Result<(Stat, Facts)> {
        let stat = tree.stat_target(path)?;
        let key = (path.to_owned(), version);
        let known = self.tables().facts.get(&key).copied();
        if let Some((_, facts)) = known.filter(|(signature, _)| *signature == stat.signature()) {
            return Ok((stat, facts));
        }
        Ok((stat, self.open_as(tree, key, &stat, log)?.facts))
    }

    /// Opens an archive, or returns it if it is open.
    pub(crate) fn open(
        &self,
        tree: &dyn Tree,
        path: &Path,
        version: Option<u64>,
        log: &Log,
    ) -> io::Result<Arc<Original>> {
        let stat = tree.stat_target(path)?;
        self.open_as(tree, (path.to_owned(), version), &stat, log)
    }

    fn open_as(&self, tree: &dyn Tree, key: Key, stat: &Stat, log: &Log) -> io::Result<Arc<Original>> {
        let signature = stat.signature();
        if let Some(held) = self.tables().held.get_mut(&key).filter(|held| held.signature == signature) {
            held.used = Instant::now();
            return Ok(Arc::clone(&held.original));
        }
        let opened = self.open_anew(tree, &key, log);
        let mut tables = self.tables();
        let original = match opened {
            Ok(original) => Arc::new(original),
            Err(e) => {
                if tables.failed.len() >= FACTS {
                    tables.failed.clear();
                }
                let told = tables.failed.insert(key.clone(), signature);
                drop(tables);
                if told != Some(signature) {
                    log.tell(&Event::Unopened { path: &tree.place(&key.0), error: &e });
                }
                return Err(e);
            }
        };
        if tables.facts.len() >= FACTS {
            tables.facts.clear();
        }
        tables.facts.insert(key.clone(), (signature, original.facts));
        let replaced = tables
            .held
            .insert(key, OpenOriginal { original: Arc::clone(&original), signature, used: Instant::now() });
        let oldest = (tables.held.len() > HELD)
            .then(|| tables.held.iter().min_by_key(|(_, held)| held.used).map(|(key, _)| key.clone()))
            .flatten();
        let evicted = oldest.and_then(|key| tables.held.remove(&key));
        drop(tables);
        // Dropping an archive removes its tiles from the cache. No other thread should wait for that.
        drop((replaced, evicted));
        Ok(original)
    }

    fn open_anew(&self, tree: &dyn Tree, (path, version): &Key, log: &Log) -> io::Result<Original> {
        let place = tree.place(path);
        let source: SharedSource = match tree.open(path)? {
            // Read by position: if a mapped file became shorter, the process would end.
            Content::File(file) => Arc::new(FileSource::from_file(file, &place).map_err(io::Error::other)?),
            Content::Source(source) => source,
        };
        let (log, shown) = (log.clone(), place.clone());
        let tell = move |repaired: &ReadRepair| log.tell(&Event::Repaired { path: &shown, repaired });
        let options =
            self.options.clone().with_version(version.map(VersionName::Number)).with_read_repair(tell);
        let archive = Archive::from_source(source, &options).map_err(io::Error::other)?;
        let number = archive.version().map_err(io::Error::other)?.number;
        let added = match version {
            Some(_) => archive.versions(1).map_err(io::Error::other)?.first().map_or(0, |v| v.added_len),
            None => archive.stored_len(),
        };
        let content = ContentId::new(&archive, number);
        let facts = Facts { len: archive.original_len(), content, added };
        Ok(Original::new(archive, place, facts))
    }

    /// Closes archives that had no reader for a while. A removed archive's space on disk is then free, and its disk can be unmounted.
    pub(crate) fn close_idle(&self) {
        let now = Instant::now();
        let mut tables = self.tables();
        let idle = |held: &OpenOriginal| {
            Arc::strong_count(&held.original) == 1 && now.duration_since(held.used) > IDLE
        };
        let idle: Vec<OpenOriginal> =
            tables.held.extract_if(|_, held| idle(held)).map(|(_, held)| held).collect();
        drop(tables);
        drop(idle);
    }
}
