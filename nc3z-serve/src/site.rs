//! The served files of a view, and the replies made from them.

use crate::dap::{self, Asked};
use crate::failure::{Answer, Failure};
use crate::listing;
use crate::meta;
use crate::metrics::Metrics;
use crate::options::{Describe, Options};
use crate::page;
use crate::pieces::{FileBytes, Part, Pieces};
use crate::ranges::{Conditions, Validators, Verdict, Wanted, http_date, wanted};
use crate::reply::{Content, Reply};
use crate::request::Request;
use crate::target::{Face, OWN, face_of, names};
use crate::zarr;
use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{
    CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderValue, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE,
    IF_UNMODIFIED_SINCE, LAST_MODIFIED, LOCATION, RANGE,
};
use nc3z_format::bytes::hex;
use nc3z_look::part::{Csv, Doubles, Projection, Subset};
use nc3z_mount::view::{Found, Handle, State};
use nc3z_mount::{Attr, View};
use nc3z_reader::platform::path_of;
use nc3z_reader::{Archive, Dataset, Digest, Wanted as WantedDigests};
use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The maximal length of an original whose digest is computed if it is not recorded. Longer ones are
/// identified by their state.
const COMPUTED_LEN: u64 = 1 << 30;
/// The number of computed digests that are kept.
const DIGESTS: usize = 10_000;
/// The maximal number of files whose sizes are added up for one request.
const SIZED: usize = 100_000;
/// The separator between the parts of a reply with several ranges.
const BOUNDARY: &str = "nc3z-7f4a1c59b2e8d603";

/// The served files, and cached facts about them.
pub(crate) struct Site {
    pub(crate) view: Arc<View>,
    pub(crate) options: Options,
    pub(crate) metrics: Metrics,
    /// Computed digests, by the states of their files.
    digests: Mutex<HashMap<[u8; 32], [u8; 32]>>,
}

/// An open file of the site.
pub(crate) struct OpenFile {
    site: Arc<Site>,
    handle: Handle,
    attr: Attr,
    state: State,
    /// Its name, for messages.
    pub(crate) name: String,
}

impl OpenFile {
    fn new(site: &Arc<Site>, attr: Attr, handle: Handle, name: &OsString) -> Answer<Self> {
        let state = handle.state()?;
        let name = Path::new(name).display().to_string();
        Ok(OpenFile { site: Arc::clone(site), handle, attr, state, name })
    }

    /// Reads bytes of the file. The content must be the same as when it was opened.
    pub(crate) fn read(&self, range: Range<u64>) -> Answer<Bytes> {
        let len = usize::try_from(range.end - range.start).expect("a piece fits in memory");
        let mut out = vec![0; len];
        let read = self.handle.read(&self.site.view, range.start, &mut out)?;
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
        self.site.options.reply_len
    }

    pub(crate) fn describe(&self) -> &Describe {
        &*self.site.options.describe
    }

    /// The file as a data set.
    pub(crate) fn dataset(&self) -> Answer<Dataset> {
        let found = self.handle.dataset(Path::new(&self.name), &self.site.options.open);
        found.map_err(|e| match self.handle.archive() {
            Some(_) => e.into(),
            None => Failure::bad(format!("{} is no classic netCDF file: {e}", self.name)),
        })
    }

    /// Returns a tag that changes if any byte changes.
    pub(crate) fn tag(&self) -> String {
        let tag = match self.handle.archive() {
            Some(archive) => hex(&self.site.digest(archive, &self.state)),
            None => hex(&self.state.id[..16]),
        };
        format!("\"{tag}\"")
    }

    /// Returns the tag of a reply that this version of the server makes from the file.
    pub(crate) fn derived_tag(&self) -> String {
        let tag = self.tag();
        format!("{}-{}\"", tag.trim_end_matches('"'), env!("CARGO_PKG_VERSION"))
    }

    fn modified(&self) -> Option<String> {
        http_date(self.attr.modified)
    }

