//! Reads by hyperslab, of archives and classic files, against a plain array.

use crate::classic::{Model, Var};
use crate::support::archive_bytes;
use nc3z_format::classic::{NumRecs, VarId, Version};
#[cfg(feature = "ndarray")]
use nc3z_format::selection::{AnySelection, Segment, Selection};
use nc3z_format::tile::{Edge, TileExtent};
use nc3z_format::{Hyperslab, NcType};
use nc3z_reader::cache::TileCache;
use nc3z_reader::source::{FileSource, MemorySource};
use nc3z_reader::{Dataset, ErrorKind, OpenOptions, Tile};
use nc3z_writer::{ChunkRequest, WriterOptions};
#[cfg(feature = "ndarray")]
use ndarray::{ArrayD, Axis};
use proptest::prelude::*;
use std::sync::Arc;

/// The same file as an archive, in memory, and read by position.
fn every_kind(original: &[u8], tile_len: u64) -> Vec<Dataset> {
    with_options(original, &WriterOptions::default().with_tile_len(tile_len), 0)
}

/// The file and its archive with these options, the archive read through a cache of `cache` bytes.
fn with_options(original: &[u8], options: &WriterOptions, cache: u64) -> Vec<Dataset> {
    let archive = archive_bytes(original, options);
    let options = OpenOptions::default().with_cache(TileCache::new(cache));
    let memory = |bytes: Vec<u8>| Dataset::from_source(Arc::new(MemorySource::new(bytes)), &options).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.nc");
    std::fs::write(&path, original).unwrap();
    let by_position = Arc::new(FileSource::open(&path).unwrap());
    vec![memory(archive), memory(original.to_vec()), Dataset::from_source(by_position, &options).unwrap()]
}

/// The elements of a hyperslab of a plain array, copied one at a time.
fn gather(array: &[u8], size: usize, shape: &[u64], slab: &Hyperslab) -> Vec<u8> {
    let mut out = Vec::new();
    let total: u64 = slab.count.iter().product();
    for n in 0..total {
        let (mut rest, mut flat, mut width) = (n, 0_i64, 1_i64);
        for d in (0..shape.len()).rev() {
            let i = i64::try_from(rest % slab.count[d]).unwrap();
            rest /= slab.count[d];
            flat += width * (i64::try_from(slab.start[d]).unwrap() + i * slab.stride[d]);
            width *= i64::try_from(shape[d]).unwrap();
        }
        let at = usize::try_from(flat).unwrap() * size;
        out.extend(&array[at..at + size]);
    }
    out
}

/// A hyperslab inside `shape`, from four arbitrary numbers a dimension.
fn slab_in(shape: &[u64], dice: &[(u64, u64, u64, bool)]) -> Hyperslab {
    let mut slab = Hyperslab::all(shape);
    for (d, (&len, &(a, b, c, back))) in shape.iter().zip(dice).enumerate() {
        let step = 1 + c % len.clamp(1, 5);
        let count = if len == 0 { 0 } else { a % (len.div_ceil(step) + 1) };
        let reach = count.saturating_sub(1) * step;
        let low = if count == 0 { b % (len + 1) } else { b % (len - reach) };
        let step = i64::try_from(step).unwrap();
        slab.count[d] = count;
        slab.start[d] = if back { low + reach } else { low };
        slab.stride[d] = if back { -step } else { step };
    }
    slab
}

/// Puts a tile where it belongs in the whole array.
fn place(out: &mut [u8], size: usize, shape: &[u64], tile: &Tile) {
    match &tile.extent {
        TileExtent::Linear { first, count } => {
            let [first, count] = [*first, *count].map(|n| usize::try_from(n).unwrap() * size);
            out[first..first + count].copy_from_slice(&tile.bytes);
        }
        TileExtent::Chunk { start, shape: part } => {
            let slab = Hyperslab::new(start.clone(), part.clone(), vec![1; shape.len()]).unwrap();
            let places: Vec<u8> =
                (0..out.len() / size).flat_map(|n| u32::try_from(n).unwrap().to_be_bytes()).collect();
            let places = gather(&places, 4, shape, &slab);
            for (at, element) in places.as_chunks::<4>().0.iter().zip(tile.bytes.chunks(size)) {
                let at = usize::try_from(u32::from_be_bytes(*at)).unwrap() * size;
                out[at..at + size].copy_from_slice(element);
            }
        }
    }
}

