//! The objects below a prefix of a store.

use crate::object::{failure, parsed, told, wait};
use crate::options::RemoteOptions;
use crate::{credentials, shared, store};
use futures_util::TryStreamExt;
use nc3z_reader::Result;
use object_store::{Error as StoreError, ObjectStore};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::io;
use std::sync::Arc;

/// Characters of names that a URL escapes.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');

/// Returns the URLs of all objects below a URL that ends in `/`, such as `s3://bucket/tree/`, sorted. A store lists some thousand names in
/// each answer.
///
/// # Errors
/// As [`open`](crate::open). HTTP servers have no lists.
pub fn list(url: &str, options: &RemoteOptions) -> Result<Vec<String>> {
    let parsed = parsed(url)?;
    let failed = |e: io::Error| failure("list", &e, &parsed, options);
    if matches!(parsed.scheme(), "http" | "https") {
        let words = "HTTP servers have no lists of objects; name each file";
        return Err(failed(io::Error::new(io::ErrorKind::Unsupported, words)));
    }
    let prefix = store::path(&parsed).map_err(failed)?;
    credentials::of_store(&parsed, options).map_err(failed)?;
    let store = shared::store(&parsed, options).map_err(failed)?.objects;
    let found = {
        let (store, prefix) = (Arc::clone(&store), prefix.clone());
        wait(async move { store.list(Some(&prefix)).try_collect::<Vec<_>>().await.map_err(|e| refused(&e)) })
            .map_err(failed)?
    };
    let base = parsed.path().trim_end_matches('/');
    let url_of = |name: &str| {
        let rest = name.strip_prefix(prefix.as_ref())?.trim_start_matches('/');
        let mut url = parsed.clone();
        url.set_path(&format!("{base}/{}", utf8_percent_encode(rest, ESCAPED)));
        Some(String::from(url))
    };
    let mut urls: Vec<String> = found.iter().filter_map(|object| url_of(object.location.as_ref())).collect();
    urls.sort_unstable();
    Ok(urls)
}

fn refused(e: &StoreError) -> io::Error {
    let StoreError::InvalidPath { source } = e else { return told(e, "") };
    let words = format!(
        "one of the names cannot be read ({source}), and the store lists all or nothing; give a longer prefix, or the URL of each object"
    );
    io::Error::new(io::ErrorKind::InvalidData, words)
}
