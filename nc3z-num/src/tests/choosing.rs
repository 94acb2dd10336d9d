//! Plans that are chosen for fields of known structure.

use super::*;

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

/// The means over 25 years of floats, as doubles: quotients by 25 times a power of two.
#[test]
fn means_of_floats_are_quotients() {
    let kelvin = |i: u32, year: u32| {
        let noise = (i * 25 + year).wrapping_mul(0x9E37_79B1) >> 8;
        f64::from(230.0 + (i % 97) as f32 * 0.7 + noise as f32 / 4e6)
    };
    let words: Vec<u64> =
        (0..20_000).map(|i| ((0..25).map(|year| kelvin(i, year)).sum::<f64>() / 25.0).to_bits()).collect();
    let found = choose(&[&words], ElementType::F64, &Geometry::default(), Effort::Default, &[]).unwrap();
    let TransformPlan::ScaleOffset(l) = &found.plans[0].transform else { panic!("{:?}", found.plans[0]) };
    let bits = (-l.step / 25.0).log2();
    assert_eq!((l.off, bits.fract()), (0.0, 0.0), "{l:?}");
    assert!((14.0..=16.0).contains(&bits), "{l:?}");
    check(&words, ElementType::F64, &Geometry::default(), &found.plans[0]);
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
fn noise_is_not_differenced() {
    // Quarters from 0 to 22.25, each value as likely as any other: 6.5 bits. Differences have 7.2.
    let mut seed = 9u32;
    let words: Vec<u64> = (0..40_000)
        .map(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (f64::from((seed >> 8) % 90) / 4.0).to_bits()
        })
        .collect();
    let geom = geometry(0, 0, 0);
    for effort in [Effort::Fast, Effort::Default] {
        let found = choose(&[&words], ElementType::F64, &geom, effort, &[]).unwrap();
        let plan = &found.plans[0];
        assert_eq!(plan.axes, DeltaAxes::NONE, "{plan:?}");
        let payload = check(&words, ElementType::F64, &geom, plan);
        assert!(payload.len() * 8 < words.len() * 67 / 10, "{effort:?}: {} bytes {plan:?}", payload.len());
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

/// Cells of a map with one of `kinds` categories, in patches: 15 of 16 repeat the cell before or above.
fn patches(kinds: u64, width: usize, cells: usize) -> Vec<u64> {
    let mut seed = 3u64;
    let mut map: Vec<u64> = Vec::with_capacity(cells);
    for i in 0..cells {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (from, other) = (seed >> 60, (seed >> 40) % kinds);
        let above = if i >= width { map[i - width] } else { other };
        let before = map.last().copied().unwrap_or(other);
        map.push(if from < 8 {
            before
        } else if from < 15 {
            above
        } else {
            other
        });
    }
    map
}

#[test]
fn categories_are_coded_by_their_neighbours() {
    let (map, geom) = (patches(12, 120, 40_000), geometry(120, 100, 1));
    // Codes of satellites' products: small numbers with gaps, and numbers that are far apart.
    let bytes: Vec<u8> =
        map.iter().map(|&k| [1, 2, 6, 8, 10, 12, 14, 15, 16, 17, 18, 19][k as usize]).collect();
    let shorts: Vec<u16> = map.iter().map(|&k| 169 + 26 * k as u16).collect();
    let few: Vec<u8> = map.iter().map(|&k| k as u8 / 4).collect();
    let bytes = categories(&bytes, ElementType::U8, &geom);
    assert!(bytes < 12_500, "{bytes}");
    assert!(categories(&shorts, ElementType::I16, &geom) <= bytes + 40);
    assert!(categories(&few, ElementType::U8, &geom) < 5_600);
}

/// Returns the length of the payload by the plan that is chosen, which must be that of categories and smaller than
/// without it.
fn categories<W: Width>(words: &[W], ty: ElementType, geom: &Geometry) -> usize {
    let found = choose(&[words], ty, geom, Effort::Default, &[]).unwrap();
    let plan = &found.plans[0];
    assert!(plan.mask.is_none() && plan.axes == DeltaAxes::NONE && plan.coder == Coder::Ctx, "{plan:?}");
    let len = check(words, ty, geom, plan).len();
    assert_eq!(found.payload.map(|payload| payload.len()), Some(len));
    let fast = choose(&[words], ty, geom, Effort::Fast, &[]).unwrap();
    let without = check(words, ty, geom, &fast.plans[0]).len();
    assert!(len * 10 < without * 9, "{len} {without}");
    len
}
