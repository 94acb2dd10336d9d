use proptest::prelude::*;

use super::*;
use crate::classic::header::Dimension;

/// A header over the dimensions `t` (record, id 0), `a` = 3 (id 1), `b` = 2 (id 2), `z` = 5 (id 3).
fn header(numrecs: NumRecs, variables: &[(NcType, &[u32], u64)]) -> Header {
    let dim = |len| Dimension { name: b"d".to_vec(), len };
    let variable = |&(ty, dims, begin): &(NcType, &[u32], u64)| {
        let dimensions = dims.iter().copied().map(DimId).collect();
        Variable { name: b"v".to_vec(), dimensions, attributes: vec![], ty, vsize: 0, begin }
    };
    let mut header = Header {
        version: Version::Cdf2,
        numrecs,
        dimensions: [0, 3, 2, 5].map(dim).to_vec(),
        attributes: vec![],
        variables: variables.iter().map(variable).collect(),
    };
    for n in 0..header.variables.len() {
        header.variables[n].vsize = header.canonical_vsize(&header.variables[n]);
    }
    header
}

const T: u32 = 0;
const A: u32 = 1;
const B: u32 = 2;
const Z: u32 = 3;

fn kinds(layout: &Layout) -> Vec<(SegmentKind, u64, u64)> {
    layout.segments().iter().map(|s| (s.kind, s.offset, s.len)).collect()
}

#[test]
fn lone_record_variable_of_three_bytes_has_no_padding() {
    let h = header(NumRecs::Count(5), &[(NcType::Byte, &[T, A], 96)]);
    let layout = Layout::new(&h, 96, 111).unwrap();
    assert_eq!((layout.record_len, layout.variables[0].present), (3, 15));
    assert_eq!(layout.variables[0].element_run(4), Some(Run { offset: 100, count: 11 }));
    assert!(layout.warnings.is_empty());
    assert!(layout.gaps.is_empty());
}

#[test]
fn two_record_variables_are_padded_and_the_padding_is_theirs() {
    let h = header(NumRecs::Count(2), &[(NcType::Byte, &[T, A], 100), (NcType::Short, &[T], 104)]);
    let layout = Layout::new(&h, 100, 116).unwrap();
    assert_eq!(layout.record_len, 8);
    assert_eq!(kinds(&layout), [(SegmentKind::Header, 0, 100), (SegmentKind::Records, 100, 16)]);
    let [a, b] = &layout.variables[..] else { panic!() };
    assert_eq!((a.present, a.padding_present, b.present, b.padding_present), (6, 2, 2, 4));
    assert_eq!(a.element_run(4), Some(Run { offset: 109, count: 2 }));
    assert_eq!(b.padding_run(3), Some(Run { offset: 115, count: 1 }));
    assert_eq!((a.element_run(6), b.padding_run(4)), (None, None));
    let records = layout.records.as_ref().unwrap();
    assert_eq!(records.locate(115), Some(RecordPlace { record: 1, slot: 1, within: 3 }));
    assert_eq!((records.locate(99), records.locate(116)), (None, None));
}

#[test]
fn streaming_count_follows_from_the_length_and_a_partial_record_is_a_gap() {
    let h = header(NumRecs::Streaming, &[(NcType::Int, &[T], 80), (NcType::Int, &[T], 84)]);
    let layout = Layout::new(&h, 80, 80 + 8 * 3 + 5).unwrap();
    assert_eq!((layout.numrecs, layout.variables[0].present), (3, 3));
    assert_eq!(layout.gaps.runs().collect::<Vec<_>>(), [(104, 5)]);
    assert_eq!(Layout::new(&h, 40, 50).unwrap().numrecs, 0);
}

#[test]
fn streaming_without_record_variables_counts_none() {
    let h = header(NumRecs::Streaming, &[(NcType::Int, &[A], 80)]);
    assert_eq!(Layout::new(&h, 80, 500).unwrap().numrecs, 0);
}

#[test]
fn record_count_larger_than_the_file_leaves_a_partial_element_to_the_gaps() {
    let h = header(NumRecs::Count(u64::MAX - 1), &[(NcType::Int, &[T], 80), (NcType::Int, &[T], 84)]);
    let layout = Layout::new(&h, 80, 80 + 8 + 6).unwrap();
    assert_eq!((layout.variables[0].present, layout.variables[1].present), (2, 1));
    assert_eq!(layout.variables[0].elements, Some(u64::MAX - 1));
    assert_eq!(layout.gaps.runs().collect::<Vec<_>>(), [(92, 2)]);
    assert_eq!(layout.gaps.file_offset(1), Some((93, 1)));
    assert_eq!(layout.gaps.position(93), Some((1, 1)));
    assert!(layout.warnings.iter().any(Warning::is_serious));
}

