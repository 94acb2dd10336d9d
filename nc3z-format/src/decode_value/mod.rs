//! Conversion of stored values to shown values. This is the only module that interprets `_Unsigned`,
//! `scale_factor` and `add_offset`, `_FillValue`, `missing_value`, `valid_min`, `valid_max`, `valid_range`,
//! and times since a date.
//!
//! Everything that shows or selects values calls it: pictures, lists, selections by coordinate, decoded reading, aggregation.
//! The rules are those of the CF conventions (sections 2.5.1, 4.4 and 8.1) and of the NetCDF User's Guide, as netCDF4-python
//! applies them:
//! 1. `_Unsigned = "true"` reads the bits of signed integers as unsigned ones, also in the attributes of rules 2 and 3. `"false"` does
//!    the opposite.
//! 2. A value is missing if it equals `_FillValue` or an element of `missing_value`, which may have another type. Without a
//!    `_FillValue`, a value is missing if it equals the default fill value of its type. Single bytes have no default.
//! 3. A value outside `valid_range`, `valid_min` or `valid_max` is missing. These attributes are compared with stored values. They are
//!    compared with unpacked values if the stored values are packed integers and the attribute has a float type, or has the wider
//!    type of `scale_factor` and `add_offset` and this is wider than the stored type.
//! 4. All other values are shown as `stored * scale_factor + add_offset`.
//! 5. If the units of a variable are a time since a date, its values become moments of the calendar. Bounds have the units of the
//!    variable that names them.

mod number;
mod rules;
#[cfg(test)]
mod tests;

pub use number::Number;

use crate::classic::{Attribute, Header, Variable};
use crate::types::NcType;
use crate::units::{Calendar, Moment, TimeUnit};
use number::{signed_twin, unsigned_twin};
use rules::Missing;

/// The type of decoded values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Stored elements, of this type. It differs from the stored type in the sign if `_Unsigned` changes it.
    AsStored(NcType),
    /// Unpacked as floats.
    Single,
    /// Unpacked as doubles.
    Double,
}

/// A decoded value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// The value is missing.
    Missing,
    /// A whole number.
    Whole(i128),
    /// A float.
    Single(f32),
    /// A double.
    Double(f64),
    /// A moment of a time since a date.
    Time(Moment),
}

/// The conversion of a variable's stored values to shown values.
#[derive(Debug, Clone)]
pub struct Decoding {
    ty: NcType,
    /// The type that the bits are read as.
    read_as: NcType,
    missing: Missing,
    packing: Option<Packing>,
    time: Option<TimeUnit>,
    has_missing: bool,
}

/// `scale_factor`, `add_offset`, and the type in which they are applied.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Packing {
    scale: Option<f64>,
    offset: Option<f64>,
    single: bool,
    /// The wider type of the two attributes.
    unpacked: NcType,
}

impl Packing {
    #[expect(clippy::cast_possible_truncation, reason = "floats are what the attributes ask for")]
    fn apply(&self, stored: f64) -> f64 {
        if self.single {
            let scaled = self.scale.map_or(stored as f32, |scale| stored as f32 * scale as f32);
            return self.offset.map_or(scaled, |offset| scaled + offset as f32).into();
        }
        let scaled = self.scale.map_or(stored, |scale| stored * scale);
        self.offset.map_or(scaled, |offset| scaled + offset)
    }
}

impl std::fmt::Display for Value {
    /// The shortest digits that give the number back. Floats keep a point or an exponent. `_` for a missing
    /// value, as in CDL.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Missing => f.write_str("_"),
            Value::Whole(n) => write!(f, "{n}"),
            Value::Single(x) => write!(f, "{x:?}"),
            Value::Double(x) => write!(f, "{x:?}"),
            Value::Time(moment) => f.write_str(&moment.iso()),
        }
    }
}

