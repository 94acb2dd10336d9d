//! Converts values of a fragment to the master's: unpacked, in its units and type, missing values as its fill
//! value.

use crate::error::{Error, Result};
use nc3z_format::NcType;
use nc3z_format::classic::{Attribute, Variable};
use nc3z_format::decode_value::{Decoding, Number, digits};
use nc3z_format::units::{Conversion, TimeUnit};

/// The conversion of one variable's values to the master's form.
#[derive(Debug, Clone)]
pub(crate) struct Conform {
    from: NcType,
    to: NcType,
    decoding: Decoding,
    units: Units,
    fill: Vec<u8>,
    /// True where the master does not have the limits of valid values that the variable has.
    has_own_limits: bool,
}

/// The units of conformed values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Units {
    /// The units of the master, by this conversion.
    By(Conversion),
    /// Microseconds in the calendar of the values, which are times since a date.
    Moments(Since),
}

/// The date from which microseconds are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Since {
    /// 1970-01-01.
    Unix,
    /// 0001-01-01. xarray reads dates of the standard calendar before 1582 by a date before 1582 only.
    YearOne,
}

impl Since {
    /// The unit of the times.
    pub(crate) fn units(self) -> &'static str {
        match self {
            Since::Unix => "microseconds since 1970-01-01",
            Since::YearOne => "microseconds since 0001-01-01",
        }
    }
}

impl Default for Units {
    fn default() -> Self {
        Units::By(Conversion::IDENTITY)
    }
}

impl Conform {
    /// Makes the conversion from a variable, as described in its header, to type, units and fill value of the
    /// master, which has these limits of valid values.
    ///
    /// # Errors
    /// A conversion between text and numbers; packing attributes that are not numbers.
    pub(crate) fn new(
        from: &Variable,
        to: NcType,
        fill: &[u8],
        unit: Conversion,
        limits: &[Attribute],
    ) -> Result<Self, String> {
        if (from.ty == NcType::Char) != (to == NcType::Char) {
            return Err(format!("it has type {}, and the aggregation has type {to}", from.ty));
        }
        packing(from)?;
        let conform =
            Conform::from_decoding(Decoding::without_bounds(from), to, fill.to_vec(), Units::By(unit));
        let own = self::limits(from);
        Ok(Conform { has_own_limits: !own.is_empty() && own != limits, ..conform })
    }

    /// Makes the conversion from decoded numbers.
    pub(crate) fn from_decoding(decoding: Decoding, to: NcType, fill: Vec<u8>, units: Units) -> Self {
        Conform { from: decoding.ty(), to, decoding, units, fill, has_own_limits: false }
    }

    /// Returns whether bytes are unchanged.
    pub(crate) fn is_identity(&self) -> bool {
        self.from == self.to
            && !self.decoding.has_other_sign()
            && !self.decoding.is_packed()
            && self.units == Units::default()
            && self.decoding.is_only_fill(&self.fill)
            && !self.has_own_limits
    }

    /// Converts values to the master's type. An error has the number of the value, and the reason.
    pub(crate) fn apply(&self, bytes: Vec<u8>) -> Result<Vec<u8>, (usize, String)> {
        if self.is_identity() {
            return Ok(bytes);
        }
        let mut out = Vec::with_capacity(bytes.len() / self.from.size() * self.to.size());
        for (n, item) in bytes.chunks_exact(self.from.size()).enumerate() {
            let stored = self.decoding.stored(item);
            let is_missing = self.decoding.is_missing(item);
            // A NaN that no attribute names stays a NaN.
            if is_missing
                && (!stored.is_nan() || self.decoding.names_nan() || matches!(self.units, Units::Moments(_)))
            {
                out.extend_from_slice(&self.fill);
                continue;
            }
            let mut value = stored;
            if self.decoding.is_packed() {
                value = Number::Real(self.decoding.number(item));
            }
            match self.units {
                Units::By(unit) if unit.is_identity() => {}
                Units::By(unit) => value = Number::Real(unit.apply(value.real())),
                Units::Moments(since) => {
                    value = Number::Whole(self.moment(value, since).map_err(|what| (n, what))?);
                }
            }
            put(value, self.to, &mut out).map_err(|what| (n, what))?;
        }
        Ok(out)
    }
}

