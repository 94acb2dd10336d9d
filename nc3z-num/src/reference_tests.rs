//! Tiles that are coded against others: round trips over types, masks and transforms, and forged payloads.
#![expect(clippy::cast_possible_truncation, reason = "test data are made from small numbers")]

use super::*;
use proptest::prelude::*;
use std::sync::Arc;

const CODERS: [Coder; 4] = [Coder::Store, Coder::Zstd, Coder::Planes, Coder::Ctx];
const F32: ElementType = ElementType::F32;
const FILL: f32 = 99_999.0;

fn coded<W: Width>(
    words: &[W],
    ty: ElementType,
    geom: &Geometry,
    plan: &EncodePlan,
    against: &[W],
) -> Vec<u8> {
    let mut out = Vec::new();
    encode_against(words, ty, geom, plan, Some(against), &mut Scratch::new(), &mut out).unwrap();
    out
}

fn decoded<W: Width>(
    payload: &[u8],
    ty: ElementType,
    geom: &Geometry,
    plan: &EncodePlan,
    against: Option<&[W]>,
    n: usize,
) -> Result<Vec<W>> {
    let mut out = vec![W::from_u64(0x55); n];
    let dict = plan.dictionary().map(Arc::as_ref);
    decode_against(payload, ty, geom, dict, against, &mut Scratch::new(), &mut out)?;
    Ok(out)
}

fn check<W: Width>(
    words: &[W],
    ty: ElementType,
    geom: &Geometry,
    plan: &EncodePlan,
    against: &[W],
) -> Vec<u8> {
    let payload = coded(words, ty, geom, plan, against);
    assert!(payload.len() <= words.len() * W::BYTES + 3);
    let back = decoded(&payload, ty, geom, plan, Some(against), words.len()).unwrap();
    assert_eq!(back, words, "{plan:?} {ty}");
    payload
}

/// Words that equal `other` at most positions.
fn like<W: Width>(other: &[W], seed: u64) -> Vec<W> {
    let mut s = seed | 1;
    let mut next = || {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        s
    };
    let change = |&w: &W| match next() % 16 {
        0 => W::from_u64(next()),
        1 => w.plus(W::from_u64(next() % 5)),
        2 => other[0],
        _ => w,
    };
    other.iter().map(change).collect()
}

fn any_against<W: Width>(bits: &[u64], seed: u64, row: u64) {
    let other: Vec<W> = bits.iter().map(|&b| W::from_u64(b)).collect();
    let words = if other.is_empty() { Vec::new() } else { like(&other, seed) };
    let geom = Geometry { row: Some(row), plane: Some(row * 3), volume: None };
    let common = words.get(words.len() / 2).map(|w| w.to_u64());
    for ty in ElementType::ALL.into_iter().filter(|t| t.size() == W::BYTES) {
        let mut transforms = vec![TransformPlan::Ordered];
        if let Some(dict) = Dictionary::new(words.clone(), ty) {
            transforms.push(TransformPlan::Dictionary(Arc::new(dict)));
        }
        if ty.is_float() {
            for step in [0.1, -10.0, 1e-40, -1e40, f64::MIN_POSITIVE, f64::MAX] {
                transforms.push(TransformPlan::ScaleOffset(ScaleOffset { off: 0.0, step }));
            }
            transforms.push(TransformPlan::ScaleOffsetPerPlane);
        }
        for (transform, coder) in transforms.iter().flat_map(|t| CODERS.map(|c| (t.clone(), c))) {
            for axes in [
                DeltaAxes::NONE,
                DeltaAxes::NEIGHBOURS,
                DeltaAxes::ROWS_PLANES.repeated(1, 1),
                DeltaAxes::ROWS_PLANES.alone(),
            ] {
                let mask = common.filter(|_| seed & 1 == 0);
                let plan = EncodePlan {
                    mask,
                    transform: transform.clone(),
                    axes,
                    coder,
                    level: 1,
                    ..Default::default()
                };
                check(&words, ty, &geom, &plan, &other);
            }
        }
    }
}

