//! A server of one object that can have the faults of real servers.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The fault of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Bad {
    #[default]
    Nothing,
    /// Every `n`-th answer is cut off after half of its bytes.
    Cuts(u64),
    /// Every `n`-th request is refused with 503 and Retry-After.
    Busy(u64),
    /// It answers with the whole object, like servers without ranges.
    Whole,
    /// It returns another range than requested, and says so.
    Shifts,
    /// It claims to return the requested range, but returns one byte less.
    Short,
    /// It sends more than requested, without end.
    Endless,
    /// The answer to this request is cut off after half of its bytes, and then the object is replaced. The
    /// flag says whether the server heeds If-Match.
    Swaps(u64, bool),
    /// The object is replaced after `n` requests. The flag says whether the server heeds If-Match.
    Changes(u64, bool),
    /// It sends no tags.
    Nameless,
    /// It sends no tags, and another time after `n` requests.
    NamelessChanges(u64),
    /// It sends the same weak tag, and another time after `n` requests.
    WeakChanges(u64),
    /// It answers with 403, and repeats the request.
    Forbids,
    /// It answers with 401 and a page, unless a request has the header `X-Key: open sesame` or the password
    /// of `me:hush`.
    AsksForKey,
    /// It does not send the length of the object.
    NoLength,
    /// It does not send the length of the answer.
    NoContentLength,
}

const FIRST: &str = "Last-Modified: Sun, 01 Nov 2026 00:00:00 GMT\r\n";
const LATER: &str = "Last-Modified: Tue, 01 Dec 2026 00:00:00 GMT\r\n";

pub(crate) struct Server {
    pub(crate) url: String,
    state: Arc<State>,
}

struct State {
    object: Vec<u8>,
    bad: Bad,
    delay: Duration,
    count: AtomicU64,
    /// The number of bytes sent without end.
    sent: AtomicU64,
    log: Mutex<Vec<String>>,
}

impl Server {
    pub(crate) fn new(object: Vec<u8>, bad: Bad) -> Self {
        Self::slow(object, bad, Duration::ZERO)
    }

    /// Starts a server with a delay between request and answer.
    pub(crate) fn slow(object: Vec<u8>, bad: Bad, delay: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/folder/object.nc3z", listener.local_addr().unwrap());
        let state = Arc::new(State {
            object,
            bad,
            delay,
            count: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            log: Mutex::default(),
        });
        let served = Arc::clone(&state);
        thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&served);
                // A client that disconnects is not a fault of the server.
                thread::spawn(move || drop(state.serve(&connection)));
            }
        });
        Server { url, state }
    }

    /// The number of bytes sent that were not requested.
    pub(crate) fn sent(&self) -> u64 {
        self.state.sent.load(Ordering::SeqCst)
    }

    /// Returns the Range headers of all requests.
    pub(crate) fn ranges(&self) -> Vec<String> {
        self.state.log.lock().unwrap().clone()
    }
}

impl State {
    fn serve(&self, connection: &TcpStream) -> std::io::Result<()> {
        let mut lines = BufReader::new(connection).lines();
        let mut out = connection;
        loop {
            let Some(request) = lines.next() else { return Ok(()) };
            let request = request?;
            let (mut range, mut condition, mut has_key) = (None, None, false);
            loop {
                let Some(line) = lines.next() else { return Ok(()) };
                let line = line?;
                if line.is_empty() {
                    break;
                }
                let (name, value) = line.split_once(": ").unwrap_or_default();
                match name.to_ascii_lowercase().as_str() {
                    "range" => range = Some(value.to_owned()),
                    "if-match" => condition = Some(value.to_owned()),
                    "x-key" => has_key |= value == "open sesame",
                    // me:hush
                    "authorization" => has_key |= value == "Basic bWU6aHVzaA==" || value == "Bearer sesame",
                    _ => {}
                }
            }
            let number = self.count.fetch_add(1, Ordering::SeqCst) + 1;
            self.log.lock().unwrap().push(range.clone().unwrap_or_default());
            thread::sleep(self.delay);
            if self.bad == Bad::AsksForKey && !has_key {
                let page = "<!DOCTYPE html><p>Who are you?";
                let len = page.len();
                write!(out, "HTTP/1.1 401 Unauthorized\r\nContent-Length: {len}\r\n\r\n{page}")?;
                continue;
            }
            let (answer, cut) = self.answer(&request, range.as_deref(), condition.as_deref(), number);
            if let Some(cut) = cut {
                out.write_all(&answer[..cut])?;
                return out.flush();
            }
            out.write_all(&answer)?;
            if self.bad == Bad::Endless && number > 1 {
                loop {
                    out.write_all(&self.object)?;
                    self.sent.fetch_add(self.object.len() as u64, Ordering::SeqCst);
                }
            }
        }
    }

