//! Digests of an original that its archive has on record, in the metadata (`spec/archive.md`, section 6).

use super::Hash;
use crate::bytes::hex;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The key of the metadata.
const KEY: &str = "content";
/// Digits of the original's SHA-256 that say of which file the digests are.
const OF_LEN: usize = 16;
/// Bytes that a digest takes in the metadata, and the other keys of the record.
const DIGEST_LEN: u64 = 36;
const REST_LEN: u64 = 32;
/// The digest of the file is stored if it takes at most 1/`FILE_SHARE` of the archive, and those of its variables if they take at most
/// 1/`VARIABLES_SHARE`.
const FILE_SHARE: u64 = 64;
const VARIABLES_SHARE: u64 = 256;

/// The root of a file, digests of its variables, and an MD5, computed when the archive was written.
///
/// The record names its file by the SHA-256. An archive that was edited contains another file, and has no
/// valid record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DigestRecord {
    /// The root of the file.
    pub content: Option<Hash>,
    /// The digest of each variable, in the header's order; empty where none are on record.
    pub variables: Vec<Hash>,
    /// MD5 of the file's bytes, for catalogues that require it.
    pub md5: Option<[u8; 16]>,
}

impl DigestRecord {
    /// The record without the digests that are too long for an archive of `archive_len` bytes. MD5 stays,
    /// since the user requested it.
    #[must_use]
    pub fn within(mut self, archive_len: u64) -> Self {
        let variables = self.variables.len() as u64 * DIGEST_LEN;
        if variables > archive_len / VARIABLES_SHARE {
            self.variables.clear();
        }
        if DIGEST_LEN + REST_LEN > archive_len / FILE_SHARE {
            self.content = None;
        }
        self
    }

    /// Replaces the record in the metadata. `sha256` is the digest of the file to which these digests belong.
    pub fn put(&self, sha256: &Hash, extra: &mut BTreeMap<String, Value>) {
        extra.remove(KEY);
        if *self == DigestRecord::default() {
            return;
        }
        let mut object = Map::new();
        object.insert("of".to_owned(), sha256_text(sha256).into());
        if let Some(content) = &self.content {
            object.insert("file".to_owned(), hex(content).into());
        }
        if !self.variables.is_empty() {
            object.insert("values".to_owned(), self.variables.iter().map(|digest| hex(digest)).collect());
        }
        if let Some(md5) = &self.md5 {
            object.insert("md5".to_owned(), hex(md5).into());
        }
        extra.insert(KEY.to_owned(), object.into());
    }

    /// The recorded digests of the file with this SHA-256 and `count` variables. `None` if the record is of
    /// another file, or invalid.
    pub fn find(extra: &BTreeMap<String, Value>, sha256: &Hash, count: usize) -> Option<Self> {
        let record = extra.get(KEY)?.as_object()?;
        if record.get("of")?.as_str()? != sha256_text(sha256) {
            return None;
        }
        let variables = match record.get("values") {
            None => Vec::new(),
            Some(all) => {
                let all = all.as_array().filter(|all| all.len() == count)?;
                all.iter().map(digits).collect::<Option<Vec<_>>>()?
            }
        };
        let content = record.get("file").map(|digest| digits(digest).ok_or(())).transpose().ok()?;
        let md5 = record.get("md5").map(|digest| digits(digest).ok_or(())).transpose().ok()?;
        Some(DigestRecord { content, variables, md5 })
    }
}

/// The beginning of a file's SHA-256, in digits.
fn sha256_text(sha256: &Hash) -> String {
    let mut digits = hex(sha256);
    digits.truncate(OF_LEN);
    digits
}

/// The bytes of hexadecimal digits: as many as there must be, of lower case.
fn digits<const N: usize>(value: &Value) -> Option<[u8; N]> {
    bytes_of(value.as_str()?.as_bytes())
}

/// A hash in hexadecimal digits of lower case.
pub(super) fn hash_of(digits: &[u8]) -> Option<Hash> {
    bytes_of(digits)
}

fn bytes_of<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut out = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, pair) in out.iter_mut().zip(text.as_chunks::<2>().0) {
        for &digit in pair {
            let value = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'f' => digit - b'a' + 10,
                _ => return None,
            };
            *byte = *byte << 4 | value;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_for_the_file_that_it_is_of() {
        let full =
            DigestRecord { content: Some([1; 32]), variables: vec![[2; 32], [0xAB; 32]], md5: Some([3; 16]) };
        for record in [
            full.clone(),
            DigestRecord { md5: None, ..full.clone() },
            DigestRecord { variables: Vec::new(), content: None, ..full.clone() },
        ] {
            let mut extra = BTreeMap::new();
            record.put(&[7; 32], &mut extra);
            assert_eq!(DigestRecord::find(&extra, &[7; 32], 2), Some(record));
            // Another file, by an edit; another number of variables.
            assert_eq!(DigestRecord::find(&extra, &[8; 32], 2), None);
        }
        let mut extra = BTreeMap::new();
        full.put(&[7; 32], &mut extra);
        assert_eq!(DigestRecord::find(&extra, &[7; 32], 3), None);
        // An empty record removes an earlier one.
        DigestRecord::default().put(&[7; 32], &mut extra);
        assert!(extra.is_empty());
    }

    #[test]
    fn what_makes_no_sense_is_no_record() {
        let of = "07".repeat(8);
        for bad in [
            serde_json::json!(3),
            serde_json::json!({}),
            serde_json::json!({"of": of, "file": "00"}),
            serde_json::json!({"of": of, "file": "G".repeat(64)}),
            serde_json::json!({"of": of, "file": "A".repeat(64)}),
            serde_json::json!({"of": of, "values": "x"}),
            serde_json::json!({"of": of, "values": [1, 2]}),
            serde_json::json!({"of": of, "md5": ["00"]}),
        ] {
            let extra = [(KEY.to_owned(), bad)].into();
            assert_eq!(DigestRecord::find(&extra, &[7; 32], 2), None, "{extra:?}");
        }
    }

    #[test]
    fn small_archives_have_less_on_record() {
        let full = DigestRecord { content: Some([1; 32]), variables: vec![[2; 32]; 10], md5: Some([3; 16]) };
        assert_eq!(full.clone().within(1 << 20), full);
        let file = full.clone().within(50_000);
        assert!(file.content.is_some() && file.variables.is_empty());
        let none = full.within(1000);
        assert!(none.content.is_none() && none.md5.is_some());
    }
}
