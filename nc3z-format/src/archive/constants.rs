//! Numbers that never change within a major version.

/// The archive's first bytes.
pub const MAGIC: [u8; 8] = [0x89, b'N', b'C', b'3', b'Z', 0x0D, 0x0A, 0x1A];
/// Major version, the ninth byte: another one is refused.
pub const MAJOR_VERSION: u8 = 1;
/// Minor version that is written; any is read.
pub const MINOR_VERSION: u16 = 0;
/// The last commit that reads and writes archives of major version 0, those of development builds.
pub const LAST_OF_VERSION_0: &str = "6c620646477a";
/// Bytes of the superblock.
pub const SUPERBLOCK_LEN: usize = 160;
/// Offset of the head copy. No block, page, section or trailer precedes it.
pub const HEAD_OFFSET: u64 = SUPERBLOCK_LEN as u64;
/// Everything in an archive starts on a multiple of this.
pub const ALIGN: u64 = 8;
/// Bytes of the superblock before its text.
pub const SUPERBLOCK_TEXT_AT: usize = 48;
/// Offset of the two commit slots, the last bytes of the superblock.
pub const SLOTS_AT: usize = 112;
/// Bytes of a commit slot.
pub const SLOT_LEN: usize = 24;
/// Bytes of the trailer.
pub const TRAILER_LEN: usize = 128;
/// The trailer's first bytes.
pub const TRAILER_MARKER: [u8; 4] = [0xB1, b'N', b'C', b't'];
/// The archive's last bytes.
pub const END_MARKER: [u8; 4] = [b'C', b'Z', 0x0D, 0x0A];
/// A block header's first bytes.
pub const BLOCK_MARKER: [u8; 4] = [0xB1, b'N', b'C', b'b'];
/// Bytes of a block header.
pub const BLOCK_HEADER_LEN: usize = 44;
/// Largest number of decoded bytes of a block.
pub const MAX_DECODED_LEN: u32 = 1 << 30;
/// Largest number of stored bytes of a block.
pub const MAX_STORED_LEN: u32 = (1 << 30) + (1 << 20);
/// Bytes of an index entry.
pub const ENTRY_LEN: usize = 24;
/// Bytes of an index page.
pub const PAGE_LEN: usize = 4096;
/// Bytes of a page before its entries.
pub const PAGE_HEADER_LEN: usize = 24;
/// Entries of a full leaf.
pub const LEAF_ENTRIES: u64 = 169;
/// Children of a full page above the leaves.
pub const FANOUT: u64 = 509;
/// Arrays of at most this many tiles have their entries in the variable table.
pub const INLINE_MAX: u64 = 32;
/// Bytes of a row of the variable table.
pub const ROW_LEN: usize = 20;
/// Bytes of an entry of the section table.
pub const SECTION_ENTRY_LEN: usize = 24;
/// Required features that this build understands.
pub const KNOWN_REQUIRED: u32 = REQUIRED_LOSSY | REQUIRED_LOST | REQUIRED_LATER_HEAD;
/// Required feature: values were quantized before they were stored.
pub const REQUIRED_LOSSY: u32 = 1;
/// Required feature: tiles are lost.
pub const REQUIRED_LOST: u32 = 2;
/// Required feature: this generation has its own head.
pub const REQUIRED_LATER_HEAD: u32 = 4;

/// Readable text among the archive's first bytes.
pub const TEXT: &str = "\nnetCDF in nc3z\nnc3z restore FILE\nFormat: nc3z spec/archive.md\n\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_change_these_constants() {
        assert_eq!(MAGIC, *b"\x89NC3Z\r\n\x1a");
        assert_eq!((SUPERBLOCK_LEN, TRAILER_LEN, BLOCK_HEADER_LEN, PAGE_LEN), (160, 128, 44, 4096));
        assert_eq!((HEAD_OFFSET, ALIGN), (160, 8));
        assert_eq!((ENTRY_LEN, ROW_LEN, SECTION_ENTRY_LEN), (24, 20, 24));
        assert_eq!((LEAF_ENTRIES, FANOUT, INLINE_MAX), (169, 509, 32));
        assert!(PAGE_HEADER_LEN as u64 + LEAF_ENTRIES * ENTRY_LEN as u64 <= PAGE_LEN as u64);
        assert_eq!(PAGE_HEADER_LEN as u64 + FANOUT * 8, PAGE_LEN as u64);
        assert_eq!(TEXT.len(), SLOTS_AT - SUPERBLOCK_TEXT_AT);
        assert_eq!(SLOTS_AT + 2 * SLOT_LEN, SUPERBLOCK_LEN);
    }

    #[test]
    fn specification_has_the_same_numbers() {
        let spec = include_str!("../../../spec/archive.md");
        for text in [
            "### Superblock (160 bytes at offset 0)",
            "A block is 44 bytes of header",
            "**Page** (4096 bytes)",
            "## 7. Trailer (128 bytes",
            "at most 169); above: `count` page offsets, u64 (at most 509)",
            "at most 32 tiles are stored in the variable table",
            "`89 4E 43 33 5A 0D 0A 1A`",
            "`B1 4E 43 62`",
            "`B1 4E 43 74`",
        ] {
            assert!(spec.contains(text), "spec/archive.md lacks: {text}");
        }
    }
}
