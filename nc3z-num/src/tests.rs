//! Round trips of every stage, and forged payloads.
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "test data are made from small numbers"
)]

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

fn encoded<W: Word>(elements: &[W], ty: ElementType, geom: &Geometry, plan: &EncodePlan) -> Vec<u8> {
    let mut out = Vec::new();
    encode(elements, ty, geom, plan, &mut Scratch::new(), &mut out).unwrap();
    out
}

fn decoded<W: Word>(
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

fn check<W: Word>(elements: &[W], ty: ElementType, geom: &Geometry, plan: &EncodePlan) -> Vec<u8> {
    let payload = encoded(elements, ty, geom, plan);
    assert!(payload.len() <= elements.len() * W::BYTES + 3);
    assert_eq!(decoded::<W>(&payload, elements.len(), ty, geom, plan).unwrap(), elements, "{plan:?}");
    payload
}

/// All axes and coders.
fn check_all<W: Word>(
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

fn sample<W: Word>(kind: usize, n: usize, seed: u64) -> Vec<W> {
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

fn adversarial<W: Word>(kind: usize, n: usize, seed: u64, geom: &Geometry) {
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..Default::default() })]

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
        for (nx, ny, nt) in [(144, 40, 5), (7, 90, 11), (1, 3000, 2), (5000, 1, 2)] {
            let words = field(nx, ny, nt, masked);
            let geom = geometry(nx as u64, ny as u64, nt as u64);
            for n in [words.len(), words.len() - 3, words.len() / 2 + 1] {
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
fn tiles_of_one_pattern_are_a_few_bytes() {
    let plan = EncodePlan { mask: Some(9), ..Default::default() };
    assert_eq!(check(&[9u16; 5000], ElementType::I16, &Geometry::default(), &plan), [1, 2, 0, 9, 0]);
    assert_eq!(check::<u16>(&[], ElementType::I16, &Geometry::default(), &plan), [1, 0, 0]);
    assert!(decoded::<u16>(&[1, 2, 0, 9, 0], 0, ElementType::I16, &Geometry::default(), &plan).is_err());
    assert!(decoded::<u16>(&[1, 0, 0], 1, ElementType::I16, &Geometry::default(), &plan).is_err());
}

#[test]
fn quantised_floats_are_found_and_shrink() {
    let mut seed = 5u32;
    let decimal: Vec<u32> = (0..100_000u32)
        .map(|i| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let k = i / 50 + (seed >> 28);
            if i % 1000 == 7 { f32::NAN.to_bits() } else { ((f64::from(k) * 0.01) as f32).to_bits() }
        })
        .collect();
    let packed: Vec<u32> = decimal
        .iter()
        .map(|&b| {
            let k = (f32::from_bits(b) * 100.0).round();
            if k.is_nan() { b } else { (213.713_f32 + k * 0.003_715_8).to_bits() }
        })
        .collect();
    let geom = geometry(100, 100, 10);
    for (words, most) in [(decimal, 70_000), (packed, 90_000)] {
        let samples = [&words[..30_000], &words[40_000..70_000]];
        let found = choose(&samples, ElementType::F32, &geom, Effort::Default, &[]).unwrap();
        let payload = check(&words, ElementType::F32, &geom, &found.plans[0]);
        assert!(payload.len() < most, "{} {:?}", payload.len(), found.plans[0]);
    }
}

#[test]
fn decimals_that_were_parsed_as_doubles_are_quotients() {
    // 2732 / 100 is 27.32, the nearest double; 2732 * 0.01 is another.
    let texts = (0..9000u32).map(|i| format!("{}.{:02}", i / 40 % 60, i.wrapping_mul(40_503) >> 4 & 63));
    let words: Vec<u64> = texts.map(|t| t.parse::<f64>().unwrap().to_bits()).collect();
    for step in [0.01, -100.0] {
        let transform = TransformPlan::ScaleOffset(ScaleOffset { off: 0.0, step });
        let plan =
            EncodePlan { transform, axes: DeltaAxes::NEIGHBOURS, coder: Coder::Ctx, ..Default::default() };
        check(&words, ElementType::F64, &Geometry::default(), &plan);
    }
    let found = choose(&[&words], ElementType::F64, &Geometry::default(), Effort::Default, &[]).unwrap();
    let payload = check(&words, ElementType::F64, &Geometry::default(), &found.plans[0]);
    assert!(payload.len() * 8 < words.len() * 10, "{} {:?}", payload.len(), found.plans[0]);
}

#[test]
fn means_over_cells_are_fractions() {
    let mut seed = 9u32;
    let words: Vec<u32> = (0..20_000)
        .map(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((f64::from(seed >> 18) - 5000.0) / 144.0) as f32
        })
        .map(f32::to_bits)
        .collect();
    let found = choose(&[&words], ElementType::F32, &Geometry::default(), Effort::Default, &[]).unwrap();
    let payload = check(&words, ElementType::F32, &Geometry::default(), &found.plans[0]);
    assert!(payload.len() * 8 < words.len() * 15, "{} {:?}", payload.len(), found.plans[0]);
}

#[test]
fn values_whose_least_lies_apart_have_their_step() {
    // Packed to 60,000 steps of a float from the minimum on, as ocean models do it by level. Within thousands of
    // steps of the minimum and the maximum there is no other value.
    let (off, step) = (f64::from(-0.044_097_f32), f64::from(1.256_684e-6_f32));
    let wide = |i: u32| 20_000 + (i.wrapping_mul(2_654_435_761) >> 20) * 3 / 2;
    let k = |i: u32| {
        if i == 17 {
            0
        } else if i == 2000 {
            60_000
        } else {
            wide(i)
        }
    };
    let words: Vec<u32> = (0..4000).map(|i| ((off + f64::from(k(i)) * step) as f32).to_bits()).collect();
    let found = choose(&[&words], ElementType::F32, &Geometry::default(), Effort::Default, &[]).unwrap();
    assert!(matches!(found.plans[0].transform, TransformPlan::ScaleOffset(_)), "{:?}", found.plans[0]);
    let payload = check(&words, ElementType::F32, &Geometry::default(), &found.plans[0]);
    assert!(payload.len() * 8 < words.len() * 14, "{} {:?}", payload.len(), found.plans[0]);
}

/// GRIB messages after conversion: each field has its minimum as offset, a power of two as step, at most about 260
/// steps, and a corner without values.
fn messages(planes: u32, row: u32, rows: u32, offset: impl Fn(u32) -> f32) -> Vec<u32> {
    let field = |p: u32, x: u32, y: u32| {
        let wave = (f64::from(x + 3 * p) / 5.0).sin() + (f64::from(y) / 7.0).cos();
        let noise = f64::from((x + row * (y + rows * p)).wrapping_mul(2_654_435_761) >> 29);
        let k = (f64::from(1 << (7 - p % 2)) * (1.0 + wave / 2.0) + noise).floor();
        let step = if p.is_multiple_of(2) { 0.25 } else { 0.5 };
        (f64::from(offset(p)) + k * step) as f32
    };
    let at = |i: u32| (i / row / rows, i % row, i / row % rows);
    let value = |(p, x, y): (u32, u32, u32)| if x + y < 9 { -9999.0 } else { field(p, x, y) };
    (0..planes * rows * row).map(|i| value(at(i)).to_bits()).collect()
}

#[test]
fn packed_fields_have_a_scale_and_an_offset_each() {
    // The offset is a multiple of 2^-16 (all values are then offset + k * scale), or not a round number; then the
    // values near 290 are rounded.
    let offsets: [(&str, fn(u32) -> f32); 2] = [
        ("round", |p| -30.0 - (p * 7919 % 1000) as f32 / 65536.0 * 32.0),
        ("rounded", |p| 245.151_67 + (p * 7919 % 1000) as f32 * 0.003_21),
    ];
    for (name, offset) in offsets {
        let words = messages(40, 36, 33, offset);
        let geom = geometry(36, 33, 40);
        let fill = [(-9999.0f32).to_bits()];
        let found = choose(&[&words], ElementType::F32, &geom, Effort::Default, &fill).unwrap();
        assert!(
            matches!(found.plans[0].transform, TransformPlan::ScaleOffsetPerPlane),
            "{name} {:?}",
            found.plans[0]
        );
        let payload = check(&words, ElementType::F32, &geom, &found.plans[0]);
        assert!(payload.len() * 8 < words.len() * 4, "{name} {} of {}", payload.len(), words.len());
    }
}

#[test]
fn where_no_dictionary_can_be_stored_no_plan_needs_one() {
    // 300 values without order, not on any step: a dictionary codes them best.
    let value = |i: u32| (f64::from(i.wrapping_mul(2_654_435_761) >> 8) / 1e7).powi(3).to_bits();
    let words: Vec<u64> =
        (0..6000u32).map(|i| value(((i * i).wrapping_mul(2_654_435_761) >> 13) % 300)).collect();
    let sizes = [true, false].map(|dictionary| {
        let extent = Extent { elements: 6000, dictionary, ..Extent::default() };
        let geom = Geometry::default();
        let found =
            choose_with(&[&words[..]], ElementType::F64, &geom, Effort::Default, &[], extent, None).unwrap();
        assert_eq!(found.plans[0].dictionary().is_some(), dictionary, "{:?}", found.plans[0]);
        assert!(dictionary || found.plans.iter().all(|p| p.dictionary().is_none()));
        check(&words, ElementType::F64, &geom, &found.plans[0]).len()
    });
    assert!(sizes[1] < words.len() * 4, "{sizes:?}");
}

#[test]
fn ramps_are_not_taken_for_their_tenths() {
    // x + 10 y + 100 z: the sampled elements must not have only one last digit.
    let (nx, ny, nz) = (40u32, 30u32, 60u32);
    let ramp = |i: u32| (i % nx + 10 * (i / nx % ny) + 100 * (i / nx / ny)) as f32;
    let words: Vec<u32> = (0..nx * ny * nz).map(|i| ramp(i).to_bits()).collect();
    let geom = geometry(40, 30, 60);
    let found = choose(&[&words], ElementType::F32, &geom, Effort::Default, &[]).unwrap();
    let payload = check(&words, ElementType::F32, &geom, &found.plans[0]);
    assert!(payload.len() < 600, "{} {:?}", payload.len(), found.plans[0]);
}

#[test]
fn means_of_decimals_are_fractions_of_them() {
    // Means over 244 of values with two digits, as climatologies of 30.5 days by eight have them.
    let mut seed = 9u32;
    let value = |_| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((f64::from(seed >> 14) - 100_000.0) / 24_400.0) as f32
    };
    let words: Vec<u32> = (0..20_000).map(value).map(f32::to_bits).collect();
    let found = choose(&[&words], ElementType::F32, &Geometry::default(), Effort::Default, &[]).unwrap();
    let payload = check(&words, ElementType::F32, &Geometry::default(), &found.plans[0]);
    assert!(payload.len() * 8 < words.len() * 19, "{} {:?}", payload.len(), found.plans[0]);
}

