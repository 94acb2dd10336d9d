//! Chunks of any shape, clipped and padded, restore with every way of reading.

use crate::classic::{Model, Var};
use crate::support::{archive_bytes, check, refused};
use nc3z_format::NcType;
use nc3z_format::archive::ArrayId;
use nc3z_format::classic::{NumRecs, VarId, Version};
use nc3z_format::tile::{Edge, TileLayout};
use nc3z_writer::{ChunkRequest, TileChoice, WriterOptions};
use proptest::prelude::*;

/// Chunk lengths for variable `i` of a model, whose fixed dimensions are numbered through all variables.
fn request(model: &Model, i: usize, lengths: &[u64]) -> Option<ChunkRequest> {
    let first = 1 + model.vars[..i].iter().map(|v| v.shape.len()).sum::<usize>();
    let var = &model.vars[i];
    let time = var.record.then(|| "time".to_owned());
    let names = time.into_iter().chain((first..first + var.shape.len()).map(|d| format!("d{d}")));
    let named: Vec<_> = names.zip(lengths.iter().copied()).collect();
    (!named.is_empty()).then(|| ChunkRequest::new(named).only(format!("v{i}")))
}

fn chunked(model: &Model, lengths: &[u64], edge: Edge) -> WriterOptions {
    let requests = (0..model.vars.len()).filter_map(|i| request(model, i, lengths));
    requests.fold(WriterOptions::default().with_edge(edge), WriterOptions::with_chunks)
}

const EDGES: [Edge; 2] = [Edge::Clipped, Edge::Padded];

#[test]
fn every_type_fixed_and_by_record() {
    for ty in NcType::ALL {
        let vars = vec![
            Var::fixed(ty, &[3, 5]),
            Var::record(ty, &[3]),
            Var::record(NcType::Short, &[]),
            Var::record(ty, &[2, 1]),
        ];
        let model = Model::new(Version::Cdf5, 5, vars);
        for lengths in [[1, 1, 1], [2, 2, 2], [3, 1, 7], [100, 2, 1]] {
            for edge in EDGES {
                let archive = check(&model.build(), &chunked(&model, &lengths, edge), &[(40, 177), (3, 99)]);
                let layout = archive.arrays().variable(VarId(1)).tiling.layout();
                assert!(matches!(layout, TileLayout::Chunked { edge: e, .. } if *e == edge), "{layout}");
            }
        }
    }
}

#[test]
fn lone_record_variables_of_small_types_in_chunks() {
    for ty in [NcType::Byte, NcType::Char, NcType::Short] {
        let model = Model::new(Version::Cdf1, 7, vec![Var::record(ty, &[3])]);
        for lengths in [[1, 1], [2, 3], [9, 2]] {
            for edge in EDGES {
                check(&model.build(), &chunked(&model, &lengths, edge), &[(0, 200), (70, 75)]);
            }
        }
    }
}

#[test]
fn scalars_are_one_chunk() {
    let model = Model::new(Version::Cdf2, 0, vec![Var::fixed(NcType::Double, &[])]);
    for edge in EDGES {
        let options = WriterOptions::default().with_layout(TileChoice::Chunked).with_edge(edge);
        let archive = check(&model.build(), &options, &[(0, 50)]);
        assert_eq!(archive.variable_table().find(ArrayId::variable(0)).unwrap().0.tile_count, 1);
    }
}

#[test]
fn variables_that_are_not_all_there_stay_linear() {
    let vars = vec![Var::fixed(NcType::Int, &[9, 9]), Var::record(NcType::Float, &[4])];
    let model = Model { cut: 20, ..Model::new(Version::Cdf1, 3, vars) };
    let archive = check(&model.build(), &chunked(&model, &[2, 2], Edge::Clipped), &[(0, 300)]);
    let layout = |v| archive.arrays().variable(VarId(v)).tiling.layout();
    assert!(matches!(layout(0), TileLayout::Chunked { .. }));
    assert!(matches!(layout(1), TileLayout::Linear { .. }));
}

