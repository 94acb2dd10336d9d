//! Round trips, and hostile bytes.

use super::*;
use bytes::Bytes;
use nc3z_format::double_double::DoubleDouble;
use nc3z_format::tile::{Edge, TileLayout};
use nc3z_reader::source::{MemorySource, SharedSource};
use nc3z_reader::{Dataset, OpenOptions};
use nc3z_writer::CommitNote;
use proptest::prelude::*;
use std::sync::Arc;

fn open(bytes: &[u8]) -> crate::Result<Catalog> {
    let source: SharedSource = Arc::new(MemorySource::new(Bytes::copy_from_slice(bytes)));
    Catalog::open(source)
}

fn ask(condition: &str) -> Question {
    Question { conditions: vec![condition.parse().unwrap()], ..Question::default() }
}

fn written(members: &[Member]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    members.iter().for_each(|m| writer.push(m.clone()).unwrap());
    writer.finish(&()).unwrap()
}

/// The dataset before it is archived. It is read in the same way.
fn classic(members: &[Member]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    members.iter().for_each(|m| writer.push(m.clone()).unwrap());
    writer.classic()
}

/// All files of a catalogue, with all that it has of them.
fn all(bytes: &[u8]) -> crate::Result<Vec<Member>> {
    let catalog = open(bytes)?;
    let mut found = Vec::new();
    for block in catalog.blocks() {
        for n in 0..block.len() {
            found.extend(block.member(n)?);
        }
    }
    Ok(found)
}

fn tile() -> impl Strategy<Value = Tile> {
    let real = || any::<f64>().prop_filter("a number", |x| !x.is_nan());
    let ends = (prop::array::uniform2(-1024..1024_i64), prop::array::uniform6(real()));
    (0..1000_u64, 0..3_u64, ends).prop_map(|(count, infinite, (more, x))| Tile {
        count,
        infinite,
        min: Exactly { nearest: x[0], more: more[0] },
        max: Exactly { nearest: x[1], more: more[1] },
        sum: DoubleDouble(x[2], x[3]),
        squares: DoubleDouble(x[4], x[5]),
    })
}

fn variable() -> impl Strategy<Value = Variable> {
    let layout = prop_oneof![
        (1..99_u64).prop_map(TileLayout::linear),
        prop::collection::vec(1..9_u64, 1..4).prop_map(|shape| TileLayout::chunked(shape, Edge::Clipped)),
        prop::collection::vec(1..9_u64, 1..4).prop_map(|shape| TileLayout::chunked(shape, Edge::Padded)),
    ];
    let range = (any::<u32>(), any::<u32>())
        .prop_map(|(offset, len)| Range { offset: offset.into(), len: len.into() });
    let tiles = prop::collection::vec((tile(), prop::collection::vec(range, 0..3)), 0..5);
    ("[a-d]", layout, tiles, any::<bool>(), any::<bool>()).prop_map(|(name, layout, tiles, has, placed)| {
        let (tiles, places): (Vec<_>, Vec<_>) = tiles.into_iter().unzip();
        // Where nothing has a range, the column is left out.
        let places = if places.iter().all(Vec::is_empty) || !placed { Vec::new() } else { places };
        Variable { name, layout, tiles: (has || places.is_empty()).then_some(tiles), places }
    })
}

fn member() -> impl Strategy<Value = Member> {
    let known = (any::<bool>(), prop::collection::vec(any::<u8>(), 8..40));
    let size = || 0..i64::MAX.unsigned_abs();
    let head = (0..6_usize, size(), size(), size(), any::<Option<[u8; 32]>>(), any::<i64>());
    let variables = prop::collection::vec(variable(), 0..4);
    ("(x/)?[a-z]{1,9}", head, "[a-c]{0,3}", prop::collection::vec(known, 0..3), variables).prop_map(
        |(name, (kind, len, offset, stored, sha256, modified), header, known, variables)| Member {
            name,
            head: Head {
                kind: HeadKind::ALL[kind],
                len,
                offset,
                stored,
                sha256,
                modified,
                ..Head::default()
            },
            header: Bytes::from(header.into_bytes()),
            coordinates: (0..)
                .zip(known)
                .map(|(variable, (whole, bytes))| CoordinateValues {
                    variable,
                    whole,
                    size: 4,
                    bytes: bytes.into(),
                })
                .collect(),
            variables,
        },
    )
}

