//! What the fragments of a variable are like now: for caches, whose entries must not outlive a change of a fragment.

use super::Aggregation;
use crate::error::{Error, Result};
use crate::master::FileRef;
use nc3z_format::bytes::hex;
use nc3z_format::classic::VarId;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::UNIX_EPOCH;

impl Aggregation {
    /// A digest of what tells the fragments of a variable from others of their names: of files on disk path, length and time, of others
    /// the name and what the aggregation has on record. Nothing where the variable is no aggregated one. Fragments of fragments do not
    /// count.
    ///
    /// # Errors
    /// What the aggregation says of its fragments makes no sense.
    pub fn fragments_state(&self, var: VarId) -> Result<Option<String>> {
        let Some((_, master)) = self.master(var) else { return Ok(None) };
        let mut files = BTreeSet::new();
        for n in 0..master.partitions.len() {
            let partition = master.partitions.get(n)?;
            let Some(sub) = partition.sub_array() else { continue };
            if let FileRef::Uri(uri) = &sub.file {
                files.insert((uri.clone(), sub.fingerprint.clone()));
            }
        }
        let mut digest = Sha256::new();
        for (uri, fingerprint) in files {
            let mut words = format!("{uri}\n{}\n", fingerprint.unwrap_or_default());
            if let Ok(path) = self.fragments().path(&uri, true) {
                let status = path.metadata().map_err(|e| Error::io(&path, e))?;
                let time = status.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
                let nanoseconds = time.map_or(0, |t| t.as_nanos());
                let _ = write!(words, "{}\n{}\n{nanoseconds}\n", path.display(), status.len());
            }
            digest.update(words.as_bytes());
        }
        Ok(Some(hex(&digest.finalize())))
    }

    /// The archive that the aggregation is stored in, if it is.
    pub fn archive(&self) -> Option<&nc3z_reader::Archive> {
        self.fragments().own().archive()
    }
}
