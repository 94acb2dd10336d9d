use super::*;
use crate::fragments::{Fragments, OpenFragment, Options};
use crate::{
    Convention, NewAggregation, NewArray, NewFile, NewVariable, Placed, attribute, cut, text_attribute, wrap,
};
use nc3z_format::Hyperslab;
use nc3z_reader::source::{MemorySource, SharedSource};
use nc3z_reader::{Dataset, OpenOptions};
use proptest::prelude::*;
use proptest::test_runner::TestRng;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Files in memory, and a record of those that were opened.
#[derive(Default)]
struct Memory {
    files: HashMap<String, Vec<u8>>,
    asked: Mutex<Vec<String>>,
}

impl OpenFragment for Memory {
    fn open_fragment(&self, uri: &str) -> Result<Option<SharedSource>> {
        self.asked.lock().unwrap().push(uri.to_owned());
        let found = self.files.get(uri).ok_or_else(|| Error::fragment(uri, "there is no such file"))?;
        Ok(Some(Arc::new(MemorySource::new(found.clone()))))
    }
}

fn dataset(bytes: Vec<u8>) -> Dataset {
    Dataset::from_source(Arc::new(MemorySource::new(bytes)), &OpenOptions::default()).unwrap()
}

/// One array in a random master. Its element at `index` is `value(index)` in kelvin.
struct Case {
    rng: TestRng,
    shape: Vec<u64>,
    files: HashMap<String, Vec<u8>>,
    placed: Vec<Placed>,
}

/// The packing of a sub-array.
struct Packing {
    ty: NcType,
    scale: f64,
    offset: f64,
}

fn value(index: &[u64]) -> f64 {
    250.0 + index.iter().fold(0.0, |v, i| v * 10.0 + f64::from(u32::try_from(*i).unwrap()))
}

fn names(rank: usize) -> Vec<String> {
    (0..rank).map(|d| format!("d{d}")).collect()
}

fn each_index(location: &[Range<u64>]) -> Vec<Vec<u64>> {
    location.iter().fold(vec![vec![]], |all, range| {
        all.iter().flat_map(|head| range.clone().map(|i| [&head[..], &[i]].concat())).collect()
    })
}

impl Case {
    fn below(&mut self, n: u32) -> u32 {
        self.rng.next_u32() % n
    }

    fn new(mut rng: TestRng) -> Self {
        let rank = 1 + rng.next_u32() as usize % 3;
        let shape: Vec<u64> = (0..rank).map(|_| 1 + u64::from(rng.next_u32() % 7)).collect();
        let mut case = Case { rng, shape, files: HashMap::new(), placed: vec![] };
        let whole: Vec<Range<u64>> = case.shape.iter().map(|len| 0..*len).collect();
        case.split(whole, 4);
        case
    }

    /// Cuts a box at random, recursively.
    fn split(&mut self, location: Vec<Range<u64>>, depth: u32) {
        let d = self.below(u32::try_from(location.len()).unwrap()) as usize;
        let len = location[d].end - location[d].start;
        if depth == 0 || len < 2 || self.below(5) == 0 {
            self.place(location);
            return;
        }
        let at = location[d].start + 1 + u64::from(self.below(u32::try_from(len - 1).unwrap()));
        let (mut low, mut high) = (location.clone(), location);
        low[d].end = at;
        high[d].start = at;
        self.split(low, depth - 1);
        self.split(high, depth - 1);
    }

    /// Returns a packing for a sub-array in these units, or none. Its numbers keep whole kelvins whole.
    fn packing(&mut self, units: &str) -> Option<Packing> {
        let ty = [NcType::Short, NcType::Int, NcType::UShort, NcType::Float, NcType::Double]
            .get(self.below(8) as usize)
            .copied()?;
        let (step, least) = ([1.0, 0.5, 0.25, 0.125][self.below(4) as usize], f64::from(self.below(250)));
        let (degree, zero) = match units {
            "K" => (1.0, 0.0),
            "degC" => (1.0, -273.15),
            _ => (1.8, 32.0 - 273.15 * 1.8),
        };
        Some(Packing { ty, scale: step * degree, offset: zero + least * degree })
    }

