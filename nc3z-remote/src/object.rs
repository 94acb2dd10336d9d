//! One object as a byte source.

use crate::PerProcess;
use crate::options::RemoteOptions;
use crate::pace::Pace;
use crate::{ranges, secrets, store};
use bytes::{Bytes, BytesMut};
use futures_util::stream::FuturesUnordered;
use futures_util::{Stream, TryStreamExt};
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

/// Threads that wait for servers.
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

/// An object in a store. Every request asks for the object that was opened, by its entity tag; where the store knows none, by length
/// and time. The object's beginning, which came with its length, is kept.
pub struct ObjectSource {
    target: Arc<Target>,
    /// Connections of this process.
    store: PerProcess<Arc<dyn ObjectStore>>,
    head: Bytes,
    reach: Reach,
    pace: Arc<Pace>,
}

/// What requests are about.
struct Target {
    url: Url,
    path: Path,
    options: RemoteOptions,
    len: u64,
    version: Version,
    requests: AtomicU64,
}

/// What tells an object from another in its place.
#[derive(Clone, PartialEq, Eq)]
struct Version {
    etag: Option<String>,
    modified: i64,
    len: u64,
}

impl Version {
    fn of(meta: &ObjectMeta) -> Self {
        Version { etag: meta.e_tag.clone(), modified: meta.last_modified.timestamp_millis(), len: meta.size }
    }

    /// Whether the other is of the same object: by tag where both have one, and by time too where that is weak: it stands for
    /// contents that are as good, not for the same bytes.
    fn is(&self, other: &Version) -> bool {
        self.len == other.len
            && match (&self.etag, &other.etag) {
                (Some(a), Some(b)) => a == b && (!is_weak(a) || self.modified == other.modified),
                (None, None) => self.modified == other.modified,
                _ => false,
            }
    }

    /// What a server can compare; weak tags may not be compared so.
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
    /// Opens an object by one request, for its first bytes; with them come its length and its tag.
    ///
    /// # Errors
    /// No such object; no answer; a server that does not serve byte ranges; options that do not fit.
    pub fn open(url: &str, options: &RemoteOptions) -> Result<Self> {
        let parsed = Url::parse(url).map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e));
        let parsed = parsed.map_err(|e| Error::io("open", Some(secrets::cut(url).as_ref()), e))?;
        let failed = |e: io::Error| failure("open", &e, &parsed, options);
        let (store, path) = store::build(&parsed, options).map_err(failed)?;
        // The header of most classic files is in the first request, too.
        let reach = Reach::REMOTE.with_ends(64 << 10, Reach::REMOTE.tail_len);
        let (meta, head) = {
            let (store, path) = (Arc::clone(&store), path.clone());
            wait(async move { first(&*store, &path, reach.head_len).await }).map_err(failed)?
        };
        let version = Version::of(&meta);
        let target = Target {
            url: parsed.clone(),
            path,
            options: options.clone(),
            len: meta.size,
            version,
            requests: AtomicU64::new(1),
        };
        let pace = Arc::new(Pace::new(reach.requests));
        Ok(ObjectSource { target: Arc::new(target), store: PerProcess::of(store), head, reach, pace })
    }

    /// With another idea of what requests cost.
    #[must_use]
    pub fn with_reach(mut self, reach: Reach) -> Self {
        self.reach = reach;
        self.pace = Arc::new(Pace::new(reach.requests));
        self
    }

    /// Requests made so far, repeated ones counted once.
    pub fn requests(&self) -> u64 {
        self.target.requests.load(Ordering::Relaxed)
    }

    fn store(&self) -> io::Result<Arc<Arc<dyn ObjectStore>>> {
        self.store.get(|_| Ok(store::build(&self.target.url, &self.target.options)?.0))
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

/// The bytes of ranges, in their order, by as many requests at once as the pace allows.
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
                // Only while others wait for their turn is the pace what limits.
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

/// Why a range was not read.
enum Refused {
    Io(io::Error),
    Replaced(String),
}

impl Target {
    /// The answer to a request for one range of the object that was opened.
    async fn ask(&self, store: &dyn ObjectStore, range: &Range<u64>) -> Result<GetResult, Refused> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            if_match: self.version.condition(),
            ..GetOptions::default()
        };
        let answer = store.get_opts(&self.path, options).await.map_err(|e| self.refused(&e, range))?;
        let found = Version::of(&answer.meta);
        if self.version.is(&found) { Ok(answer) } else { Err(self.replaced(&found.words(), range)) }
    }

    /// Exactly the range's bytes.
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

