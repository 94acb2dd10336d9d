//! One object as a byte source.

use crate::PerProcess;
use crate::options::RemoteOptions;
use crate::pace::Pace;
use crate::{credentials, ranges, secrets, shared, store};
use bytes::{Bytes, BytesMut};
use futures_util::stream::FuturesUnordered;
use futures_util::{Stream, TryStreamExt};
use nc3z_format::error::with_causes;
use nc3z_reader::source::{ByteSource, Reach};
use nc3z_reader::{Error, Result};
use object_store::path::Path;
use object_store::{Error as StoreError, GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Instant;
use tokio::runtime::Runtime;
use url::Url;

/// The number of threads that wait for servers.
const IO_THREADS: usize = 2;

static RUNTIME: PerProcess<Runtime> = PerProcess::empty();

fn runtime() -> io::Result<Arc<Runtime>> {
    RUNTIME.get(|_| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(IO_THREADS)
            .thread_name("nc3z-remote")
            .enable_all()
            .build()
    })
}

/// An object in a store. Every request is for the object that was opened, identified by its entity tag. If
/// the store has no tags, the object is identified by length and time. The first bytes, which came with the
/// length, are kept.
pub struct ObjectSource {
    target: Arc<Target>,
    /// The connections of this process.
    store: PerProcess<Arc<dyn ObjectStore>>,
    head: Bytes,
    reach: Reach,
    pace: Arc<Pace>,
}

struct Target {
    url: Url,
    path: Path,
    options: RemoteOptions,
    len: u64,
    version: Version,
    requests: AtomicU64,
}

/// The properties that change when an object is replaced.
#[derive(Clone, PartialEq, Eq)]
struct Version {
    etag: Option<String>,
    modified: i64,
    len: u64,
}

impl Version {
    fn new(meta: &ObjectMeta) -> Self {
        Version { etag: meta.e_tag.clone(), modified: meta.last_modified.timestamp_millis(), len: meta.size }
    }

    /// Returns whether the other version is the same object: by tag if both have one. If the tag is weak,
    /// also by time, since a weak tag means equivalent contents, not identical bytes.
    fn is(&self, other: &Version) -> bool {
        self.len == other.len
            && match (&self.etag, &other.etag) {
                (Some(a), Some(b)) => a == b && (!is_weak(a) || self.modified == other.modified),
                (None, None) => self.modified == other.modified,
                _ => false,
            }
    }

    /// Returns the tag for `If-Match`. None for a weak tag, which must not be used there.
    fn condition(&self) -> Option<String> {
        self.etag.clone().filter(|tag| !is_weak(tag))
    }

    fn words(&self) -> String {
        self.etag.clone().unwrap_or_else(|| format!("{} bytes of time {}", self.len, self.modified))
    }
}

fn is_weak(tag: &str) -> bool {
    tag.starts_with("W/")
}

impl ObjectSource {
    /// Opens an object by one request for its first bytes, which also returns its length and its tag.
    ///
    /// # Errors
    /// The object does not exist, the server does not answer, the server does not support byte ranges, an option is
    /// not valid, or the store needs credentials and there are none.
    pub fn open(url: &str, options: &RemoteOptions) -> Result<Self> {
        let parsed = parsed(url)?;
        let failed = |e: io::Error| failure("open", &e, &parsed, options);
        let path = store::path(&parsed).map_err(failed)?;
        credentials::of_store(&parsed, options).map_err(failed)?;
        let store = shared::store(&parsed, options).map_err(failed)?.objects;
        // The first request also contains the header of most classic files.
        let reach = Reach::REMOTE.with_ends(64 << 10, Reach::REMOTE.tail_len);
        let (meta, head) = {
            let (store, path) = (Arc::clone(&store), path.clone());
            wait(async move { first(&*store, &path, reach.head_len).await }).map_err(failed)?
        };
        let version = Version::new(&meta);
        let target = Target {
            url: parsed.clone(),
            path,
            options: options.clone(),
            len: meta.size,
            version,
            requests: AtomicU64::new(1),
        };
        let pace = Arc::new(Pace::new(reach.requests));
        Ok(ObjectSource { target: Arc::new(target), store: PerProcess::new(store), head, reach, pace })
    }

    /// Sets the assumed cost of requests.
    #[must_use]
    pub fn with_reach(mut self, reach: Reach) -> Self {
        self.reach = reach;
        self.pace = Arc::new(Pace::new(reach.requests));
        self
    }

