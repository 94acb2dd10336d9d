//! Times of another reference date or unit, written in the archive's: as ncrcat does, exactly or not at all.

use super::refuse;
use crate::error::Result;
use nc3z_format::NcType;
use nc3z_format::classic::{Attribute, Variable as HeaderVariable};
use nc3z_format::decode_value::Number;
use nc3z_format::units::{Calendar, TimeUnit};
use nc3z_reader::Variable;

/// Microseconds by which a float may miss a moment: what a double of days since the year 1 rounds off is less.
const TOLERANCE: u128 = 1_000;

/// How times of a new file become times of the archive.
#[derive(Clone)]
pub(super) struct Rebase {
    from: TimeUnit,
    to: TimeUnit,
    ty: NcType,
    /// Elements that are no times.
    missing: Vec<Vec<u8>>,
    /// Both units, for messages.
    words: (String, String),
}

/// The time unit of a variable: its units and its calendar.
pub(super) fn time_unit(units: Option<&Attribute>, calendar: Option<&Attribute>) -> Option<(TimeUnit, String)> {
    let text = |a: &Attribute| -> Option<String> {
        (a.ty == NcType::Char).then(|| super::coordinate::text(&a.values))
    };
    let units = units.and_then(text)?;
    let calendar = Calendar::of(calendar.and_then(text).as_deref())?;
    Some((TimeUnit::parse(&units, calendar).ok()?, units))
}

impl Rebase {
    /// For a variable of times whose units differ, in one calendar; nothing for any other.
    pub(super) fn of(old: &HeaderVariable, new: &Variable) -> Option<Self> {
        let (to, old_words) = time_unit(old.attribute(b"units"), old.attribute(b"calendar"))?;
        let (from, new_words) = time_unit(new.attribute("units"), new.attribute("calendar"))?;
        if from == to || from.calendar() != to.calendar() {
            return None;
        }
        let mut missing = vec![old.fill_value().to_vec()];
        missing.extend(old.attribute(b"missing_value").filter(|a| a.ty == old.ty).map(|a| a.values.clone()));
        Some(Rebase { from, to, ty: old.ty, missing, words: (new_words, old_words) })
    }

    /// The same of the bounds of such a variable, which have its units.
    pub(super) fn of_bounds(&self, bounds: &HeaderVariable) -> Self {
        Rebase { ty: bounds.ty, missing: vec![bounds.fill_value().to_vec()], ..self.clone() }
    }

    /// Rewrites big-endian elements.
    ///
    /// # Errors
    /// A time that the variable's type does not hold exactly.
    pub(super) fn apply(&self, name: &str, bytes: &mut [u8]) -> Result<()> {
        for element in bytes.chunks_exact_mut(self.ty.size()) {
            let number = Number::of(self.ty, element);
            if number.is_nan() || self.missing.iter().any(|missing| missing == element) {
                continue;
            }
            let Some(rebased) = self.element(number) else {
                let (from, to) = &self.words;
                let (value, date) = (number.real(), self.from.show(number.real()));
                return refuse(
                    "append",
                    format!(
                        "variable `{name}`: {value} {from} ({date}) is no {} in the archive's `{to}`, not exactly: convert the new file, or the archive's type",
                        self.ty
                    ),
                );
            };
            element.copy_from_slice(&rebased);
        }
        Ok(())
    }

    /// One time, where the type holds it.
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
            (ty, Number::Whole(whole)) => {
                let moment = self.from.moment_of_integer(whole)?;
                let rounded = self.to.number(&moment).round();
                // Beyond 2^53 a double does not hold each whole number.
                #[expect(clippy::cast_possible_truncation, reason = "below 2^53")]
                let rounded = (rounded.abs() < 9e15).then_some(rounded as i64)?;
                if self.to.moment_of_integer(rounded.into())? != moment {
                    return None;
                }
                whole_bytes(ty, rounded)?
            }
        })
    }

    /// Whether both numbers are the same moment.
    fn is_same(&self, from: f64, to: f64) -> bool {
        match (self.from.moment(from), self.to.moment(to)) {
            (Some(a), Some(b)) => a.microseconds_from(&b).unsigned_abs() <= TOLERANCE,
            _ => false,
        }
    }
}

/// A whole number as an element of this type.
fn whole_bytes(ty: NcType, n: i64) -> Option<Vec<u8>> {
    Some(match ty {
        NcType::Byte => i8::try_from(n).ok()?.to_be_bytes().to_vec(),
        NcType::UByte => u8::try_from(n).ok()?.to_be_bytes().to_vec(),
        NcType::Short => i16::try_from(n).ok()?.to_be_bytes().to_vec(),
        NcType::UShort => u16::try_from(n).ok()?.to_be_bytes().to_vec(),
        NcType::Int => i32::try_from(n).ok()?.to_be_bytes().to_vec(),
        NcType::UInt => u32::try_from(n).ok()?.to_be_bytes().to_vec(),
        NcType::Int64 => n.to_be_bytes().to_vec(),
        NcType::UInt64 => u64::try_from(n).ok()?.to_be_bytes().to_vec(),
        NcType::Char | NcType::Float | NcType::Double => return None,
    })
}
