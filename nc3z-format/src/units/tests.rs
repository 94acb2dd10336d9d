use super::*;

fn convert(from: &str, to: &str, x: f64) -> Option<f64> {
    conversion(from, None, to, None).ok().map(|c| c.apply(x))
}

#[test]
fn products_powers_prefixes_and_origins() {
    let close = |from: &str, to: &str, x: f64, y: f64| {
        let found = convert(from, to, x).unwrap_or_else(|| panic!("{from} -> {to}"));
        assert!((found - y).abs() <= 1e-12 * y.abs(), "{x} {from} = {found} {to}, expected {y}");
    };
    for (from, to, x, y) in [
        ("km", "m", 1.0, 1000.0),
        ("decibar", "Pa", 1.0, 10_000.0),
        ("METERS", "km", 500.0, 0.5),
        ("m s-1", "km/h", 10.0, 36.0),
        ("m s**-1", "m.s^-1", 3.0, 3.0),
        ("W/m^2/nm", "W m-3", 1.0, 1e9),
        ("kg m-2 s-1", "mm day-1 kg m-3", 1.0, 86_400_000.0),
        ("micromole/kg", "mol kg-1", 1.0, 1e-6),
        ("degC", "K", 20.0, 293.15),
        ("K", "degree_Celsius", 273.15, 0.0),
        ("degF", "degC", 212.0, 100.0),
        ("K @ 273.15", "K", 1.0, 274.15),
        ("%", "1", 50.0, 0.5),
        ("degrees_north", "degree_east", 7.0, 7.0),
        ("dynes/cm**2", "Pa", 10.0, 1.0),
        ("µm", "um", 1.0, 1.0),
        ("m²", "cm2", 1.0, 1e4),
        ("(m/s)2", "m2 s-2", 2.0, 2.0),
        ("1e-3 kg m-3", "g/m3", 2.0, 2.0),
        ("10^3 m", "km", 2.0, 2.0),
        ("meter second-1", "m/s", 2.0, 2.0),
        ("degC m-1", "K/m", 2.0, 2.0),
        ("angstrom/picosecond", "m/s", 1.0, 100.0),
        ("mg/m3", "kg m-3", 1.0, 1e-6),
    ] {
        close(from, to, x, y);
    }
    // Exact where it can be.
    assert_eq!(convert("hPa", "Pa", 1013.25), Some(101_325.0));
    assert_eq!(convert("m", "km", 1.1), Some(1.1 / 1000.0));
    assert_eq!(convert("degC", "K", 0.1), Some(0.1 + 273.15));
}

#[test]
fn what_is_not_known_is_refused() {
    for text in [
        "psu",
        "PSU",
        "nounits",
        "dimensionless",
        "none",
        "per mil v PDB",
        "Deg C",
        "Deg K",
        "mb",
        "degrees C",
        "Degrees C",
        "deg. C",
        "C",
        "F",
        "fraction",
        "unitless",
        "dB",
        "dBZ",
        "deg",
        "M/S",
        "microMoleQuanta/m^2/sec",
        "[sng]",
        "g cm{-2}",
        "-",
        "#",
        "level",
        "",
        "yyyymmdd UTC",
        "m of water equivalent",
        "hybrid_sigma_pressure",
        "0.1 degC",
        "mdegC",
        "m^",
        "m**x",
        "(m",
        "m)",
        "m/",
        "k",
        "m^99999",
        "m200",
        "1/0",
        "degrees north",
        "kgC.m-2.yr-1",
        "knots (nautical miles per hour)",
        "decibar=10000 pascals",
    ] {
        assert!(Unit::parse(text).is_err(), "{text}: {:?}", Unit::parse(text));
        if !text.is_empty() {
            assert!(conversion(text, None, text, None).unwrap().is_identity(), "{text}");
        }
    }
    assert!(convert("K", "m", 1.0).is_none() && convert("m", "m2", 1.0).is_none());
    let deep = "(".repeat(10_000) + "m";
    assert!(Unit::parse(&deep).is_err());
    assert!(Unit::parse(&"(".repeat(500)).is_err());
}

