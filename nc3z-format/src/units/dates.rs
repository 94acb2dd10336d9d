//! Dates: a date and a time of day in a calendar (`Moment`), how it is written and parsed, and periods such as `2000-02`.

use super::calendar::{Calendar, Date};
use std::ops::Range;

/// Microseconds of a second and a day.
const SECOND: i64 = 1_000_000;
pub(super) const MICROSECONDS_OF_DAY: i64 = 86_400 * SECOND;

/// A date and a time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    calendar: Calendar,
    /// Microseconds since the calendar's day 0.
    microseconds: i128,
}

impl Moment {
    pub(super) fn new(calendar: Calendar, microseconds: i128) -> Self {
        Moment { calendar, microseconds }
    }

    pub(super) fn since_day_zero(&self) -> i128 {
        self.microseconds
    }

    /// Microseconds from another moment of the same calendar to this one.
    pub fn microseconds_from(&self, other: &Moment) -> i128 {
        self.microseconds - other.microseconds
    }

    /// Microseconds since the calendar's day 0, rounded to milliseconds: how moments are compared with dates that people type,
    /// since a time such as 0.1 days is not exact.
    fn rounded(&self) -> i128 {
        (self.microseconds + 500).div_euclid(1000) * 1000
    }

    /// The date, and the microseconds of the day.
    fn parts(&self) -> (Date, i64) {
        let day = self.microseconds.div_euclid(MICROSECONDS_OF_DAY.into());
        let rest = self.microseconds.rem_euclid(MICROSECONDS_OF_DAY.into());
        let day = i64::try_from(day).expect("a moment is within 2^64 microseconds of a date of 7 digits");
        (self.calendar.date(day), i64::try_from(rest).expect("less than a day"))
    }

    /// Microseconds since 1970-01-01 as programs count them: by the Gregorian calendar. Nothing for other calendars, and for dates
    /// before it began.
    pub fn unix_microseconds(&self) -> Option<i64> {
        let from = match self.calendar {
            Calendar::ProlepticGregorian => i128::MIN,
            Calendar::Standard | Calendar::StandardFromZero => {
                i128::from(super::calendar::SWITCH) * i128::from(MICROSECONDS_OF_DAY)
            }
            _ => return None,
        };
        i64::try_from(self.microseconds).ok().filter(|_| self.microseconds >= from)
    }

    /// ISO 8601, to the microsecond where it has any: `2000-01-01T06:00:00`, `2000-01-01T06:00:00.500000`.
    pub fn iso(&self) -> String {
        let (date, rest) = self.parts();
        let fraction = rest % SECOND;
        let fraction = if fraction == 0 { String::new() } else { format!(".{fraction:06}") };
        format!("{}T{}{fraction}", day(date), clock(rest))
    }

    /// Formats a date as CDL does. Trailing parts of the time of day that are zero are omitted. A fraction of the second has six
    /// digits. `separator` is between date and time of day.
    ///
    /// ```
    /// use nc3z_format::units::{Calendar, TimeUnit};
    /// let days = TimeUnit::parse("days since 2000-01-01", Calendar::Standard)?;
    /// let cdl = |day: f64| days.moment(day).unwrap().cdl(' ');
    /// assert_eq!([1.0, 1.25].map(cdl), ["2000-01-02", "2000-01-02 06"]);
    /// # Ok::<(), nc3z_format::units::UnitError>(())
    /// ```
    pub fn cdl(&self, separator: char) -> String {
        let (date, rest) = self.parts();
        let (seconds, fraction) = (rest / SECOND, rest % SECOND);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let clock = match (minute, second, fraction) {
            _ if rest == 0 => String::new(),
            (0, 0, 0) => format!("{separator}{hour:02}"),
            (_, 0, 0) => format!("{separator}{hour:02}:{minute:02}"),
            (_, _, 0) => format!("{separator}{hour:02}:{minute:02}:{second:02}"),
            // ncdump does not pad these seconds, either.
            _ => format!("{separator}{hour:02}:{minute:02}:{second}.{fraction:06}"),
        };
        day(date) + &clock
    }

