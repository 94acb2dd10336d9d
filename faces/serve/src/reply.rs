//! Replies, and the headers that all of them have.

use crate::failure::{Answer, Failure};
use crate::pieces::Pieces;
use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{
    ACCEPT_RANGES, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS,
};

/// Headers that scripts of other pages may read.
const EXPOSED: &str =
    "Accept-Ranges, Content-Length, Content-Range, ETag, Last-Modified, Content-Description, XDODS-Server";
/// A file may be HTML from any author: it gets no scripts and no origin.
const FILE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// The content of a reply.
pub(crate) enum Content {
    None,
    Whole(Bytes),
    Pieces {
        /// The first piece, made before the status is sent.
        first: Option<Bytes>,
        rest: Box<dyn Pieces>,
        /// The total length, if it is known.
        len: Option<u64>,
    },
}

pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) content: Content,
    /// Its class in the metrics.
    pub(crate) face: &'static str,
    /// The reason why the request failed, for the log.
    pub(crate) error: Option<String>,
}

impl Reply {
    pub(crate) fn new(status: StatusCode, content: Content) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(FILE_POLICY));
        Reply { status, headers, content, face: "other", error: None }
    }

    pub(crate) fn text(status: StatusCode, text: impl Into<String>) -> Self {
        let text: String = text.into();
        Self::whole(status, "text/plain; charset=utf-8", text.into())
    }

    pub(crate) fn whole(status: StatusCode, kind: &'static str, bytes: Bytes) -> Self {
        Self::new(status, Content::Whole(bytes)).with(CONTENT_TYPE, HeaderValue::from_static(kind))
    }

    pub(crate) fn failure(failure: &Failure) -> Self {
        Self::text(failure.status, format!("{}\n", failure.message))
            .with(CACHE_CONTROL, HeaderValue::from_static("no-store"))
    }

    /// Makes a reply in pieces. The first piece is made now, so that an immediate failure has its own status.
    pub(crate) fn pieces(
        status: StatusCode,
        mut pieces: Box<dyn Pieces>,
        len: Option<u64>,
        is_head: bool,
    ) -> Answer<Self> {
        let first = if is_head || len == Some(0) { None } else { pieces.next()? };
        Ok(Self::new(status, Content::Pieces { first, rest: pieces, len }))
    }

    #[must_use]
    pub(crate) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    #[must_use]
    pub(crate) fn with_text(self, name: HeaderName, value: &str) -> Self {
        match HeaderValue::from_str(value) {
            Ok(value) => self.with(name, value),
            Err(_) => self,
        }
    }

    #[must_use]
    pub(crate) fn with_ranges(self, ranges: bool) -> Self {
        self.with(ACCEPT_RANGES, HeaderValue::from_static(if ranges { "bytes" } else { "none" }))
    }

    #[must_use]
    pub(crate) fn because(mut self, failure: Failure) -> Self {
        self.error = Some(failure.message);
        self
    }

    #[must_use]
    pub(crate) fn of(mut self, face: &'static str) -> Self {
        self.face = face;
        self
    }
}
