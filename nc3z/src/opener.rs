//! The one opener of inputs, in terms of the unstable crates. [`crate::open`] and [`crate::open_any`] are its stable form; the tool, the
//! Python package and other programs of this repository use it directly.

use crate::name::{Name, shown, url_of};
#[cfg(feature = "collections")]
use nc3z_collections::{
    FragmentBase, Options, as_aggregation, bundle::Bundle, catalog::Catalog, is_aggregation,
};
#[cfg(feature = "collections")]
use nc3z_reader::FileName;
use nc3z_reader::source::{self, FileSource, SharedSource};
use nc3z_reader::{Archive, Dataset, Error, OpenOptions, Result};
#[cfg(feature = "remote")]
use nc3z_remote::{ForwardSource, PagedSource};
use std::fmt;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

pub use crate::name::{Elsewhere, split_member};
#[cfg(feature = "remote")]
pub use nc3z_remote::RemoteOptions;

/// The kind of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A classic netCDF file.
    Classic,
    /// An nc3z archive.
    Archive,
    /// A file, classic or archived, whose variables are in other files.
    Aggregation,
    /// A file of files: a catalogue that holds them, a ZIP or a tar.
    Bundle,
    /// A catalogue: descriptions of many files, without their data.
    Catalog,
    /// A directory.
    Tree,
    /// Any other file.
    Other,
}

impl Kind {
    /// Returns the kind of a file by its first bytes. An aggregation, a catalogue or a bundle of nc3z is a classic file or an archive here,
    /// and a tree has no bytes.
    ///
    /// # Errors
    /// Its first bytes cannot be read.
    #[doc(hidden)]
    pub fn from_source(source: &SharedSource) -> Result<Self> {
        if Archive::is_one(&**source)? {
            return Ok(Kind::Archive);
        }
        let mut first = [0; 8];
        let len = usize::try_from(source.len()).map_or(first.len(), |len| len.min(first.len()));
        source.read_into(0, &mut first[..len])?;
        if first.starts_with(b"CDF") {
            return Ok(Kind::Classic);
        }
        #[cfg(feature = "collections")]
        if Bundle::is_bundle(source)? {
            return Ok(Kind::Bundle);
        }
        Ok(Kind::Other)
    }
}

/// With an article: `a bundle`.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Classic => "a classic netCDF file",
            Kind::Archive => "an nc3z archive",
            Kind::Aggregation => "an aggregation",
            Kind::Bundle => "a bundle",
            Kind::Catalog => "a catalogue",
            Kind::Tree => "a directory",
            Kind::Other => "another file",
        })
    }
}

/// The error for an input that exists and is of a kind that a call cannot use. Callers add what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongKind {
    /// The name of the input, without secrets.
    pub name: String,
    /// The kind that was found.
    pub kind: Kind,
    /// The kind that is needed; [`Kind::Classic`] for variables, whatever file they are in.
    pub needed: Kind,
    /// The number of its files, if it is a bundle or a catalogue that can be opened.
    pub files: Option<usize>,
    /// The name of its first file.
    pub first: Option<String>,
}

impl WrongKind {
    /// An input with this name and kind.
    pub fn new(name: impl Into<String>, kind: Kind, needed: Kind) -> Self {
        WrongKind { name: name.into(), kind, needed, files: None, first: None }
    }

    /// Returns the error inside an error of the reader.
    pub fn within(error: &Error) -> Option<&Self> {
        match error.kind() {
            nc3z_reader::ErrorKind::Other(e) => e.downcast_ref(),
            _ => None,
        }
    }
}

impl fmt::Display for WrongKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.needed {
            Kind::Classic => write!(f, "`{}` is {}", self.name, self.kind)?,
            needed => write!(f, "`{}` is not {needed} but {}", self.name, self.kind)?,
        }
        match self.files {
            Some(1) => f.write_str(" of 1 file"),
            Some(n) => write!(f, " of {n} files"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for WrongKind {}

/// The way in which objects of URLs are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Access {
    /// The bytes that are needed, in merged requests.
    #[default]
    Direct,
    /// A few bytes in many places.
    Paged,
    /// All of them, from beginning to end.
    Forward,
}

/// The way in which a damaged bundle is opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Damaged {
    /// It is an error.
    #[default]
    Refused,
    /// As far as there is a directory of members, to check them.
    Checked,
    /// As [`Damaged::Checked`]; lost data of members are replaced by fill values.
    Filled,
}

