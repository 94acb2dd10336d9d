"""Asks UDUNITS-2 (libudunits2.so.0) and cftime what units mean, and writes their answers down for the tests of nc3z-format.

    python3 scripts/units_oracle.py > nc3z-format/src/units/oracle.txt

Lines: `udunits FROM | TO | number | answer` and `cftime CALENDAR | FROM | TO | number | answer`; the answer is `refused` where
there is none."""

import ctypes
import random

import cftime

ut = ctypes.CDLL("libudunits2.so.0")
for name in ("ut_read_xml", "ut_parse", "ut_get_converter"):
    getattr(ut, name).restype = ctypes.c_void_p
ut.ut_parse.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
ut.ut_get_converter.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
ut.cv_convert_double.argtypes = [ctypes.c_void_p, ctypes.c_double]
ut.cv_convert_double.restype = ctypes.c_double
ut.ut_set_error_message_handler.argtypes = [ctypes.c_void_p]
ut.ut_set_error_message_handler(ctypes.cast(ut.ut_ignore, ctypes.c_void_p))
SYSTEM = ut.ut_read_xml(None)
UTF8 = 2

# Units met in 1,153 public classic files, without those that are times since a date.
CORPUS = """decibar;inches;degree_Celsius;degrees_east;degrees_north;m;micromole/kg;degree_north;degree_east;K;m-1;mg/m3;meters;
angstrom;meter;W/m^2/nm;degrees;1;degree;m/s;picosecond;Pa;kg m-2 s-1;degrees_N;degrees_E;ppb;mm;hPa;METERS;mg/m^3;uatm;km;kg m-3;
kelvin;m s-1;%;cm/sec;hours;millibars;count;kg m-2;degC;days;m2;angstrom/picosecond;percent;meter/sec;W/m^2;millimeters;
dynes/cm**2;meter second-1;moles;rad;Celsius;watt meter-2;m s**-1;kg/kg;umol/mol;radians;mol m-2 s-1;W m-2;J kg-1;g/kg;mbar;
bar;atm;kPa;cm;nm;um;Hz;MHz;V;mV;A;ohm;S/m;mS/cm;degF;degree_Fahrenheit;degK;Kelvin;ug/m3;ug m-3;kg;g;t;litre;l;ml;m3;m3 s-1;
m3/s;km2;ha;knot;knots;kt;mph;feet;ft;mile;nautical_mile;minute;second;s;ms;us;ns;week;year;month;arcsec;arcmin;sr;W sr-1;lux;
N m-2;N/m2;dyne;erg;cal;eV;1e-3;0.001;1e3 m;10 m;1e-6 m2 s-1;m+2;kg.m.s-2;kg*m/s2;(m/s)^2;s-1;1/s;/s;per second;m per second;
mole fraction;PPM;ppm;ppmv;DU;dobson;TECU;sverdrup;Sv;gal;mGal;nT;T;gauss;rpm;deg_C;degree_C;degrees_C;degrees_K;degree;°;°C;µm;
m²;m⁻¹;K m-1;degC m-1;degC/day;J/(kg K);W m-2 K-1;kg kg-1;mol mol-1;mmol m-3;umol l-1;ug/l;meq;psi;inHg;mmHg;torr;Torr;cmH2O;
H2O;g cm-3;degree_true;degrees_true;psu;nounits;dimensionless;PSU;none;per mil v PDB;microMoleQuanta/m^2/sec;fraction;unitless;
category;mhos/m;integer;nondimensional;YYYYMO;-;M/S;[sng];level;Degs;degrees longitude;g cm{-2};kgC.m-2.yr-1;decibar=10000 pascals;
meters MSL;indexical;yyyy;farenheit;Ns/m^2;unknown;unk;DEGaz;tenths of mm;#;hybrid_sigma_pressure;precent;p.s.u.;mho/meter;
M/Z;n/a;meters_per_second;(meter * meter)/Hz;in code;m{3} m{-3};time level;mmday**-1""".replace("\n", "").split(";")
TO = ["m", "K", "Pa", "1", "m s-1", "kg m-3", "kg m-2 s-1", "rad", "s", "kg", "m2", "mol kg-1", "W m-2", "degC", "km", "hPa", "g/kg", "mm",
      "m3", "J", "mol m-3", "s-1", "m3 s-1", "K m-1", "m-1"]


