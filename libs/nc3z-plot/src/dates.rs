//! Ticks of time axes: at whole years, months, days, hours, minutes or seconds of the axis's calendar.

use crate::ticks::Tick;
use nc3z_format::units::{Calendar, TimeUnit};

const DAY: f64 = 86_400.0;
/// The possible distances between ticks below one day, in seconds.
const SECONDS: [u32; 20] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 14_400, 21_600, 28_800, 43_200,
    86_400,
];
const DAYS: [u32; 4] = [2, 5, 10, 15];
const MONTHS: [i64; 4] = [1, 2, 3, 6];

/// The conversion of an axis's numbers to dates.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dates {
    unit: TimeUnit,
    calendar: Calendar,
}

/// A date and the seconds of its day.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stamp {
    year: i64,
    month: u32,
    day: u32,
    seconds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Seconds(u32),
    Days(u32),
    Months(i64),
    Years(i64),
}

impl Dates {
    pub(super) fn new(unit: TimeUnit, calendar: Calendar) -> Self {
        Dates { unit, calendar }
    }

    /// Formats the date of a number for people.
    pub(super) fn show(&self, value: f64) -> String {
        self.unit.show(value)
    }

    /// Returns ticks from `low` to `high`, at most `most` of them. None where the span is below two seconds,
    /// or where the years have too many digits: numbers are clearer there.
    pub(super) fn ticks(&self, low: f64, high: f64, most: usize) -> Option<Vec<Tick>> {
        let first = self.stamp(low)?;
        self.stamp(high)?;
        let day = self.length_of_day()?;
        let seconds = (high - low) / day * DAY;
        if seconds.is_nan() || seconds < 2.0 {
            return None;
        }
        let mut best = None;
        for step in steps(seconds, most.max(2)) {
            let at: Vec<(f64, Stamp)> = self
                .stamps(first, step, (low, high), day)
                .into_iter()
                .filter(|(v, _)| (low..=high).contains(v))
                .collect();
            if at.len() <= most.max(2) {
                best = (at.len() > 1).then_some((step, at));
                break;
            }
        }
        // If the span has no two ticks even of the longest step, its ends are used.
        let (step, at) =
            best.or_else(|| Some((Step::Days(1), vec![(low, first), (high, self.stamp(high)?)])))?;
        Some(labelled(step, &at))
    }

    fn stamp(&self, value: f64) -> Option<Stamp> {
        let shown = self.unit.show(value);
        let (date, time) = shown.split_once(' ').unwrap_or((&shown, "00:00:00"));
        let (sign, digits) = date.strip_prefix('-').map_or((1, date), |digits| (-1, digits));
        let mut parts = digits.split('-');
        let year: i64 = parts.next()?.parse().ok()?;
        let month = parts.next()?.parse().ok()?;
        let day = parts.next()?.parse().ok()?;
        let mut clock = time.split(':').map(|part| part.split('.').next().unwrap_or(part).parse::<u32>());
        let (h, m, s) = (clock.next()?.ok()?, clock.next()?.ok()?, clock.next()?.ok()?);
        Some(Stamp { year: sign * year, month, day, seconds: (h * 60 + m) * 60 + s })
    }

    /// Returns the number of a date's beginning. None for a date that the calendar does not have.
    fn value(&self, year: i64, month: u32, day: u32) -> Option<f64> {
        let sign = if year < 0 { "-" } else { "" };
        let text = format!("days since {sign}{:04}-{month:02}-{day:02}", year.abs());
        let days = TimeUnit::parse(&text, self.calendar).ok()?;
        Some(days.to(&self.unit).apply(0.0))
    }

    fn length_of_day(&self) -> Option<f64> {
        Some(self.value(1970, 1, 2)? - self.value(1970, 1, 1)?)
    }

