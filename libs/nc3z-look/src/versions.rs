//! The versions of an archive as JSON.

use crate::text;
use nc3z_format::bytes::hex;
use nc3z_reader::{Archive, Result, Version};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Returns the tags of a version.
pub fn tags_of(tags: &BTreeMap<String, u64>, number: u64) -> Vec<&str> {
    tags.iter().filter(|&(_, &n)| n == number).map(|(name, _)| name.as_str()).collect()
}

/// Returns a version as JSON.
pub fn version_json(version: &Version, tags: &BTreeMap<String, u64>) -> Value {
    let (record, trailer) = (&version.record, &version.trailer);
    let word = |text: &Option<String>| text.as_ref().map(|s| text::safe(s));
    let sha256 = trailer.digest.sha256().map(|digest| hex(&digest));
    json!({
        "version": record.number, "commit": trailer.generation, "sha256": sha256,
        "original_bytes": trailer.original_len, "added_bytes": version.added_len,
        "message": word(&record.message), "author": word(&record.author), "time": word(&record.time),
        "tags": tags_of(tags, record.number),
    })
}

/// Returns all versions of an archive as JSON, newest first.
///
/// # Errors
/// The archive cannot be read.
pub fn versions_json(archive: &Archive) -> Result<Vec<Value>> {
    let tags = archive.tags()?;
    Ok(archive.versions(u64::MAX)?.iter().map(|version| version_json(version, &tags)).collect())
}