#[test]
fn begins_come_in_any_order() {
    let h = header(NumRecs::Count(0), &[(NcType::Int, &[B], 88), (NcType::Int, &[B], 80)]);
    let layout = Layout::new(&h, 80, 96).unwrap();
    let fixed = |n| SegmentKind::Fixed(VarId(n));
    assert_eq!(kinds(&layout), [(SegmentKind::Header, 0, 80), (fixed(1), 80, 8), (fixed(0), 88, 8)]);
}

#[test]
fn overlapped_bytes_belong_to_the_lower_id() {
    let h = header(NumRecs::Count(0), &[(NcType::Int, &[A], 80), (NcType::Int, &[A], 84)]);
    let layout = Layout::new(&h, 80, 96).unwrap();
    assert!(layout.variables[0].owned && !layout.variables[1].owned);
    assert_eq!(layout.variables[1].present, 3);
    assert_eq!(layout.gaps.runs().collect::<Vec<_>>(), [(92, 4)]);
    assert!(layout.warnings.contains(&Warning::Overlap { variable: VarId(1) }));
}

#[test]
fn fixed_variable_that_begins_inside_the_header_owns_nothing() {
    let h = header(NumRecs::Count(0), &[(NcType::Int, &[], 78), (NcType::Int, &[], 0)]);
    let layout = Layout::new(&h, 80, 90).unwrap();
    assert!(layout.variables.iter().all(|v| !v.owned && v.present == 1));
}

#[test]
fn record_slots_that_do_not_tile_make_all_record_variables_aliased() {
    let h = header(NumRecs::Count(2), &[(NcType::Int, &[T], 80), (NcType::Int, &[T], 88)]);
    let layout = Layout::new(&h, 80, 100).unwrap();
    assert!(layout.records.is_none());
    assert!(layout.variables.iter().all(|v| !v.owned && v.present == 2));
    assert_eq!(layout.variables[1].element_run(1), Some(Run { offset: 96, count: 1 }));
    assert!(layout.warnings.contains(&Warning::IrregularRecords));
}

#[test]
fn records_that_meet_a_fixed_variable_are_irregular() {
    let vars: &[(NcType, &[u32], u64)] = &[(NcType::Int, &[T], 80), (NcType::Int, &[], 88)];
    assert!(Layout::new(&header(NumRecs::Count(3), vars), 80, 92).unwrap().records.is_none());
    assert!(Layout::new(&header(NumRecs::Count(2), vars), 80, 92).unwrap().records.is_some());
}

#[test]
fn inner_dimension_of_length_0_counts_as_the_records() {
    let vars: &[(NcType, &[u32], u64)] = &[(NcType::Int, &[T, T], 80), (NcType::Byte, &[A, T], 96)];
    let layout = Layout::new(&header(NumRecs::Count(2), vars), 80, 102).unwrap();
    assert_eq!((&layout.variables[0].shape[..], &layout.variables[1].shape[..]), (&[2, 2][..], &[3, 2][..]));
    assert_eq!((layout.record_len, layout.variables[0].present, layout.variables[1].present), (8, 4, 6));
    assert!(layout.records.is_some() && layout.gaps.is_empty());
    assert!(layout.warnings.contains(&Warning::InnerRecordDimension { variable: VarId(1) }));
    // Streaming: computed as if it were 0, without a record to divide by.
    assert_eq!(Layout::new(&header(NumRecs::Streaming, vars), 80, 102).unwrap().numrecs, 0);
    let vars: &[(NcType, &[u32], u64)] = &[(NcType::Int, &[T], 80), (NcType::Int, &[T, T], 84)];
    let layout = Layout::new(&header(NumRecs::Streaming, vars), 80, 92).unwrap();
    assert_eq!((layout.numrecs, layout.record_len), (3, 16));
}

#[test]
fn without_records_there_is_nothing_regular() {
    let h = header(NumRecs::Count(0), &[(NcType::Byte, &[T], 80), (NcType::Byte, &[T], 84)]);
    let layout = Layout::new(&h, 80, 80).unwrap();
    assert!(layout.records.is_none() && layout.variables.iter().all(|v| !v.owned && v.present == 0));
    assert!(layout.warnings.is_empty());
}

#[test]
fn shapes_that_overflow_claim_no_more_than_the_file_holds() {
    let mut h =
        header(NumRecs::Count(1 << 62), &[(NcType::Double, &[A, B], 80), (NcType::Double, &[T, A, B], 99)]);
    h.version = Version::Cdf5;
    (h.dimensions[1].len, h.dimensions[2].len) = (u64::MAX, u64::MAX);
    let layout = Layout::new(&h, 80, 120).unwrap();
    assert_eq!(
        layout.variables.iter().map(|v| (v.elements, v.present)).collect::<Vec<_>>(),
        [(None, 5), (None, 2)]
    );
    assert!(layout.records.is_none());
    assert_eq!(layout.variables[1].element_run(1), Some(Run { offset: 107, count: 1 }));
}

