//! Digests of a source, computed before its archive is written, and the check that the archive restores it.

use crate::error::{ErrorKind, Result};
use crate::options::WriterOptions;
use crate::plan::WHOLE;
use md5::Md5;
use nc3z_format::digest::DigestRecord;
use nc3z_reader::source::ByteSource;
use nc3z_reader::{Archive, ClassicFile, DigestRequest, Monitor};
use sha2::digest::Output;
use sha2::{Digest, Sha256};
use twox_hash::XxHash3_128;

/// Bytes that are hashed at a time.
const HASH_LEN: usize = 1 << 20;

/// Digests of a source: the SHA-256 that every archive has, and those recorded in its metadata.
pub(crate) struct SourceDigests {
    pub(crate) sha256: [u8; 32],
    pub(crate) record: DigestRecord,
    /// XXH3 of the same bytes, for the comparison after writing. It takes 1/15 of the time of another
    /// SHA-256, and it detects faults, not attacks.
    quick: Option<u128>,
}

/// A monitor that reports no progress.
struct Silent<'a>(&'a dyn Monitor);

impl Monitor for Silent<'_> {
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

impl SourceDigests {
    /// Reads the source once, and once more for an MD5.
    pub(crate) fn new(classic: &ClassicFile, options: &WriterOptions, monitor: &dyn Monitor) -> Result<Self> {
        let source = &**classic.source();
        let mut record = DigestRecord::default();
        if options.record_md5 {
            record.md5 = Some(hash_by::<Md5>(source, monitor)?.into());
        }
        // Variables that overlap others would each be read once more.
        let is_read_once = classic.layout().variables.iter().all(|v| v.owned || v.present == 0);
        if !options.record_content || source.len() <= WHOLE || !is_read_once {
            return Ok(SourceDigests { sha256: hash(source, monitor)?, record, quick: None });
        }
        let wanted = DigestRequest { content: true, sha256: true, tree: false };
        let mut quick = XxHash3_128::new();
        let digests = classic.digests_with(wanted, &mut |bytes| quick.write(bytes), &Silent(monitor))?;
        record.content = digests.content;
        record.variables = digests.variables;
        let sha256 = digests.sha256.expect("it was wanted");
        Ok(SourceDigests { sha256, record, quick: Some(quick.finish_128()) })
    }

    /// Digests of a source for which only the SHA-256 is known.
    pub(crate) fn of_sha256(sha256: [u8; 32]) -> Self {
        SourceDigests { sha256, record: DigestRecord::default(), quick: None }
    }

    /// True if the archive restores the bytes that were hashed. Compares 128-bit XXH3 if the source has one,
    /// otherwise SHA-256.
    pub(crate) fn are_of(&self, archive: &Archive, monitor: &dyn Monitor) -> Result<bool> {
        let (mut quick, mut sha) = (XxHash3_128::new(), Sha256::new());
        archive.restore_into(monitor, &mut |_, bytes: &[u8]| -> Result<()> {
            if self.quick.is_some() {
                quick.write(bytes);
            } else {
                sha.update(bytes);
            }
            Ok(())
        })?;
        Ok(match self.quick {
            Some(expected) => quick.finish_128() == expected,
            None => sha.finalize().as_slice() == self.sha256,
        })
    }
}

/// SHA-256 of all bytes of a source.
pub(crate) fn hash(source: &dyn ByteSource, monitor: &dyn Monitor) -> Result<[u8; 32]> {
    Ok(hash_by::<Sha256>(source, monitor)?.into())
}

fn hash_by<D: Digest>(source: &dyn ByteSource, monitor: &dyn Monitor) -> Result<Output<D>> {
    let mut sha = D::new();
    let mut buffer = vec![0; HASH_LEN];
    let mut at = 0;
    while at < source.len() {
        if monitor.is_cancelled() {
            return Err(ErrorKind::Interrupted.into());
        }
        let n = usize::try_from(source.len() - at).map_or(HASH_LEN, |n| n.min(HASH_LEN));
        source.read_into(at, &mut buffer[..n])?;
        sha.update(&buffer[..n]);
        at += n as u64;
    }
    Ok(sha.finalize())
}
