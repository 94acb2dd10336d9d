//! The files that an aggregation refers to: found by rules that can be restricted, opened when they are touched, a bounded number of
//! them open at a time.

mod fingerprint;
mod notes;
mod resolve;

pub(crate) use fingerprint::fingerprint;
pub use notes::Notes;
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

/// Aggregations inside aggregations at most.
const MAX_DEPTH: usize = 8;

/// What to do where a fragment is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// An error that names it.
    #[default]
    Refuse,
    /// Its elements are missing values.
    Fill,
}

/// Opens what is no path: URLs, members of bundles.
pub trait OpenFragment: Send + Sync {
    /// The bytes of a fragment; nothing where this is no name that it knows.
    ///
    /// # Errors
    /// It knows the name, and cannot open it.
    fn open_fragment(&self, uri: &str) -> Result<Option<SharedSource>>;

    /// An opener of the same fragments whose reads are fetched together; nothing where that is no use, since each is an object of its
    /// own or a request costs nothing.
    fn gathering(&self) -> Option<Gathering> {
        None
    }
}

/// Opens fragments of one object whose reads wait until several are known.
pub struct Gathering {
    /// Opens the fragments.
    pub opener: Arc<dyn OpenFragment>,
    /// Fetches what they want.
    pub ahead: Arc<Ahead>,
}

/// How an aggregation's fragments are opened.
#[derive(Clone)]
pub struct Options {
    /// How each file is opened.
    pub open: OpenOptions,
    /// What to do where one is not there.
    pub missing: Missing,
    /// Whether fragments may lie outside the aggregation's own directory.
    pub outside: bool,
    /// Files that are open at a time.
    pub open_files: usize,
    /// Opens what is no path.
    pub opener: Option<Arc<dyn OpenFragment>>,
    /// Where it is noted what readers should know.
    pub notes: Notes,
    /// Files that are being opened: those that led to this one.
    pub(crate) ancestors: Vec<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            open: OpenOptions::of_command().with_mmap(false),
            missing: Missing::Refuse,
            outside: false,
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
    /// The directory of the aggregation; none where it has no place in a file system.
    base: Option<PathBuf>,
    options: Options,
    cache: Cache<String, Dataset>,
    opened: AtomicU64,
    filled: AtomicU64,
}

impl Fragments {
    /// The files of the aggregation in `own`, which is called `name` in messages and lies in the directory `base`.
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

    /// How the file of the aggregation is called.
    pub(crate) fn own_name(&self) -> String {
        self.name.clone()
    }

    /// Whether fragments are opened by others' means, from a server mostly, and none by its path.
    pub(crate) fn are_far(&self) -> bool {
        self.base.is_none() && self.options.opener.is_some()
    }

    /// The file of the aggregation.
    pub fn own(&self) -> &Dataset {
        &self.own
    }

    /// How often a file was opened.
    pub fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// How often a fragment was not there, and missing values were given instead.
    pub fn filled(&self) -> u64 {
        self.filled.load(Ordering::Relaxed)
    }

    /// Notes what readers should know.
    pub(crate) fn note(&self, what: String) {
        self.options.notes.add(what);
    }

    /// Opens a fragment; nothing where it is not there and that is allowed.
    ///
    /// # Errors
    /// It is not there; it lies where none may; it is no netCDF file; it is another one than it was.
    pub fn open(&self, file: &FileRef, expected: Option<&str>) -> Result<Option<Dataset>> {
        let FileRef::Uri(uri) = file else { return Ok(Some(self.own.clone())) };
        if let Some(dataset) = self.cache.get(uri) {
            return Ok(Some(dataset));
        }
        // Nothing is held meanwhile: opening reads in parallel, and a thread that waits for its part may take up another task that
        // needs this very file. So two threads may open it at once, and one of both stays.
        match self.open_anew(uri, expected, self.options.opener.as_ref()) {
            Ok(dataset) => {
                self.cache.insert(uri.clone(), dataset.clone());
                Ok(Some(dataset))
            }
            Err(e) => self.fill(uri, e),
        }
    }

    /// Nothing in the place of a fragment that is not there, where that is allowed.
    fn fill(&self, uri: &str, refused: Refused) -> Result<Option<Dataset>> {
        match refused {
            Refused::Absent(_) if self.options.missing == Missing::Fill => {
                self.filled.fetch_add(1, Ordering::Relaxed);
                self.note(format!("fragment `{uri}` is not there: missing values stand for it"));
                Ok(None)
            }
            Refused::Absent(e) | Refused::Other(e) => Err(e),
        }
    }

    /// Returns the opener that fetches several fragments of one object together.
    pub(crate) fn gathering(&self) -> Option<Gathering> {
        self.options.opener.as_ref()?.gathering()
    }

    /// Opens a fragment by another opener, past the cache.
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
        if let Some(expected) = expected {
            let found = fingerprint(&dataset).map_err(|e| wrong(e.to_string()))?;
            if let Some(what) = fingerprint::differs(expected, &found) {
                return Err(wrong(format!("it has changed since the aggregation was made: {what}")));
            }
        }
        // A fragment may be an aggregation itself; it may not lead back here.
        if !crate::file::is_aggregation(&dataset) {
            return Ok(dataset);
        }
        let mut options = self.options.clone();
        options.opener = opener.cloned();
        // What an opener gives is told by its name, which stands for one file at every depth.
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

    /// The path that the name of a fragment stands for.
    ///
    /// # Errors
    /// There is no such file; it lies outside the aggregation's directory, and `outside` is false.
    pub(crate) fn path(&self, uri: &str, outside: bool) -> Result<PathBuf> {
        resolve::resolve(uri, self.base.as_deref(), outside).map_err(|e| match e {
            Refused::Absent(e) | Refused::Other(e) => e,
        })
    }

    /// The bytes of a fragment, and its path where it has one.
    fn source(
        &self,
        uri: &str,
        opener: Option<&Arc<dyn OpenFragment>>,
    ) -> Result<(SharedSource, Option<PathBuf>), Refused> {
        if let Some(opener) = opener
            && let Some(source) = opener.open_fragment(uri).map_err(Refused::of)?
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
    fn of(e: Error) -> Self {
        if matches!(e, Error::Absent { .. }) { Refused::Absent(e) } else { Refused::Other(e) }
    }
}

/// Why a fragment was not opened.
enum Refused {
    /// There is no such file.
    Absent(Error),
    /// Anything else.
    Other(Error),
}
