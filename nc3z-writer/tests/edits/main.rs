//! Compares any sequence of edits, commits, refusals and reopenings with a model: plain lists and vectors, and a
//! short function of its own that writes the file.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod machine;

use machine::Machine;

use nc3z_format::classic::{Attribute, DimId, Dimension, Header, NumRecs, Variable, Version, encode};
use nc3z_format::tile::Edge;
use nc3z_format::{Hyperslab, NcType};
use nc3z_reader::source::{MemorySource, SharedSource};
use nc3z_reader::{Archive, Dataset, OpenOptions, VersionName, verify};
use nc3z_writer::edit::{AppendPolicy, Edit, Overlap};
use nc3z_writer::{ChunkRequest, CommitNote, Keep, WriterOptions, archive_file, collect_file, commit_file};
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq)]
struct Var {
    name: String,
    ty: NcType,
    /// Names of the dimensions, because dimensions are added and removed.
    dims: Vec<String>,
    attributes: Vec<(String, NcType, Vec<u8>)>,
    /// Big-endian elements, row-major.
    values: Vec<u8>,
}

/// The content of a file, without offsets.
#[derive(Debug, Clone, PartialEq)]
struct Model {
    version: Version,
    numrecs: u64,
    dims: Vec<(String, u64)>,
    attributes: Vec<(String, NcType, Vec<u8>)>,
    vars: Vec<Var>,
}

fn attribute((name, ty, values): &(String, NcType, Vec<u8>)) -> Attribute {
    Attribute { name: name.clone().into_bytes(), ty: *ty, values: values.clone() }
}

impl Var {
    fn fill(&self) -> Vec<u8> {
        let own = self.attributes.iter().find(|(name, ..)| name == "_FillValue");
        own.map_or_else(|| self.ty.default_fill().to_vec(), |(_, _, values)| values.clone())
    }
}

impl Model {
    fn len(&self, dim: &str) -> u64 {
        let len = self.dims.iter().find(|(name, _)| name == dim).unwrap().1;
        if len == 0 { self.numrecs } else { len }
    }

    fn shape(&self, var: &Var) -> Vec<u64> {
        var.dims.iter().map(|d| self.len(d)).collect()
    }

    fn is_record(&self, var: &Var) -> bool {
        var.dims.first().is_some_and(|d| self.dims.iter().any(|(name, len)| name == d && *len == 0))
    }

    /// Returns the file in the netCDF library's layout, written from the format's specification.
    fn file(&self) -> Vec<u8> {
        let slot = |var: &Var| {
            let skip = usize::from(self.is_record(var));
            self.shape(var)[skip..].iter().product::<u64>() * var.ty.size() as u64
        };
        let mut header = Header {
            version: self.version,
            numrecs: NumRecs::Count(self.numrecs),
            dimensions: self
                .dims
                .iter()
                .map(|(name, len)| Dimension { name: name.clone().into_bytes(), len: *len })
                .collect(),
            attributes: self.attributes.iter().map(attribute).collect(),
            variables: Vec::new(),
        };
        for var in &self.vars {
            let id = |d: &String| {
                DimId(u32::try_from(self.dims.iter().position(|(name, _)| name == d).unwrap()).unwrap())
            };
            header.variables.push(Variable {
                name: var.name.clone().into_bytes(),
                dimensions: var.dims.iter().map(id).collect(),
                attributes: var.attributes.iter().map(attribute).collect(),
                ty: var.ty,
                vsize: slot(var).next_multiple_of(4),
                begin: 0,
            });
        }
        let mut at = encode(&header).unwrap().len() as u64;
        for record in [false, true] {
            for (n, var) in self.vars.iter().enumerate().filter(|(_, v)| self.is_record(v) == record) {
                header.variables[n].begin = at;
                at += slot(var).next_multiple_of(4);
            }
        }
        let mut out = encode(&header).unwrap();
        let put = |out: &mut Vec<u8>, var: &Var, values: &[u8], pad: bool| {
            out.extend_from_slice(values);
            let mut fill = var.fill().into_iter().cycle();
            while pad && !out.len().is_multiple_of(4) {
                out.push(fill.next().unwrap());
            }
        };
        for var in self.vars.iter().filter(|v| !self.is_record(v)) {
            put(&mut out, var, &var.values, true);
        }
        let records: Vec<&Var> = self.vars.iter().filter(|v| self.is_record(v)).collect();
        for record in 0..self.numrecs {
            for var in &records {
                let len = usize::try_from(slot(var)).unwrap();
                let begin = usize::try_from(record).unwrap() * len;
                put(&mut out, var, &var.values[begin..begin + len], records.len() > 1);
            }
        }
        out
    }