def convert(a, b, x):
    ua, ub = ut.ut_parse(SYSTEM, a.encode(), UTF8), ut.ut_parse(SYSTEM, b.encode(), UTF8)
    if not ua or not ub:
        return None
    cv = ut.ut_get_converter(ua, ub)
    if not cv:
        return None
    y, twice = ut.cv_convert_double(cv, x), ut.cv_convert_double(cv, 2 * x)
    # UDUNITS also converts wavelengths to wave numbers, which nc3z does not.
    return None if abs(twice * 2 - y) < 1e-9 * abs(y) else y


def line(*fields):
    print(" | ".join(fields))


rng = random.Random(19)
print("# Made by scripts/units_oracle.py: answers of UDUNITS-2 2.2.28 and cftime", cftime.__version__)
for unit in CORPUS:
    if not ut.ut_parse(SYSTEM, unit.encode(), UTF8):
        line("udunits " + unit, unit, "1.0", "refused")
        continue
    found = [(to, convert(unit, to, 2.5)) for to in TO]
    found = [pair for pair in found if pair[1] is not None] or [(unit, 2.5)]
    for to, y in found[:2]:
        line("udunits " + unit, to, "2.5", repr(y))
NAMES = ["m", "km", "kg", "g", "s", "hour", "day", "K", "mol", "Pa", "hPa", "W", "J", "N", "degree", "inch", "litre", "bar", "ampere", "V"]
for _ in range(400):
    parts = [(rng.choice(NAMES), rng.choice([-3, -2, -1, 1, 1, 1, 2, 3])) for _ in range(rng.randint(1, 4))]
    styles = [lambda n, p: f"{n}{p}" if p != 1 else n, lambda n, p: f"{n}^{p}", lambda n, p: f"{n}**{p}"]
    style = rng.choice(styles)
    text = rng.choice([" ", ".", "*"]).join(style(n, p) for n, p in parts)
    base = " ".join(f"{ {'km': 'm', 'g': 'kg', 'hour': 's', 'day': 's', 'hPa': 'Pa', 'inch': 'm', 'bar': 'Pa'}.get(n, n) }{p}" for n, p in parts)
    y = convert(text, base, 1.75)
    line("udunits " + text, base, "1.75", "refused" if y is None else repr(y))
CALENDARS = ["standard", "gregorian", "proleptic_gregorian", "julian", "noleap", "365_day", "all_leap", "366_day", "360_day"]
UNITS = ["days", "hours", "minutes", "seconds", "day", "hr", "msecs", "d"]


def reference():
    year = rng.choice([rng.randint(1, 3000), rng.randint(1580, 1585), rng.randint(1850, 2100)])
    date = f"{year:04d}-{rng.randint(1, 12):02d}-{rng.randint(1, 31):02d}"
    time = rng.choice(["", " 00:00:00", f" {rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}:{rng.randint(0, 59):02d}",
                       f"T{rng.randint(0, 23):02d}:30:00Z", f" {rng.randint(0, 23)}:00", f" 12:00:00 {rng.choice('+-')}{rng.randint(0, 12):02d}:30"])
    return date + time


for _ in range(900):
    calendar = rng.choice(CALENDARS)
    a, b = (f"{rng.choice(UNITS)} since {reference()}" for _ in range(2))
    x = float(rng.randint(-50000, 50000))
    try:
        y = repr(float(cftime.date2num(cftime.num2date(x, a, calendar), b, calendar)))
    except (ValueError, OverflowError):
        y = "refused"
    line("cftime " + calendar, a, b, repr(x), y)
