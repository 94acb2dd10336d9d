//! Compares digests of the restored bytes with the recorded ones.

use super::{DigestRequest, Stream, finish};
use crate::archive::Archive;
use crate::error::{Error, ErrorKind, Result};
use crate::monitor::Monitor;
use crate::restore::RestoreReport;
use nc3z_format::Error as FormatError;
use nc3z_format::bytes::hex;
use nc3z_format::digest::DigestRecord;

impl Archive {
    /// Compares a SHA-256 of the restored bytes with the recorded one. Returns false if none is recorded.
    ///
    /// # Errors
    /// The recorded digest differs.
    pub fn check_recorded(&self, found: &[u8; 32]) -> Result<bool> {
        let Some(expected) = self.digest().sha256() else { return Ok(false) };
        if expected != *found {
            return Err(ErrorKind::Digest { expected: hex(&expected), found: hex(found) }.into());
        }
        Ok(true)
    }

    /// Compares the SHA-256 of the restored bytes, unless some are fill values, and stores whether it was recorded.
    pub(in crate::restore) fn check_digest(&self, mut restored: RestoreReport) -> Result<RestoreReport> {
        if !self.filled().is_empty() {
            // The file is not the original, and the archive does not say it is.
            return Ok(restored);
        }
        restored.matches_record = self.check_recorded(&restored.sha256)?;
        Ok(restored)
    }

    /// Compares the content digests, which are complete, with the recorded ones.
    pub(in crate::restore) fn check_content(
        &self,
        stream: Stream<'_>,
        recorded: &DigestRecord,
        monitor: &dyn Monitor,
    ) -> Result<()> {
        let wanted = DigestRequest { content: true, sha256: false, tree: false };
        let found = finish(stream, self.header(), self.layout(), &self.original(), wanted, monitor)?;
        let variables = self.header().variables.iter().zip(recorded.variables.iter().zip(&found.variables));
        for (variable, (expected, found)) in variables {
            if expected != found {
                let name = String::from_utf8_lossy(&variable.name);
                return Err(differs(
                    &format!("content digest of `{}`", name.escape_debug()),
                    expected,
                    found,
                ));
            }
        }
        match (&recorded.content, &found.content) {
            (Some(expected), Some(found)) if expected != found => {
                Err(differs("content digest", expected, found))
            }
            _ => Ok(()),
        }
    }
}

/// The error for a recorded digest that differs from that of the restored bytes.
pub(in crate::restore) fn differs(what: &str, expected: &[u8], found: &[u8]) -> Error {
    FormatError::corrupt(
        "rebuilt original",
        None,
        "digest on record",
        format!("{what} {}", hex(expected)),
        hex(found),
    )
    .into()
}
