//! Reads any range of an original, and reports bytes that cannot be read.

use super::event::{Event, Log};
use super::facts::Facts;
use nc3z_format::archive::ArrayId;
use nc3z_reader::{Archive, Error};
use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The maximal number of damaged tiles of an original that are reported.
const TOLD: usize = 100;

/// An open archive, read as its original.
pub(crate) struct Original {
    pub(crate) archive: Archive,
    /// The name of the archive in messages.
    pub(crate) path: PathBuf,
    pub(crate) facts: Facts,
    told: Mutex<ReportedErrors>,
}

#[derive(Default)]
struct ReportedErrors {
    tiles: HashSet<(ArrayId, u64)>,
    /// Other errors, by their messages.
    errors: HashSet<String>,
}

impl Original {
    pub(crate) fn new(archive: Archive, path: PathBuf, facts: Facts) -> Self {
        Original { archive, path, facts, told: Mutex::default() }
    }

    /// Reads the part of a range that is inside the file.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8], log: &Log) -> io::Result<usize> {
        let left = self.facts.len.saturating_sub(offset);
        let n = usize::try_from(left).map_or(out.len(), |left| left.min(out.len()));
        match self.archive.read_original(offset, &mut out[..n]) {
            Ok(()) => Ok(n),
            Err(e) => {
                self.tell(offset..offset + n as u64, &e, log);
                Err(io::Error::other(e))
            }
        }
    }

    /// Reports the tiles of a range that cannot be read, each once.
    fn tell(&self, range: std::ops::Range<u64>, error: &Error, log: &Log) {
        let mut is_tile = false;
        for (array, tile) in self.archive.tiles_of_original(range).unwrap_or_default() {
            let Err(error) = self.archive.cached_tile(array, tile) else { continue };
            is_tile = true;
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            if told.tiles.len() > TOLD || !told.tiles.insert((array, tile)) {
                continue;
            }
            let is_last = told.tiles.len() > TOLD;
            drop(told);
            let path = &self.path;
            if is_last {
                log.tell(&Event::MoreDamage { path });
                continue;
            }
            let place = self.archive.place(array, tile..tile + 1);
            log.tell(&Event::Damaged { path, archive: &self.archive, place: &place, error: &error });
        }
        if !is_tile {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            let is_new = told.errors.len() < TOLD && told.errors.insert(error.with_causes());
            drop(told);
            if is_new {
                log.tell(&Event::Unread { path: &self.path, error });
            }
        }
    }
}
