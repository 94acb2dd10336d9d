//! Archives in the short form whose content is the input. Checksum, frame and lengths around it are right, so that the parser of the
//! content must find the errors in it.

use super::{open_and_restore, repair_and_check};
use nc3z_format::archive::short::SHORT_PREFIX_LEN;
use nc3z_format::archive::{MAJOR_VERSION, MINOR_VERSION};
use nc3z_format::codec::encode_zstd_frame;

/// Of the length: the content is a file as a whole.
const WHOLE: u16 = 1 << 15;

/// Two bytes give the length of the content, the highest bit whether it is a directory or a file as a whole; 32 are the original's SHA-256; the content
/// follows, then the payloads after it. The archive is opened and restored, checked and repaired.
pub fn short_form(data: &[u8]) {
    let Some((len, rest)) = data.split_first_chunk::<2>() else { return };
    let Some((sha256, rest)) = rest.split_first_chunk::<32>() else { return };
    let len = u16::from_le_bytes(*len);
    let form = if len & WHOLE == 0 { 1 } else { 2 };
    let (content, payloads) = rest.split_at(usize::from(len & !WHOLE).min(rest.len()));
    let Ok(stored) = encode_zstd_frame(content, 1) else { return };
    let archive = sealed(form, &stored, sha256, payloads);
    open_and_restore(archive.clone());
    repair_and_check(&archive);
}

/// An archive in the short form around a stored content.
fn sealed(form: u8, content: &[u8], sha256: &[u8; 32], payloads: &[u8]) -> Vec<u8> {
    let mut prefix = b"\x89NC3Z\r\n\x1a".to_vec();
    prefix.extend([MAJOR_VERSION, form]);
    prefix.extend(MINOR_VERSION.to_le_bytes());
    let len = u32::try_from(content.len()).expect("an input is short");
    prefix.extend(len.to_le_bytes());
    prefix.extend([0; 4]);
    prefix.extend(b"netCDF in nc3z\r\n");
    prefix.extend(sha256);
    debug_assert_eq!(prefix.len(), SHORT_PREFIX_LEN);
    let crc = crc32fast::hash(&[&prefix[..16], &prefix[20..], content].concat());
    prefix[16..20].copy_from_slice(&crc.to_le_bytes());
    [&prefix[..], content, payloads].concat()
}
