//! Layouts built by hand, then random ones.

use crate::classic::{Model, Var};
use crate::support::check;
use nc3z_format::NcType;
use nc3z_format::archive::{ArrayId, IndexEntry};
use nc3z_format::classic::{NumRecs, Version};
use nc3z_writer::WriterOptions;
use proptest::prelude::*;

fn tiles_of(bytes: u64) -> WriterOptions {
    WriterOptions::default().with_tile_len(bytes)
}

fn all_tiles(model: &Model) {
    let sample = model.build();
    let ranges = [(0, u64::MAX), (1, 2), (40, 4000), (77, 78), (300, 900)];
    for tile_len in [1, 7, 64, 1000, 1 << 20] {
        check(&sample, &tiles_of(tile_len), &ranges);
    }
}

#[test]
fn empty_file_and_file_of_scalars() {
    all_tiles(&Model::new(Version::Cdf1, 0, vec![]));
    all_tiles(&Model::new(
        Version::Cdf2,
        0,
        vec![Var::fixed(NcType::Int, &[]), Var::fixed(NcType::Byte, &[])],
    ));
}

#[test]
fn every_type_fixed_and_by_record() {
    for ty in NcType::ALL {
        let vars = vec![
            Var::fixed(ty, &[3, 5]),
            Var::record(ty, &[3]),
            Var::record(NcType::Short, &[]),
            Var::record(ty, &[2, 1]),
        ];
        all_tiles(&Model::new(Version::Cdf5, 4, vars));
    }
}

#[test]
fn lone_record_variable_has_no_padding() {
    for ty in [NcType::Byte, NcType::Char, NcType::Short] {
        all_tiles(&Model::new(Version::Cdf1, 7, vec![Var::record(ty, &[3])]));
    }
}

/// The bytes of long slots go into tiles without a window of whole records; the records are longer than one window.
#[test]
fn records_of_long_slots() {
    let vars = vec![Var::record(NcType::Float, &[20_000]), Var::record(NcType::Byte, &[3])];
    let ranges = [(0, u64::MAX), (79_000, 161_000), (4_000_000, 4_400_000)];
    for (cut, tile_len) in [(0, 1 << 20), (0, 7000), (3, 1 << 20), (50_001, 100_000), (160_009, 1 << 20)] {
        let model = Model { cut, ..Model::new(Version::Cdf5, 60, vars.clone()) };
        check(&model.build(), &tiles_of(tile_len), &ranges);
    }
}

#[test]
fn streaming_counts_follow_from_the_length() {
    let vars = vec![Var::record(NcType::Short, &[3]), Var::record(NcType::Double, &[])];
    for cut in [0, 1, 9, 16, 50] {
        for version in [Version::Cdf1, Version::Cdf5] {
            let numrecs = NumRecs::Streaming;
            all_tiles(&Model { numrecs, cut, ..Model::new(version, 5, vars.clone()) });
        }
    }
}

#[test]
fn gaps_tails_overlaps_and_cut_files() {
    let mut vars = vec![
        Var::fixed(NcType::Float, &[10]),
        Var::fixed(NcType::Short, &[7]),
        Var::record(NcType::Byte, &[5]),
        Var::record(NcType::Int, &[2]),
    ];
    for (which, gap) in [(0, 5), (0, -9), (1, 3), (1, -6), (2, 11), (2, -20), (3, 2), (3, -4), (3, -100)] {
        vars[which].gap = gap;
        for (tail, cut) in [(0, 0), (13, 0), (0, 3), (0, 30), (0, 1000)] {
            let model = Model { tail, cut, ..Model::new(Version::Cdf2, 3, vars.clone()) };
            check(&model.build(), &tiles_of(16), &[(3, 50), (100, 180)]);
        }
        vars[which].gap = 0;
    }
}

#[test]
fn header_may_claim_more_records_than_there_are() {
    let vars = vec![Var::record(NcType::Short, &[3]), Var::record(NcType::Float, &[2])];
    for claimed in [0, 1, 9, 1000, u64::from(u32::MAX) - 1] {
        let mut model = Model::new(Version::Cdf1, 3, vars.clone());
        model.numrecs = NumRecs::Count(claimed);
        check(&model.build(), &tiles_of(8), &[(0, 90)]);
    }
}

