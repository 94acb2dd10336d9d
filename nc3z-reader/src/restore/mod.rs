//! Restores the original file from an archive: as a stream of windows, as any range, as a byte source, or
//! written out with its digest compared.

mod ahead;
mod chunks;
mod columns;
#[cfg(feature = "fs")]
mod compare;
mod digest;
#[cfg(feature = "fs")]
mod file;
mod original;
mod part;
mod range;
mod retained_tiles;
mod stream;
mod window;

#[cfg(feature = "fs")]
pub use compare::OriginalDifference;
pub use digest::{DigestRequest, Digests};
pub use original::OriginalSource;
pub use stream::RestoreStream;

use crate::archive::Archive;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use digest::{Stream, differs};
use md5::Md5;
use nc3z_format::Error as FormatError;
use nc3z_format::archive::constants::REQUIRED_LOST;
use nc3z_format::damage::LOST;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// The facts that a restore has checked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestoreReport {
    /// Bytes of the original.
    pub len: u64,
    /// SHA-256 of the rebuilt bytes.
    pub sha256: [u8; 32],
    /// True if the archive has a recorded digest and it is equal.
    pub matches_record: bool,
}

impl Archive {
    /// Writes the original to a stream.
    ///
    /// # Errors
    /// Damage, lost tiles ([`Archive::require_whole`]), a digest that differs from the recorded one, an error of the stream, a
    /// cancelled monitor. The bytes written so far are then of no use.
    pub fn restore_to_stream(
        &self,
        out: &mut (dyn Write + Send),
        monitor: &dyn Monitor,
    ) -> Result<RestoreReport> {
        self.restore_to_named(out, None, monitor)
    }

    /// Writes the original to a device that accepts a stream ([`takes_stream`](crate::platform::takes_stream)).
    ///
    /// # Errors
    /// As [`Archive::restore_to_stream`]; errors of the device name it.
    pub fn restore_to_device(&self, device: &Path, monitor: &dyn Monitor) -> Result<RestoreReport> {
        let opened = File::options().write(true).open(device);
        let mut opened = opened.map_err(|e| Error::io("open", Some(device), e))?;
        self.restore_to_named(&mut opened, Some(device), monitor)
    }

    fn restore_to_named(
        &self,
        out: &mut (dyn Write + Send),
        name: Option<&Path>,
        monitor: &dyn Monitor,
    ) -> Result<RestoreReport> {
        self.require_whole()?;
        let io = |e| Error::io("write to", name, e);
        let restored = self.digest_windows(monitor, &mut |_, bytes| out.write_all(bytes).map_err(io))?;
        out.flush().map_err(io)?;
        self.check_digest(restored)
    }

    /// Restores the original and discards it: the most thorough check. Recorded digests of the content are
    /// compared too. An archive that holds lost tiles by its trailer alone is checked as well.
    ///
    /// # Errors
    /// Damage, lost tiles, a digest that differs from a recorded one, a cancelled monitor.
    pub fn check_original(&self, monitor: &dyn Monitor) -> Result<RestoreReport> {
        let recorded = self.recorded_digests();
        let has_content = recorded.content.is_some() || !recorded.variables.is_empty();
        let has_filled = !self.filled().is_empty();
        let mut content = (has_content && !has_filled)
            .then(|| Stream::new(self.layout(), DigestRequest { content: true, sha256: false, tree: false }))
            .transpose()?;
        let mut md5 = recorded.md5.filter(|_| !has_filled).map(|_| Md5::new());
        let restored = self.digest_windows(monitor, &mut |at, bytes| {
            if let Some(content) = &mut content {
                content.feed(at, bytes);
            }
            if let Some(md5) = &mut md5 {
                md5.update(bytes);
            }
            Ok(())
        })?;
        let restored = self.check_digest(restored)?;
        if let Some(stream) = content {
            self.check_content(stream, &recorded, monitor)?;
        }
        match (md5.map(|md5| <[u8; 16]>::from(md5.finalize())), recorded.md5) {
            (Some(found), Some(expected)) if found != expected => Err(differs("MD5", &expected, &found)),
            _ => Ok(restored),
        }
    }

    /// Refuses an archive that holds lost tiles by its trailer, unless fill values are requested. The trailer counts even if no tile
    /// is lost.
    ///
    /// # Errors
    /// Tiles were lost before the archive was repaired.
    pub fn require_whole(&self) -> Result<()> {
        // spec/conformance.md, rule S5.
        if self.trailer().required & REQUIRED_LOST == 0 || self.inner.store.fills.is_some() {
            return Ok(());
        }
        let found = format!("partly {LOST} it was repaired");
        Err(FormatError::corrupt("archive", None, "content", "whole", found).into())
    }

    /// Passes the original's bytes to `sink` and returns their SHA-256. Does not call [`Archive::require_whole`]: a check rebuilds
    /// what there is.
    fn digest_windows(
        &self,
        monitor: &dyn Monitor,
        sink: &mut (dyn FnMut(u64, &[u8]) -> Result<()> + Send),
    ) -> Result<RestoreReport> {
        let mut sha = Sha256::new();
        let mut len = 0;
        self.windows_into(monitor, &mut |at, bytes: &[u8]| {
            sha.update(bytes);
            len += bytes.len() as u64;
            sink(at, bytes)
        })?;
        Ok(RestoreReport { len, sha256: sha.finalize().into(), matches_record: false })
    }
}
