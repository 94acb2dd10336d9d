use super::*;
use crate::classic::{NumRecs, Version};

fn be(ty: NcType, x: f64) -> Vec<u8> {
    #[expect(clippy::cast_possible_truncation, reason = "numbers that fit")]
    let n = x as i128;
    #[expect(clippy::cast_possible_truncation, reason = "floats for the test")]
    match ty {
        NcType::Float => (x as f32).to_be_bytes().to_vec(),
        NcType::Double => x.to_be_bytes().to_vec(),
        ty => n.to_be_bytes()[16 - ty.size()..].to_vec(),
    }
}

fn attribute(name: &str, ty: NcType, values: &[f64]) -> Attribute {
    Attribute { name: name.into(), ty, values: values.iter().flat_map(|x| be(ty, *x)).collect() }
}

fn words(name: &str, text: &str) -> Attribute {
    Attribute { name: name.into(), ty: NcType::Char, values: text.into() }
}

fn variable(ty: NcType, attributes: Vec<Attribute>) -> Variable {
    Variable { name: b"v".into(), dimensions: vec![], attributes, ty, vsize: 8, begin: 0 }
}

fn shown(ty: NcType, attributes: Vec<Attribute>, stored: &[f64]) -> Vec<f64> {
    let v = variable(ty, attributes);
    let bytes: Vec<u8> = stored.iter().flat_map(|x| be(ty, *x)).collect();
    Decoding::without_bounds(&v).numbers(&bytes)
}

const SIGNED: [NcType; 4] = [NcType::Byte, NcType::Short, NcType::Int, NcType::Int64];
const INTEGERS: [NcType; 8] = [
    NcType::Byte,
    NcType::Short,
    NcType::Int,
    NcType::Int64,
    NcType::UByte,
    NcType::UShort,
    NcType::UInt,
    NcType::UInt64,
];
const NUMERIC: [NcType; 10] = [
    NcType::Byte,
    NcType::Short,
    NcType::Int,
    NcType::Int64,
    NcType::UByte,
    NcType::UShort,
    NcType::UInt,
    NcType::UInt64,
    NcType::Float,
    NcType::Double,
];
const NAN: f64 = f64::NAN;

fn same(found: &[f64], expected: &[f64], what: &str) {
    let equal = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(equal),
        "{what}: {found:?}, expected {expected:?}"
    );
}

#[test]
fn every_type_is_masked_by_every_attribute() {
    use NcType::{Byte, Char, Double, Short};
    for ty in NUMERIC {
        let cases: [(&str, Vec<Attribute>, [f64; 4]); 9] = [
            ("nothing", vec![], [1.0, 2.0, 3.0, 99.0]),
            ("fill", vec![attribute("_FillValue", ty, &[99.0])], [1.0, 2.0, 3.0, NAN]),
            ("fill of another type", vec![attribute("_FillValue", Double, &[99.0])], [1.0, 2.0, 3.0, NAN]),
            ("missing", vec![attribute("missing_value", ty, &[2.0])], [1.0, NAN, 3.0, 99.0]),
            ("several", vec![attribute("missing_value", Short, &[2.0, 99.0])], [1.0, NAN, 3.0, NAN]),
            ("as text", vec![words("missing_value", "2")], [1.0, 2.0, 3.0, 99.0]),
            ("range", vec![attribute("valid_range", ty, &[2.0, 98.0])], [NAN, 2.0, 3.0, NAN]),
            ("minimum", vec![attribute("valid_min", Byte, &[3.0])], [NAN, NAN, 3.0, 99.0]),
            ("maximum", vec![attribute("valid_max", Double, &[2.5])], [1.0, 2.0, NAN, NAN]),
        ];
        for (what, attributes, expected) in cases {
            same(&shown(ty, attributes, &[1.0, 2.0, 3.0, 99.0]), &expected, &format!("{ty} {what}"));
        }
        let default = Number::for_type(ty, ty.default_fill()).real();
        let decoding = Decoding::without_bounds(&variable(ty, vec![]));
        assert_eq!(decoding.is_missing(ty.default_fill()), ty.size() > 1, "{ty} {default}");
        let own = variable(ty, vec![attribute("_FillValue", ty, &[1.0])]);
        assert!(!Decoding::without_bounds(&own).is_missing(ty.default_fill()), "{ty}");
    }
    let text = variable(
        Char,
        vec![attribute("_FillValue", Char, &[65.0]), attribute("scale_factor", Double, &[2.0])],
    );
    assert_eq!(Decoding::without_bounds(&text).value(b"A"), Value::Whole(65));
}