#[test]
fn large_arrays_have_pages_constants_blocks_and_containers() {
    let vars = vec![
        Var::fixed(NcType::Int, &[50_000]),
        Var::record(NcType::Byte, &[3]),
        Var::record(NcType::Float, &[9]),
    ];
    for fill in 0..5 {
        let model = Model { fill, ..Model::new(Version::Cdf2, 500, vars.clone()) };
        let sample = model.build();
        // 20 KB tiles are blocks; 64-byte tiles are members of containers, and thousands of them need two levels of pages.
        check(&sample, &tiles_of(20_000), &[(1000, 150_000)]);
        let archive = check(&sample, &tiles_of(64), &[(1000, 60_000), (199_000, 205_000)]);
        let (row, _) = archive.variable_table().find(ArrayId::variable(0)).unwrap();
        assert!(row.tile_count > 1000 && row.root != 0);
        let constant =
            matches!(archive.entry(ArrayId::variable(0), 100).unwrap(), IndexEntry::Constant { .. });
        assert_eq!(constant, fill < 2);
    }
}

#[test]
fn files_of_many_windows_come_back() {
    let model = |vars, records| Model { fill: 4, ..Model::new(Version::Cdf2, records, vars) };
    let far = (1 << 20) * 8;
    let cases = [
        // Short slots, odd paddings; then with a long slot between them.
        model(
            vec![
                Var::record(NcType::Byte, &[5]),
                Var::record(NcType::Short, &[9]),
                Var::record(NcType::Float, &[]),
            ],
            600_000,
        ),
        model(
            vec![
                Var::record(NcType::Byte, &[5]),
                Var::record(NcType::Float, &[7000]),
                Var::record(NcType::Short, &[3]),
            ],
            650,
        ),
        // One record is longer than a window.
        model(
            vec![
                Var::record(NcType::Short, &[3]),
                Var::record(NcType::Double, &[1_200_000]),
                Var::record(NcType::Byte, &[2]),
            ],
            2,
        ),
        // Fixed arrays and a gap that cross windows, records that begin inside one.
        model(
            vec![
                Var::fixed(NcType::Float, &[2_500_000]),
                Var { gap: far + 3, ..Var::fixed(NcType::Short, &[1000]) },
                Var::record(NcType::Byte, &[7]),
                Var::record(NcType::Int, &[30]),
            ],
            20_000,
        ),
    ];
    for model in cases {
        let sample = model.build();
        assert!(sample.bytes.len() > 16 << 20, "{}", sample.bytes.len());
        let ranges = [
            (0, far.cast_unsigned() + 5),
            (far.cast_unsigned() - 77, far.cast_unsigned() + 1_000_001),
            (16 << 20, (16 << 20) + 99),
        ];
        for tile_len in [99_999, 1 << 20] {
            check(&sample, &tiles_of(tile_len).with_preset(nc3z_writer::Preset::Fast), &ranges);
        }
    }
}

fn any_var() -> impl Strategy<Value = Var> {
    let gap = prop_oneof![4 => Just(0i64), 1 => -40i64..40];
    (0..NcType::ALL.len(), any::<bool>(), proptest::collection::vec(1u64..7, 0..4), gap)
        .prop_map(|(t, record, shape, gap)| Var { ty: NcType::ALL[t], record, shape, gap })
}

fn any_model() -> impl Strategy<Value = Model> {
    let version = prop_oneof![Just(Version::Cdf1), Just(Version::Cdf2), Just(Version::Cdf5)];
    let edges = (prop_oneof![3 => Just(0u64), 1 => 0u64..30], prop_oneof![3 => Just(0u64), 1 => 0u64..200]);
    (version, proptest::collection::vec(any_var(), 0..6), 0u64..8, 0u64..6, edges, any::<u8>()).prop_map(
        |(version, mut vars, records, claim, (tail, cut), fill)| {
            if version != Version::Cdf5 {
                vars.iter_mut().filter(|v| v.ty.needs_cdf5()).for_each(|v| v.ty = NcType::Short);
            }
            let numrecs = match claim {
                0 => NumRecs::Streaming,
                1 => NumRecs::Count(records + 2),
                _ => NumRecs::Count(records),
            };
            Model { version, records, numrecs, vars, tail, cut, fill }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_layout_comes_back_by_every_way_of_reading(
        model in any_model(),
        tile_len in prop_oneof![Just(1u64), 2u64..40, Just(1000), Just(1 << 20)],
        ranges in proptest::collection::vec(any::<(u64, u64)>(), 6),
    ) {
        check(&model.build(), &tiles_of(tile_len), &ranges);
    }
}