#[test]
fn components_are_not_differenced_from_each_other() {
    // Three components of unrelated positions that change slowly.
    let mut seed = 9u32;
    let mut below = |n: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        u32::try_from((u64::from(seed) * u64::from(n)) >> 32).unwrap()
    };
    let mut places: Vec<i32> = (0..300).map(|_| below(200_000).cast_signed() - 100_000).collect();
    let mut words = Vec::new();
    for _ in 0..40 {
        places.iter_mut().for_each(|k| *k += below(401).cast_signed() - 200);
        words.extend(places.iter().map(|&k| (k as f32 / 3072.0).to_bits()));
    }
    let geom = geometry(3, 100, 1);
    for effort in [Effort::Fast, Effort::Default, Effort::Max] {
        let found = choose(&[&words], ElementType::F32, &geom, effort, &[]).unwrap();
        let plan = &found.plans[0];
        assert_eq!(plan.axes, DeltaAxes::PLANES.alone(), "{plan:?}");
        let payload = check(&words, ElementType::F32, &geom, plan);
        let with = EncodePlan { axes: DeltaAxes::PLANES, ..plan.clone() };
        let with = check(&words, ElementType::F32, &geom, &with);
        assert!(payload.len() * 40 < with.len() * 39, "{} and {} {plan:?}", payload.len(), with.len());
        let mut other = payload;
        other[0] = 2;
        let e = decoded::<u32>(&other, words.len(), ElementType::F32, &geom, plan).unwrap_err();
        assert!(e.to_string().contains("version 2"), "{e}");
    }
}

