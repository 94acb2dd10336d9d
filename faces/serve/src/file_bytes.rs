//! Answers requests for the bytes of a file: all, one range, or several.

use crate::failure::Answer;
use crate::files::{OpenFile, conditions};
use crate::pieces::{PIECE_LEN, Pieces};
use crate::ranges::{RequestedRanges, wanted};
use crate::reply::Reply;
use crate::request::Request;
use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{CONTENT_RANGE, CONTENT_TYPE, RANGE};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// The separator between the parts of a reply with several ranges.
const BOUNDARY: &str = "nc3z-7f4a1c59b2e8d603";

/// A part of a reply to a request for bytes of a file.
enum Part {
    /// Text between the ranges.
    Text(Bytes),
    /// Bytes of the file.
    Range(Range<u64>),
}

struct FileBytes {
    file: Arc<OpenFile>,
    parts: VecDeque<Part>,
}

impl Pieces for FileBytes {
    fn next(&mut self) -> Answer<Option<Bytes>> {
        loop {
            match self.parts.pop_front() {
                None => return Ok(None),
                Some(Part::Text(text)) => return Ok(Some(text)),
                Some(Part::Range(range)) if range.is_empty() => {}
                Some(Part::Range(range)) => {
                    let end = range.end.min(range.start.saturating_add(PIECE_LEN));
                    if end < range.end {
                        self.parts.push_front(Part::Range(end..range.end));
                    }
                    return self.file.read(range.start..end).map(Some);
                }
            }
        }
    }
}

/// Answers with bytes of a file.
pub(crate) fn answer(file: OpenFile, request: &Request) -> Answer<Reply> {
    let conditions = conditions(request);
    let etag = file.tag();
    if let Some(reply) = file.judged(&conditions, &etag) {
        return Ok(reply.with_ranges(true));
    }
    let of = file.validators(&etag);
    let header = request.header(RANGE).filter(|_| conditions.range_holds(&of));
    let (len, kind) = (file.len(), kind_of(&file.name));
    let file = Arc::new(file);
    let mut range_words = None;
    let (status, kind, parts) = match wanted(header.as_deref(), len) {
        RequestedRanges::Refused => {
            let message = format!("the range is outside the file of {len} bytes\n");
            let reply = Reply::text(StatusCode::RANGE_NOT_SATISFIABLE, message);
            let reply = reply.with_text(CONTENT_RANGE, &format!("bytes */{len}"));
            return Ok(file.validated(reply, &etag).with_ranges(true));
        }
        RequestedRanges::All => (StatusCode::OK, kind.to_owned(), VecDeque::from([Part::Range(0..len)])),
        RequestedRanges::Ranges(ranges) if ranges.len() == 1 => {
            let range = ranges[0].clone();
            range_words = Some(words(&range, len));
            (StatusCode::PARTIAL_CONTENT, kind.to_owned(), VecDeque::from([Part::Range(range)]))
        }
        RequestedRanges::Ranges(ranges) => {
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
