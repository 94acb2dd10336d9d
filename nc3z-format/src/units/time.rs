//! Times since a date: `days since 2000-01-01 06:00 +01:00`.

use super::calendar::{Calendar, Date, SWITCH};
use super::dates::{MICROSECONDS_OF_DAY, Moment, reference};
use super::{Conversion, UnitError, clean};
use std::cmp::Ordering;

/// Nanoseconds of a microsecond, a second and a day: what the length of a unit is counted in.
const MICROSECOND: i64 = 1_000;
const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;
/// The year of UDUNITS, which the CF conventions (section 4.4) follow: 365.242198781 days. A month is a twelfth of it.
const YEAR: i64 = 31_556_925_974_678_400;

/// A time unit with its reference date and its calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeUnit {
    calendar: Calendar,
    /// Nanoseconds of the unit.
    step: i64,
    /// The reference date: a day number, and microseconds.
    day: i64,
    microseconds: i64,
}

impl TimeUnit {
    /// Returns true if a text is a time since a date, even one that is not understood.
    pub fn is_time(text: &str) -> bool {
        split(text).is_some()
    }

    /// Reads `UNIT since DATE`.
    ///
    /// # Errors
    /// A unit that is not known, a date that the calendar does not have, a time zone that is not an offset.
    pub fn parse(text: &str, calendar: Calendar) -> Result<Self, UnitError> {
        let text = clean(text);
        let unknown = |why: String| UnitError::unknown(text, why);
        let (unit, date) = split(text).ok_or_else(|| unknown("it has no `since`".into()))?;
        let step = step(&unit.to_ascii_lowercase(), calendar).map_err(unknown)?;
        let (date, microseconds) = reference(date).map_err(unknown)?;
        let calendar = calendar.for_year(date.year);
        let day = calendar.day_number(date).map_err(unknown)?;
        Ok(TimeUnit { calendar, step, day, microseconds })
    }

    /// Days since 1970-01-01: the unit of times that are stored as text.
    pub fn days(calendar: Calendar) -> Self {
        let day = calendar.day_number(Date { year: 1970, month: 1, day: 1 });
        TimeUnit { calendar, step: DAY, day: day.expect("every calendar has this day"), microseconds: 0 }
    }

    /// The calendar of its dates.
    pub fn calendar(&self) -> Calendar {
        self.calendar
    }

    /// The conversion of times of this unit to `other`, which has the same calendar.
    pub fn to(&self, other: &TimeUnit) -> Conversion {
        let (a, b) = (i128::from(self.step), i128::from(other.step));
        let microseconds = self.start() - other.start();
        let between = microseconds * i128::from(MICROSECOND);
        let divisor = gcd(a, b);
        let (whole, rest) = (between.div_euclid(b), between.rem_euclid(b));
        Conversion::new(float(a / divisor), float(b / divisor), float(whole) + float(rest) / float(b))
    }

    /// The reference date in microseconds since the calendar's day 0.
    fn start(&self) -> i128 {
        i128::from(self.day) * i128::from(MICROSECONDS_OF_DAY) + i128::from(self.microseconds)
    }

    /// Returns the moment of a number, to the nearest microsecond. Returns `None` if the number is not finite, or is 2^63
    /// microseconds or more away from the reference date, where no library computes dates.
    ///
    /// ```
    /// use nc3z_format::units::{Calendar, TimeUnit};
    /// let days = TimeUnit::parse("days since 2000-02-28 12:00 -6:00", Calendar::NoLeap)?;
    /// assert_eq!(days.moment(1.0).unwrap().iso(), "2000-03-01T18:00:00");
    /// assert!(days.moment(f64::NAN).is_none());
    /// # Ok::<(), nc3z_format::units::UnitError>(())
    /// ```
    pub fn moment(&self, value: f64) -> Option<Moment> {
        self.at(nearest_product(value, self.step)?)
    }

    /// The moment of a whole number, which may have more digits than a double holds.
    pub fn moment_of_integer(&self, value: i128) -> Option<Moment> {
        let nanoseconds = value.checked_mul(i128::from(self.step))?;
        self.at(round_quotient(nanoseconds, i128::from(MICROSECOND)))
    }

    fn at(&self, microseconds: i128) -> Option<Moment> {
        i64::try_from(microseconds).ok()?;
        Some(Moment::new(self.calendar, self.start() + microseconds))
    }

    /// The number for a moment of the same calendar.
    pub fn number(&self, moment: &Moment) -> f64 {
        let between = (moment.since_day_zero() - self.start()) * i128::from(MICROSECOND);
        let step = i128::from(self.step);
        float(between.div_euclid(step)) + float(between.rem_euclid(step)) / float(step)
    }

