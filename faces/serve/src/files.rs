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
use nc3z_mount::view::{Handle, State};
use nc3z_mount::{Attr, View};
use nc3z_reader::{Archive, Dataset, DigestRequest};
use std::collections::HashMap;
use std::ffi::OsString;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

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

    /// The file as a data set.
    pub(crate) fn dataset(&self) -> Answer<Dataset> {
        let found = self.handle.dataset(Path::new(&self.name), &self.files.options.open);
        found.map_err(|e| match self.handle.archive() {
            Some(_) => e.into(),
            None => Failure::bad(format!("{} is not a classic netCDF file: {e}", self.name)),
        })
    }

    /// Returns a tag that changes if any byte changes.
    pub(crate) fn tag(&self) -> String {
        let tag = match self.archive() {
            Some(archive) => hex(&self.files.digest(archive, &self.state)),
            None => hex(&self.state.id[..16]),
        };
        format!("\"{tag}\"")
    }

    /// Returns the tag of a reply that this version of the server makes from the file.
    pub(crate) fn derived_tag(&self) -> String {
        let tag = self.tag();
        format!("{}-{}\"", tag.trim_end_matches('"'), nc3z_format::VERSION)
    }

    fn modified(&self) -> Option<String> {
        http_date(self.attr.modified)
    }

    /// Evaluates the conditions of a request. Returns a reply if the conditions already decide it.
    pub(crate) fn judged(&self, conditions: &Conditions, etag: &str) -> Option<Reply> {
        let status = match conditions.verdict(&self.validators(etag)) {
            Verdict::Answer => return None,
            Verdict::NotModified => StatusCode::NOT_MODIFIED,
            Verdict::Failed => StatusCode::PRECONDITION_FAILED,
        };
        Some(self.validated(Reply::new(status, Content::None), etag))
    }

    /// Adds the validators to a reply, for later conditional requests.
    pub(crate) fn validated(&self, reply: Reply, etag: &str) -> Reply {
        let reply = reply.with_text(ETAG, etag);
        match self.modified() {
            Some(date) => reply.with_text(LAST_MODIFIED, &date),
            None => reply,
        }
    }

    /// The archive of an original.
    pub(crate) fn archive(&self) -> Option<&Archive> {
        self.handle.archive()
    }

    /// The values that conditions of a request are compared with.
    pub(crate) fn validators<'a>(&self, etag: &'a str) -> Validators<'a> {
        Validators { etag, modified: Some(self.attr.modified) }
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
