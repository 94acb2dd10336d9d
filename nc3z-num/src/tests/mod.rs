//! Round trips of every stage, and forged payloads.
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "test data are made from small numbers"
)]

mod choosing;
mod vectors;

use super::*;
use proptest::prelude::*;
use std::sync::Arc;

/// All sets of axes, and some with repeats.
fn axes() -> impl Iterator<Item = DeltaAxes> {
    let sets = [
        DeltaAxes::NONE,
        DeltaAxes::NEIGHBOURS,
        DeltaAxes::ROWS,
        DeltaAxes::PLANES,
        DeltaAxes::ROWS_PLANES,
        DeltaAxes::VOLUMES,
        DeltaAxes::ROWS_VOLUMES,
    ];
    let repeated = [
        DeltaAxes::NEIGHBOURS.repeated(1, 0),
        DeltaAxes::NEIGHBOURS.repeated(3, 0),
        DeltaAxes::ROWS.repeated(2, 1),
        DeltaAxes::ROWS_PLANES.repeated(0, 3),
        DeltaAxes::PLANES.repeated(1, 0),
        DeltaAxes::ROWS_VOLUMES.repeated(3, 3),
    ];
    let alone = [DeltaAxes::ROWS, DeltaAxes::PLANES, DeltaAxes::ROWS_PLANES, DeltaAxes::ROWS_VOLUMES];
    let alone =
        alone.map(DeltaAxes::alone).into_iter().chain([DeltaAxes::ROWS_PLANES.alone().repeated(2, 3)]);
    let by_value = [DeltaAxes::ROWS, DeltaAxes::PLANES, DeltaAxes::ROWS_PLANES, DeltaAxes::ROWS_VOLUMES];
    sets.into_iter().chain(repeated).chain(alone).chain(by_value.map(DeltaAxes::by_value))
}

const CODERS: [Coder; 5] = [Coder::Store, Coder::Zstd, Coder::Planes, Coder::Ctx, Coder::Mix];

fn encoded<W: Width>(elements: &[W], ty: ElementType, geom: &Geometry, plan: &EncodePlan) -> Vec<u8> {
    let mut out = Vec::new();
    encode(elements, ty, geom, plan, &mut Scratch::new(), &mut out).unwrap();
    out
}

fn decoded<W: Width>(
    payload: &[u8],
    n: usize,
    ty: ElementType,
    geom: &Geometry,
    plan: &EncodePlan,
) -> Result<Vec<W>> {
    let mut out = vec![W::from_u64(0x55); n];
    let dict = plan.dictionary().map(Arc::as_ref);
    decode(payload, ty, geom, dict, &mut Scratch::new(), &mut out)?;
    Ok(out)
}

fn check<W: Width>(elements: &[W], ty: ElementType, geom: &Geometry, plan: &EncodePlan) -> Vec<u8> {
    let payload = encoded(elements, ty, geom, plan);
    assert!(payload.len() <= elements.len() * W::BYTES + 3);
    assert_eq!(decoded::<W>(&payload, elements.len(), ty, geom, plan).unwrap(), elements, "{plan:?}");
    payload
}

fn check_all<W: Width>(
    elements: &[W],
    ty: ElementType,
    geom: &Geometry,
    mask: Option<u64>,
    transform: &TransformPlan,
) {
    for axes in axes() {
        for coder in CODERS {
            let plan = EncodePlan {
                mask,
                transform: transform.clone(),
                axes,
                coder,
                level: 1,
                ..Default::default()
            };
            check(elements, ty, geom, &plan);
        }
    }
}

fn geometry(row: u64, rows: u64, planes: u64) -> Geometry {
    Geometry { row: Some(row), plane: Some(row * rows), volume: Some(row * rows * planes) }
}

/// A smooth field with a ragged mask.
fn field(nx: usize, ny: usize, nt: usize, masked: bool) -> Vec<u32> {
    let mut seed = 1u32;
    (0..nx * ny * nt)
        .map(|i| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (x, y) = ((i % nx) as f32, (i / nx) as f32);
            if masked && ((x * 0.2).sin() + (y * 0.11).cos() > 0.7 || seed >> 26 == 3) {
                return 1e20f32.to_bits();
            }
            (280.0 + (x * 0.05).sin() * 20.0 + (y * 0.03).cos() * 9.0 + (seed >> 20) as f32 * 1e-4).to_bits()
        })
        .collect()
}