#[test]
fn begin_near_the_end_of_64_bits_does_not_wrap() {
    let h = header(NumRecs::Count(9), &[(NcType::Int, &[A], u64::MAX), (NcType::Int, &[T], u64::MAX - 3)]);
    let layout = Layout::new(&h, 80, 100).unwrap();
    assert!(layout.variables.iter().all(|v| v.present == 0));
    assert_eq!(layout.gaps.len(), 20);
}

#[test]
fn missing_final_padding_is_told_and_is_not_serious() {
    let h = header(NumRecs::Count(0), &[(NcType::Byte, &[Z], 80)]);
    let layout = Layout::new(&h, 80, 85).unwrap();
    assert_eq!(layout.warnings, [Warning::NoFinalPadding { missing: 3 }]);
    let layout = Layout::new(&h, 80, 90).unwrap();
    assert_eq!(layout.warnings, [Warning::TrailingBytes { offset: 88, len: 2 }]);
}

#[test]
fn header_longer_than_the_file_is_refused() {
    assert!(Layout::new(&header(NumRecs::Count(0), &[]), 80, 79).is_err());
}

/// The owner of a byte, by a literal reading of the rules, one byte at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Gap,
    Header,
    Element(usize, u64),
    Padding(usize, u64),
}

fn oracle(h: &Header, header_len: u64, layout: &Layout) -> Vec<Owner> {
    let size = |n: usize| h.variables[n].ty.size() as u64;
    let file_len = layout.file_len;
    let mut claim: Vec<Option<usize>> =
        (0..file_len).map(|b| (b < header_len).then_some(usize::MAX)).collect();
    let mut owners: Vec<Owner> =
        claim.iter().map(|c| if c.is_some() { Owner::Header } else { Owner::Gap }).collect();
    let bytes = |n: usize| u64::try_from(h.slot_len(&h.variables[n], layout.numrecs)).unwrap();
    let set = |owners: &mut Vec<Owner>, first: u64, count: u64, make: &dyn Fn(u64) -> Owner| {
        for b in first..first + count {
            assert_eq!(owners[usize::try_from(b).unwrap()], Owner::Gap);
            owners[usize::try_from(b).unwrap()] = make(b - first);
        }
    };
    for n in (0..h.variables.len()).filter(|&n| !h.is_record(&h.variables[n])) {
        let begin = h.variables[n].begin;
        let inside: Vec<usize> = (begin..begin + bytes(n))
            .filter(|&b| b < file_len)
            .map(|b| usize::try_from(b).unwrap())
            .collect();
        if inside.iter().all(|&b| claim[b].is_none()) {
            for &b in &inside {
                claim[b] = Some(n);
            }
            for e in 0..(inside.len() as u64 / size(n)) {
                set(&mut owners, begin + e * size(n), size(n), &|_| Owner::Element(n, e));
            }
        }
    }
    let records: Vec<usize> = (0..h.variables.len()).filter(|&n| h.is_record(&h.variables[n])).collect();
    let padded = |n: usize| if records.len() == 1 { bytes(n) } else { bytes(n).next_multiple_of(4) };
    let stride: u64 = records.iter().map(|&n| padded(n)).sum();
    let b0 = records.iter().map(|&n| h.variables[n].begin).min().unwrap_or(0);
    let mut cover = vec![0; usize::try_from(stride).unwrap()];
    let mut tiles = stride > 0 && layout.numrecs > 0;
    for &n in &records {
        let begin = h.variables[n].begin - b0;
        tiles &= begin <= stride;
        for b in begin..begin + padded(n) {
            match cover.get_mut(usize::try_from(b).unwrap()) {
                Some(c) => *c += 1,
                None => tiles = false,
            }
        }
    }
    let end = (b0 + stride * layout.numrecs).min(file_len);
    let free = (b0..end).all(|b| claim[usize::try_from(b).unwrap()].is_none());
    if tiles && cover.iter().all(|&c| c == 1) && free {
        for record in 0..layout.numrecs {
            for &n in &records {
                let (slot, per) = (h.variables[n].begin + record * stride, bytes(n) / size(n));
                for e in (0..per).filter(|e| slot + (e + 1) * size(n) <= file_len) {
                    set(&mut owners, slot + e * size(n), size(n), &|_| Owner::Element(n, record * per + e));
                }
                let pad = padded(n) - bytes(n);
                let inside = file_len.saturating_sub(slot + bytes(n)).min(pad);
                set(&mut owners, slot + bytes(n), inside, &|b| Owner::Padding(n, record * pad + b));
            }
        }
    }
    owners
}