#[test]
fn chunks_cross_many_windows() {
    // Short and long slots, records longer than a window, fixed arrays whose layers are longer than one.
    let short = vec![
        Var::record(NcType::Byte, &[5]),
        Var::record(NcType::Short, &[9]),
        Var::record(NcType::Float, &[]),
    ];
    let long = vec![
        Var::record(NcType::Byte, &[5]),
        Var::record(NcType::Float, &[70, 100]),
        Var::record(NcType::Short, &[3]),
    ];
    let longest = vec![Var::record(NcType::Short, &[3]), Var::record(NcType::Double, &[1200, 1000])];
    let fixed = vec![
        Var::fixed(NcType::Float, &[3, 1000, 1000]),
        Var { gap: 5, ..Var::fixed(NcType::Short, &[999, 2001]) },
    ];
    let cases = [
        (short, 600_000, [1000, 4, 1]),
        (long, 650, [50, 33, 64]),
        (longest, 2, [2, 500, 77]),
        (fixed, 0, [2, 300, 300]),
    ];
    for (vars, records, lengths) in cases {
        let model = Model { fill: 4, ..Model::new(Version::Cdf2, records, vars) };
        let sample = model.build();
        for edge in EDGES {
            let options = chunked(&model, &lengths, edge).with_preset(nc3z_writer::Preset::Fast);
            check(&sample, &options, &[(8_000_000, 8_600_000), ((16 << 20) - 77, (16 << 20) + 3)]);
        }
    }
}

#[test]
fn padding_repeats_the_element_before_it() {
    let model = Model::new(Version::Cdf1, 0, vec![Var::fixed(NcType::Short, &[3, 3])]);
    let archive = check(&model.build(), &chunked(&model, &[2, 2], Edge::Padded), &[]);
    let tile = |n| archive.read_tile(ArrayId::variable(0), n).unwrap();
    // The corner has one element, the chunk before it a row.
    let (below, corner) = (tile(2), tile(3));
    assert_eq!(corner, corner[..2].repeat(4));
    assert_eq!(below[4..], below[2..4].repeat(2));
}

#[test]
fn what_cannot_be_is_refused_with_names_and_lengths() {
    let vars = vec![Var::fixed(NcType::Float, &[40_000, 40_000]), Var::record(NcType::Int, &[6])];
    let mut model = Model::new(Version::Cdf5, 4, vars);
    // Small dimensions, except for the message about large tiles, which needs no data: the file is cut.
    model.vars[0].shape = vec![12, 10];
    let bytes = model.build().bytes;
    let says = |request: ChunkRequest, words: &[&str]| {
        let options = WriterOptions::default().with_edge(Edge::Padded).with_chunks(request);
        let message = refused(&bytes, &options);
        for word in words {
            assert!(message.contains(word), "{message:?} does not say {word:?}");
        }
    };
    says(ChunkRequest::new([("depth", 2)]), &["\"depth\"", "time, d1, d2, d3"]);
    says(ChunkRequest::new([("d1", 2)]).only("tas"), &["\"tas\"", "v0, v1"]);
    says(ChunkRequest::new([("d3", 2)]).only("v0"), &["\"v0\"", "\"d3\"", "d1, d2"]);
    says(ChunkRequest::new([("d1", 0)]), &["\"d1\"", "length 12", "chunks of 0"]);
    says(ChunkRequest::new([("time", 0)]), &["\"time\"", "length 4"]);
    says(ChunkRequest::new([("d1", 1), ("d1", 2)]), &["\"d1\"", "twice"]);
    says(ChunkRequest::new([("d1", 1), ("d3", 2)]), &["no variable has all"]);
    says(
        ChunkRequest::new([("d1", 1 << 20), ("d2", 1 << 20)]),
        &["v0", "1048576 of 12", "4398046511104 bytes", "1073741824"],
    );
    says(ChunkRequest::new([("d1", u64::MAX), ("d2", u64::MAX)]), &["v0", "of 12"]);
    let both = WriterOptions::default()
        .with_chunks(ChunkRequest::new([("d1", 3)]).only("v0"))
        .with_variable_layout("v0", TileChoice::Series);
    assert!(refused(&bytes, &both).contains("series"));
    let unknown = WriterOptions::default().with_variable_layout("tas", TileChoice::Series);
    assert!(refused(&bytes, &unknown).contains("no variable \"tas\""));
}

