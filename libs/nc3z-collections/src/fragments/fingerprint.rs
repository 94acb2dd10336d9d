//! The fingerprint of a file when it was aggregated: its length and a digest of its header, which are the
//! same for a classic file and its archive. If an archive stores the digest of the whole file, the
//! fingerprint has that too.

use crate::error::Result;
use nc3z_format::archive::Digest as Recorded;
use nc3z_format::bytes::hex;
use nc3z_reader::Dataset;
use sha2::{Digest as _, Sha256};
use std::fmt::Write;

/// The number of bytes that are kept of the header's digest.
const HEADER_DIGEST: usize = 16;

/// Returns `LENGTH HEADER` or `LENGTH HEADER SHA256`.
pub(crate) fn fingerprint(dataset: &Dataset) -> Result<String> {
    let len = dataset.layout().header_len;
    let mut header = vec![0; usize::try_from(len).unwrap_or(0)];
    dataset.read_bytes(0, &mut header)?;
    let mut out = format!("{} {}", dataset.original_len(), hex(&Sha256::digest(&header)[..HEADER_DIGEST]));
    if let Some(digest) = dataset.archive().and_then(|archive| archive.digest().sha256()) {
        let _ = write!(out, " {}", hex(&digest));
    }
    Ok(out)
}

/// Describes the difference between a recorded fingerprint and that of a file. A digest that only one of them has is not a difference,
/// but one that an edit without a digest made stale: the values may be others.
pub(super) fn difference(expected: &str, dataset: &Dataset) -> Result<Option<String>> {
    let mut found = fingerprint(dataset)?;
    if dataset.archive().is_some_and(|archive| archive.digest() == Recorded::Stale) {
        found.push_str(" stale");
    }
    Ok(differs(expected, &found))
}

fn differs(expected: &str, found: &str) -> Option<String> {
    let names = ["length", "header's digest", "SHA-256"];
    let pairs = expected.split_whitespace().zip(found.split_whitespace()).zip(names);
    pairs
        .into_iter()
        .find(|((a, b), _)| a != b)
        .map(|((a, b), name)| format!("its {name} was {a} and is {b}"))
}