fn vars() -> impl Strategy<Value = Vec<Var>> {
    let ty = prop::sample::select(NcType::ALL.to_vec());
    let shape = prop::collection::vec(1u64..7, 0..5);
    let var = (ty, any::<bool>(), shape).prop_map(|(ty, record, shape)| Var { ty, record, shape, gap: 0 });
    prop::collection::vec(var, 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn hyperslabs_are_those_of_a_plain_array(
        vars in vars(),
        records in 0u64..9,
        fill in 2u8..5,
        tile_len in prop::sample::select(vec![8u64, 24, 64, 1000]),
        chunks in prop::option::of(prop::collection::vec(1u64..6, 5)),
        padded in any::<bool>(),
        cache in prop::sample::select(vec![0u64, 600, 1 << 20]),
        dice in prop::collection::vec(prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>(), any::<bool>()), 5), 6),
    ) {
        let sample = Model { fill, ..Model::new(Version::Cdf5, records, vars.clone()) }.build();
        let mut options = WriterOptions::default().with_tile_len(tile_len);
        if let Some(lens) = &chunks {
            options = options.with_edge(if padded { Edge::Padded } else { Edge::Clipped });
            let mut dim = 0;
            for (v, var) in vars.iter().enumerate() {
                let time = var.record.then(|| ("time".to_owned(), lens[0]));
                // The last dimension is left whole.
                let fixed = var.shape.iter().zip(lens).enumerate().map(|(d, (_, len))| (format!("d{}", dim + d + 1), *len));
                let named: Vec<_> = time.into_iter().chain(fixed).take(var.shape.len().max(1)).collect();
                dim += var.shape.len();
                if !named.is_empty() {
                    options = options.with_chunks(ChunkRequest::new(named).only(format!("v{v}")));
                }
            }
        }
        for dataset in with_options(&sample.bytes, &options, cache) {
            for (v, var) in vars.iter().enumerate() {
                let array = sample.variable(v).unwrap();
                let variable = dataset.variable_at(VarId(u32::try_from(v).unwrap())).unwrap();
                prop_assert_eq!(variable.read_bytes(&variable.all()).unwrap(), array.clone());
                for dice in &dice {
                    let slab = slab_in(variable.shape(), dice);
                    let expected = gather(&array, var.ty.size(), variable.shape(), &slab);
                    // Small pieces are read in another way once their tiles were read a few times.
                    for _ in 0..5 {
                        let found = variable.read_bytes(&slab).unwrap();
                        prop_assert_eq!(&found, &expected, "{} {}", variable.name(), slab);
                    }
                }
                let mut tiles = vec![0; array.len()];
                for tile in variable.tiles().unwrap() {
                    place(&mut tiles, var.ty.size(), variable.shape(), &tile.unwrap());
                }
                prop_assert_eq!(tiles, array, "the tiles make up the whole");
            }
        }
    }
}

#[test]
fn typed_reads_convert_or_name_what_does_not_fit() {
    let vars = vec![
        Var::fixed(NcType::Int, &[2, 3]),
        Var::fixed(NcType::Byte, &[4]),
        Var::fixed(NcType::Char, &[4]),
    ];
    let mut sample = Model::new(Version::Cdf1, 0, vars.clone()).build();
    let values = [1_i32, -2, 300, 70_000, 5, 6];
    let at = sample.bytes.len() - 32;
    sample.bytes[at..at + 24].copy_from_slice(&values.map(i32::to_be_bytes).concat());
    sample.bytes[at + 24..].copy_from_slice(b"\xff\x01\x02\x03abcd");
    // Again and again: small pieces are read in another way once their tiles were read a few times.
    let again = |dataset| std::iter::repeat_n(dataset, 5);
    for dataset in every_kind(&sample.bytes, 8).into_iter().flat_map(again) {
        let v = dataset.variable("v0").unwrap();
        assert_eq!(v.read::<i32>(&v.all()).unwrap(), values);
        assert_eq!(v.read::<f64>(&v.all()).unwrap(), values.map(f64::from));
        let corner = Hyperslab::new([1, 2], [1, 2], [1, -1]).unwrap();
        assert_eq!(v.read::<u8>(&corner).unwrap(), [6, 5]);
        let error = v.read::<i16>(&Hyperslab::new([1, 2], [2, 3], [-1, -1]).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "variable \"v0\", element [1, 0]: 70000 does not fit i16");
        assert!(matches!(error.kind(), ErrorKind::Range { index, .. } if index == &[1, 0]));
        let v = dataset.variable("v1").unwrap();
        assert_eq!(v.read::<u8>(&v.all()).unwrap(), [255, 1, 2, 3], "a CDF-1 byte has no sign");
        assert_eq!(v.read::<i8>(&v.all()).unwrap(), [-1, 1, 2, 3]);
        assert!(v.read::<u16>(&v.all()).is_err());
        let v = dataset.variable("v2").unwrap();
        assert_eq!(v.read::<u8>(&v.all()).unwrap(), b"abcd");
        let text = v.read::<i8>(&v.all()).unwrap_err().to_string();
        assert!(text.contains("is text (char)"), "{text}");
    }
}

