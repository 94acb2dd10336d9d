//! Limits on everything a file can request. `spec/conformance.md` has the same numbers; a test compares them.

/// Limits on the memory that a file may request of a reader. Counts are first compared with the remaining
/// bytes of the input, then with these limits. Only then is memory allocated.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a classic header (and so of the header copy inside an archive).
    pub header_len: u64,
    /// Bytes of one name.
    pub name_len: u64,
    /// Dimensions of one variable.
    pub rank: u64,
    /// Variables of one file.
    pub variables: u64,
    /// Decoded bytes of one tile or other block.
    pub tile_len: u64,
    /// Bytes of a padded chunk. A larger chunk is allowed up to `PADDED_MULTIPLE` times the bytes of its
    /// variable's elements.
    pub padded_len: u64,
    /// Decoded bytes of one container or constants list.
    pub container_len: u64,
    /// Decoded bytes of tiles that a rebuild of the original may have in memory at once, in addition to its windows.
    pub rebuild_len: u64,
    /// Decoded bytes of the metadata section.
    pub metadata_len: u64,
    /// Decoded bytes of the variable table.
    pub table_len: u64,
    /// Bytes of the head copy's chain table.
    pub chain_table_len: u64,
    /// Chains of one archive.
    pub chains: u64,
    /// Filters and codecs in one chain.
    pub chain_len: u64,
    /// Sections of one generation.
    pub sections: u64,
    /// Generations of one archive.
    pub generations: u64,
    /// The depth of nested arrays and objects of a JSON text.
    pub json_depth: u64,
    /// The number of values of a JSON text, nested ones included.
    pub json_values: u64,
    /// The number of keys of all objects of a JSON text.
    pub json_keys: u64,
    /// The number of tiles that one reader may replace by fill values.
    pub lost_tiles: u64,
    /// True if decoded bytes are counted, and reading stops at [`work`]. Not suitable for programs that keep
    /// an archive open.
    pub one_pass: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            header_len: 256 << 20,
            name_len: 1 << 20,
            rank: 1 << 16,
            variables: 1 << 24,
            tile_len: 1 << 30,
            padded_len: 64 << 20,
            container_len: 8 << 20,
            rebuild_len: 2 << 30,
            metadata_len: 64 << 20,
            table_len: 1 << 30,
            chain_table_len: 16 << 20,
            chains: 1 << 16,
            chain_len: 32,
            sections: 1 << 10,
            generations: 1 << 20,
            json_depth: 32,
            json_values: 1 << 22,
            json_keys: 1 << 20,
            lost_tiles: 1 << 30,
            one_pass: false,
        }
    }
}

/// A limit for an archive of a known length: a floor plus a multiple of that length.
struct Share {
    floor: u64,
    /// `multiple / per` bytes or items for each byte of the archive.
    multiple: u64,
    per: u64,
}

impl Share {
    const fn of(&self, archive_len: u64) -> u64 {
        self.floor.saturating_add((archive_len / self.per).saturating_mul(self.multiple))
    }
}

const HEADER_SHARE: Share = Share { floor: 32 << 20, multiple: 64, per: 1 };
const VARIABLES_SHARE: Share = Share { floor: 1 << 17, multiple: 1, per: 2 };
const METADATA_SHARE: Share = Share { floor: 1 << 20, multiple: 64, per: 1 };
const TABLE_SHARE: Share = Share { floor: 16 << 20, multiple: 256, per: 1 };
const JSON_VALUES_SHARE: Share = Share { floor: 1 << 20, multiple: 1, per: 1 };
const JSON_KEYS_SHARE: Share = Share { floor: 1 << 17, multiple: 1, per: 2 };
/// The index of a sound archive has 24 bytes for each tile, so this is enough unless more than two thirds of an archive are missing.
const LOST_TILES_SHARE: Share = Share { floor: 1 << 20, multiple: 1, per: 8 };
/// A padded chunk may have this many times the bytes of its variable.
const PADDED_MULTIPLE: u64 = 16;
const WORK_FLOOR: u64 = 8 << 30;
const WORK_OF_ARCHIVE: u64 = 1024;
const WORK_OF_ORIGINAL: u64 = 256;

impl Limits {
    /// Returns these limits, lowered to those that an archive of this length can need.
    ///
    /// A few KB of zstd frames can hold hundreds of MB of header or metadata, and a parsed variable takes thirty times its bytes.
    #[must_use]
    pub fn within(&self, archive_len: u64) -> Self {
        let share = |limit: u64, share: Share| limit.min(share.of(archive_len));
        Limits {
            header_len: share(self.header_len, HEADER_SHARE),
            variables: share(self.variables, VARIABLES_SHARE),
            metadata_len: share(self.metadata_len, METADATA_SHARE),
            table_len: share(self.table_len, TABLE_SHARE),
            json_values: share(self.json_values, JSON_VALUES_SHARE),
            json_keys: share(self.json_keys, JSON_KEYS_SHARE),
            lost_tiles: share(self.lost_tiles, LOST_TILES_SHARE),
            ..self.clone()
        }
    }

