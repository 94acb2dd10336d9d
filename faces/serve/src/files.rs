//! Open files of a view: their bytes, their data sets, and the tags that identify their content.

use crate::failure::{Answer, Failure};
use crate::options::Options;
use crate::ranges::{Conditions, Validators, Verdict, http_date};
use crate::reply::{Content, Reply};
use crate::request::Request;
use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{
    ETAG, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, LAST_MODIFIED,
};
use nc3z_format::bytes::hex;
use nc3z_mount::view::{FragmentsState, Handle, Presented, State, fragment_of};
use nc3z_mount::{Attr, View};
use nc3z_reader::{Archive, Dataset, DigestRequest};
use std::collections::HashMap;
use std::ffi::OsString;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// The maximal length of an original whose digest is computed if it is not recorded. Longer ones are
/// identified by their state.
const COMPUTED_LEN: u64 = 1 << 30;
/// The number of computed digests that are kept.
const DIGESTS: usize = 10_000;

/// The served files, and cached facts about them.
pub(crate) struct Files {
    pub(crate) view: Arc<View>,
    pub(crate) options: Options,
    /// Computed digests, by the states of their files.
    digests: Mutex<HashMap<[u8; 32], [u8; 32]>>,
}

impl Files {
    pub(crate) fn new(view: Arc<View>, options: Options) -> Self {
        Files { view, options, digests: Mutex::default() }
    }

    /// Returns the SHA-256 of an original, which is recorded or computed once. If it is not available,
    /// returns the digest of the state, which is different for every content.
    fn digest(&self, archive: &Archive, state: &State) -> [u8; 32] {
        if let Some(digest) = archive.digest().sha256() {
            return digest;
        }
        if state.len > COMPUTED_LEN {
            return state.id;
        }
        // The lock is held during the computation, so that no two threads compute the same digest.
        let mut digests = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(digest) = digests.get(&state.id) {
            return *digest;
        }
        let found = archive.digests(DigestRequest { content: false, sha256: true, tree: false }, &());
        let digest = found.ok().and_then(|found| found.sha256).unwrap_or(state.id);
        if digests.len() >= DIGESTS {
            digests.clear();
        }
        digests.insert(state.id, digest);
        digest
    }
}

pub(crate) struct OpenFile {
    files: Arc<Files>,
    handle: Handle,
    attr: Attr,
    state: State,
    pub(crate) name: String,
}

impl OpenFile {
    pub(crate) fn new(files: &Arc<Files>, attr: Attr, handle: Handle, name: &OsString) -> Answer<Self> {
        let state = handle.state()?;
        let name = Path::new(name).display().to_string();
        Ok(OpenFile { files: Arc::clone(files), handle, attr, state, name })
    }

    /// Reads bytes of the file. The content must be the same as when it was opened.
    pub(crate) fn read(&self, range: Range<u64>) -> Answer<Bytes> {
        let len = usize::try_from(range.end - range.start).expect("a piece fits in memory");
        let mut out = vec![0; len];
        let read = self.handle.read(&self.files.view, range.start, &mut out)?;
        // A plain file may change meanwhile.
        if read < len || self.handle.state()? != self.state {
            let message = format!("{} changed while it was sent", self.name);
            return Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, message));
        }
        Ok(out.into())
    }

    pub(crate) fn len(&self) -> u64 {
        self.state.len
    }

    /// The maximal length of a reply that is made from it.
    pub(crate) fn reply_len(&self) -> u64 {
        self.files.options.reply_len
    }

    /// The file as a data set, for a reply that is made from it.
    pub(crate) fn derived(&self) -> Answer<Derived> {
        let found = self.files.view.dataset(&self.handle, Path::new(&self.name), &self.files.options.open);
        let Presented { dataset, fragments } = found.map_err(|e| match self.handle.archive() {
            None if fragment_of(&e).is_none() => {
                Failure::bad(format!("{} is not a classic netCDF file: {e}", self.name))
            }
            _ => e.into(),
        })?;
        let (own, version) = (self.tag(), nc3z_format::VERSION);
        let own = own.trim_end_matches('"');
        let (etag, modified) = match fragments {
            FragmentsState::None => (Some(format!("{own}-{version}\"")), Some(self.attr.modified)),
            // The time of the newest fragment says nothing about one that was replaced by an older file.
            FragmentsState::Known(state) => (Some(format!("{own}-{}-{version}\"", hex(&state[..16]))), None),
            FragmentsState::Unknown => (None, None),
        };
        Ok(Derived { dataset, etag, modified })
    }

    /// Returns a tag that changes if any byte changes.
    pub(crate) fn tag(&self) -> String {
        let tag = match self.archive() {
            Some(archive) => hex(&self.files.digest(archive, &self.state)),
            None => hex(&self.state.id[..16]),
        };
        format!("\"{tag}\"")
    }

    /// Evaluates the conditions of a request for its bytes. Returns a reply if the conditions already decide it.
    pub(crate) fn judged(&self, conditions: &Conditions, etag: &str) -> Option<Reply> {
        judged(conditions, &self.validators(etag))
    }

    /// Adds the validators of its bytes to a reply.
    pub(crate) fn validated(&self, reply: Reply, etag: &str) -> Reply {
        validated(reply, &self.validators(etag))
    }

    /// The archive of an original.
    pub(crate) fn archive(&self) -> Option<&Archive> {
        self.handle.archive()
    }

    /// The values that conditions of a request are compared with.
    pub(crate) fn validators<'a>(&self, etag: &'a str) -> Validators<'a> {
        Validators { etag: Some(etag), modified: Some(self.attr.modified) }
    }
}

/// A data set of which replies are made, and the validators of these.
pub(crate) struct Derived {
    pub(crate) dataset: Dataset,
    /// The tag of what this version of the server makes of the file and its fragments. None if their state is not known.
    pub(crate) etag: Option<String>,
    modified: Option<SystemTime>,
}

impl Derived {
    /// Evaluates the conditions of a request. Returns a reply if the conditions already decide it.
    pub(crate) fn judged(&self, request: &Request) -> Option<Reply> {
        judged(&conditions(request), &self.validators())
    }

    /// Adds the validators to a reply, for later conditional requests.
    pub(crate) fn validated(&self, reply: Reply) -> Reply {
        validated(reply, &self.validators())
    }

    fn validators(&self) -> Validators<'_> {
        Validators { etag: self.etag.as_deref(), modified: self.modified }
    }
}

/// Returns a reply if the conditions already decide it.
fn judged(conditions: &Conditions, validators: &Validators<'_>) -> Option<Reply> {
    let status = match conditions.verdict(validators) {
        Verdict::Answer => return None,
        Verdict::NotModified => StatusCode::NOT_MODIFIED,
        Verdict::Failed => StatusCode::PRECONDITION_FAILED,
    };
    Some(validated(Reply::new(status, Content::None), validators))
}

/// Adds the validators to a reply.
fn validated(reply: Reply, validators: &Validators<'_>) -> Reply {
    let reply = match validators.etag {
        Some(etag) => reply.with_text(ETAG, etag),
        None => reply,
    };
    match validators.modified.and_then(http_date) {
        Some(date) => reply.with_text(LAST_MODIFIED, &date),
        None => reply,
    }
}

pub(crate) fn conditions(request: &Request) -> Conditions {
    Conditions {
        matching: request.header(IF_MATCH),
        none_matching: request.header(IF_NONE_MATCH),
        modified_since: request.header(IF_MODIFIED_SINCE),
        unmodified_since: request.header(IF_UNMODIFIED_SINCE),
        range: request.header(IF_RANGE),
    }
}