/// Places of tiles in files that have none are empty lists for each tile.
fn alike(mut members: Vec<Member>) -> Vec<Member> {
    for variable in members.iter_mut().flat_map(|m| &mut m.variables) {
        if variable.places.iter().all(Vec::is_empty) {
            variable.places.clear();
        }
    }
    members
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_catalog_is_read_as_it_was_written(members in prop::collection::vec(member(), 0..12)) {
        prop_assert_eq!(alike(all(&written(&members)).unwrap()), alike(members.clone()));
        prop_assert_eq!(alike(all(&classic(&members)).unwrap()), alike(members));
    }

    #[test]
    fn files_that_are_added_are_read_as_if_all_were_written_at_once(
        members in prop::collection::vec(member(), 1..12), at in any::<prop::sample::Index>(),
    ) {
        let (old, new) = members.split_at(at.index(members.len()));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.catalog.nc3z");
        std::fs::write(&path, written(old)).unwrap();
        // Two commits, so that the second one finds what the first one added.
        for some in new.chunks(new.len().div_ceil(2)) {
            let mut appender = Appender::open(&path).unwrap();
            some.iter().for_each(|m| appender.push(m.clone()).unwrap());
            appender.commit(&CommitNote::default(), &()).unwrap();
        }
        prop_assert_eq!(alike(all(&std::fs::read(&path).unwrap()).unwrap()), alike(members.clone()));
        let first = Dataset::open(&path, &OpenOptions::default().with_generation(1)).unwrap();
        prop_assert_eq!(Catalog::from_dataset(first).unwrap().len(), old.len());
    }

    #[test]
    fn whatever_is_in_the_dataset_is_an_error_or_an_answer(
        members in prop::collection::vec(member(), 1..4), at in any::<prop::sample::Index>(), value in any::<u8>(),
    ) {
        // Damage below the checksums of an archive.
        let mut bytes = classic(&members);
        let at = at.index(bytes.len());
        bytes[at] = value;
        let _ = all(&bytes);
        if let Ok(catalog) = open(&bytes) {
            let _ = statistics(&catalog, &[], true);
            let _ = along(&catalog, "a", "x", |_| Ok::<(), crate::Error>(()));
            let _ = find(&catalog, &ask("a > 0"), &|_, _| false);
        }
    }
}

fn small() -> Vec<Member> {
    let tiles = |x: f64| {
        let one = Tile {
            count: 3,
            infinite: 0,
            min: x.into(),
            max: (x + 1.0).into(),
            sum: DoubleDouble(3.0 * x, 0.1),
            squares: DoubleDouble(x, 0.0),
        };
        vec![one, Tile::default()]
    };
    let place = |offset| vec![vec![Range { offset, len: 99 }], Vec::new()];
    let variable = |n: u32| Variable {
        name: "tas".into(),
        layout: TileLayout::chunked([2, 3], Edge::Clipped),
        tiles: Some(tiles(f64::from(n))),
        places: place(u64::from(n) * 100),
    };
    let member = |n: u32| Member {
        name: format!("dir/{n}.nc"),
        head: Head {
            kind: HeadKind::Archive,
            len: 1000,
            offset: 0,
            stored: 300,
            sha256: Some([7; 32]),
            modified: 5,
            ..Head::default()
        },
        header: Bytes::from_static(b"a header"),
        coordinates: vec![CoordinateValues {
            variable: 0,
            whole: true,
            size: 8,
            bytes: Bytes::from(vec![1; 16]),
        }],
        variables: vec![variable(n)],
    };
    (0..3).map(member).collect()
}

