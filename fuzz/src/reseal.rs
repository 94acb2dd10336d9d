//! Makes the checksums of mutated archives right, so that the parser behind them is reached.

use nc3z_format::archive::constants::{SLOT_LEN, SLOTS_AT};
use nc3z_format::archive::{PAGE_LEN, SUPERBLOCK_LEN, Salt, TRAILER_LEN};

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?)).ok()
}

fn range(bytes: &[u8], offset: usize, len: usize) -> Option<&[u8]> {
    bytes.get(offset..offset.checked_add(len)?)
}

pub(super) fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// Corrects salt, lengths and checksums of superblock, trailer, section table, sections and index pages, so that no checksum
/// detects the change. Returns false if there is nothing to correct.
pub fn reseal(bytes: &mut [u8]) -> bool {
    reseal_parts(bytes).is_some()
}

fn reseal_parts(bytes: &mut [u8]) -> Option<()> {
    let trailer = bytes.len().checked_sub(TRAILER_LEN).filter(|&at| at >= SUPERBLOCK_LEN)?;
    let original_len = u64::from_le_bytes(bytes[24..].first_chunk().copied()?);
    let (head_len, head_decoded) = (u32_at(bytes, 32)?, u32_at(bytes, 36)?);
    let head = range(bytes, SUPERBLOCK_LEN, usize::try_from(head_len).ok()?).map(<[u8]>::to_vec);
    if let Some(head) = &head {
        put(bytes, 40, &crc32fast::hash(head).to_le_bytes());
        let decoded = if head_len == head_decoded {
            Some(head.clone())
        } else {
            nc3z_format::archive::unpack(head, 1 << 20).ok()
        };
        if let Some(header) = decoded.as_deref().and_then(header_of_head) {
            let salt = Salt::of_file(header, original_len, &[0; 32]);
            // The other four bytes depend on the content. Any value is right for some content, so they stay.
            put(bytes, 16, &salt.0[..4]);
        }
    }
    let salt: [u8; 8] = bytes[16..].first_chunk().copied()?;
    let salt = Salt(salt);
    let crc = crc32fast::hash(&[&bytes[..44], &bytes[48..SLOTS_AT]].concat());
    put(bytes, 44, &crc.to_le_bytes());

    let (table, table_len) =
        (u64_at(bytes, trailer + 24)?, usize::try_from(u32_at(bytes, trailer + 32)?).ok()?);
    if range(bytes, table, table_len).is_some() && table_len <= 24 * 64 {
        for row in (table..table + table_len).step_by(24) {
            let (Some(offset), Some(len)) = (u64_at(bytes, row + 8), u64_at(bytes, row + 16)) else {
                continue;
            };
            let Some(stored) = range(bytes, offset, len) else { continue };
            if bytes[row + 2] != 2 {
                let crc = crc32fast::hash(stored);
                put(bytes, row + 4, &crc.to_le_bytes());
                continue;
            }
            for page in (offset..offset + len).step_by(PAGE_LEN) {
                let Some(content) = range(bytes, page, PAGE_LEN) else { break };
                let crc = salt.crc(page as u64, &content[4..]);
                put(bytes, page, &crc.to_le_bytes());
            }
        }
        let crc = salt.crc(table as u64, &bytes[table..table + table_len]);
        put(bytes, trailer + 36, &crc.to_le_bytes());
    }
    put(bytes, trailer + 8, &salt.0);
    put(bytes, trailer + 64, &(trailer as u64 + TRAILER_LEN as u64).to_le_bytes());
    put(bytes, trailer + 72, &original_len.to_le_bytes());
    let crc = salt.crc(trailer as u64, &bytes[trailer..trailer + 120]);
    put(bytes, trailer + 120, &crc.to_le_bytes());
    for at in [SLOTS_AT, SLOTS_AT + SLOT_LEN] {
        if bytes[at..at + SLOT_LEN] == [0; SLOT_LEN] {
            continue;
        }
        // Half of them name this trailer.
        if bytes[at + 16].is_multiple_of(2) {
            let generation = *bytes[trailer + 4..].first_chunk::<4>()?;
            put(bytes, at, &generation);
            put(bytes, at + 4, &crc.to_le_bytes());
            put(bytes, at + 8, &(trailer as u64 + TRAILER_LEN as u64).to_le_bytes());
        }
        let own = salt.crc(at as u64, &bytes[at..at + SLOT_LEN - 4]);
        put(bytes, at + SLOT_LEN - 4, &own.to_le_bytes());
    }
    Some(())
}

/// The header bytes inside a decoded head copy: a varint length, then the bytes.
fn header_of_head(head: &[u8]) -> Option<&[u8]> {
    let mut len = 0usize;
    for (i, &b) in head.iter().enumerate().take(4) {
        len |= usize::from(b & 0x7F) << (7 * i);
        if b & 0x80 == 0 {
            return range(head, i + 1, len);
        }
    }
    None
}
