//! The record of a version in a commit: its number, its description, and a link to older versions.

use super::metadata::Metadata;
use crate::error::{Error, Result};
use crate::json;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const SECTION: &str = "metadata";
/// The keys of the metadata.
const KEY: &str = "version";
const TAGS: &str = "tags";

/// Largest number of bytes of a message, an author or a time.
pub const MESSAGE_LEN: usize = 64 << 10;
/// The highest number of a version.
pub const VERSIONS_MOST: u64 = u32::MAX as u64;
/// Largest number of tags of an archive.
pub const TAGS_MOST: usize = 4096;

/// The record of a version in the metadata of its generation. Layout: `spec/archive.md`, "Versions".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRecord {
    /// Number of the version: 1 for the original, one more for each other file that was committed.
    pub number: u64,
    /// A description of the change.
    pub message: Option<String>,
    /// The author of the change.
    pub author: Option<String>,
    /// The time of the commit, as the committer wrote it.
    pub time: Option<String>,
    /// An older generation from which a search can continue: its version, and the offset of its trailer.
    pub jump: Option<(u64, u64)>,
}

impl VersionRecord {
    /// The first version, of which nothing is recorded.
    pub const FIRST: VersionRecord =
        VersionRecord { number: 1, message: None, author: None, time: None, jump: None };

    /// The record in a generation's metadata, if there is one.
    ///
    /// # Errors
    /// The record is not an object, its number is invalid, or a value has the wrong type.
    pub fn find(metadata: &Metadata) -> Result<Option<Self>> {
        let Some(value) = metadata.extra.get(KEY) else { return Ok(None) };
        let wrong = |what, expected: &str| {
            Error::corrupt(SECTION, None, what, expected.to_owned(), json::brief(value))
        };
        let object = value.as_object().ok_or_else(|| wrong("version", "an object"))?;
        let number = object.get("number").and_then(Value::as_u64).filter(|n| (1..=VERSIONS_MOST).contains(n));
        let number =
            number.ok_or_else(|| wrong("number of the version", "an integer from 1 to 4294967295"))?;
        let text = |key: &str| match object.get(key) {
            None => Ok(None),
            Some(Value::String(s)) => Ok(Some(s.clone())),
            Some(_) => Err(wrong("message, author or time", "a string")),
        };
        let jump = match object.get("jump") {
            None => None,
            Some(jump) => {
                let pair = jump.as_array().map(Vec::as_slice).and_then(|pair| match pair {
                    [number, at] => Some((number.as_u64()?, at.as_u64()?)),
                    _ => None,
                });
                Some(pair.ok_or_else(|| wrong("jump", "a version and the offset of its trailer"))?)
            }
        };
        Ok(Some(VersionRecord {
            number,
            message: text("message")?,
            author: text("author")?,
            time: text("time")?,
            jump,
        }))
    }

    /// Removes the record from metadata, even an invalid one.
    pub fn clear(metadata: &mut Metadata) {
        metadata.extra.remove(KEY);
    }

    /// Puts the record into metadata, replacing an existing one.
    pub fn put(&self, metadata: &mut Metadata) {
        let mut object = Map::new();
        object.insert("number".into(), self.number.into());
        for (key, text) in [("author", &self.author), ("message", &self.message), ("time", &self.time)] {
            if let Some(text) = text {
                object.insert(key.into(), text.clone().into());
            }
        }
        if let Some((number, at)) = self.jump {
            object.insert("jump".into(), vec![Value::from(number), Value::from(at)].into());
        }
        metadata.extra.insert(KEY.into(), Value::Object(object));
    }
}

/// The tags in a generation's metadata: names of versions.
///
/// # Errors
/// The tags are not an object of numbers.
pub fn find_tags(metadata: &Metadata) -> Result<BTreeMap<String, u64>> {
    let Some(value) = metadata.extra.get(TAGS) else { return Ok(BTreeMap::new()) };
    let tags = value.as_object().and_then(|tags| {
        tags.iter().map(|(name, number)| Some((name.clone(), number.as_u64()?))).collect::<Option<_>>()
    });
    tags.ok_or_else(|| {
        Error::corrupt(SECTION, None, "tags", "an object of version numbers", json::brief(value))
    })
}

/// Puts tags into metadata, replacing existing ones.
pub fn put_tags(tags: &BTreeMap<String, u64>, metadata: &mut Metadata) {
    if tags.is_empty() {
        metadata.extra.remove(TAGS);
        return;
    }
    let tags: Map<String, Value> = tags.iter().map(|(name, &number)| (name.clone(), number.into())).collect();
    metadata.extra.insert(TAGS.into(), Value::Object(tags));
}

/// Returns true if a tag may have this name: letters, digits, `.`, `_` and `-`, not a digit first, at most 64
/// characters, no two dots in a row, not `latest`.
pub fn is_tag_name(name: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let first = name.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    first && name.len() <= 64 && name.chars().all(good) && !name.contains("..") && name != "latest"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    fn read(json: &str) -> Result<Option<VersionRecord>> {
        VersionRecord::find(&Metadata::decode(json.as_bytes(), &Limits::default()).unwrap())
    }

    #[test]
    fn a_record_comes_back_and_metadata_without_one_have_none() {
        let mut metadata = Metadata { writer: "w".into(), ..Metadata::default() };
        assert_eq!(VersionRecord::find(&metadata).unwrap(), None);
        let record = VersionRecord {
            number: 7,
            message: Some("a \"b\"".into()),
            author: None,
            time: Some("1990".into()),
            jump: Some((3, 4096)),
        };
        record.put(&mut metadata);
        let tags = [("good".to_owned(), 3)].into();
        put_tags(&tags, &mut metadata);
        let bytes = metadata.encode();
        assert_eq!(
            String::from_utf8_lossy(&bytes),
            r#"{"tags":{"good":3},"version":{"jump":[3,4096],"message":"a \"b\"","number":7,"time":"1990"},"writer":"w"}"#
        );
        let again = Metadata::decode(&bytes, &Limits::default()).unwrap();
        assert_eq!(VersionRecord::find(&again).unwrap(), Some(record));
        assert_eq!(find_tags(&again).unwrap(), tags);
    }

    #[test]
    fn what_is_no_record_is_refused() {
        for json in [
            r#"{"version":3}"#,
            r#"{"version":{}}"#,
            r#"{"version":{"number":0}}"#,
            r#"{"version":{"number":-1}}"#,
            r#"{"version":{"number":4294967296}}"#,
            r#"{"version":{"number":18446744073709551615}}"#,
            r#"{"version":{"number":1,"message":3}}"#,
            r#"{"version":{"number":2,"jump":[1]}}"#,
            r#"{"version":{"number":2,"jump":[1,"x"]}}"#,
        ] {
            assert!(read(json).is_err(), "{json}");
        }
        let tags = |json: &str| find_tags(&Metadata::decode(json.as_bytes(), &Limits::default()).unwrap());
        assert!(tags(r#"{"tags":[]}"#).is_err() && tags(r#"{"tags":{"a":"b"}}"#).is_err());
    }

    #[test]
    fn names_of_tags() {
        for good in ["v1", "_x", "release-2024.1", &"a".repeat(64)] {
            assert!(is_tag_name(good), "{good}");
        }
        for bad in ["", "1", "1a", "a..b", "latest", "a b", "ä", "-a", ".a", &"a".repeat(65)] {
            assert!(!is_tag_name(bad), "{bad}");
        }
    }
}