    /// Returns dates from before `low` to `high`.
    fn stamps(&self, first: Stamp, step: Step, (low, high): (f64, f64), day: f64) -> Vec<(f64, Stamp)> {
        let mut out = Vec::new();
        let mut push = |year: i64, month: u32, d: u32| -> bool {
            if let Some(value) = self.value(year, month, d) {
                out.push((value, Stamp { year, month, day: d, seconds: 0 }));
                return value <= high;
            }
            true
        };
        // A step has at most a hundred dates: `steps` omits shorter ones.
        match step {
            Step::Years(n) => {
                let from = first.year.div_euclid(n) * n;
                let _ = (0..100).all(|i| push(from + i * n, 1, 1));
            }
            Step::Months(n) => {
                let from = (first.year * 12 + i64::from(first.month) - 1).div_euclid(n) * n;
                let _ = (0..100).all(|i| {
                    let month = from + i * n;
                    push(month.div_euclid(12), u32::try_from(month.rem_euclid(12)).unwrap_or(0) + 1, 1)
                });
            }
            Step::Days(n) => {
                let from = first.year * 12 + i64::from(first.month) - 1;
                let days: Vec<u32> =
                    (1..=31).step_by(n as usize).filter(|d| *d == 1 || d + n / 2 <= 31).collect();
                let _ = (0..100).all(|i| {
                    let month = from + i;
                    let (year, month) =
                        (month.div_euclid(12), u32::try_from(month.rem_euclid(12)).unwrap_or(0) + 1);
                    days.iter().all(|d| push(year, month, *d))
                });
            }
            Step::Seconds(n) => {
                let Some(midnight) = self.value(first.year, first.month, first.day) else { return out };
                for i in 0..=200_u32 {
                    let seconds = (first.seconds / n + i) * n;
                    let value = midnight + day * f64::from(seconds) / DAY;
                    // A value beyond the ends by a rounding error counts as inside.
                    let near = (high - low) * 1e-9;
                    let value = if value < low && value > low - near { low } else { value };
                    if value > high + near {
                        break;
                    }
                    if let Some(date) = self.stamp(value.min(high)) {
                        out.push((value.min(high), date));
                    }
                }
            }
        }
        out
    }
}

/// Returns the steps that give about `most` ticks in a span of `seconds`, shortest first.
fn steps(seconds: f64, most: usize) -> Vec<Step> {
    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    let least = seconds / most as f64 * 0.5;
    let long = |length: f64| length >= least;
    let mut all: Vec<Step> =
        SECONDS.iter().filter(|s| long(f64::from(**s))).map(|s| Step::Seconds(*s)).collect();
    all.extend(DAYS.iter().filter(|d| long(f64::from(**d) * DAY)).map(|d| Step::Days(*d)));
    #[expect(clippy::cast_precision_loss, reason = "below 10^7")]
    let days = |n: i64, each: f64| n as f64 * each * DAY;
    all.extend(MONTHS.iter().filter(|m| long(days(**m, 30.0))).map(|m| Step::Months(*m)));
    let years = (0..7).flat_map(|power| [1, 2, 5].map(|n| n * 10_i64.pow(power)));
    all.extend(years.filter(|y| long(days(*y, 365.0))).map(Step::Years));
    all
}

