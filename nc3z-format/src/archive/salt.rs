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
        let mut salt = [0; 8];
        salt[..HEAD_LEN].copy_from_slice(&of_head(header, original_len));
        salt[HEAD_LEN..].copy_from_slice(&sha256[..HEAD_LEN]);
        Salt(salt)
    }

    /// Returns true if a file with this header and length can have this salt.
    pub fn fits(&self, header: &[u8], original_len: u64) -> bool {
        self.0[..HEAD_LEN] == of_head(header, original_len)
    }

    /// Returns true if the salt belongs to the file with this header, length and digest.
    pub fn confirms(&self, header: &[u8], original_len: u64, sha256: &[u8; 32]) -> bool {
        *self == Self::of_file(header, original_len, sha256)
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

/// The first bytes of `SHA-256( SHA-256(header bytes) ‖ original length )`.
fn of_head(header: &[u8], original_len: u64) -> [u8; HEAD_LEN] {
    let inner = Sha256::digest(header);
    let outer = Sha256::new().chain_update(inner).chain_update(original_len.to_le_bytes()).finalize();
    *outer.first_chunk().expect("32 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_depends_on_header_length_and_content() {
        let sha = |bytes: &[u8]| -> [u8; 32] { Sha256::digest(bytes).into() };
        let salt = Salt::of_file(b"head", 5, &sha(b"head1"));
        assert_ne!(salt, Salt::of_file(b"head", 5, &sha(b"head2")));
        assert!(salt.fits(b"head", 5) && !salt.fits(b"heat", 5) && !salt.fits(b"head", 6));
        assert!(salt.confirms(b"head", 5, &sha(b"head1")));
        assert!(!salt.confirms(b"head", 5, &sha(b"head2")));
    }
}
