//! Writes PNG. The crate for PNG would bring a second implementation of deflate into the tool. Pictures need
//! only this part of the format (ISO/IEC 15948).

use crate::{Error, Result};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write;

/// Encodes pixels of three or four bytes each.
pub(super) fn encode(width: u32, height: u32, pixels: &[u8], with_alpha: bool) -> Result<Vec<u8>> {
    let colour: u8 = if with_alpha { 6 } else { 2 };
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = Vec::new();
    header.extend(width.to_be_bytes());
    header.extend(height.to_be_bytes());
    // Eight bits, deflate, the only set of filters, no interlacing.
    header.extend([8, colour, 0, 0, 0]);
    chunk(&mut out, *b"IHDR", &header)?;
    let row = width as usize * if with_alpha { 4 } else { 3 };
    let mut deflated = ZlibEncoder::new(Vec::new(), Compression::default());
    for line in pixels.chunks_exact(row.max(1)) {
        // Filter 0: bytes are unchanged.
        deflated.write_all(&[0]).and_then(|()| deflated.write_all(line)).map_err(Error::drawing)?;
    }
    chunk(&mut out, *b"IDAT", &deflated.finish().map_err(Error::drawing)?)?;
    chunk(&mut out, *b"IEND", &[])?;
    Ok(out)
}

/// Writes a chunk: length, name, bytes, and their CRC.
fn chunk(out: &mut Vec<u8>, name: [u8; 4], bytes: &[u8]) -> Result<()> {
    let len = u32::try_from(bytes.len()).map_err(Error::drawing)?;
    out.extend(len.to_be_bytes());
    let begin = out.len();
    out.extend(name);
    out.extend(bytes);
    let crc = crc32fast::hash(&out[begin..]);
    out.extend(crc.to_be_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_those_of_the_standard() {
        let png = encode(2, 1, &[1, 2, 3, 4, 5, 6], false).unwrap();
        assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
        assert_eq!(&png[8..16], b"\0\0\0\x0dIHDR");
        // The end of every PNG, as the standard prints it.
        assert!(png.ends_with(b"\0\0\0\0IEND\xae\x42\x60\x82"));
    }
}
