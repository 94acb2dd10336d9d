//! Units: the meaning of a unit's text, and the conversion of numbers between units.
//!
//! The grammar and the names are those of UDUNITS-2. Equal texts are equal units, whatever they mean. An
//! unknown text is an error and never a guess: `degrees C` is a product of an angle and a charge to UDUNITS,
//! and is refused here.

mod calendar;
mod dates;
mod parse;
mod table;
mod text_times;
mod time;
mod utc;

pub use calendar::{Calendar, Date};
pub use dates::{Moment, Period, Span};
pub use text_times::TextTimes;
pub use time::TimeUnit;
pub use utc::utc;

/// Exponents of metre, kilogram, second, ampere, kelvin, mole, candela.
type Powers = [i16; 7];

/// A unit: `factor * x + offset` is the value in base units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    powers: Powers,
    factor: f64,
    offset: f64,
}

/// Why a unit cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// It is not understood.
    #[error("the unit `{text}` is not understood: {why}")]
    Unknown {
        /// The unit's text.
        text: String,
        /// The reason, for the message.
        why: String,
    },
    /// Two units of different quantities.
    #[error("cannot convert `{from}` to `{to}`: {why}")]
    Different {
        /// The unit of the given numbers.
        from: String,
        /// The unit to which values should be converted.
        to: String,
        /// The reason, for the message.
        why: String,
    },
}

impl UnitError {
    pub(crate) fn unknown(text: &str, why: impl Into<String>) -> Self {
        UnitError::Unknown { text: text.to_owned(), why: why.into() }
    }
}

/// The conversion of numbers of one unit to another: `x * mul / div + add`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conversion {
    mul: f64,
    div: f64,
    add: f64,
}

impl Conversion {
    /// The conversion that changes no number.
    pub const IDENTITY: Conversion = Conversion { mul: 1.0, div: 1.0, add: 0.0 };

    pub(crate) fn new(mul: f64, div: f64, add: f64) -> Self {
        Conversion { mul, div, add }
    }

    /// Returns whether the conversion changes no number.
    pub fn is_identity(&self) -> bool {
        *self == Self::IDENTITY
    }

    /// The number in the other unit.
    pub fn apply(&self, x: f64) -> f64 {
        // Factors of 1 have no effect.
        let y = x * self.mul / self.div;
        if self.add == 0.0 { y } else { y + self.add }
    }
}

impl Unit {
    const ONE: Unit = Unit { powers: [0; 7], factor: 1.0, offset: 0.0 };

    /// Reads a unit that is not a time since a date.
    ///
    /// ```
    /// use nc3z_format::units::Unit;
    /// let (hpa, pa) = (Unit::parse("hPa")?, Unit::parse("kg m-1 s-2")?);
    /// assert_eq!(hpa.to(&pa).map(|c| c.apply(1013.25)), Some(101_325.0));
    /// assert!(Unit::parse("degrees C").is_err());
    /// # Ok::<(), nc3z_format::units::UnitError>(())
    /// ```
    ///
    /// # Errors
    /// A text that is not understood.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        parse::parse(text.trim())
    }

    /// The conversion of numbers in this unit to `other`. `None` if the units measure different quantities.
    pub fn to(&self, other: &Unit) -> Option<Conversion> {
        if self.powers != other.powers {
            return None;
        }
        let ratio = self.factor / other.factor;
        let add = (self.offset - other.offset) / other.factor;
        // Two ways to the same unit differ by their rounding.
        let near = |a: f64, b: f64| (a - b).abs() <= 4.0 * f64::EPSILON * b.abs();
        let (mul, div) = match other.factor / self.factor {
            _ if near(ratio, 1.0) => (1.0, 1.0),
            whole if near(whole, whole.round()) && whole.round() > 1.0 => (1.0, whole.round()),
            _ if near(ratio, ratio.round()) => (ratio.round(), 1.0),
            _ => (ratio, 1.0),
        };
        Some(Conversion { mul, div, add })
    }
}

/// The conversion of numbers in `from` to `to`, which are texts of `units` attributes, each with its
/// calendar. Equal texts are accepted even if they are not understood.
///
/// ```
/// use nc3z_format::units::conversion;
/// assert_eq!(conversion("degC", None, "K", None)?.apply(20.0), 293.15);
/// assert_eq!(conversion("hours since 2000-01-02", None, "days since 2000-01-01", None)?.apply(12.0), 1.5);
/// assert!(conversion("psu", None, "psu", None)?.is_identity());
/// assert!(conversion("psu", None, "1", None).is_err());
/// # Ok::<(), nc3z_format::units::UnitError>(())
/// ```
///
/// # Errors
/// A unit that is not understood, if the texts differ; units of different quantities; other calendars.
pub fn conversion(
    from: &str,
    from_calendar: Option<&str>,
    to: &str,
    to_calendar: Option<&str>,
) -> Result<Conversion, UnitError> {
    let (from, to) = (clean(from), clean(to));
    let different = |why: String| UnitError::Different { from: from.to_owned(), to: to.to_owned(), why };
    let is_time = |text: &str| TimeUnit::is_time(text);
    if !is_time(from) && !is_time(to) {
        if from == to {
            return Ok(Conversion::IDENTITY);
        }
        let (a, b) = (Unit::parse(from)?, Unit::parse(to)?);
        return a.to(&b).ok_or_else(|| different("they are units of different quantities".into()));
    }
    let name = |c: Option<&str>| c.map_or("standard", str::trim).to_ascii_lowercase();
    let same_calendar = Calendar::same(from_calendar, to_calendar);
    if from == to && same_calendar {
        return Ok(Conversion::IDENTITY);
    }
    if !is_time(from) || !is_time(to) {
        return Err(different("one is a time since a date, the other is not".into()));
    }
    if !same_calendar {
        return Err(different(format!(
            "the calendars are {} and {}, in which dates differ",
            name(from_calendar),
            name(to_calendar)
        )));
    }
    let calendar = Calendar::new(from_calendar)
        .ok_or_else(|| UnitError::unknown(from, format!("unknown calendar `{}`", name(from_calendar))))?;
    Ok(TimeUnit::parse(from, calendar)?.to(&TimeUnit::parse(to, calendar)?))
}

/// The conversion of dates between the calendars `proleptic_gregorian` and `standard`. If all dates, given
/// with their unit, are on or after 1582-10-15, both calendars count the same days. `None` for other
/// calendars and earlier dates.
pub fn dates_after_switch(
    from: &str,
    from_calendar: Option<&str>,
    from_values: &[f64],
    to: &str,
    to_calendar: Option<&str>,
    to_values: &[f64],
) -> Option<Conversion> {
    let (a, b) = (Calendar::new(from_calendar)?, Calendar::new(to_calendar)?);
    let pair = [Calendar::Standard, Calendar::ProlepticGregorian];
    if a == b || !pair.contains(&a) || !pair.contains(&b) {
        return None;
    }
    let (from, to) = (TimeUnit::parse(from, a).ok()?, TimeUnit::parse(to, b).ok()?);
    let later = from_values.iter().all(|x| from.is_after_switch(*x))
        && to_values.iter().all(|x| to.is_after_switch(*x));
    later.then(|| from.to(&to))
}

/// Without blanks and the zero bytes that fill texts up.
fn clean(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\0')
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "tests compare with the very numbers that should come out")]
mod tests;
