//! Reads files by the ranges that the session requests. The values must be the same as from the file, with
//! few requests. Also reads hostile files.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use nc3z_format::Hyperslab;
use nc3z_reader::{Dataset, OpenOptions, Variable};
use nc3z_web::{Reply, Session, Status};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The file for a page: read by ranges, which are counted.
struct Page {
    session: Session,
    bytes: Vec<u8>,
    rounds: usize,
    requests: usize,
    fetched: usize,
}

impl Page {
    fn new(bytes: Vec<u8>) -> Self {
        Page { session: Session::default(), bytes, rounds: 0, requests: 0, fetched: 0 }
    }

    fn ask(&mut self, request: &Value, again: &Value) -> Result<Option<Vec<u8>>, String> {
        let mut request = request;
        loop {
            let Reply { status, bytes } = self.session.answer(request.to_string().as_bytes());
            match status {
                Status::Done => return Ok(Some(bytes)),
                Status::End => return Ok(None),
                Status::Failed => return Err(String::from_utf8(bytes).unwrap()),
                Status::Fetch => {}
            }
            self.rounds += 1;
            assert!(self.rounds < 10_000, "rounds without end");
            let ranges: Vec<(usize, usize)> = serde_json::from_slice(&bytes).unwrap();
            assert!(!ranges.is_empty());
            for (from, to) in ranges {
                assert!(from < to && to <= self.bytes.len(), "{from}..{to} of {}", self.bytes.len());
                self.requests += 1;
                self.fetched += to - from;
                self.session.provide(from as u64, self.bytes[from..to].to_vec());
            }
            request = again;
        }
    }

    fn open(&mut self) -> Result<Value, String> {
        let open = json!({"do": "open", "len": self.bytes.len()});
        let found = self.ask(&open, &json!({"do": "describe"}))?;
        Ok(serde_json::from_slice(&found.unwrap()).unwrap())
    }

    fn make(&mut self, form: &str, parts: &[Value]) -> Result<Vec<u8>, String> {
        let request = json!({"do": "make", "form": form, "parts": parts});
        self.ask(&request, &request)?;
        let (next, mut out) = (json!({"do": "next"}), Vec::new());
        while let Some(piece) = self.ask(&next, &next)? {
            out.extend(piece);
        }
        Ok(out)
    }
}

fn part(variable: usize, slab: &Hyperslab) -> Value {
    json!({"variable": variable, "start": slab.start, "count": slab.count, "stride": slab.stride})
}

