//! Datasets, slices and dice for tests of proofs.

use nc3z_cite::{Part, Proof, make};
use nc3z_format::Hyperslab;
use nc3z_format::NcType;
use nc3z_format::classic::{Attribute, DimId, Dimension, Header, NumRecs, VarId, Variable, Version, arrange};
use nc3z_reader::source::MemorySource;
use nc3z_reader::{Dataset, DigestRequest, OpenOptions, TreeFile};
use std::sync::Arc;

/// A generator of numbers that are the same in every run.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        (self.roll() >> 11) % n
    }
}

/// A header with records, fixed variables, coordinates and attributes. A record of `tas` is a branch of 33,480 bytes.
pub fn header(version: Version) -> Header {
    let text = |name: &str, value: &str| Attribute {
        name: name.as_bytes().to_vec(),
        ty: NcType::Char,
        values: value.as_bytes().to_vec(),
    };
    let dimension = |name: &str, len| Dimension { name: name.as_bytes().to_vec(), len };
    let variable = |name: &str, dimensions: &[u32], ty, attributes| Variable {
        name: name.as_bytes().to_vec(),
        dimensions: dimensions.iter().copied().map(DimId).collect(),
        attributes,
        ty,
        vsize: 0,
        begin: 0,
    };
    Header {
        version,
        numrecs: NumRecs::Count(0),
        dimensions: vec![dimension("time", 0), dimension("y", 31), dimension("x", 270)],
        attributes: vec![text("title", "A test"), text("Conventions", "CF-1.11")],
        variables: vec![
            variable("time", &[0], NcType::Double, vec![text("units", "days since 2000-01-01")]),
            variable("x", &[2], NcType::Float, Vec::new()),
            variable("tas", &[0, 1, 2], NcType::Float, vec![text("units", "K")]),
            variable("flag", &[0], NcType::Byte, Vec::new()),
            variable("mask", &[1, 2], NcType::Short, vec![text("long_name", "land")]),
            variable("scalar", &[], NcType::Int, Vec::new()),
        ],
    }
}

/// The bytes of a classic file with these values, a variable at a time.
pub fn file(header: Header, records: u64, values: &[Vec<u8>]) -> Vec<u8> {
    let arrangement = arrange(header, records).unwrap();
    let mut out = arrangement.header_bytes;
    let at = |n: u64| usize::try_from(n).unwrap();
    out.resize(at(arrangement.layout.file_len), 0);
    for (place, values) in arrangement.layout.variables.iter().zip(values) {
        let size = at(place.element_size());
        assert_eq!(values.len(), at(place.present) * size);
        let mut first = 0;
        while first < place.present {
            let run = place.element_run(first).unwrap();
            let count = run.count.min(place.present - first);
            let from = &values[at(first) * size..at(first + count) * size];
            out[at(run.offset)..][..from.len()].copy_from_slice(from);
            first += count;
        }
    }
    out
}

/// The dataset of 9 records that most tests use.
pub fn original(seed: u64) -> Vec<u8> {
    let header = header(Version::Cdf1);
    let layout = arrange(header.clone(), 9).unwrap().layout;
    let mut dice = Dice(seed);
    let values: Vec<Vec<u8>> = layout
        .variables
        .iter()
        .map(|v| (0..v.present * v.element_size()).map(|_| dice.roll().to_be_bytes()[0] & 0x3F).collect())
        .collect();
    file(header, 9, &values)
}

pub fn open(bytes: &[u8]) -> Dataset {
    Dataset::from_source(Arc::new(MemorySource::new(bytes.to_vec())), &OpenOptions::default()).unwrap()
}

pub fn tree_of(dataset: &Dataset) -> TreeFile {
    let wanted = DigestRequest { content: true, sha256: false, tree: true };
    let tree = dataset.digests(wanted, &()).unwrap().tree.unwrap();
    TreeFile::open(Arc::new(MemorySource::new(tree)), dataset.header(), dataset.layout()).unwrap()
}

/// A range of each dimension of a dataset: first index, count and stride.
pub type Ranges = Vec<(u64, u64, u64)>;

/// Ranges of dimensions, none of them empty.
pub fn ranges(dataset: &Dataset, dice: &mut Dice) -> Ranges {
    let lens = dataset.dimensions().iter().map(|d| if d.is_record() { dataset.records() } else { d.len });
    lens.map(|len| {
        let stride = 1 + dice.below(3) / 2 * (1 + dice.below(3));
        let start = dice.below(len);
        (start, 1 + dice.below((len - start).div_ceil(stride)), stride)
    })
    .collect()
}

/// A slice as a classic file, and its proof.
pub fn slice(
    dataset: &Dataset,
    tree: &TreeFile,
    variables: &[u32],
    ranges: &[(u64, u64, u64)],
) -> (Vec<u8>, Proof) {
    let parts: Vec<Part> = variables
        .iter()
        .map(|&n| {
            let id = VarId(n);
            let own: Vec<_> =
                dataset.header().variables[id.index()].dimensions.iter().map(|d| ranges[d.index()]).collect();
            let slab = Hyperslab::new(
                own.iter().map(|r| r.0).collect::<Vec<_>>(),
                own.iter().map(|r| r.1).collect::<Vec<_>>(),
                own.iter().map(|r| i64::try_from(r.2).unwrap()).collect::<Vec<_>>(),
            );
            Part { variable: id, slab: slab.unwrap() }
        })
        .collect();
    let proof = make(dataset, tree, &parts, true).unwrap();
    let old = dataset.header();
    let used: Vec<usize> = (0..old.dimensions.len())
        .filter(|n| {
            parts.iter().any(|p| old.variables[p.variable.index()].dimensions.iter().any(|d| d.index() == *n))
        })
        .collect();
    let place = |d: &DimId| DimId(u32::try_from(used.iter().position(|n| *n == d.index()).unwrap()).unwrap());
    let mut header = Header { dimensions: Vec::new(), variables: Vec::new(), ..old.clone() };
    for &n in &used {
        let Dimension { name, len } = old.dimensions[n].clone();
        header.dimensions.push(Dimension { name, len: if len == 0 { 0 } else { ranges[n].1 } });
    }
    let mut values = Vec::new();
    for part in &parts {
        let mut variable = old.variables[part.variable.index()].clone();
        variable.dimensions = variable.dimensions.iter().map(place).collect();
        header.variables.push(variable);
        values.push(dataset.variable_at(part.variable).unwrap().read_bytes(&part.slab).unwrap());
    }
    let records = if old.dimensions[0].is_record() && used.contains(&0) { ranges[0].1 } else { 0 };
    (file(header, records, &values), proof)
}
