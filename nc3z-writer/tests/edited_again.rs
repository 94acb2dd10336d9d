//! Edits of one tile, one version after another: their differences to the older tile do not grow without limit.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use nc3z_format::NcType;
use nc3z_format::classic::{DimId, Dimension, Header, NumRecs, Variable, Version, encode};
use nc3z_reader::Archive;
use nc3z_writer::{CommitNote, WriterOptions, archive_file, commit_file};

/// A classic file with one variable: floats with these bits.
fn file(values: &[u32]) -> Vec<u8> {
    let header = |begin| Header {
        version: Version::Cdf2,
        numrecs: NumRecs::Count(0),
        dimensions: vec![Dimension { name: b"x".to_vec(), len: values.len() as u64 }],
        attributes: Vec::new(),
        variables: vec![Variable {
            name: b"v".to_vec(),
            dimensions: vec![DimId(0)],
            attributes: Vec::new(),
            ty: NcType::Float,
            vsize: 4 * values.len() as u64,
            begin,
        }],
    };
    let begin = encode(&header(0)).unwrap().len() as u64;
    let mut out = encode(&header(begin)).unwrap();
    out.extend(values.iter().flat_map(|value| value.to_be_bytes()));
    out
}

#[test]
fn a_tile_that_is_edited_again_and_again_is_stored_alone_in_time() {
    const LEN: u32 = 4096;
    const EDITS: u32 = 160;
    let mut state = 1_u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as u32 | 0x3F00_0000
    };
    let mut values: Vec<u32> = (0..LEN).map(|_| noise()).collect();
    let directory = tempfile::tempdir().unwrap();
    let (input, path) = (directory.path().join("a.nc"), directory.path().join("a.nc3z"));
    std::fs::write(&input, file(&values)).unwrap();
    let options = WriterOptions::default();
    archive_file(&input, &path, &options, &()).unwrap();
    let alone = std::fs::metadata(&path).unwrap().len();
    let mut added = Vec::new();
    for _ in 0..EDITS {
        let (at, value) = (noise() % LEN, noise());
        values[at as usize] = value;
        std::fs::write(&input, file(&values)).unwrap();
        let done = commit_file(&path, &input, &CommitNote::default(), &options, &()).unwrap();
        added.push(done.stored_len.1 - done.stored_len.0);
    }
    let again = added.iter().position(|&len| len > alone / 2).expect("the tile is stored alone once");
    // sqrt(2 * 16,384 * 12) is about 630 bytes: the difference of about 80 edits.
    assert!((30..EDITS as usize).contains(&again), "{added:?}");
    assert!(added[again + 1] + 200 < added[again - 1], "{added:?}");
    assert!(added.iter().enumerate().all(|(n, &len)| n == again || len < 2000), "{added:?}");
    let mut restored = Vec::new();
    assert!(Archive::open(&path).unwrap().restore_to_stream(&mut restored, &()).unwrap().matches_record);
    assert!(restored == file(&values));
}
