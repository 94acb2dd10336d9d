//! Writes a catalogue ([`crate::catalog`]) of many files, and adds files to one.

use crate::bundle::{Bundle, inside};
use crate::catalog::{Appender, Catalog, Location, Member, UNKNOWN_TIME, Writer, scan};
use crate::tree::error::Context as _;
use crate::tree::manifest::bag::is_specification;
use crate::tree::ordered::in_order;
use crate::tree::stamp::{Stamp, has_changed};
use crate::tree::{Error, ErrorKind};
use crate::{as_aggregation, names_of};
use nc3z_format::url;
use nc3z_reader::{Dataset, Monitor, OpenOptions};
use nc3z_writer::{Advice, CommitNote};
use percent_encoding::percent_decode_str;
use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A file to describe.
pub struct IndexInput {
    /// The file, or the bundle's name with `!/` and the member's name.
    pub path: PathBuf,
    /// The name in the catalogue.
    pub name: String,
    /// The bundle that has it, and its name there.
    member: Option<(Arc<Bundle>, String)>,
    /// The length and the time of the bundle.
    stamp: Option<Stamp>,
}

impl IndexInput {
    /// A file of its own, with its name in the catalogue.
    pub fn file(path: PathBuf, name: String) -> Self {
        IndexInput { path, name, member: None, stamp: None }
    }

    /// The data files of the bundle that the catalogue calls `name`.
    ///
    /// # Errors
    /// The table of the bundle is damaged.
    pub fn members(name: &str, bundle: &Arc<Bundle>) -> crate::Result<Vec<Self>> {
        let stamp = Stamp::new(Path::new(name));
        let data = bundle.names()?.iter().filter(|member| !is_specification(member));
        let input = |member: &String| {
            let name = format!("{name}!/{member}");
            let member = Some((Arc::clone(bundle), member.clone()));
            IndexInput { path: PathBuf::from(&name), name, member, stamp }
        };
        Ok(data.map(input).collect())
    }
}

/// The catalogue that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Indexed {
    /// The number of files.
    pub files: u64,
    /// Bytes of the original files.
    pub original_len: u64,
}

/// The files that were added to a catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Appended {
    /// The files that were added.
    pub new: Indexed,
    /// The number of files that the catalogue had already.
    pub present: u64,
    /// The version with these files. None if there was nothing to add.
    pub version: Option<u64>,
    /// The number of bytes by which the catalogue became longer.
    pub added_len: u64,
}

/// The way files are opened and described.
pub struct IndexOptions<'a, E> {
    /// The number of threads; 0 for one for each core.
    pub threads: usize,
    /// Opens files that are not in bundles.
    pub open: &'a (dyn Fn(&Path) -> Result<Dataset, E> + Sync),
    /// Options for files in bundles.
    pub members: &'a OpenOptions,
    /// Receives the serious warnings of each file, such as that it was cut short, in the order of the files.
    pub warn: &'a (dyn Fn(&Path, &str) + Sync),
    /// Hears of the bytes of the catalogue, and may cancel.
    pub monitor: &'a dyn Monitor,
}

/// Receives the files that cannot be read, which the catalogue then lacks.
pub type Failed<'a, E> = &'a mut (dyn FnMut(&Path, E) + Send);

/// Writes the catalogue of `inputs` to `out`. None if the monitor cancelled.
///
/// # Errors
/// The output cannot be written.
pub fn write<W: Write + Send, E: From<Error> + Send>(
    inputs: &[IndexInput],
    out: W,
    options: &IndexOptions<'_, E>,
    failed: Failed<'_, E>,
) -> Result<Option<Indexed>, E> {
    let mut writer = Writer::new(out);
    let others = OnceLock::new();
    let is_known = |place: &Place| others.get_or_init(|| places(inputs)).contains(place);
    let all: Vec<&IndexInput> = inputs.iter().collect();
    let done = describe_all(&all, options, &is_known, failed, &mut |member| writer.push(member))?;
    let Some(done) = done else { return Ok(None) };
    let mut out = match writer.finish(options.monitor) {
        Err(_) if options.monitor.is_cancelled() => return Ok(None),
        out => out.map_err(Error::from)?,
    };
    out.flush().with_context(|| "write the catalogue".to_owned())?;
    Ok(Some(done))
}