/// The bundle that was opened last: its members are often read one after another.
#[cfg(feature = "collections")]
pub struct LastBundle(Mutex<Option<(PathBuf, Damaged, Arc<Bundle>)>>);

#[cfg(feature = "collections")]
impl LastBundle {
    /// None yet.
    pub const fn none() -> Self {
        LastBundle(Mutex::new(None))
    }
}

/// An opened input, by its kind.
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it is taken apart at once")]
pub enum Found {
    /// The variables of a classic file, an archive or an aggregation.
    Dataset(Kind, Dataset),
    /// A bundle.
    #[cfg(feature = "collections")]
    Bundle(Arc<Bundle>),
    /// A catalogue.
    #[cfg(feature = "collections")]
    Catalog(Catalog),
    /// A directory.
    Tree,
    /// A file of another kind, and the reason why it cannot be read.
    Other(Error),
}

/// Opens inputs by name.
#[derive(Clone)]
pub struct Opener {
    options: OpenOptions,
    access: Access,
    damaged: Damaged,
    #[cfg(feature = "collections")]
    fragments: Option<Options>,
    #[cfg(feature = "collections")]
    last: Option<&'static LastBundle>,
    #[cfg(feature = "remote")]
    remote: RemoteOptions,
}

impl Opener {
    /// An opener with these options for archives.
    pub fn new(options: OpenOptions) -> Self {
        Opener {
            options,
            access: Access::default(),
            damaged: Damaged::default(),
            #[cfg(feature = "collections")]
            fragments: Some(Options::default()),
            #[cfg(feature = "collections")]
            last: None,
            #[cfg(feature = "remote")]
            remote: RemoteOptions::default(),
        }
    }

