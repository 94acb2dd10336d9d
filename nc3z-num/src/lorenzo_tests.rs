//! Lorenzo prediction: the rule beside one that is written from spec/num.md, on numbers that floats treat specially.

use crate::encode::{Task, finish, stage};
use crate::*;
use proptest::prelude::*;

const GEOMETRY: Geometry = Geometry { row: Some(4), plane: Some(12), volume: Some(24) };

/// Patterns at the limits of the rule, and any others.
fn pattern() -> impl Strategy<Value = u32> {
    let limits = [-100, 100, -126, 127].map(|exponent: i32| (f32::from(2i8)).powi(exponent).to_bits());
    let near = (prop::sample::select(limits.to_vec()), -2i32..3);
    let special =
        [0, 1, 1 << 31, f32::INFINITY.to_bits(), 0xFF80_0000, 0x7FC0_0001, 0xFFFF_FFFF, u32::MAX >> 1];
    prop_oneof![
        8 => (-1000i16..1000).prop_map(|x| (f32::from(x) / 64.0).to_bits()),
        2 => near.prop_map(|(x, by)| x.wrapping_add_signed(by)),
        1 => prop::sample::select(special.to_vec()),
        1 => any::<u32>(),
    ]
}

/// The prediction of element `i` by section 5 of the specification, without a mask.
fn predicted(elements: &[u32], i: usize, strides: &[usize]) -> u32 {
    let number = |j: usize| {
        let exponent = elements[j] >> 23 & 255;
        if (27..=226).contains(&exponent) { f32::from_bits(elements[j]) } else { 0.0 }
    };
    let s = strides[0];
    let step = |at: Option<usize>| at.filter(|j| j % s > 0).map_or(0.0, |j| number(j) - number(j - 1));
    let first = |at: Option<usize>| at.filter(|j| *j >= s).map_or(0.0, |j| number(j) - number(j - s));
    let before = |distance: usize| i.checked_sub(distance);
    let (begin, expected) = match *strides {
        [_] if i >= s && i.is_multiple_of(s) => (i - s, 0.0),
        [_, t] if i >= s && i.is_multiple_of(s) => (i - s, first(before(t))),
        [_] => (i - 1, step(before(s))),
        [_, t] => (i - 1, step(before(s)) + (step(before(t)) - step(before(s + t)))),
        _ => unreachable!("one or two strides"),
    };
    (number(begin) + expected).to_bits()
}

fn ord(b: u32) -> u32 {
    if b >> 31 == 1 { b ^ 0x7FFF_FFFF } else { b }
}

proptest! {
    #[test]
    fn residuals_are_those_of_the_specification(elements in prop::collection::vec(pattern(), 26..90)) {
        for (axes, strides) in [
            (DeltaAxes::ROWS, &[4][..]),
            (DeltaAxes::PLANES, &[12]),
            (DeltaAxes::ROWS_PLANES, &[4, 12]),
            (DeltaAxes::ROWS_VOLUMES, &[4, 24]),
        ] {
            let task = Task {
                elements: &elements, ty: ElementType::F32, geom: &GEOMETRY, planes: None, against: None, with_mask: true,
            };
            let plan = EncodePlan { axes: axes.by_value(), coder: Coder::Store, ..EncodePlan::default() };
            // Low bits that are zero in all elements are removed, which is another rule.
            prop_assume!(elements.iter().fold(0, |a, e| a | e) & 1 == 1);
            let (mut scratch, mut payload) = (Scratch::new(), Vec::new());
            let staged = stage(&task, &plan, &mut scratch).unwrap();
            finish::<u32>(staged, elements.len(), &GEOMETRY, &plan, &mut scratch, &mut payload).unwrap();
            prop_assert_eq!(payload[3], 0x10);
            let stored = payload[payload.len() - 4 * elements.len()..].as_chunks::<4>().0;
            for (i, residual) in stored.iter().enumerate().skip(1) {
                let expected = ord(elements[i]).wrapping_sub(ord(predicted(&elements, i, strides)));
                prop_assert_eq!(u32::from_le_bytes(*residual), expected, "element {}", i);
            }
            let mut out = vec![0; elements.len()];
            decode(&payload, ElementType::F32, &GEOMETRY, None, &mut scratch, &mut out).unwrap();
            prop_assert_eq!(&out, &elements);
        }
    }

    #[test]
    fn masked_tiles_and_removed_bits_come_back(
        elements in prop::collection::vec(pattern(), 1..90), masked in any::<prop::sample::Index>(), trim in 0u32..24,
    ) {
        let elements: Vec<u32> = elements.iter().map(|x| x >> trim << trim).collect();
        let doubles: Vec<u64> = elements.iter().map(|x| u64::from(*x) << 32).collect();
        let at = masked.index(elements.len());
        for axes in [DeltaAxes::ROWS, DeltaAxes::PLANES, DeltaAxes::ROWS_PLANES, DeltaAxes::ROWS_VOLUMES] {
            for coder in [Coder::Ctx, Coder::Planes, Coder::Mix] {
                let plan = EncodePlan { axes: axes.by_value(), coder, ..EncodePlan::default() };
                let (mut scratch, mut payload) = (Scratch::new(), Vec::new());
                for mask in [None, Some(u64::from(elements[at]))] {
                    let plan = EncodePlan { mask, ..plan.clone() };
                    payload.clear();
                    encode(&elements, ElementType::F32, &GEOMETRY, &plan, &mut scratch, &mut payload).unwrap();
                    let mut out = vec![1; elements.len()];
                    decode(&payload, ElementType::F32, &GEOMETRY, None, &mut scratch, &mut out).unwrap();
                    prop_assert_eq!(&out, &elements);
                    payload.clear();
                    let plan = EncodePlan { mask: mask.map(|m| m << 32), ..plan };
                    encode(&doubles, ElementType::F64, &GEOMETRY, &plan, &mut scratch, &mut payload).unwrap();
                    let mut out = vec![1; doubles.len()];
                    decode(&payload, ElementType::F64, &GEOMETRY, None, &mut scratch, &mut out).unwrap();
                    prop_assert_eq!(&out, &doubles);
                }
            }
        }
    }
}

