//! Connections: accepted up to a limit, served with limits of time and size, and closed properly.

use crate::body::{ReplyBody, Watch, panicked};
use crate::failure::Failure;
use crate::log::Access;
use crate::options::Options;
use crate::patient::Patient;
use crate::reply::{Content, Reply};
use crate::request::Request;
use crate::site::Site;
use hyper::body::Incoming;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_MAX_AGE, ALLOW,
    CONTENT_LENGTH, HeaderValue, RANGE, USER_AGENT,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use nc3z_mount::View;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

/// The interval at which the server checks whether it must stop.
const STEP: Duration = Duration::from_millis(100);
/// The interval at which archives without a reader are closed.
const IDLE: Duration = Duration::from_secs(5);
/// The time that replies have to end when the server must stop. The tool ends the process 10 seconds after a
/// signal.
const GRACE: Duration = Duration::from_secs(8);
/// The number of threads that serve connections. They never block.
const THREADS: usize = 2;
/// The maximal number of headers of a request.
const HEADERS: usize = 100;
/// The reply to clients beyond the limit.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 21\r\n\r\ntoo many connections\n";
const METHODS: &str = "GET, HEAD, OPTIONS";

/// Serves a view until `stopped` is true. Replies in progress then have a few seconds to end.
///
/// The view should be confined, and show archives: see [`nc3z_mount::ViewOptions`].
///
/// # Errors
/// The system refuses the listener or threads.
pub fn serve(
    view: Arc<View>,
    listener: std::net::TcpListener,
    options: Options,
    stopped: impl Fn() -> bool,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .max_blocking_threads(options.decodes + THREADS)
        .thread_name("nc3z-serve")
        .enable_io()
        .enable_time()
        .build()?;
    let site = Arc::new(Site::new(view, options));
    let ended = runtime.block_on(run(&site, listener, stopped));
    runtime.shutdown_timeout(Duration::from_secs(1));
    ended
}

async fn run(
    site: &Arc<Site>,
    listener: std::net::TcpListener,
    stopped: impl Fn() -> bool,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let permits = Arc::new(Semaphore::new(site.options().decodes));
    let places = Arc::new(Semaphore::new(site.options().connections));
    let (stop, stopping) = watch::channel(false);
    let mut tidied = Instant::now();
    while !stopped() {
        if tidied.elapsed() > IDLE {
            tidied = Instant::now();
            let view = Arc::clone(&site.files.view);
            drop(tokio::task::spawn_blocking(move || view.close_idle()));
        }
        let (stream, peer) = match timeout(STEP, listener.accept()).await {
            Err(_) => continue,
            Ok(Ok(accepted)) => accepted,
            Ok(Err(_)) => {
                // No more files can be open, or the client has disconnected: both are temporary.
                sleep(STEP).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            site.metrics.refused.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(refuse(stream));
            continue;
        };
        let (site, permits, stopping) = (Arc::clone(site), Arc::clone(&permits), stopping.clone());
        tokio::spawn(async move {
            site.metrics.connections.fetch_add(1, Ordering::Relaxed);
            connection(&site, &permits, stream, peer, stopping).await;
            site.metrics.connections.fetch_sub(1, Ordering::Relaxed);
            drop(place);
        });
    }
    drop(listener);
    let _ = stop.send(true);
    let all = u32::try_from(site.options().connections).unwrap_or(u32::MAX);
    let _ = timeout(GRACE, places.acquire_many(all)).await;
    Ok(())
}

/// Reports to a client that there are too many connections.
async fn refuse(mut stream: TcpStream) {
    let told = async {
        // If a connection is closed with unread bytes, it is reset, and the client loses the answer.
        let _ = stream.read(&mut [0; 4096]).await;
        let _ = stream.write_all(BUSY).await;
        let _ = stream.shutdown().await;
    };
    let _ = timeout(Duration::from_secs(1), told).await;
}

async fn connection(
    site: &Arc<Site>,
    permits: &Arc<Semaphore>,
    stream: TcpStream,
    peer: SocketAddr,
    mut stopping: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let options = site.options();
    let service = service_fn(|request| handle(Arc::clone(site), Arc::clone(permits), peer, request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(options.timeout)
        .max_buf_size(options.request_len.max(8192))
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(Patient::new(stream, options.timeout)), service);
    let (mut connection, mut stop) = (pin!(connection), pin!(stopping.wait_for(|stop| *stop)));
    let mut is_stopping = false;
    // Errors of clients are not errors of the server.
    let _ = poll_fn(|context| {
        if !is_stopping && stop.as_mut().poll(context).is_ready() {
            is_stopping = true;
            connection.as_mut().graceful_shutdown();
        }
        connection.as_mut().poll(context)
    })
    .await;
}

async fn handle(
    site: Arc<Site>,
    permits: Arc<Semaphore>,
    peer: SocketAddr,
    request: hyper::Request<Incoming>,
) -> Result<Response<ReplyBody>, Infallible> {
    let (parts, body) = request.into_parts();
    drop(body);
    let request = Arc::new(Request::new(parts));
    let mut watcher = Watcher::new(&site, peer, &request);
    let limit = site.options().request_len;
    let answered = match request.method {
        // The limit of the library is that of a buffer, which may take more before it is full.
        _ if request.head_len > limit => Err(Failure::new(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            format!("the request has {} bytes, and this server takes at most {limit}", request.head_len),
        )),
        Method::GET | Method::HEAD if request.has_body() => {
            Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "a request must not have a body"))
        }
        Method::GET | Method::HEAD => {
            let permit = Arc::clone(&permits).acquire_owned().await;
            let (site, request) = (Arc::clone(&site), Arc::clone(&request));
            let work = move || {
                let answered = site.answer(&request);
                drop(permit);
                answered
            };
            tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(panicked()))
        }
        Method::OPTIONS => Ok(options_reply()),
        _ => Err(Failure::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "the server is read-only; use GET, HEAD or OPTIONS",
        )),
    };
    let mut reply = answered.unwrap_or_else(|failure| Reply::failure(&failure).because(failure));
    watcher.error = reply.error.take();
    if reply.status == StatusCode::METHOD_NOT_ALLOWED {
        reply = reply.with(ALLOW, HeaderValue::from_static(METHODS));
    }
    let len = match &reply.content {
        Content::None => None,
        Content::Whole(bytes) => Some(bytes.len() as u64),
        Content::Pieces { len, .. } => *len,
    };
    if request.is_head() {
        if let Some(len) = len {
            reply = reply.with(CONTENT_LENGTH, len.into());
        }
        reply.content = Content::None;
    }
    watcher.status = reply.status.as_u16();
    watcher.face = reply.face;
    let mut response = Response::new(ReplyBody::new(reply.content, permits, Box::new(watcher)));
    *response.status_mut() = reply.status;
    *response.headers_mut() = reply.headers;
    Ok(response)
}