#[test]
fn units_that_mean_something_else_name_what_is_meant() {
    for (text, expected) in [
        ("Deg C", "`degree_Celsius`"),
        ("degrees F", "`degree_Fahrenheit`"),
        ("Deg K", "it is `K`"),
        ("mb", "`millibar`"),
        ("C", "`degree_Celsius`"),
    ] {
        let said = Unit::parse(text).unwrap_err().to_string();
        assert!(said.contains(expected), "{text}: {said}");
    }
    assert!(!Unit::parse("Deg K").unwrap_err().to_string().contains("charge"));
}

#[test]
fn times_are_told_from_another_date() {
    let one = |from: &str, to: &str, calendar: &str, x: f64| {
        conversion(from, Some(calendar), to, Some(calendar)).unwrap().apply(x)
    };
    let days = "days since 2000-01-01";
    assert_eq!(one("hours since 2000-01-02", days, "standard", 36.0), 2.5);
    assert_eq!(one("days since 2000-03-01", days, "standard", 0.0), 60.0);
    assert_eq!(one("days since 2000-03-01", days, "noleap", 0.0), 59.0);
    assert_eq!(one("days since 2000-03-01", days, "360_day", 0.0), 60.0);
    assert_eq!(one("days since 2000-03-01", days, "366_day", 1.0), 61.0);
    assert_eq!(one("days since 1582-10-15", "days since 1582-10-04", "gregorian", 0.0), 1.0);
    assert_eq!(one("days since 1582-10-15", "days since 1582-10-04", "proleptic_gregorian", 0.0), 11.0);
    assert_eq!(one("days since 1-1-1", "days since -1-1-1", "standard", 0.0), 366.0);
    assert_eq!(
        one("seconds since 1970-01-01T06:00:00 +06:00", "seconds since 1970-01-01", "standard", 5.0),
        5.0
    );
    assert_eq!(one("hours since 1970-01-01 00:00 -0330", "hours since 1970-01-01", "standard", 0.0), 3.5);
    assert_eq!(one("msec since 1970-01-01", "seconds since 1970-01-01", "standard", 1500.0), 1.5);
    assert_eq!(one("months since 2000-01-01", days, "360_day", 2.0), 60.0);
    assert_eq!(
        one("hours since 1900-01-01 00:00:0.0", "hours since 1900-01-01 00:00:00.5", "standard", 1.0),
        1.0 - 0.5 / 3600.0
    );
}

#[test]
fn times_that_are_not_clear_are_refused() {
    for (text, calendar) in [
        ("days since 0000-00-00", Calendar::NoLeap),
        ("days since 20001301", Calendar::Standard),
        ("days since 2000010", Calendar::Standard),
        ("hours since 2000-01-01 -6", Calendar::Standard),
        ("hours since 2000-01-01 +6:00", Calendar::Standard),
        ("hours since 2000-01-01 018", Calendar::Standard),
        ("hours since 2000-01-01 24", Calendar::Standard),
        ("hours since 2000-01-01 2460", Calendar::Standard),
        ("hours since 2000-01-01 5.5", Calendar::Standard),
        ("hours since 2000/01/01", Calendar::Standard),
        ("days since 2000-02-30", Calendar::Standard),
        ("days since 2000-02-29", Calendar::NoLeap),
        ("days since 1900-02-29", Calendar::ProlepticGregorian),
        ("days since 1582-10-10", Calendar::Standard),
        ("seconds since 1-jan-1970", Calendar::Standard),
        ("days since 2000-01-01 00:00 EST", Calendar::Standard),
        ("days since 2000-01-01 24:00", Calendar::Standard),
        ("fortnights since 2000-01-01", Calendar::Standard),
        ("days since", Calendar::Standard),
        ("days since 99999999-01-01", Calendar::Standard),
        ("seconds since midnight", Calendar::Standard),
    ] {
        assert!(TimeUnit::parse(text, calendar).is_err(), "{text}");
    }
    let refused =
        |a, b| conversion("days since 2000-01-01", a, "days since 2000-01-02", b).unwrap_err().to_string();
    assert!(refused(None, Some("noleap")).contains("standard and noleap"));
    assert!(refused(Some("standard"), Some("proleptic_gregorian")).contains("calendars"));
    assert!(refused(Some("badname"), Some("badname")).contains("unknown calendar `badname`"));
    assert!(
        conversion("days since 2000-01-01", Some("x"), "days since 2000-01-01", Some("X"))
            .unwrap()
            .is_identity()
    );
    assert!(conversion("days since 2000-01-01", None, "days", None).is_err());
}