    /// Sets the options for archives.
    #[must_use]
    pub fn with_options(mut self, options: OpenOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the way in which objects of URLs are read.
    #[must_use]
    pub fn with_access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Sets the way in which damaged bundles are opened.
    #[must_use]
    pub fn with_damaged(mut self, damaged: Damaged) -> Self {
        self.damaged = damaged;
        self
    }

    /// Sets the options for the fragments of an aggregation. With None an aggregation is presented as stored, without them.
    #[cfg(feature = "collections")]
    #[must_use]
    pub fn with_fragments(mut self, fragments: impl Into<Option<Options>>) -> Self {
        self.fragments = fragments.into();
        self
    }

    /// Keeps the last bundle open here.
    #[cfg(feature = "collections")]
    #[must_use]
    pub fn with_last(mut self, last: &'static LastBundle) -> Self {
        self.last = Some(last);
        self
    }

    /// Sets the options for stores.
    #[cfg(feature = "remote")]
    #[must_use]
    pub fn with_remote(mut self, remote: RemoteOptions) -> Self {
        self.remote = remote;
        self
    }

    /// Opens the bytes of an input.
    ///
    /// # Errors
    /// There is no such file, object or member, or it cannot be read. It is a directory ([`WrongKind`]).
    pub fn source(&self, name: &Name) -> Result<SharedSource> {
        match name.member() {
            Some(member) => self.member(name.file(), member),
            None => self.outer(name),
        }
    }

    /// Opens the bytes of the file that an input is in: of a member, its bundle.
    ///
    /// # Errors
    /// As [`Opener::source`].
    pub fn outer(&self, name: &Name) -> Result<SharedSource> {
        if name.is_standard_input() {
            return standard_input();
        }
        #[cfg(feature = "collections")]
        if name.member().is_some() {
            // The name of the bundle may have a version.
            return self.file(&self.versioned(name.file())?.0);
        }
        self.file(name.file())
    }

    fn file(&self, file: &Path) -> Result<SharedSource> {
        if let Some(url) = url_of(file) {
            return self.object(url);
        }
        source::open(file, self.options.is_mapped()).map_err(|e| {
            if file.is_dir() {
                Error::other(WrongKind::new(shown(file), Kind::Tree, Kind::Classic))
            } else {
                e
            }
        })
    }

    /// Opens the object of a URL.
    ///
    /// # Errors
    /// There is no such object, or it cannot be read. This build reads no URLs.
    #[cfg(feature = "remote")]
    pub fn object(&self, url: &str) -> Result<SharedSource> {
        let object = nc3z_remote::open(url, &self.remote)?;
        Ok(match self.access {
            Access::Direct => object,
            Access::Paged => Arc::new(PagedSource::new(object)),
            Access::Forward => Arc::new(ForwardSource::new(object)),
        })
    }

    /// Opens the object of a URL.
    ///
    /// # Errors
    /// This build reads no URLs.
    #[cfg(not(feature = "remote"))]
    pub fn object(&self, url: &str) -> Result<SharedSource> {
        let url = nc3z_format::url::shown(url);
        let _ = self.access;
        Err(Error::other(format!("`{url}` is a URL, and this build of nc3z reads no URLs")))
    }

    /// Returns the URLs of all objects below a URL that ends in `/`, sorted.
    ///
    /// # Errors
    /// The store cannot be read, or has no lists. This build reads no URLs.
    #[cfg(feature = "remote")]
    pub fn objects(&self, url: &str) -> Result<Vec<String>> {
        nc3z_remote::list(url, &self.remote)
    }

    /// Returns the URLs of all objects below a URL that ends in `/`.
    ///
    /// # Errors
    /// This build reads no URLs.
    #[cfg(not(feature = "remote"))]
    pub fn objects(&self, url: &str) -> Result<Vec<String>> {
        Err(self.object(url).err().unwrap_or_else(|| Error::other("this build of nc3z reads no URLs")))
    }

    /// Checks, before long work, that there are credentials for the stores of these URLs.
    ///
    /// # Errors
    /// Credentials are incomplete or cannot be read, or there are none. The error names the variable or the file.
    #[cfg(feature = "remote")]
    pub fn check_credentials<'u>(&self, urls: impl IntoIterator<Item = &'u str>) -> Result<()> {
        nc3z_remote::check(urls, &self.remote)
    }

