//! Times since a date: `days since 2000-01-01 06:00 +01:00`.

use super::calendar::{Calendar, Date, SWITCH};
use super::{Conversion, UnitError, clean};

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// A time unit, a reference date, and the calendar that both are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeUnit {
    calendar: Calendar,
    /// Microseconds of the unit.
    step: i64,
    /// The reference date: a day number, and microseconds.
    day: i64,
    microseconds: i64,
}

impl TimeUnit {
    /// Whether a text is a time since a date, understood or not.
    pub fn is_time(text: &str) -> bool {
        split(text).is_some()
    }

    /// Reads `UNIT since DATE`.
    ///
    /// # Errors
    /// A unit whose length is not fixed in the calendar, a date that the calendar does not have, a time zone that is no offset.
    pub fn parse(text: &str, calendar: Calendar) -> Result<Self, UnitError> {
        let text = clean(text);
        let unknown = |why: String| UnitError::unknown(text, why);
        let (unit, date) = split(text).ok_or_else(|| unknown("it has no `since`".into()))?;
        let step = step(&unit.to_ascii_lowercase(), calendar).map_err(unknown)?;
        let (date, microseconds) = reference(date).map_err(unknown)?;
        let day = calendar.day_number(date).map_err(unknown)?;
        Ok(TimeUnit { calendar, step, day, microseconds })
    }

    /// How times of this unit become times of `other`, which is of the same calendar.
    pub fn to(&self, other: &TimeUnit) -> Conversion {
        let (a, b) = (i128::from(self.step), i128::from(other.step));
        let days = i128::from(self.day) - i128::from(other.day);
        let between = days * i128::from(DAY) + i128::from(self.microseconds) - i128::from(other.microseconds);
        let divisor = gcd(a, b);
        let (whole, rest) = (between.div_euclid(b), between.rem_euclid(b));
        Conversion::new(float(a / divisor), float(b / divisor), float(whole) + float(rest) / float(b))
    }

    /// Whether a value is a date on or after 1582-10-15, when the standard calendar becomes the Gregorian one.
    pub fn is_after_switch(&self, value: f64) -> bool {
        let behind = value * float(self.step.into()) + float(self.microseconds.into());
        float(self.day.into()) + behind / float(DAY.into()) >= float(SWITCH.into())
    }