/// Formats the dates, with no more detail than the step between them needs.
fn labelled(step: Step, at: &[(f64, Stamp)]) -> Vec<Tick> {
    let mut shown = String::new();
    let tick = |&(value, s): &(f64, Stamp)| {
        let year = if s.year < 0 { format!("\u{2212}{:04}", -s.year) } else { format!("{:04}", s.year) };
        let date = format!("{year}-{:02}-{:02}", s.month, s.day);
        match step {
            Step::Years(_) => Tick::new(value, year),
            Step::Months(_) => Tick::new(value, format!("{year}-{:02}", s.month)),
            Step::Days(_) | Step::Seconds(86_400) => Tick::new(value, date),
            Step::Seconds(n) => {
                let (h, m, sec) = (s.seconds / 3600, s.seconds / 60 % 60, s.seconds % 60);
                let clock =
                    if n % 60 == 0 { format!("{h:02}:{m:02}") } else { format!("{h:02}:{m:02}:{sec:02}") };
                // The date is shown where it differs from the previous one.
                let below = (date != shown).then(|| date.clone());
                shown = date;
                Tick { value, words: clock, below }
            }
        }
    };
    at.iter().map(tick).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(units: &str, calendar: &str, low: f64, high: f64) -> Vec<String> {
        let calendar = Calendar::new(Some(calendar)).unwrap();
        let dates = Dates::new(TimeUnit::parse(units, calendar).unwrap(), calendar);
        let ticks = dates.ticks(low, high, 6).unwrap();
        assert!(ticks.len() <= 6 && ticks.windows(2).all(|w| w[0].value < w[1].value), "{ticks:?}");
        assert!(ticks.iter().all(|t| t.value >= low && t.value <= high), "{ticks:?}");
        ticks.into_iter().map(|t| t.below.map_or(t.words.clone(), |b| format!("{} {b}", t.words))).collect()
    }

    #[test]
    fn ticks_fit_their_span_in_every_calendar() {
        for (units, calendar, low, high, expected) in [
            (
                "days since 2000-01-01",
                "standard",
                0.0,
                3.0,
                &["2000-01-01", "2000-01-02", "2000-01-03", "2000-01-04"][..],
            ),
            (
                "hours since 2000-01-01 06:00",
                "standard",
                0.0,
                30.0,
                &["06:00 2000-01-01", "12:00", "18:00", "00:00 2000-01-02", "06:00", "12:00"],
            ),
            (
                "seconds since 1970-01-01",
                "standard",
                10.0,
                55.0,
                &["00:00:10 1970-01-01", "00:00:20", "00:00:30", "00:00:40", "00:00:50"],
            ),
            (
                "days since 2000-01-01",
                "noleap",
                31.0,
                160.0,
                &["2000-02", "2000-03", "2000-04", "2000-05", "2000-06"],
            ),
            (
                "days since 2000-01-01",
                "360_day",
                0.0,
                360.0,
                &["2000-01", "2000-04", "2000-07", "2000-10", "2001-01"],
            ),
            ("days since 1850-01-01", "standard", 0.0, 55_000.0, &["1850", "1900", "1950", "2000"]),
            (
                "days since 2000-01-01",
                "standard",
                0.0,
                11.0,
                &["2000-01-01", "2000-01-03", "2000-01-05", "2000-01-07", "2000-01-09", "2000-01-11"],
            ),
            (
                "days since 2000-01-20",
                "standard",
                0.0,
                25.0,
                &["2000-01-21", "2000-01-26", "2000-02-01", "2000-02-06", "2000-02-11"],
            ),
            (
                "days since 0001-01-01",
                "standard",
                0.0,
                365.0,
                &["0001-01", "0001-04", "0001-07", "0001-10", "0002-01"],
            ),
            (
                "minutes since 2020-02-29 23:50",
                "standard",
                0.0,
                20.0,
                &["23:50 2020-02-29", "23:55", "00:00 2020-03-01", "00:05", "00:10"],
            ),
        ] {
            assert_eq!(words(units, calendar, low, high), expected, "{units} {low} {high}");
        }
    }

    #[test]
    fn spans_without_dates_have_numbers() {
        let unit =
            |text: &str| Dates::new(TimeUnit::parse(text, Calendar::Standard).unwrap(), Calendar::Standard);
        assert!(unit("seconds since 2000-01-01").ticks(0.0, 0.5, 6).is_none());
        assert!(unit("days since 2000-01-01").ticks(0.0, 1e300, 6).is_none());
        assert!(unit("days since 2000-01-01").ticks(f64::NAN, 1.0, 6).is_none());
        // Ticks of all spans are found in bounded time.
        for power in 0..40 {
            let high = 2_f64.powi(power) / 1000.0 + 0.01;
            let days = unit("days since 1999-12-31 23:59:59").ticks(-0.3, high, 7);
            assert!(days.is_none_or(|t| (2..=7).contains(&t.len())), "{high}");
        }
    }
}
