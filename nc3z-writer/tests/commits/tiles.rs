//! What changed tiles, containers and sections cost, and what they are coded against.

use super::*;

#[test]
fn a_changed_value_costs_its_difference_and_a_repair_keeps_it() {
    let made = Made::new(&first(), &options().with_tile_len(64 << 10));
    let changed = |value| File { vars: vec![Var { value, ..LARGE }, SMALL, GONE, SERIES], ..first() };
    let again: fn(u64) -> u32 = |i| if i == 70_002 { 9 } else { mended(i) };
    made.commit(&changed(mended));
    let before = made.bytes().len();
    made.commit(&changed(again));
    assert!(made.bytes().len() - before < 1500, "{}", made.bytes().len() - before);
    made.holds(1, &first());
    made.holds(2, &changed(mended));
    made.holds(3, &changed(again));
    let newest = made.open(3);
    let is_base = |archive: &Archive| {
        let id = archive.arrays().variable(archive.variable_id("large").unwrap()).id;
        let tiles = archive.arrays().get(id).unwrap().tiling.tile_count();
        (0..tiles)
            .filter_map(|tile| match archive.entry(id, tile).unwrap() {
                IndexEntry::Stored { chain, .. } => Some(archive.chains()[usize::from(chain)].needs().base),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(is_base(&newest).iter().filter(|base| **base).count(), 1);
    let saved = made.directory.path().join("saved.nc3z");
    let done = repair_blocks(&made.path, &saved, &BlockRepairOptions::default(), &()).unwrap();
    assert!(done.is_newest_whole(), "{:?}", done.notes);
    let source = Arc::new(MemorySource::new(std::fs::read(&saved).unwrap()));
    let archive = Archive::from_source(source, &OpenOptions::default()).unwrap();
    assert!(is_base(&archive).iter().all(|base| !base));
    let mut restored = Vec::new();
    assert!(archive.restore_to_stream(&mut restored, &()).unwrap().matches_record);
    assert!(restored == changed(again).bytes());

    // The older tile is lost. The tiles coded against it are lost in every version, and no others.
    let id = newest.arrays().variable(newest.variable_id("large").unwrap()).id;
    let tile = u64::try_from(is_base(&newest).iter().position(|base| *base).unwrap()).unwrap();
    let IndexEntry::Stored { offset, .. } = made.open(1).entry(id, tile).unwrap() else { panic!() };
    let mut bad = made.bytes();
    bad[usize::try_from(offset).unwrap() + 100] ^= 1;
    let source: nc3z_reader::source::SharedSource = Arc::new(MemorySource::new(bad));
    let archive = Archive::from_source(Arc::clone(&source), &OpenOptions::default()).unwrap();
    let e = archive.read_tile(id, tile).unwrap_err();
    assert!(e.is_corrupt() && e.to_string().contains("older tile"), "{e}");
    assert!(!deep(&source, &OpenOptions::default(), &()).unwrap().is_sound());
    assert!(
        archive
            .variable_id("small")
            .is_ok_and(|v| archive.read_tile(archive.arrays().variable(v).id, 0).is_ok())
    );
}

/// Returns the number of a variable's tiles that are coded against older ones, how many of them are members of
/// containers, and how many refer to another array's tile.
pub(crate) fn differences(archive: &Archive, name: &str) -> (usize, usize, usize) {
    let id = archive.arrays().variable(archive.variable_id(name).unwrap()).id;
    let (mut all, mut packed, mut others) = (0, 0, 0);
    for tile in 0..archive.arrays().get(id).unwrap().tiling.tile_count() {
        let (IndexEntry::Stored { chain, .. } | IndexEntry::Shared { chain, .. }) =
            archive.entry(id, tile).unwrap()
        else {
            continue;
        };
        if archive.chains()[usize::from(chain)].needs().base {
            all += 1;
            packed += usize::from(matches!(archive.entry(id, tile).unwrap(), IndexEntry::Shared { .. }));
            others += usize::from(archive.base_tile(id, tile).unwrap().unwrap().array != id);
        }
    }
    (all, packed, others)
}

/// Forty numbers that recur without order: stored by a table of values.
fn recurring(i: u64) -> u32 {
    noise(u64::from(noise(i) % 40))
}

fn recurring_but_one(i: u64) -> u32 {
    if i == 500 { recurring(501) } else { recurring(i) }
}

#[test]
fn what_another_array_holds_is_not_stored_again_even_if_that_one_goes() {
    let large = || options().with_tile_len(64 << 10);
    let table = Var { name: "table", record: false, len: 30_000, value: recurring };
    let source = File { title: "first", records: 6, vars: vec![LARGE, table.clone(), SERIES] };
    let made = Made::new(&source, &large());
    let one = made.open(1);
    assert!(one.chains().iter().any(|chain| chain.needs().dictionary.is_some()), "a table of values");
    let copies = [Var { name: "copy", ..LARGE }, Var { name: "again", ..table.clone() }];
    let with_copies = File { vars: [&source.vars[..], &copies].concat(), ..first() };
    let before = made.bytes().len();
    made.commit(&with_copies);
    let added = made.bytes().len() - before;
    assert!(added < 3000, "{added} bytes for copies of {} bytes", (100_000 + 30_000) * 4);
    let two = made.open(2);
    let tiles = one.arrays().variable(one.variable_id("large").unwrap()).tiling.tile_count();
    let tiles = usize::try_from(tiles).unwrap();
    assert_eq!(differences(&two, "copy"), (tiles, tiles, tiles));
    // The sources are removed, and the copies are edited. They still refer to the first stored tiles, whose table
    // of values remains.
    let edited = [
        Var { name: "copy", value: mended, ..LARGE },
        Var { name: "again", value: recurring_but_one, ..table },
        SERIES,
    ];
    let alone = File { title: "alone", records: 6, vars: edited.to_vec() };
    let before = made.bytes().len();
    made.commit(&alone);
    let added = made.bytes().len() - before;
    assert!(added < 3000, "{added} bytes");
    for (generation, file) in [(1, &source), (2, &with_copies), (3, &alone)] {
        made.holds(generation, file);
    }
    assert_eq!(differences(&made.open(3), "copy"), (tiles, tiles, tiles));
    made.is_sound();
    let saved = made.directory.path().join("saved.nc3z");
    let done = repair_blocks(&made.path, &saved, &BlockRepairOptions::default(), &()).unwrap();
    assert!(done.is_newest_whole(), "{:?}", done.notes);
    for keep in [vec![], vec![VersionName::Number(2)], vec![VersionName::Number(1)]] {
        let kept = made.directory.path().join(format!("kept{}.nc3z", keep.len()));
        let options = WriterOptions::default().with_force(true);
        collect_file(&made.path, Some(&kept), &Keep { versions: &keep, tagged: false }, &options, &())
            .unwrap();
        let source: nc3z_reader::source::SharedSource = nc3z_reader::source::open(&kept, false).unwrap();
        assert!(deep(&source, &OpenOptions::default(), &()).unwrap().is_sound());
        let archive = Archive::from_source(source, &OpenOptions::default()).unwrap();
        let mut restored = Vec::new();
        assert!(archive.restore_to_stream(&mut restored, &()).unwrap().matches_record);
        assert!(restored == alone.bytes());
    }
}

/// Values that numbers predict and zstd does not.
fn smooth(i: u64) -> u32 {
    (280.0 + 20.0 * (f32::from(u16::try_from(i % 50_000).unwrap()) / 900.0).sin()).to_bits()
}

fn smooth_but_some(i: u64) -> u32 {
    if i % 40_000 == 17 { 5 } else { smooth(i) }
}

#[test]
fn a_copy_without_the_older_versions_is_as_small_as_a_new_archive() {
    let tiles_of = || options().with_tile_len(64 << 10);
    let file = |value| File { vars: vec![Var { value, ..LARGE }, SMALL], ..first() };
    let made = Made::new(&file(smooth), &tiles_of());
    made.commit(&file(smooth_but_some));
    let (all, packed, _) = differences(&made.open(2), "large");
    assert_eq!((all, packed), (3, 3));
    let kept = made.directory.path().join("kept.nc3z");
    collect_file(&made.path, Some(&kept), &Keep::default(), &tiles_of(), &()).unwrap();
    let new = Made::new(&file(smooth_but_some), &tiles_of());
    let (kept, new) = (std::fs::metadata(&kept).unwrap().len(), new.bytes().len() as u64);
    assert!(kept <= new + new / 20, "{kept} bytes, {new} in a new archive");
}

#[test]
fn short_tiles_are_coded_against_what_they_replace_too() {
    // Tiles of 2 KiB, in containers.
    let one_value: fn(u64) -> u32 = |i| if i == 700 { 3 } else { noise(i) };
    let some_values: fn(u64) -> u32 = |i| if i % 5000 == 700 { 5 } else { noise(i) };
    let file = |value| File { vars: vec![Var { len: 15_000, value, ..LARGE }, SMALL], ..first() };
    let made = Made::new(&file(noise), &options());
    let mut before = made.bytes().len();
    for (generation, value, most) in
        [(2, one_value, 700), (3, some_values, 1000), (4, noise as fn(u64) -> u32, 1000)]
    {
        made.commit(&file(value));
        let added = made.bytes().len() - before;
        assert!(added < most, "{added} bytes in generation {generation}");
        before = made.bytes().len();
        made.holds(generation, &file(value));
    }
    // A single one has its own block; several share a container.
    assert_eq!(differences(&made.open(2), "large"), (1, 0, 0));
    let (all, packed, _) = differences(&made.open(3), "large");
    assert_eq!((all, packed), (3, 3));
    made.holds(1, &file(noise));
    made.is_sound();
    let saved = made.directory.path().join("saved.nc3z");
    let done = repair_blocks(&made.path, &saved, &BlockRepairOptions::default(), &()).unwrap();
    assert!(done.is_newest_whole(), "{:?}", done.notes);
    let source: nc3z_reader::source::SharedSource = nc3z_reader::source::open(&saved, false).unwrap();
    assert!(deep(&source, &OpenOptions::default(), &()).unwrap().is_sound());
}

#[test]
fn a_rewritten_tile_stands_alone_so_that_later_ones_can_be_coded_against_it() {
    let made = Made::new(&first(), &options().with_tile_len(64 << 10));
    let changed = |value| File { vars: vec![Var { value, ..LARGE }, SMALL, GONE, SERIES], ..first() };
    let rewritten: fn(u64) -> u32 = |i| if i < 17_000 { unlike(i) } else { noise(i) };
    let mended: fn(u64) -> u32 = |i| match i {
        16_000 => 7,
        0..17_000 => unlike(i),
        _ => noise(i),
    };
    made.commit(&changed(rewritten));
    let before = made.bytes().len();
    made.commit(&changed(mended));
    let added = made.bytes().len() - before;
    assert!(added < 2000, "{added} bytes for one value");
    made.holds(2, &changed(rewritten));
    made.holds(3, &changed(mended));
    made.is_sound();
}

#[test]
fn sections_continue_those_of_the_generation_before_as_long_as_that_pays() {
    let made = Made::new(&numbered(0), &options());
    let mut encodings = Vec::new();
    for n in 1..12 {
        made.commit(&numbered(n));
        let archive = made.open(u64::from(n) + 1);
        let section = archive.sections().find(SectionKind::Metadata).unwrap();
        encodings.push(section.encoding);
    }
    assert!(encodings.contains(&SectionEncoding::After), "{encodings:?}");
    for n in 0..12 {
        made.holds(u64::from(n) + 1, &numbered(n));
    }
    made.is_sound();
    // Damage of a section that others continue is always found, and no wrong data are read.
    let newest = made.open(12);
    let (older, _) = newest.whole_section(SectionKind::Metadata, 1 << 20).unwrap();
    assert!(newest.sections().find(SectionKind::Metadata).unwrap().offset > older.offset);
    for at in older.offset..older.offset + older.len {
        let mut bad = made.bytes();
        bad[usize::try_from(at).unwrap()] ^= 1;
        let source: nc3z_reader::source::SharedSource = Arc::new(MemorySource::new(bad));
        assert!(Archive::from_source(Arc::clone(&source), &OpenOptions::default()).is_err());
        assert!(!quick(&source, &OpenOptions::default(), &()).unwrap().findings.is_empty());
    }
}

#[test]
fn a_short_archive_does_not_swell_when_it_gets_a_second_version() {
    // The short form compresses its directory instead of containers.
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let vars: Vec<Var> =
        names.iter().map(|&name| Var { name, record: false, len: 1500, value: recurring }).collect();
    let file = |title| File { title, records: 0, vars: vars.clone() };
    let made = Made::new(&file("first"), &WriterOptions::default());
    let short = made.bytes().len();
    assert!(Archive::open(&made.path).unwrap().is_short(), "{short} bytes");
    made.commit(&file("second"));
    let long = made.bytes().len();
    assert!(long < short + short / 4 + 4000, "{short} bytes, then {long}");
    made.holds(1, &file("first"));
    made.holds(2, &file("second"));
    made.is_sound();
}
