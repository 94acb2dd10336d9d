//! Parses the structure of a zstd frame (RFC 8878, section 3.1.1): its header fields and its end, without decoding.

/// The header fields of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZstdFrame {
    /// Bytes of the frame, from its magic to the last block or its checksum.
    pub len: usize,
    /// Bytes of its content, if the header has this field.
    pub content_size: Option<u64>,
    /// The dictionary it needs.
    pub dictionary: Option<u32>,
    /// The descriptor byte of the frame.
    pub descriptor: u8,
}

const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

impl ZstdFrame {
    /// Parses the frame at the beginning of `bytes`.
    ///
    /// # Errors
    /// The fault: a wrong magic, a reserved bit or block type, or an end before the last block's.
    pub fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        let mut rest = bytes.strip_prefix(&MAGIC).ok_or("another magic than 28 b5 2f fd")?;
        let descriptor = number(&mut rest, 1)?.to_le_bytes()[0];
        if descriptor & 0x08 != 0 {
            return Err("a reserved bit that is set");
        }
        let single_segment = descriptor & 0x20 != 0;
        if !single_segment {
            number(&mut rest, 1)?;
        }
        let id = number(&mut rest, [0, 1, 2, 4][usize::from(descriptor & 3)])?;
        let content_size = match descriptor >> 6 {
            0 if !single_segment => None,
            0 => Some(number(&mut rest, 1)?),
            1 => Some(number(&mut rest, 2)? + 256),
            2 => Some(number(&mut rest, 4)?),
            _ => Some(number(&mut rest, 8)?),
        };
        loop {
            let block = number(&mut rest, 3)?;
            let stored = match block >> 1 & 3 {
                0 | 2 => block >> 3,
                1 => 1,
                _ => return Err("a block of a reserved type"),
            };
            let stored = usize::try_from(stored).map_err(|_| CUT)?;
            rest = rest.get(stored..).ok_or(CUT)?;
            if block & 1 == 1 {
                break;
            }
        }
        if descriptor & CHECKSUM != 0 {
            number(&mut rest, 4)?;
        }
        // An id of zero means no dictionary.
        let dictionary = u32::try_from(id).ok().filter(|id| *id > 0);
        Ok(ZstdFrame { len: bytes.len() - rest.len(), content_size, dictionary, descriptor })
    }
}

const CHECKSUM: u8 = 0x04;
const CUT: &str = "cut short";

/// The next `n` bytes, at most 8, little-endian.
fn number(rest: &mut &[u8], n: usize) -> Result<u64, &'static str> {
    let (field, after) = rest.split_at_checked(n).ok_or(CUT)?;
    *rest = after;
    Ok(field.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

#[cfg(test)]
#[cfg(feature = "zstd")]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use zstd::zstd_safe::{find_frame_compressed_size, get_dict_id_from_frame, get_frame_content_size};

    fn agrees(bytes: &[u8]) {
        let Ok(frame) = ZstdFrame::parse(bytes) else { return };
        if let Ok(len) = find_frame_compressed_size(bytes) {
            assert_eq!(frame.len, len);
            assert_eq!(get_frame_content_size(bytes).ok(), Some(frame.content_size));
            assert_eq!(get_dict_id_from_frame(bytes).map(std::num::NonZero::get), frame.dictionary);
        }
    }

    proptest! {
        #[test]
        fn frames_are_read_as_the_library_reads_them(
            content in proptest::collection::vec(0u8..4, 0..70_000), level in 1..6, bit in any::<proptest::sample::Index>(),
        ) {
            let mut frame = zstd::bulk::compress(&content, level).unwrap();
            let parsed = ZstdFrame::parse(&frame).unwrap();
            prop_assert_eq!((parsed.len, parsed.content_size), (frame.len(), Some(content.len() as u64)));
            for cut in 0..frame.len().min(50) {
                prop_assert!(ZstdFrame::parse(&frame[..cut]).is_err());
            }
            // Most flips are in the header, where every bit has a meaning.
            let bit = bit.index(frame.len().min(20) * 8);
            frame[bit / 8] ^= 1 << (bit % 8);
            agrees(&frame);
        }

        #[test]
        fn any_bytes_are_an_error_or_a_frame(header in proptest::collection::vec(any::<u8>(), 0..40)) {
            agrees(&[&MAGIC[..], &header].concat());
        }
    }
}