    /// Gives every variable the shape that its dimensions define.
    fn resize(&mut self, before: &Model) {
        for n in 0..self.vars.len() {
            let (is, was) = (self.shape(&self.vars[n]), before.shape(&before.vars[n]));
            if is == was {
                continue;
            }
            let (fill, size) = (self.vars[n].fill(), self.vars[n].ty.size());
            let total: u64 = is.iter().product();
            let mut values = Vec::new();
            for i in 0..total {
                let (mut rest, mut position, mut unit, mut inside) = (i, 0, 1, true);
                for axis in (0..is.len()).rev() {
                    let k = rest % is[axis];
                    rest /= is[axis];
                    inside &= k < was[axis];
                    position += k * unit;
                    unit *= was[axis];
                }
                let at = usize::try_from(position).unwrap() * size;
                values.extend_from_slice(if inside { &before.vars[n].values[at..at + size] } else { &fill });
            }
            self.vars[n].values = values;
        }
    }
}

#[derive(Debug, Clone)]
enum Op {
    Attribute(usize, u8, Vec<u8>),
    Delete(usize, u8),
    RenameAttribute(usize, u8, u8),
    RenameVariable(usize, u8),
    RenameDimension(usize, u8),
    AddDimension(u8, u64),
    AddVariable(u8, usize, Vec<usize>),
    DeleteVariable(usize),
    Records(u64),
    Resize(usize, u64),
    Set(usize, Vec<(u64, u64, i64, bool)>, bool, u8),
    Append(u64, u8),
    Kind(bool),
    Commit(bool),
    Abandon,
    Foreign(u8),
    Collect(u8),
    Cut(u16, bool),
    Second,
}

fn ops(most: usize) -> impl Strategy<Value = Vec<Op>> {
    let pick = any::<usize>;
    let op = prop_oneof![
        2 => (pick(), 0..4_u8, proptest::collection::vec(any::<u8>(), 0..9)).prop_map(|(v, n, x)| Op::Attribute(v, n, x)),
        1 => (pick(), 0..4_u8).prop_map(|(v, n)| Op::Delete(v, n)),
        1 => (pick(), 0..4_u8, 0..4_u8).prop_map(|(v, a, b)| Op::RenameAttribute(v, a, b)),
        1 => (pick(), any::<u8>()).prop_map(|(v, n)| Op::RenameVariable(v, n)),
        1 => (pick(), any::<u8>()).prop_map(|(v, n)| Op::RenameDimension(v, n)),
        1 => (any::<u8>(), 0..5_u64).prop_map(|(n, l)| Op::AddDimension(n, l)),
        1 => (any::<u8>(), 0..11_usize, proptest::collection::vec(pick(), 0..3)).prop_map(|(n, t, d)| Op::AddVariable(n, t, d)),
        1 => pick().prop_map(Op::DeleteVariable),
        2 => (0..7_u64).prop_map(Op::Records),
        1 => (pick(), 0..8_u64).prop_map(|(d, l)| Op::Resize(d, l)),
        8 => (pick(), proptest::collection::vec((any::<u64>(), any::<u64>(), 1..4_i64, any::<bool>()), 4), any::<bool>(), any::<u8>())
            .prop_map(|(v, s, one, x)| Op::Set(v, s, one, x)),
        1 => (0..3_u64, any::<u8>()).prop_map(|(n, x)| Op::Append(n, x)),
        1 => any::<bool>().prop_map(Op::Kind),
        4 => any::<bool>().prop_map(Op::Commit),
        1 => Just(Op::Abandon),
        1 => any::<u8>().prop_map(Op::Foreign),
        1 => any::<u8>().prop_map(Op::Collect),
        1 => (any::<u16>(), any::<bool>()).prop_map(|(n, patched)| Op::Cut(n, patched)),
        1 => Just(Op::Second),
    ];
    proptest::collection::vec(op, 1..most)
}

