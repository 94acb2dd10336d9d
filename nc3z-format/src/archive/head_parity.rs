//! Parity of the head copy, for archives in which a second head copy would take too many bytes (`spec/archive.md`, section 6).

/// Bytes of a piece of the stored head copy.
const PIECE: usize = 4096;
/// Pieces for each piece of parity.
const GROUP: usize = 8;
/// Bytes of a piece's checksum.
const CRC: usize = 4;

/// The section for a stored head copy: pieces of parity, then the checksum of each piece of the head.
pub fn encode_head_parity(head: &[u8]) -> Vec<u8> {
    let groups = groups(head.len());
    let mut out = vec![0; groups * PIECE];
    for (i, piece) in head.chunks(PIECE).enumerate() {
        xor(&mut out[i % groups * PIECE..][..PIECE], piece);
    }
    head.chunks(PIECE).for_each(|piece| out.extend(crc32fast::hash(piece).to_le_bytes()));
    out
}

/// Computes damaged pieces of a stored head copy anew, at most one of each group; false where that cannot be done. Whether the head is
/// whole then is for its own checksum to tell.
pub fn repair_head(head: &mut [u8], parity: &[u8]) -> bool {
    let groups = groups(head.len());
    let pieces = head.len().div_ceil(PIECE);
    if parity.len() != groups * PIECE + pieces * CRC {
        return false;
    }
    let (parity, checks) = parity.split_at(groups * PIECE);
    let checks = checks.as_chunks::<CRC>().0.iter().map(|&crc| u32::from_le_bytes(crc));
    let damaged = |(_, (piece, crc)): &(usize, (&[u8], u32))| crc32fast::hash(piece) != *crc;
    let bad: Vec<usize> =
        head.chunks(PIECE).zip(checks).enumerate().filter(damaged).map(|(i, _)| i).collect();
    for &at in &bad {
        if bad.iter().any(|&other| other != at && other % groups == at % groups) {
            return false;
        }
        let mut whole = parity[at % groups * PIECE..][..PIECE].to_vec();
        let others = head.chunks(PIECE).enumerate().filter(|(i, _)| *i != at && i % groups == at % groups);
        others.for_each(|(_, piece)| xor(&mut whole, piece));
        let piece = head.chunks_mut(PIECE).nth(at).expect("one of its pieces");
        piece.copy_from_slice(&whole[..piece.len()]);
    }
    true
}

fn groups(len: usize) -> usize {
    len.div_ceil(PIECE * GROUP).max(1)
}

fn xor(into: &mut [u8], piece: &[u8]) {
    into.iter_mut().zip(piece).for_each(|(a, b)| *a ^= b);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(len: usize) -> Vec<u8> {
        let mut seed = 1u32;
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed.to_be_bytes()[0]
        };
        (0..len).map(|_| next()).collect()
    }

    #[test]
    fn as_many_pieces_in_a_row_as_there_are_groups_are_repaired() {
        for len in [1, 4095, 4096, 4097, 40_000, 32_768, 32_769, 125_625] {
            let (head, groups) = (head(len), groups(len));
            let parity = encode_head_parity(&head);
            assert!(parity.len() <= len / 8 + PIECE + (len / PIECE + 1) * CRC, "{len}");
            for first in 0..head.len().div_ceil(PIECE) {
                let mut bad = head.clone();
                let end = ((first + groups) * PIECE).min(len);
                bad[first * PIECE..end].iter_mut().for_each(|b| *b = !*b);
                assert!(repair_head(&mut bad, &parity), "{len}, {first}");
                assert!(bad == head, "{len}, {first}");
            }
        }
    }

    #[test]
    fn what_cannot_be_repaired_is_told_or_left_to_the_heads_checksum() {
        let head = head(100_000);
        let parity = encode_head_parity(&head);
        let groups = groups(head.len());
        let mut bad = head.clone();
        bad[0] ^= 1;
        bad[groups * PIECE] ^= 1;
        assert!(!repair_head(&mut bad, &parity));
        assert!(!repair_head(&mut bad, &parity[1..]));
        assert!(!repair_head(&mut [], &[]));
    }
}
