//! The salt that ties every header, page and trailer to its archive and its place.

use sha2::{Digest, Sha256};

/// Bytes derived from header and length. The same number is derived from the digest.
const HEAD_LEN: usize = 4;

/// Eight bytes derived from the original: four from its header and length, four from all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Salt(pub [u8; 8]);

impl Salt {
    /// The salt of a file whose digest is known.
    pub fn of_file(header: &[u8], original_len: u64, sha256: &[u8; 32]) -> Self {
        let mut salt = Self::new(header, original_len);
        salt.0[HEAD_LEN..].copy_from_slice(&sha256[..HEAD_LEN]);
        salt
    }

    /// The salt of older archives, which depends only on header and length: the first 8 bytes of `SHA-256(
    /// SHA-256(header bytes) ‖ original length )`.
    pub fn new(header: &[u8], original_len: u64) -> Self {
        let inner = Sha256::digest(header);
        let outer = Sha256::new().chain_update(inner).chain_update(original_len.to_le_bytes()).finalize();
        let mut salt = [0; 8];
        salt.copy_from_slice(&outer[..8]);
        Salt(salt)
    }

    /// Returns true if a file with this header and length can have this salt.
    pub fn fits(&self, header: &[u8], original_len: u64) -> bool {
        self.0[..HEAD_LEN] == Self::new(header, original_len).0[..HEAD_LEN]
    }

    /// Returns true if the salt belongs to the file with this header, length and digest. `None` if the salt
    /// does not depend on the content.
    pub fn confirms(&self, header: &[u8], original_len: u64, sha256: &[u8; 32]) -> Option<bool> {
        if *self == Self::of_file(header, original_len, sha256) {
            return Some(true);
        }
        if *self == Self::new(header, original_len) { None } else { Some(false) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_depends_on_header_length_and_content_and_old_ones_say_nothing_of_that() {
        let sha = |bytes: &[u8]| -> [u8; 32] { Sha256::digest(bytes).into() };
        let salt = Salt::of_file(b"head", 5, &sha(b"head1"));
        assert_ne!(salt, Salt::of_file(b"head", 5, &sha(b"head2")));
        assert!(salt.fits(b"head", 5) && !salt.fits(b"heat", 5) && !salt.fits(b"head", 6));
        assert_eq!(salt.confirms(b"head", 5, &sha(b"head1")), Some(true));
        assert_eq!(salt.confirms(b"head", 5, &sha(b"head2")), Some(false));
        let old = Salt::new(b"head", 5);
        assert!(old.fits(b"head", 5));
        assert_eq!(old.confirms(b"head", 5, &sha(b"head1")), None);
    }
}