    /// For people: see [`super::TimeUnit::show`].
    fn show(&self) -> String {
        // The rounding error of a time as a double is a few microseconds.
        let tenth = i128::from(SECOND / 10);
        let near = (self.microseconds + tenth / 2).div_euclid(tenth) * tenth;
        let exact = (near - self.microseconds).abs() <= 20;
        let second = i128::from(SECOND);
        let whole = (self.microseconds + second / 2).div_euclid(second) * second;
        let shown = Moment { microseconds: if exact { near } else { whole }, ..*self };
        let (date, rest) = shown.parts();
        let tenths = rest % SECOND / (SECOND / 10);
        match (rest, tenths) {
            (0, _) => day(date),
            (_, 0) => format!("{} {}", day(date), clock(rest)),
            _ => format!("{} {}.{tenths}", day(date), clock(rest)),
        }
    }
}

impl std::fmt::Display for Moment {
    /// For people: see [`super::TimeUnit::show`].
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.show())
    }
}

/// `2000-01-01`, `-0044-03-15`.
fn day(Date { year, month, day }: Date) -> String {
    let sign = if year < 0 { "-" } else { "" };
    format!("{sign}{:04}-{month:02}-{day:02}", year.abs())
}

/// `06:00:00`.
fn clock(microseconds: i64) -> String {
    let seconds = microseconds / SECOND;
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// A date as people type it, as exact as they type it: a year, month, day, hour, minute or second.
///
/// ```
/// use nc3z_format::units::{Calendar, Period, TimeUnit};
/// let february: Period = "2000-02".parse()?;
/// let days = TimeUnit::parse("days since 2000-01-01", Calendar::Standard)?;
/// let span = february.within(Calendar::Standard)?;
/// let is_inside = |day: f64| span.contains(&days.moment(day).unwrap());
/// assert_eq!([30.0, 31.0, 59.9, 60.0].map(is_inside), [false, true, true, false]);
/// assert!("2000-02-30".parse::<Period>()?.within(Calendar::Standard).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    date: Date,
    /// The time of day, or 0 if none is given.
    microseconds: i64,
    exact_to: Unit,
}

/// The unit that gives a period its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Year,
    Month,
    /// This many microseconds.
    Time(i64),
}

/// The moments of a period, from its first microsecond to before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span(Range<i128>);

impl Span {
    /// Returns true if a moment, rounded to milliseconds, is in the period.
    pub fn contains(&self, moment: &Moment) -> bool {
        self.0.contains(&moment.rounded())
    }

    /// Returns true if a moment is at or after the period's beginning.
    pub fn begins_by(&self, moment: &Moment) -> bool {
        self.0.start <= moment.rounded()
    }

    /// Returns true if a moment is before the period's end.
    pub fn ends_after(&self, moment: &Moment) -> bool {
        moment.rounded() < self.0.end
    }

    /// Returns true if it begins at or after the end of the other.
    pub fn is_after(&self, other: &Span) -> bool {
        self.0.start >= other.0.end
    }
}

impl Period {
    /// Its moments in a calendar.
    ///
    /// # Errors
    /// A date that the calendar does not have.
    pub fn within(&self, calendar: Calendar) -> Result<Span, String> {
        let at = |date: Date| -> Result<i128, String> {
            Ok(i128::from(calendar.day_number(date)?) * i128::from(MICROSECONDS_OF_DAY))
        };
        let Date { year, month, .. } = self.date;
        // Some calendars have no year 0.
        let next_year = if year == -1 && calendar.day_number(Date { year: 0, ..self.date }).is_err() {
            1
        } else {
            year + 1
        };
        let start = at(self.date)? + i128::from(self.microseconds);
        let end = match self.exact_to {
            Unit::Year => at(Date { year: next_year, month: 1, day: 1 })?,
            Unit::Month if month == 12 => at(Date { year: next_year, month: 1, day: 1 })?,
            Unit::Month => at(Date { year, month: month + 1, day: 1 })?,
            Unit::Time(len) => start + i128::from(len),
        };
        Ok(Span(start..end))
    }

    /// Returns the moments of this period in a calendar that may lack its first or last day. A missing first day is replaced by the next
    /// existing day, and a missing last day by the one before. So `1950-12-31` ends with December also if all months have 30 days.
    ///
    /// # Errors
    /// A date that no calendar has, such as the 32nd day of a month.
    pub fn nearly_within(&self, calendar: Calendar) -> Result<Span, String> {
        let why = match self.within(calendar) {
            Err(why) if self.is_in_some_calendar() => why,
            found => return found,
        };
        // A calendar lacks at most ten days, those of October 1582, or the year 0.
        let Date { year, month, day } = self.date;
        let at = |date: Date| calendar.day_number(date).ok();
        let first = || {
            let in_month = (day..=31).find_map(|day| at(Date { year, month, day }));
            let next = if month == 12 || year == 0 { (year + 1, 1) } else { (year, month + 1) };
            in_month.or_else(|| at(Date { year: next.0, month: next.1, day: 1 }))
        };
        let last = || {
            let in_month = (1..day).rev().find_map(|day| at(Date { year, month, day }));
            in_month.or_else(|| at(Date { year: -1, month: 12, day: 31 }).filter(|_| year == 0))
        };
        let (next, last) = match (first(), last()) {
            (Some(next), Some(last)) => (next, last + 1),
            (Some(next), None) => (next, next),
            _ => return Err(why),
        };
        let day = i128::from(MICROSECONDS_OF_DAY);
        Ok(Span(i128::from(next) * day..i128::from(last) * day))
    }

