//! Counts for Prometheus.

use nc3z_reader::cache::TileCache;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Upper ends of the histogram's classes, in seconds.
const CLASSES: [f64; 8] = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0];

/// Counts since the server began.
pub(crate) struct Metrics {
    began: Instant,
    /// Requests by face and status.
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    times: [AtomicU64; CLASSES.len() + 1],
    time_micros: AtomicU64,
    pub(crate) sent: AtomicU64,
    pub(crate) broken: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) connections: AtomicI64,
    pub(crate) in_flight: AtomicI64,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Metrics {
            began: Instant::now(),
            requests: Mutex::default(),
            times: Default::default(),
            time_micros: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            broken: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            connections: AtomicI64::new(0),
            in_flight: AtomicI64::new(0),
        }
    }

    pub(crate) fn count(&self, face: &'static str, status: u16, time: Duration) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry((face, status)).or_default() += 1;
        drop(requests);
        let seconds = time.as_secs_f64();
        let class = CLASSES.iter().position(|end| seconds <= *end).unwrap_or(CLASSES.len());
        self.times[class].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.time_micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Returns the text for Prometheus.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        let kind = |out: &mut String, name: &str, kind: &str, help: &str| {
            let _ = writeln!(out, "# HELP nc3z_{name} {help}\n# TYPE nc3z_{name} {kind}");
        };
        kind(&mut out, "http_requests_total", "counter", "Requests answered, by face and status.");
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for ((face, status), n) in requests {
            let _ = writeln!(out, "nc3z_http_requests_total{{face=\"{face}\",status=\"{status}\"}} {n}");
        }
        kind(&mut out, "http_request_seconds", "histogram", "Time from a request to the end of its reply.");
        let mut sum = 0;
        for (class, n) in self.times.iter().enumerate() {
            sum += n.load(Ordering::Relaxed);
            let end = CLASSES.get(class).map_or("+Inf".to_owned(), ToString::to_string);
            let _ = writeln!(out, "nc3z_http_request_seconds_bucket{{le=\"{end}\"}} {sum}");
        }
        let seconds = Duration::from_micros(self.time_micros.load(Ordering::Relaxed)).as_secs_f64();
        let _ =
            writeln!(out, "nc3z_http_request_seconds_sum {seconds}\nnc3z_http_request_seconds_count {sum}");
        let cache = TileCache::process().stats();
        for (name, what, help, value) in [
            ("http_sent_bytes_total", "counter", "Bytes of replies, without headers.", load(&self.sent)),
            (
                "http_broken_replies_total",
                "counter",
                "Replies that broke off: damage, or the client left.",
                load(&self.broken),
            ),
            (
                "http_refused_connections_total",
                "counter",
                "Connections beyond the limit.",
                load(&self.refused),
            ),
            ("http_connections", "gauge", "Open connections.", gauge(&self.connections)),
            ("http_requests_in_flight", "gauge", "Requests being answered.", gauge(&self.in_flight)),
            ("cache_hits_total", "counter", "Tiles found decoded.", cache.hits),
            ("cache_misses_total", "counter", "Tiles that had to be decoded.", cache.misses),
            ("cache_evictions_total", "counter", "Tiles dropped to make room.", cache.evictions),
            ("cache_used_bytes", "gauge", "Bytes of decoded tiles kept.", cache.used_bytes),
            ("cache_budget_bytes", "gauge", "Bytes of decoded tiles that may be kept.", cache.budget),
            ("uptime_seconds", "gauge", "Time since the server began.", self.began.elapsed().as_secs()),
        ] {
            kind(&mut out, name, what, help);
            let _ = writeln!(out, "nc3z_{name} {value}");
        }
        out
    }
}

fn load(n: &AtomicU64) -> u64 {
    n.load(Ordering::Relaxed)
}

fn gauge(n: &AtomicI64) -> u64 {
    u64::try_from(n.load(Ordering::Relaxed)).unwrap_or(0)
}
