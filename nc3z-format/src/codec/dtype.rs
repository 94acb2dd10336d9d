//! NumPy's names of element types (`>f4`), as NumCodecs' objects have them, and single elements by them.

use super::spec::StageSpec;
use crate::types::NcType;
use serde_json::Value;

/// The kinds of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberClass {
    Signed,
    Unsigned,
    Float,
}

/// An element type with its byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dtype {
    pub(super) kind: NumberClass,
    pub(super) size: usize,
    big_endian: bool,
}

impl Dtype {
    /// Reads `>f4`, `<i2`, `|u1`, `i1`, `bool`. No order, and `=`, are little-endian. `|` is for one byte only: `|u4` has no order.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let (order, rest) = match name.as_bytes().first()? {
            b'<' | b'=' | b'|' => (false, &name[1..]),
            b'>' => (true, &name[1..]),
            _ => (false, name),
        };
        let (kind, size) = match rest {
            "i1" | "int8" => (NumberClass::Signed, 1),
            "u1" | "uint8" | "b1" | "bool" | "S1" => (NumberClass::Unsigned, 1),
            "i2" | "int16" => (NumberClass::Signed, 2),
            "u2" | "uint16" => (NumberClass::Unsigned, 2),
            "i4" | "int32" => (NumberClass::Signed, 4),
            "u4" | "uint32" => (NumberClass::Unsigned, 4),
            "i8" | "int64" => (NumberClass::Signed, 8),
            "u8" | "uint64" => (NumberClass::Unsigned, 8),
            "f4" | "float32" => (NumberClass::Float, 4),
            "f8" | "float64" => (NumberClass::Float, 8),
            _ => return None,
        };
        if size > 1 && name.starts_with('|') {
            return None;
        }
        Some(Dtype { kind, size, big_endian: order && size > 1 })
    }

    /// Returns the type of a tile's elements, which are big-endian.
    pub(super) const fn for_type(ty: NcType) -> Self {
        let kind = if ty.is_float() {
            NumberClass::Float
        } else if ty.is_unsigned() || matches!(ty, NcType::Char) {
            NumberClass::Unsigned
        } else {
            NumberClass::Signed
        };
        Dtype { kind, size: ty.size(), big_endian: ty.size() > 1 }
    }

    /// The length of `len` bytes of these elements as elements of another type. `None` if `len` is no
    /// multiple of the element size.
    pub(super) fn converted_len(self, to: Dtype, len: usize) -> Option<usize> {
        len.is_multiple_of(self.size).then_some(len / self.size)?.checked_mul(to.size)
    }

    pub(super) fn name(self) -> String {
        let order = match (self.size, self.big_endian) {
            (1, _) => '|',
            (_, true) => '>',
            (_, false) => '<',
        };
        let kind = match self.kind {
            NumberClass::Signed => 'i',
            NumberClass::Unsigned => 'u',
            NumberClass::Float => 'f',
        };
        format!("{order}{kind}{}", self.size)
    }

    /// Returns the type of the same elements in big-endian order.
    pub(super) const fn in_big_endian(self) -> Self {
        Dtype { big_endian: self.size > 1, ..self }
    }

    /// The type under a key of a stored object.
    pub(super) fn stored(spec: &StageSpec, key: &str) -> Option<Self> {
        spec.get(key).and_then(Value::as_str).and_then(Self::parse)
    }

    /// The bits of one element, in the low end.
    pub(super) fn bits(self, bytes: &[u8]) -> u64 {
        let add = |bits: u64, byte: &u8| bits << 8 | u64::from(*byte);
        if self.big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
    }

    /// Writes the low bits of a number as one element.
    pub(super) fn put_bits(self, bits: u64, out: &mut [u8]) {
        let all = bits.to_le_bytes();
        let len = out.len();
        out.copy_from_slice(&all[..len]);
        if self.big_endian {
            out.reverse();
        }
    }

    /// An integer element, extended to 64 bits by its sign, if it has one.
    pub(super) fn extended(self, bytes: &[u8]) -> u64 {
        let bits = self.bits(bytes);
        let unused = 64 - 8 * u32::try_from(self.size).expect("at most 8");
        match self.kind {
            NumberClass::Signed => ((bits << unused).cast_signed() >> unused).cast_unsigned(),
            _ => bits,
        }
    }

    /// An element as a number; integers beyond 2^53 lose their lowest bits.
    #[expect(clippy::cast_precision_loss, reason = "what NumPy does too")]
    pub(super) fn number(self, bytes: &[u8]) -> f64 {
        match (self.kind, self.size) {
            (NumberClass::Float, 4) => single(self.bits(bytes)).into(),
            (NumberClass::Float, _) => f64::from_bits(self.bits(bytes)),
            (NumberClass::Signed, _) => self.extended(bytes).cast_signed() as f64,
            (NumberClass::Unsigned, _) => self.bits(bytes) as f64,
        }
    }

    /// Writes a number as an element. For an integer type it is converted as Rust does: the fraction is cut, values beyond the type
    /// become its smallest or largest value, and NaN becomes 0.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the conversion that is meant"
    )]
    pub(super) fn put_number(self, x: f64, out: &mut [u8]) {
        let bits = match (self.kind, self.size) {
            (NumberClass::Float, 4) => single_bits(x as f32),
            (NumberClass::Float, _) => double_bits(x),
            (NumberClass::Signed, 1) => i64::from(x as i8).cast_unsigned(),
            (NumberClass::Signed, 2) => i64::from(x as i16).cast_unsigned(),
            (NumberClass::Signed, 4) => i64::from(x as i32).cast_unsigned(),
            (NumberClass::Signed, _) => (x as i64).cast_unsigned(),
            (NumberClass::Unsigned, 1) => u64::from(x as u8),
            (NumberClass::Unsigned, 2) => u64::from(x as u16),
            (NumberClass::Unsigned, 4) => u64::from(x as u32),
            (NumberClass::Unsigned, _) => x as u64,
        };
        self.put_bits(bits, out);
    }
}

