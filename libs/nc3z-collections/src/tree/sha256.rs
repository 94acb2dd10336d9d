//! SHA-256 of files.

use crate::tree::error::{Context as _, Result};
use nc3z_reader::Monitor;
use sha2::{Digest as _, Sha256};
use std::io::Read as _;
use std::path::Path;

/// Bytes hashed at a time.
const PIECE: usize = 1 << 20;

/// Computes the SHA-256 of a file's bytes.
///
/// # Errors
/// The file is not a regular one, or cannot be read; the monitor cancels.
pub fn sha256_of_file(path: &Path, monitor: &dyn Monitor) -> Result<[u8; 32]> {
    let mut file =
        nc3z_reader::source::open_regular(path).with_context(|| format!("open `{}`", path.display()))?;
    let (mut sha, mut buffer) = (Sha256::new(), vec![0; PIECE]);
    loop {
        if monitor.is_cancelled() {
            return Err(nc3z_reader::Error::interrupted().into());
        }
        let n = match file.read(&mut buffer) {
            Ok(0) => return Ok(sha.finalize().into()),
            Ok(n) => n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e).with_context(|| format!("read `{}`", path.display())),
        };
        sha.update(&buffer[..n]);
        monitor.advance(n as u64);
    }
}