fn sample<W: Width>(kind: usize, n: usize, seed: u64) -> Vec<W> {
    let mut s = seed | 1;
    let mut next = || {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        s
    };
    (0..n as u64)
        .map(|i| match kind {
            0 => W::from_u64(next()),
            1 => W::from_u64(i.wrapping_mul(0x7FFF_FFFF_FFFF_FF81)),
            2 => W::from_u64(seed),
            3 => W::from_u64(
                [0, u64::MAX, 1 << (W::BITS - 1), 0x7FC0_0001, 0x7FF8_0000_0000_0001][index_of(next(), 5)],
            ),
            4 => W::from_u64(u64::from(f32::to_bits((next() % 100) as f32 * 0.1 - 3.0))),
            5 => W::from_u64(f64::to_bits((next() % 1000) as f64 * 0.01 - 3.0)),
            6 => W::from_u64(next() & next() & next()),
            7 => W::from_u64((next() % 7) << (W::BITS / 2)),
            _ => W::from_u64(next() & 0x807F_FFFF),
        })
        .collect()
}

fn index_of(x: u64, n: u64) -> usize {
    usize::try_from(x % n).unwrap()
}

fn types_of(bytes: usize) -> impl Iterator<Item = ElementType> {
    ElementType::ALL.into_iter().filter(move |t| t.size() == bytes)
}

fn adversarial<W: Width>(kind: usize, n: usize, seed: u64, geom: &Geometry) {
    let elements: Vec<W> = sample(kind, n, seed);
    let common = elements.get(n / 2).map(|e| e.to_u64());
    for ty in types_of(W::BYTES) {
        check_all(&elements, ty, geom, None, &TransformPlan::Ordered);
        check_all(&elements, ty, geom, common, &TransformPlan::Ordered);
        if ty.is_float() {
            let l = ScaleOffset { off: -3.0, step: 0.1 };
            check_all(&elements, ty, geom, common, &TransformPlan::ScaleOffset(l));
            let divided = ScaleOffset { off: if seed & 1 == 1 { 0.0 } else { -3.0 }, step: -100.0 };
            check_all(&elements, ty, geom, None, &TransformPlan::ScaleOffset(divided));
            check_all(&elements, ty, geom, None, &TransformPlan::ScaleOffsetPerPlane);
        }
        let known: Vec<W> = elements.iter().copied().step_by(2).collect();
        if let Some(dict) = Dictionary::new(known, ty) {
            let bytes = dict.encode_definition(ty).unwrap();
            let again = Dictionary::decode_definition(&bytes, ty).unwrap();
            assert_eq!(again.patterns::<W>(), dict.patterns::<W>());
            check_all(&elements, ty, geom, common, &TransformPlan::Dictionary(Arc::new(again)));
        }
    }
}

/// Whether all cases are tried: `scripts/nightly.sh`, in a release build. Otherwise a third or less of them.
fn exhaustive() -> bool {
    std::env::var_os("NC3Z_EXHAUSTIVE").is_some()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if exhaustive() { 96 } else { 24 }, ..Default::default() })]

    #[test]
    fn any_words_of_any_type_come_back(
        kind in 0usize..9, n in 0usize..400, seed: u64, row in 0u64..40, rows in 0u64..9, planes in 0u64..4,
    ) {
        let geom = geometry(row, rows, planes);
        adversarial::<u8>(kind, n, seed, &geom);
        adversarial::<u16>(kind, n, seed, &geom);
        adversarial::<u32>(kind, n, seed, &geom);
        adversarial::<u64>(kind, n, seed, &geom);
    }
}