    /// Does nothing: this build reads no URLs.
    ///
    /// # Errors
    /// None.
    #[cfg(not(feature = "remote"))]
    pub fn check_credentials<'u>(&self, _: impl IntoIterator<Item = &'u str>) -> Result<()> {
        Ok(())
    }

    #[cfg(feature = "collections")]
    fn member(&self, bundle: &Path, member: &str) -> Result<SharedSource> {
        Ok(self.bundle(bundle)?.require(member, &shown(bundle))?)
    }

    #[cfg(not(feature = "collections"))]
    fn member(&self, bundle: &Path, member: &str) -> Result<SharedSource> {
        let bundle = shown(bundle);
        let _ = self.damaged;
        Err(Error::other(format!(
            "`{member}` is a member of `{bundle}`, and this build of nc3z opens no bundles"
        )))
    }

    /// Opens a bundle by the name of its file.
    ///
    /// # Errors
    /// It is not a bundle, is damaged, or cannot be read.
    #[cfg(feature = "collections")]
    pub fn bundle(&self, file: &Path) -> Result<Arc<Bundle>> {
        let Some(last) = self.last else { return self.new_bundle(file) };
        let mut last = last.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |known: &Path, damaged: Damaged| known == file && damaged == self.damaged;
        if let Some((_, _, bundle)) = last.as_ref().filter(|(known, damaged, _)| is_it(known, *damaged)) {
            return Ok(Arc::clone(bundle));
        }
        let bundle = self.new_bundle(file)?;
        *last = Some((file.to_owned(), self.damaged, Arc::clone(&bundle)));
        Ok(bundle)
    }

    #[cfg(feature = "collections")]
    fn new_bundle(&self, file: &Path) -> Result<Arc<Bundle>> {
        let (file, options) = self.versioned(file)?;
        self.bundle_from(self.file(&file)?, &options)
    }

    /// Takes the version from the name of a bundle. Returns the name of the file, and the options for opening it.
    #[cfg(feature = "collections")]
    fn versioned(&self, file: &Path) -> Result<(PathBuf, OpenOptions)> {
        let name = match url_of(file) {
            Some(url) => FileName::of_url(url)?,
            None => FileName::on_disk(file)?,
        };
        let whole = Name::whole(&name.file).with_requested(name.version);
        Ok((name.file, self.options_of(&whole)?))
    }

    #[cfg(feature = "collections")]
    fn bundle_from(&self, source: SharedSource, options: &OpenOptions) -> Result<Arc<Bundle>> {
        let bundle = match self.damaged {
            Damaged::Refused => Bundle::open_with(source, options)?,
            Damaged::Checked => Bundle::open_damaged(&source, options)?,
            Damaged::Filled => Bundle::open_damaged(&source, options)?.filling_lost(),
        };
        Ok(Arc::new(bundle))
    }

    /// Returns the options for opening the archive of a name.
    fn options_of(&self, name: &Name) -> Result<OpenOptions> {
        let options = self.options.clone();
        match name.requested() {
            Some(_) if options.version().is_some() => Err(nc3z_format::Error::invalid(format!(
                "`{name}` names a version, and so do the options: give one of them"
            ))
            .into()),
            Some(version) => Ok(options.with_version(version.clone())),
            None => Ok(options),
        }
    }

    /// Opens an archive.
    ///
    /// # Errors
    /// It cannot be read, is damaged, or is not an archive: [`WrongKind`] for a bundle, a catalogue and a directory.
    pub fn archive(&self, name: &Name) -> Result<Archive> {
        let source = self.source(name)?;
        let opened = Archive::from_source(Arc::clone(&source), &self.options_of(name)?);
        opened.map_err(|e| self.explained(e, source, name, Kind::Archive))
    }

    /// Opens the variables of a classic file, an archive or an aggregation, the last with the data of its fragments.
    ///
    /// # Errors
    /// It cannot be read, is damaged, or has no variables: [`WrongKind`] for a bundle, a catalogue and a directory.
    pub fn dataset(&self, name: &Name) -> Result<Dataset> {
        self.present(self.stored(name)?, name)
    }

    /// Opens the variables of a file as stored: those of an aggregation without its fragments.
    ///
    /// # Errors
    /// As [`Opener::dataset`].
    pub fn stored(&self, name: &Name) -> Result<Dataset> {
        self.stored_from(self.source(name)?, name)
    }

    /// Opens the variables in these bytes as stored.
    ///
    /// # Errors
    /// As [`Opener::dataset`].
    pub fn stored_from(&self, source: SharedSource, name: &Name) -> Result<Dataset> {
        let opened = Dataset::from_source(Arc::clone(&source), &self.options_of(name)?);
        let dataset = opened.map_err(|e| self.explained(e, source, name, Kind::Classic))?;
        if name.requested().is_some() && dataset.archive().is_none() {
            let words = format!(
                "`{name}` names a version, and only archives have versions: this is {}",
                Kind::Classic
            );
            return Err(nc3z_format::Error::invalid(words).into());
        }
        #[cfg(feature = "collections")]
        // As stored, a bundle has the variables of its table, as a catalogue has.
        if let Some(archive) =
            dataset.archive().filter(|_| self.fragments.is_some() && Bundle::is_one(&dataset))
        {
            let bundle = Bundle::from_archive(archive)?;
            return Err(Error::other(Self::of_bundle(&bundle, name, Kind::Classic)));
        }
        Ok(dataset)
    }

    /// Returns the error for a bundle where another kind is needed.
    #[cfg(feature = "collections")]
    fn of_bundle(bundle: &Bundle, name: &Name, needed: Kind) -> WrongKind {
        let mut wrong = WrongKind::new(name.to_string(), Kind::Bundle, needed);
        wrong.files = Some(bundle.len());
        wrong.first = bundle.names().ok().and_then(|names| names.first().cloned());
        wrong
    }

    /// Presents an aggregation with the data of its fragments, which are in its bundle, on its server, or in its directory. Any other
    /// dataset is unchanged.
    ///
    /// # Errors
    /// The aggregation contradicts its convention.
    #[cfg(feature = "collections")]
    pub fn present(&self, dataset: Dataset, name: &Name) -> Result<Dataset> {
        if self.fragments.is_none() || !is_aggregation(&dataset) {
            return Ok(dataset);
        }
        self.present_at(dataset, &self.place(name)?, &name.to_string())
    }

    /// Presents an aggregation at a known place. Messages call it `name`.
    ///
    /// # Errors
    /// The aggregation contradicts its convention.
    #[cfg(feature = "collections")]
    pub fn present_at(&self, dataset: Dataset, place: &FragmentBase, name: &str) -> Result<Dataset> {
        let Some(options) = self.fragments.clone() else { return Ok(dataset) };
        let opener = Opener { access: Access::Direct, ..self.clone() };
        let open = move |url: &str| opener.object(url);
        Ok(place.present(dataset, name, Arc::new(open), options)?)
    }

    /// Opens the variables of a member of a bundle that is open.
    ///
    /// # Errors
    /// There is no such member; as [`Opener::dataset`].
    #[cfg(feature = "collections")]
    pub fn dataset_in(&self, bundle: &Arc<Bundle>, name: &Name) -> Result<Dataset> {
        let member = name.member().unwrap_or_default();
        let stored = self.stored_from(bundle.require(member, &shown(name.file()))?, name)?;
        let place = FragmentBase::Bundle(Arc::clone(bundle), member.to_owned());
        self.present_at(stored, &place, &name.to_string())
    }

    /// Returns the dataset: this build does not know aggregations.
    ///
    /// # Errors
    /// None.
    #[cfg(not(feature = "collections"))]
    pub fn present(&self, dataset: Dataset, _: &Name) -> Result<Dataset> {
        Ok(dataset)
    }

    /// Returns the place in which the fragments of an aggregation are searched.
    ///
    /// # Errors
    /// The bundle of a member cannot be opened.
    #[cfg(feature = "collections")]
    pub fn place(&self, name: &Name) -> Result<FragmentBase> {
        match name.member() {
            Some(member) => Ok(FragmentBase::Bundle(self.bundle(name.file())?, member.to_owned())),
            None => Ok(outside_bundles(name)),
        }
    }

    /// Opens the bytes of an input, and returns the place in which the fragments of an aggregation in them are searched.
    ///
    /// # Errors
    /// As [`Opener::source`].
    #[cfg(feature = "collections")]
    pub fn located(&self, name: &Name) -> Result<(SharedSource, FragmentBase)> {
        match name.member() {
            Some(member) => in_bundle(self.bundle(name.file())?, member, name),
            None => Ok((self.outer(name)?, outside_bundles(name))),
        }
    }

    /// As [`Opener::located`], in a file that is open ([`Opener::outer`]).
    ///
    /// # Errors
    /// As [`Opener::source`].
    #[cfg(feature = "collections")]
    pub fn located_in(&self, file: &SharedSource, name: &Name) -> Result<(SharedSource, FragmentBase)> {
        match name.member() {
            Some(member) => {
                let (_, options) = self.versioned(name.file())?;
                in_bundle(self.bundle_from(Arc::clone(file), &options)?, member, name)
            }
            None => Ok((Arc::clone(file), outside_bundles(name))),
        }
    }

    /// Opens an input of any kind.
    ///
    /// # Errors
    /// There is no such input, or it is damaged.
    pub fn open(&self, name: &Name) -> Result<Found> {
        if name.is_on_disk() && name.file().is_dir() {
            return Ok(Found::Tree);
        }
        let source = self.source(name)?;
        let kind = Kind::from_source(&source)?;
        match kind {
            #[cfg(feature = "collections")]
            Kind::Bundle if name.requested().is_none() => {
                Ok(Found::Bundle(self.bundle_from(source, &self.options)?))
            }
            Kind::Classic | Kind::Archive => {
                let opened = self.stored_from(Arc::clone(&source), name);
                #[cfg(feature = "collections")]
                if match &opened {
                    Ok(stored) => Bundle::is_one(stored),
                    Err(e) => WrongKind::within(e).is_some_and(|wrong| wrong.kind == Kind::Bundle),
                } {
                    return Ok(Found::Bundle(self.bundle_from(source, &self.options_of(name)?)?));
                }
                let stored = opened?;
                #[cfg(feature = "collections")]
                if Catalog::is_one(&stored) {
                    return Ok(Found::Catalog(Catalog::from_dataset(stored)?));
                }
                #[cfg(feature = "collections")]
                if is_aggregation(&stored) {
                    return Ok(Found::Dataset(Kind::Aggregation, self.present(stored, name)?));
                }
                Ok(Found::Dataset(kind, stored))
            }
            _ => self
                .stored_from(source, name)
                .map(|stored| Found::Dataset(kind, stored))
                .or_else(|e| Ok(Found::Other(e))),
        }
    }

    /// Returns the error for a file that could not be opened as the kind that is needed: [`WrongKind`], if it is another kind.
    pub fn explained(&self, error: Error, source: SharedSource, name: &Name, needed: Kind) -> Error {
        match Kind::from_source(&source) {
            Ok(Kind::Other | Kind::Archive) | Err(_) => error,
            Ok(kind) if kind == needed => error,
            Ok(kind) => Error::other(self.wrong_kind(kind, needed, source, name)),
        }
    }

    /// Returns the error for an input of this kind where another one is needed.
    pub fn wrong_kind(&self, kind: Kind, needed: Kind, source: SharedSource, name: &Name) -> WrongKind {
        #[cfg(feature = "collections")]
        if let (Kind::Bundle, Ok(bundle)) = (kind, self.bundle_from(source, &self.options)) {
            return Self::of_bundle(&bundle, name, needed);
        }
        #[cfg(not(feature = "collections"))]
        let _ = (self, source);
        WrongKind::new(name.to_string(), kind, needed)
    }
}