    /// Evaluates the conditions of a request. Returns a reply if the conditions already decide it.
    pub(crate) fn judged(&self, conditions: &Conditions, etag: &str) -> Option<Reply> {
        let of = Validators { etag, modified: Some(self.attr.modified) };
        let status = match conditions.verdict(&of) {
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

    fn answer(self, request: &Request) -> Answer<Reply> {
        let conditions = conditions(request);
        let etag = self.tag();
        if let Some(reply) = self.judged(&conditions, &etag) {
            return Ok(reply.with_ranges(true));
        }
        let of = Validators { etag: &etag, modified: Some(self.attr.modified) };
        let header = request.header(RANGE).filter(|_| conditions.range_holds(&of));
        let (len, kind) = (self.len(), kind_of(&self.name));
        let file = Arc::new(self);
        let mut range_words = None;
        let (status, kind, parts) = match wanted(header.as_deref(), len) {
            Wanted::Refused => {
                let message = format!("no byte range of a file of {len} bytes\n");
                let reply = Reply::text(StatusCode::RANGE_NOT_SATISFIABLE, message);
                let reply = reply.with_text(CONTENT_RANGE, &format!("bytes */{len}"));
                return Ok(file.validated(reply, &etag).with_ranges(true));
            }
            Wanted::All => (StatusCode::OK, kind.to_owned(), VecDeque::from([Part::Range(0..len)])),
            Wanted::Ranges(ranges) if ranges.len() == 1 => {
                let range = ranges[0].clone();
                range_words = Some(words(&range, len));
                (StatusCode::PARTIAL_CONTENT, kind.to_owned(), VecDeque::from([Part::Range(range)]))
            }
            Wanted::Ranges(ranges) => {
                let kind_of_all = format!("multipart/byteranges; boundary={BOUNDARY}");
                (StatusCode::PARTIAL_CONTENT, kind_of_all, multipart(ranges, len, kind))
            }
        };
        let sum = |part: &Part| match part {
            Part::Text(text) => text.len() as u64,
            Part::Range(range) => range.end - range.start,
        };
        let body_len = parts.iter().map(sum).sum();
        let pieces = Box::new(FileBytes { file: Arc::clone(&file), parts });
        let mut reply = Reply::pieces(status, pieces, Some(body_len), request.is_head())?;
        reply = file.validated(reply, &etag).with_ranges(true).with_text(CONTENT_TYPE, &kind);
        if let Some(words) = range_words {
            reply = reply.with_text(CONTENT_RANGE, &words);
        }
        Ok(reply)
    }
}

/// Formats a range: `bytes 0-3/10`.
fn words(range: &Range<u64>, len: u64) -> String {
    format!("bytes {}-{}/{len}", range.start, range.end - 1)
}

/// Makes the parts of a reply with several ranges.
fn multipart(ranges: Vec<Range<u64>>, len: u64, kind: &str) -> VecDeque<Part> {
    let mut parts = VecDeque::new();
    let mut before = "";
    for range in ranges {
        let head = format!(
            "{before}--{BOUNDARY}\r\nContent-Type: {kind}\r\nContent-Range: {}\r\n\r\n",
            words(&range, len)
        );
        parts.push_back(Part::Text(head.into()));
        parts.push_back(Part::Range(range));
        before = "\r\n";
    }
    parts.push_back(Part::Text(format!("\r\n--{BOUNDARY}--\r\n").into()));
    parts
}

/// Returns the conditions of a request.
pub(crate) fn conditions(request: &Request) -> Conditions {
    Conditions {
        matching: request.header(IF_MATCH),
        none_matching: request.header(IF_NONE_MATCH),
        modified_since: request.header(IF_MODIFIED_SINCE),
        unmodified_since: request.header(IF_UNMODIFIED_SINCE),
        range: request.header(IF_RANGE),
    }
}

/// Returns the media type of a file, by the end of its name.
fn kind_of(name: &str) -> &'static str {
    let end = name.rsplit_once('.').map_or("", |(_, end)| end).to_ascii_lowercase();
    match &*end {
        "nc" | "cdf" | "nc3" => "application/x-netcdf",
        "txt" | "md" | "cdl" | "csv" | "log" => "text/plain; charset=utf-8",
        "json" => "application/json",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        _ => "application/octet-stream",
    }
}

impl Site {
    pub(crate) fn new(view: Arc<View>, options: Options) -> Self {
        Site { view, options, metrics: Metrics::new(), digests: Mutex::default() }
    }

    /// Answers a request. It reads, and may block.
    pub(crate) fn answer(self: &Arc<Self>, request: &Request) -> Answer<Reply> {
        let (names, is_directory) = names(request.path())?;
        if names.first().is_some_and(|first| first == OWN) {
            return page::file(&names[1..]);
        }
        if !is_directory && names.len() == 1 && names[0] == "metrics" {
            let text = self.metrics.text();
            let kind = "text/plain; version=0.0.4; charset=utf-8";
            return Ok(Reply::whole(StatusCode::OK, kind, text.into()).of("metrics"));
        }
        let found = match self.view.find(&names) {
            Err(e) if is_absent(&e) => {
                return match zarr_of(&names) {
                    Some((directory, name, key)) => {
                        let file = self.data_set(directory, &name, true)?;
                        Ok(zarr::answer(&file, key, request)?.of("zarr"))
                    }
                    None if is_directory => Err(Failure::absent()),
                    None => self.face(&names, request),
                };
            }
            found => found?,
        };
        match found {
            Found::Directory(_) if !is_directory => {
                // A relative address, so that it holds behind a proxy, too.
                let last = request.path().rsplit('/').next().unwrap_or("");
                let reply = Reply::text(StatusCode::MOVED_PERMANENTLY, "a directory ends with /\n");
                Ok(reply.with(LOCATION, header_of(&format!("{last}/"))?).of("listing"))
            }
            Found::Directory(_) if request.query() == "sizes" => {
                Ok(listing::sizes(&self.view.sizes(&names, SIZED)?).of("listing"))
            }
            Found::Directory(entries) => Ok(listing::reply(&names, &entries, request)),
            Found::File(..) if is_directory => Err(Failure::absent()),
            Found::File(attr, handle) => {
                let name = names.last().expect("the root is a directory");
                let file = OpenFile::new(self, attr, handle, name)?;
                let face = if file.handle.archive().is_some() { "original" } else { "file" };
                Ok(file.answer(request)?.of(face))
            }
        }
    }

