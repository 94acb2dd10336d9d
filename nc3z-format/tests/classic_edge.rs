//! The corpus of edge cases: `NC3Z_EDGE_DIR` names a directory with `EDGE.tsv` and `EXPECT.jsonl` (what is
//! expected), and `NC3Z_EDGE_FILES` one with `{valid,odd,malformed}/ID.nc` (by default the same directory).
//! Without `NC3Z_EDGE_DIR` the tests are skipped, and say so.

#![expect(clippy::unwrap_used, reason = "a test: the helpers outside `#[test]` functions are tests too")]

use std::collections::HashMap;
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nc3z_format::classic::{Layout, NumRecs, Parse, Parsed, VarLayout, Version, encode, parse_prefix};
use nc3z_format::{Limits, Result};
use serde_json::Value;
use sha2::{Digest, Sha256};

struct Corpus {
    lists: PathBuf,
    files: PathBuf,
}

impl Corpus {
    fn open() -> Option<Self> {
        let Some(dir) = std::env::var_os("NC3Z_EDGE_DIR").map(PathBuf::from) else {
            eprintln!("SKIPPED: the edge corpus is not tested, since NC3Z_EDGE_DIR is not set");
            return None;
        };
        let files = std::env::var_os("NC3Z_EDGE_FILES").map_or_else(|| dir.clone(), PathBuf::from);
        Some(Corpus { lists: dir, files })
    }

    /// (id, class, expected) of each file.
    fn cases(&self) -> Vec<(String, String, String)> {
        let text = std::fs::read_to_string(self.lists.join("EDGE.tsv")).unwrap();
        let row = |line: &str| {
            let cells: Vec<&str> = line.split('\t').collect();
            (cells[0].to_owned(), cells[1].to_owned(), cells[9].to_owned())
        };
        text.lines().skip(1).map(row).collect()
    }

    fn path(&self, class: &str, id: &str) -> PathBuf {
        self.files.join(class).join(format!("{id}.nc"))
    }
}

/// Parses as a remote reader does: a small prefix first, then what is asked for.
fn parse_file(path: &Path) -> (File, u64, Result<Parsed>) {
    let file = File::open(path).unwrap();
    let file_len = file.metadata().unwrap().len();
    let mut len = file_len.min(4096);
    loop {
        let mut head = vec![0; usize::try_from(len).unwrap()];
        file.read_exact_at(&mut head, 0).unwrap();
        match parse_prefix(&head, file_len, &Limits::default()) {
            Ok(Parse::Incomplete { at_least }) => {
                assert!(at_least > len && at_least <= file_len, "{}: no progress", path.display());
                len = at_least.max(2 * len).min(file_len);
            }
            Ok(Parse::Done(header, header_len)) => {
                return (file, file_len, Ok(Parsed { header: *header, header_len }));
            }
            Err(e) => return (file, file_len, Err(e)),
        }
    }
}

fn sha256_of(file: &File, v: &VarLayout) -> String {
    let mut hash = Sha256::new();
    let mut buffer = vec![0_u8; 1 << 20];
    let mut index = 0;
    while let Some(run) = v.element_run(index) {
        let (mut at, end) = (run.offset, run.offset + run.count * v.element_size());
        while at < end {
            let part = &mut buffer[..usize::try_from((end - at).min(1 << 20)).unwrap()];
            file.read_exact_at(part, at).unwrap();
            hash.update(&*part);
            at += part.len() as u64;
        }
        index += run.count;
    }
    hex(&hash.finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, b| {
        write!(out, "{b:02x}").unwrap();
        out
    })
}

fn check_expected(id: &str, file: &File, parsed: &Parsed, layout: &Layout, expect: &Value) {
    let header = &parsed.header;
    let number = |key: &str| expect[key].as_u64().unwrap_or_else(|| panic!("{id}: {key}"));
    assert_eq!(u64::from(header.version.byte()), number("version"), "{id}: version");
    assert_eq!(parsed.header_len, number("header_len"), "{id}: header_len");
    // `nrec` is what the generator laid out: without record variables 0, whatever the field says. The rule is
    // the field (CATALOGUE.md, "record count"), and the field is compared below.
    if layout.variables.iter().any(|v| v.is_record) {
        assert_eq!(layout.numrecs, number("nrec"), "{id}: nrec");
    }
    assert_eq!(layout.record_len, number("recsize"), "{id}: recsize");
    assert_eq!(header.attributes.len() as u64, number("natts"), "{id}: natts");
    let field = match header.numrecs {
        NumRecs::Count(n) => n,
        NumRecs::Streaming if header.version == Version::Cdf5 => u64::MAX,
        NumRecs::Streaming => u32::MAX.into(),
    };
    assert_eq!(field, number("numrecs_field"), "{id}: numrecs_field");
    let dims: Vec<Value> =
        header.dimensions.iter().map(|d| serde_json::json!([hex(&d.name), d.len])).collect();
    assert_eq!(&Value::from(dims), &expect["dims"], "{id}: dims");
    let vars = expect["vars"].as_array().unwrap();
    assert_eq!(vars.len(), header.variables.len(), "{id}: variables");
    for ((variable, v), expect) in header.variables.iter().zip(&layout.variables).zip(vars) {
        let name = variable.name_lossy();
        // The generator writes names that are not UTF-8 in its own way; those are compared in `dims`.
        if std::str::from_utf8(&variable.name).is_ok() {
            assert_eq!(Value::from(&*name), expect["name"], "{id}: name");
        }
        assert_eq!(expect["type"], v.ty.name(), "{id}: {name}: type");
        assert_eq!(expect["begin"], v.begin, "{id}: {name}: begin");
        assert_eq!(expect["record"], v.is_record, "{id}: {name}: record");
        let ids: Vec<u32> = variable.dimensions.iter().map(|d| d.0).collect();
        assert_eq!(Value::from(ids), expect["dims"], "{id}: {name}: dims");
        assert_eq!(expect["nbytes"], v.elements.unwrap() * v.element_size(), "{id}: {name}: nbytes");
        // Files beyond 64 MiB are sparse, and hashing them takes minutes: only with NC3Z_EDGE_LARGE.
        let large = v.present * v.element_size() > 64 << 20;
        let hashed = !large || std::env::var_os("NC3Z_EDGE_LARGE").is_some();
        if let Some(sha) = expect["sha256"].as_str().filter(|_| hashed && v.elements == Some(v.present)) {
            assert_eq!(sha256_of(file, v), sha, "{id}: {name}: values");
        }
    }
}

