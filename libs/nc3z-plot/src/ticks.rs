//! Numbers on axes: their positions, and their text.

/// A mark on an axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) words: String,
    /// A second line, such as the date below a time of day.
    pub(super) below: Option<String>,
}

impl Tick {
    pub(super) fn new(value: f64, words: String) -> Self {
        Tick { value, words, below: None }
    }
}

/// Returns round numbers from `low` to `high`, about `most` of them, and at least two where there is room.
/// Degrees have ticks at multiples of 5, 10, 15, 30, 45, 60 and 90.
pub(super) fn round_numbers(low: f64, high: f64, most: usize, degrees: bool) -> Vec<f64> {
    let span = high - low;
    if span.is_nan() || span <= 0.0 || !span.is_finite() {
        return vec![low];
    }
    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    let least = span / most.max(2) as f64;
    let magnitude = 10_f64.powf(least.log10().floor());
    let mut steps: Vec<f64> = [1.0, 2.0, 5.0, 10.0].iter().map(|s| s * magnitude).collect();
    if degrees && (2.0..=180.0).contains(&least) {
        steps = vec![5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0, 180.0];
    }
    let step = steps.into_iter().find(|s| *s >= least).unwrap_or(least);
    let first = (low / step - 1e-9).ceil();
    let mut out = Vec::new();
    for n in 0..=most * 2 {
        #[expect(clippy::cast_precision_loss, reason = "a handful")]
        let tick = (first + n as f64) * step;
        if tick > high + span * 1e-9 {
            break;
        }
        out.push(if tick.abs() < step * 1e-9 { 0.0 } else { tick });
    }
    out
}

/// Returns ticks with their numbers, all with as many decimals as the step between them needs. Large and
/// small numbers share one power of ten.
pub(super) fn numbered(ticks: &[f64]) -> Vec<Tick> {
    let largest = ticks.iter().fold(0.0_f64, |m, t| m.max(t.abs()));
    let step = ticks.windows(2).map(|w| (w[1] - w[0]).abs()).fold(f64::INFINITY, f64::min);
    let step = if step.is_finite() { step } else { largest };
    let power = power(largest);
    let scaled = decimals(step / 10_f64.powi(power));
    // 1700000100 needs all of its digits; 1.5×10⁶ does not.
    let is_plain =
        (1e-4..1e6).contains(&largest) || largest == 0.0 || (scaled > 4 && (1e-4..1e15).contains(&largest));
    let tick = |v: f64| {
        let words = if v == 0.0 {
            if is_plain { format!("{v:.*}", decimals(step)) } else { "0".to_owned() }
        } else if is_plain {
            format!("{v:.*}", decimals(step))
        } else {
            // Divided in two steps: 10^-320 cannot be represented exactly.
            let scaled_down = v / 10_f64.powi(power / 2) / 10_f64.powi(power - power / 2);
            format!("{scaled_down:.*}\u{d7}10{}", scaled.min(6), superscript(power))
        };
        Tick::new(v, words.replace('-', "\u{2212}"))
    };
    ticks.iter().map(|&v| tick(v)).collect()
}

/// Returns the ticks of a logarithmic scale whose ends are logarithms: powers of ten, and 2 and 5 between few of them.
pub(super) fn logarithmic(low: f64, high: f64, most: usize) -> Vec<Tick> {
    #[expect(clippy::cast_possible_truncation, reason = "logarithms of doubles")]
    let (first, last) = (low.floor() as i32, high.ceil() as i32);
    let decades = (last - first).unsigned_abs() as usize;
    let within = |v: &(i32, f64)| (low - 1e-9..=high + 1e-9).contains(&(f64::from(v.0) + v.1.log10()));
    let with = |digits: &[f64], every: usize| -> Vec<(i32, f64)> {
        let powers = (first..=last).step_by(every.max(1));
        powers.flat_map(|power| digits.iter().map(move |digit| (power, *digit))).filter(within).collect()
    };
    let choices = [with(&[1.0, 2.0, 5.0], 1), with(&[1.0], 1), with(&[1.0], decades.div_ceil(most.max(2)))];
    let found = choices.into_iter().find(|ticks| ticks.len() <= most.max(3) + 2).unwrap_or_default();
    if found.len() < 2 {
        // Less than a decade: round numbers.
        let (from, to) = (10_f64.powf(low), 10_f64.powf(high));
        let numbers = round_numbers(from, to, most, false).into_iter().filter(|v| *v > 0.0);
        let mut ticks = numbered(&numbers.collect::<Vec<_>>());
        ticks.iter_mut().for_each(|tick| tick.value = tick.value.log10());
        return ticks;
    }
    let tick = |(power, digit): (i32, f64)| {
        let words = match (power, digit) {
            (-3..=4, _) => number(digit * 10_f64.powi(power)),
            (_, 1.0) => format!("10{}", superscript(power)),
            _ => format!("{digit}\u{d7}10{}", superscript(power)),
        };
        Tick::new(f64::from(power) + digit.log10(), words)
    };
    found.into_iter().map(tick).collect()
}

/// Returns the power of ten of a number's first digit.
#[expect(clippy::cast_possible_truncation, reason = "between -324 and 308")]
fn power(v: f64) -> i32 {
    if v > 0.0 && v.is_finite() { (v.log10() + 1e-12).floor() as i32 } else { 0 }
}