#[test]
fn each_damaged_byte_is_an_error_or_without_effect_and_each_early_end_is_an_error() {
    let bytes = written(&small());
    assert_eq!(all(&bytes).unwrap(), small());
    for at in 0..bytes.len() {
        for bit in [1, 0x20, 0x80] {
            let mut hurt = bytes.clone();
            hurt[at] ^= bit;
            assert!(all(&hurt).is_err() || all(&hurt).unwrap() == small(), "{at}");
        }
        assert!(all(&bytes[..at]).is_err(), "{at}");
    }
    assert!(all(&[&b"\0"[..], &bytes].concat()).is_err());
}

#[test]
fn blocks_are_filled_and_equal_things_are_there_once() {
    let mut members = Vec::new();
    for n in 0..5000 {
        let mut member = small().swap_remove(0);
        member.name = format!("data/{n:06}.nc");
        member.coordinates[0].bytes = Bytes::from(vec![9; 15_000]);
        members.push(member);
    }
    let bytes = written(&members);
    let catalog = open(&bytes).unwrap();
    assert_eq!((catalog.len(), catalog.blocks().count()), (5000, 2));
    assert_eq!(catalog.blocks().last().unwrap().first(), 4096);
    let last = catalog.blocks().last().unwrap();
    assert_eq!(last.names().unwrap().last().unwrap(), "data/004999.nc");
    assert_eq!(last.member(903).unwrap().unwrap(), members[4999]);
    assert_eq!(last.member(904).unwrap(), None);
    assert!(bytes.len() < 60_000, "{}", bytes.len());
}

#[test]
fn coordinates_too_large_for_their_files_keep_their_ends() {
    let mut member = small().swap_remove(0);
    member.coordinates[0].bytes = (0..=255).cycle().take(200_000).collect::<Vec<u8>>().into();
    let known = all(&written(&[member])).unwrap().swap_remove(0).coordinates.swap_remove(0);
    assert!(!known.whole);
    assert_eq!(known.bytes[..], [0, 1, 2, 3, 4, 5, 6, 7, 56, 57, 58, 59, 60, 61, 62, 63]);
}

/// A header as that of a profile: attributes that differ between files, a record count, a few variables.
fn profile(n: u32) -> Bytes {
    use nc3z_format::NcType;
    use nc3z_format::classic::{
        Attribute, DimId, Dimension, Header, NumRecs, Variable as Head, Version, encode,
    };
    let text = |name: &str, value: String| Attribute {
        name: name.into(),
        ty: NcType::Char,
        values: value.into_bytes(),
    };
    let variable = |name: &str, units: &str, begin: u64| Head {
        name: name.into(),
        dimensions: vec![DimId(0)],
        attributes: vec![text("units", units.into()), text("long_name", format!("{name} of the profile"))],
        ty: NcType::Float,
        vsize: 160,
        begin,
    };
    let header = Header {
        version: Version::Cdf1,
        numrecs: NumRecs::Count(0),
        dimensions: vec![Dimension { name: b"level".into(), len: 40 }],
        attributes: vec![
            text("title", "Argo float vertical profile".into()),
            text("history", format!("2026-{:02}-{:02}T00:00:00Z creation", n % 12 + 1, n % 28 + 1)),
            text("platform_number", format!("{}", 1_900_000 + n / 200)),
        ],
        variables: vec![
            variable("pressure", "dbar", 1000),
            variable("temperature", "degree_Celsius", 1160),
            variable("salinity", "psu", 1320),
        ],
    };
    encode(&header).unwrap().into()
}

