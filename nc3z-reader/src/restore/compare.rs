//! Compares the original with a file, without writing it.

use crate::archive::Archive;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::platform::read_exact_at;
use std::fs::File;
use std::path::Path;

/// Bytes that are compared at a time.
const STEP: usize = 1 << 20;

/// The first difference between an archive's original and a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OriginalDifference {
    /// The files have different lengths.
    Length {
        /// Bytes of the file.
        file: u64,
        /// Bytes of the original.
        original: u64,
    },
    /// The bytes at this offset differ.
    Byte(u64),
}

/// The reason why the comparison stopped.
enum Stop {
    Differs(u64),
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(e: Error) -> Self {
        Stop::Failed(e)
    }
}

impl Archive {
    /// Rebuilds the original and compares it with a file, byte by byte. Returns the first difference; none if they are equal.
    ///
    /// # Errors
    /// Damage of the archive, an error of the file, a cancelled monitor. Errors name the file `name`.
    pub fn compare_original(
        &self,
        file: &File,
        name: &Path,
        monitor: &dyn Monitor,
    ) -> Result<Option<OriginalDifference>> {
        let failed = |what| move |e| Error::io(what, Some(name), e);
        let (len, original) =
            (file.metadata().map_err(failed("read the length of"))?.len(), self.original_len());
        if len != original {
            return Ok(Some(OriginalDifference::Length { file: len, original }));
        }
        let mut read = |at: u64, out: &mut [u8]| read_exact_at(file, out, at).map_err(failed("read"));
        Ok(self.first_difference(&mut read, monitor)?.map(OriginalDifference::Byte))
    }

    /// Rebuilds the original and compares it with bytes that `read` reads from an offset on. Returns the offset of the first
    /// difference; none if all are equal.
    ///
    /// # Errors
    /// Damage of the archive, errors of `read`, a cancelled monitor.
    pub fn first_difference(
        &self,
        read: &mut (dyn FnMut(u64, &mut [u8]) -> Result<()> + Send),
        monitor: &dyn Monitor,
    ) -> Result<Option<u64>> {
        let mut buffer = vec![0; STEP];
        let compared = self.restore_into(monitor, &mut |at: u64, bytes: &[u8]| {
            for (at, part) in (at..).step_by(STEP).zip(bytes.chunks(STEP)) {
                let other = &mut buffer[..part.len()];
                read(at, other)?;
                if let Some(i) = other.iter().zip(part).position(|(a, b)| a != b) {
                    return Err(Stop::Differs(at + i as u64));
                }
            }
            Ok(())
        });
        match compared {
            Ok(()) => Ok(None),
            Err(Stop::Differs(at)) => Ok(Some(at)),
            Err(Stop::Failed(e)) => Err(e),
        }
    }
}