#[test]
fn dates_come_back_from_their_numbers() {
    use Calendar::{AllLeap, Day360, Julian, NoLeap, ProlepticGregorian, Standard};
    for calendar in [Standard, ProlepticGregorian, Julian, NoLeap, AllLeap, Day360] {
        for number in (-900_000..900_000).step_by(37).chain(-141_500..-141_300) {
            let date = calendar.date(number);
            assert_eq!(calendar.day_number(date), Ok(number), "{calendar:?} {date:?}");
        }
    }
    let unit = TimeUnit::parse("days since 1970-01-01", Standard).unwrap();
    assert_eq!(unit.show(0.0), "1970-01-01");
    assert_eq!(unit.show(11_016.25), "2000-02-29 06:00:00");
    assert_eq!(unit.show(-141_427.0), "1582-10-15");
    assert_eq!(unit.show(-141_428.0), "1582-10-04");
    assert_eq!(unit.show(f64::NAN), "NaN");
}

/// What UDUNITS-2 and cftime answer: `scripts/units_oracle.py` has asked them. Where they answer, so do we, and the same; but for
/// what is refused here on purpose. What they refuse, is refused.
#[test]
fn answers_are_those_of_udunits_and_cftime() {
    // Read otherwise than meant, or logarithmic.
    const REFUSED_HERE: [&str; 2] = ["C", "degrees C"];
    // Clear, though the library's lexer stumbles.
    const READ_HERE: [&str; 2] = ["m⁻¹", "(meter * meter)/Hz"];
    let (mut answered, mut wrong) = ([0, 0], Vec::new());
    for line in include_str!("oracle.txt").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(" | ").collect();
        let (who, first) = fields[0].split_once(' ').unwrap();
        let is_time = who == "cftime";
        let (from, calendar) = if is_time { (fields[1], Some(first)) } else { (first, None) };
        let [to, x, answer] = fields[fields.len() - 3..] else { panic!("{line}") };
        let x: f64 = x.parse().unwrap();
        let found = if !is_time && from == to {
            Unit::parse(from).map(|_| x)
        } else {
            conversion(from, calendar, to, calendar).map(|c| c.apply(x))
        };
        if answer == "refused" {
            if found.is_ok() && !READ_HERE.contains(&from) {
                wrong.push(format!("{line}: {found:?}"));
            }
            continue;
        }
        if REFUSED_HERE.contains(&from) {
            assert!(found.is_err(), "{line}");
            continue;
        }
        let expected: f64 = answer.parse().unwrap();
        let found = match found {
            Ok(found) => found,
            Err(e) => {
                wrong.push(format!("{line}: {e}"));
                continue;
            }
        };
        // cftime rounds dates to microseconds.
        let tolerance = if is_time { 1e-9 * expected.abs() + 2e-6 } else { 4e-15 * expected.abs() };
        if (found - expected).abs() > tolerance {
            wrong.push(format!("{line}: {found:?}"));
        }
        answered[usize::from(is_time)] += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(answered[0] > 500 && answered[1] > 600, "{answered:?}");
}