#[test]
fn what_the_file_does_not_hold_is_named() {
    let vars = vec![Var::fixed(NcType::Short, &[2]), Var::record(NcType::Int, &[3])];
    let sample = Model { cut: 20, ..Model::new(Version::Cdf2, 4, vars) }.build();
    for dataset in every_kind(&sample.bytes, 16) {
        let v = dataset.variable("v1").unwrap();
        assert_eq!((v.shape(), v.layout().present), (&[4, 3][..], 7));
        let there = Hyperslab::new([1, 0], [2, 1], [1, 1]).unwrap();
        assert_eq!(v.read_bytes(&there).unwrap().len(), 8);
        let error = v.read_bytes(&v.all()).unwrap_err();
        let text = error.to_string();
        assert!(
            error.is_incomplete()
                && text.contains("\"v1\" of shape [4, 3]")
                && text.contains("first 7 elements"),
            "{text}"
        );
        assert!(text.contains("20 bytes are missing"), "{text}");
    }
}

#[test]
fn aliased_and_irregular_variables_read_like_others() {
    // v1 begins inside v0; the records overlap, so they are irregular.
    let overlapping = Var { gap: -6, ..Var::fixed(NcType::Short, &[5]) };
    let record = Var { gap: -4, ..Var::record(NcType::Int, &[2]) };
    let vars = vec![Var::fixed(NcType::Double, &[3]), overlapping, Var::record(NcType::Short, &[3]), record];
    let sample = Model { fill: 3, tail: 40, ..Model::new(Version::Cdf2, 5, vars.clone()) }.build();
    for dataset in every_kind(&sample.bytes, 16) {
        for (n, var) in vars.iter().enumerate() {
            let v = dataset.variable_at(VarId(u32::try_from(n).unwrap())).unwrap();
            let array = sample.variable(n).unwrap();
            assert_eq!(v.read_bytes(&v.all()).unwrap(), array, "v{n}");
            let slab = slab_in(v.shape(), &[(2, 1, 1, true), (2, 0, 1, false)]);
            assert_eq!(v.read_bytes(&slab).unwrap(), gather(&array, var.ty.size(), v.shape(), &slab));
        }
    }
}

#[test]
fn shapes_beyond_all_bounds_are_refused_by_name() {
    // The builder would lay out 2^64 elements: the lengths are put into a small file's header instead.
    let mut bytes = Model::new(Version::Cdf5, 0, vec![Var::fixed(NcType::Int, &[7, 9])]).build().bytes;
    for len in [7u64, 9] {
        let at = bytes.windows(8).position(|w| w == len.to_be_bytes()).unwrap();
        bytes[at..at + 8].copy_from_slice(&(1u64 << 60).to_be_bytes());
    }
    for dataset in every_kind(&bytes, 16) {
        let v = dataset.variable("v0").unwrap();
        let text = v.read_bytes(&Hyperslab::new([0, 0], [1, 1], [1, 1]).unwrap()).unwrap_err().to_string();
        assert!(text.contains("more elements than can be addressed"), "{text}");
        let mut flat = [0; 8];
        v.source().read_range(v.id(), 4, &mut flat).unwrap();
    }
}

#[test]
fn errors_name_variable_dimension_length_and_request() {
    let sample = Model::new(Version::Cdf1, 3, vec![Var::record(NcType::Int, &[4])]).build();
    for dataset in every_kind(&sample.bytes, 16) {
        let v = dataset.variable("v0").unwrap();
        let fails = |slab: Hyperslab| v.read_bytes(&slab).unwrap_err().to_string();
        assert_eq!(
            fails(Hyperslab::new([2, 0], [2, 1], [1, 1]).unwrap()),
            "variable \"v0\": dimension 0 (`time`) has length 3, asked for start 2, count 2, stride 1"
        );
        assert!(
            fails(Hyperslab::new([0], [1], [1]).unwrap())
                .contains("hyperslab of 1 dimensions in an array of 2")
        );
        let error = v.read_bytes_into(&v.all(), &mut [0; 44]).unwrap_err().to_string();
        assert!(error.contains("has 12 elements, the buffer 11"), "{error}");
        assert!(v.read_bytes_into(&v.all(), &mut [0; 45]).is_err());
        let none = dataset.variable("nope").unwrap_err().to_string();
        assert!(none.contains("no variable \"nope\"") && none.contains("v0"), "{none}");
    }
}

