//! Aggregations of a view: their data sets with the data of the fragments, and the state of these.
//!
//! The work of a request is bounded. A fragment that is an aggregation itself is refused, because its own fragments are known only
//! after it was opened. The state of very many fragments, and of those on servers, is not looked at.

use super::attr::digest;
use super::{Handle, View};
use nc3z_collections::{Aggregation, Error, FragmentBase, OpenUrl, Options, as_aggregation, is_aggregation};
use nc3z_reader::{Dataset, ErrorKind, OpenOptions, Result};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of aggregations that are kept open.
const HELD: usize = 8;
/// The number of fragments of one aggregation that are kept open.
const OPEN_FILES: usize = 32;
/// The largest number of partitions whose fragments are collected, and of fragments whose files are looked at for a request.
const PARTITIONS: usize = 100_000;
const FRAGMENTS: usize = 10_000;

/// The state of the fragments of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FragmentsState {
    /// There are none: the data set is in one file.
    None,
    /// A digest that changes if a fragment does.
    Known([u8; 32]),
    /// They are too many to look at, or on a server.
    Unknown,
}

/// The data set of a file.
pub struct Presented {
    /// The variables; those of an aggregation have the data of its fragments.
    pub dataset: Dataset,
    /// The state of the fragments when the request began.
    pub fragments: FragmentsState,
}

type Uris = BTreeSet<(String, Option<String>)>;

/// An open aggregation.
struct OpenAggregation {
    /// A digest of the file's state and place.
    key: [u8; 32],
    state: FragmentsState,
    dataset: Dataset,
    /// Its fragments, unless they are too many.
    uris: Option<Arc<Uris>>,
}

/// Aggregations that are open, the last used at the end.
#[derive(Default)]
pub(super) struct Aggregations(Mutex<Vec<OpenAggregation>>);

impl View {
    /// Opens a file as a data set: an original, or a classic file that is shown unchanged. An aggregation has the data of its
    /// fragments. `path` is the name in messages.
    ///
    /// # Errors
    /// The file is not a classic netCDF file, or its aggregation is malformed.
    pub fn dataset(&self, handle: &Handle, path: &Path, options: &OpenOptions) -> Result<Presented> {
        let stored = handle.stored(path, options)?;
        if !is_aggregation(&stored) {
            return Ok(Presented { dataset: stored, fragments: FragmentsState::None });
        }
        let state = handle.state().map_err(|e| nc3z_reader::Error::io("open", Some(path), e))?;
        let key = digest(&[&state.id, &self.place_of_fragments(&handle.base)]);
        let known = {
            let mut held = self.aggregations.0.lock().unwrap_or_else(PoisonError::into_inner);
            let at = held.iter().position(|open| open.key == key);
            at.map(|at| held.remove(at))
        };
        // Another request may open the same aggregation meanwhile. Both are right, and one of them is kept.
        let open = match known {
            Some(open) if state_of(&handle.base, &open.dataset, open.uris.as_deref())? == open.state => open,
            _ => self.open_aggregation(key, stored, handle, path, options)?,
        };
        let found = Presented { dataset: open.dataset.clone(), fragments: open.state };
        let mut held = self.aggregations.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|other| other.key != key);
        held.push(open);
        let evicted = (held.len() > HELD).then(|| held.remove(0));
        drop(held);
        drop(evicted);
        Ok(found)
    }

    fn open_aggregation(
        &self,
        key: [u8; 32],
        stored: Dataset,
        handle: &Handle,
        path: &Path,
        options: &OpenOptions,
    ) -> Result<OpenAggregation> {
        let base = &handle.base;
        let is_server = matches!(base, FragmentBase::Server(_));
        let opener = self.opener.clone();
        // Clients must not make the server send requests: only a server that was named to it has fragments with URLs.
        let open: OpenUrl = Arc::new(move |url| {
            if is_server {
                opener.object(url)
            } else {
                Err(nc3z_reader::Error::other("it is on another server"))
            }
        });
        let mut of_fragments = Options::default();
        of_fragments.open = options.clone();
        of_fragments.nested = false;
        of_fragments.open_files = OPEN_FILES;
        let dataset = base.present(stored, &path.to_string_lossy(), open, of_fragments)?;
        let aggregation = as_aggregation(&dataset).filter(|found| found.partitions() <= PARTITIONS);
        let uris = aggregation.map(Aggregation::uris).transpose()?;
        let uris = uris.filter(|uris| uris.len() <= FRAGMENTS).map(Arc::new);
        let state = state_of(base, &dataset, uris.as_deref())?;
        Ok(OpenAggregation { key, state, dataset, uris })
    }

    /// Returns bytes that identify the place in which fragments are searched.
    fn place_of_fragments(&self, base: &FragmentBase) -> Vec<u8> {
        match base {
            FragmentBase::Memory => Vec::new(),
            FragmentBase::Disk(path) => path.as_os_str().as_encoded_bytes().to_vec(),
            FragmentBase::Server(url) => url.as_bytes().to_vec(),
            // The members are those of the bundle that is open.
            FragmentBase::Bundle(_, member) => {
                let bundle = self.tree.stat_target(Path::new(""));
                let bundle = bundle.map_or([0; 32], |stat| stat.signature().digest());
                [&bundle[..], member.as_bytes()].concat()
            }
        }
    }
}

/// Returns the current state of an aggregation's fragments.
fn state_of(base: &FragmentBase, dataset: &Dataset, uris: Option<&Uris>) -> Result<FragmentsState> {
    let aggregation = as_aggregation(dataset).filter(|_| !matches!(base, FragmentBase::Server(_)));
    match aggregation.zip(uris) {
        Some((aggregation, uris)) => Ok(FragmentsState::Known(aggregation.fragments().state(uris)?)),
        None => Ok(FragmentsState::Unknown),
    }
}

/// Returns the name of the fragment, as the aggregation has it, whose error this is.
pub fn fragment_of(error: &nc3z_reader::Error) -> Option<&str> {
    let ErrorKind::Other(e) = error.kind() else { return None };
    let mut error = e.downcast_ref::<Error>()?;
    loop {
        match error {
            Error::Fragment { file, .. } | Error::Absent { file, .. } | Error::Inside { file, .. } => {
                return Some(file);
            }
            Error::Advised { error: inner, .. } => error = inner,
            _ => return None,
        }
    }
}
