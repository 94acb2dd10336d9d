//! Values of a fragment as the master wants them: unpacked, in its units and its type, missing ones as its fill value.

use crate::error::{Error, Result};
use crate::units::Conversion;
use nc3z_format::NcType;
use nc3z_format::classic::{Attribute, Variable};

/// How values of one variable are conformed.
#[derive(Debug, Clone)]
pub(crate) struct Conform {
    from: NcType,
    to: NcType,
    /// Stored as signed, meant as unsigned (`_Unsigned = "true"`).
    unsigned: bool,
    /// Bytes that stand for a missing value.
    missing: Vec<Vec<u8>>,
    /// A NaN is one of them.
    nan_is_missing: bool,
    /// `scale_factor`, `add_offset`.
    packing: Option<(f64, f64)>,
    unit: Conversion,
    fill: Vec<u8>,
}

/// A number while it is converted.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    Int(i128),
    Float(f64),
}

impl Conform {
    /// From a variable as its header tells it to type, units and fill value of the master.
    ///
    /// # Errors
    /// Text as numbers or the other way; attributes of packing that are no number.
    pub(crate) fn new(from: &Variable, to: NcType, fill: &[u8], unit: Conversion) -> Result<Self, String> {
        if (from.ty == NcType::Char) != (to == NcType::Char) {
            return Err(format!("it is of type {}, the aggregation of type {to}", from.ty));
        }
        let own = from.own_fill_value().map(<[u8]>::to_vec);
        // Without a fill value of its own, a variable has its type's; single bytes have none.
        let default = || (from.ty.size() > 1).then(|| from.ty.default_fill().to_vec());
        let mut missing: Vec<Vec<u8>> = own.or_else(default).into_iter().collect();
        missing.extend(from.missing_values().map(<[u8]>::to_vec));
        if from.ty == NcType::Char {
            missing.clear();
        }
        let nan_is_missing = missing.iter().any(|m| number(from.ty, false, m).is_nan());
        let packing = packing(from)?;
        Ok(Conform {
            from: from.ty,
            to,
            unsigned: is_unsigned(from),
            missing,
            nan_is_missing,
            packing,
            unit,
            fill: fill.to_vec(),
        })
    }

    /// Whether bytes stay as they are.
    pub(crate) fn is_identity(&self) -> bool {
        self.from == self.to
            && !self.unsigned
            && self.packing.is_none()
            && self.unit.is_identity()
            && self.missing.iter().all(|m| *m == self.fill)
    }

    /// The values in the master's type; an error tells the number of the value and what is wrong with it.
    pub(crate) fn apply(&self, bytes: Vec<u8>) -> Result<Vec<u8>, (usize, String)> {
        if self.is_identity() {
            return Ok(bytes);
        }
        let mut out = Vec::with_capacity(bytes.len() / self.from.size() * self.to.size());
        for (n, item) in bytes.chunks_exact(self.from.size()).enumerate() {
            if self.missing.iter().any(|m| m == item) {
                out.extend_from_slice(&self.fill);
                continue;
            }
            let mut value = number(self.from, self.unsigned, item);
            if self.nan_is_missing && value.is_nan() {
                out.extend_from_slice(&self.fill);
                continue;
            }
            if let Some((scale, offset)) = self.packing {
                value = Number::Float(value.float() * scale + offset);
            }
            if !self.unit.is_identity() {
                value = Number::Float(self.unit.apply(value.float()));
            }
            put(value, self.to, &mut out).map_err(|what| (n, what))?;
        }
        Ok(out)
    }
}

fn is_unsigned(v: &Variable) -> bool {
    let says = v.attribute(b"_Unsigned").is_some_and(|a| text(a).eq_ignore_ascii_case("true"));
    says && matches!(v.ty, NcType::Byte | NcType::Short | NcType::Int | NcType::Int64)
}

/// `scale_factor` and `add_offset` of a variable; a pair that changes nothing is none.
pub(crate) fn packing(v: &Variable) -> Result<Option<(f64, f64)>, String> {
    let one = |name: &str, default: f64| match v.attribute(name.as_bytes()) {
        None => Ok(default),
        Some(a) if a.count() == 1 && a.ty != NcType::Char => Ok(number(a.ty, false, &a.values).float()),
        Some(_) => Err(format!("its attribute `{name}` is not one number")),
    };
    let pair = (one("scale_factor", 1.0)?, one("add_offset", 0.0)?);
    Ok(Some(pair).filter(|pair| *pair != (1.0, 0.0)))
}