#[test]
fn streaming_files_have_the_records_that_their_length_implies() {
    let model = Model {
        numrecs: NumRecs::Streaming,
        ..Model::new(Version::Cdf2, 6, vec![Var::record(NcType::Float, &[3])])
    };
    for dataset in every_kind(&model.build().bytes, 16) {
        let v = dataset.variable("v0").unwrap();
        assert_eq!((v.shape(), dataset.records()), (&[6, 3][..], 6));
        assert_eq!(v.read::<f32>(&v.all()).unwrap().len(), 18);
    }
}

#[test]
fn datasets_go_to_other_threads() {
    fn shared<T: Send + Sync + Clone + 'static>() {}
    shared::<Dataset>();
    shared::<nc3z_reader::Variable>();
}

#[test]
fn big_requests_are_shared_among_threads() {
    // 6 MB in tiles of 64 KiB, and in chunks that lie across the first dimension.
    let sample = Model::new(Version::Cdf2, 0, vec![Var::fixed(NcType::Short, &[30, 200, 500])]).build();
    let array = sample.variable(0).unwrap();
    let chunks = ChunkRequest::new([("d1", 30), ("d2", 50), ("d3", 50)]);
    let linear = WriterOptions::default().with_tile_len(64 << 10);
    let slabs = [
        Hyperslab::all(&[30, 200, 500]),
        Hyperslab::new([29, 199, 499], [30, 200, 500], [-1, -1, -1]).unwrap(),
        Hyperslab::new([1, 3, 0], [15, 190, 499], [2, 1, 1]).unwrap(),
        Hyperslab::new([3, 0, 0], [1, 200, 500], [1, 1, 1]).unwrap(),
        Hyperslab::new([0, 0, 7], [30, 200, 71], [1, 1, 7]).unwrap(),
    ];
    let expected = slabs.clone().map(|slab| gather(&array, 2, &[30, 200, 500], &slab));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for options in [linear.clone(), linear.with_chunks(chunks)] {
        for dataset in
            [0, 64 << 20].into_iter().flat_map(|cache| with_options(&sample.bytes, &options, cache))
        {
            let v = dataset.variable("v0").unwrap();
            for (slab, expected) in slabs.iter().zip(&expected) {
                let (bytes, wide) =
                    pool.install(|| (v.read_bytes(slab).unwrap(), v.read::<i64>(slab).unwrap()));
                assert!(bytes == *expected, "{slab}");
                let expected = expected.as_chunks().0.iter().map(|b| i64::from(i16::from_be_bytes(*b)));
                assert!(wide.into_iter().eq(expected), "{slab}");
            }
        }
    }
}

#[test]
fn big_requests_of_classic_files_are_shared_among_threads() {
    let shape = [19, 400, 640];
    let sample = Model::new(Version::Cdf2, 0, vec![Var::fixed(NcType::Float, &shape)]).build();
    let array = sample.variable(0).unwrap();
    let v = Dataset::from_source(Arc::new(MemorySource::new(sample.bytes)), &OpenOptions::default()).unwrap();
    let v = v.variable("v0").unwrap();
    let slabs = [
        // 19 MB: from far on, in order and not; 19 MB of cache lines, one for each element, and rows that no share ends with.
        Hyperslab::new([18, 0, 639], [19, 400, 640], [-1, 1, -1]).unwrap(),
        Hyperslab::new([0, 1, 5], [19, 399, 39], [1, 1, 16]).unwrap(),
    ];
    for slab in &slabs {
        let expected = gather(&array, 4, &shape, slab);
        for threads in [1, 2, 3, 7] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert!(pool.install(|| v.read_bytes(slab).unwrap()) == expected, "{slab} by {threads} threads");
        }
    }
}

#[cfg(feature = "ndarray")]
#[test]
fn arrays_have_the_shape_of_the_request() {
    let sample = Model::new(Version::Cdf1, 3, vec![Var::record(NcType::Int, &[4])]).build();
    for dataset in every_kind(&sample.bytes, 16) {
        let v = dataset.variable("v0").unwrap();
        let slab = Hyperslab::new([2, 1], [2, 3], [-1, 1]).unwrap();
        let array = v.read_array::<i64>(&slab).unwrap();
        assert_eq!(array.shape(), [2, 3]);
        assert!(array.iter().copied().eq(v.read::<i64>(&slab).unwrap()));
        let empty = Hyperslab::new([0, 0], [0, 4], [1, 1]).unwrap();
        assert_eq!(v.read_array::<i64>(&empty).unwrap().shape(), [0, 4]);
    }
}