    /// The number of requests so far. A repeated request counts once.
    pub fn requests(&self) -> u64 {
        self.target.requests.load(Ordering::Relaxed)
    }

    fn store(&self) -> io::Result<Arc<Arc<dyn ObjectStore>>> {
        self.store.get(|_| Ok(shared::store(&self.target.url, &self.target.options)?.objects))
    }

    fn fetch(&self, ranges: Vec<Range<u64>>) -> Result<Vec<Bytes>> {
        let target = Arc::clone(&self.target);
        let failed = |e: io::Error| failure("read", &e, &self.target.url, &self.target.options);
        let store = self.store().map_err(failed)?;
        let fetching = paced(Arc::clone(&target), Arc::clone(&store), Arc::clone(&self.pace), ranges);
        wait(async move { Ok::<Result<Vec<Bytes>, Refused>, io::Error>(fetching.await) })
            .map_err(failed)?
            .map_err(|e| match e {
                Refused::Replaced(found) => Error::replaced(target.version.words(), found),
                Refused::Io(e) => failed(e),
            })
    }
}

/// Fetches ranges and returns their bytes in the same order. The pace limits the number of concurrent
/// requests.
async fn paced(
    target: Arc<Target>,
    store: Arc<Arc<dyn ObjectStore>>,
    pace: Arc<Pace>,
    ranges: Vec<Range<u64>>,
) -> Result<Vec<Bytes>, Refused> {
    let (target, store, pace) = (&target, &store, &pace);
    let mut found = vec![Bytes::new(); ranges.len()];
    let mut waiting = ranges.into_iter().enumerate().peekable();
    let mut under_way = FuturesUnordered::new();
    loop {
        while waiting.peek().is_some() {
            let Some(turn) = pace.enter().or_else(|| under_way.is_empty().then(|| pace.push_in())) else {
                break;
            };
            let Some((number, range)) = waiting.next() else { break };
            let is_last = waiting.peek().is_none();
            under_way.push(async move {
                let asked = Instant::now();
                let answer = target.ask(&***store, &range).await?;
                // The time is measured only while other requests are waiting.
                if !is_last {
                    pace.answered(asked.elapsed());
                }
                let bytes = target.receive(answer, &range).await?;
                drop(turn);
                Ok((number, bytes))
            });
        }
        match under_way.try_next().await? {
            Some((number, bytes)) => found[number] = bytes,
            None => return Ok(found),
        }
    }
}

/// The reason why a range was not read.
enum Refused {
    Io(io::Error),
    Replaced(String),
}

impl Target {
    /// Requests one range of the opened object, and returns the answer.
    async fn ask(&self, store: &dyn ObjectStore, range: &Range<u64>) -> Result<GetResult, Refused> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            if_match: self.version.condition(),
            ..GetOptions::default()
        };
        let answer = store.get_opts(&self.path, options).await.map_err(|e| self.refused(&e, range))?;
        let found = Version::new(&answer.meta);
        if self.version.is(&found) { Ok(answer) } else { Err(self.replaced(&found.words(), range)) }
    }

    /// Returns exactly the bytes of the range.
    async fn receive(&self, answer: GetResult, range: &Range<u64>) -> Result<Bytes, Refused> {
        let len = range.end - range.start;
        let bytes = body(answer.into_stream(), len).await.map_err(|e| self.refused(&e, range))?;
        counted(bytes, len, range).map_err(Refused::Io)
    }

    fn refused(&self, e: &StoreError, range: &Range<u64>) -> Refused {
        match e {
            StoreError::Precondition { .. } => self.replaced("another object", range),
            e => Refused::Io(in_range(e, range)),
        }
    }

    fn replaced(&self, found: &str, range: &Range<u64>) -> Refused {
        let url = secrets::shown(&self.url);
        Refused::Replaced(format!("{found} (`{url}`, bytes {})", words(range)))
    }
}