    /// Answers with a form of a data set, which the end of the name selects.
    fn face(self: &Arc<Self>, names: &[OsString], request: &Request) -> Answer<Reply> {
        let (last, directory) = names.split_last().ok_or_else(Failure::absent)?;
        let (name, face) = face_of(last).ok_or_else(Failure::absent)?;
        let answered = self.data_set(directory, &name, face == Face::Json).and_then(|file| match face {
            Face::Json => meta::answer(&file, request),
            Face::Csv | Face::Netcdf | Face::Values => part(&file, face, request),
            _ => dap::answer(&file, face, request),
        });
        let answered = answered.map(|reply| reply.of(face.name()));
        match answered {
            // A client of DAP2 expects errors in the form of DAP2.
            Err(failure) if face.is_dap() => Ok(dap::failure(&failure).of(face.name()).because(failure)),
            answered => answered,
        }
    }

    /// Returns the file of a name. `by_stem` also finds it without the usual suffixes.
    fn data_set(
        self: &Arc<Self>,
        directory: &[OsString],
        name: &OsString,
        by_stem: bool,
    ) -> Answer<OpenFile> {
        let ends: &[&str] = if by_stem { &["", ".nc", ".cdf", ".nc3"] } else { &[""] };
        for end in ends {
            let mut name = name.clone();
            name.push(end);
            let names = [directory, &[name.clone()]].concat();
            match self.view.find(&names) {
                Ok(Found::File(attr, handle)) => return OpenFile::new(self, attr, handle, &name),
                Ok(Found::Directory(_)) => {}
                Err(e) if is_absent(&e) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Err(Failure::absent())
    }

    /// Returns the SHA-256 of an original, which is recorded or computed once. If it is not available,
    /// returns the digest of the state, which is different for every content.
    fn digest(&self, archive: &Archive, state: &State) -> [u8; 32] {
        if let Digest::Sha256(digest) = archive.digest() {
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
        let found = archive.digests(WantedDigests { content: false, sha256: true, tree: false }, &());
        let digest = found.ok().and_then(|found| found.sha256).unwrap_or(state.id);
        if digests.len() >= DIGESTS {
            digests.clear();
        }
        digests.insert(state.id, digest);
        digest
    }
}

/// Returns a part of a data set as a file, as CSV or as numbers.
fn part(file: &OpenFile, face: Face, request: &Request) -> Answer<Reply> {
    let etag = file.derived_tag();
    if let Some(reply) = file.judged(&conditions(request), &etag) {
        return Ok(reply);
    }
    let asked = Asked::of(file, file.dataset()?, request)?;
    let limit = file.reply_len();
    let (pieces, len, kind): (Box<dyn Pieces>, _, _) = match face {
        Face::Csv => {
            (Box::new(Csv::new(&asked.dataset, only(&asked)?, limit)?), None, "text/csv; charset=utf-8")
        }
        Face::Values => {
            let doubles = Doubles::new(&asked.dataset, only(&asked)?, limit)?;
            let len = doubles.byte_len();
            (Box::new(doubles), Some(len), "application/octet-stream")
        }
        _ => {
            let subset = Subset::new(&asked.dataset, &asked.projections, limit)?;
            let len = subset.byte_len();
            (Box::new(subset), Some(len), "application/x-netcdf")
        }
    };
    let reply = Reply::pieces(StatusCode::OK, pieces, len, request.is_head())?.with_text(CONTENT_TYPE, kind);
    Ok(file.validated(reply, &etag).with_ranges(false))
}

/// Returns the only requested part.
fn only(asked: &Asked) -> Answer<&Projection> {
    match &asked.projections[..] {
        [one] => Ok(one),
        _ => Err(Failure::bad("name one variable: ?NAME or ?NAME[first:stride:last]…")),
    }
}

/// Splits a path that contains a name with Zarr's suffix into the data set and the key in it.
fn zarr_of(names: &[OsString]) -> Option<(&[OsString], OsString, &[OsString])> {
    names.iter().enumerate().find_map(|(n, name)| {
        let stem = name.as_encoded_bytes().strip_suffix(b".zarr").filter(|stem| !stem.is_empty())?;
        Some((&names[..n], path_of(stem).into_os_string(), &names[n + 1..]))
    })
}

fn is_absent(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn header_of(text: &str) -> Answer<HeaderValue> {
    HeaderValue::from_str(text).map_err(|_| Failure::absent())
}