#[cfg(feature = "ndarray")]
proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Lists in any order, ranges, masks and points, of archives and classic files, compared with the `ndarray` crate.
    #[test]
    fn selections_are_those_of_ndarray(
        shape in prop::collection::vec(1u64..9, 1..4),
        chunk in prop::option::of(1u64..4),
        lists in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..7), 3),
        kinds in prop::collection::vec(0u8..3, 3),
        starts in prop::collection::vec(prop::collection::vec(any::<u64>(), 3), 0..5),
        bits in any::<u64>(),
    ) {
        let sample = Model::new(Version::Cdf5, 0, vec![Var::fixed(NcType::Int, &shape)]).build();
        let in_memory = |n: u64| usize::try_from(n).unwrap();
        let numbers = sample.variable(0).unwrap();
        let numbers = numbers.as_chunks().0.iter().map(|b| i64::from(i32::from_be_bytes(*b))).collect();
        let lens: Vec<usize> = shape.iter().map(|n| in_memory(*n)).collect();
        let whole = ArrayD::from_shape_vec(lens, numbers).unwrap();

        let dims = shape.iter().zip(&lists).zip(&kinds).map(|((&n, list), kind)| match kind {
            0 => Segment::of_list(list.iter().map(|i| i % n)),
            1 => vec![Segment { start: n - 1, count: n.div_ceil(2), stride: -2 }],
            _ => Segment::of_mask(&(0..n).map(|i| bits >> i & 1 == 1).collect::<Vec<_>>()),
        });
        let grid = Selection::new(dims.collect());
        let along = |dim: usize| (0..grid.counts()[dim]).map(|n| in_memory(grid.index(dim, n))).collect::<Vec<_>>();
        let of_grid = (0..shape.len()).fold(whole.clone(), |array, dim| array.select(Axis(dim), &along(dim)));

        // Every second element of the last dimension from each point on, backwards.
        let rank = shape.len();
        let (mut count, mut stride) = (vec![1; rank], vec![1; rank]);
        (count[rank - 1], stride[rank - 1]) = (shape[rank - 1].div_ceil(2), -2);
        let of_point = |point: Vec<u64>| {
            let mut point: Vec<u64> = point.iter().zip(&shape).map(|(i, n)| i % n).collect();
            point[rank - 1] = shape[rank - 1] - 1;
            point
        };
        let starts: Vec<Vec<u64>> = starts.into_iter().map(of_point).collect();
        let element = |start: &Vec<u64>, n: u64| {
            let mut at: Vec<usize> = start.iter().map(|i| in_memory(*i)).collect();
            at[rank - 1] -= in_memory(2 * n);
            whole[&at[..]]
        };
        let boxes = starts.iter().flat_map(|start| (0..count[rank - 1]).map(move |n| (start, n)));
        let of_points: Vec<i64> = boxes.map(|(start, n)| element(start, n)).collect();
        let starts = starts.concat();
        let points = AnySelection::Points { starts: &starts, count: count.clone(), stride };

        let mask: Vec<bool> = (0..whole.len()).map(|n| bits >> (n % 61) & 1 == 1).collect();
        let of_mask: Vec<i64> = whole.iter().zip(&mask).filter(|(_, m)| **m).map(|(x, _)| *x).collect();

        let mut options = WriterOptions::default().with_tile_len(24);
        if let Some(len) = chunk {
            options = options.with_chunks(ChunkRequest::new((1..=rank).map(|d| (format!("d{d}"), len)).collect::<Vec<_>>()));
        }
        for dataset in with_options(&sample.bytes, &options, 1 << 20) {
            let v = dataset.variable("v0").unwrap();
            prop_assert!(v.gather::<i64>(&(&grid).into()).unwrap().into_iter().eq(of_grid.iter().copied()));
            prop_assert_eq!(v.gather::<i64>(&points).unwrap(), of_points.clone());
            prop_assert_eq!(v.gather::<i64>(&AnySelection::Mask(&mask)).unwrap(), of_mask.clone());
            let bytes: Vec<u8> = of_grid.iter().flat_map(|x| i32::try_from(*x).unwrap().to_be_bytes()).collect();
            prop_assert_eq!(v.gather_bytes(&(&grid).into()).unwrap(), bytes);
        }
    }
}
