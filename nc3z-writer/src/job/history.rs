//! The metadata, in an archive made from another, on versions that it does not contain.

use nc3z_format::archive::version::{find_tags, put_tags};
use nc3z_format::archive::{Metadata, VersionRecord};
use nc3z_reader::Archive;
use serde_json::Value;
use std::collections::BTreeSet;

/// The metadata key for the list of dropped versions.
const DROPPED: &str = "dropped";

/// Returns the metadata for an archive with the version of `archive` and none before it. The version keeps its
/// number, because publications cite it, its note, and its tags. Older versions are listed as dropped. References
/// to them are removed.
pub(super) fn metadata_alone(archive: &Archive) -> Metadata {
    let mut metadata = archive.metadata().clone();
    // In a damaged archive the record may be invalid.
    let record = VersionRecord::find(&metadata).ok().flatten();
    let number = record.as_ref().map_or(VersionRecord::FIRST.number, |record| record.number);
    match record {
        Some(record) => VersionRecord { jump: None, ..record }.put(&mut metadata),
        None => VersionRecord::clear(&mut metadata),
    }
    let mut tags = find_tags(&metadata).unwrap_or_default();
    tags.retain(|_, tagged| *tagged == number);
    put_tags(&tags, &mut metadata);
    let older = archive.versions(u64::MAX).unwrap_or_default();
    add_dropped(&mut metadata, older.iter().map(|version| version.record.number).filter(|&n| n < number));
    metadata
}

/// Adds versions to the list of dropped ones.
pub(super) fn add_dropped(metadata: &mut Metadata, dropped: impl IntoIterator<Item = u64>) {
    let mut all = self::dropped(metadata);
    all.extend(dropped);
    if !all.is_empty() {
        metadata.extra.insert(DROPPED.to_owned(), all.into_iter().map(Value::from).collect());
    }
}

/// Returns the versions that are listed as dropped.
pub(super) fn dropped(metadata: &Metadata) -> BTreeSet<u64> {
    let list = metadata.extra.get(DROPPED).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_u64).collect()
}