fn specials() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        (0u32..3000).prop_map(u64::from),
        (0u32..3000).prop_map(|k| u64::from(((f64::from(k) * 0.1) as f32).to_bits())),
        (0u32..3000).prop_map(|k| (f64::from(k) * 0.1).to_bits()),
        prop::sample::select(vec![
            0,
            0x7FC0_0000,
            0xFF80_0000,
            0x0080_0000,
            0x8000_0001,
            0x7FF8_0000_0000_0001,
            0x0010_0000_0000_0000,
            0xFFF0_0000_0000_0000,
            0x8000_0000_0000_0000,
            u64::MAX,
        ]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..Default::default() })]

    #[test]
    fn any_words_come_back_against_any_others(
        bits in prop::collection::vec(specials(), 0..150), seed: u64, row in 0u64..20,
    ) {
        any_against::<u8>(&bits, seed, row);
        any_against::<u16>(&bits, seed, row);
        any_against::<u32>(&bits, seed, row);
        any_against::<u64>(&bits, seed, row);
    }

    #[test]
    fn values_survive_a_wider_type(bits in prop::collection::vec(any::<u32>(), 0..50), shorts: Vec<u16>) {
        let wide: Vec<u64> = convert(&bits, F32, ElementType::F64).unwrap();
        let back: Vec<u32> = convert(&wide, ElementType::F64, F32).unwrap();
        for (a, b) in bits.iter().zip(back) {
            let x = f32::from_bits(*a);
            let expected = if x.is_nan() {
                0x7FC0_0000
            } else if x.abs() <= f32::MIN_POSITIVE {
                a & 0x8000_0000
            } else {
                *a
            };
            prop_assert_eq!(b, expected);
        }
        for ty in [ElementType::F32, ElementType::F64, ElementType::I32, ElementType::I64] {
            let back: Vec<u16> = if ty.size() == 4 {
                convert(&convert::<u16, u32>(&shorts, ElementType::I16, ty).unwrap(), ty, ElementType::I16).unwrap()
            } else {
                convert(&convert::<u16, u64>(&shorts, ElementType::I16, ty).unwrap(), ty, ElementType::I16).unwrap()
            };
            prop_assert_eq!(&back, &shorts);
        }
    }
}

#[test]
fn values_convert_as_the_specification_says() {
    let f = |x: f64| x.to_bits();
    let doubles = [f(2.5), f(3.5), f(-2.5), f(f64::NAN), f(1e300), f(-1e300), f(5e-324), f(-0.0)];
    let ints: Vec<u32> = convert(&doubles, ElementType::F64, ElementType::I32).unwrap();
    assert_eq!(ints, [2, 4, 0xFFFF_FFFE, 0, 0x7FFF_FFFF, 0x8000_0000, 0, 0]);
    let bytes: Vec<u8> = convert(&doubles, ElementType::F64, ElementType::U8).unwrap();
    assert_eq!(bytes, [2, 4, 0, 0, 255, 0, 0, 0]);
    let floats: Vec<u32> = convert(&doubles[3..], ElementType::F64, F32).unwrap();
    assert_eq!(floats, [0x7FC0_0000, 0x7F80_0000, 0xFF80_0000, 0, 0x8000_0000]);
    let wide: Vec<u64> = convert(&[0xFFu8, 1], ElementType::I8, ElementType::U64).unwrap();
    assert_eq!(wide, [u64::MAX, 1]);
    let wide: Vec<u64> = convert(&[0xFFu8], ElementType::U8, ElementType::F64).unwrap();
    assert_eq!(wide, [f(255.0)]);
    assert!(convert::<u8, u16>(&[1], ElementType::I16, ElementType::I16).is_err());
}

/// Temperatures of profiles with fill values, and the same profiles after a correction with more fill values.
fn profiles() -> (Vec<u32>, Vec<u32>) {
    let value = |i: u32| 4.0 + f64::from(i.wrapping_mul(2_654_435_761) >> 19) / 1000.0;
    let raw = |i: u32| if i % 97 > 80 { FILL } else { value(i) as f32 };
    let adjusted = |i: u32| match i {
        _ if i % 97 > 80 || i > 2900 => FILL,
        _ if i > 2000 => (value(i) + 0.003) as f32,
        _ => value(i) as f32,
    };
    let bits = |of: &dyn Fn(u32) -> f32| (0..3000u32).map(|i| of(i).to_bits()).collect();
    (bits(&raw), bits(&adjusted))
}

