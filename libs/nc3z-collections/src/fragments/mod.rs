//! The files that an aggregation refers to. Restrictable rules find them. They are opened when they are
//! needed, and a bounded number of them is open at a time.

mod fingerprint;
mod notes;
mod resolve;

pub(crate) use fingerprint::fingerprint;
pub use notes::Notes;
pub use resolve::names_of;
pub(crate) use resolve::to_uri;

use crate::bundle::Ahead;
use crate::error::{Error, Result};
use crate::master::FileRef;
use nc3z_reader::source::{self, SharedSource};
use nc3z_reader::{Dataset, OpenOptions};
use quick_cache::sync::Cache;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The maximal nesting of aggregations.
const MAX_DEPTH: usize = 8;

/// The action for a fragment that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// An error that names the fragment.
    #[default]
    Refuse,
    /// Its elements are missing values.
    Fill,
}

/// Opens fragments that are not paths: URLs, members of bundles.
pub trait OpenFragment: Send + Sync {
    /// Returns the bytes of a fragment. None where this opener does not know the name.
    ///
    /// # Errors
    /// The opener knows the name, and cannot open the fragment.
    fn open_fragment(&self, uri: &str) -> Result<Option<SharedSource>>;

    /// Returns an opener of the same fragments whose reads are fetched together. None where that does not
    /// help: each fragment is an object of its own, or a request costs nothing.
    fn gathering(&self) -> Option<Gathering> {
        None
    }
}

/// Opens fragments of one object whose reads wait until several are known.
pub struct Gathering {
    /// Opens the fragments.
    pub opener: Arc<dyn OpenFragment>,
    /// Fetches the ranges that the fragments need.
    pub ahead: Arc<Ahead>,
}

/// The options for opening an aggregation's fragments.
#[derive(Clone)]
pub struct Options {
    /// The options for opening each file.
    pub open: OpenOptions,
    /// The action for a fragment that does not exist.
    pub missing: Missing,
    /// True where fragments may be outside the aggregation's own directory.
    pub outside: bool,
    /// True where a fragment may be an aggregation itself.
    pub nested: bool,
    /// The number of files that are open at a time.
    pub open_files: usize,
    /// Opens fragments that are not paths.
    pub opener: Option<Arc<dyn OpenFragment>>,
    /// Collects notes for the reader of the aggregation.
    pub notes: Notes,
    /// The chain of aggregations that are being opened.
    pub(crate) ancestors: Vec<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            open: OpenOptions::of_command().with_mmap(false),
            missing: Missing::Refuse,
            outside: false,
            nested: true,
            open_files: 128,
            opener: None,
            notes: Notes::default(),
            ancestors: Vec::new(),
        }
    }
}

/// The files of one aggregation.
pub struct Fragments {
    own: Dataset,
    name: String,
    /// The directory of the aggregation. None where it is not in a file system.
    base: Option<PathBuf>,
    options: Options,
    cache: Cache<String, Dataset>,
    opened: AtomicU64,
    filled: AtomicU64,
}

impl Fragments {
    /// The files of the aggregation in `own`. Messages call it `name`; its directory is `base`.
    pub fn new(own: Dataset, name: impl Into<String>, base: Option<&Path>, options: &Options) -> Self {
        Fragments {
            own,
            name: name.into(),
            base: base.map(Path::to_owned),
            cache: Cache::new(options.open_files.max(1)),
            options: options.clone(),
            opened: AtomicU64::new(0),
            filled: AtomicU64::new(0),
        }
    }

    /// The name of the aggregation's file.
    pub(crate) fn own_name(&self) -> String {
        self.name.clone()
    }

    /// Returns whether fragments are opened only by an opener, usually from a server, and not by path.
    pub(crate) fn are_far(&self) -> bool {
        self.base.is_none() && self.options.opener.is_some()
    }

    /// The file of the aggregation.
    pub fn own(&self) -> &Dataset {
        &self.own
    }

    /// The number of times that a file was opened.
    pub fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// The number of times that a fragment did not exist and missing values were returned.
    pub fn filled(&self) -> u64 {
        self.filled.load(Ordering::Relaxed)
    }

    /// Adds a note for the reader of the aggregation.
    pub(crate) fn note(&self, what: String) {
        self.options.notes.add(what);
    }

    /// Opens a fragment. None where it does not exist and that is allowed.
    ///
    /// # Errors
    /// The fragment does not exist, is in a directory that is not allowed, is not a netCDF file, or has changed.
    pub fn open(&self, file: &FileRef, expected: Option<&str>) -> Result<Option<Dataset>> {
        let FileRef::Uri(uri) = file else { return Ok(Some(self.own.clone())) };
        if let Some(dataset) = self.cache.get(uri) {
            return Ok(Some(dataset));
        }
        // No lock is held here. Opening reads in parallel, and a thread that waits for its part may take up
        // another task that needs this very file. Two threads may therefore open it at once; one of the two
        // stays in the cache.
        match self.open_anew(uri, expected, self.options.opener.as_ref()) {
            Ok(dataset) => {
                self.cache.insert(uri.clone(), dataset.clone());
                Ok(Some(dataset))
            }
            Err(e) => self.fill(uri, e),
        }
    }

