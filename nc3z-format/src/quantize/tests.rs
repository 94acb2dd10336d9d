//! Properties of rounding over all bit patterns; equality with netCDF-C is tested against that library itself.

use super::*;
use crate::NcType;
use proptest::prelude::*;

fn modes(ty: NcType) -> impl Strategy<Value = Quantize> {
    let (bits, digits) = if ty == NcType::Float { (23_u32, 6_u32) } else { (52, 15) };
    prop_oneof![
        (1..=bits).prop_map(|keepbits| Quantize::BitRound { keepbits }),
        (1..=digits).prop_map(|nsd| Quantize::GranularBitRound { nsd }),
        (1..=digits).prop_map(|nsd| Quantize::BitGroom { nsd }),
        (-330.0..310.0).prop_map(|e| Quantize::Absolute { bound: f64::max(10_f64.powf(e), 5e-324) }),
    ]
}

/// Any bits, and some near what matters.
fn patterns32() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        any::<f32>().prop_map(f32::to_bits),
        (0u32..5000),
        (0x7F7F_FF00u32..=0x7F80_0010),
        (-300_i16..300).prop_map(|i| f32::from(i).to_bits()),
        Just(0x8000_0000),
    ]
}

fn patterns64() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        any::<f64>().prop_map(f64::to_bits),
        (0u64..5000),
        (0x7FEF_FFFF_FFFF_FF00_u64..=0x7FF0_0000_0000_0010),
        (-300..300).prop_map(|i| f64::from(i).to_bits()),
        any::<f32>().prop_map(|x| f64::from(x).to_bits()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn floats_keep_the_bound_and_rounding_twice_is_rounding_once(
        bits in proptest::collection::vec(patterns32(), 1..50), mode in modes(NcType::Float), first in 0u64..9,
    ) {
        let old: Vec<u8> = bits.iter().flat_map(|b| b.to_be_bytes()).collect();
        check(mode, NcType::Float, &old, first)?;
    }

    #[test]
    fn doubles_keep_the_bound_and_rounding_twice_is_rounding_once(
        bits in proptest::collection::vec(patterns64(), 1..50), mode in modes(NcType::Double), first in 0u64..9,
    ) {
        let old: Vec<u8> = bits.iter().flat_map(|b| b.to_be_bytes()).collect();
        check(mode, NcType::Double, &old, first)?;
    }
}

#[expect(clippy::float_cmp, reason = "the same number, or another")]
fn check(mode: Quantize, ty: NcType, old: &[u8], first: u64) -> Result<(), TestCaseError> {
    let size = ty.size();
    let fills = vec![old[..size].to_vec()];
    let quantizer = Quantizer::new(mode, ty, &fills).unwrap();
    let mut new = old.to_vec();
    let loss = quantizer.apply_proven(first, &mut new).unwrap();
    let mut plain = old.to_vec();
    quantizer.apply(first, &mut plain);
    prop_assert_eq!(&plain, &new);
    // Piece by piece is the same as all at once.
    let (head, tail) = plain.split_at_mut(new.len() / size / 2 * size);
    head.copy_from_slice(&old[..head.len()]);
    tail.copy_from_slice(&old[head.len()..]);
    quantizer.apply(first, head);
    quantizer.apply(first + (head.len() / size) as u64, tail);
    prop_assert_eq!(&plain, &new);
    let value = |b: &[u8]| match ty {
        NcType::Float => f64::from(f32::from_be_bytes(b.try_into().unwrap())),
        _ => f64::from_be_bytes(b.try_into().unwrap()),
    };
    let mut changed = 0;
    for (a, b) in old.chunks(size).zip(new.chunks(size)) {
        let (x, y) = (value(a), value(b));
        if !x.is_finite() || x == 0.0 || x == value(&fills[0]) {
            prop_assert_eq!(a, b, "{}: {:e} is not touched", mode, x);
        } else {
            prop_assert!(y.is_finite());
            changed += u64::from(x != y);
        }
        if let Quantize::Absolute { bound } = mode {
            prop_assert!(x.is_nan() || x == y || (x - y).abs() <= bound, "{}: {:e} {:e}", mode, x, y);
        }
    }
    prop_assert_eq!(loss.changed, changed);
    if !matches!(mode, Quantize::GranularBitRound { .. }) {
        // Granular BitRound may round 9.99 up to 10 and then count another digit.
        let mut twice = new.clone();
        quantizer.apply(first, &mut twice);
        prop_assert_eq!(&twice, &new, "{}", mode);
    }
    Ok(())
}

#[test]
fn known_values() {
    let round = |text: &str, x: f32| {
        let q = Quantizer::new(text.parse().unwrap(), NcType::Float, &[]).unwrap();
        let mut bytes = x.to_be_bytes();
        q.apply(1, &mut bytes);
        f32::from_be_bytes(bytes)
    };
    let pi = std::f32::consts::PI;
    // The values that the CF conventions and netCDF-C's documentation give for pi.
    assert_eq!(round("granularbr:3", pi).to_bits(), 3.140_625_f32.to_bits());
    assert_eq!(round("bitround:9", pi).to_bits(), 3.140_625_f32.to_bits());
    assert_eq!(round("abs:0.1", pi).to_bits(), 3.125_f32.to_bits());
    assert_eq!(round("abs:0.1", -0.01).to_bits(), (-0.0_f32).to_bits());
    assert_eq!(round("abs:0.1", 0.01).to_bits(), 0);
    assert_eq!(round("bitround:3", f32::MAX).to_bits(), f32::MAX.to_bits());
    assert!(round("bitgroom:3", f32::INFINITY).is_infinite());
}

#[test]
fn a_broken_bound_would_be_seen() {
    // Rounding by one rule, judged by the bound of a finer one.
    let coarse = Quantizer::new("bitround:2".parse().unwrap(), NcType::Double, &[]).unwrap();
    let fine = Quantizer::new("bitround:9".parse().unwrap(), NcType::Double, &[]).unwrap();
    let mut both = coarse.clone();
    both.clone_bound_of(&fine);
    let mut bytes = 1.2_f64.to_be_bytes();
    assert!(coarse.apply_proven(0, &mut bytes.clone()).is_ok());
    let e = both.apply_proven(5, &mut bytes).unwrap_err().to_string();
    assert!(e.contains("element 5"), "{e}");
}

/// Patterns before and after, by the reference in Python: logarithms that decide are among them (`spec/vectors/make_quantize.py`).
#[test]
fn values_are_rounded_as_the_reference_does() {
    let vectors: Vec<serde_json::Value> =
        serde_json::from_str(include_str!("../../../spec/vectors/quantize.json")).unwrap();
    assert!(vectors.len() > 15, "{}", vectors.len());
    for vector in &vectors {
        let text = |key: &str| vector[key].as_str().unwrap();
        let ty = if text("type") == "float" { NcType::Float } else { NcType::Double };
        let bytes = |key: &str| -> Vec<u8> {
            let patterns = vector[key].as_array().unwrap().iter().map(|bits| bits.as_str().unwrap());
            let words = patterns.map(|bits| u64::from_str_radix(bits, 16).unwrap().to_be_bytes());
            words.flat_map(|word| word[8 - ty.size()..].to_vec()).collect()
        };
        let mut found = bytes("before");
        Quantizer::new(text("mode").parse().unwrap(), ty, &[]).unwrap().apply(0, &mut found);
        assert_eq!(found, bytes("after"), "{} of {}", text("mode"), text("type"));
    }
}