/// Adds `inputs` to the catalogue at `path`, as a new version of it. Files that it has are passed over; those that changed since go to
/// `failed`. None if the monitor cancelled.
///
/// # Errors
/// The catalogue cannot be read or written.
pub fn append<E: From<Error> + Send>(
    path: &Path,
    inputs: &[IndexInput],
    options: &IndexOptions<'_, E>,
    failed: Failed<'_, E>,
) -> Result<Option<Appended>, E> {
    let mut appender = Appender::open(path).map_err(Error::from)?;
    let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
    let known = appender.known(&names).map_err(Error::from)?;
    let (mut new, mut present) = (Vec::new(), 0);
    for input in inputs {
        match known.get(&input.name) {
            None => new.push(input),
            Some(head) if has_changed(path, &input.name, head) => {
                let what = "the catalogue has an earlier state of this file; write the catalogue again";
                failed(&input.path, Error::from(crate::Error::Refused(what.to_owned())).into());
            }
            Some(_) => present += 1,
        }
    }
    let (others, catalog) = (OnceLock::new(), Arc::clone(appender.catalog()));
    let is_known = |place: &Place| {
        others
            .get_or_init(|| {
                places(inputs).into_iter().chain(places_of(&catalog, path)).collect::<HashSet<_>>()
            })
            .contains(place)
    };
    let done = describe_all(&new, options, &is_known, failed, &mut |member| appender.push(member))?;
    let Some(new) = done else { return Ok(None) };
    if new.files == 0 {
        return Ok(Some(Appended { new, present, version: None, added_len: 0 }));
    }
    let done = match appender.commit(&CommitNote::default(), options.monitor) {
        Err(_) if options.monitor.is_cancelled() => return Ok(None),
        done => done.map_err(Error::from)?,
    };
    let added_len = done.stored_len.1.saturating_sub(done.stored_len.0);
    Ok(Some(Appended { new, present, version: Some(done.version), added_len }))
}

/// Describes files, and calls `push` in their order. None if the monitor cancelled.
fn describe_all<E: From<Error> + Send>(
    inputs: &[&IndexInput],
    options: &IndexOptions<'_, E>,
    is_known: &(dyn Fn(&Place) -> bool + Sync),
    failed: Failed<'_, E>,
    push: &mut (dyn FnMut(Member) -> crate::Result<()> + Send),
) -> Result<Option<Indexed>, E> {
    let mut done = Indexed { files: 0, original_len: 0 };
    let look = |input: &&IndexInput| {
        if options.monitor.is_cancelled() {
            return Err(Error::from(nc3z_reader::Error::interrupted()).into());
        }
        describe(input, options.open, options.members, is_known)
    };
    in_order(inputs, options.threads, look, |input, found| {
        match found {
            Ok((member, warnings)) => {
                warnings.iter().for_each(|warning| (options.warn)(&input.path, warning));
                done.files += 1;
                done.original_len = done.original_len.saturating_add(member.head.len);
                push(member).map_err(Error::from)?;
            }
            Err(e) => failed(&input.path, e),
        }
        Ok::<_, E>(())
    })?;
    Ok((!options.monitor.is_cancelled()).then_some(done))
}

/// The description of a file, and its serious warnings.
type Described = (Member, Vec<String>);