impl Decoding {
    /// The decoding of a variable, which finds the units of bounds in the header.
    ///
    /// ```
    /// # use nc3z_format::classic::{Attribute, Header, NumRecs, Variable, Version};
    /// # use nc3z_format::NcType;
    /// use nc3z_format::decode_value::{Decoding, Value};
    /// # let text = |name: &str, values: &str| Attribute { name: name.into(), ty: NcType::Char, values: values.into() };
    /// # let scale = Attribute { name: b"scale_factor".into(), ty: NcType::Double, values: 0.5_f64.to_be_bytes().into() };
    /// # let header = Header { version: Version::Cdf1, numrecs: NumRecs::Count(0), dimensions: vec![], attributes: vec![], variables: vec![] };
    /// # let v = Variable { name: b"v".into(), dimensions: vec![], ty: NcType::Byte, vsize: 4, begin: 0,
    /// #     attributes: vec![text("_Unsigned", "true"), scale] };
    /// // byte v; v:_Unsigned = "true"; v:scale_factor = 0.5;
    /// let decoding = Decoding::new(&header, &v);
    /// assert_eq!(decoding.value(&[0xFF]), Value::Double(127.5));
    /// ```
    pub fn new(header: &Header, variable: &Variable) -> Self {
        let mut decoding = Decoding::without_bounds(variable);
        if let Some(v) = decoding.time.is_none().then(|| named_by(header, variable)).flatten() {
            decoding.time = time_unit(v);
        }
        decoding
    }

    /// The decoding by which xarray reads a variable: missing are only the values that `_FillValue` and `missing_value` name.
    pub fn declared(header: &Header, variable: &Variable) -> Self {
        let mut decoding = Decoding::new(header, variable);
        decoding.missing = Missing::declared(variable, decoding.read_as);
        let named = [&b"_FillValue"[..], b"missing_value"];
        decoding.has_missing =
            variable.ty != NcType::Char && named.iter().any(|n| variable.attribute(n).is_some());
        decoding
    }

    /// The decoding by a variable's own attributes.
    pub fn without_bounds(variable: &Variable) -> Self {
        let ty = variable.ty;
        let sign = text(variable, b"_Unsigned").map(|t| t.to_ascii_lowercase());
        let read_as = match sign.as_deref() {
            Some("true") => unsigned_twin(ty),
            Some("false") => signed_twin(ty),
            _ => ty,
        };
        let packing = if ty == NcType::Char { None } else { packing(variable) };
        let missing = Missing::new(variable, read_as, packing.map(|p| p.unpacked));
        let named = ["_FillValue", "missing_value", "valid_range", "valid_min", "valid_max"];
        let has_missing =
            ty != NcType::Char && named.iter().any(|n| variable.attribute(n.as_bytes()).is_some());
        let time = if ty == NcType::Char { None } else { time_unit(variable) };
        Decoding { ty, read_as, missing, packing, time, has_missing }
    }

    /// The variable's type.
    pub fn ty(&self) -> NcType {
        self.ty
    }

    /// The time unit, for a variable that is a time since a date.
    pub fn time(&self) -> Option<&TimeUnit> {
        self.time.as_ref()
    }

    /// Returns true if an attribute names missing values or limits of valid ones.
    pub fn has_missing(&self) -> bool {
        self.has_missing
    }

    /// Returns true if `scale_factor` or `add_offset` change the stored values.
    pub fn is_packed(&self) -> bool {
        self.packing.is_some()
    }

    /// `scale_factor` and `add_offset`, where there are any.
    pub fn packing(&self) -> Option<(f64, f64)> {
        self.packing.map(|p| (p.scale.unwrap_or(1.0), p.offset.unwrap_or(0.0)))
    }

    /// Returns true if signed integers are read as unsigned ones, or the reverse.
    pub fn has_other_sign(&self) -> bool {
        self.read_as != self.ty
    }

    /// Returns true if stored values are shown unchanged, except missing ones.
    pub fn is_plain(&self) -> bool {
        self.packing.is_none() && self.time.is_none() && self.read_as == self.ty
    }

    /// The type of shown values that are not missing, except times.
    pub fn shown(&self) -> Shown {
        match self.packing {
            None => Shown::AsStored(self.read_as),
            Some(Packing { single: true, .. }) => Shown::Single,
            Some(_) => Shown::Double,
        }
    }

