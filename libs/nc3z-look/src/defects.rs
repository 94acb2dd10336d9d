//! Known defects of released versions, and the archives that they affect (`docs/is-my-data-safe.md`).

use nc3z_format::{Error, Result};
use nc3z_reader::Archive;
use serde_json::Value;

/// The list of this version.
const KNOWN: &str = include_str!("defects.json");

/// Major, minor and patch version of the program.
type Version = [u64; 3];

/// A defect of released versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defect {
    /// The name of the defect.
    pub id: String,
    /// The effect of the defect on an archive.
    pub about: String,
    /// The advice for an affected archive.
    pub remedy: String,
    /// The first and the last version of nc3z that has it.
    writers: [Version; 2],
    /// It affects archives with a chain that names one of these; all archives if there are none.
    chains: Vec<String>,
}

impl Defect {
    /// The defects that this version knows.
    ///
    /// # Panics
    /// The list of this program is wrong, which a test excludes.
    pub fn known() -> Vec<Defect> {
        Defect::parse(KNOWN.as_bytes()).expect("a test reads the list")
    }

    /// Reads a list: a JSON array of objects with `id`, `about`, `remedy`, `writers` (first and last version) and, if
    /// it does not affect all archives, `chains` (ids of filters and codecs).
    ///
    /// # Errors
    /// Another form.
    pub fn parse(json: &[u8]) -> Result<Vec<Defect>> {
        let wrong = |why: &str| Error::invalid(format!("list of defects: {why}"));
        let list: Value = serde_json::from_slice(json).map_err(|e| wrong(&e.to_string()))?;
        let list = list.as_array().ok_or_else(|| wrong("expected an array"))?;
        let text = |defect: &Value, key: &str| -> Result<String> {
            let found = defect.get(key).and_then(Value::as_str).map(str::to_owned);
            found.ok_or_else(|| wrong(&format!("expected a text `{key}` in {defect}")))
        };
        list.iter()
            .map(|defect| {
                let writers = match defect.get("writers").and_then(Value::as_array).map(Vec::as_slice) {
                    Some([first, last]) => {
                        [first, last].map(|v| v.as_str().and_then(version_of)).map(Option::unwrap_or_default)
                    }
                    _ => return Err(wrong(&format!("expected `writers`, two versions, in {defect}"))),
                };
                if writers[1] == Version::default() || writers[0] > writers[1] {
                    return Err(wrong(&format!("expected `writers`, two ascending versions, in {defect}")));
                }
                let chains = match defect.get("chains").map(Value::as_array) {
                    None => Vec::new(),
                    Some(ids) => ids
                        .and_then(|ids| ids.iter().map(|id| id.as_str().map(str::to_owned)).collect())
                        .ok_or_else(|| {
                            wrong(&format!("expected `chains`, an array of texts, in {defect}"))
                        })?,
                };
                let (id, about, remedy) =
                    (text(defect, "id")?, text(defect, "about")?, text(defect, "remedy")?);
                Ok(Defect { id, about, remedy, writers, chains })
            })
            .collect()
    }

    /// Returns true if this archive, or one that it was made from, was written by a version with this defect.
    pub fn affects(&self, archive: &Archive) -> bool {
        let metadata = archive.metadata();
        let before =
            metadata.lineage().iter().filter_map(|entry| entry.get("writer").and_then(Value::as_str));
        let has_defect = |writer: &str| {
            let version = writer.strip_prefix("nc3z ").and_then(version_of);
            version.is_some_and(|v| self.writers[0] <= v && v <= self.writers[1])
        };
        let mut stages = archive.chains().iter().flat_map(|chain| &chain.spec().0);
        before.chain([metadata.writer.as_str()]).any(has_defect)
            && (self.chains.is_empty() || stages.any(|stage| self.chains.iter().any(|id| id == stage.id())))
    }
}

/// Reads `1.2.3`; what follows a `-` or `+` is ignored.
fn version_of(text: &str) -> Option<Version> {
    let mut numbers = text.split(['-', '+']).next()?.split('.').map(str::parse);
    let version = [numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?];
    numbers.next().is_none().then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_this_version_can_be_read() {
        assert!(Defect::known().iter().all(|defect| !defect.id.is_empty()));
    }

    #[test]
    fn versions_are_three_numbers() {
        assert_eq!(version_of("1.20.3-rc1"), Some([1, 20, 3]));
        for bad in ["", "1.2", "1.2.x", "1.2.3.4"] {
            assert_eq!(version_of(bad), None, "{bad}");
        }
    }

    #[test]
    fn other_forms_are_refused() {
        for bad in [
            "{}",
            "[1]",
            r#"[{"id":"a","about":"b","remedy":"c"}]"#,
            r#"[{"id":"a","about":"b","remedy":"c","writers":["1.0.1","1.0.0"]}]"#,
            r#"[{"id":"a","about":"b","remedy":"c","writers":["1.0.0","1.0.1"],"chains":"zstd"}]"#,
            r#"[{"id":"a","about":"b","writers":["1.0.0","1.0.1"]}]"#,
        ] {
            assert!(Defect::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
