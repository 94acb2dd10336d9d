//! How to open an archive.

use crate::source::SharedSource;
use crate::tile::cache::TileCache;
use crate::versions::VersionName;
use nc3z_format::Limits;
use nc3z_format::codec::Registry;
use nc3z_format::digest::Root;

/// How to open an archive.
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
    pub(crate) root: Option<Root>,
    pub(crate) tree: Option<TreeSource>,
}

/// The source of a tree file.
#[derive(Clone)]
pub(crate) struct TreeSource(pub(crate) SharedSource);

impl std::fmt::Debug for TreeSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TreeSource").field("len", &self.0.len()).finish()
    }
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
            root: None,
            tree: None,
        }
    }
}

impl OpenOptions {
    /// For a command, which reads an archive once or a few times: what is decoded is counted, and ends where it is out of
    /// proportion to the archive and its original ([`nc3z_format::limits::work`]).
    #[must_use]
    pub fn of_command() -> Self {
        OpenOptions { limits: Limits::of_command(), ..OpenOptions::default() }
    }

    /// Caps on what the file may ask for.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Whether opening by path maps the file (the default) or reads it by position; see the module `source` for what a map asks
    /// of its file.
    #[must_use]
    pub fn with_mmap(mut self, mapped: bool) -> Self {
        self.mapped = mapped;
        self
    }

    /// Reads give the variable's fill value (zeros for bytes that belong to no variable) where a tile is damaged or lost, instead
    /// of an error. Off by default. What was filled is in [`crate::Archive::filled`]; ask it after reading.
    #[must_use]
    pub fn with_fill_lost(mut self, fill: bool) -> Self {
        self.fill_lost = fill;
        self
    }

    /// Keeps decoded tiles in this cache instead of the process's.
    #[must_use]
    pub fn with_cache(mut self, cache: TileCache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// The filters and codecs that chains may name, instead of this build's.
    #[must_use]
    pub fn with_registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Opens the last generation whose trailer is whole, where that of a later one is damaged. Off by default: a later generation may be
    /// another state of the file, and the older one must not be taken for it. What a commit left that did not finish is no such generation.
    #[must_use]
    pub fn with_older(mut self, older: bool) -> Self {
        self.older = older;
        self
    }

    /// Opens this generation of the archive instead of its last: the archive as it was after that commit. Opening fails, and
    /// names the generations that there are, where it is none of them.
    #[must_use]
    pub fn with_generation(mut self, generation: impl Into<Option<u64>>) -> Self {
        self.generation = generation.into();
        self
    }

    /// Opens this version of the file instead of the newest. Opening fails, and says which there are, where it is none of them.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<Option<VersionName>>) -> Self {
        self.version = version.into();
        self
    }

    /// Opens a dataset whose values are checked against this root (`nc3z hash --root`) before they are returned; see
    /// [`crate::Dataset::verified`]. [`crate::Archive::from_source`] refuses a root.
    #[must_use]
    pub fn with_root(mut self, root: impl Into<Option<Root>>) -> Self {
        self.root = root.into();
        self
    }

    /// The tree file by which values are checked against a root (`nc3z hash --tree`). It need not come from whom the root is of. Without
    /// one, opening with a root reads all of the dataset.
    #[must_use]
    pub fn with_tree(mut self, tree: impl Into<Option<SharedSource>>) -> Self {
        self.tree = tree.into().map(TreeSource);
        self
    }
}