    /// Returns the type of an array in which NaN marks missing values. It is [`Decoding::shown`], except for integers of a
    /// variable with an attribute for missing values: as in xarray, those of up to 16 bits become floats, and wider ones
    /// doubles.
    pub fn shown_with_nan(&self) -> Shown {
        match self.shown() {
            Shown::AsStored(NcType::Char) => Shown::AsStored(NcType::Char),
            Shown::AsStored(NcType::Float) => Shown::Single,
            Shown::AsStored(NcType::Double) => Shown::Double,
            Shown::AsStored(ty) if !self.has_missing => Shown::AsStored(ty),
            Shown::AsStored(ty) if ty.size() <= 2 => Shown::Single,
            Shown::AsStored(_) => Shown::Double,
            unpacked => unpacked,
        }
    }

    /// The stored number, with the sign that is meant.
    pub fn stored(&self, item: &[u8]) -> Number {
        Number::for_type(self.read_as, item)
    }

    /// Returns true if an element is a missing value. NaN always is.
    pub fn is_missing(&self, item: &[u8]) -> bool {
        let stored = self.stored(item);
        self.missing.is(stored) || self.missing.is_invalid(self.unpack(stored))
    }

    /// Returns true if an attribute declares NaN as a missing value.
    pub fn names_nan(&self) -> bool {
        self.missing.names_nan()
    }

    /// Returns true if no value other than this one is declared missing. Ignores valid ranges.
    pub fn is_only_fill(&self, item: &[u8]) -> bool {
        self.missing.is_only(self.stored(item))
    }

    /// The number of an element, NaN for a missing one. Times are numbers in their own units.
    pub fn number(&self, item: &[u8]) -> f64 {
        let stored = self.stored(item);
        if self.missing.is(stored) {
            return f64::NAN;
        }
        let unpacked = self.unpack(stored);
        if self.missing.is_invalid(unpacked) { f64::NAN } else { unpacked }
    }

    /// The numbers of some elements, NaN for missing ones.
    pub fn numbers(&self, bytes: &[u8]) -> Vec<f64> {
        bytes.chunks_exact(self.ty.size()).map(|item| self.number(item)).collect()
    }

    /// The shown value of an element.
    pub fn value(&self, item: &[u8]) -> Value {
        let stored = self.stored(item);
        let unpacked = self.unpack(stored);
        if self.missing.is(stored) || self.missing.is_invalid(unpacked) {
            return Value::Missing;
        }
        if let Some(time) = &self.time {
            let moment = match stored {
                Number::Whole(n) if self.packing.is_none() => time.moment_of_integer(n),
                _ => time.moment(unpacked),
            };
            if let Some(moment) = moment {
                return Value::Time(moment);
            }
        }
        #[expect(clippy::cast_possible_truncation, reason = "the value was computed or stored as a float")]
        match (self.shown(), stored) {
            (Shown::AsStored(NcType::Float) | Shown::Single, _) => Value::Single(unpacked as f32),
            (Shown::AsStored(_), Number::Whole(n)) => Value::Whole(n),
            _ => Value::Double(unpacked),
        }
    }

    /// The number of an element, even of a missing one.
    pub fn unpacked(&self, item: &[u8]) -> f64 {
        self.unpack(self.stored(item))
    }

    fn unpack(&self, stored: Number) -> f64 {
        let stored = stored.real();
        self.packing.map_or(stored, |packing| packing.apply(stored))
    }
}

/// The fewest digits that give a number back, for people: `5`, `0.1`, `1e300`. Zero has no sign.
pub fn digits(x: f64) -> String {
    if is_short(x) { (x + 0.0).to_string() } else { format!("{x:?}") }
}

/// Like [`digits`], of a float.
pub fn float_digits(x: f32) -> String {
    if is_short(x.into()) { (x + 0.0).to_string() } else { format!("{x:?}") }
}

/// Returns true for numbers that have few zeros when they are written without an exponent.
fn is_short(x: f64) -> bool {
    x == 0.0 || (1e-5..1e20).contains(&x.abs())
}