/// The first bytes, and what the store says of the object with them.
async fn first(store: &dyn ObjectStore, path: &Path, len: u64) -> io::Result<(ObjectMeta, Bytes)> {
    let range = 0..len;
    let options = GetOptions { range: Some(GetRange::Bounded(range.clone())), ..GetOptions::default() };
    let answer = store.get_opts(path, options).await.map_err(|e| in_range(&e, &range))?;
    let (meta, given) = (answer.meta.clone(), answer.range.clone());
    let len = meta.size.min(len);
    let bytes = body(answer.into_stream(), len).await.map_err(|e| in_range(&e, &range))?;
    if given.start != 0 {
        let words = format!("bytes {}: the server gave bytes {}", words(&range), words(&given));
        return Err(io::Error::new(io::ErrorKind::InvalidData, words));
    }
    Ok((meta, counted(bytes, len, &range)?))
}

/// The bytes of an answer; where they are more than `len`, not all of them: a server may send without end.
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
        io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!("bytes {words}: the server gave {given} of {len} bytes"),
        )
    } else {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("bytes {words}: the server gave more than {len} bytes"),
        )
    })
}

fn words(range: &Range<u64>) -> String {
    format!("{}-{}", range.start, range.end.saturating_sub(1))
}

/// A store's error with the range that it is about.
fn in_range(e: &StoreError, range: &Range<u64>) -> io::Error {
    let message = without_page(&chain(e)).to_owned();
    let kind = match e {
        StoreError::NotFound { .. } => io::ErrorKind::NotFound,
        StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => {
            io::ErrorKind::PermissionDenied
        }
        StoreError::NotSupported { .. } => io::ErrorKind::Unsupported,
        _ => io::ErrorKind::Other,
    };
    let about = match &*message {
        _ if kind == io::ErrorKind::NotFound => return io::Error::new(kind, "there is no such object (404)"),
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
    io::Error::new(kind, format!("bytes {}: {message}", words(range)))
}

/// A message without the page that a server sent with its status.
fn without_page(message: &str) -> &str {
    let lower = message.to_ascii_lowercase();
    let page = ["<!doctype", "<html", "<?xml"].into_iter().filter_map(|begin| lower.find(begin)).min();
    message[..page.unwrap_or(message.len())].trim_end_matches([' ', ':', '\n', '\r'])
}

/// An error of this URL, which tells none of its secrets.
fn failure(what: &'static str, e: &io::Error, url: &Url, options: &RemoteOptions) -> Error {
    let e = io::Error::new(e.kind(), secrets::hidden(&chain(e), url, &options.secrets()));
    Error::io(what, Some(secrets::shown(url).as_ref()), e)
}

/// A message and its causes', none said twice.
fn chain(e: &dyn std::error::Error) -> String {
    let mut out = e.to_string();
    let mut cause = e.source();
    while let Some(e) = cause {
        let words = e.to_string();
        if !out.contains(&words) {
            out = format!("{out}: {words}");
        }
        cause = e.source();
    }
    out
}

/// Runs on this crate's threads, whichever thread waits: also one that belongs to another runtime, where blocking on a future panics.
fn wait<T: Send + 'static>(work: impl Future<Output = io::Result<T>> + Send + 'static) -> io::Result<T> {
    let (send, receive) = sync_channel(1);
    runtime()?.spawn(async move {
        // Whoever waits is there until this is sent.
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
        // Empty ranges and the object's beginning take no request.
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

    /// The beginning came when the object was opened: only the end is asked for.
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