/// Returns the first bytes, and the store's metadata of the object.
async fn first(store: &dyn ObjectStore, path: &Path, len: u64) -> io::Result<(ObjectMeta, Bytes)> {
    let range = 0..len;
    let options = GetOptions { range: Some(GetRange::Bounded(range.clone())), ..GetOptions::default() };
    let answer = match store.get_opts(path, options).await {
        Ok(answer) => answer,
        Err(e) => {
            // An empty object has no range.
            let is_outside = status_in(&with_causes(&e)).is_some_and(|status| status.starts_with("416"));
            let head = GetOptions { head: true, ..GetOptions::default() };
            let found = if is_outside { store.get_opts(path, head).await.ok() } else { None };
            return match found {
                Some(answer) if answer.meta.size == 0 => Ok((answer.meta, Bytes::new())),
                _ => Err(in_range(&e, &range)),
            };
        }
    };
    let (meta, given) = (answer.meta.clone(), answer.range.clone());
    let len = meta.size.min(len);
    let bytes = body(answer.into_stream(), len).await.map_err(|e| in_range(&e, &range))?;
    if given.start != 0 {
        let words = format!("bytes {}: the server sent bytes {}", words(&range), words(&given));
        return Err(io::Error::new(io::ErrorKind::InvalidData, words));
    }
    Ok((meta, counted(bytes, len, &range)?))
}

/// Returns the bytes of an answer. Stops after more than `len` bytes: a server may send without end.
async fn body(
    stream: impl Stream<Item = object_store::Result<Bytes>>,
    len: u64,
) -> object_store::Result<Bytes> {
    let mut stream = std::pin::pin!(stream);
    let Some(first) = stream.try_next().await? else { return Ok(Bytes::new()) };
    if first.len() as u64 > len {
        return Ok(first);
    }
    let Some(second) = stream.try_next().await? else { return Ok(first) };
    let mut joined = BytesMut::from(first);
    joined.extend_from_slice(&second);
    while joined.len() as u64 <= len
        && let Some(more) = stream.try_next().await?
    {
        joined.extend_from_slice(&more);
    }
    Ok(joined.freeze())
}

fn counted(bytes: Bytes, len: u64, range: &Range<u64>) -> io::Result<Bytes> {
    let given = bytes.len() as u64;
    if given == len {
        return Ok(bytes);
    }
    let words = words(range);
    Err(if given < len {
        // Not `UnexpectedEof`, which means that the object itself has lost its end.
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("bytes {words}: the server sent {given} of {len} bytes"),
        )
    } else {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("bytes {words}: the server sent more than {len} bytes"),
        )
    })
}

fn words(range: &Range<u64>) -> String {
    format!("{}-{}", range.start, range.end.saturating_sub(1))
}

/// Adds the range to a store's error.
fn in_range(e: &StoreError, range: &Range<u64>) -> io::Error {
    told(e, &format!("bytes {}: ", words(range)))
}

/// Describes a store's error without the page that came with it, which may repeat a token. `place` is what was requested.
pub(crate) fn told(e: &StoreError, place: &str) -> io::Error {
    let all = with_causes(e);
    let message = without_page(&all).to_owned();
    let status = status_in(&message).map(|status| match code_in(&all) {
        Some(code) => format!("{status}, {code}"),
        None => status,
    });
    let kind = match e {
        StoreError::NotFound { .. } => io::ErrorKind::NotFound,
        StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => {
            io::ErrorKind::PermissionDenied
        }
        StoreError::NotSupported { .. } => io::ErrorKind::Unsupported,
        // Lists have no kinds of their own.
        _ if status.as_deref().is_some_and(|s| s.starts_with("401") || s.starts_with("403")) => {
            io::ErrorKind::PermissionDenied
        }
        _ => io::ErrorKind::Other,
    };
    if kind == io::ErrorKind::PermissionDenied {
        let code = status.map_or_else(String::new, |status| format!(" ({status})"));
        let refused = format!(
            "{place}the server refuses access{code}. Credentials are given in the URL before the host (USER:PASSWORD@HOST), by the settings \
             `bearer_token=WORD` and `header.NAME=VALUE`, by NC3Z_HTTP_HEADERS, or by the environment variables of the store"
        );
        return io::Error::new(kind, refused);
    }
    if let Some(status) = status.filter(|_| kind == io::ErrorKind::Other) {
        return io::Error::new(kind, format!("{place}the server answers {status}"));
    }
    let about = match &*message {
        _ if kind == io::ErrorKind::NotFound => return io::Error::new(kind, "object not found (404)"),
        m if m.contains("non-partial response") || kind == io::ErrorKind::Unsupported => {
            Some("the server does not serve byte ranges")
        }
        m if m.contains("Content-Length Header missing") => {
            Some("the server does not say how many bytes it sends (`Content-Length`)")
        }
        m if m.contains("CONTENT_RANGE") || m.contains("Content-Range") => {
            Some("the server does not say how long the object is (`Content-Range: bytes FIRST-LAST/LENGTH`)")
        }
        _ => None,
    };
    let message = about.map_or(message.clone(), |about| format!("{about} ({message})"));
    io::Error::new(kind, format!("{place}{message}"))
}

