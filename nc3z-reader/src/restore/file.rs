//! The original written to a file: sparse where it is zero.

use super::RestoreReport;
use crate::archive::Archive;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::platform::write_all_at;
use std::fs::File;
use std::io;
use std::path::Path;

/// Runs of zeros this long, at multiples of it, become holes.
const HOLE_LEN: usize = 64 << 10;

impl Archive {
    /// Writes the original into an empty file, with holes for long runs of zeros. `path` is for messages.
    ///
    /// # Errors
    /// Damage, lost tiles ([`Archive::require_whole`]), a digest that differs from the recorded one, an error of the system, a
    /// cancelled monitor. The file's content is then of no use.
    pub fn restore_to_file(&self, file: &File, path: &Path, monitor: &dyn Monitor) -> Result<RestoreReport> {
        self.require_whole()?;
        let io = |e| Error::io("write", Some(path), e);
        let restored =
            self.digest_windows(monitor, &mut |at, bytes| write_sparse(file, at, bytes).map_err(io))?;
        file.set_len(restored.len).map_err(io)?;
        self.check_digest(restored)
    }
}

/// Writes all but the zero parts; the caller sets the length at the end.
fn write_sparse(file: &File, at: u64, bytes: &[u8]) -> io::Result<()> {
    let mut pending = 0;
    let mut pos = 0;
    // Cut at file offsets that are multiples of HOLE_LEN, so that holes are whole pages of the file system.
    let lead = usize::try_from(at.next_multiple_of(HOLE_LEN as u64) - at).expect("less than HOLE_LEN");
    while pos < bytes.len() {
        let end = (if pos < lead { lead } else { pos + HOLE_LEN }).min(bytes.len());
        // At both ends the rest of the run may be in another window.
        let is_run = end - pos == HOLE_LEN || pos == 0 || end == bytes.len();
        if is_run && is_zero(&bytes[pos..end]) {
            write_all_at(file, &bytes[pending..pos], at + pending as u64)?;
            pending = end;
        }
        pos = end;
    }
    write_all_at(file, &bytes[pending..], at + pending as u64)
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.chunks(4096).all(|c| c.iter().fold(0, |a, b| a | b) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_writes_give_the_same_bytes() {
        let mut bytes = vec![0u8; 300_000];
        bytes[100_000] = 1;
        bytes[299_999] = 2;
        for split in [0, 1, 65_536, 70_000, 131_072, 299_999] {
            let file = tempfile::tempfile().unwrap();
            write_sparse(&file, 0, &bytes[..split]).unwrap();
            write_sparse(&file, split as u64, &bytes[split..]).unwrap();
            file.set_len(bytes.len() as u64).unwrap();
            let mut back = vec![9; bytes.len()];
            crate::platform::read_exact_at(&file, &mut back, 0).unwrap();
            assert!(back == bytes, "split at {split}");
        }
    }
}