    /// The default for a command, which reads an archive once or a few times and ends.
    #[must_use]
    pub fn of_command() -> Self {
        Limits { one_pass: true, ..Limits::default() }
    }

    /// Largest length in bytes of a padded chunk, for a variable whose present elements have `present_len`
    /// bytes.
    pub const fn padded_chunk_len(&self, present_len: u64) -> u64 {
        let most = present_len.saturating_mul(PADDED_MULTIPLE);
        if most > self.padded_len { most } else { self.padded_len }
    }

    /// Decoded bytes of a head copy: the header, the chain table, and the tile layouts, which take no more than the header.
    pub const fn head_len(&self) -> u64 {
        self.header_len.saturating_mul(2)
    }
}

/// Bytes that one command may decode of an archive of this length, whose original has that length: tiles,
/// containers, copies of the head. Each is needed once or a few times. Without this limit a small file could
/// cost hours.
pub const fn work(archive_len: u64, original_len: u64) -> u64 {
    WORK_FLOOR
        .saturating_add(archive_len.saturating_mul(WORK_OF_ARCHIVE))
        .saturating_add(original_len.saturating_mul(WORK_OF_ORIGINAL))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::constants::{MAX_DECODED_LEN, MAX_STORED_LEN};

    #[test]
    fn a_small_archive_earns_less_and_a_large_one_all() {
        let all = Limits::default();
        let small = all.within(26_000);
        assert!(small.header_len < 35 << 20 && small.variables < 150_000 && small.metadata_len < 3 << 20);
        assert_eq!(small.tile_len, all.tile_len);
        assert_eq!(Limits { lost_tiles: all.lost_tiles, ..all.within(64 << 20) }, all);
        assert_eq!(all.within(u64::MAX), all);
        assert_eq!(work(u64::MAX, 1), u64::MAX);
        assert_eq!(work(0, 1), (8 << 30) + 256);
    }

    /// The rows of the table of limits: the quantity, the largest number, and the share for limits that depend on the archive's length.
    fn rows() -> Vec<(&'static str, u64, Option<&'static Share>)> {
        let limits = Limits::default();
        vec![
            ("bytes of a classic header", limits.header_len, Some(&HEADER_SHARE)),
            ("bytes of a name", limits.name_len, None),
            ("dimensions of a variable", limits.rank, None),
            ("variables", limits.variables, Some(&VARIABLES_SHARE)),
            ("bytes of a tile or block, decoded", limits.tile_len, None),
            ("bytes of a block, stored", MAX_STORED_LEN.into(), None),
            ("bytes of a container or constants list, decoded", limits.container_len, None),
            ("bytes of the metadata, decoded", limits.metadata_len, Some(&METADATA_SHARE)),
            ("bytes of the variable table, decoded", limits.table_len, Some(&TABLE_SHARE)),
            ("bytes of the head copy's chain table", limits.chain_table_len, None),
            ("chains", limits.chains, None),
            ("filters and codecs in a chain", limits.chain_len, None),
            ("sections of a generation", limits.sections, None),
            ("generations", limits.generations, None),
            ("JSON: arrays and objects around a value", limits.json_depth, None),
            ("JSON: values, those inside others included", limits.json_values, Some(&JSON_VALUES_SHARE)),
            ("JSON: keys of all objects", limits.json_keys, Some(&JSON_KEYS_SHARE)),
            ("lost tiles that are filled", limits.lost_tiles, Some(&LOST_TILES_SHARE)),
        ]
    }

    #[test]
    fn the_specification_has_the_same_numbers() {
        let text = include_str!("../../spec/conformance.md");
        for (what, most, share) in rows() {
            let share = match share {
                None => String::new(),
                Some(Share { floor, multiple: 1, per: 1 }) => format!("{floor} + L "),
                Some(Share { floor, multiple: 1, per }) => format!("{floor} + L / {per} "),
                Some(Share { floor, multiple, .. }) => format!("{floor} + {multiple} · L "),
            };
            let row = format!("| {what} | {most} | {share}|");
            assert!(text.contains(&row), "spec/conformance.md lacks: {row}");
        }
        let limits = Limits::default();
        assert_eq!((limits.tile_len, limits.head_len()), (MAX_DECODED_LEN.into(), 2 * limits.header_len));
        let padded = format!("{}, or {PADDED_MULTIPLE} times the bytes", limits.padded_len);
        let work = format!("{WORK_FLOOR} + {WORK_OF_ARCHIVE} · L + {WORK_OF_ORIGINAL} · (original length)");
        assert!(text.contains(&padded) && text.contains(&work), "{padded}; {work}");
    }
}