    /// Converts a whole number of another unit of the same calendar to a whole number of this unit. `None` if
    /// the result is not whole.
    ///
    /// ```
    /// use nc3z_format::units::{Calendar, TimeUnit};
    /// let days = TimeUnit::parse("days since 2000-01-01", Calendar::Standard)?;
    /// let hours = TimeUnit::parse("hours since 2001-01-01", Calendar::Standard)?;
    /// assert_eq!([24, 25].map(|n| days.whole(n, &hours)), [Some(367), None]);
    /// # Ok::<(), nc3z_format::units::UnitError>(())
    /// ```
    pub fn whole(&self, value: i128, unit: &TimeUnit) -> Option<i128> {
        let between = (unit.start() - self.start()) * i128::from(MICROSECOND);
        let nanoseconds = value.checked_mul(i128::from(unit.step))?.checked_add(between)?;
        let step = i128::from(self.step);
        (nanoseconds % step == 0).then(|| nanoseconds / step)
    }

    /// Returns true if a value is a date on or after 1582-10-15, when the standard calendar becomes the
    /// Gregorian one.
    pub fn is_after_switch(&self, value: f64) -> bool {
        let switch = i128::from(SWITCH) * i128::from(MICROSECONDS_OF_DAY);
        self.moment(value).is_some_and(|moment| moment.since_day_zero() >= switch)
    }

    /// The date and time of a value for people, as `2000-01-01 06:00:00`: without the time where it is midnight, to the second
    /// except where the time is a multiple of a tenth of one.
    pub fn show(&self, value: f64) -> String {
        self.moment(value).map_or_else(|| crate::decode_value::digits(value), |moment| moment.to_string())
    }
}

/// `value * step` nanoseconds in whole microseconds, exactly rounded: halves go to the even number.
fn nearest_product(value: f64, step: i64) -> Option<i128> {
    if !value.is_finite() {
        return None;
    }
    let bits = value.to_bits();
    let stored = i32::try_from(bits >> 52 & 0x7FF).expect("eleven bits");
    let fraction = i128::from(bits & ((1 << 52) - 1));
    // A subnormal number has no hidden bit.
    let (mantissa, exponent) =
        if stored == 0 { (fraction, -1074) } else { (fraction | 1 << 52, stored - 1075) };
    let product = mantissa * i128::from(step) * if value < 0.0 { -1 } else { 1 };
    if exponent >= 0 {
        // A larger exponent gives more than 2^63 microseconds in any case.
        let shift = u32::try_from(exponent).ok().filter(|e| *e < 64)?;
        let factor = 1_i128.checked_shl(shift)?;
        return Some(round_quotient(product.checked_mul(factor)?, MICROSECOND.into()));
    }
    let shift = u32::try_from(-exponent).ok().filter(|e| *e < 110);
    // The product has at most 53 + 63 bits.
    Some(shift.map_or(0, |shift| round_quotient(product, i128::from(MICROSECOND) << shift)))
}

/// The nearest whole number to a quotient of a positive divisor; halves go to the even one.
fn round_quotient(a: i128, b: i128) -> i128 {
    let (quotient, rest) = (a.div_euclid(b), a.rem_euclid(b));
    let up = match (b - rest).cmp(&rest) {
        Ordering::Less => 1,
        Ordering::Equal => quotient & 1,
        Ordering::Greater => 0,
    };
    quotient + up
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[expect(clippy::cast_precision_loss, reason = "numbers below 2^53 stay exact")]
fn float(n: i128) -> f64 {
    n as f64
}

/// The texts before and after `since`.
fn split(text: &str) -> Option<(&str, &str)> {
    let text = clean(text);
    let words = text.match_indices(char::is_whitespace).map(|(at, _)| at);
    for at in words {
        let rest = text[at..].trim_start();
        let head = rest.get(..5).filter(|head| head.eq_ignore_ascii_case("since"));
        if head.is_some() && rest[5..].starts_with(char::is_whitespace) {
            return Some((text[..at].trim(), rest[5..].trim()));
        }
    }
    None
}

/// Returns the nanoseconds of a unit. Months and years have the lengths of UDUNITS in every calendar, except for two that cftime
/// defines: a month of a 360-day year has 30 days, and a common year 365.
fn step(unit: &str, calendar: Calendar) -> Result<i64, String> {
    Ok(match unit {
        "nanosecond" | "nanoseconds" | "nanosec" | "nanosecs" | "ns" => 1,
        "microsecond" | "microseconds" | "microsec" | "microsecs" | "us" => MICROSECOND,
        "millisecond" | "milliseconds" | "millisec" | "millisecs" | "msec" | "msecs" | "ms" => {
            1000 * MICROSECOND
        }
        "second" | "seconds" | "sec" | "secs" | "s" => SECOND,
        "minute" | "minutes" | "min" | "mins" => 60 * SECOND,
        "hour" | "hours" | "hr" | "hrs" | "h" => 3600 * SECOND,
        "day" | "days" | "d" => DAY,
        "week" | "weeks" => 7 * DAY,
        "month" | "months" if calendar == Calendar::Day360 => 30 * DAY,
        "year" | "years" if calendar == Calendar::Day360 => 360 * DAY,
        "month" | "months" => YEAR / 12,
        "year" | "years" => YEAR,
        "common_year" | "common_years" => 365 * DAY,
        _ => return Err(format!("unknown unit of time `{unit}`")),
    })
}