/// Returns the methods and headers that a browser may use from another site's page.
fn options_reply() -> Reply {
    Reply::new(StatusCode::NO_CONTENT, Content::None)
        .with(ALLOW, HeaderValue::from_static(METHODS))
        .with(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS))
        .with(
            ACCESS_CONTROL_ALLOW_HEADERS,
            HeaderValue::from_static("Range, If-Range, If-Match, If-None-Match, If-Modified-Since"),
        )
        .with(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"))
        .of("options")
}

/// Counts and logs a request when its reply has ended.
struct Watcher {
    site: Arc<Site>,
    peer: SocketAddr,
    request: Arc<Request>,
    began: Instant,
    status: u16,
    face: &'static str,
    sent: u64,
    error: Option<String>,
    ended: bool,
}

impl Watcher {
    fn new(site: &Arc<Site>, peer: SocketAddr, request: &Arc<Request>) -> Self {
        site.metrics.in_flight.fetch_add(1, Ordering::Relaxed);
        let (site, request) = (Arc::clone(site), Arc::clone(request));
        Watcher {
            site,
            peer,
            request,
            began: Instant::now(),
            status: 0,
            face: "other",
            sent: 0,
            error: None,
            ended: false,
        }
    }
}

impl Watch for Watcher {
    fn sent(&mut self, bytes: u64) {
        self.sent += bytes;
        self.site.metrics.sent.fetch_add(bytes, Ordering::Relaxed);
    }

    fn broke(&mut self, why: &Failure) {
        self.error = Some(why.message.clone());
    }

    fn ended(&mut self) {
        self.ended = true;
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let metrics = &self.site.metrics;
        metrics.in_flight.fetch_sub(1, Ordering::Relaxed);
        if !self.ended {
            metrics.broken.fetch_add(1, Ordering::Relaxed);
        }
        let time = self.began.elapsed();
        metrics.count(self.face, self.status, time);
        let left = (!self.ended).then_some("the client left");
        let target = self.request.uri.path_and_query().map_or("*", |target| target.as_str());
        (self.site.options().access)(&Access {
            peer: self.peer,
            method: self.request.method.as_str(),
            target,
            range: self.request.header(RANGE).as_deref(),
            agent: self.request.header(USER_AGENT).as_deref(),
            status: self.status,
            sent: self.sent,
            time,
            error: self.error.as_deref().or(left),
        });
    }
}
