//! The relevant parts of a request: the file, and the part of it.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Uri};

/// A request without a body.
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    headers: HeaderMap,
    /// The length of its line and headers.
    pub(crate) head_len: usize,
}

impl Request {
    pub(crate) fn new(parts: Parts) -> Self {
        let line = parts.method.as_str().len() + parts.uri.to_string().len() + " HTTP/1.1\r\n".len() + 1;
        let header =
            |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len() + ": \r\n".len();
        let head_len = line + parts.headers.iter().map(header).sum::<usize>() + "\r\n".len();
        Request { method: parts.method, uri: parts.uri, headers: parts.headers, head_len }
    }

    /// The path as sent.
    pub(crate) fn path(&self) -> &str {
        self.uri.path()
    }

    /// The text after the question mark, as sent.
    pub(crate) fn query(&self) -> &str {
        self.uri.query().unwrap_or("")
    }

    pub(crate) fn is_head(&self) -> bool {
        self.method == Method::HEAD
    }

    /// Returns a text header. Several headers with the same name are joined to a list.
    pub(crate) fn header(&self, name: HeaderName) -> Option<String> {
        let values = self.headers.get_all(name);
        let texts: Vec<&str> = values.iter().filter_map(|value| value.to_str().ok()).collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    /// Returns true if the request announces a body.
    pub(crate) fn has_body(&self) -> bool {
        let len = self.header(hyper::header::CONTENT_LENGTH);
        len.is_some_and(|len| len.trim() != "0")
            || self.headers.contains_key(hyper::header::TRANSFER_ENCODING)
    }
}