/// Returns the number of decimals that a step needs, at most nine.
fn decimals(step: f64) -> usize {
    let needed = (0_u8..9).find(|&d| {
        let scaled = step * 10_f64.powi(d.into());
        scaled >= 0.5 && (scaled - scaled.round()).abs() < 1e-6 * scaled
    });
    needed.map_or(3, usize::from)
}

fn superscript(n: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digit = |c: char| c.to_digit(10).map_or('⁻', |d| DIGITS[d as usize]);
    n.to_string().chars().map(digit).collect()
}

/// Formats a number with six digits: `51.6257`, `4`, `1234567`, `1.5e-9`.
pub(super) fn number(v: f64) -> String {
    if v == 0.0 || !v.is_finite() {
        return format!("{}", v + 0.0);
    }
    let size = v.abs();
    if v.fract() == 0.0 && size < 1e9 {
        return format!("{v}");
    }
    if (1e-4..1e9).contains(&size) {
        let digits = usize::try_from(5 - power(size)).unwrap_or(0);
        let text = format!("{v:.digits$}");
        let trimmed = text.trim_end_matches('0').trim_end_matches('.');
        return if text.contains('.') { trimmed.to_owned() } else { text };
    }
    let text = format!("{v:.5e}");
    match text.split_once('e') {
        Some((digits, power)) => format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.')),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_within() {
        assert_eq!(round_numbers(0.0, 10.0, 5, false), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(round_numbers(-90.0, 90.0, 6, true), [-90.0, -60.0, -30.0, 0.0, 30.0, 60.0, 90.0]);
        assert_eq!(
            round_numbers(20.0, 380.0, 8, true),
            [45.0, 90.0, 135.0, 180.0, 225.0, 270.0, 315.0, 360.0]
        );
        assert_eq!(round_numbers(3.0, 3.0, 5, false), [3.0]);
        assert_eq!(round_numbers(-4000.0, 4000.0, 4, true), [-4000.0, -2000.0, 0.0, 2000.0, 4000.0]);
        for (low, high) in [(0.1, 0.7), (-1e-9, 1e-9), (1e20, 3e20), (271.3, 303.9)] {
            let t = round_numbers(low, high, 6, false);
            assert!((2..=13).contains(&t.len()), "{low} {high}: {t:?}");
            let room = (high - low) * 1e-6;
            assert!(t.iter().all(|v| *v >= low - room && *v <= high + room), "{t:?}");
        }
    }

    #[test]
    fn numbers_have_the_decimals_that_their_step_needs() {
        let words = |t: &[f64]| numbered(t).into_iter().map(|t| t.words).collect::<Vec<_>>();
        for (ticks, expected) in [
            (&[0.0, 0.5, 1.0][..], &["0.0", "0.5", "1.0"][..]),
            (&[1e-7, 1.5e-7], &["1.0×10⁻⁷", "1.5×10⁻⁷"]),
            (&[-20.0, 0.0, 20.0], &["−20", "0", "20"]),
            (&[0.0, 5e5, 1e6, 1.5e6], &["0", "0.5×10⁶", "1.0×10⁶", "1.5×10⁶"]),
            (&[0.0, 2e5, 4e5], &["0", "200000", "400000"]),
            (&[1_700_000_000.0, 1_700_000_100.0], &["1700000000", "1700000100"]),
            (&[1e33, 2e33], &["1×10³³", "2×10³³"]),
            (&[-0.0002, 0.0, 0.0002], &["−0.0002", "0.0000", "0.0002"]),
            (&[99.99, 100.0, 100.01], &["99.99", "100.00", "100.01"]),
            (&[5e-300, 1e-299], &["0.5×10⁻²⁹⁹", "1.0×10⁻²⁹⁹"]),
        ] {
            assert_eq!(words(ticks), expected);
        }
    }

    #[test]
    fn logarithmic_ticks_are_powers_of_ten_and_what_is_between() {
        let words =
            |low: f64, high: f64| logarithmic(low, high, 6).into_iter().map(|t| t.words).collect::<Vec<_>>();
        assert_eq!(words(0.0, 2.0), ["1", "2", "5", "10", "20", "50", "100"]);
        assert_eq!(words(-2.0, 3.0), ["0.01", "0.1", "1", "10", "100", "1000"]);
        assert_eq!(words(-30.0, 30.0).len(), 7);
        assert_eq!(words(5.0, 8.0), ["10⁵", "10⁶", "10⁷", "10⁸"]);
        let narrow = logarithmic(2.0, 2.05, 6);
        assert!(narrow.len() >= 2 && narrow.iter().all(|t| (2.0..=2.05).contains(&t.value)), "{narrow:?}");
    }

    #[test]
    fn numbers_are_as_people_write_them() {
        for (v, expected) in [
            (f64::from(51.6257_f32), "51.6257"),
            (4.0, "4"),
            (-0.0, "0"),
            (1_234_567.0, "1234567"),
            (1_234_567.8, "1234568"),
            (0.1 + 0.2, "0.3"),
            (-1.5e-9, "-1.5e-9"),
            (9.969_21e36, "9.96921e36"),
            (99_999.96, "100000"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(number(v), expected);
        }
    }
}