    /// Returns the length of a dimension of a file, and the `count` indices of it that belong to the
    /// partition.
    fn applies(&mut self, count: u64) -> (u64, Indices) {
        match self.below(4) {
            0 => {
                let (skip, step) = (u64::from(self.below(3)), 1 + u64::from(self.below(3)));
                let len = skip + count * step + u64::from(self.below(2));
                (len, Indices::Range { start: skip, count, step: step.cast_signed() })
            }
            1 => {
                let step = 1 + u64::from(self.below(2));
                let len = count * step + 1;
                (len, Indices::Range { start: (count - 1) * step, count, step: -step.cast_signed() })
            }
            2 => {
                let len = count + u64::from(self.below(4));
                let mut list: Vec<u64> = (0..len).collect();
                for n in (1..list.len()).rev() {
                    let other = self.below(u32::try_from(n + 1).unwrap()) as usize;
                    list.swap(n, other);
                }
                list.truncate(usize::try_from(count).unwrap());
                (len, Indices::List(list))
            }
            _ => (count, Indices::all(count)),
        }
    }

    /// Makes a sub-array for a box, with random properties.
    fn place(&mut self, location: Vec<Range<u64>>) {
        let all = names(location.len());
        let lens: Vec<u64> = location.iter().map(|r| r.end - r.start).collect();
        let mut stored: Vec<String> = all
            .iter()
            .zip(&lens)
            .filter(|(_, len)| **len > 1 || !self.rng.next_u32().is_multiple_of(3))
            .map(|(d, _)| d.clone())
            .collect();
        if self.below(4) == 0 {
            stored.push("extra".into());
        }
        for n in (1..stored.len()).rev() {
            let other = self.below(u32::try_from(n + 1).unwrap()) as usize;
            stored.swap(n, other);
        }
        let reversed: Vec<String> = stored
            .iter()
            .filter(|d| *d != "extra" && self.rng.next_u32().is_multiple_of(3))
            .cloned()
            .collect();
        // Along each stored dimension: its length in the file, and the indices that belong to the partition.
        let mut lengths = Vec::new();
        let mut part = Vec::new();
        for dim in &stored {
            let count = all.iter().position(|d| d == dim).map_or(1, |d| lens[d]);
            let (len, indices) = self.applies(count);
            lengths.push(len);
            part.push(indices);
        }
        let whole = part.iter().zip(&lengths).all(|(i, len)| *i == Indices::all(*len));
        let (units, told) =
            [("K", "K"), ("degC", "degree_Celsius"), ("degF", "degF")][self.below(3) as usize];
        let packing = self.packing(units);
        let mut values = vec![999.0_f64; usize::try_from(lengths.iter().product::<u64>()).unwrap()];
        for index in each_index(&location) {
            let at = stored.iter().zip(&part).zip(&lengths).fold(0, |at, ((dim, indices), len)| {
                let n = all.iter().position(|d| d == dim).map_or(0, |d| {
                    let n = index[d] - location[d].start;
                    if reversed.contains(dim) { lens[d] - 1 - n } else { n }
                });
                at * len + indices.at(n)
            });
            let kelvin = value(&index);
            let own = match units {
                "K" => kelvin,
                "degC" => kelvin - 273.15,
                _ => (kelvin - 273.15) * 1.8 + 32.0,
            };
            let packed = packing.as_ref().map(|p| ((own - p.offset) / p.scale).round());
            values[usize::try_from(at).unwrap()] = packed.unwrap_or(own);
        }
        let ty = packing.as_ref().map_or(NcType::Double, |p| p.ty);
        let mut bytes = Vec::new();
        for x in values {
            crate::master::conform::put_double(x, ty, &mut bytes).unwrap();
        }
        let double = |name: &str, x: f64| {
            (x != f64::from(name == "scale_factor")).then(|| attribute(name, NcType::Double, x.to_be_bytes()))
        };
        let mut attributes = vec![text_attribute("units", told)];
        if let Some(p) = &packing {
            attributes
                .extend(double("scale_factor", p.scale).into_iter().chain(double("add_offset", p.offset)));
        }
        let name = format!("f{}.nc", self.files.len());
        let file = NewFile {
            dimensions: lengths.iter().enumerate().map(|(n, len)| (format!("n{n}"), *len)).collect(),
            variables: vec![NewVariable {
                name: "v".into(),
                ty,
                dimensions: (0..lengths.len()).collect(),
                attributes,
                values: bytes,
            }],
            ..NewFile::default()
        };
        self.files.insert(name.clone(), file.to_bytes().unwrap());
        let sub = SubArray {
            file: FileRef::Uri(name.clone()),
            variable: "v".into(),
            shape: Some(lengths),
            fingerprint: None,
        };
        let partition = Partition {
            dimensions: Some(stored),
            reversed,
            units: UnitsOf::Given { units: Some(units.into()), calendar: None },
            part: (!whole).then_some(part),
            data: Data::Array(sub),
        };
        self.placed.push(Placed { location, partition, name });
    }

