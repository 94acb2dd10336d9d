//! Keeps a data set that a client has opened from mixing two states of a file: its structure is requested once, its
//! values later.
//!
//! netCDF-C has a store of cookies for each open data set. The reply with the structure sets a cookie that names the
//! state of the file, and requests that bring the cookie of another state fail.

use crate::failure::{Answer, Failure};
use crate::files::{Derived, OpenFile};
use crate::reply::Reply;
use crate::request::Request;
use crate::target::Face;
use hyper::StatusCode;
use hyper::header::{COOKIE, SET_COOKIE};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The name of the cookie. It has no path: it belongs to the directory of the address that the client sees.
const NAME: &str = "nc3z";

/// Fails if the client opened another state of the file.
pub(crate) fn check(file: &OpenFile, derived: &Derived, face: Face, request: &Request) -> Answer<()> {
    if !matches!(face, Face::Das | Face::Dods) {
        return Ok(());
    }
    let cookies = request.header(COOKIE).unwrap_or_default();
    let opened = cookies.split(';').find_map(|cookie| cookie.trim().strip_prefix(NAME)?.strip_prefix('='));
    let (name, state) = cookie_of(file, derived, request);
    let (name_opened, state_opened) = opened.and_then(|opened| opened.split_once('.')).unwrap_or_default();
    if name_opened == name && state_opened != state {
        let message = format!("{} was replaced after it had been opened; open it again", file.name);
        return Err(Failure::new(StatusCode::CONFLICT, message));
    }
    Ok(())
}

/// Adds the cookie to the structure of a whole data set.
pub(crate) fn mark(file: &OpenFile, derived: &Derived, face: Face, request: &Request, reply: Reply) -> Reply {
    if face != Face::Dds || !request.query().is_empty() {
        return reply;
    }
    let (name, state) = cookie_of(file, derived, request);
    reply.with_text(SET_COOKIE, &format!("{NAME}={name}.{state}; HttpOnly; SameSite=Lax"))
}

/// Returns what stands for the address and for the state of a file.
fn cookie_of(file: &OpenFile, derived: &Derived, request: &Request) -> (String, String) {
    let mut hasher = DefaultHasher::new();
    request.path().rsplit_once('.').map(|(file, _)| file).hash(&mut hasher);
    let state = derived.etag.clone().unwrap_or_else(|| file.tag());
    (format!("{:016x}", hasher.finish()), state.trim_matches('"').to_owned())
}