#[test]
fn a_request_by_name_goes_before_one_by_dimensions_and_later_ones_before_earlier() {
    let vars = vec![Var::record(NcType::Float, &[8]), Var::record(NcType::Float, &[8])];
    let model = Model::new(Version::Cdf1, 8, vars);
    let options = WriterOptions::default()
        .with_chunks(ChunkRequest::new([("time", 4)]).only("v0"))
        .with_chunks(ChunkRequest::new([("time", 2)]))
        .with_chunks(ChunkRequest::new([("time", 3)]));
    let shapes = |options: &WriterOptions| {
        let archive = check(&model.build(), options, &[]);
        [0, 1].map(|v| archive.arrays().variable(VarId(v)).tiling.layout().to_string())
    };
    assert_eq!(shapes(&options), ["chunked [4, 8]", "chunked [3, 8]"]);
    assert_eq!(
        shapes(&options.with_variable_layout("v1", TileChoice::Linear)),
        ["chunked [4, 8]", "linear 64"]
    );
}

#[test]
fn threads_and_memory_do_not_change_chunked_archives() {
    let vars = vec![
        Var::fixed(NcType::Float, &[30, 300, 50]),
        Var::record(NcType::Short, &[33, 10]),
        Var::record(NcType::Double, &[40, 10]),
    ];
    let model = Model { fill: 4, ..Model::new(Version::Cdf2, 300, vars) };
    let (original, options) = (model.build().bytes, chunked(&model, &[25, 32, 9], Edge::Clipped));
    let mut first = None;
    for threads in [1, 2, 4] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for mebibytes in [1, 100, 256] {
            let found =
                pool.install(|| archive_bytes(&original, &options.clone().with_memory(mebibytes << 20)));
            let expected = first.get_or_insert_with(|| found.clone());
            assert!(found == *expected, "{threads} threads, {mebibytes} MiB");
        }
    }
}

fn any_var() -> impl Strategy<Value = (Var, Vec<u64>)> {
    let dims = proptest::collection::vec((1u64..6, 1u64..9), 0..6);
    (0..NcType::ALL.len(), any::<bool>(), dims, 1u64..9).prop_map(|(t, record, dims, first)| {
        let (shape, mut chunk): (Vec<_>, Vec<_>) = dims.into_iter().unzip();
        if record {
            chunk.insert(0, first);
        }
        (Var { ty: NcType::ALL[t], record, shape, gap: 0 }, chunk)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_chunks_come_back_by_every_way_of_reading(
        vars in proptest::collection::vec(any_var(), 1..4),
        records in 0u64..8,
        (streaming, padded) in any::<(bool, bool)>(),
        (cut, fill) in (prop_oneof![4 => Just(0u64), 1 => 0u64..100], any::<u8>()),
        choice in prop_oneof![Just(TileChoice::Auto), Just(TileChoice::Chunked), Just(TileChoice::Series), Just(TileChoice::Map)],
        tile_len in prop_oneof![Just(1u64), 2u64..200, Just(1 << 20)],
        ranges in proptest::collection::vec(any::<(u64, u64)>(), 6),
    ) {
        let (vars, chunks): (Vec<_>, Vec<_>) = vars.into_iter().unzip();
        let numrecs = if streaming { NumRecs::Streaming } else { NumRecs::Count(records) };
        let model = Model { numrecs, cut, fill, ..Model::new(Version::Cdf5, records, vars) };
        let edge = EDGES[usize::from(padded)];
        let sample = model.build();
        let requests = chunks.iter().enumerate().filter_map(|(i, lengths)| request(&model, i, lengths));
        let options = requests.fold(WriterOptions::default().with_edge(edge), WriterOptions::with_chunks);
        check(&sample, &options, &ranges);
        check(&sample, &WriterOptions::default().with_layout(choice).with_edge(edge).with_tile_len(tile_len), &ranges);
    }
}