/// A text attribute without NULs and blanks around it. `None` if it is empty.
pub fn text(variable: &Variable, name: &[u8]) -> Option<String> {
    let attribute = variable.attribute(name).filter(|a| a.ty == NcType::Char)?;
    let text = String::from_utf8_lossy(&attribute.values);
    let text = text.trim_matches(|c: char| c == '\0' || c.is_whitespace());
    (!text.is_empty()).then(|| text.to_owned())
}

/// The variable that names one without units as its bounds.
fn named_by<'h>(header: &'h Header, variable: &Variable) -> Option<&'h Variable> {
    if text(variable, b"units").is_some() {
        return None;
    }
    header.variables.iter().find(|v| {
        let of = |name: &[u8]| text(v, name).is_some_and(|t| t.as_bytes() == variable.name);
        of(b"bounds") || of(b"climatology")
    })
}

/// Returns unit and calendar of a time since a date as text, even if they are not understood. Bounds have the unit of the variable
/// that names them.
pub fn unit_of(header: &Header, variable: &Variable) -> Option<(String, Option<String>)> {
    let of = |v: &Variable| {
        let units = text(v, b"units").filter(|u| TimeUnit::is_time(u))?;
        Some((units, text(v, b"calendar")))
    };
    of(named_by(header, variable).unwrap_or(variable)).filter(|_| variable.ty != NcType::Char)
}

/// The unit of a time since a date. `None` for other units, and if unit or calendar is not known.
pub fn time_unit(variable: &Variable) -> Option<TimeUnit> {
    let units = text(variable, b"units").filter(|u| TimeUnit::is_time(u))?;
    let calendar = Calendar::new(text(variable, b"calendar").as_deref())?;
    TimeUnit::parse(&units, calendar).ok()
}

/// Returns the reason why the units of a variable, a time since a date, are not understood. None for all other variables.
pub fn unknown_time(variable: &Variable) -> Option<String> {
    let units = text(variable, b"units").filter(|u| variable.ty != NcType::Char && TimeUnit::is_time(u))?;
    let name = text(variable, b"calendar");
    match Calendar::new(name.as_deref()) {
        Some(calendar) => TimeUnit::parse(&units, calendar).err().map(|e| e.to_string()),
        None => Some(format!("unknown calendar `{}`", name.unwrap_or_default())),
    }
}

/// The numbers of an attribute.
pub fn numbers(a: &Attribute) -> impl Iterator<Item = Number> {
    let items = if a.ty == NcType::Char { &[] } else { a.values.as_slice() };
    items.chunks_exact(a.ty.size()).map(|item| Number::for_type(a.ty, item))
}

/// `scale_factor` and `add_offset`. `None` if there are none, if they change nothing, or if one is not a
/// single number.
fn packing(v: &Variable) -> Option<Packing> {
    let one = |name: &[u8]| {
        let Some(a) = v.attribute(name) else { return Some(None) };
        let found = numbers(a).next().filter(|_| a.count() == 1)?;
        Some(Some((found.real(), a.ty)))
    };
    let (scale, offset) = (one(b"scale_factor")?, one(b"add_offset")?);
    #[expect(clippy::float_cmp, reason = "these two numbers change nothing, and only they")]
    let is_identity = scale.is_none_or(|(x, _)| x == 1.0) && offset.is_none_or(|(x, _)| x == 0.0);
    if is_identity {
        return None;
    }
    // CF, section 8.1: the result has the type of the attributes. A float would lose digits of integers with more than 16 bits, and of
    // an offset without a scale of the same type.
    let is_float = |found: Option<(f64, NcType)>| found.is_some_and(|(_, ty)| ty == NcType::Float);
    let narrow = v.ty.size() <= 2 || v.ty == NcType::Float;
    let single = narrow && is_float(scale) && (offset.is_none() || is_float(offset));
    let types = [scale, offset].into_iter().flatten().map(|(_, ty)| ty);
    let unpacked = types.max_by_key(|ty| (is_float(Some((0.0, *ty))) || *ty == NcType::Double, ty.size()))?;
    Some(Packing { scale: scale.map(|s| s.0), offset: offset.map(|o| o.0), single, unpacked })
}
