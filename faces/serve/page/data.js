// Numbers as people read them.

export const encode = (names) => names.map(encodeURIComponent).join("/");

const MISSING = 9.969209968386869e36;

/** Unpacks values and makes missing ones NaN, as the attributes say. */
export function unpack(values, variable) {
  const a = variable.attribute_values;
  const number = (x) => (typeof x === "number" ? x : NaN);
  const list = (x) => (Array.isArray(x) ? x : [x]).map(number).filter((x) => !Number.isNaN(x));
  const missing = [...list(a._FillValue), ...list(a.missing_value)];
  if (variable.type === "float" || variable.type === "double") missing.push(MISSING);
  const scale = Number.isFinite(a.scale_factor) ? a.scale_factor : 1;
  const offset = Number.isFinite(a.add_offset) ? a.add_offset : 0;
  // A double that is too large for a float is not the float's infinity.
  const near = variable.type === "float" ? (x) => missing.some((m) => Math.fround(m) === x && (Number.isFinite(x) || m === x)) : (x) => missing.includes(x);
  const low = number(a.valid_min), high = number(a.valid_max);
  return values.map((x) => (near(x) || x < low || x > high ? NaN : x * scale + offset));
}

export const size = (n) => {
  for (const unit of ["B", "KiB", "MiB", "GiB", "TiB"]) {
    if (n < 1024 || unit === "TiB") return `${unit === "B" ? n : n.toFixed(1)} ${unit}`;
    n /= 1024;
  }
};

export const short = (x) => (Number.isNaN(x) ? "missing" : Math.abs(x) >= 1e6 || (x !== 0 && Math.abs(x) < 1e-3) ? x.toExponential(3) : String(+x.toPrecision(6)));

const UNITS = { second: 1, sec: 1, s: 1, minute: 60, min: 60, hour: 3600, hr: 3600, h: 3600, day: 86400, d: 86400 };

/** Returns a function that writes a coordinate's value with its unit: a date where it is one of the usual calendar. */
export function words_of(variable) {
  const units = variable?.attribute_values?.units, dates = dates_of(variable);
  return dates ?? ((x) => `${short(x)}${typeof units === "string" ? " " + units.slice(0, 30) : ""}`);
}

/** The same for ticks of an axis, without the unit. */
export const ticks_of = (variable) => dates_of(variable) ?? short;

function dates_of(variable) {
  const units = variable?.attribute_values?.units;
  const calendar = String(variable?.attribute_values?.calendar ?? "standard").toLowerCase();
  const found = typeof units === "string" && /^\s*(\w+?)s?\s+since\s+(\d{1,4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{1,2}):?(\d{2})?:?(\d{2})?)?/i.exec(units);
  const step = found && UNITS[found[1].toLowerCase()];
  // The Julian calendar ends in 1582: dates before are left as numbers.
  if (step && ["standard", "gregorian", "proleptic_gregorian"].includes(calendar)) {
    const [year, month, day, hour = 0, minute = 0, second = 0] = found.slice(2).map((x) => (x === undefined ? undefined : Number(x)));
    const start = new Date(0);
    start.setUTCFullYear(year, month - 1, day);
    start.setUTCHours(hour, minute, second);
    if (year > 1582 || calendar === "proleptic_gregorian") {
      return (x) => {
        const date = new Date(start.getTime() + x * step * 1000);
        return Number.isNaN(date.getTime()) ? short(x) : date.toISOString().slice(0, 16).replace("T00:00", "").replace("T", " ");
      };
    }
  }
  return null;
}

/** True for latitudes (`axis` is "y") or longitudes ("x"), as the library tells them. */
export function is_axis(variable, axis) {
  return variable?.coordinate === (axis === "y" ? "latitude" : "longitude");
}
