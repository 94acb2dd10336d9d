//! Converts times with another reference date or unit to the archive's, as ncrcat does; only exact conversions
//! are allowed.

use super::units::time_unit;
use crate::edit::refuse;
use crate::error::Result;
use nc3z_format::NcType;
use nc3z_format::classic::Variable as HeaderVariable;
use nc3z_format::decode_value::Number;
use nc3z_format::units::TimeUnit;
use nc3z_reader::Variable;

/// Tolerance, in microseconds, for a rebased float. A double of days since the year 1 has a rounding error of
/// at most 10.
const TOLERANCE: u128 = 1_000;
/// Attributes of packed variables, whose elements are not times.
const PACKING: [&str; 3] = ["scale_factor", "add_offset", "_Unsigned"];

/// The conversion of times of a new file to times of the archive.
#[derive(Clone)]
pub(super) struct Rebase {
    from: TimeUnit,
    to: TimeUnit,
    ty: NcType,
    /// Elements that are not times.
    missing: Vec<Vec<u8>>,
    words: (String, String),
}

/// Returns the elements of a variable that mark missing values.
fn missing(variable: &HeaderVariable) -> Vec<Vec<u8>> {
    let mut missing = vec![variable.fill_value().to_vec()];
    if let Some(a) = variable.attribute(b"missing_value").filter(|a| a.ty == variable.ty) {
        missing.extend(a.values.chunks_exact(a.ty.size()).map(<[u8]>::to_vec));
    }
    missing
}

impl Rebase {
    /// Returns the conversion for a variable with times in both files, in one calendar; `None` for other
    /// variables.
    pub(super) fn new(old: &HeaderVariable, new: &Variable) -> Option<Self> {
        let (to, old_words) = time_unit(old.attribute(b"units"), old.attribute(b"calendar"))?;
        let (from, new_words) = time_unit(new.attribute("units"), new.attribute("calendar"))?;
        let is_packed = PACKING
            .iter()
            .any(|name| old.attribute(name.as_bytes()).is_some() || new.attribute(name).is_some());
        if from.calendar() != to.calendar() || is_packed {
            return None;
        }
        Some(Rebase { from, to, ty: old.ty, missing: missing(old), words: (new_words, old_words) })
    }

    /// True if both units are equal, in whatever notation.
    pub(super) fn changes_nothing(&self) -> bool {
        self.from == self.to
    }

    /// Returns the conversion of the bounds of such a variable, which have its units.
    ///
    /// # Errors
    /// The bounds are packed.
    pub(super) fn of_bounds(&self, name: &str, bounds: &HeaderVariable) -> Result<Self> {
        if PACKING.iter().any(|name| bounds.attribute(name.as_bytes()).is_some()) {
            let (from, to) = &self.words;
            let why = "the bounds are packed and cannot be rebased: convert the new file's times";
            return refuse(
                "append",
                format!("variable `{name}`: its times are in `{from}`, the archive's in `{to}`, and {why}"),
            );
        }
        Ok(Rebase { ty: bounds.ty, missing: missing(bounds), ..self.clone() })
    }

    /// Converts big-endian elements.
    ///
    /// # Errors
    /// The variable's type cannot represent a time exactly.
    pub(super) fn apply(&self, name: &str, bytes: &mut [u8]) -> Result<()> {
        for element in bytes.chunks_exact_mut(self.ty.size()) {
            let number = Number::for_type(self.ty, element);
            if number.is_nan() || self.missing.iter().any(|missing| missing == element) {
                continue;
            }
            let Some(rebased) = self.element(number) else {
                let (from, to) = &self.words;
                let (value, date) = (number.real(), self.from.show(number.real()));
                return refuse(
                    "append",
                    format!(
                        "variable `{name}`: {value} {from} ({date}) is not exactly a value of type {} in the archive's `{to}`: make an archive whose `{name}` is of another type or unit",
                        self.ty
                    ),
                );
            };
            element.copy_from_slice(&rebased);
        }
        Ok(())
    }

    /// Converts one time, if the type can represent it.
    fn element(&self, number: Number) -> Option<Vec<u8>> {
        let value = self.from.to(&self.to).apply(number.real());
        Some(match (self.ty, number) {
            (NcType::Float, Number::Real(_)) => {
                #[expect(clippy::cast_possible_truncation, reason = "whether it is exact is checked")]
                let rounded = value as f32;
                self.is_same(number.real(), rounded.into()).then(|| rounded.to_be_bytes().to_vec())?
            }
            (_, Number::Real(_)) => {
                self.is_same(number.real(), value).then(|| value.to_be_bytes().to_vec())?
            }
            (ty, Number::Whole(whole)) => whole_bytes(ty, self.to.whole(whole, &self.from)?)?,
        })
    }

    /// True if both numbers are the same moment.
    fn is_same(&self, from: f64, to: f64) -> bool {
        match (self.from.moment(from), self.to.moment(to)) {
            (Some(a), Some(b)) => a.microseconds_from(&b).unsigned_abs() <= TOLERANCE,
            _ => false,
        }
    }
}

/// Returns a whole number as an element of this type.
fn whole_bytes(ty: NcType, n: i128) -> Option<Vec<u8>> {
    Some(match ty {
        NcType::Byte => i8::try_from(n).ok()?.to_be_bytes().to_vec(),
        NcType::UByte => u8::try_from(n).ok()?.to_be_bytes().to_vec(),
        NcType::Short => i16::try_from(n).ok()?.to_be_bytes().to_vec(),
        NcType::UShort => u16::try_from(n).ok()?.to_be_bytes().to_vec(),
        NcType::Int => i32::try_from(n).ok()?.to_be_bytes().to_vec(),
        NcType::UInt => u32::try_from(n).ok()?.to_be_bytes().to_vec(),
        NcType::Int64 => i64::try_from(n).ok()?.to_be_bytes().to_vec(),
        NcType::UInt64 => u64::try_from(n).ok()?.to_be_bytes().to_vec(),
        NcType::Char | NcType::Float | NcType::Double => return None,
    })
}
