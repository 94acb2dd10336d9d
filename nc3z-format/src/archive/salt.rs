//! The salt that binds every header, page and trailer to its archive and its place.

use sha2::{Digest, Sha256};

/// First 8 bytes of a SHA-256 over the classic header and the length of the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Salt(pub [u8; 8]);

impl Salt {
    /// `SHA-256( SHA-256(header bytes) ‖ original length )`, first 8 bytes.
    pub fn new(header: &[u8], original_len: u64) -> Self {
        let inner = Sha256::digest(header);
        let outer = Sha256::new().chain_update(inner).chain_update(original_len.to_le_bytes()).finalize();
        let mut salt = [0; 8];
        salt.copy_from_slice(&outer[..8]);
        Salt(salt)
    }

    /// `crc32( salt ‖ offset ‖ bytes )`.
    pub fn crc(&self, offset: u64, bytes: &[u8]) -> u32 {
        let mut crc = crc32fast::Hasher::new();
        crc.update(&self.0);
        crc.update(&offset.to_le_bytes());
        crc.update(bytes);
        crc.finalize()
    }
}