fn describe<E: From<Error>>(
    input: &IndexInput,
    open: &(dyn Fn(&Path) -> Result<Dataset, E> + Sync),
    members: &OpenOptions,
    is_known: &dyn Fn(&Place) -> bool,
) -> Result<Described, E> {
    let Some((bundle, member)) = &input.member else {
        let stamp = Stamp::new(&input.path);
        let dataset = open(&input.path)?;
        // Objects on servers and versions have no stamp.
        let len = || {
            let own = as_aggregation(&dataset).map_or(&dataset, |aggregation| aggregation.fragments().own());
            match own.archive() {
                Some(archive) => archive.stored_len(),
                None => own.classic().map_or(0, |_| own.original_len()),
            }
        };
        let Stamp { len: stored, modified } =
            stamp.unwrap_or_else(|| Stamp { len: len(), modified: UNKNOWN_TIME });
        let is_view =
            is_view(&dataset, &|name| Place::beside(&input.path, name).is_some_and(|place| is_known(&place)));
        let at = Location { stored, is_view, modified, ..Location::default() };
        let found = scanned(&input.name, &dataset, at);
        return unchanged(found, &input.path, stamp).map_err(E::from);
    };
    let found = of_member(input, bundle, member, members, is_known);
    let object = input.name.split_once("!/").map_or(&*input.name, |(object, _)| object);
    Ok(unchanged(found, Path::new(object), input.stamp)?)
}

/// The description of a file that did not change while it was read.
fn unchanged(
    found: crate::tree::Result<Described>,
    path: &Path,
    stamp: Option<Stamp>,
) -> crate::tree::Result<Described> {
    if Stamp::new(path) != stamp {
        let e = crate::Error::refused("the file changed while it was read");
        return Err(ErrorKind::Aggregate(e.advised(Advice::MakeCatalogue)).into());
    }
    found
}

/// A file or member as the others of the catalogue can name it.
#[derive(PartialEq, Eq, Hash)]
enum Place {
    File(PathBuf),
    /// The URL of an object, decoded and without secrets.
    Object(String),
    /// The address of the open bundle, and the name in it.
    Member(usize, String),
}

impl Place {
    fn of(path: &Path) -> Option<Self> {
        match path.to_str().filter(|name| url::is_url(name)) {
            Some(name) => Some(Place::object(&url::shown(name))),
            None => path.canonicalize().ok().map(Place::File),
        }
    }

    /// A blank in the name of a fragment is `%20` in the URL of the object.
    fn object(url: &str) -> Self {
        Place::Object(percent_decode_str(url).decode_utf8_lossy().into_owned())
    }

    /// The file that an aggregation at `path` calls `name`.
    fn beside(path: &Path, name: &str) -> Option<Self> {
        let base = path.to_str().filter(|base| url::is_url(base) && !url::is_url(name)).map(url::shown);
        let Some(base) = base else {
            return if url::is_url(name) {
                Place::of(Path::new(name))
            } else {
                Place::of(&path.with_file_name(name))
            };
        };
        let (scheme, rest) = base.split_once("://")?;
        let (directory, _) = rest.rsplit_once('/')?;
        Some(Place::object(&format!("{scheme}://{}", inside(directory, name)?)))
    }
}

fn places(inputs: &[IndexInput]) -> HashSet<Place> {
    let place = |input: &IndexInput| match &input.member {
        Some((bundle, name)) => Some(Place::Member(Arc::as_ptr(bundle).addr(), name.clone())),
        None => Place::of(&input.path),
    };
    inputs.iter().filter_map(place).collect()
}

/// The files of a catalogue that are on disk, by their names from the current directory or from that of the catalogue.
fn places_of(catalog: &Catalog, path: &Path) -> HashSet<Place> {
    let directory = path.parent().unwrap_or(Path::new(""));
    let names = catalog.blocks().flat_map(|block| block.names().unwrap_or_default());
    let place = |name: String| Place::of(Path::new(&name)).or_else(|| Place::of(&directory.join(&name)));
    names.filter_map(place).collect()
}

/// Returns whether a dataset is an aggregation of which a fragment is known.
fn is_view(dataset: &Dataset, is_known: &dyn Fn(&str) -> bool) -> bool {
    let Some(uris) = as_aggregation(dataset).and_then(|aggregation| aggregation.uris().ok()) else {
        return false;
    };
    uris.iter().any(|(uri, _)| names_of(uri).iter().any(|name| is_known(name)))
}