    /// Returns the answer's bytes, and the position where they are cut off.
    fn answer(
        &self,
        request: &str,
        range: Option<&str>,
        condition: Option<&str>,
        number: u64,
    ) -> (Vec<u8>, Option<usize>) {
        let plain = |status: &str, more: &str| {
            (format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n{more}\r\n").into_bytes(), None)
        };
        if !request.starts_with("GET /folder/object.nc3z") {
            let page = "<html><body>Not here, my friend.</body></html>";
            let len = page.len();
            let answer = format!("HTTP/1.1 404 Not Found\r\nContent-Length: {len}\r\n\r\n{page}");
            return (answer.into_bytes(), None);
        }
        let changed = match self.bad {
            Bad::Changes(after, _)
            | Bad::Swaps(after, _)
            | Bad::NamelessChanges(after)
            | Bad::WeakChanges(after) => number > after,
            _ => false,
        };
        let tag = if changed { "\"second\"" } else { "\"first\"" };
        match self.bad {
            Bad::Busy(every) if number.is_multiple_of(every) => {
                return plain("503 Slow Down", "Retry-After: 1\r\n");
            }
            Bad::Forbids => {
                let len = request.len();
                let answer = format!("HTTP/1.1 403 Forbidden\r\nContent-Length: {len}\r\n\r\n{request}");
                return (answer.into_bytes(), None);
            }
            Bad::Changes(_, true) | Bad::Swaps(_, true) | Bad::Nothing
                if condition.is_some_and(|c| c != tag) =>
            {
                return plain("412 Precondition Failed", "");
            }
            _ => {}
        }
        let tags = match self.bad {
            Bad::Nameless => String::new(),
            Bad::NamelessChanges(_) if changed => LATER.to_owned(),
            Bad::NamelessChanges(_) => FIRST.to_owned(),
            Bad::WeakChanges(_) => format!("ETag: W/\"same\"\r\n{}", if changed { LATER } else { FIRST }),
            _ => format!("ETag: {tag}\r\n{FIRST}"),
        };
        let len = self.object.len();
        // Suffix ranges (`bytes=-5`) are refused, as some stores do.
        let bounds = range.and_then(|r| r.strip_prefix("bytes=")?.split_once('-'));
        let bounds = bounds.and_then(|(a, b)| Some((a.parse::<usize>().ok()?, b.parse::<usize>().ok()? + 1)));
        let (Some((start, end)), false) = (bounds, self.bad == Bad::Whole) else {
            if range.is_some() && self.bad != Bad::Whole {
                return plain("416 Range Not Satisfiable", "");
            }
            let mut answer = format!("HTTP/1.1 200 OK\r\n{tags}Content-Length: {len}\r\n\r\n").into_bytes();
            answer.extend_from_slice(&self.object);
            return (answer, None);
        };
        if start >= len {
            return plain("416 Range Not Satisfiable", "");
        }
        let end = end.min(len);
        let (start, end) =
            if self.bad == Bad::Shifts && number > 1 { (start - 1, end - 1) } else { (start, end) };
        let mut body = self.object[start..end].to_vec();
        if changed {
            body.iter_mut().for_each(|b| *b ^= 0xFF);
        }
        if self.bad == Bad::Short && number > 1 {
            body.pop();
        }
        let mut answer = format!(
            "HTTP/1.1 206 Partial Content\r\n{tags}Content-Range: bytes {start}-{}/{len}\r\nContent-Length: {}\r\n\r\n",
            end - 1,
            if self.bad == Bad::Endless && number > 1 { 1 << 40 } else { body.len() }
        )
        .into_bytes();
        if matches!(self.bad, Bad::NoLength | Bad::NoContentLength) {
            let (total, length) =
                if self.bad == Bad::NoLength { ("*", "Content-Length: 1\r\n") } else { ("100000", "") };
            let head = format!(
                "HTTP/1.1 206 Partial Content\r\n{tags}Content-Range: bytes {start}-{}/{total}\r\n{length}\r\n",
                end - 1
            );
            return (head.into_bytes(), None);
        }
        let cut = answer.len() + body.len() / 2;
        answer.extend_from_slice(&body);
        let cuts = match self.bad {
            Bad::Cuts(every) => number.is_multiple_of(every),
            Bad::Swaps(at, _) => number == at,
            _ => false,
        };
        (answer, cuts.then_some(cut))
    }
}