#[test]
fn an_equal_tile_takes_little_more_than_its_mask() {
    let (raw, adjusted) = profiles();
    let geom = Geometry::default();
    let transform = TransformPlan::ScaleOffset(ScaleOffset { off: 0.0, step: -1000.0 });
    let mask = Some(u64::from(FILL.to_bits()));
    let plan = EncodePlan { mask, transform, coder: Coder::Ctx, ..Default::default() };
    let plan = EncodePlan { shape: Shape { log: 5, north: 1, west: 1 }, ..plan };
    let payload = check(&raw, F32, &geom, &plan, &raw);
    assert!(payload.len() < 70, "{}", payload.len());
    let plain = EncodePlan { transform: TransformPlan::Ordered, ..plan.clone() };
    assert!(check(&raw, F32, &geom, &plain, &raw).len() < 54);
    let alone = EncodePlan { axes: DeltaAxes::NEIGHBOURS, ..plan.clone() };
    let mut by_itself = Vec::new();
    encode(&adjusted, F32, &geom, &alone, &mut Scratch::new(), &mut by_itself).unwrap();
    assert!(check(&adjusted, F32, &geom, &plan, &raw).len() * 10 < by_itself.len(), "{}", by_itself.len());
}

#[test]
fn floats_against_doubles_are_chosen_and_small() {
    let (raw, adjusted) = profiles();
    let doubles: Vec<u64> = convert(&raw, F32, ElementType::F64).unwrap();
    let noise: Vec<u32> = (0..3000u32).map(|i| i.wrapping_mul(0x9E37_79B9) >> 2).collect();
    let windows = Against::windows(raw.len());
    let gather = |of: &[u32]| windows.iter().flat_map(|w| of[w.clone()].to_vec()).collect::<Vec<u32>>();
    let other: Vec<u32> = convert(&doubles, ElementType::F64, F32).unwrap();
    let base = EncodePlan::default();
    let fill = [FILL.to_bits()];
    let candidates = [gather(&noise), gather(&other)];
    let ways = choose_reference(&gather(&adjusted), F32, &windows, &base, &fill, &candidates).unwrap();
    assert_eq!(ways[0].candidate, 1);
    let payload = check(&adjusted, F32, &Geometry::default(), &ways[0].plan, &other);
    assert!(payload.len() < 800, "{} {:?}", payload.len(), ways[0]);
    // Differences of four bits, for 512 elements.
    let near: Vec<u32> =
        (0u32..).zip(&noise).map(|(i, &v)| v + (i.wrapping_mul(0x9E37_79B9) >> 28)).collect();
    let of_near =
        choose_reference(&gather(&near), ElementType::I32, &windows, &base, &[], &[gather(&noise)]).unwrap();
    assert!((150..350).contains(&of_near[0].least), "{of_near:?}");
    let none = choose_reference(&gather(&noise), F32, &windows, &base, &fill, &[gather(&raw)]).unwrap();
    assert!(none.is_empty(), "{none:?}");
}

#[test]
fn references_that_do_not_fit_are_refused() {
    let (raw, adjusted) = profiles();
    let mask = Some(u64::from(FILL.to_bits()));
    let plan = EncodePlan { mask, coder: Coder::Planes, ..Default::default() };
    let geom = Geometry::default();
    let payload = coded(&adjusted, F32, &geom, &plan, &raw);
    assert!(decoded(&payload, F32, &geom, &plan, Some(&raw[1..]), adjusted.len()).is_err(), "another length");
    let mut scratch = Scratch::new();
    let short = encode_against(&adjusted, F32, &geom, &plan, Some(&raw[1..]), &mut scratch, &mut Vec::new());
    assert!(short.is_err());
}

#[test]
fn damaged_payloads_with_references_are_survived() {
    let (raw, adjusted) = profiles();
    let (raw, adjusted) = (&raw[2700..], &adjusted[2700..]);
    let geom = Geometry { row: Some(20), plane: Some(100), volume: None };
    let mask = Some(u64::from(FILL.to_bits()));
    let dict = Arc::new(Dictionary::new(adjusted.to_vec(), F32).unwrap());
    let transforms = [
        TransformPlan::Ordered,
        TransformPlan::ScaleOffset(ScaleOffset { off: 0.0, step: -1000.0 }),
        TransformPlan::Dictionary(dict),
    ];
    for (transform, coder) in transforms.iter().flat_map(|t| CODERS.map(|c| (t.clone(), c))) {
        for axes in [DeltaAxes::NONE, DeltaAxes::ROWS] {
            let plan = EncodePlan { mask, transform: transform.clone(), axes, coder, ..Default::default() };
            let payload = check(adjusted, F32, &geom, &plan, raw);
            for len in 0..payload.len() {
                assert!(decoded(&payload[..len], F32, &geom, &plan, Some(raw), raw.len()).is_err(), "{len}");
            }
            for bit in 0..payload.len() * 8 {
                let mut damaged = payload.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                let _ = decoded(&damaged, F32, &geom, &plan, Some(raw), raw.len());
            }
        }
    }
}
