//! Facts of an archive that `stat` needs, and the identity of its original.

use super::attr::digest;
use nc3z_format::archive::Digest;
use nc3z_reader::Archive;

/// The identity of an original's content. Different originals have different identities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ContentId([u8; 32]);

impl ContentId {
    pub(crate) fn new(archive: &Archive, version: u64) -> Self {
        let trailer = archive.trailer();
        let state = match trailer.digest {
            Digest::Sha256(sha256) => digest(&[b"sha256", &sha256]),
            // Without a digest the generation is used: the CRC of its trailer covers everything that it
            // refers to.
            _ => digest(&[
                b"generation",
                &archive.superblock().salt.0,
                &trailer.generation.to_le_bytes(),
                &trailer.archive_len.to_le_bytes(),
                &trailer.crc().to_le_bytes(),
            ]),
        };
        ContentId(digest(&[&state, &archive.original_len().to_le_bytes(), &version.to_le_bytes()]))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The facts of an archive that `stat` needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts {
    pub(crate) len: u64,
    pub(crate) content: ContentId,
    /// Bytes that the version added to the archive.
    pub(crate) added: u64,
}