/// Measures a catalogue of a million small files: `cargo test --release -- --ignored --nocapture million_small_files`.
#[test]
#[ignore = "takes minutes"]
fn a_million_small_files() {
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        f64::from(u32::try_from(state >> 40).unwrap()) / f64::from(1 << 24)
    };
    let mut stats = |low: f64, span: f64| {
        // Values of 32 bits: sums have some 40 significant bits, sums of squares some 60.
        #[expect(clippy::cast_possible_truncation, reason = "floats of 32 bits are wanted")]
        let mut values: Vec<f64> = (0..40).map(|_| f64::from((low + span * random()) as f32)).collect();
        values.sort_by(f64::total_cmp);
        let total = |of: fn(DoubleDouble) -> DoubleDouble| {
            values.iter().fold(DoubleDouble::default(), |sum, x| sum.plus(of((*x).into())))
        };
        Tile {
            count: 40,
            infinite: 0,
            min: values[0].into(),
            max: values[39].into(),
            sum: total(|x| x),
            squares: total(|x| x.times(x)),
        }
    };
    let files: u32 = std::env::var("NC3Z_FILES").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    // The statistics are taken from some thousand files: making them takes longer than all that is measured.
    let known: Vec<[Tile; 3]> =
        (0..files.min(4096)).map(|_| [stats(0.0, 2000.0), stats(-2.0, 32.0), stats(33.0, 4.0)]).collect();
    let began = std::time::Instant::now();
    let mut writer = Writer::new(Vec::new());
    let member = |n: u32| {
        let three = &known[n as usize % known.len()];
        let variables = ["pressure", "temperature", "salinity"].into_iter().zip(three);
        let sha256: Vec<u8> = (0..4)
            .flat_map(|k| (u64::from(n) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15 ^ k << 17).to_le_bytes())
            .collect();
        Member {
            name: format!("argo.zip!/{}/R{}_{:03}.nc", 1_900_000 + n / 200, 1_900_000 + n / 200, n % 200),
            head: Head {
                kind: HeadKind::Packed,
                len: 1480,
                offset: u64::from(n / 500) * 70_000,
                stored: 69_900,
                sha256: sha256.try_into().ok(),
                modified: i64::from(n),
                ..Head::default()
            },
            header: profile(n),
            coordinates: Vec::new(),
            variables: variables
                .map(|(name, tile)| Variable {
                    name: name.into(),
                    layout: TileLayout::linear(40),
                    // Bits that differ, so that repeating the files does not make them smaller.
                    tiles: Some(vec![Tile {
                        sum: DoubleDouble(tile.sum.0 + f64::from(n), tile.sum.1),
                        squares: DoubleDouble(tile.squares.0 + f64::from(n), tile.squares.1),
                        min: f64::from_bits(tile.min.nearest.to_bits() ^ u64::from(n) << 29).into(),
                        max: f64::from_bits(tile.max.nearest.to_bits() ^ u64::from(n) << 29).into(),
                        ..*tile
                    }]),
                    places: Vec::new(),
                })
                .collect(),
        }
    };
    (0..files).for_each(|n| writer.push(member(n)).unwrap());
    let bytes = writer.finish(&()).unwrap();
    let each = bytes.len() / files as usize;
    eprintln!("{files} files: {} bytes, {each} a file, written in {:?}", bytes.len(), began.elapsed());
    let began = std::time::Instant::now();
    let catalog = open(&bytes).unwrap();
    let hits = find(&catalog, &ask("temperature > 29.9"), &|_, _| false).unwrap();
    eprintln!("find: {} files in {:?}", hits.len(), began.elapsed());
    let began = std::time::Instant::now();
    let rows = statistics(&catalog, &["salinity".into()], false).unwrap();
    eprintln!("stats of a variable: {} values in {:?}", rows[0].summary.count, began.elapsed());
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &bytes).unwrap();
    let began = std::time::Instant::now();
    let mut appender = Appender::open(file.path()).unwrap();
    assert!(appender.known(&["a.nc", "b.nc"]).unwrap().is_empty());
    eprintln!("names of all files compared after {:?}", began.elapsed());
    [files, files + 1].into_iter().for_each(|n| appender.push(member(n)).unwrap());
    let done = appender.commit(&CommitNote::default(), &()).unwrap();
    let (old, new) = done.stored_len;
    eprintln!(
        "append of 2 files: {} bytes, {} of {} tiles, {:?}",
        new - old,
        done.new_tiles,
        done.kept_tiles + done.new_tiles,
        began.elapsed()
    );
    assert!(each <= 300, "{each}");
}