impl Conform {
    /// The microseconds of a time.
    fn moment(&self, value: Number, since: Since) -> Result<i128, String> {
        let unit = self.decoding.time().ok_or("its unit of time is unknown")?;
        let zero = TimeUnit::parse(since.units(), unit.calendar()).ok().and_then(|zero| zero.moment(0.0));
        let zero = zero.expect("every calendar has these days");
        let moment = match value {
            Number::Whole(n) => unit.moment_of_integer(n),
            Number::Real(x) => unit.moment(x),
        };
        moment.map(|moment| moment.microseconds_from(&zero)).ok_or_else(|| match value {
            Number::Whole(n) => format!("{n} is too far away for a date"),
            Number::Real(x) => format!("{} is too far away for a date", digits(x)),
        })
    }
}

/// The attributes that limit the valid values of a variable.
pub(crate) fn limits(v: &Variable) -> Vec<Attribute> {
    let names = [&b"valid_min"[..], b"valid_max", b"valid_range"];
    names.iter().filter_map(|name| v.attribute(name)).cloned().collect()
}

/// Returns `scale_factor` and `add_offset` of a variable. None where they change nothing.
///
/// # Errors
/// One of them is not a single number, so that the meaning of the values is not known.
pub(crate) fn packing(v: &Variable) -> Result<Option<(f64, f64)>, String> {
    for name in ["scale_factor", "add_offset"] {
        let is_number = |a: &Attribute| a.count() == 1 && a.ty != NcType::Char;
        if v.attribute(name.as_bytes()).is_some_and(|a| !is_number(a)) {
            return Err(format!("its attribute `{name}` is not one number"));
        }
    }
    Ok(Decoding::without_bounds(v).packing())
}

/// The text of an attribute, without the zeros and blanks at its end.
pub(crate) fn text(a: &Attribute) -> String {
    let text = String::from_utf8_lossy(&a.values);
    text.trim_end_matches(|c: char| c == '\0' || c.is_whitespace()).to_owned()
}

/// The elements of a variable as doubles.
pub(crate) fn doubles(ty: NcType, bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(ty.size()).map(|item| Number::for_type(ty, item).real()).collect()
}

/// Returns why an element has no equal double: it is an integer of 64 bits with more digits than a double has.
pub(crate) fn inexact(ty: NcType, bytes: &[u8]) -> Option<String> {
    let mut each = bytes.chunks_exact(ty.size()).map(|item| Number::for_type(ty, item));
    each.find_map(|n| exact(n, n.real(), NcType::Double).err())
}

/// Appends a number as big-endian bytes of a type that can hold it. A fraction is an error for an integer
/// type.
pub(crate) fn put_double(value: f64, ty: NcType, out: &mut Vec<u8>) -> Result<(), String> {
    put(Number::Real(value), ty, out)
}

fn put(value: Number, ty: NcType, out: &mut Vec<u8>) -> Result<(), String> {
    match ty {
        NcType::Double => out.extend_from_slice(&exact(value, value.real(), ty)?.to_be_bytes()),
        NcType::Float => {
            let x = value.real();
            #[expect(
                clippy::cast_possible_truncation,
                reason = "rounded to the master's type; what overflows is refused"
            )]
            let y = x as f32;
            if y.is_infinite() && x.is_finite() {
                return Err(format!("{x} does not fit float"));
            }
            exact(value, y.into(), ty)?;
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

/// Returns the floating-point number that stands for a value, which an integer must equal.
fn exact(value: Number, number: f64, ty: NcType) -> Result<f64, String> {
    match value {
        #[expect(clippy::cast_possible_truncation, reason = "integers of 64 bits are far below 2^127")]
        Number::Whole(n) if number as i128 != n => Err(format!("{n} is not a value of type {ty}")),
        _ => Ok(number),
    }
}

/// Returns the integer that a value equals up to rounding.
fn whole(value: Number, ty: NcType) -> Result<i128, String> {
    let x = match value {
        Number::Whole(n) => return Ok(n),
        Number::Real(x) => x,
    };
    let near = x.round();
    // Some units in the last place, as a conversion of units leaves them, and no fraction that is meant.
    let rounding = (8.0 * f64::EPSILON * x.abs()).clamp(1e-9, 0.1);
    if !x.is_finite() || (x - near).abs() > rounding || near.abs() > 1e30 {
        return Err(format!("{x} is not a value of type {ty}"));
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