/// The answers are those of UDUNITS-2 2.2.28.
#[test]
fn reference_times_of_udunits() {
    let base = TimeUnit::parse("hours since 2000-01-01", Calendar::Standard).unwrap();
    for (date, hours) in [
        ("2000-01-01 0", 0.0),
        ("2000-01-01 6", 6.0),
        ("2000-01-01 18 -6", 24.0),
        ("2000-01-01 18 -6:00", 24.0),
        ("2000-01-01 18:30 -6", 24.5),
        ("2000-01-01 18 6", 12.0),
        ("2000-01-01 12-6", 18.0),
        ("2000-01-01 12:00-6", 18.0),
        ("2000-01-01 12 -0600", 18.0),
        ("2000-01-01 18 UTC", 18.0),
        ("2000-01-01 18Z", 18.0),
        ("2000-01-01T18", 18.0),
        ("2000-01-01T18Z", 18.0),
        ("2000-01-01 1830", 18.5),
        ("2000-01-01 183015", 18.504_166_666_666_666),
        ("20000101", 0.0),
        ("19991231", -24.0),
        ("20000101 18:30", 18.5),
        ("20000101T1830", 18.5),
        ("20000101 12 +0530", 6.5),
        ("200001", 0.0),
        ("2000", 0.0),
        ("2000-01", 0.0),
        ("99-01-01", -16_663_848.0),
    ] {
        let unit = TimeUnit::parse(&format!("hours since {date}"), Calendar::Standard);
        let found = unit.unwrap_or_else(|e| panic!("{e}")).to(&base).apply(0.0);
        assert!((found - hours).abs() < 1e-9, "{date}: {found}");
    }
}

/// The answers are those of CDO 2 and of ncdump -t. A reference date before the year 0 counts without it, as in cftime.
#[test]
fn a_reference_date_in_the_year_0_has_this_year() {
    for calendar in [Calendar::Standard, Calendar::Julian, Calendar::ProlepticGregorian] {
        for text in ["hour since 0000-01-01 00:00:00", "hours since 0-1-1", "hours since 0000-01-01 0"] {
            let unit = TimeUnit::parse(text, calendar).unwrap();
            for (x, shown) in [
                (0.0, "0000-01-01"),
                (366.0, "0000-01-16 06:00:00"),
                (1416.0, "0000-02-29"),
                (8760.0, "0000-12-31"),
                (8784.0, "0001-01-01"),
                (-24.0, "-0001-12-31"),
            ] {
                assert_eq!(unit.show(x), shown, "{text} {calendar:?}");
            }
            let month: Period = "0000-02".parse().unwrap();
            assert!(month.within(unit.calendar()).unwrap().contains(&unit.moment(1416.0).unwrap()));
        }
    }
    let before = TimeUnit::parse("days since -1-12-31", Calendar::Standard).unwrap();
    assert_eq!(before.show(1.0), "0001-01-01");
}

#[test]
fn zones_of_one_digit_and_of_two() {
    for (zone, hours) in [
        ("-6:00", -6.0),
        ("+5", 5.0),
        ("5", 5.0),
        ("0:00", 0.0),
        ("+0", 0.0),
        ("+5:45", 5.75),
        ("+545", 5.75),
        ("-0330", -3.5),
        ("-03:30", -3.5),
        ("10:30", 10.5),
        ("UTC+3", 3.0),
        ("UTC -3:30", -3.5),
        ("GMT+01:00", 1.0),
        ("Z", 0.0),
        ("utc", 0.0),
    ] {
        for date in ["2000-01-01 12:00", "2000-01-01 12:00:00", "2000-1-1T12:00:00.0"] {
            let unit = TimeUnit::parse(&format!("hours since {date} {zone}"), Calendar::Standard);
            let base = TimeUnit::parse("hours since 2000-01-01 12:00", Calendar::Standard).unwrap();
            let found = unit.unwrap_or_else(|e| panic!("{e}")).to(&base).apply(0.0);
            assert!((found + hours).abs() < 1e-12, "{zone}: {found}");
        }
    }
    for zone in ["+", "-", "6:0", "+6:", "+24", "+6:60", "+123456", "CET", "UTC3", "+6:00:00", "+1 2", "--6"]
    {
        let text = format!("hours since 2000-01-01 12:00 {zone}");
        assert!(TimeUnit::parse(&text, Calendar::Standard).is_err(), "{text}");
    }
}