/// Returns the name that a store gives its error in the page that it sent, such as `ExpiredToken`.
fn code_in(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let is_name = !code.is_empty() && code.len() <= 64 && code.bytes().all(|b| b.is_ascii_alphabetic());
    is_name.then_some(code)
}

/// Returns the status of an answer in a store's message, such as `503 Service Unavailable`.
fn status_in(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("status code: ")?;
    let status = rest.split(':').next().unwrap_or_default().trim();
    let is_status = status.len() >= 3 && status.as_bytes()[..3].iter().all(u8::is_ascii_digit);
    is_status.then(|| status.to_owned())
}

/// Removes the HTML page that a server sent with its status from a message.
fn without_page(message: &str) -> &str {
    let lower = message.to_ascii_lowercase();
    let page = ["<!doctype", "<html", "<?xml"].into_iter().filter_map(|begin| lower.find(begin)).min();
    message[..page.unwrap_or(message.len())].trim_end_matches([' ', ':', '\n', '\r'])
}

/// Makes an error for this URL, without its secrets.
pub(crate) fn failure(what: &'static str, e: &io::Error, url: &Url, options: &RemoteOptions) -> Error {
    let e = io::Error::new(e.kind(), secrets::hidden(&with_causes(e), url, &options.secrets()));
    Error::io(what, Some(secrets::shown(url).as_ref()), e)
}

pub(crate) fn parsed(url: &str) -> Result<Url> {
    let parsed = Url::parse(url).map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e));
    parsed.map_err(|e| Error::io("open", Some(nc3z_format::url::cut(url).as_ref()), e))
}

/// Runs a future on this crate's threads. The calling thread may belong to another runtime, in which blocking
/// on a future would panic.
pub(crate) fn wait<T: Send + 'static>(
    work: impl Future<Output = io::Result<T>> + Send + 'static,
) -> io::Result<T> {
    let (send, receive) = sync_channel(1);
    runtime()?.spawn(async move {
        // The receiver exists until this is sent.
        let _ = send.send(work.await);
    });
    receive.recv().unwrap_or_else(|_| Err(io::Error::other("the request ended without an answer")))
}

impl ByteSource for ObjectSource {
    fn len(&self) -> u64 {
        self.target.len
    }

    fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        buf.copy_from_slice(&self.read_at(offset, buf.len())?);
        Ok(())
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        self.read_range(offset..offset.saturating_add(len as u64))
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        for range in ranges {
            let (wanted, available) =
                (range.end.saturating_sub(range.start), self.len().saturating_sub(range.start));
            if wanted > available {
                let missing = wanted - available;
                return Err(
                    nc3z_format::Error::truncated("object", range.start, "read", missing, available).into()
                );
            }
        }
        // Empty ranges and the first bytes of the object take no request.
        let is_held = |range: &Range<u64>| range.is_empty() || range.end <= self.head.len() as u64;
        let wanted: Vec<Range<u64>> = ranges.iter().filter(|range| !is_held(range)).cloned().collect();
        let cut = ranges::Cut::new(&wanted, &self.reach, self.pace.limit());
        let parts = if wanted.is_empty() { Vec::new() } else { self.fetch(cut.parts.clone())? };
        let mut fetched = cut.join(parts).into_iter();
        let at = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).min(self.head.len());
        let one = |range: &Range<u64>| {
            if is_held(range) {
                self.head.slice(at(range.start)..at(range.end).max(at(range.start)))
            } else {
                fetched.next().unwrap_or_default()
            }
        };
        Ok(ranges.iter().map(one).collect())
    }

    fn reach(&self) -> Reach {
        self.reach
    }

    fn identity(&self) -> Option<Arc<str>> {
        Some(self.target.version.words().into())
    }

    /// The first bytes came when the object was opened: only the last bytes are requested.
    fn ends(&self, _: u64, tail: u64) -> Result<(Bytes, Bytes)> {
        let (len, held) = (self.len(), self.head.len() as u64);
        if held >= len {
            return Ok((self.head.clone(), Bytes::new()));
        }
        Ok((self.head.clone(), self.read_range(len - tail.min(len - held)..len)?))
    }
}

impl ObjectSource {
    fn read_range(&self, range: Range<u64>) -> Result<Bytes> {
        Ok(self.read_ranges(std::slice::from_ref(&range))?.pop().unwrap_or_default())
    }
}
