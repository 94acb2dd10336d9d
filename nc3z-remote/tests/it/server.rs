//! A server of one object that can be as bad as servers are.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What it does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Bad {
    #[default]
    Nothing,
    /// Every so many answers breaks off half way.
    Cuts(u64),
    /// Every so many requests is refused with 503 and Retry-After.
    Busy(u64),
    /// It answers with the whole object, as servers do that know no ranges.
    Whole,
    /// It gives another range than it was asked for, and says so.
    Shifts,
    /// It says that it gives what it was asked for, and gives one byte less.
    Short,
    /// It sends more than it was asked for, without end.
    Endless,
    /// The answer to this request breaks off half way, and from then on there is another object; whether it heeds If-Match.
    Swaps(u64, bool),
    /// After so many requests there is another object; whether it heeds If-Match.
    Changes(u64, bool),
    /// No tags.
    Nameless,
    /// No tags, and another time after so many requests.
    NamelessChanges(u64),
    /// The same tag, a weak one, and another time after so many requests.
    WeakChanges(u64),
    /// It says 403, and repeats the request.
    Forbids,
    /// It says 401 and sends a page, unless a request has the header `X-Key: open sesame` or the password of `me:hush`.
    AsksForKey,
    /// It does not say how long the object is.
    NoLength,
    /// It does not say how many bytes it sends.
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
    /// Bytes without end.
    sent: AtomicU64,
    log: Mutex<Vec<String>>,
}

impl Server {
    pub(crate) fn new(object: Vec<u8>, bad: Bad) -> Self {
        Self::slow(object, bad, Duration::ZERO)
    }

    /// With so long between request and answer.
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
                // A client that hangs up is no failure of the server's.
                thread::spawn(move || drop(state.serve(&connection)));
            }
        });
        Server { url, state }
    }

    /// Bytes sent that nobody asked for.
    pub(crate) fn sent(&self) -> u64 {
        self.state.sent.load(Ordering::SeqCst)
    }

    /// The Range headers of all requests.
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

    /// The answer's bytes, and where they break off.
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