#[test]
fn months_and_years_are_those_of_udunits_and_cftime() {
    let show = |unit: &str, calendar: &str, x: f64| {
        let calendar = Calendar::new(Some(calendar)).unwrap();
        TimeUnit::parse(&format!("{unit} since 2000-01-01"), calendar).unwrap().moment(x).unwrap().iso()
    };
    for calendar in ["standard", "proleptic_gregorian", "julian"] {
        // 30.436849898416 days; 365.242198781 days.
        assert_eq!(show("months", calendar, 1.0), "2000-01-31T10:29:03.831223", "{calendar}");
        assert_eq!(show("years", calendar, 1.0), "2000-12-31T05:48:45.974678", "{calendar}");
        assert_eq!(show("common_years", calendar, 1.0), "2000-12-31T00:00:00", "{calendar}");
    }
    for calendar in ["360_day", "360"] {
        assert_eq!(show("months", calendar, 1.5), "2000-02-16T00:00:00");
        assert_eq!(show("years", calendar, 1.0), "2001-01-01T00:00:00");
    }
    assert_eq!(show("common_year", "noleap", 1.5), "2001-07-02T12:00:00");
    assert_eq!(show("nanoseconds", "standard", 1500.0), "2000-01-01T00:00:00.000002");
}

#[test]
fn moments_are_rounded_once() {
    let seconds = TimeUnit::parse("seconds since 2000-01-01", Calendar::Standard).unwrap();
    let iso = |x: f64| seconds.moment(x).map(|m| m.iso());
    assert_eq!(iso(0.123_456_789).as_deref(), Some("2000-01-01T00:00:00.123457"));
    assert_eq!(iso(0.000_000_5).as_deref(), Some("2000-01-01T00:00:00"), "the even one");
    assert_eq!(iso(-0.000_001).as_deref(), Some("1999-12-31T23:59:59.999999"));
    assert_eq!(iso(5e-324).as_deref(), Some("2000-01-01T00:00:00"));
    for far in [f64::MAX, -1e14, f64::INFINITY, 9.3e12] {
        assert_eq!(iso(far), None, "{far}");
    }
    let large = TimeUnit::parse("nanoseconds since 1970-01-01", Calendar::Standard).unwrap();
    let exact = large.moment_of_integer(1_234_567_890_123_456_789).unwrap();
    assert_eq!(exact.iso(), "2009-02-13T23:31:30.123457");
    assert_eq!(seconds.show(42.5), "2000-01-01 00:00:42.5");
    assert_eq!(seconds.show(42.26), "2000-01-01 00:00:42");
    assert_eq!(seconds.show(-0.000_001), "2000-01-01");
}

#[test]
fn periods_are_as_exact_as_they_are_written() {
    let days = TimeUnit::parse("days since 1999-12-01", Calendar::Day360).unwrap();
    let inside = |text: &str, x: f64| {
        let span = text.parse::<Period>().unwrap().within(Calendar::Day360).unwrap();
        span.contains(&days.moment(x).unwrap())
    };
    for (text, from, to) in [
        ("2000", 30.0, 390.0),
        ("2000-12", 360.0, 390.0),
        ("2000-02-30", 89.0, 90.0),
        ("2000-1-1", 30.0, 31.0),
        ("2000-01-01T06", 30.25, 30.25 + 1.0 / 24.0),
        ("2000-01-01 06:00", 30.25, 30.25 + 1.0 / 1440.0),
        ("2000-01-01_06:00:00", 30.25, 30.25 + 1.0 / 86_400.0),
        ("2000-01-01T06:00:00Z", 30.25, 30.25 + 1.0 / 86_400.0),
    ] {
        let instant = 1e-7;
        let found = [from - instant, from, to - instant, to].map(|x| inside(text, x));
        assert_eq!(found, [false, true, true, false], "{text}");
    }
    for bad in [
        "",
        "x",
        "2000-",
        "2000-13-01T",
        "2000-01-01T24",
        "2000-01-01T06:60",
        "2000-01-01x",
        "1e5",
        "2000-01-01 06:00 +5",
    ] {
        assert!(bad.parse::<Period>().is_err(), "{bad}");
    }
    for bad in ["2000-13", "2000-02-31", "2000-00-01"] {
        assert!(bad.parse::<Period>().unwrap().within(Calendar::Day360).is_err(), "{bad}");
    }
    // There is no year 0 between.
    let year = "-1".parse::<Period>().unwrap().within(Calendar::Standard).unwrap();
    let last = TimeUnit::parse("days since 1-1-1", Calendar::Standard).unwrap();
    assert!(year.contains(&last.moment(-1.0).unwrap()) && !year.contains(&last.moment(0.0).unwrap()));
}
