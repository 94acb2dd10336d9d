//! Digests of an archive's content.

use crate::text;
use nc3z_format::bytes::hex;
use nc3z_reader::{Archive, DigestRequest};
use serde_json::{Value, json};

/// The maximal length of an original in bytes for which content digests are computed: archives of small files
/// do not store them.
const COMPUTED: u64 = 1 << 20;

/// Returns the digests of the content, and MD5, as stored. They are null if they are not stored and the
/// original is too long to compute them here.
pub(super) fn json(archive: &Archive) -> Value {
    let record = archive.recorded_digests();
    let (mut content, mut variables, mut source) = (record.content, record.variables, "recorded");
    if content.is_none() && archive.original_len() <= COMPUTED {
        let wanted = DigestRequest { content: true, sha256: false, tree: false };
        // Damage is reported by commands that read the values.
        if let Ok(digests) = archive.digests(wanted, &()) {
            (content, variables, source) = (digests.content, digests.variables, "computed");
        }
    }
    if content.is_none() && record.md5.is_none() {
        return Value::Null;
    }
    let names = archive.header().variables.iter().map(|v| text::name(&v.name));
    let variables: Vec<_> =
        names.zip(&variables).map(|(name, digest)| json!({"name": name, "digest": hex(digest)})).collect();
    json!({
        "content": content.map(|digest| hex(&digest)), "md5": record.md5.map(|md5| hex(&md5)),
        "variables": variables, "source": source,
    })
}