fn first_model() -> Model {
    let dims = [("time", 0), ("y", 5), ("x", 7)].map(|(n, l)| (n.to_owned(), l)).to_vec();
    let mut model =
        Model { version: Version::Cdf2, numrecs: 3, dims, attributes: Vec::new(), vars: Vec::new() };
    let vars: [(&str, NcType, &[&str]); 6] = [
        ("cube", NcType::Float, &["time", "y", "x"]),
        ("map", NcType::Short, &["y", "x"]),
        ("rec", NcType::Byte, &["time", "x"]),
        ("series", NcType::Double, &["time"]),
        ("text", NcType::Char, &["x"]),
        ("one", NcType::Int, &[]),
    ];
    for (n, (name, ty, dims)) in vars.into_iter().enumerate() {
        let var = Var {
            name: name.into(),
            ty,
            dims: dims.iter().map(|d| (*d).to_owned()).collect(),
            attributes: Vec::new(),
            values: Vec::new(),
        };
        let len = usize::try_from(model.shape(&var).iter().product::<u64>()).unwrap() * ty.size();
        let values = (0..len).map(|i| ((i * 7 + n * 31) % 251).to_le_bytes()[0]).collect();
        model.vars.push(Var { values, ..var });
    }
    model
}

fn sha(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Returns a selection of a shape: the hyperslab, and the positions of its elements.
fn selected(shape: &[u64], picks: &[(u64, u64, i64, bool)]) -> Option<(Hyperslab, Vec<usize>)> {
    let mut slab = Hyperslab { start: vec![], count: vec![], stride: vec![] };
    for (&n, &(a, b, step, back)) in shape.iter().zip(picks) {
        let low = a.checked_rem(n)?;
        let count = 1 + b % ((n - 1 - low) / step.unsigned_abs() + 1);
        let high = low + (count - 1) * step.unsigned_abs();
        slab.start.push(if back { high } else { low });
        slab.count.push(count);
        slab.stride.push(if back { -step } else { step });
    }
    let total: u64 = slab.count.iter().product();
    let mut places = Vec::new();
    for i in 0..total {
        let (mut rest, mut position, mut unit) = (i, 0, 1);
        for axis in (0..shape.len()).rev() {
            let k = i64::try_from(rest % slab.count[axis]).unwrap();
            rest /= slab.count[axis];
            position += slab.start[axis].checked_add_signed(k * slab.stride[axis]).unwrap() * unit;
            unit *= shape[axis];
        }
        places.push(usize::try_from(position).unwrap());
    }
    Some((slab, places))
}

/// Checks that every version in the archive is the file that was committed.
fn check(path: &Path, versions: &[(u64, Vec<u8>)]) {
    let archive = Archive::open(path).unwrap();
    let listed: Vec<u64> =
        archive.versions(u64::MAX).unwrap().iter().rev().map(|v| v.record.number).collect();
    assert_eq!(listed, versions.iter().map(|(n, _)| *n).collect::<Vec<_>>());
    for (number, file) in versions {
        let options = OpenOptions::default().with_version(Some(VersionName::Number(*number)));
        let old = Archive::from_source(archive.source().clone(), &options).unwrap();
        let mut out = Vec::new();
        old.restore_to_stream(&mut out, &()).unwrap();
        assert!(out == *file, "version {number}");
        if let Some(digest) = old.digest().sha256() {
            assert_eq!(digest, sha(file));
        }
    }
}

fn cases(default: u32) -> ProptestConfig {
    let cases = std::env::var("NC3Z_EDIT_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    ProptestConfig::with_cases(cases)
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn any_sequence_of_edits_is_what_it_is_for_the_model(
        ops in ops(28),
        tile_len in prop_oneof![Just(64_u64), Just(200), Just(1 << 20)],
        chunks in any::<bool>(),
        edge in any::<bool>(),
        memory in prop_oneof![Just(256_u64), Just(64 << 20)],
    ) {
        let dir = tempfile::tempdir().unwrap();
        let (source, path) = (dir.path().join("a.nc"), dir.path().join("a.nc3z"));
        let model = first_model();
        std::fs::write(&source, model.file()).unwrap();
        let mut options = WriterOptions::default().with_tile_len(tile_len);
        if chunks {
            options = options.with_chunks(ChunkRequest::new([("y", 2), ("x", 3), ("time", 2)]));
            options = options.with_edge(if edge { Edge::Clipped } else { Edge::Padded });
        }
        archive_file(&source, &path, &options, &()).unwrap();
        let options = WriterOptions::default().with_tile_len(tile_len).with_memory(memory);
        let versions = vec![(1, model.file())];
        let mut machine = Machine { path, options, edit: None, committed: model.clone(), model, versions };
        for op in ops {
            machine.run(op);
        }
        machine.run(Op::Commit(true));
        machine.edit = None;
        check(&machine.path, &machine.versions);
        let source: SharedSource = Arc::new(MemorySource::new(std::fs::read(&machine.path).unwrap()));
        let report = verify::deep(&source, &OpenOptions::default(), &()).unwrap();
        prop_assert!(report.is_sound());
    }
}

/// Compares with plans printed in the study that this module follows, for real archives.
#[test]
fn plans_print_as_in_the_examples() {
    let dir = tempfile::tempdir().unwrap();
    let archived = |lens: [u64; 2], chunk: u64| {
        let (source, path) = (dir.path().join("a.nc"), dir.path().join("a.nc3z"));
        let dims = vec![("y".to_owned(), lens[0]), ("x".to_owned(), lens[1])];
        let total = lens[0] * lens[1];
        let values = (0..u32::try_from(total).unwrap()).flat_map(u32::to_be_bytes).collect();
        let var = Var {
            name: "v".into(),
            ty: NcType::Int,
            dims: vec!["y".into(), "x".into()],
            attributes: vec![],
            values,
        };
        let model = Model { version: Version::Cdf1, numrecs: 0, dims, attributes: vec![], vars: vec![var] };
        std::fs::write(&source, model.file()).unwrap();
        let options = WriterOptions::default()
            .with_force(true)
            .with_chunks(ChunkRequest::new([("y", chunk), ("x", chunk)]));
        archive_file(&source, &path, &options, &()).unwrap();
        Edit::open(&path, &WriterOptions::default()).unwrap()
    };
    let slab = |start: [u64; 2], count: [u64; 2]| Hyperslab::new(start, count, [1, 1]).unwrap();
    let mut edit = archived([8, 8], 2);
    assert_eq!(
        edit.plan_set("v", &slab([2, 3], [3, 3])).unwrap().to_string(),
        include_str!("../../../libs/nc3z-staged/tests/set.txt").trim_end()
    );
    drop(edit);
    let mut edit = archived([30, 50], 10);
    let plan = edit.plan_set("v", &slab([5, 30], [15, 20])).unwrap().to_string();
    // Partly covered tiles are read once; tiles that are covered whole are not read.
    for line in [
        "  # 2 transfers from slabs[1] to slabs[2]",
        "  slabs[2][0:10, 0:10] = slabs[1][30:40, 0:10]",
        "  slabs[2][10:20, 0:10] = slabs[1][40:50, 0:10]",
        "  slabs[3][0:10, 0:10] = value[5:15, 0:10]",
        "  slabs[2][15:20, 0:10] = value[0:5, 10:20]",
    ] {
        assert!(plan.lines().any(|l| l == line), "{line}\n{plan}");
    }
    assert!(plan.contains("[[1 1 1 2 2]\n [1 1 1 3 3]\n [1 1 1 1 1]]"), "{plan}");
    edit.set("v", &slab([5, 30], [15, 20]), &42_u32.to_be_bytes()).unwrap();
    let done = edit.commit(&CommitNote::default(), &()).unwrap();
    assert_eq!((done.new_tiles, done.kept_tiles), (4, 11));
}