#[test]
fn every_integer_type_is_unpacked() {
    for ty in INTEGERS {
        for (single, factors) in [(true, NcType::Float), (false, NcType::Double)] {
            let packing = vec![
                attribute("scale_factor", factors, &[0.25]),
                attribute("add_offset", factors, &[10.0]),
                attribute("_FillValue", ty, &[7.0]),
                // Of the factors' type: about unpacked values. Of the variable's: about stored ones.
                attribute("valid_min", factors, &[10.5]),
                attribute("valid_max", ty, &[99.0]),
            ];
            let v = variable(ty, packing.clone());
            same(&shown(ty, packing, &[1.0, 2.0, 7.0, 98.0, 100.0]), &[NAN, 10.5, NAN, 34.5, NAN], ty.name());
            let expected = if single && ty.size() <= 2 { Shown::Single } else { Shown::Double };
            assert_eq!(Decoding::without_bounds(&v).shown(), expected, "{ty} by {factors}");
        }
        // An attribute that is not a single number does not pack values.
        for bad in [words("scale_factor", "0.5"), attribute("scale_factor", NcType::Double, &[0.5, 0.5])] {
            let decoding = Decoding::without_bounds(&variable(ty, vec![bad]));
            assert!(decoding.is_plain());
        }
    }
    let floats = vec![attribute("scale_factor", NcType::Float, &[0.01])];
    assert_eq!(
        Decoding::without_bounds(&variable(NcType::Short, floats)).value(&be(NcType::Short, 18_916.0)),
        Value::Single(18_916.0 * 0.01_f32)
    );
}

#[test]
fn limits_of_the_factors_type_are_about_unpacked_values() {
    use NcType::{Byte, Int, Short};
    for (ty, factors, limits, is_unpacked) in [
        // Wider than the stored type, and that of the factors.
        (Short, Int, Int, true),
        (Byte, Int, Int, true),
        // Not the type of the factors, or not wider.
        (Short, NcType::Double, Int, false),
        (Int, Int, Int, false),
        (Short, Short, Short, false),
    ] {
        let attributes = vec![
            attribute("add_offset", factors, &[101.0]),
            attribute("valid_range", limits, &[1.0, 1000.0]),
        ];
        let stored = [-101.0, -100.0, 0.0, 100.0];
        let is_valid = |x: f64| (1.0..=1000.0).contains(&if is_unpacked { x + 101.0 } else { x });
        let expected = stored.map(|x| if is_valid(x) { x + 101.0 } else { NAN });
        same(&shown(ty, attributes, &stored), &expected, &format!("{ty} {factors} {limits}"));
    }
}

#[test]
fn unsigned_is_the_sign_of_values_and_attributes() {
    for ty in SIGNED {
        let top = 2.0_f64.powi(8 * i32::try_from(ty.size()).unwrap());
        let attributes = vec![
            words("_Unsigned", "True"),
            attribute("_FillValue", ty, &[-1.0]),
            attribute("valid_range", ty, &[0.0, -6.0]),
        ];
        let found = shown(ty, attributes, &[0.0, 5.0, -128.0, -6.0, -5.0, -1.0]);
        same(&found, &[0.0, 5.0, top - 128.0, top - 6.0, NAN, NAN], ty.name());
        // Attributes of a wider type, and of the numbers that are meant.
        let wide = vec![words("_Unsigned", "true"), attribute("valid_range", NcType::Double, &[0.0, 250.0])];
        same(&shown(ty, wide, &[-1.0, 100.0]), &[NAN, 100.0], ty.name());
        let wide = vec![words("_Unsigned", "true"), attribute("valid_max", NcType::Int64, &[-6.0])];
        same(&shown(ty, wide, &[-5.0, -6.0, 3.0]), &[NAN, top - 6.0, 3.0], ty.name());
        let signed = shown(ty, vec![words("_Unsigned", "false")], &[-2.0]);
        same(&signed, &[-2.0], ty.name());
    }
    same(
        &shown(NcType::UByte, vec![words("_Unsigned", "false")], &[254.0]),
        &[-2.0],
        "ubyte meant as signed",
    );
    same(&shown(NcType::Float, vec![words("_Unsigned", "true")], &[-2.0]), &[-2.0], "float");
}