/// A binary32 number of the low half of these bits.
pub(super) fn single(bits: u64) -> f32 {
    f32::from_bits(u32::try_from(bits & 0xFFFF_FFFF).expect("masked"))
}

/// The bits of a result. NaN has one pattern, since processors produce different ones (`spec/archive.md`,
/// section 4).
pub(super) fn single_bits(x: f32) -> u64 {
    if x.is_nan() { 0x7FC0_0000 } else { x.to_bits().into() }
}

/// The bits of a result in binary64, with one pattern for what is not a number.
pub(super) fn double_bits(x: f64) -> u64 {
    if x.is_nan() { 0x7FF8_0000_0000_0000 } else { x.to_bits() }
}

/// Fills in omitted `dtype` and `astype` for elements of a type, and writes them in big-endian order, the
/// order of a tile's bytes.
///
/// # Errors
/// A `dtype` of other elements.
pub(super) fn for_elements(spec: StageSpec, ty: NcType, astype: bool) -> Result<StageSpec, String> {
    let own = Dtype::for_type(ty);
    let dtype = match spec.get("dtype") {
        None | Some(Value::Null) => own,
        Some(value) => {
            value.as_str().and_then(Dtype::parse).ok_or_else(|| format!("unknown dtype {value}"))?
        }
    };
    if (dtype.kind, dtype.size) != (own.kind, own.size) {
        let (name, dtype, own) = (spec.id(), dtype.in_big_endian().name(), own.name());
        return Err(format!("{name} with dtype {dtype}, but the elements are {own}; leave dtype out"));
    }
    let to = match spec.get("astype") {
        _ if !astype => None,
        None | Some(Value::Null) => Some(own),
        Some(value) => {
            Some(value.as_str().and_then(Dtype::parse).ok_or_else(|| format!("unknown dtype {value}"))?)
        }
    };
    let spec = spec.with("dtype", own.name());
    Ok(match to {
        Some(to) => spec.with("astype", to.in_big_endian().name()),
        None => spec,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for ty in NcType::ALL {
            let dtype = Dtype::for_type(ty);
            assert_eq!(Dtype::parse(&dtype.name()), Some(dtype), "{ty}");
        }
        assert_eq!(Dtype::parse("<i2").unwrap().in_big_endian().name(), ">i2");
        for bad in ["", ">", ">f2", "f16", "O", ">i3", "é", "|u4", "|f8"] {
            assert_eq!(Dtype::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn elements_are_extended_by_their_sign() {
        let i2 = Dtype::parse(">i2").unwrap();
        assert_eq!(i2.extended(&[0xFF, 0xFE]).cast_signed(), -2);
        assert_eq!(Dtype::parse("<u2").unwrap().extended(&[0xFE, 0xFF]), 0xFFFE);
        assert_eq!(Dtype::parse("<i8").unwrap().extended(&[0xFF; 8]).cast_signed(), -1);
        assert!((i2.number(&[0xFF, 0xFE]) + 2.0).abs() < f64::EPSILON);
        let mut out = [0; 2];
        i2.put_number(-3.7, &mut out);
        assert_eq!(out, [0xFF, 0xFD]);
    }
}
