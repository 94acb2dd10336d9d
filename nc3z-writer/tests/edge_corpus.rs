//! Compares whole variables of archives with a corpus of odd files, whose values an independent generator recorded.
//!
//! `NC3Z_EDGE_DIR` names a folder with `valid/`, `odd/` and `EXPECT.jsonl` (one JSON object a file: `id`, `class`,
//! `file_sha256`, and for each variable `name`, `nbytes`, `sha256` of its big-endian values). Without it, the test
//! reports that it did nothing.

use nc3z_format::classic::VarId;
use nc3z_reader::Archive;
use nc3z_writer::{WriterOptions, archive_file};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::Path;

/// Files of this size or more are left to the acceptance tests.
const LARGE: u64 = 64 << 20;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut s, b| {
        let _ = write!(s, "{b:02x}");
        s
    })
}

/// Compares every variable of one archive; returns the number of variables compared.
fn compare(archive: &Archive, expected: &Value, id: &str) -> usize {
    let variables = expected["vars"].as_array().expect("a list of variables");
    assert_eq!(archive.header().variables.len(), variables.len(), "{id}");
    let mut compared = 0;
    for (n, want) in (0..).zip(variables) {
        let Some(sha) = want["sha256"].as_str() else { continue };
        let layout = archive.variable_layout(VarId(n)).expect("a variable of the header");
        if layout.elements != Some(layout.present) {
            assert!(archive.read_variable_bytes(VarId(n)).is_err(), "{id}: variable {n} leaves the file");
            continue;
        }
        let bytes =
            archive.read_variable_bytes(VarId(n)).unwrap_or_else(|e| panic!("{id}: variable {n}: {e}"));
        assert_eq!(hex(&Sha256::digest(&bytes)), sha, "{id}: variable {n}");
        compared += 1;
    }
    compared
}

#[test]
fn values_of_every_variable_are_those_of_the_corpus() {
    let Some(dir) = std::env::var_os("NC3Z_EDGE_DIR") else {
        eprintln!("SKIPPED: NC3Z_EDGE_DIR names no corpus");
        return;
    };
    let dir = Path::new(&dir);
    let expect = std::fs::read_to_string(dir.join("EXPECT.jsonl")).expect("the corpus has an EXPECT.jsonl");
    let temp = tempfile::tempdir().expect("a temporary directory");
    let target = temp.path().join("a.nc3z");
    let (mut files, mut variables) = (0, 0);
    for line in expect.lines() {
        let expected: Value = serde_json::from_str(line).expect("a JSON object a line");
        let (id, class) = (expected["id"].as_str().unwrap_or(""), expected["class"].as_str().unwrap_or(""));
        let file = dir.join(class).join(format!("{id}.nc"));
        if class == "malformed" || std::fs::metadata(&file).map_or(true, |m| m.len() > LARGE) {
            continue;
        }
        // With short tiles, and with default options, where most of these files are packed as a whole.
        let options = WriterOptions::default().with_force(true);
        for options in [options.clone().with_tile_len(1 << 12), options] {
            let Ok(done) = archive_file(&file, &target, &options, &()) else { continue };
            assert_eq!(hex(&done.sha256), expected["file_sha256"].as_str().unwrap_or(""), "{id}");
            let archive = Archive::open(&target).unwrap_or_else(|e| panic!("{id}: {e}"));
            variables += compare(&archive, &expected, id);
        }
        files += 1;
    }
    eprintln!("{files} files, {variables} variables compared");
    assert!(files > 0 && variables > 0, "the corpus is not where NC3Z_EDGE_DIR says");
}
