//! Encodes a chunk's bytes as the codec's payload, and decodes it.

use crate::parameters::Parameters;
use nc3z_num::{Effort, ElementType, Geometry, Scratch, Width};

/// Encodes a chunk. `None` if it does not match these parameters.
pub fn encode(parameters: &Parameters, bytes: &[u8]) -> Option<Vec<u8>> {
    if parameters.chunk_len() != Some(bytes.len()) {
        return None;
    }
    let mut payload = match parameters.ty {
        ElementType::I8 | ElementType::U8 => encode_words::<u8>(parameters, bytes),
        ElementType::I16 | ElementType::U16 => encode_words::<u16>(parameters, bytes),
        ElementType::I32 | ElementType::U32 | ElementType::F32 => encode_words::<u32>(parameters, bytes),
        _ => encode_words::<u64>(parameters, bytes),
    }?;
    if parameters.checksum {
        payload.extend_from_slice(&crc32fast::hash(&payload).to_le_bytes());
    }
    Some(payload)
}

/// Decodes a payload. `None` if it is damaged.
pub fn decode(parameters: &Parameters, payload: &[u8]) -> Option<Vec<u8>> {
    let payload = if parameters.checksum {
        let (payload, stored) = payload.split_last_chunk()?;
        (crc32fast::hash(payload) == u32::from_le_bytes(*stored)).then_some(payload)?
    } else {
        payload
    };
    match parameters.ty {
        ElementType::I8 | ElementType::U8 => decode_words::<u8>(parameters, payload),
        ElementType::I16 | ElementType::U16 => decode_words::<u16>(parameters, payload),
        ElementType::I32 | ElementType::U32 | ElementType::F32 => decode_words::<u32>(parameters, payload),
        _ => decode_words::<u64>(parameters, payload),
    }
}

fn encode_words<W: Width>(parameters: &Parameters, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut words = vec![W::default(); bytes.len() / size_of::<W>()];
    W::get_le(&in_little_endian::<W>(parameters, bytes), &mut words);
    let effort = match parameters.effort {
        0 => Effort::Fast,
        1 => Effort::Default,
        _ => Effort::Max,
    };
    let geometry = Geometry::new(&parameters.shape);
    let plans = nc3z_num::choose(&[&words], parameters.ty, &geometry, effort, &[]).ok()?.plans;
    let mut scratch = Scratch::new();
    let mut best: Option<Vec<u8>> = None;
    // A dictionary would have to be stored outside the chunks.
    for plan in plans.iter().filter(|plan| plan.dictionary().is_none()).take(2) {
        let mut payload = Vec::new();
        nc3z_num::encode(&words, parameters.ty, &geometry, plan, &mut scratch, &mut payload).ok()?;
        if best.as_ref().is_none_or(|best| payload.len() < best.len()) {
            best = Some(payload);
        }
    }
    best
}

fn decode_words<W: Width>(parameters: &Parameters, payload: &[u8]) -> Option<Vec<u8>> {
    let len = parameters.chunk_len()?;
    let geometry = Geometry::new(&parameters.shape);
    let mut words: Vec<W> = Vec::new();
    words.try_reserve_exact(len / size_of::<W>()).ok()?;
    words.resize(len / size_of::<W>(), W::default());
    let mut scratch = Scratch::new();
    nc3z_num::decode(payload, parameters.ty, &geometry, None, &mut scratch, &mut words).ok()?;
    let mut bytes = Vec::with_capacity(len);
    W::put_le(&words, &mut bytes);
    Some(in_little_endian::<W>(parameters, &bytes))
}

/// Reverses the bytes of big-endian elements, in both directions.
fn in_little_endian<W: Width>(parameters: &Parameters, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if parameters.big_endian {
        bytes.chunks_exact_mut(size_of::<W>()).for_each(<[u8]>::reverse);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_come_back_in_either_order() {
        for big_endian in [false, true] {
            let mut parameters = Parameters {
                effort: 1,
                checksum: true,
                ty: ElementType::F32,
                big_endian,
                shape: vec![20, 50],
            };
            let field = (0..1000_u16).map(|i| f32::from(2731 + i % 50 + i / 50) / 10.0);
            let bytes: Vec<u8> =
                field.flat_map(|x| if big_endian { x.to_be_bytes() } else { x.to_le_bytes() }).collect();
            let payload = encode(&parameters, &bytes).unwrap();
            assert!(payload.len() < 200, "{}", payload.len());
            assert_eq!(decode(&parameters, &payload).unwrap(), bytes);
            assert_eq!(encode(&parameters, &bytes[4..]), None);
            for cut in 0..payload.len() {
                assert_eq!(decode(&parameters, &payload[..cut]), None);
            }
            for bit in 0..payload.len() * 8 {
                let mut flipped = payload.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(decode(&parameters, &flipped), None, "{bit}");
            }
            // Without the checksum, the payload is otherwise the same.
            parameters.checksum = false;
            let bare = encode(&parameters, &bytes).unwrap();
            assert_eq!(bare, payload[..payload.len() - 4]);
            assert_eq!(decode(&parameters, &bare).unwrap(), bytes);
        }
    }
}
