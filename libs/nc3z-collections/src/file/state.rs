//! The current state of a variable's fragments, for caches: an entry must not be used after a fragment
//! changed.

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
    /// Returns a digest that changes with the fragments of a variable. It covers path, length and time of
    /// files on disk, and of other fragments the name and the stored fingerprint. None where the variable is
    /// not aggregated. Fragments of fragments are not included.
    ///
    /// # Errors
    /// The description of the fragments is malformed.
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

    /// The archive that the aggregation is stored in, if any.
    pub fn archive(&self) -> Option<&nc3z_reader::Archive> {
        self.fragments().own().archive()
    }
}