#[test]
fn large_fields_come_back_under_every_plan() {
    for masked in [false, true] {
        for (at, (nx, ny, nt)) in
            [(144, 40, 5), (7, 90, 11), (1, 3000, 2), (5000, 1, 2)].into_iter().enumerate()
        {
            let words = field(nx, ny, nt, masked);
            let geom = geometry(nx as u64, ny as u64, nt as u64);
            let lengths = [words.len(), words.len() - 3, words.len() / 2 + 1];
            let one = (at + usize::from(masked)) % lengths.len();
            for &n in if exhaustive() { &lengths[..] } else { &lengths[one..=one] } {
                let mask = Some(u64::from(1e20f32.to_bits()));
                check_all(&words[..n], ElementType::F32, &geom, mask, &TransformPlan::Ordered);
                check_all(&words[..n], ElementType::I32, &geom, None, &TransformPlan::Ordered);
            }
        }
    }
}

#[test]
fn every_short_length_comes_back_through_ctx() {
    for n in 0..70 {
        for kind in 0..9 {
            let plan = EncodePlan { axes: DeltaAxes::NEIGHBOURS, coder: Coder::Ctx, ..Default::default() };
            check(&sample::<u32>(kind, n, 77), ElementType::F32, &Geometry::default(), &plan);
            check(&sample::<u64>(kind, n, 78), ElementType::I64, &Geometry::default(), &plan);
        }
    }
}

#[test]
fn subnormals_and_signed_zeros_survive_scale_offset() {
    let mut words: Vec<u32> = (0..2000).map(|i| ((f64::from(i % 37) * 0.5) as f32).to_bits()).collect();
    words[3] = (-0.0f32).to_bits();
    words[4] = 1;
    words[5] = 0x8000_0001;
    words[6] = f32::MIN_POSITIVE.to_bits();
    words[7] = f32::INFINITY.to_bits();
    words[8] = 0xFFC1_2345;
    let geom = geometry(50, 40, 1);
    for step in [0.5, 1e-40, f64::MIN_POSITIVE, f64::MAX, -2.0, -1e40, -f64::MIN_POSITIVE, -f64::MAX] {
        let transform = TransformPlan::ScaleOffset(ScaleOffset { off: 0.0, step });
        check_all(&words, ElementType::F32, &geom, None, &transform);
    }
}

#[test]
fn choosing_covers_all_types_and_shapes() {
    for effort in [Effort::Fast, Effort::Default, Effort::Max] {
        for kind in 0..9 {
            let geom = geometry(30, 10, 3);
            let words = sample::<u16>(kind, 3000, 3);
            for ty in types_of(2) {
                for plan in choose(&[&words, &[]], ty, &geom, effort, &[words[0]]).unwrap().plans {
                    check(&words, ty, &geom, &plan);
                }
            }
            let words = sample::<u64>(kind, 1500, 3);
            for ty in types_of(8) {
                for plan in choose(&[&words], ty, &geom, effort, &[]).unwrap().plans {
                    check(&words, ty, &geom, &plan);
                }
            }
        }
    }
    let none = choose::<u32>(&[], ElementType::F32, &Geometry::default(), Effort::Default, &[]).unwrap();
    assert_eq!(none.plans.len(), 1);
}

/// Writes a payload for each shape of contexts from one preparation. Each equals the encoder's, and has about the
/// estimated length.
fn prepared<W: Width>(elements: &[W], ty: ElementType, geom: &Geometry, mask: Option<u64>) {
    use crate::encode::{Prepared, Task, stage};
    let shapes =
        [&[Shape::ALONE, Shape::ROWS, Shape::FINER_ROWS, Shape::FINE][..], &Shape::OF_CATEGORIES].concat();
    let mut scratch = Scratch::new();
    for axes in [DeltaAxes::NONE, DeltaAxes::ROWS] {
        let plan = EncodePlan { mask, axes, coder: Coder::Ctx, ..EncodePlan::default() };
        let task = Task { elements, ty, geom, planes: None, against: None, with_mask: true };
        for at in 0..shapes.len() {
            let staged = stage(&task, &plan, &mut scratch).unwrap();
            let prepared = Prepared::new::<W>(staged, (elements.len(), geom), &shapes, &mut scratch);
            let (lens, mut payload) = (prepared.lens(), Vec::new());
            prepared.put::<W>(at, &mut scratch, &mut payload);
            let plan = EncodePlan { shape: shapes[at], ..plan.clone() };
            assert_eq!(decoded::<W>(&payload, elements.len(), ty, geom, &plan).unwrap(), elements);
            if payload.len() <= elements.len() * W::BYTES + 3 {
                assert!(payload == encoded(elements, ty, geom, &plan));
            }
            let (promised, len) = (usize::try_from(lens[at]).unwrap(), payload.len());
            assert!(promised.abs_diff(len) <= 16 + len / 100, "{promised} {len} {plan:?}");
        }
    }
}