#[test]
fn only_floats_in_their_order_are_predicted_by_value() {
    let by_value = DeltaAxes::ROWS.by_value();
    let plan = EncodePlan { axes: by_value, coder: Coder::Store, ..EncodePlan::default() };
    let elements: Vec<u32> = (0..40u16).map(|i| (f32::from(i) * 0.3).to_bits() | 1).collect();
    let (mut scratch, mut out) = (Scratch::new(), vec![0; 40]);
    // Integers, and a tile without rows, are predicted as integers.
    for (ty, geom) in [(ElementType::I32, GEOMETRY), (ElementType::F32, Geometry::new(&[40]))] {
        let mut payload = Vec::new();
        encode(&elements, ty, &geom, &plan, &mut scratch, &mut payload).unwrap();
        assert_eq!(payload[2] >> 7, 0);
        decode(&payload, ty, &geom, None, &mut scratch, &mut out).unwrap();
        assert_eq!(out, elements);
    }
    // A decoder refuses them.
    let mut payload = vec![1, 0, 0x83, 0x10, 4];
    payload.resize(5 + 4 + 160, 0);
    decode(&payload, ElementType::F32, &GEOMETRY, None, &mut scratch, &mut out).unwrap();
    assert!(decode(&payload, ElementType::I32, &GEOMETRY, None, &mut scratch, &mut out).is_err());
    let reference = elements.clone();
    let against =
        decode_against(&payload, ElementType::F32, &GEOMETRY, None, Some(&reference), &mut scratch, &mut out);
    assert!(against.is_err());
    // Without other axes, without neighbours, with three others, with repeats, with unknown bits.
    for (axes, more) in
        [(0x81, 0x10), (0x82, 0x10), (0x8F, 0x10), (0x83, 0x11), (0x83, 0x14), (0x83, 0x20), (0x83, 0x30)]
    {
        (payload[2], payload[3]) = (axes, more);
        let read = decode(&payload, ElementType::F32, &GEOMETRY, None, &mut scratch, &mut out);
        assert!(read.is_err(), "{axes:#x} {more:#x}");
    }
    // A scale-offset.
    let mut payload = vec![1, 2 << 2, 0x83, 0x10, 4, 17, 0, 0, 0, 0, 40];
    payload.extend([0.0f64, 0.5].iter().flat_map(|x| x.to_le_bytes()));
    payload.resize(payload.len() + 160, 0);
    assert!(decode(&payload, ElementType::F32, &GEOMETRY, None, &mut scratch, &mut out).is_err());
    payload[2..4].copy_from_slice(&[0x83, 0x01]);
    decode(&payload, ElementType::F32, &GEOMETRY, None, &mut scratch, &mut out).unwrap();
}

#[test]
fn winds_are_predicted_by_value() {
    let wave = |i: u32| {
        let (x, y) = (f64::from(i % 64) * 0.11, f64::from(i / 64) * 0.07);
        let noise = f64::from(i.wrapping_mul(2_654_435_761) >> 20) * 1e-5;
        u32::float_pattern(8.0 * (x + 0.3 * y).sin() * (y * 0.9).cos() + noise)
    };
    let elements: Vec<u32> = (0..64 * 96).map(wave).collect();
    let geom = Geometry::new(&[96, 64]);
    for effort in [Effort::Fast, Effort::Default, Effort::Max] {
        let found = choose(&[&elements[..]], ElementType::F32, &geom, effort, &[]).unwrap();
        // zstd alone keeps its speed.
        assert_eq!(found.plans[0].axes.is_by_value(), effort != Effort::Fast, "{:?}", found.plans);
    }
}