fn check_layout(id: &str, parsed: &Parsed, layout: &Layout) {
    let mut at = 0;
    for s in layout.segments() {
        assert_eq!(s.offset, at, "{id}: segments tile the file");
        at = s.end();
    }
    assert_eq!(at, layout.file_len, "{id}: segments tile the file");
    let bytes = encode(&parsed.header).unwrap();
    assert_eq!(bytes.len() as u64, parsed.header_len, "{id}: canonical length");
}

#[test]
fn edge_corpus_is_parsed_or_refused_as_expected() {
    let Some(corpus) = Corpus::open() else { return };
    let text = std::fs::read_to_string(corpus.lists.join("EXPECT.jsonl")).unwrap();
    let expect: HashMap<String, Value> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|v| (v["id"].as_str().unwrap().to_owned(), v))
        .collect();
    let (mut seen, mut compared, mut carried, mut refused) = (0, 0, 0, 0);
    for (id, class, expected) in corpus.cases() {
        let path = corpus.path(&class, &id);
        if !path.exists() {
            eprintln!("SKIPPED: {} is missing", path.display());
            continue;
        }
        seen += 1;
        let (file, file_len, outcome) = parse_file(&path);
        match (&*expected, outcome) {
            ("A" | "B", Err(e)) => panic!("{id}: refused: {e}"),
            ("R", Ok(_)) => panic!("{id}: accepted"),
            (_, Err(e)) => {
                refused += 1;
                eprintln!("{expected} {id}: {e}");
            }
            (_, Ok(parsed)) => {
                let layout = Layout::new(&parsed.header, parsed.header_len, file_len).unwrap();
                check_layout(&id, &parsed, &layout);
                if let Some(expect) = expect.get(&id).filter(|_| matches!(&*expected, "A" | "B")) {
                    check_expected(&id, &file, &parsed, &layout, expect);
                    compared += 1;
                }
                if expected == "C" {
                    carried += 1;
                    eprintln!("C {id}: carried, {} warnings", layout.warnings.len());
                }
                if expected == "B" {
                    let serious = layout.warnings.iter().any(nc3z_format::classic::Warning::is_serious);
                    assert!(serious, "{id}: no warning");
                }
            }
        }
    }
    assert!(seen > 300, "only {seen} files found");
    eprintln!(
        "{seen} files: {compared} compared with the generator, {carried} of C carried, {refused} refused"
    );
}

/// Any directory: whatever is there is parsed or refused, and never panics.
#[test]
fn any_directory_is_parsed_or_refused() {
    let Some(dirs) = std::env::var_os("NC3Z_ANY_DIRS") else {
        eprintln!("SKIPPED: no directory of real files is tested, since NC3Z_ANY_DIRS is not set");
        return;
    };
    let mut todo: Vec<PathBuf> = std::env::split_paths(&dirs).collect();
    let (mut good, mut bad, mut differ) = (0, 0, 0);
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            todo.extend(std::fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
            continue;
        }
        if !path.is_file() || !matches!(path.extension().and_then(|e| e.to_str()), Some("nc" | "cdf")) {
            continue;
        }
        let id = path.display().to_string();
        match parse_file(&path) {
            (_, _, Err(e)) => {
                bad += 1;
                eprintln!("{id}: {e}");
            }
            (file, file_len, Ok(parsed)) => {
                good += 1;
                let layout = Layout::new(&parsed.header, parsed.header_len, file_len).unwrap();
                check_layout(&id, &parsed, &layout);
                let mut head = vec![0; usize::try_from(parsed.header_len).unwrap()];
                (&file).read_exact(&mut head).unwrap();
                if encode(&parsed.header).unwrap() != head {
                    differ += 1;
                }
                for w in &layout.warnings {
                    eprintln!("{id}: {w}");
                }
            }
        }
    }
    eprintln!("{good} files parsed ({differ} with a header that is not canonical), {bad} refused");
}
