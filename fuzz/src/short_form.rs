//! Archives in the short form whose directory is the input: checksum, frame and lengths around it are right, so that what is wrong
//! inside is found by what reads it.

use super::{open_and_restore, repair_and_check};
use nc3z_format::archive::short::SHORT_PREFIX_LEN;
use nc3z_format::codec::encode_zstd_frame;

/// Two bytes give the length of the directory, 32 the original's SHA-256; the directory follows, then the payloads that stand behind
/// it. The archive is opened and restored, checked and repaired.
pub fn short_form(data: &[u8]) {
    let Some((len, rest)) = data.split_first_chunk::<2>() else { return };
    let Some((sha256, rest)) = rest.split_first_chunk::<32>() else { return };
    let (directory, payloads) = rest.split_at(usize::from(u16::from_le_bytes(*len)).min(rest.len()));
    let Ok(stored) = encode_zstd_frame(directory, 1) else { return };
    let archive = sealed(&stored, sha256, payloads);
    open_and_restore(archive.clone());
    repair_and_check(&archive);
}

/// An archive in the short form around a stored directory.
fn sealed(directory: &[u8], sha256: &[u8; 32], payloads: &[u8]) -> Vec<u8> {
    let mut prefix = b"\x89NC3Z\r\n\x1a\0\x01\x01\0".to_vec();
    let len = u32::try_from(directory.len()).expect("an input is short");
    prefix.extend(len.to_le_bytes());
    prefix.extend([0; 4]);
    prefix.extend(b"netCDF in nc3z\r\n");
    prefix.extend(sha256);
    debug_assert_eq!(prefix.len(), SHORT_PREFIX_LEN);
    let crc = crc32fast::hash(&[&prefix[..16], &prefix[20..], directory].concat());
    prefix[16..20].copy_from_slice(&crc.to_le_bytes());
    [&prefix[..], directory, payloads].concat()
}
