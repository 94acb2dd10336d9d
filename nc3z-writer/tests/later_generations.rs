//! Reads generations that other programs append: newer, torn, or wrong.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use nc3z_format::archive::{
    ArrayId, IndexEntry, Row, SectionEncoding, SectionEntry, SectionKind, SectionTable, Trailer,
    VariableTable,
};
use nc3z_reader::{Archive, Error};
use nc3z_writer::{WriterOptions, archive_file};
use std::path::PathBuf;
use tempfile::TempDir;

/// One dimension `x` of 10, one variable `v(x)` of bytes.
fn classic() -> Vec<u8> {
    let mut file = b"CDF\x01".to_vec();
    let mut put = |n: u32| file.extend(n.to_be_bytes());
    [0, 10, 1, 1].into_iter().for_each(&mut put);
    file.extend(b"x\0\0\0");
    let mut put = |n: u32| file.extend(n.to_be_bytes());
    [10, 0, 0, 11, 1, 1].into_iter().for_each(&mut put);
    file.extend(b"v\0\0\0");
    let mut put = |n: u32| file.extend(n.to_be_bytes());
    [1, 0, 0, 0, 1, 12, 80].into_iter().for_each(&mut put);
    file.extend(b"0123456789\0\0");
    file
}

struct Made {
    directory: TempDir,
    bytes: Vec<u8>,
}

fn made() -> Made {
    let directory = TempDir::new().unwrap();
    let (input, output) = (directory.path().join("a.nc"), directory.path().join("a.nc3z"));
    std::fs::write(&input, classic()).unwrap();
    archive_file(&input, &output, &WriterOptions::default(), &()).unwrap();
    // Generations can be appended only to the long form.
    let source = Archive::open(&output).unwrap().source().clone();
    let bytes = source.read_at(0, usize::try_from(source.len()).unwrap()).unwrap().to_vec();
    Made { directory, bytes }
}

impl Made {
    fn open(&self, bytes: &[u8]) -> Result<Archive, Error> {
        let path: PathBuf = self.directory.path().join("b.nc3z");
        std::fs::write(&path, bytes).unwrap();
        Archive::open(&path)
    }

    /// Returns the archive with a second generation, which has this variable table and no blocks.
    fn with_table(&self, table: &VariableTable, required: u32) -> Vec<u8> {
        let old = self.open(&self.bytes).unwrap();
        let mut bytes = self.bytes.clone();
        let begin = bytes.len() as u64;
        let table = table.encode();
        let mut sections = vec![SectionEntry {
            kind: SectionKind::VariableTable,
            encoding: SectionEncoding::Raw,
            crc: crc32fast::hash(&table),
            offset: begin,
            len: table.len() as u64,
        }];
        let kept = |e: &&SectionEntry| e.kind != SectionKind::VariableTable;
        sections.extend(old.sections().entries().iter().filter(kept).cloned());
        bytes.extend(&table);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let (sections_offset, sections) = (bytes.len() as u64, SectionTable::new(sections).encode());
        bytes.extend(&sections);
        let salt = old.superblock().salt;
        let trailer = Trailer {
            generation: 2,
            required,
            sections_offset,
            sections_len: u32::try_from(sections.len()).unwrap(),
            sections_crc: salt.crc(sections_offset, &sections),
            blocks_begin: begin,
            blocks_end: begin,
            previous: old.trailer_offset(),
            archive_len: bytes.len() as u64 + 128,
            ..old.trailer().clone()
        };
        let sealed = trailer.encode(&salt, bytes.len() as u64);
        bytes.extend(sealed);
        bytes
    }
}

fn is_unsupported(result: Result<Archive, Error>) -> bool {
    result.unwrap_err().to_string().starts_with("unsupported trailer")
}

#[test]
fn a_trailer_that_needs_an_unknown_feature_is_never_passed_over() {
    let made = made();
    let table = made.open(&made.bytes).unwrap().variable_table().clone();
    let mut bytes = made.with_table(&table, 0);
    assert_eq!(made.open(&bytes).unwrap().trailer().generation, 2);
    bytes = made.with_table(&table, 1 << 3);
    let end = bytes.len();
    assert!(is_unsupported(made.open(&bytes)));
    for tail in [1, 8, 40, 128, 3000, 70_000, 3 << 20] {
        bytes.resize(end + tail, 0xB1);
        assert!(is_unsupported(made.open(&bytes)), "{tail} bytes behind it");
    }
    // A torn generation is ignored, and the one before it is used.
    bytes[end - 60] ^= 1;
    let archive = made.open(&bytes).unwrap();
    assert_eq!((archive.trailer().generation, archive.stored_len()), (1, bytes.len() as u64));
    assert!(archive.torn_tail() > 0);
}

#[test]
fn rows_of_unknown_arrays_are_refused() {
    let made = made();
    let table = made.open(&made.bytes).unwrap().variable_table().clone();
    let entries: Vec<IndexEntry> =
        table.rows().iter().flat_map(|r| table.find(r.array).unwrap().1.to_vec()).collect();
    for array in [
        ArrayId::CONTAINERS,
        ArrayId::CHAINS,
        ArrayId::HEADS,
        ArrayId(0xC000_0006),
        ArrayId(u32::MAX),
        ArrayId::variable(7),
    ] {
        let mut rows = table.rows().to_vec();
        rows.push(Row { array, tile_count: 1, root: 0 });
        rows.sort_by_key(|r| r.array);
        let entries = [&entries[..], &[IndexEntry::Absent]].concat();
        let e = made.open(&made.with_table(&VariableTable::new(rows, entries), 0)).unwrap_err();
        assert!(e.to_string().contains("variable table: "), "{array}: {e}");
    }
}