/// The owners, computed with the layout's own functions.
fn picture(layout: &Layout) -> Vec<Owner> {
    let mut at = 0;
    for s in layout.segments() {
        assert_eq!((s.offset, s.len > 0), (at, true), "segments tile the file");
        at += s.len;
    }
    assert_eq!(at, layout.file_len);
    let mut owners = vec![Owner::Gap; usize::try_from(layout.file_len).unwrap()];
    owners[..usize::try_from(layout.header_len).unwrap()].fill(Owner::Header);
    for (n, v) in layout.variables.iter().enumerate().filter(|(_, v)| v.owned) {
        for e in 0..v.present {
            let first = v.element_run(e).unwrap().offset;
            for b in first..first + v.element_size() {
                owners[usize::try_from(b).unwrap()] = Owner::Element(n, e);
            }
        }
        for p in 0..v.padding_present {
            owners[usize::try_from(v.padding_run(p).unwrap().offset).unwrap()] = Owner::Padding(n, p);
        }
    }
    owners
}

fn check_places(layout: &Layout, owners: &[Owner]) {
    let mut residue = 0;
    for (b, owner) in (0_u64..).zip(owners) {
        let kind = layout.segment_at(b).unwrap().kind;
        assert_eq!(kind == SegmentKind::Gap, *owner == Owner::Gap);
        assert_eq!(layout.gaps.position(b).map(|p| p.0), (kind == SegmentKind::Gap).then_some(residue));
        if kind == SegmentKind::Gap {
            assert_eq!(layout.gaps.file_offset(residue).unwrap().0, b);
            residue += 1;
        }
        let place = layout.records.as_ref().and_then(|r| r.locate(b).map(|p| (r.slots[p.slot], p)));
        assert_eq!(place.is_some(), kind == SegmentKind::Records);
        if let Some((slot, place)) = place {
            let v = layout.variable(slot.variable).unwrap();
            let expected = match place.within.checked_sub(slot.slot_len) {
                None => Owner::Element(
                    slot.variable.index(),
                    (place.record * slot.slot_len + place.within) / v.element_size(),
                ),
                Some(within) => {
                    let unit = slot.padded_len - slot.slot_len;
                    Owner::Padding(slot.variable.index(), place.record * unit + within)
                }
            };
            assert_eq!(*owner, expected);
        }
    }
    assert_eq!(residue, layout.gaps.len());
    assert_eq!(layout.gaps.file_offset(residue), None);
}

/// A run's elements follow each other without a break.
fn check_runs(layout: &Layout) {
    for v in &layout.variables {
        let mut index = 0;
        while let Some(run) = v.element_run(index) {
            for k in 0..run.count {
                assert_eq!(v.element_run(index + k).unwrap().offset, run.offset + k * v.element_size());
            }
            index += run.count;
        }
        assert_eq!(index, v.present);
    }
}

fn any_variable() -> impl Strategy<Value = (NcType, Vec<u32>, u64)> {
    let shapes = prop::sample::select(vec![
        vec![],
        vec![A],
        vec![B],
        vec![Z],
        vec![A, B],
        vec![A, T],
        vec![T],
        vec![T, A],
        vec![T, B],
        vec![T, Z],
        vec![T, T],
    ]);
    let types = prop::sample::select(vec![NcType::Byte, NcType::Short, NcType::Int, NcType::Double]);
    (types, shapes, 0_u64..140)
}

/// Moves the record variables' begins so that they tile, as writers do.
fn tile(vars: &mut [(NcType, Vec<u32>, u64)], from: u64, count: u64) {
    let lens = [count, 3, 2, 5];
    let records: Vec<usize> = (0..vars.len()).filter(|&n| vars[n].1.first() == Some(&T)).collect();
    let mut at = from;
    for &n in &records {
        let (ty, dims, begin) = &mut vars[n];
        *begin = at;
        let inner = dims[1..].iter().map(|&d| lens[d as usize]).product::<u64>();
        let bytes = inner * ty.size() as u64;
        at += if records.len() == 1 { bytes } else { bytes.next_multiple_of(4) };
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn layout_agrees_with_an_oracle_that_looks_at_every_byte(
        mut vars in prop::collection::vec(any_variable(), 0..6),
        tiled in prop::option::of(40_u64..100),
        count in prop::option::of(0_u64..5),
        header_len in 0_u64..60,
        tail in 0_u64..150,
    ) {
        if let Some(from) = tiled {
            tile(&mut vars, from, count.unwrap_or(0));
        }
        let borrowed: Vec<_> = vars.iter().map(|(t, d, b)| (*t, &d[..], *b)).collect();
        let h = header(count.map_or(NumRecs::Streaming, NumRecs::Count), &borrowed);
        let layout = Layout::new(&h, header_len, header_len + tail).unwrap();
        let owners = oracle(&h, header_len, &layout);
        prop_assert_eq!(&picture(&layout), &owners);
        check_places(&layout, &owners);
        check_runs(&layout);
    }
}