#[test]
fn floats_are_compared_as_floats() {
    let attributes = || vec![attribute("missing_value", NcType::Double, &[1e20, 0.1])];
    same(&shown(NcType::Float, attributes(), &[1e20, 0.1, 0.5]), &[NAN, NAN, 0.5], "float");
    same(&shown(NcType::Double, attributes(), &[1e20, 0.1, 0.5]), &[NAN, NAN, 0.5], "double");
    let nan = vec![attribute("_FillValue", NcType::Float, &[NAN])];
    same(&shown(NcType::Float, nan, &[NAN, f64::INFINITY]), &[NAN, f64::INFINITY], "NaN as fill value");
    let most = vec![attribute("valid_max", NcType::Double, &[0.1])];
    same(&shown(NcType::Float, most, &[0.1]), &[f64::from(0.1_f32)], "an end of the range");
}

#[test]
fn a_fill_value_that_the_type_cannot_hold_masks_nothing() {
    let infinite = [f64::INFINITY, 1.0, f64::NEG_INFINITY];
    for name in ["_FillValue", "missing_value"] {
        let large = vec![attribute(name, NcType::Double, &[1e300])];
        same(&shown(NcType::Float, large, &infinite), &infinite, name);
        let declared = vec![attribute(name, NcType::Double, &[f64::INFINITY])];
        same(&shown(NcType::Float, declared, &infinite), &[NAN, 1.0, f64::NEG_INFINITY], name);
        for wild in [NAN, 40_000.0, 1.5] {
            let wild = vec![attribute(name, NcType::Double, &[wild])];
            same(&shown(NcType::Short, wild, &[0.0, 1.0, 2.0, -25_536.0]), &[0.0, 1.0, 2.0, -25_536.0], name);
        }
    }
}

#[test]
fn times_are_moments_and_bounds_have_their_units() {
    let units = || vec![words("units", "hours since 2000-01-01"), words("calendar", "noleap")];
    let time = |ty, attributes: Vec<Attribute>, x: f64| {
        let all = [units(), attributes].concat();
        match Decoding::without_bounds(&variable(ty, all)).value(&be(ty, x)) {
            Value::Time(moment) => moment.iso(),
            other => format!("{other:?}"),
        }
    };
    for ty in NUMERIC {
        assert_eq!(time(ty, vec![], 36.0), "2000-01-02T12:00:00", "{ty}");
        let packing = vec![attribute("scale_factor", NcType::Double, &[0.5])];
        assert_eq!(time(ty, packing, 72.0), "2000-01-02T12:00:00", "{ty}");
        assert_eq!(time(ty, vec![attribute("_FillValue", ty, &[36.0])], 36.0), "Missing", "{ty}");
    }
    assert_eq!(time(NcType::Double, vec![], 1e300), "Double(1e300)", "beyond all dates");
    let mut t = variable(NcType::Double, [units(), vec![words("bounds", "v_bnds")]].concat());
    let mut bounds = variable(NcType::Double, vec![]);
    (t.name, bounds.name) = (b"v".to_vec(), b"v_bnds".to_vec());
    let header = Header {
        version: Version::Cdf1,
        numrecs: NumRecs::Count(0),
        dimensions: vec![],
        attributes: vec![],
        variables: vec![t, bounds.clone()],
    };
    assert!(Decoding::new(&header, &bounds).time().is_some());
    bounds.name = b"other".to_vec();
    assert!(Decoding::new(&header, &bounds).time().is_none());
}

#[test]
fn integers_become_floats_where_nan_is_needed() {
    let fill = |ty| vec![attribute("_FillValue", ty, &[1.0])];
    for ty in INTEGERS {
        let plain = Decoding::without_bounds(&variable(ty, vec![])).shown_with_nan();
        assert_eq!(plain, Shown::AsStored(ty));
        let masked = Decoding::without_bounds(&variable(ty, fill(ty))).shown_with_nan();
        assert_eq!(masked, if ty.size() <= 2 { Shown::Single } else { Shown::Double }, "{ty}");
    }
}
