//! The vectors of the specification.

use super::*;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02X}")).collect::<Vec<_>>().join(" ")
}

/// Encodes a tile against another, even if the payload is longer than the elements.
fn unguarded_against<W: Width>(elements: &[W], other: &[W], ty: ElementType, plan: &EncodePlan) -> Vec<u8> {
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
    let spec = include_str!("../../../spec/num.md");
    let missing: Vec<_> = lines.iter().filter(|line| spec.lines().all(|l| l.trim() != **line)).collect();
    assert!(missing.is_empty(), "not in spec/num.md: {missing:#?}");
}