    /// Returns true if a calendar has the date: one with leap years only, or with months of 30 days.
    pub fn is_in_some_calendar(&self) -> bool {
        let date = Date { year: 1, ..self.date };
        [Calendar::AllLeap, Calendar::Day360].into_iter().any(|calendar| calendar.day_number(date).is_ok())
    }

    /// The moment of a date written in full, in a calendar.
    ///
    /// # Errors
    /// A date that the calendar does not have.
    pub fn moment(&self, calendar: Calendar) -> Result<Moment, String> {
        Ok(Moment::new(calendar, self.within(calendar)?.0.start))
    }
}

impl std::str::FromStr for Period {
    type Err = String;

    /// Reads `2000`, `2000-01`, `2000-01-02`, `2000-01-02T06`, `2000-01-02 06:30:15.5`; an underscore may take the place of `T`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("invalid date `{text}`; expected one such as 2000-01, 2000-01-02 or 2000-01-02T06:00");
        let mut scan = Scan(text.trim());
        let found = scan.period().ok_or_else(wrong)?;
        let _ = scan.skip("Z") || scan.skip("z");
        if scan.0.is_empty() { Ok(found) } else { Err(wrong()) }
    }
}

/// Reads a reference date in the grammar of UDUNITS-2, and returns the date and the microseconds after its beginning, in universal
/// time. Dates are such as `2000-1-1`, `20000101` and `2000`, and times such as `6`, `06:00`, `0630` and `06:30:15.5`.
pub(super) fn reference(text: &str) -> Result<(Date, i64), String> {
    let mut scan = Scan(text);
    let date = reference_date(&mut scan)?;
    let after_date = scan.0;
    let parted = scan.skip("T") || scan.skip("t") || scan.blank();
    let at = if parted { reference_clock(&mut scan, after_date)? } else { 0 };
    Ok((date, at - zone_offset(scan.0.trim())?))
}

fn reference_date(scan: &mut Scan<'_>) -> Result<Date, String> {
    let small = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
    let negative = scan.skip("-");
    if !negative {
        scan.skip("+");
    }
    let before = scan.0;
    let mut date = Date { year: scan.number(8).ok_or("expected a date after `since`")?, month: 1, day: 1 };
    let digits = before.len() - scan.0.len();
    if scan.skip("-") {
        date.month = small(scan.number(2).ok_or("the month is not a number")?);
        if scan.skip("-") {
            date.day = small(scan.number(2).ok_or("the day is not a number")?);
        }
    } else {
        let n = date.year;
        (date.year, date.month, date.day) = match digits {
            ..=4 => (n, 1, 1),
            6 => (n / 100, small(n % 100), 1),
            8 => (n / 10_000, small(n / 100 % 100), small(n % 100)),
            _ => {
                return Err(format!(
                    "invalid date `{}`; expected one such as 2000-01-01 or 20000101",
                    &before[..digits]
                ));
            }
        };
    }
    date.year = if negative { -date.year } else { date.year };
    Ok(date)
}

/// Microseconds of a time of day. Nothing is read where none is given.
fn reference_clock(scan: &mut Scan<'_>, after_date: &str) -> Result<i64, String> {
    let wrong =
        || format!("invalid time of day `{}`; expected one such as 6, 06:00 or 0600", after_date.trim());
    if scan.0.starts_with(['+', '-']) {
        // UDUNITS reads it as the hour, its authors mean a time zone.
        return Err(format!("`{}` has no time of day before it, such as 00:00", after_date.trim()));
    }
    let before = scan.0;
    let Some(n) = scan.number(6) else { return Ok(0) };
    let (hour, minute, micro) = if scan.skip(":") {
        let minute = scan.number(2).ok_or("the minutes are not a number")?;
        let mut micro = 0;
        if scan.skip(":") {
            micro = scan.number(2).ok_or("the seconds are not a number")? * SECOND;
            if scan.skip(".") {
                micro += scan.fraction();
            }
        }
        (n, minute, micro)
    } else {
        match before.len() - scan.0.len() {
            1 | 2 => (n, 0, 0),
            4 => (n / 100, n % 100, 0),
            6 => (n / 10_000, n / 100 % 100, n % 100 * SECOND),
            _ => return Err(wrong()),
        }
    };
    // A leap second has no place in these calendars.
    if hour > 23 || minute > 59 || micro >= 60 * SECOND {
        return Err(wrong());
    }
    Ok((hour * 60 + minute) * 60 * SECOND + micro)
}

