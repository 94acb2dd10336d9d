//! Digests of files: computed or stored, as lines of a list, and lists checked. Roots of files and of collections.

mod check;
mod line;
mod root;

pub use check::{CheckPolicy, Checked, Listed, NotAList, check, read_list};
pub(crate) use line::unhex;
pub use line::{Line, Subject, other_name, parse};
pub use root::{RootPart, Rooted, Rooting};

use nc3z_format::bytes::hex;
use nc3z_look::text;
use nc3z_reader::{Dataset, Digest, DigestRequest, Digests, Monitor, Result};
use serde_json::{Value, json};
use std::path::Path;

/// The digests of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDigests {
    /// The length of the original in bytes.
    pub len: u64,
    /// The digest that an archive stores; none for a classic file.
    pub recorded: Option<Digest>,
    /// None if only the stored digest was requested.
    pub computed: Option<Digests>,
    /// False if the digests are the stored ones, and nothing was decoded.
    pub is_computed: bool,
    /// The names of the variables, if their digests were requested.
    pub names: Vec<Vec<u8>>,
}

impl FileDigests {
    /// Returns the stored digest of an archive. None for a classic file.
    pub fn recorded(dataset: &Dataset) -> Option<Self> {
        let archive = dataset.archive()?;
        let (len, recorded) = (archive.original_len(), Some(archive.digest()));
        Some(FileDigests { len, recorded, computed: None, is_computed: false, names: Vec::new() })
    }

    /// Returns the wanted digests as the archive stores them. None if one of them has to be computed.
    pub fn on_record(dataset: &Dataset, wanted: DigestRequest, variables: bool) -> Option<Self> {
        let digests = dataset.archive()?.digests_on_record(wanted, variables)?;
        Some(Self::with(dataset, digests, variables, false))
    }

    /// Computes the wanted digests from all of the file.
    ///
    /// # Errors
    /// Damage; a SHA-256 that differs from the recorded one; a cancelled monitor.
    pub fn compute(
        dataset: &Dataset,
        wanted: DigestRequest,
        variables: bool,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        Ok(Self::with(dataset, dataset.digests(wanted, monitor)?, variables, true))
    }

    fn with(dataset: &Dataset, digests: Digests, variables: bool, is_computed: bool) -> Self {
        let shown = dataset.header().variables.iter().filter(|_| variables);
        FileDigests {
            len: digests.len,
            recorded: dataset.archive().map(nc3z_reader::Archive::digest),
            computed: Some(digests),
            is_computed,
            names: shown.map(|v| v.name.clone()).collect(),
        }
    }

    /// Returns the lines of a list of digests. A stored digest is a line only if it is valid.
    pub fn lines(&self, file: &Path) -> Vec<Line> {
        let line = |subject, digest| Line { subject, file: file.to_owned(), digest };
        let Some(computed) = &self.computed else {
            let Some(Digest::Sha256(digest)) = self.recorded else { return Vec::new() };
            return vec![line(Subject::Original, digest)];
        };
        let sha256 = if self.recorded.is_some() { Subject::Original } else { Subject::File };
        let content = computed.content.map(|content| line(Subject::Content, content));
        let sha256 = computed.sha256.map(|digest| line(sha256, digest));
        let variables = self.names.iter().zip(&computed.variables);
        let variables = variables.map(|(name, digest)| line(Subject::Variable(name.clone()), *digest));
        content.into_iter().chain(sha256).chain(variables).collect()
    }

    /// Returns the digests of the file `name` as JSON.
    pub fn to_json(&self, name: &str) -> Value {
        let digits = |digest: Option<[u8; 32]>| digest.map(|digest| hex(&digest));
        let computed = self.computed.as_ref();
        let digests = computed.map_or(&[][..], |c| &c.variables);
        let variables = self.names.iter().zip(digests);
        let variables =
            variables.map(|(name, digest)| json!({"name": text::name(name), "digest": hex(digest)}));
        json!({
            "file": name,
            "kind": if self.recorded.is_some() { "archive" } else { "classic" },
            "original_bytes": self.len,
            "content": digits(computed.and_then(|c| c.content)),
            "sha256": digits(computed.and_then(|c| c.sha256)),
            "computed": self.is_computed,
            "recorded_sha256": digits(self.recorded.and_then(Digest::sha256)),
            "digest_state": self.recorded.map(Digest::state),
            "variables": variables.collect::<Vec<_>>(),
        })
    }
}
