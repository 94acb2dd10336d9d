//! Digests of an archive's content, as `info --json` shows them.

use crate::output::text;
use nc3z_reader::{Archive, Wanted};
use serde_json::{Value, json};

/// Content digests of originals up to this length in bytes are computed: archives of small ones have none on record.
const COMPUTED: u64 = 1 << 20;

/// Digests of the content, and MD5, as they are on record; null where nothing is, and the original is too long to compute them for a look.
pub(super) fn json(archive: &Archive) -> Value {
    let record = archive.recorded_digests();
    let (mut content, mut variables, mut source) = (record.content, record.variables, "recorded");
    if content.is_none() && archive.original_len() <= COMPUTED {
        let wanted = Wanted { content: true, sha256: false, tree: false };
        // Commands that read the values report damage.
        if let Ok(digests) = archive.digests(wanted, &()) {
            (content, variables, source) = (digests.content, digests.variables, "computed");
        }
    }
    if content.is_none() && record.md5.is_none() {
        return Value::Null;
    }
    let names = archive.header().variables.iter().map(|v| text::name(&v.name));
    let variables: Vec<_> = names
        .zip(&variables)
        .map(|(name, digest)| json!({"name": name, "digest": text::hex(digest)}))
        .collect();
    json!({
        "content": content.map(|digest| text::hex(&digest)), "md5": record.md5.map(|md5| text::hex(&md5)),
        "variables": variables, "source": source,
    })
}