fn testdata(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(folder);
    let files = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

fn doubles(variable: &Variable, slab: &Hyperslab) -> Vec<u8> {
    match variable.ty() {
        nc3z_format::NcType::Char => {
            variable.read::<u8>(slab).unwrap().into_iter().flat_map(|x| f64::from(x).to_le_bytes()).collect()
        }
        _ => variable.read::<f64>(slab).unwrap().into_iter().flat_map(f64::to_le_bytes).collect(),
    }
}

#[test]
fn every_variable_of_every_file_is_the_same_by_ranges() {
    let mut seen = 0;
    for path in testdata("archives/v1_0_0").into_iter().step_by(2).chain(testdata("classic")) {
        let Ok(dataset) = Dataset::open(&path, &OpenOptions::default()) else { continue };
        let mut page = Page::new(std::fs::read(&path).unwrap());
        let found = page.open().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(found["variables"].as_array().unwrap().len(), dataset.header().variables.len());
        for (n, variable) in dataset.variables().enumerate() {
            let slab = variable.all();
            let Ok(expected) = variable.read_bytes(&slab) else { continue };
            assert_eq!(page.make("bytes", &[part(n, &slab)]).unwrap(), expected, "{}", path.display());
            assert_eq!(page.make("values", &[part(n, &slab)]).unwrap(), doubles(&variable, &slab));
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen} variables");
}

#[test]
fn a_series_of_a_large_archive_takes_few_requests() {
    // Four variables of 2 MB that do not compress: the archive is longer than the bytes that opening reads.
    let mut state = 1_u64;
    let mut header = nc3z_format::classic::Header {
        version: nc3z_format::classic::Version::Cdf1,
        numrecs: nc3z_format::classic::NumRecs::Count(0),
        dimensions: vec![],
        attributes: vec![],
        variables: vec![],
    };
    for (name, len) in [("t", 500), ("y", 30), ("x", 35)] {
        header.dimensions.push(nc3z_format::classic::Dimension { name: name.into(), len });
    }
    for name in ["a", "b", "c", "d"] {
        header.variables.push(nc3z_format::classic::Variable {
            name: name.into(),
            dimensions: (0..3).map(nc3z_format::classic::DimId).collect(),
            attributes: vec![],
            ty: nc3z_format::NcType::Int,
            vsize: 0,
            begin: 0,
        });
    }
    let arranged = nc3z_format::classic::arrange(header, 0).unwrap();
    let mut bytes = arranged.header_bytes.clone();
    while (bytes.len() as u64) < arranged.layout.file_len {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        bytes.extend((state >> 32).to_be_bytes()[4..].iter());
    }
    let len = bytes.len();
    let mut page = Page::new(bytes);
    page.open().unwrap();
    assert!(page.fetched < 100_000, "opening fetched {}", page.fetched);
    let slab = Hyperslab::new([0, 3, 4], [500, 1, 1], [1, 1, 1]).unwrap();
    let before = page.fetched;
    let values = page.make("values", &[part(1, &slab)]).unwrap();
    assert_eq!(values.len(), 4000);
    assert!(
        page.fetched - before <= len / 4 + (64 << 10) && page.rounds < 8,
        "{} {}",
        page.fetched,
        page.rounds
    );
}

#[test]
fn parts_are_files_that_are_read_again() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/classic/record_padding.nc");
    let mut page = Page::new(std::fs::read(path).unwrap());
    page.open().unwrap();
    let slab = Hyperslab::new([1, 1], [3, 2], [2, 1]).unwrap();
    let made = page.make("netcdf", &[part(0, &slab)]).unwrap();
    let mut other = Page::new(made);
    let found = other.open().unwrap();
    assert_eq!(found["variables"][0]["shape"], json!([3, 2]));
    let all = Hyperslab::all(&[3, 2]);
    assert_eq!(
        other.make("bytes", &[part(0, &all)]).unwrap(),
        page.make("bytes", &[part(0, &slab)]).unwrap()
    );
    let csv = String::from_utf8(page.make("csv", &[part(0, &slab)]).unwrap()).unwrap();
    assert_eq!(csv.lines().count(), 7, "{csv}");
}

#[test]
fn wrong_requests_are_sentences() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/classic/record_padding.nc");
    let mut page = Page::new(std::fs::read(path).unwrap());
    let ask = |page: &mut Page, request: Value| page.ask(&request, &request).unwrap_err();
    assert!(ask(&mut page, json!({"do": "next"})).contains("no file"));
    page.open().unwrap();
    for parts in [
        json!([]),
        json!([{"variable": 99, "start": [0, 0], "count": [1, 1], "stride": [1, 1]}]),
        json!([{"variable": 0, "start": [0], "count": [1], "stride": [1]}]),
        json!([{"variable": 0, "start": [0, 0], "count": [1, u64::MAX], "stride": [1, 1]}]),
        json!([{"variable": 0, "start": [u64::MAX, 0], "count": [1, 1], "stride": [1, 1]}]),
        json!([{"variable": 0, "start": [0, 0], "count": [1, 1], "stride": [0, 0]}]),
        json!([{"variable": 0, "start": [0, 0], "count": [2], "stride": [1, 1]}]),
        json!(7),
    ] {
        for form in ["values", "bytes", "csv", "netcdf", "none"] {
            let message = ask(&mut page, json!({"do": "make", "form": form, "parts": parts}));
            assert!(message.len() > 10, "{message}");
        }
    }
    assert!(ask(&mut page, json!({"do": "dance"})).contains("unknown request"));
    assert!(Page::new(vec![1; 5]).open().is_err());
    assert!(Page::new(Vec::new()).open().is_err());
}

#[test]
fn damaged_archives_are_errors_or_read_and_never_ask_without_end() {
    let mut tried = 0;
    for path in testdata("archives/v1_0_0").into_iter().step_by(4) {
        let whole = std::fs::read(&path).unwrap();
        let mut state = 7_usize;
        for n in 0..12 {
            let mut bytes = whole.clone();
            for _ in 0..=n % 3 {
                state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                let at = (state >> 33) % bytes.len();
                bytes[at] ^= 1 << (n % 8);
            }
            if n % 4 == 3 {
                bytes.truncate((state >> 20) % whole.len());
            }
            let mut page = Page::new(bytes);
            let Ok(found) = page.open() else { continue };
            for (n, variable) in found["variables"].as_array().unwrap().iter().enumerate().take(20) {
                let shape: Vec<u64> = serde_json::from_value(variable["shape"].clone()).unwrap();
                let _ = page.make("values", &[part(n, &Hyperslab::all(&shape))]);
                let _ = page.make("netcdf", &[part(n, &Hyperslab::all(&shape))]);
                tried += 1;
            }
        }
    }
    assert!(tried > 20, "{tried}");
}
