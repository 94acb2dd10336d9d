//! Editions of the format (`spec/compatibility.md`): what an archive needs of a reader. `spec/editions/core-1.json` lists
//! what an archive of the core edition may hold.

use crate::codec::{ChainSpec, StageSpec};
use serde_json::Value;
use std::collections::BTreeMap;

/// The key of the metadata. Archives of the core edition have none.
const KEY: &str = "edition";

/// The edition of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Edition {
    /// All that the default writer emits: every reader of version 1 reads it.
    Core1,
    /// Chains that a user requested: a core reader may refuse their tiles.
    Extended,
    /// An edition that this program does not know, by its name.
    Other(String),
}

impl Edition {
    /// The edition of an archive with these chains.
    pub fn of<'c>(chains: impl IntoIterator<Item = &'c ChainSpec>) -> Self {
        if chains.into_iter().all(is_core) { Edition::Core1 } else { Edition::Extended }
    }

    /// The edition of an archive with these chains and these keys of the metadata.
    pub fn recorded<'c>(
        extra: &BTreeMap<String, Value>,
        chains: impl IntoIterator<Item = &'c ChainSpec>,
    ) -> Self {
        let of_chains = Edition::of(chains);
        match extra.get(KEY).and_then(Value::as_str) {
            Some(name) if name != Edition::Extended.name() && name != Edition::Core1.name() => {
                Edition::Other(name.to_owned())
            }
            Some(name) if name == Edition::Extended.name() => Edition::Extended,
            _ => of_chains,
        }
    }

    /// Its name in the metadata and in reports.
    pub fn name(&self) -> &str {
        match self {
            Edition::Core1 => "core-1",
            Edition::Extended => "extended",
            Edition::Other(name) => name,
        }
    }

    /// Records the edition in the keys of the metadata.
    pub fn record(&self, extra: &mut BTreeMap<String, Value>) {
        if *self == Edition::Core1 {
            extra.remove(KEY);
        } else {
            extra.insert(KEY.into(), self.name().into());
        }
    }
}

/// True for a chain of the core edition: at most one byte shuffle, then at most one of zstd and LZMA2, perhaps against
/// an older tile; or the numeric codec.
fn is_core(chain: &ChainSpec) -> bool {
    let ids: Vec<&str> = chain.0.iter().map(StageSpec::id).collect();
    let ids = ids.strip_prefix(&["nc3z.base"]).unwrap_or(&ids);
    let rest = ids.strip_prefix(&["shuffle"]).unwrap_or(ids);
    matches!(ids, ["nc3z.num"]) || matches!(rest, [] | ["zstd" | "lzma"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edition(json: &str) -> Edition {
        let chains = crate::codec::chains_from_json(json.as_bytes(), &crate::Limits::default()).unwrap();
        Edition::of(&chains)
    }

    #[test]
    fn only_chains_of_the_default_writer_are_core() {
        let core = r#"[[],[{"id":"zstd","level":9}],[{"id":"shuffle","elementsize":4},{"id":"zstd","level":1}],[{"id":"nc3z.num","dict":1,"ref":2}],[{"id":"nc3z.base"},{"id":"nc3z.num"}],[{"id":"nc3z.base"}]]"#;
        assert_eq!(edition(core), Edition::Core1);
        for chain in [
            r#"{"id":"zlib","level":1}"#,
            r#"{"id":"zstd","level":1},{"id":"zstd","level":1}"#,
            r#"{"id":"shuffle","elementsize":4},{"id":"nc3z.num"}"#,
            r#"{"id":"bitround","keepbits":9},{"id":"zstd","level":1}"#,
        ] {
            assert_eq!(edition(&format!("[[],[{chain}]]")), Edition::Extended, "{chain}");
        }
    }

    #[test]
    fn the_record_is_missing_for_core_and_kept_for_others() {
        let mut extra = BTreeMap::new();
        Edition::Extended.record(&mut extra);
        assert_eq!(Edition::recorded(&extra, []), Edition::Extended);
        Edition::Core1.record(&mut extra);
        assert!(extra.is_empty() && Edition::recorded(&extra, []) == Edition::Core1);
        extra.insert(KEY.into(), "core-2".into());
        assert_eq!(Edition::recorded(&extra, []).name(), "core-2");
    }
}
