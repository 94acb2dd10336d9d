//! Options for opening an archive.

use crate::check::parity::{ReadRepair, ReadRepairHook};
use crate::classic::{ClassicFile, ParsedHeader};
use crate::tile::cache::TileCache;
use crate::versions::VersionName;
use nc3z_format::Limits;
use nc3z_format::codec::Registry;
use std::sync::Arc;

/// Options for opening an archive.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    pub(crate) limits: Limits,
    pub(crate) mapped: bool,
    pub(crate) fill_lost: bool,
    pub(crate) cache: Option<TileCache>,
    pub(crate) generation: Option<u64>,
    pub(crate) version: Option<VersionName>,
    pub(crate) older: bool,
    pub(crate) registry: Registry,
    pub(crate) read_repair: Option<ReadRepairHook>,
    pub(crate) parsed: Option<ParsedHeader>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions {
            limits: Limits::default(),
            mapped: true,
            fill_lost: false,
            cache: None,
            generation: None,
            version: None,
            older: false,
            registry: Registry::default(),
            read_repair: None,
            parsed: None,
        }
    }
}

impl OpenOptions {
    /// Options for a command, which reads an archive once or a few times. Decoded bytes are counted, and the
    /// command fails if they are out of proportion to the archive and its original
    /// ([`nc3z_format::limits::work`]).
    #[must_use]
    pub fn of_command() -> Self {
        OpenOptions { limits: Limits::of_command(), ..OpenOptions::default() }
    }

    /// Sets the limits on the requests of a file.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Selects whether opening by path maps the file (the default) or reads it by position. The module
    /// `source` has the conditions on a mapped file.
    #[must_use]
    pub fn with_mmap(mut self, mapped: bool) -> Self {
        self.mapped = mapped;
        self
    }

    /// Returns whether opening by path maps the file.
    pub fn is_mapped(&self) -> bool {
        self.mapped
    }

    /// Makes reads return the variable's fill value (zeros for bytes of no variable) instead of an error for
    /// a tile that is damaged or lost. Off by default. [`crate::Archive::filled`] lists the replaced tiles
    /// after a read.
    #[must_use]
    pub fn with_fill_lost(mut self, fill: bool) -> Self {
        self.fill_lost = fill;
        self
    }

    /// Reads archives with parity through damage: lost bytes are computed from the parity and held in memory, at most 256 MiB of them.
    /// The file is not changed. `report` is called once for each archive that needs it, from the thread that reads. A
    /// [`crate::Dataset`] that is opened by path or from a source always does so; for [`crate::Archive::from_source`] it is off by
    /// default, so that checks and edits find the damage.
    #[must_use]
    pub fn with_read_repair(mut self, report: impl Fn(&ReadRepair) + Send + Sync + 'static) -> Self {
        self.read_repair = Some(ReadRepairHook(Arc::new(report)));
        self
    }

    /// Reads through damage; see [`OpenOptions::with_read_repair`]. Without a receiver of reports there is none: [`crate::Archive::read_repair`]
    /// has them.
    pub(crate) fn read_repair(self) -> Self {
        if self.read_repair.is_some() { self } else { self.with_read_repair(|_| ()) }
    }

    /// Uses the parsed header of this file for an archive that has the same header bytes, instead of parsing them again. All
    /// checks of the archive stay.
    #[must_use]
    pub fn with_header_of(mut self, file: &ClassicFile) -> Self {
        self.parsed = Some(file.parsed_header().clone());
        self
    }

    /// Keeps decoded tiles in this cache instead of the process's.
    #[must_use]
    pub fn with_cache(mut self, cache: TileCache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Sets the filters and codecs for chains, instead of this build's.
    #[must_use]
    pub fn with_registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Opens the last generation with an intact trailer if the trailer of a later one is damaged. Off by
    /// default: a later generation may be another state of the file, and the older one must not be mistaken
    /// for it. An unfinished commit is no such generation.
    #[must_use]
    pub fn with_older(mut self, older: bool) -> Self {
        self.older = older;
        self
    }

    /// Opens this generation of the archive instead of its last: the archive as it was after that commit. If
    /// there is no such generation, opening fails and lists the existing ones.
    #[must_use]
    pub fn with_generation(mut self, generation: impl Into<Option<u64>>) -> Self {
        self.generation = generation.into();
        self
    }

    /// Opens this version of the file instead of the newest. If there is no such version, opening fails and
    /// lists the existing ones.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<Option<VersionName>>) -> Self {
        self.version = version.into();
        self
    }

    /// The version that is opened, if one was set.
    pub fn version(&self) -> Option<&VersionName> {
        self.version.as_ref()
    }
}