/// The text of an attribute, without the zeros and blanks at its end.
pub(crate) fn text(a: &Attribute) -> String {
    let text = String::from_utf8_lossy(&a.values);
    text.trim_end_matches(|c: char| c == '\0' || c.is_whitespace()).to_owned()
}

impl Number {
    #[expect(clippy::cast_precision_loss, reason = "a double is what is asked for")]
    fn float(self) -> f64 {
        match self {
            Number::Int(n) => n as f64,
            Number::Float(x) => x,
        }
    }

    fn is_nan(self) -> bool {
        matches!(self, Number::Float(x) if x.is_nan())
    }
}

/// The number that big-endian bytes are.
fn number(ty: NcType, unsigned: bool, bytes: &[u8]) -> Number {
    fn be<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.first_chunk().copied().unwrap_or([0; N])
    }
    match ty {
        NcType::Float => Number::Float(f32::from_be_bytes(be(bytes)).into()),
        NcType::Double => Number::Float(f64::from_be_bytes(be(bytes))),
        NcType::Char | NcType::UByte => Number::Int(bytes.first().copied().unwrap_or(0).into()),
        NcType::Byte if unsigned => Number::Int(bytes.first().copied().unwrap_or(0).into()),
        NcType::UShort => Number::Int(u16::from_be_bytes(be(bytes)).into()),
        NcType::Short if unsigned => Number::Int(u16::from_be_bytes(be(bytes)).into()),
        NcType::UInt => Number::Int(u32::from_be_bytes(be(bytes)).into()),
        NcType::Int if unsigned => Number::Int(u32::from_be_bytes(be(bytes)).into()),
        NcType::UInt64 => Number::Int(u64::from_be_bytes(be(bytes)).into()),
        NcType::Int64 if unsigned => Number::Int(u64::from_be_bytes(be(bytes)).into()),
        NcType::Byte => Number::Int(i8::from_be_bytes(be(bytes)).into()),
        NcType::Short => Number::Int(i16::from_be_bytes(be(bytes)).into()),
        NcType::Int => Number::Int(i32::from_be_bytes(be(bytes)).into()),
        NcType::Int64 => Number::Int(i64::from_be_bytes(be(bytes)).into()),
    }
}

/// The elements of a variable as doubles.
pub(crate) fn doubles(ty: NcType, bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(ty.size()).map(|item| number(ty, false, item).float()).collect()
}

/// Appends a number as big-endian bytes of a type that has it; a fraction has no place among whole numbers.
pub(crate) fn put_double(value: f64, ty: NcType, out: &mut Vec<u8>) -> Result<(), String> {
    put(Number::Float(value), ty, out)
}

fn put(value: Number, ty: NcType, out: &mut Vec<u8>) -> Result<(), String> {
    match ty {
        NcType::Double => out.extend_from_slice(&value.float().to_be_bytes()),
        NcType::Float => {
            let x = value.float();
            #[expect(
                clippy::cast_possible_truncation,
                reason = "rounded to the master's type; what overflows is refused"
            )]
            let y = x as f32;
            if y.is_infinite() && x.is_finite() {
                return Err(format!("{x} does not fit float"));
            }
            out.extend_from_slice(&y.to_be_bytes());
        }
        _ => {
            let n = whole(value, ty)?;
            macro_rules! fit {
                ($t:ty) => {
                    <$t>::try_from(n)
                        .map(|n| out.extend_from_slice(&n.to_be_bytes()))
                        .map_err(|_| format!("{n} does not fit {ty}"))
                };
            }
            match ty {
                NcType::Byte => fit!(i8),
                NcType::Short => fit!(i16),
                NcType::Int => fit!(i32),
                NcType::Int64 => fit!(i64),
                NcType::UShort => fit!(u16),
                NcType::UInt => fit!(u32),
                NcType::UInt64 => fit!(u64),
                _ => fit!(u8),
            }?;
        }
    }
    Ok(())
}

/// The whole number that a value is, but for rounding.
fn whole(value: Number, ty: NcType) -> Result<i128, String> {
    let x = match value {
        Number::Int(n) => return Ok(n),
        Number::Float(x) => x,
    };
    let near = x.round();
    if !x.is_finite() || (x - near).abs() > 1e-9 * x.abs().max(1.0) || near.abs() > 1e30 {
        return Err(format!("{x} is no {ty}"));
    }
    #[expect(clippy::cast_possible_truncation, reason = "a whole number below 1e30")]
    Ok(near as i128)
}

/// The error of a value in a fragment.
pub(crate) fn misfit(file: &str, variable: &str, what: &str) -> Error {
    Error::fragment(
        file,
        format!("variable `{variable}`: the value {what}; the aggregation needs a wider type"),
    )
}
