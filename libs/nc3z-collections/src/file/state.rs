//! The current state of fragments, for caches: an entry must not be used after a fragment changed.

use super::Aggregation;
use crate::error::{Error, Result};
use crate::fragments::Fragments;
use nc3z_format::bytes::hex;
use nc3z_format::classic::VarId;
use nc3z_reader::platform::inode_changed;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::UNIX_EPOCH;

impl Fragments {
    /// Returns a digest that changes with these fragments, each with the fingerprint that is stored for it. It covers path, length and
    /// times of files on disk, and of other fragments the name and the stored fingerprint. Fragments of fragments are not included.
    ///
    /// # Errors
    /// A file exists and cannot be looked at.
    pub fn state(&self, uris: &BTreeSet<(String, Option<String>)>) -> Result<[u8; 32]> {
        let mut digest = Sha256::new();
        for (uri, fingerprint) in uris {
            let mut words = format!("{uri}\n{}\n", fingerprint.as_deref().unwrap_or_default());
            if let Ok(path) = self.path(uri, true) {
                let status = path.metadata().map_err(|e| Error::io(&path, e))?;
                let time = status.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
                let (nanoseconds, changed) = (time.map_or(0, |t| t.as_nanos()), inode_changed(&status));
                let _ = write!(words, "{}\n{}\n{nanoseconds}\n{changed:?}\n", path.display(), status.len());
            }
            digest.update(words.as_bytes());
        }
        Ok(digest.finalize().into())
    }
}

impl Aggregation {
    /// Returns a digest that changes with the fragments of a variable ([`Fragments::state`]). None where the variable is not
    /// aggregated.
    ///
    /// # Errors
    /// The description of the fragments is malformed.
    pub fn fragments_state(&self, var: VarId) -> Result<Option<String>> {
        let Some((_, master)) = self.master(var) else { return Ok(None) };
        let mut uris = BTreeSet::new();
        master.add_uris(&mut uris)?;
        Ok(Some(hex(&self.fragments().state(&uris)?)))
    }

    /// The archive that the aggregation is stored in, if any.
    pub fn archive(&self) -> Option<&nc3z_reader::Archive> {
        self.fragments().own().archive()
    }
}