/// Returns the place of a file that is not in a bundle.
#[cfg(feature = "collections")]
fn outside_bundles(name: &Name) -> FragmentBase {
    match name.url() {
        Some(url) => FragmentBase::Server(url.to_owned()),
        None => FragmentBase::Disk(name.file().to_owned()),
    }
}

/// Opens a member of an open bundle, and returns its place.
#[cfg(feature = "collections")]
fn in_bundle(bundle: Arc<Bundle>, member: &str, name: &Name) -> Result<(SharedSource, FragmentBase)> {
    let source = bundle.require(member, &shown(name.file()))?;
    Ok((source, FragmentBase::Bundle(bundle, member.to_owned())))
}

/// Returns the archive that is open, or that an open aggregation is stored in.
#[cfg(feature = "collections")]
pub fn archive_of(dataset: &Dataset) -> Option<&Archive> {
    dataset.archive().or_else(|| as_aggregation(dataset)?.archive())
}

/// Returns the bytes of standard input, which is copied to a temporary file when it is opened first, because files are read by
/// position.
///
/// # Errors
/// It is a terminal, or it cannot be read or copied.
pub fn standard_input() -> Result<SharedSource> {
    static COPIED: Mutex<Option<SharedSource>> = Mutex::new(None);
    let mut copied = COPIED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(source) = &*copied {
        return Ok(Arc::clone(source));
    }
    let name = Path::new("standard input");
    let mut input = std::io::stdin().lock();
    if input.is_terminal() {
        let words =
            "standard input is a terminal: send a file into it, or give a file's name in place of `-`";
        return Err(nc3z_format::Error::invalid(words).into());
    }
    let mut file =
        tempfile::tempfile().map_err(|e| Error::io("create a temporary file for", Some(name), e))?;
    std::io::copy(&mut input, &mut file).map_err(|e| Error::io("read", Some(name), e))?;
    let source: SharedSource = Arc::new(FileSource::from_file(file, name)?);
    *copied = Some(Arc::clone(&source));
    Ok(source)
}