fn of_member(
    input: &IndexInput,
    bundle: &Arc<Bundle>,
    member: &str,
    options: &OpenOptions,
    is_known: &dyn Fn(&Place) -> bool,
) -> crate::tree::Result<Described> {
    let missing = || ErrorKind::Aggregate(crate::Error::Refused("it is not there".to_owned()));
    let source = bundle.member(member).map_err(ErrorKind::Aggregate)?.ok_or_else(missing)?;
    let place = bundle.place(member).map_err(ErrorKind::Aggregate)?.ok_or_else(missing)?;
    let places = |range| bundle.places(&place, range);
    let dataset = Dataset::from_source(source, options)?;
    // The fragments of an aggregation are other members; those at URLs are not fetched.
    let base = crate::FragmentBase::Bundle(Arc::clone(bundle), member.to_owned());
    let refuse = |url: &str| {
        Err(nc3z_reader::Error::other(format!("`{url}` is not fetched for a catalogue of a bundle")))
    };
    let fragments = crate::Options { open: options.clone(), ..crate::Options::default() };
    let dataset = base.present(dataset, &input.name, Arc::new(refuse), fragments);
    let dataset = dataset.map_err(ErrorKind::Aggregate)?;
    let directory = member.rsplit_once('/').map_or("", |(directory, _)| directory);
    let known = |name: &str| {
        let inside = inside(directory, name);
        inside.is_some_and(|name| is_known(&Place::Member(Arc::as_ptr(bundle).addr(), name)))
    };
    let is_view = is_view(&dataset, &known);
    let modified = input.stamp.map_or(UNKNOWN_TIME, |stamp| stamp.modified);
    let (offset, stored, packed, places) = (place.offset, place.len, place.packed, Some(&places as _));
    let at = Location { offset, stored, packed, is_view, modified, places, ..Location::default() };
    scanned(&input.name, &dataset, at)
}

fn scanned(name: &str, dataset: &Dataset, at: Location<'_>) -> crate::tree::Result<Described> {
    let member = scan(name, dataset, at).map_err(ErrorKind::Aggregate)?;
    // An aggregation is not a file, and its layout is made up.
    let is_file = dataset.archive().is_some() || dataset.classic().is_some();
    let warnings = dataset.layout().warnings.iter().filter(|warning| is_file && warning.is_serious());
    let warnings = warnings.map(|warning| warning.words(dataset.header())).collect();
    Ok((member, warnings))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nc3z_reader::source::MemorySource;

    #[test]
    fn a_catalog_has_the_files_that_can_be_read_in_their_order() {
        let classic = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/classic");
        let inputs: Vec<_> = ["winds.nc", "bad_version.nc", "numeric.nc"]
            .iter()
            .map(|name| IndexInput::file(classic.join(name), (*name).to_owned()))
            .collect();
        let (mut out, options) = (Vec::new(), OpenOptions::default());
        let open = |path: &Path| Ok::<_, Error>(Dataset::open(path, &options)?);
        let mut failures = Vec::new();
        let mut failed = |path: &Path, _: Error| failures.push(path.file_name().unwrap().to_owned());
        let warn = |_: &Path, _: &str| {};
        let how = IndexOptions { threads: 2, open: &open, members: &options, warn: &warn, monitor: &() };
        let done = write(&inputs, &mut out, &how, &mut failed).unwrap().unwrap();
        assert_eq!(done.files, 2);
        assert_eq!(failures, ["bad_version.nc"]);
        let catalog = Catalog::open(Arc::new(MemorySource::new(out))).unwrap();
        let names: Vec<String> = catalog.blocks().flat_map(|block| block.names().unwrap()).collect();
        assert_eq!(names, ["winds.nc", "numeric.nc"]);
    }
}