/// Microseconds that a time zone is ahead of universal time: `Z`, `UTC`, `-6:00`, `+5`, `0:00`, `+0545`, `UTC+3`, with one
/// digit of hours or two, as UDUNITS reads them and the CF conventions write them.
fn zone_offset(zone: &str) -> Result<i64, String> {
    let upper = zone.to_ascii_uppercase();
    if ["", "Z", "UTC", "GMT"].contains(&upper.as_str()) {
        return Ok(0);
    }
    let refused = || format!("invalid time zone `{zone}`; expected one such as Z, UTC, -6:00 or +05:45");
    let named = ["UTC", "GMT"].into_iter().find_map(|name| upper.strip_prefix(name));
    let text = named.map_or(upper.as_str(), str::trim_start);
    let (sign, digits) = match text.split_at_checked(1) {
        Some(("+", digits)) => (1, digits),
        Some(("-", digits)) => (-1, digits),
        // A name followed by digits without a sign is ambiguous.
        _ if named.is_none() => (1, text),
        _ => return Err(refused()),
    };
    let number = |text: &str| {
        let is_short = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<i64>().ok().filter(|_| is_short)
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some((hours, minutes)) => (number(hours), number(minutes).filter(|_| minutes.len() == 2)),
        None if digits.len() <= 2 => (number(digits), Some(0)),
        None => match digits.split_at_checked(digits.len() - 2) {
            Some((hours, minutes)) => (number(hours), number(minutes)),
            None => (None, None),
        },
    };
    match (hours, minutes) {
        (Some(h @ 0..=23), Some(m @ 0..=59)) => Ok(sign * (h * 60 + m) * 60 * SECOND),
        _ => Err(refused()),
    }
}

/// The remaining part of a text.
struct Scan<'a>(&'a str);

impl Scan<'_> {
    /// Reads a date with or without a time of day. The period is as long as the last part that is written.
    fn period(&mut self) -> Option<Period> {
        let negative = self.skip("-");
        let year = self.number(7)?;
        let mut date = Date { year: if negative { -year } else { year }, month: 1, day: 1 };
        let small = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
        let mut found = Period { date, microseconds: 0, exact_to: Unit::Year };
        if !self.skip("-") {
            return Some(found);
        }
        date.month = small(self.number(2)?);
        (found.date, found.exact_to) = (date, Unit::Month);
        if !self.skip("-") {
            return Some(found);
        }
        date.day = small(self.number(2)?);
        (found.date, found.exact_to) = (date, Unit::Time(MICROSECONDS_OF_DAY));
        if !(self.skip("T") || self.skip("t") || self.skip("_") || self.blank()) {
            return Some(found);
        }
        let mut seconds = 0;
        for (most, unit) in [(23, 3600), (59, 60), (59, 1)] {
            if unit < 3600 && !self.skip(":") {
                break;
            }
            seconds += self.number(2).filter(|n| *n <= most)? * unit;
            found.exact_to = Unit::Time(unit * SECOND);
        }
        found.microseconds = seconds * SECOND;
        if found.exact_to == Unit::Time(SECOND) && self.skip(".") {
            found.microseconds += self.fraction();
            found.exact_to = Unit::Time(1000);
        }
        Some(found)
    }

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

    /// A number of at most `digits` digits.
    fn number(&mut self, digits: usize) -> Option<i64> {
        let count = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let value = self.0[..count].parse().ok().filter(|_| count <= digits)?;
        self.0 = &self.0[count..];
        Some(value)
    }

    /// Digits after a point, as microseconds. Further digits are cut off.
    fn fraction(&mut self) -> i64 {
        let count = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let digits = self.0[..count].bytes().chain(std::iter::repeat(b'0')).take(6);
        let value = digits.fold(0, |n, b| n * 10 + i64::from(b - b'0'));
        self.0 = &self.0[count..];
        value
    }
}