    /// Returns None for a fragment that does not exist, where that is allowed.
    fn fill(&self, uri: &str, refused: Refused) -> Result<Option<Dataset>> {
        match refused {
            Refused::Absent(_) if self.options.missing == Missing::Fill => {
                self.filled.fetch_add(1, Ordering::Relaxed);
                self.note(format!("fragment `{uri}` does not exist: its values are missing"));
                Ok(None)
            }
            Refused::Absent(e) | Refused::Other(e) => Err(e),
        }
    }

    /// Returns the opener that fetches several fragments of one object together.
    pub(crate) fn gathering(&self) -> Option<Gathering> {
        self.options.opener.as_ref()?.gathering()
    }

    /// Opens a fragment by another opener, without the cache.
    ///
    /// # Errors
    /// As [`Fragments::open`].
    pub(crate) fn open_by(
        &self,
        opener: &Arc<dyn OpenFragment>,
        file: &FileRef,
        expected: Option<&str>,
    ) -> Result<Option<Dataset>> {
        let FileRef::Uri(uri) = file else { return Ok(Some(self.own.clone())) };
        self.open_anew(uri, expected, Some(opener)).map_or_else(|e| self.fill(uri, e), |d| Ok(Some(d)))
    }

    fn open_anew(
        &self,
        uri: &str,
        expected: Option<&str>,
        opener: Option<&Arc<dyn OpenFragment>>,
    ) -> Result<Dataset, Refused> {
        let (source, path) = self.source(uri, opener)?;
        self.opened.fetch_add(1, Ordering::Relaxed);
        let wrong = |e: String| Refused::Other(Error::fragment(uri, e));
        let dataset = Dataset::from_source(source, &self.options.open)
            .map_err(|e| Refused::Other(Error::inside(uri, e)))?;
        if let Some(expected) = expected
            && let Some(what) =
                fingerprint::difference(expected, &dataset).map_err(|e| wrong(e.to_string()))?
        {
            return Err(wrong(format!("it has changed since the aggregation was made: {what}")));
        }
        // A fragment may be an aggregation itself, but may not refer back to this one.
        if !crate::file::is_aggregation(&dataset) {
            return Ok(dataset);
        }
        if !self.options.nested {
            return Err(wrong(
                "it is an aggregation itself, and this program reads only one level of them".into(),
            ));
        }
        let mut options = self.options.clone();
        options.opener = opener.cloned();
        // A fragment from an opener is identified by its name, which means the same file at every depth.
        let place = path.clone().unwrap_or_else(|| PathBuf::from(uri));
        if options.ancestors.contains(&place) {
            return Err(wrong("it is an aggregation that refers to itself".into()));
        }
        options.ancestors.push(place);
        if options.ancestors.len() > MAX_DEPTH {
            return Err(wrong(format!("aggregations are nested more than {MAX_DEPTH} deep")));
        }
        let base = path.as_deref().and_then(Path::parent).or(self.base.as_deref());
        crate::file::wrap(dataset, uri, base, &options).map_err(Refused::Other)
    }

    /// Returns the path that the name of a fragment resolves to.
    ///
    /// # Errors
    /// The file does not exist, or it is outside the aggregation's directory and `outside` is false.
    pub(crate) fn path(&self, uri: &str, outside: bool) -> Result<PathBuf> {
        resolve::resolve(uri, self.base.as_deref(), outside).map_err(|e| match e {
            Refused::Absent(e) | Refused::Other(e) => e,
        })
    }

    /// Returns the bytes of a fragment, and its path where it has one.
    fn source(
        &self,
        uri: &str,
        opener: Option<&Arc<dyn OpenFragment>>,
    ) -> Result<(SharedSource, Option<PathBuf>), Refused> {
        if let Some(opener) = opener
            && let Some(source) = opener.open_fragment(uri).map_err(Refused::from_error)?
        {
            return Ok((source, None));
        }
        let path = resolve::resolve(uri, self.base.as_deref(), self.options.outside)?;
        let opened =
            source::open(&path, false).map_err(|e| Refused::Other(Error::fragment(uri, e.with_causes())))?;
        Ok((opened, Some(path)))
    }
}

impl Refused {
    fn from_error(e: Error) -> Self {
        if matches!(e, Error::Absent { .. }) { Refused::Absent(e) } else { Refused::Other(e) }
    }
}

/// The reason why a fragment was not opened.
enum Refused {
    /// The file does not exist.
    Absent(Error),
    /// Anything else.
    Other(Error),
}
