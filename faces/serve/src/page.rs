//! The page: a few files that are part of the server, and load nothing from other hosts.

use crate::failure::{Answer, Failure};
use crate::reply::Reply;
use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY};
use nc3z_look::geography::COASTLINE;
use std::ffi::OsString;

/// Allows scripts and styles of this server only.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// The position of the listing in the page, for programs that follow links and for browsers without scripts.
const LISTING: &str = "<!--LISTING-->";
const INDEX: &str = include_str!("../page/index.html");

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// The page, with a listing of the root.
pub(crate) fn index(listing: &str) -> Reply {
    let page = INDEX.replacen(LISTING, listing, 1);
    with_policy(Reply::whole(StatusCode::OK, "text/html; charset=utf-8", page.into()))
}

/// Returns a file of the page.
pub(crate) fn file(names: &[OsString]) -> Answer<Reply> {
    let [name] = names else { return Err(Failure::absent()) };
    let (kind, bytes): (_, &'static [u8]) = match name.to_str() {
        Some("page.js") => (SCRIPT, include_bytes!("../page/page.js")),
        Some("data.js") => (SCRIPT, include_bytes!("../page/data.js")),
        Some("server.js") => (SCRIPT, include_bytes!("../page/server.js")),
        Some("view.js") => (SCRIPT, include_bytes!("../page/view.js")),
        Some("map.js") => (SCRIPT, include_bytes!("../page/map.js")),
        Some("treemap.js") => (SCRIPT, include_bytes!("../page/treemap.js")),
        Some("uplot.js") => (SCRIPT, include_bytes!("../page/uplot.js")),
        Some("uplot.css") => (STYLE, include_bytes!("../page/uplot.css")),
        Some("page.css") => (STYLE, include_bytes!("../page/page.css")),
        Some("uplot-LICENCE.txt") => {
            ("text/plain; charset=utf-8", include_bytes!("../page/uplot-LICENCE.txt"))
        }
        Some("coastline.bin") => ("application/octet-stream", COASTLINE),
        _ => return Err(Failure::absent()),
    };
    Ok(with_policy(Reply::whole(StatusCode::OK, kind, Bytes::from_static(bytes))))
}

fn with_policy(reply: Reply) -> Reply {
    reply
        .with(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY))
        .with(REFERRER_POLICY, HeaderValue::from_static("no-referrer"))
        // Another version of the server has other files.
        .with(CACHE_CONTROL, HeaderValue::from_static("no-cache"))
        .of("page")
}
