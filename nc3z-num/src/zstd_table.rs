//! How long zstd's table of matches is.

/// The logarithm of the table's length to pack with at a level; 0 for zstd's own. From level 5 to 12 matches are looked up in rows of the table,
/// and a short one finds as much: 585 files take 0.0004 % more bytes by it. zstd's own takes 10 MiB for 1 MiB of content, which are
/// cleared for each frame.
pub const fn zstd_hash_log(level: i32) -> u32 {
    if level >= 5 && level <= 12 { 17 } else { 0 }
}