    /// The date and time of a value, as `2000-01-01 06:00:00`; without the time where it is midnight.
    pub fn show(&self, value: f64) -> String {
        let at = value * float(self.step.into());
        if !at.is_finite() || at.abs() > 3e19 {
            return format!("{value}");
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "below 2^66 microseconds, and shown to the second"
        )]
        let at = at.round() as i128 + i128::from(self.microseconds) + i128::from(SECOND / 2);
        let (day, rest) = (at.div_euclid(DAY.into()), at.rem_euclid(DAY.into()));
        let Ok(day) = i64::try_from(day) else { return format!("{value}") };
        let Date { year, month, day } = self.calendar.date(self.day.saturating_add(day));
        let seconds = rest / i128::from(SECOND);
        let date = format!("{year:04}-{month:02}-{day:02}");
        if seconds == 0 {
            return date;
        }
        format!("{date} {:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[expect(clippy::cast_precision_loss, reason = "what is exact below 2^53 stays so")]
fn float(n: i128) -> f64 {
    n as f64
}

/// What stands before and behind `since`.
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

/// Microseconds of a unit.
fn step(unit: &str, calendar: Calendar) -> Result<i64, String> {
    Ok(match unit {
        "microsecond" | "microseconds" | "microsec" | "microsecs" | "us" => 1,
        "millisecond" | "milliseconds" | "millisec" | "millisecs" | "msec" | "msecs" | "ms" => 1000,
        "second" | "seconds" | "sec" | "secs" | "s" => SECOND,
        "minute" | "minutes" | "min" | "mins" => 60 * SECOND,
        "hour" | "hours" | "hr" | "hrs" | "h" => 3600 * SECOND,
        "day" | "days" | "d" => DAY,
        "week" | "weeks" => 7 * DAY,
        "month" | "months" if calendar == Calendar::Day360 => 30 * DAY,
        "year" | "years" if calendar == Calendar::Day360 => 360 * DAY,
        "common_year" | "common_years" if calendar == Calendar::NoLeap => 365 * DAY,
        "month" | "months" | "year" | "years" => {
            return Err(format!("a {} has no fixed length in this calendar", unit.trim_end_matches('s')));
        }
        _ => return Err(format!("there is no unit of time `{unit}`")),
    })
}

/// The reference date, and the microseconds behind its beginning, in universal time.
fn reference(text: &str) -> Result<(Date, i64), String> {
    let mut scan = Scan(text);
    let negative = scan.skip("-");
    if !negative {
        scan.skip("+");
    }
    let year = scan.number(7).ok_or("behind `since` stands no date")?;
    let mut date = Date { year: if negative { -year } else { year }, month: 1, day: 1 };
    let small = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
    if scan.skip("-") {
        date.month = small(scan.number(2).ok_or("the month is no number")?);
        if scan.skip("-") {
            date.day = small(scan.number(2).ok_or("the day is no number")?);
        }
    }
    let mut at = 0;
    let after_date = scan.0;
    if (scan.skip("T") || scan.skip("t") || scan.blank())
        && let Some(hour) = scan.number(2)
    {
        if !scan.skip(":") {
            return Err(format!("`{}` is no time of day such as 06:00", after_date.trim()));
        }
        let minute = scan.number(2).ok_or("the minutes are no number")?;
        let mut micro = 0;
        if scan.skip(":") {
            micro = scan.number(2).ok_or("the seconds are no number")? * SECOND;
            if scan.skip(".") {
                micro += scan.fraction();
            }
        }
        // A leap second has no place in these calendars.
        if hour > 23 || minute > 59 || micro >= 60 * SECOND {
            return Err(format!("`{}` is no time of day", after_date.trim()));
        }
        at = (hour * 60 + minute) * 60 * SECOND + micro;
    }
    let zone = scan.0.trim();
    Ok((date, at - zone_offset(zone)?))
}

/// Microseconds that a time zone is ahead of universal time.
fn zone_offset(zone: &str) -> Result<i64, String> {
    let upper = zone.to_ascii_uppercase();
    if ["", "Z", "UTC", "GMT"].contains(&upper.as_str()) {
        return Ok(0);
    }
    let upper = upper.strip_prefix("UTC").filter(|rest| rest.starts_with(['+', '-'])).unwrap_or(&upper);
    let refused = || format!("`{zone}` is no time zone such as Z, UTC or +06:00");
    let (sign, digits) = match upper.split_at_checked(1) {
        Some(("+", digits)) => (1, digits),
        Some(("-", digits)) => (-1, digits),
        _ => return Err(refused()),
    };
    let two = |text: &str| text.parse::<i64>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
    let (hours, minutes) = match digits.len() {
        2 => (two(digits), Some(0)),
        4 => (digits.get(..2).and_then(two), digits.get(2..).and_then(two)),
        5 if digits.as_bytes()[2] == b':' => (digits.get(..2).and_then(two), digits.get(3..).and_then(two)),
        _ => (None, None),
    };
    match (hours, minutes) {
        (Some(h @ 0..=23), Some(m @ 0..=59)) => Ok(sign * (h * 60 + m) * 60 * SECOND),
        _ => Err(refused()),
    }
}

/// What is left of a text.
struct Scan<'a>(&'a str);

impl Scan<'_> {
    fn skip(&mut self, what: &str) -> bool {
        let after = self.0.strip_prefix(what);
        self.0 = after.unwrap_or(self.0);
        after.is_some()
    }

    fn blank(&mut self) -> bool {
        let before = self.0.len();
        self.0 = self.0.trim_start();
        before > self.0.len()
    }

    /// Up to so many digits.
    fn number(&mut self, digits: usize) -> Option<i64> {
        let count = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let value = self.0[..count].parse().ok().filter(|_| count <= digits)?;
        self.0 = &self.0[count..];
        Some(value)
    }

    /// Digits behind a point, as microseconds; what is finer is cut off.
    fn fraction(&mut self) -> i64 {
        let count = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let digits = self.0[..count].bytes().chain(std::iter::repeat(b'0')).take(6);
        let value = digits.fold(0, |n, b| n * 10 + i64::from(b - b'0'));
        self.0 = &self.0[count..];
        value
    }
}