    /// The aggregation, written as NCA and read again; and the files behind it.
    fn open(&mut self) -> (Dataset, Arc<Memory>) {
        let dims = names(self.shape.len());
        let (cuts, partitions) = cut(&dims, &self.shape, &self.placed).unwrap();
        let array = NewArray {
            name: "v".into(),
            ty: NcType::Double,
            attributes: vec![text_attribute("units", "K")],
            dimensions: (0..dims.len()).collect(),
            directions: (0..dims.len()).map(|n| n % 2 == 0).collect(),
            cuts,
            partitions: Box::new(partitions),
        };
        let mut own = NewFile {
            dimensions: dims.into_iter().zip(self.shape.iter().copied()).collect(),
            ..NewFile::default()
        };
        own.dimension("extra", 1);
        let bytes = NewAggregation { own, arrays: vec![array] }.to_bytes(Convention::Nca).unwrap();
        let memory = Arc::new(Memory { files: std::mem::take(&mut self.files), ..Memory::default() });
        let options = Options { opener: Some(memory.clone()), ..Options::default() };
        (wrap(dataset(bytes), "agg.nc", None, &options).unwrap(), memory)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Any cutting of an array into sub-arrays reads back as the array, whole and in part.
    #[test]
    fn any_cutting_reads_back(seed in any::<[u8; 32]>()) {
        let mut case = Case::new(TestRng::from_seed(prop::test_runner::RngAlgorithm::ChaCha, &seed));
        let (dataset, memory) = case.open();
        let v = dataset.variable("v").unwrap();
        prop_assert_eq!(v.shape(), &case.shape[..]);
        let check = |slab: &Hyperslab| -> Result<(), TestCaseError> {
            let found: Vec<f64> = v.read(slab).unwrap();
            let ranges: Vec<Range<u64>> = slab.count.iter().map(|n| 0..*n).collect();
            for (x, at) in found.iter().zip(each_index(&ranges)) {
                let index: Vec<u64> = (0..at.len())
                    .map(|d| slab.start[d].wrapping_add(slab.stride[d].cast_unsigned().wrapping_mul(at[d])))
                    .collect();
                prop_assert!((x - value(&index)).abs() < 1e-9, "{:?} {} {}", index, x, value(&index));
            }
            Ok(())
        };
        check(&v.all())?;
        for _ in 0..8 {
            let mut slab = Hyperslab { start: vec![], count: vec![], stride: vec![] };
            for len in case.shape.clone() {
                let stride = i64::from(case.below(5)) - 2;
                let stride = if stride == 0 { 1 } else { stride };
                let start = u64::from(case.below(u32::try_from(len).unwrap()));
                let left = if stride > 0 { len - 1 - start } else { start };
                slab.start.push(start);
                slab.count.push(1 + u64::from(case.below(1 + u32::try_from(left / stride.unsigned_abs()).unwrap())));
                slab.stride.push(stride);
            }
            check(&slab)?;
        }
        // Reading the flattened array gives the same elements.
        let mut flat = vec![0; usize::try_from(8 * case.shape.iter().product::<u64>()).unwrap()];
        dataset.source().read_range(v.id(), 0, &mut flat).unwrap();
        prop_assert_eq!(flat, v.read_bytes(&v.all()).unwrap());
        prop_assert!(memory.asked.lock().unwrap().len() <= memory.files.len());
    }
}

/// The figure of the convention: 11 sub-arrays of an 8 x 7 array make 24 partitions, 4 x 6.
#[test]
fn eleven_sub_arrays_make_twenty_four_partitions() {
    const BOXES: [[u64; 4]; 11] = [
        [0, 2, 0, 3],
        [0, 2, 3, 5],
        [0, 4, 5, 7],
        [2, 4, 0, 2],
        [2, 6, 2, 4],
        [2, 6, 4, 5],
        [4, 8, 0, 1],
        [4, 8, 1, 2],
        [4, 6, 5, 7],
        [6, 8, 2, 5],
        [6, 8, 5, 7],
    ];
    let placed = BOXES.map(|[y0, y1, x0, x1]| {
        let sub =
            SubArray { file: FileRef::Own, variable: format!("{y0}{x0}"), shape: None, fingerprint: None };
        let partition = Partition {
            dimensions: None,
            reversed: vec![],
            units: UnitsOf::Variable,
            part: None,
            data: Data::Array(sub),
        };
        Placed { location: vec![y0..y1, x0..x1], partition, name: format!("{y0}{x0}") }
    });
    let dims = names(2);
    let (cuts, partitions) = cut(&dims, &[8, 7], &placed).unwrap();
    assert_eq!(cuts, [vec![0, 2, 4, 6, 8], vec![0, 1, 2, 3, 4, 5, 7]]);
    assert_eq!(partitions.len(), 24);
    assert_eq!(partitions.iter().filter(|p| p.part.is_some()).count(), 22);
    // One is missing; one is given twice; one leaves the array.
    let gap = cut(&dims, &[8, 7], &placed[1..]).unwrap_err().to_string();
    assert_eq!(gap, "nothing fills d0 0 to 1, d1 0 to 0");
    let mut twice = placed.to_vec();
    twice.push(placed[10].clone());
    assert!(cut(&dims, &[8, 7], &twice).unwrap_err().to_string().contains("`65` and `65` overlap"));
    assert!(cut(&dims, &[7, 7], &placed).is_err());
}

/// A fragment that a request does not need is not opened.
#[test]
fn only_what_is_touched_is_opened() {
    let file = |x: f64| {
        let v = NewVariable {
            name: "v".into(),
            ty: NcType::Double,
            dimensions: vec![0],
            attributes: vec![],
            values: x.to_be_bytes().repeat(4),
        };
        NewFile { dimensions: vec![("n".into(), 4)], variables: vec![v], ..NewFile::default() }
            .to_bytes()
            .unwrap()
    };
    let files: HashMap<_, _> = (0..50_u32).map(|n| (format!("f{n}"), file(n.into()))).collect();
    let partitions: Vec<Partition> = (0..50)
        .map(|n| {
            let sub = SubArray {
                file: FileRef::Uri(format!("f{n}")),
                variable: "v".into(),
                shape: None,
                fingerprint: None,
            };
            Partition {
                dimensions: None,
                reversed: vec![],
                units: UnitsOf::Variable,
                part: None,
                data: Data::Array(sub),
            }
        })
        .collect();
    let master = MasterArray {
        name: "v".into(),
        ty: NcType::Double,
        fill: NcType::Double.default_fill().to_vec(),
        limits: Vec::new(),
        units: None,
        calendar: None,
        dimensions: vec!["n".into()],
        cuts: vec![(0..=50).map(|n| n * 4).collect()],
        partitions: Box::new(partitions),
    };
    master.check().unwrap();
    let memory = Arc::new(Memory { files, ..Memory::default() });
    let own = dataset(NewFile::default().to_bytes().unwrap());
    let options = Options { opener: Some(memory.clone()), open_files: 2, ..Options::default() };
    let fragments = Fragments::new(own, "agg", None, &options);
    let mut out = vec![0; 16];
    master.read(&fragments, &Hyperslab::new([7], [2], [1]).unwrap(), &mut out).unwrap();
    assert_eq!(out, [1.0_f64.to_be_bytes(), 2.0_f64.to_be_bytes()].concat());
    let mut asked = memory.asked.lock().unwrap().clone();
    asked.sort();
    assert_eq!(asked, ["f1", "f2"]);
    let touched = master.explain(&fragments, &Hyperslab::new([199], [67], [-3]).unwrap()).unwrap();
    assert_eq!(touched.len(), 50);
    assert_eq!(touched.iter().map(|t| t.elements).sum::<u64>(), 67);
}

/// Files in memory. Opening one is work that is shared among threads, like reading a large index in an
/// archive.
struct Slow(Memory);

impl OpenFragment for Slow {
    fn open_fragment(&self, uri: &str) -> Result<Option<SharedSource>> {
        use rayon::prelude::*;
        let pause = std::time::Duration::from_micros(200);
        (0..8).into_par_iter().with_max_len(1).for_each(|_| std::thread::sleep(pause));
        self.0.open_fragment(uri)
    }
}

/// An aggregation of `n` by `width` elements. Each element is a partition, from the variable `v` of the files
/// `name(row)`.
fn by_element(n: u64, width: u64, name: &dyn Fn(u64) -> String) -> Vec<u8> {
    let partitions = (0..n * width).map(|at| Partition {
        dimensions: None,
        reversed: vec![],
        units: UnitsOf::Given { units: Some("K".into()), calendar: None },
        part: Some(vec![Indices::Range { start: at % width, count: 1, step: 1 }]),
        data: Data::Array(SubArray {
            file: FileRef::Uri(name(at / width)),
            variable: "v".into(),
            shape: Some(vec![width]),
            fingerprint: None,
        }),
    });
    let array = NewArray {
        name: "v".into(),
        ty: NcType::Double,
        attributes: vec![text_attribute("units", "K")],
        dimensions: vec![0],
        directions: vec![true],
        cuts: vec![(0..=n * width).collect()],
        partitions: Box::new(partitions.collect::<Vec<_>>()),
    };
    let own = NewFile { dimensions: vec![("n".into(), n * width)], ..NewFile::default() };
    NewAggregation { own, arrays: vec![array] }.to_bytes(Convention::Nca).unwrap()
}

/// Aggregations in an aggregation, read by many threads in a small pool. A thread that waits while it opens a
/// file takes up tasks of others, which need the same file. No thread may wait for itself.
#[test]
fn nested_aggregations_are_read_by_many_threads() {
    const FILES: u64 = 4;
    const WIDTH: u64 = 8;
    let mut files = HashMap::new();
    for n in 0..FILES * FILES {
        let values = (0..WIDTH).flat_map(|i| f64::from(u32::try_from(n * WIDTH + i).unwrap()).to_be_bytes());
        let v = NewVariable {
            name: "v".into(),
            ty: NcType::Double,
            dimensions: vec![0],
            attributes: vec![],
            values: values.collect(),
        };
        let file =
            NewFile { dimensions: vec![("n".into(), WIDTH)], variables: vec![v], ..NewFile::default() };
        files.insert(format!("f{n}"), file.to_bytes().unwrap());
    }
    for n in 0..FILES {
        files.insert(format!("a{n}"), by_element(FILES, WIDTH, &|row| format!("f{}", n * FILES + row)));
    }
    let top = by_element(FILES, FILES * WIDTH, &|row| format!("a{row}"));
    let expected: Vec<f64> =
        (0..FILES * FILES * WIDTH).map(|n| f64::from(u32::try_from(n).unwrap())).collect();
    let (tell, told) = std::sync::mpsc::channel();
    // With and without a base directory: fragments on servers are read by a separate pool of threads. Files
    // are closed at once, and opened again.
    for (base, open_files) in [(None, 2), (Some(std::path::Path::new(".")), 2), (None, 100)] {
        let memory = Arc::new(Slow(Memory { files: files.clone(), ..Memory::default() }));
        let options = Options { opener: Some(memory), open_files, ..Options::default() };
        let all = wrap(dataset(top.clone()), "top", base, &options).unwrap();
        let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap());
        for n in 0..6 {
            let (all, pool, tell) = (all.clone(), pool.clone(), tell.clone());
            std::thread::spawn(move || {
                let read = || {
                    let v = all.variable("v").unwrap();
                    v.read::<f64>(&v.all()).unwrap()
                };
                tell.send(if n % 2 == 0 { pool.install(read) } else { read() }).unwrap();
            });
        }
        for _ in 0..6 {
            let values = told.recv_timeout(std::time::Duration::from_secs(60));
            assert_eq!(values.expect("no thread waits for itself"), expected);
        }
    }
}
