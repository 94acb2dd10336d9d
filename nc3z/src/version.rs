//! Versions of an archive and their tags.

use crate::dataset::open_archive;
use crate::error::{At, Result};
use crate::options::{EditOptions, OpenOptions};
use nc3z_writer::{TagChange, tag_version};
use std::path::Path;

/// The name of a version.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VersionName {
    /// The number of the version. The original has number 1.
    Number(u64),
    /// A tag.
    Tag(String),
}

impl VersionName {
    pub(crate) fn from_reader(name: nc3z_reader::VersionName) -> Self {
        match name {
            nc3z_reader::VersionName::Number(number) => VersionName::Number(number),
            nc3z_reader::VersionName::Tag(tag) => VersionName::Tag(tag),
        }
    }

    pub(crate) fn into_reader(self) -> nc3z_reader::VersionName {
        match self {
            VersionName::Number(number) => nc3z_reader::VersionName::Number(number),
            VersionName::Tag(tag) => nc3z_reader::VersionName::Tag(tag),
        }
    }
}

impl From<u64> for VersionName {
    fn from(number: u64) -> Self {
        VersionName::Number(number)
    }
}

impl From<&str> for VersionName {
    fn from(tag: &str) -> Self {
        VersionName::Tag(tag.to_owned())
    }
}

/// One version of the file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Version {
    /// Its number. The original has number 1.
    pub number: u64,
    /// The description of the change.
    pub message: Option<String>,
    /// The author of the change.
    pub author: Option<String>,
    /// The time of the change, as the author wrote it.
    pub time: Option<String>,
    /// The tags that name the version.
    pub tags: Vec<String>,
    /// Bytes that the version added to the archive.
    pub added_len: u64,
}

/// Returns the versions of an archive, the newest first.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("a.nc3z");
/// # nc3z::archive("../testdata/classic/record_padding.nc", &path)?;
/// nc3z::tag(&path, "published", 1)?;
/// assert_eq!(nc3z::versions(&path)?[0].tags, ["published"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The file is not an archive, or it is damaged.
pub fn versions(path: impl AsRef<Path>) -> Result<Vec<Version>> {
    versions_with(path, &OpenOptions::default())
}

/// Returns the versions up to the one that the options name; see [`versions`].
///
/// # Errors
/// As [`versions`].
pub fn versions_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Vec<Version>> {
    let path = path.as_ref();
    all(path, options).at(path)
}

fn all(path: &Path, options: &OpenOptions) -> Result<Vec<Version>> {
    let archive = open_archive(path, options)?;
    let tags = archive.tags()?;
    let named = |number| tags.iter().filter(|(_, n)| **n == number).map(|(tag, _)| tag.clone()).collect();
    let versions = archive.versions(u64::MAX)?.into_iter();
    let with_tags = versions.map(|version| Version {
        number: version.record.number,
        tags: named(version.record.number),
        message: version.record.message,
        author: version.record.author,
        time: version.record.time,
        added_len: version.added_len,
    });
    Ok(with_tags.collect())
}

/// Names a version of an archive by a tag. Returns the version's number.
///
/// # Errors
/// The tag is invalid or names another version. The version does not exist. Another process changes the archive.
pub fn tag(path: impl AsRef<Path>, tag: &str, version: impl Into<VersionName>) -> Result<u64> {
    tag_with(path, tag, version, &EditOptions::default())
}

/// Names a version by a tag, with options; see [`tag`].
///
/// # Errors
/// As [`tag`].
pub fn tag_with(
    path: impl AsRef<Path>,
    tag: &str,
    version: impl Into<VersionName>,
    options: &EditOptions,
) -> Result<u64> {
    let path = path.as_ref();
    let change = TagChange::Set { version: Some(version.into().into_reader()), force: options.move_tag };
    tag_version(path, tag, &change, &options.writer).at(path)
}

/// Deletes a tag of an archive. Returns the number of the version that it named.
///
/// # Errors
/// The tag does not exist. Another process changes the archive.
pub fn delete_tag(path: impl AsRef<Path>, tag: &str) -> Result<u64> {
    delete_tag_with(path, tag, &EditOptions::default())
}

/// Deletes a tag, with options; see [`delete_tag`].
///
/// # Errors
/// As [`delete_tag`].
pub fn delete_tag_with(path: impl AsRef<Path>, tag: &str, options: &EditOptions) -> Result<u64> {
    let path = path.as_ref();
    tag_version(path, tag, &TagChange::Delete, &options.writer).at(path)
}
