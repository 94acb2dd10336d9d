//! The calendars of the CF conventions: dates as numbers of days.

/// A calendar. `standard`, `gregorian` and none at all are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Calendar {
    /// Julian until 1582-10-04, Gregorian from 1582-10-15 on, without a year 0.
    Standard,
    /// Gregorian always.
    ProlepticGregorian,
    /// Julian always, without a year 0.
    Julian,
    /// [`Calendar::Standard`] with a year 0, the year before 1: of times whose reference date is in the year 0, as CDO and ncdump
    /// count them.
    StandardFromZero,
    /// [`Calendar::Julian`] with a year 0.
    JulianFromZero,
    /// No leap years: `noleap`, `365_day`.
    NoLeap,
    /// Leap years only: `all_leap`, `366_day`.
    AllLeap,
    /// Twelve months of 30 days.
    Day360,
}

/// A day of a calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    /// The year, as it is written.
    pub year: i64,
    /// 1 to 12.
    pub month: u32,
    /// From 1.
    pub day: u32,
}

/// Largest year, of either sign, that dates are computed for.
const MAX_YEAR: i64 = 1_000_000;
/// First day of the Gregorian calendar as a day number.
pub(super) const SWITCH: i64 = -141_427;
const DAYS: [u32; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

impl Calendar {
    /// The calendar that an attribute names, in any case. `None` for a calendar that CF does not have.
    pub fn new(name: Option<&str>) -> Option<Self> {
        let Some(name) = name else { return Some(Calendar::Standard) };
        Some(
            match name.trim_matches(|c: char| c.is_whitespace() || c == '\0').to_ascii_lowercase().as_str() {
                "standard" | "gregorian" => Calendar::Standard,
                "proleptic_gregorian" => Calendar::ProlepticGregorian,
                "julian" => Calendar::Julian,
                // Names that are only numbers come from IRI's data library.
                "noleap" | "365_day" | "365" => Calendar::NoLeap,
                "all_leap" | "366_day" | "366" => Calendar::AllLeap,
                "360_day" | "360" => Calendar::Day360,
                _ => return None,
            },
        )
    }

    /// Returns true if two attributes name the same calendar. Equal texts do, even unknown ones.
    pub fn same(a: Option<&str>, b: Option<&str>) -> bool {
        match (Calendar::new(a), Calendar::new(b)) {
            (Some(a), Some(b)) => a == b,
            (None, None) => a.map(str::to_ascii_lowercase) == b.map(str::to_ascii_lowercase),
            _ => false,
        }
    }

    fn has_year_zero(self) -> bool {
        !matches!(self, Calendar::Standard | Calendar::Julian)
    }

    /// The calendar in which a reference date is read: one in the year 0 is in a calendar that has this year.
    pub(super) fn for_year(self, year: i64) -> Self {
        match self {
            Calendar::Standard if year == 0 => Calendar::StandardFromZero,
            Calendar::Julian if year == 0 => Calendar::JulianFromZero,
            _ => self,
        }
    }

    /// Returns true for the calendar that becomes the Gregorian one in 1582.
    fn switches(self) -> bool {
        matches!(self, Calendar::Standard | Calendar::StandardFromZero)
    }

    fn is_leap(self, year: i64, gregorian: bool) -> bool {
        match self {
            Calendar::NoLeap | Calendar::Day360 => false,
            Calendar::AllLeap => true,
            _ if gregorian => year % 4 == 0 && (year % 100 != 0 || year % 400 == 0),
            _ => year % 4 == 0,
        }
    }

    fn month_len(self, year: i64, month: u32, gregorian: bool) -> u32 {
        match self {
            Calendar::Day360 => 30,
            _ => DAYS[month as usize - 1] + u32::from(month == 2 && self.is_leap(year, gregorian)),
        }
    }

    /// The number of a day, counted from 1970-01-01 in the Gregorian calendars and from the year 0 in others.
    /// The error is the reason why there is no such day.
    ///
    /// # Errors
    /// No such date in this calendar.
    pub fn day_number(self, date: Date) -> Result<i64, String> {
        let Date { year, month, day } = date;
        let text = || format!("{year:04}-{month:02}-{day:02}");
        if year.abs() > MAX_YEAR {
            return Err(format!("the year {year} is too far away"));
        }
        if year == 0 && !self.has_year_zero() {
            return Err("this calendar has no year 0".into());
        }
        // Years before 1 without a year 0 between.
        let y = if year < 0 && !self.has_year_zero() { year + 1 } else { year };
        let gregorian = match self {
            Calendar::ProlepticGregorian => true,
            _ if self.switches() => (year, month, day) >= (1582, 10, 15),
            _ => false,
        };
        let in_gap = self.switches() && (year, month) == (1582, 10) && (5..15).contains(&day);
        if !(1..=12).contains(&month) || day == 0 || day > self.month_len(y, month, gregorian) || in_gap {
            return Err(format!("no date {}", text()));
        }
        Ok(self.count(y, month, day, gregorian))
    }

    fn count(self, y: i64, month: u32, day: u32, gregorian: bool) -> i64 {
        let before: u32 = DAYS[..month as usize - 1].iter().sum();
        let in_year = |leap: bool| i64::from(before + u32::from(leap && month > 2) + day - 1);
        match self {
            Calendar::Day360 => y * 360 + i64::from((month - 1) * 30 + day - 1),
            Calendar::NoLeap => y * 365 + in_year(false),
            Calendar::AllLeap => y * 366 + in_year(true),
            _ => {
                let leaps = if gregorian {
                    (y - 1).div_euclid(4) - (y - 1).div_euclid(100) + (y - 1).div_euclid(400)
                } else {
                    (y - 1).div_euclid(4)
                };
                // 1970-01-01 is day 719,162 after 0001-01-01 Gregorian; the Julian calendar is two days ahead there.
                let shift = if gregorian { 719_162 } else { 719_164 };
                (y - 1) * 365 + leaps + in_year(self.is_leap(y, gregorian)) - shift
            }
        }
    }

    /// The date of a day number.
    pub fn date(self, number: i64) -> Date {
        let gregorian = match self {
            Calendar::ProlepticGregorian => true,
            _ if self.switches() => number >= SWITCH,
            _ => false,
        };
        let first = |y: i64| self.count(y, 1, 1, gregorian);
        let (origin, mean) = match self {
            Calendar::Day360 => (0, 360.0),
            Calendar::NoLeap => (0, 365.0),
            Calendar::AllLeap => (0, 366.0),
            _ => (1970, 365.2425),
        };
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            reason = "a guess that is mended below"
        )]
        let mut y = origin + (number as f64 / mean).floor() as i64;
        while first(y) > number {
            y -= 1;
        }
        while first(y + 1) <= number {
            y += 1;
        }
        let mut left = number - first(y);
        let mut month = 1;
        while month < 12 && left >= i64::from(self.month_len(y, month, gregorian)) {
            left -= i64::from(self.month_len(y, month, gregorian));
            month += 1;
        }
        let year = if y <= 0 && !self.has_year_zero() { y - 1 } else { y };
        Date { year, month, day: u32::try_from(left).unwrap_or(0) + 1 }
    }
}
