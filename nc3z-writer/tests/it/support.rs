//! Archive to a temporary file, and compare every way of reading with the original.

use crate::classic::Sample;
use nc3z_format::classic::VarId;
use nc3z_reader::Archive;
use nc3z_writer::{WriterOptions, archive_file};
use std::path::Path;

/// The archive's bytes.
pub(crate) fn archive_bytes(original: &[u8], options: &WriterOptions) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::read(archive_in(dir.path(), original, options)).unwrap()
}

fn archive_in(dir: &Path, original: &[u8], options: &WriterOptions) -> std::path::PathBuf {
    let (input, output) = (dir.join("a.nc"), dir.join("a.nc3z"));
    std::fs::write(&input, original).unwrap();
    let done = archive_file(&input, &output, options, &()).unwrap();
    assert_eq!(done.original_len, original.len() as u64);
    assert!(done.proven);
    output
}

/// Returns the writer's message for options that a file does not allow; checks that no file remains.
pub(crate) fn refused(original: &[u8], options: &WriterOptions) -> String {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("a.nc"), dir.path().join("a.nc3z"));
    std::fs::write(&input, original).unwrap();
    let message = archive_file(&input, &output, options, &()).unwrap_err().to_string();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "something is left behind");
    message
}

/// Archives and compares restore, windows, byte ranges and variables with the original.
pub(crate) fn check(sample: &Sample, options: &WriterOptions, ranges: &[(u64, u64)]) -> Archive {
    let original = &sample.bytes;
    let dir = tempfile::tempdir().unwrap();
    let archive = Archive::open(&archive_in(dir.path(), original, options)).unwrap();
    let mut restored = Vec::new();
    assert!(archive.restore_to_stream(&mut restored, &()).unwrap().matches_record);
    assert!(restored == *original, "restored bytes differ");
    let (mut windows, mut window) = (Vec::new(), Vec::new());
    let mut rebuild = archive.restore_stream();
    loop {
        rebuild.next_window(&mut window).unwrap();
        if window.is_empty() {
            break;
        }
        windows.extend_from_slice(&window);
    }
    assert!(windows == *original, "windows differ");
    for &(a, b) in ranges {
        let (a, b) = (a % (original.len() as u64 + 1), b % (original.len() as u64 + 1));
        let (a, b) = (usize::try_from(a.min(b)).unwrap(), usize::try_from(a.max(b)).unwrap());
        let mut out = vec![0xEE; b - a];
        archive.read_original(a as u64, &mut out).unwrap();
        assert!(out == original[a..b], "bytes {a} to {b} differ");
    }
    assert!(archive.read_original(original.len() as u64, &mut [0]).is_err());
    for i in 0..archive.header().variables.len() {
        let found = archive.read_variable_bytes(VarId(u32::try_from(i).unwrap()));
        match sample.variable(i) {
            Some(expected) => assert!(found.unwrap() == expected, "variable {i} differs"),
            None => assert!(found.is_err(), "variable {i} is not all there"),
        }
    }
    archive
}