#[test]
fn contexts_take_what_their_tables_promise() {
    let geom = geometry(60, 40, 3);
    for masked in [false, true] {
        let words = field(60, 40, 3, masked);
        prepared(&words, ElementType::F32, &geom, masked.then(|| u64::from(1e20f32.to_bits())));
    }
    for n in [1, 2, 63, 1500, 9000] {
        for kind in 0..9 {
            let words = sample::<u16>(kind, n, 5);
            prepared(&words, ElementType::U16, &geom, Some(words[n / 2].into()));
            prepared(&sample::<u8>(kind, n, 5), ElementType::U8, &geom, None);
            prepared(&sample::<u64>(kind, n, 5), ElementType::F64, &geom, None);
        }
    }
}

#[test]
fn what_was_encoded_on_the_way_is_what_the_plan_makes() {
    fn check_payload<W: Width>(words: &[W], ty: ElementType, geom: &Geometry, effort: Effort) -> bool {
        let extent = Extent { elements: words.len() as u64, ..Extent::default() };
        let found = choose_with(&[words], ty, geom, effort, &[], extent, None).unwrap();
        let Some(payload) = found.payload else { return false };
        assert!(payload == encoded(words, ty, geom, &found.plans[0]), "{:?}", found.plans[0]);
        assert_eq!(decoded::<W>(&payload, words.len(), ty, geom, &found.plans[0]).unwrap(), words);
        // If the sample is a part of the variable, no payload is kept.
        let more = Extent { elements: extent.elements + 1, ..extent };
        let found = choose_with(&[words], ty, geom, effort, &[], more, None).unwrap();
        assert!(found.payload.is_none());
        true
    }
    let geom = geometry(60, 40, 3);
    let (mut kept, mut all) = (0, 0);
    for effort in [Effort::Fast, Effort::Default, Effort::Max] {
        for planes in [1, 3, 11] {
            for masked in [false, true] {
                let words = field(60, 40, planes, masked);
                kept += usize::from(check_payload(&words, ElementType::F32, &geom, effort));
                all += 1;
            }
        }
        for kind in 0..9 {
            for n in [5, 900, 5000] {
                kept +=
                    usize::from(check_payload(&sample::<u16>(kind, n, 9), ElementType::I16, &geom, effort));
                kept +=
                    usize::from(check_payload(&sample::<u64>(kind, n, 9), ElementType::F64, &geom, effort));
                all += 2;
            }
        }
    }
    assert!(kept * 2 > all, "{kept} of {all}");
}