#[test]
fn smooth_fields_are_differenced_again() {
    // A cubic in both directions, to the last bit of its integers.
    let (nx, ny) = (90i64, 60i64);
    let value = |x: i64, y: i64| x * x * x + 3 * x * y * y - y * y * y + 7 * x * y;
    let words: Vec<u64> = (0..nx * ny).map(|i| value(i % nx, i / nx).cast_unsigned()).collect();
    let geom = geometry(90, 60, 1);
    let found = choose(&[&words], ElementType::I64, &geom, Effort::Default, &[]).unwrap();
    let payload = check(&words, ElementType::I64, &geom, &found.plans[0]);
    assert!(found.plans[0].axes.repeats() > (0, 0), "{:?}", found.plans[0]);
    assert!(payload.len() < 1800, "{} {:?}", payload.len(), found.plans[0]);
}

#[test]
fn repeats_need_what_they_repeat() {
    let words: Vec<u16> = (0..40u16).map(|i| i * i).collect();
    let geom = geometry(8, 5, 1);
    for (axes, strides, again) in [
        (DeltaAxes::NEIGHBOURS.repeated(1, 1), 0x81, 0x01),
        (DeltaAxes::ROWS.repeated(3, 2), 0x83, 0x0B),
        (DeltaAxes::ROWS.alone().repeated(2, 1), 0x82, 0x04),
    ] {
        let plan = EncodePlan { axes, ..Default::default() };
        let payload = unguarded(&words, ElementType::I16, &geom, &plan);
        assert_eq!((payload[1], payload[2], payload[3]), (0, strides, again), "{axes:?}");
        for other in 0..=255u8 {
            let mut changed = payload.clone();
            changed[3] = other;
            let repeats = [other & 3, other >> 2 & 3];
            let named = (0..2).all(|axis| repeats[axis] == 0 || axes.0 >> axis & 1 == 1) && other < 16;
            let read = decoded::<u16>(&changed, words.len(), ElementType::I16, &geom, &plan);
            assert_eq!(read.is_ok(), named && other != 0, "{axes:?} {other:#x}");
        }
    }
    let axes = DeltaAxes::NONE.repeated(1, 1);
    let payload = unguarded(&words, ElementType::I16, &geom, &EncodePlan { axes, ..Default::default() });
    assert_eq!(payload[1..3], [0, 0]);
    for wrong in [&[1, 2, 0x80, 1, 9, 0][..], &[1, 0, 0x80, 1], &[1, 0x40, 0], &[1, 0, 0x50]] {
        let n = if wrong.len() > 4 { 3 } else { 0 };
        let read = decoded::<u16>(wrong, n, ElementType::I16, &geom, &EncodePlan::default());
        assert!(read.is_err(), "{wrong:?}");
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
fn prepared<W: Word>(elements: &[W], ty: ElementType, geom: &Geometry, mask: Option<u64>) {
    use crate::encode::{Prepared, Task, stage};
    let shapes = [Shape::ALONE, Shape::ROWS, Shape::FINE];
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
    fn check_payload<W: Word>(words: &[W], ty: ElementType, geom: &Geometry, effort: Effort) -> bool {
        let extent = Extent { elements: words.len() as u64, ..Extent::default() };
        let found = choose_with(&[words], ty, geom, effort, &[], extent, None).unwrap();
        let Some(payload) = found.payload else { return false };
        assert!(payload == encoded(words, ty, geom, &found.plans[0]), "{:?}", found.plans[0]);
        assert_eq!(decoded::<W>(&payload, words.len(), ty, geom, &found.plans[0]).unwrap(), words);
        // If the sample is a part of the variable, there is no payload.
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
        for bit in 0..payload.len() * 8 {
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
fn unguarded<W: Word>(elements: &[W], ty: ElementType, geom: &Geometry, plan: &EncodePlan) -> Vec<u8> {
    let (mut scratch, mut out) = (Scratch::new(), Vec::new());
    let task = crate::encode::Task { elements, ty, geom, planes: None, against: None, with_mask: true };
    let staged = crate::encode::stage(&task, plan, &mut scratch).unwrap();
    crate::encode::finish::<W>(staged, elements.len(), geom, plan, &mut scratch, &mut out).unwrap();
    assert_eq!(decoded::<W>(&out, elements.len(), ty, geom, plan).unwrap(), elements);
    out
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02X}")).collect::<Vec<_>>().join(" ")
}

/// Encodes a tile against another, even if the payload is longer than the elements.
fn unguarded_against<W: Word>(elements: &[W], other: &[W], ty: ElementType, plan: &EncodePlan) -> Vec<u8> {
    let (mut scratch, mut out, geom, n) = (Scratch::new(), Vec::new(), Geometry::default(), elements.len());
    let against = Some(other);
    let task = crate::encode::Task { elements, ty, geom: &geom, planes: None, against, with_mask: true };
    let staged = crate::encode::stage(&task, plan, &mut scratch).unwrap();
    crate::encode::finish::<W>(staged, n, &geom, plan, &mut scratch, &mut out).unwrap();
    let mut back = vec![W::default(); n];
    decode_against(&out, ty, &geom, None, against, &mut scratch, &mut back).unwrap();
    assert_eq!(back, elements);
    out
}

/// The vectors of spec/num.md: each line of its code block `vectors` is `name: bytes`.
#[test]
fn vectors_of_the_specification_hold() {
    let shorts: Vec<u16> = [100i16, 101, 103, 90, 91, 140].iter().map(|x| x.cast_unsigned()).collect();
    let plan = EncodePlan { axes: DeltaAxes::NEIGHBOURS, coder: Coder::Ctx, ..Default::default() };
    let plan = EncodePlan { shape: Shape { log: 5, north: 1, west: 1 }, ..plan };
    let none = Geometry::default();
    let mut lines = Vec::new();
    for n in [1, 3, 5, 6] {
        lines.push(format!("ctx-{n}: {}", hex(&unguarded(&shorts[..n], ElementType::I16, &none, &plan))));
    }
    let bits = |list: &[f32]| list.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
    let masked = bits(&[1.5, 1e20, 2.0, 2.5, 3.0, 1e20, -1.5, 0.5]);
    let mask = Some(u64::from(1e20f32.to_bits()));
    let plan = EncodePlan { mask, axes: DeltaAxes::ROWS, coder: Coder::Store, ..Default::default() };
    let geom = Geometry { row: Some(4), plane: Some(8), volume: None };
    lines.push(format!("mask: {}", hex(&unguarded(&masked, ElementType::F32, &geom, &plan))));
    let transform = TransformPlan::ScaleOffset(ScaleOffset { off: 1.0, step: 0.1 });
    let plan =
        EncodePlan { transform, axes: DeltaAxes::NEIGHBOURS, coder: Coder::Store, ..Default::default() };
    let decimal = bits(&[1.0, 1.1, 1.2, 1.3, 7e-3, 1.5]);
    lines.push(format!("scale-offset: {}", hex(&unguarded(&decimal, ElementType::F32, &none, &plan))));
    // Five of twenty elements are not multiples of the step.
    let beside = |i: u32| {
        ((f64::from(i) * 0.1) as f32)
            .to_bits()
            .wrapping_add_signed([0, 1, 0, 1, -1, 0, 0, 0, 0, 2, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0][i as usize])
    };
    let twenty: Vec<u32> = (0..20).map(beside).collect();
    let transform = TransformPlan::ScaleOffset(ScaleOffset { off: 0.0, step: 0.1 });
    let plan = EncodePlan { transform, axes: DeltaAxes::NONE, coder: Coder::Store, ..Default::default() };
    lines.push(format!("marked: {}", hex(&unguarded(&twenty, ElementType::F32, &none, &plan))));
    let squares: Vec<u16> = (0..12u16).map(|i| (i % 4) * (i % 4) + 10 * (i / 4) * (i / 4)).collect();
    let plan = EncodePlan { axes: DeltaAxes::ROWS.repeated(1, 1), coder: Coder::Store, ..Default::default() };
    lines.push(format!("again: {}", hex(&unguarded(&squares, ElementType::U16, &geom, &plan))));
    let plan = EncodePlan { axes: DeltaAxes::ROWS, coder: Coder::Mix, ..Default::default() };
    lines.push(format!("mix: {}", hex(&unguarded(&squares, ElementType::U16, &geom, &plan))));
    let components: Vec<u16> = vec![10, 200, 3000, 12, 201, 2990, 15, 203, 2985];
    let alone = EncodePlan { axes: DeltaAxes::ROWS.alone(), coder: Coder::Store, ..Default::default() };
    let of_three = Geometry { row: Some(3), plane: None, volume: None };
    lines.push(format!("alone: {}", hex(&unguarded(&components, ElementType::U16, &of_three, &alone))));
    let alone = EncodePlan { mask: Some(9), ..alone };
    let of_two = Geometry { row: Some(2), plane: None, volume: None };
    let payload = unguarded::<u16>(&[7, 9, 7, 8, 9, 6], ElementType::U16, &of_two, &alone);
    lines.push(format!("alone-masked: {}", hex(&payload)));
    let parsed: Vec<u64> = [0.07, 0.14, 0.28, 27.32].iter().map(|x: &f64| x.to_bits()).collect();
    let transform = TransformPlan::ScaleOffset(ScaleOffset { off: 0.0, step: -100.0 });
    let plan = EncodePlan { transform, axes: DeltaAxes::NONE, coder: Coder::Store, ..Default::default() };
    lines.push(format!("divided: {}", hex(&unguarded(&parsed, ElementType::F64, &none, &plan))));
    let tile = bits(&[1.5, 1e20, 2.0, 2.75, 3.0, 1e20, -1.5, 0.5]);
    let other = bits(&[1.5, 1e20, 2.0, 2.5, 3.0, 1e20, 1e20, 0.5]);
    let masking = EncodePlan { mask, coder: Coder::Store, ..Default::default() };
    lines.push(format!("reference: {}", hex(&unguarded_against(&tile, &other, ElementType::F32, &masking))));
    let singles = bits(&[0.07, 0.13, f32::NAN, 27.3]);
    let other: Vec<u64> = convert(&singles, ElementType::F32, ElementType::F64).unwrap();
    lines.push(format!("held: {}", hex(&unguarded_against(&parsed, &other, ElementType::F64, &plan))));
    let mut around_zero = bits(&[-1.0, -0.5, 0.25, 1.0, -0.75, -0.25, 0.0, 1.25]);
    around_zero[6] = 3;
    let by_value = EncodePlan { axes: DeltaAxes::ROWS.by_value(), coder: Coder::Store, ..Default::default() };
    lines.push(format!("by-value: {}", hex(&unguarded(&around_zero, ElementType::F32, &geom, &by_value))));
    let spec = include_str!("../../spec/num.md");
    let missing: Vec<_> = lines.iter().filter(|line| spec.lines().all(|l| l.trim() != **line)).collect();
    assert!(missing.is_empty(), "not in spec/num.md: {missing:#?}");
}