#[test]
fn every_prefix_fails_and_every_flipped_bit_is_survived() {
    let geom = geometry(16, 8, 2);
    let words = field(16, 8, 4, true);
    let mask = Some(u64::from(1e20f32.to_bits()));
    let quantised: Vec<u32> =
        (0..500u32).map(|i| ((f64::from(i * i % 97) * 0.25) as f32 + 0.1).to_bits()).collect();
    let dict = Arc::new(Dictionary::new(quantised[..400].to_vec(), ElementType::F32).unwrap());
    let mut plans = Vec::new();
    for coder in CODERS {
        for axes in [DeltaAxes::NONE, DeltaAxes::ROWS_PLANES, DeltaAxes::ROWS_PLANES.repeated(2, 1)] {
            plans.push((words.clone(), EncodePlan { mask, axes, coder, ..Default::default() }));
            let l = ScaleOffset { off: 0.1, step: if axes == DeltaAxes::ROWS_PLANES { 0.25 } else { -4.0 } };
            for transform in [
                TransformPlan::ScaleOffset(l),
                TransformPlan::ScaleOffsetPerPlane,
                TransformPlan::Dictionary(dict.clone()),
            ] {
                plans.push((quantised.clone(), EncodePlan { transform, axes, coder, ..Default::default() }));
            }
        }
    }
    for (words, plan) in plans {
        let payload = check(&words, ElementType::F32, &geom, &plan);
        for len in 0..payload.len() {
            assert!(
                decoded::<u32>(&payload[..len], words.len(), ElementType::F32, &geom, &plan).is_err(),
                "{len}"
            );
        }
        let mut longer = payload.clone();
        longer.push(0);
        assert!(decoded::<u32>(&longer, words.len(), ElementType::F32, &geom, &plan).is_err());
        // By day every eleventh bit: each bit of a byte has its turn.
        for bit in (0..payload.len() * 8).step_by(if exhaustive() { 1 } else { 11 }) {
            let mut damaged = payload.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let _ = decoded::<u32>(&damaged, words.len(), ElementType::F32, &geom, &plan);
        }
    }
}

#[test]
fn definitions_reject_what_is_not_a_dictionary() {
    let dict = Dictionary::new(vec![5u16, 9, 0xFFFE, 300], ElementType::I16).unwrap();
    assert_eq!(dict.patterns::<u16>(), [0xFFFE, 5, 9, 300]);
    let bytes = dict.encode_definition(ElementType::I16).unwrap();
    assert!(Dictionary::decode_definition(&bytes, ElementType::I16).is_ok());
    assert!(Dictionary::decode_definition(&bytes, ElementType::U16).is_err(), "unsigned order differs");
    assert!(Dictionary::decode_definition(&[0, 1, 0, 0], ElementType::I16).is_err());
    for len in 0..bytes.len() {
        assert!(Dictionary::decode_definition(&bytes[..len], ElementType::I16).is_err());
    }
}

/// Exceptions in any number and of any size, in both forms.
#[test]
fn exceptions_are_listed_or_marked() {
    let mut forms = [0; 3];
    let transform = TransformPlan::ScaleOffset(ScaleOffset { off: 0.0, step: -100.0 });
    for every in [3, 4, 7, 63, 64, 65, 500] {
        for n in [1, 8, 63, 64, 65, 1000, 5000] {
            for bits in [1, 8, 20, 50] {
                let value = |i: u64| (i % 1000 * 37 % 1000) as f64 / 100.0 + 1.0;
                let beside = |i: u64| {
                    if ((i * 0x9E37_79B1) >> 7).is_multiple_of(every) {
                        1 + i * 0x9E37_79B9 % (1 << bits)
                    } else {
                        0
                    }
                };
                let doubles: Vec<u64> = (0..n).map(|i| value(i).to_bits() ^ beside(i)).collect();
                for mask in [None, Some(3.0f64.to_bits())] {
                    let plan = EncodePlan {
                        mask,
                        transform: transform.clone(),
                        coder: Coder::Ctx,
                        level: 1,
                        ..Default::default()
                    };
                    let payload = check(&doubles, ElementType::F64, &Geometry::default(), &plan);
                    forms[usize::from(payload[1] >> 4 & 3)] += 1;
                }
            }
        }
    }
    assert!(forms[1] > 100 && forms[2] > 30, "{forms:?}");
}

/// The payload of a plan, even where it is longer than the elements.
fn unguarded<W: Width>(elements: &[W], ty: ElementType, geom: &Geometry, plan: &EncodePlan) -> Vec<u8> {
    let (mut scratch, mut out) = (Scratch::new(), Vec::new());
    let task = crate::encode::Task { elements, ty, geom, planes: None, against: None, with_mask: true };
    let staged = crate::encode::stage(&task, plan, &mut scratch).unwrap();
    crate::encode::finish::<W>(staged, elements.len(), geom, plan, &mut scratch, &mut out).unwrap();
    assert_eq!(decoded::<W>(&out, elements.len(), ty, geom, plan).unwrap(), elements);
    out
}
