// One file: its variables, and one of them as a map or a series. What it reads from, and where the address is kept, is said by whoever shows it.

import { is_axis, short, size, ticks_of, unpack, words_of } from "./data.js";
import { draw, extent, histogram } from "./map.js";

export const $ = (id) => document.getElementById(id);
/** Cells of a map along each side; of more, some are left out. */
const CELLS = 720;
/** The longest dimension whose coordinates are kept: an array of some 30 MB. */
const COORDINATES = 4_000_000;

/** What of the file is shown: variable, an index for each dimension, the cell of the cross, colours. */
export const state = { variable: null, at: {}, cross: null, low: null, high: null, colours: "viridis", coast: true };
/** Another file, or another variable. */
export const AFRESH = { at: {}, cross: null, low: null, high: null };
let data = null, field = null, picture = null, chart = null, drawn = null, page = null, turn = 0;

/**
 * Runs a page. `given` has: `place`, which says which file; `address(query)`, the address behind its #, and `read(text)`, which takes place and
 * state from it; `show(mine)`, which shows them, and ends where `is_current(mine)` is false, because another state was asked for.
 */
export function run(given) {
  page = given;
  const again = () => page.show(++turn), read = () => page.read(location.hash.slice(1));
  let later;
  window.addEventListener("resize", () => { clearTimeout(later); later = setTimeout(again, 200); });
  window.addEventListener("hashchange", () => { read(); again(); });
  read();
  again();
}

export const is_current = (mine) => mine === turn;

/** Shows another state, and another place if `to` has one. */
export async function go(change, to = {}) {
  Object.assign(state, change);
  Object.assign(page.place, to);
  moved();
  await page.show(++turn);
}

/** Writes place and state to the address. */
function moved() {
  const hash = `#${page.address(to_query())}`;
  if (hash !== location.hash) history.replaceState(null, "", hash);
}

/** The state as a part of an address. */
function to_query() {
  const q = new URLSearchParams();
  if (state.variable !== null) q.set("v", state.variable);
  for (const [dim, n] of Object.entries(state.at)) if (n) q.set(`i.${dim}`, n);
  if (state.cross) q.set("x", state.cross.join(","));
  if (state.low !== null) q.set("r", `${state.low},${state.high}`);
  if (state.colours !== "viridis") q.set("c", state.colours);
  if (!state.coast) q.set("coast", "0");
  return q;
}

export function from_query(q) {
  state.variable = q.get("v");
  state.at = {};
  for (const [key, n] of q) if (key.startsWith("i.")) state.at[key.slice(2)] = Math.max(0, Math.trunc(Number(n)) || 0);
  const pair = (text) => { const p = (text ?? "").split(",").map(Number); return p.length === 2 && p.every(Number.isFinite) ? p : null; };
  state.cross = pair(q.get("x"));
  [state.low, state.high] = pair(q.get("r")) ?? [null, null];
  state.colours = ["blue-red", "grey"].includes(q.get("c")) ? q.get("c") : "viridis";
  state.coast = q.get("coast") !== "0";
}

export const say = (text) => { $("status").textContent = text; };
export const element = (name, text, attributes = {}) => {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  return e;
};
const describe = (list, attributes) => {
  list.replaceChildren();
  for (const [name, value] of Object.entries(attributes)) list.append(element("dt", name), element("dd", Array.isArray(value) ? value.join(", ") : String(value)));
};

/**
 * Shows a file. `shown` has what its JSON has, and: `title`; `links`, nodes for the line below the title; `numbers(variable, parts)`, which
 * gives doubles, `parts` being an index, or [first, stride, last], for each dimension; `download(text, variable, form, parts)`, a node by which
 * the parts are saved as "nc" or "csv", all of the variable where `parts` is null.
 */
export async function show_file(shown, turn) {
  if (data?.shown !== shown) {
    data = { shown, ...shown, by_name: new Map(shown.variables.map((v) => [v.name, v])), coordinates: new Map() };
    field = null;
  }
  document.title = `${data.title} – nc3z`;
  $("file").hidden = $("variables").hidden = false;
  $("file-title").textContent = data.title;
  const stored = data.archive_bytes ? `, archive ${size(data.archive_bytes)}` : "";
  $("links").replaceChildren(`${data.format}, ${size(data.original_bytes)}${stored}`, ...data.links);
  describe($("attributes"), data.attributes);
  const body = $("variables").tBodies[0];
  body.replaceChildren();
  for (const v of data.variables) {
    const row = element("tr"), name = element("td"), button = element("button", v.name, { type: "button", class: "name" });
    if (v.name === state.variable) row.setAttribute("aria-current", "true");
    button.addEventListener("click", () => go({ ...AFRESH, variable: v.name }));
    name.append(button);
    const shape = v.dimensions.map((d, n) => `${d}=${v.shape[n]}`).join(" ");
    row.append(name, element("td", v.type), element("td", shape || "one value"), element("td", size(v.original_bytes), { class: "number" }), element("td", v.stored_bytes === undefined ? "" : size(v.stored_bytes), { class: "number" }), element("td", String(v.attribute_values.long_name ?? v.attribute_values.standard_name ?? "")));
    body.append(row);
  }
  const variable = data.by_name.get(state.variable);
  $("variable").hidden = !variable;
  if (variable) await show_variable(variable, turn);
  else say(`${data.variables.length} variables.`);
}

/** The coordinate variable of a dimension, and its values; indices where there is none. */
async function coordinate(dim, len) {
  if (!data.coordinates.has(dim)) {
    if (len > COORDINATES) throw new Error(`dimension ${dim} has ${len} indices, and the page draws at most ${COORDINATES}; download a part instead`);
    const variable = data.by_name.get(dim);
    const is_one = variable && variable.shape.length === 1 && variable.dimensions[0] === dim && variable.type !== "char" && len > 0;
    const values = is_one ? [...unpack(await data.numbers(variable, [[0, 1, len - 1]]), variable)] : null;
    data.coordinates.set(dim, { variable: is_one ? variable : null, values: values ?? Array.from({ length: len }, (_, n) => n) });
  }
  return data.coordinates.get(dim);
}

/** Takes away what was drawn of another variable. */
function blank() {
  field = picture = null;
  $("map-box").hidden = true;
  $("histogram").parentElement.hidden = true;
  $("sliders").replaceChildren();
  clear_series("");
}

function show_histogram(values, range) {
  $("histogram").parentElement.hidden = false;
  histogram($("histogram"), values, range);
}

async function show_variable(variable, turn) {
  const { dimensions: dims, shape } = variable;
  $("variable-title").textContent = `${variable.name}: ${variable.attribute_values.long_name ?? ""} ${variable.attribute_values.units ? `[${variable.attribute_values.units}]` : ""}`;
  describe($("variable-attributes"), variable.attribute_values);
  downloads(variable);
  if (drawn !== variable) blank();
  drawn = variable;
  if (variable.type === "char" || shape.includes(0)) {
    say(shape.includes(0) ? "The variable has no elements." : "Text: download it to see it.");
    return;
  }
  const axes = [];
  for (let n = 0; n < dims.length; n++) axes.push(await coordinate(dims[n], shape[n]));
  if (!is_current(turn)) return;
  // A map is of latitude and longitude where they are there, else of the last two dimensions.
  let x = axes.findIndex((a) => is_axis(a.variable, "x")), y = axes.findIndex((a) => is_axis(a.variable, "y"));
  const is_map = x >= 0 && y >= 0;
  if (!is_map) { x = dims.length - 1; y = dims.length - 2; }
  for (let n = 0; n < dims.length; n++) state.at[dims[n]] = Math.min(state.at[dims[n]] ?? 0, shape[n] - 1);
  sliders(variable, axes, dims.length > 1 ? [x, y] : [0]);
  downloads(variable);
  if (dims.length < 2) { $("map-box").hidden = true; await series(variable, axes, 0, turn); return; }
  say("Reading values …");
  const step = (n) => Math.max(1, Math.ceil(shape[n] / CELLS));
  const parts = dims.map((d, n) => (n === x || n === y ? [0, step(n), shape[n] - 1] : state.at[d]));
  const values = unpack(await data.numbers(variable, parts), variable);
  if (!is_current(turn)) return;
  const pick = (n) => axes[n].values.filter((_, i) => i % step(n) === 0);
  const xs = pick(x), ys = pick(y), turned = x < y;
  const title = (n) => axes[n].variable?.attribute_values.units ? `${dims[n]} (${axes[n].variable.attribute_values.units})` : dims[n];
  field = {
    x: monotone(xs) ? xs : xs.map((_, n) => n), y: monotone(ys) ? ys : ys.map((_, n) => n), is_map: is_map && monotone(xs) && monotone(ys),
    x_name: title(x), y_name: title(y), step: [step(y), step(x)], variable, axes, dims: [y, x], values,
    at: (row, column) => values[turned ? column * ys.length + row : row * xs.length + column],
    extent: extent(values),
  };
  $("map-box").hidden = false;
  if (state.cross) state.cross = [Math.min(state.cross[0], shape[y] - 1), Math.min(state.cross[1], shape[x] - 1)];
  await paint();
  const { low, high, mean, count } = field.extent;
  const thin = field.step.some((n) => n > 1) ? `; every ${Math.max(...field.step)}th cell is shown` : "";
  say(count ? `${variable.name}: ${count} of ${values.length} values, ${short(low)} to ${short(high)}, mean ${short(mean)}${thin}.` : `${variable.name}: all values are missing here.`);
  show_histogram(values, field.extent);
  $("histogram").setAttribute("aria-label", $("status").textContent);
  // The series is along the first dimension that is not an axis of the map; else along the map's rows.
  const along = dims.findIndex((_, n) => n !== x && n !== y && shape[n] > 1);
  if (state.cross) await series(variable, axes, along < 0 ? x : along, turn);
  else clear_series("Choose a place on the map for its series.");
}

const monotone = (a) => a.every(Number.isFinite) && (a.every((x, n) => !n || x > a[n - 1]) || a.every((x, n) => !n || x < a[n - 1]));

async function paint() {
  if (!field) return;
  const { low, high, count } = field.extent;
  const view = { low: state.low ?? (count ? low : 0), high: state.high ?? (count ? high : 1), colours: state.colours, coast: state.coast, cross: null };
  if (state.cross) view.cross = [Math.floor(state.cross[0] / field.step[0]), Math.floor(state.cross[1] / field.step[1])];
  picture = await draw($("map"), field, view);
  $("low").value = +view.low.toPrecision(6);
  $("high").value = +view.high.toPrecision(6);
  $("colours").value = state.colours;
  $("coast").checked = state.coast;
  $("map").setAttribute("aria-label", `Map of ${field.variable.name} over ${field.x_name} and ${field.y_name}, ${short(view.low)} to ${short(view.high)}`);
  read();
}

/** Says what is at the cross. */
function read(cell = state.cross) {
  if (!field || !cell) { $("read").textContent = ""; return; }
  const [y, x] = field.dims, words = (n, i) => `${field.variable.dimensions[n]} ${words_of(field.axes[n].variable)(field.axes[n].values[i])}`;
  const value = field.at(Math.floor(cell[0] / field.step[0]), Math.floor(cell[1] / field.step[1]));
  $("read").textContent = `${words(y, cell[0])}, ${words(x, cell[1])}: ${short(value)} ${field.variable.attribute_values.units ?? ""}`;
}

function sliders(variable, axes, but) {
  const box = $("sliders"), had = document.activeElement?.dataset?.dim;
  box.replaceChildren();
  variable.dimensions.forEach((dim, n) => {
    if (but.includes(n) || variable.shape[n] < 2) return;
    const words = words_of(axes[n].variable), label = element("label"), out = element("output");
    const input = element("input", undefined, { type: "range", min: 0, max: variable.shape[n] - 1, step: 1, "data-dim": dim });
    const tell = () => { out.textContent = `${words(axes[n].values[input.value])} (${input.value})`; input.setAttribute("aria-valuetext", out.textContent); };
    input.value = state.at[dim];
    input.addEventListener("input", tell);
    input.addEventListener("change", () => go({ at: { ...state.at, [dim]: Number(input.value) } }));
    label.append(element("span", dim), input, out);
    box.append(label);
    tell();
    if (had === dim) input.focus();
  });
}

function clear_series(text) {
  chart?.destroy();
  chart = null;
  $("series").textContent = "";
  $("series-title").textContent = text;
}

async function series(variable, axes, along, turn) {
  const { dimensions: dims, shape } = variable, len = shape[along] ?? 1;
  const parts = dims.map((d, n) => {
    if (n === along) return [0, 1, len - 1];
    const axis = field && dims.length > 1 ? field.dims.indexOf(n) : -1;
    return axis >= 0 && state.cross ? state.cross[axis] : state.at[d];
  });
  const values = unpack(await data.numbers(variable, parts), variable);
  if (turn !== undefined && !is_current(turn)) return;
  if (!dims.length || len === 1) { clear_series(`${variable.name}: ${short(values[0])} ${variable.attribute_values.units ?? ""}`); return; }
  const axis = axes[along], words = words_of(axis.variable);
  const { low, high, mean, count } = extent(values);
  clear_series(`${variable.name} along ${dims[along]}: ${count} values, ${count ? `${short(low)} to ${short(high)}, mean ${short(mean)}` : "all missing"}`);
  const width = Math.max(200, $("series").getBoundingClientRect().width), color = getComputedStyle(document.body).color;
  const line = { stroke: color, grid: { stroke: "#8883" }, ticks: { stroke: "#8886" } };
  const xs = monotone(axis.values) ? axis.values : axis.values.map((_, n) => n);
  const rows = xs.map((x, n) => [x, Number.isNaN(values[n]) ? null : values[n]]).sort((a, b) => a[0] - b[0]);
  chart = new uPlot({
    width, height: 220, scales: { x: { time: false } }, cursor: { drag: { x: true, y: false } },
    axes: [{ ...line, values: (_, all) => all.map(ticks_of(axis.variable)), space: 130 }, { ...line, size: 70 }],
    series: [{ label: dims[along], value: (_, x) => (x === null ? "" : words(x)) }, { label: variable.name, stroke: "#1565c0", width: 1.5, points: { show: len < 60 } }],
  }, [rows.map((r) => r[0]), rows.map((r) => r[1])], $("series"));
  chart.ctx.canvas.setAttribute("role", "img");
  chart.ctx.canvas.setAttribute("aria-label", $("series-title").textContent);
  if (dims.length < 2) {
    show_histogram(values, extent(values));
    say($("series-title").textContent);
  }
}

function downloads(variable) {
  const { dimensions: dims, shape } = variable;
  const axes = field?.variable === variable ? field.dims : [dims.length - 1, dims.length - 2];
  // All of a text, whatever its length.
  const shown = dims.map((d, n) => (axes.includes(n) || (variable.type === "char" && n === dims.length - 1) ? [0, 1, shape[n] - 1] : state.at[d] ?? 0));
  const links = (parts) => [data.download("netCDF", variable, "nc", parts), " · ", data.download("CSV", variable, "csv", parts)];
  $("downloads").replaceChildren("Download what is shown: ", ...links(shown), "; the whole variable: ", ...links(null));
}

$("map").addEventListener("mousemove", (e) => {
  const found = picture?.find(e.offsetX, e.offsetY);
  read(found ? [found[0] * field.step[0], found[1] * field.step[1]] : state.cross);
});
$("map").addEventListener("mouseleave", () => read());
$("map").addEventListener("click", (e) => {
  const found = picture?.find(e.offsetX, e.offsetY);
  if (found) go({ cross: [found[0] * field.step[0], found[1] * field.step[1]] });
});
$("map").addEventListener("keydown", (e) => {
  if (!field) return;
  const [y, x] = field.dims, up = field.y[field.y.length - 1] > field.y[0] ? 1 : -1;
  const moves = { ArrowUp: [up, 0], ArrowDown: [-up, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  if (e.key === "Enter" && state.cross) { go({}); return; }
  if (!moves[e.key]) return;
  e.preventDefault();
  const limit = [field.variable.shape[y] - 1, field.variable.shape[x] - 1];
  const from = state.cross ?? limit.map((n) => n >> 1), fast = e.shiftKey ? 10 : 1;
  state.cross = from.map((n, i) => Math.max(0, Math.min(limit[i], n + moves[e.key][i] * field.step[i] * fast)));
  moved();
  paint();
});
$("range").addEventListener("submit", (e) => {
  e.preventDefault();
  const low = $("low").valueAsNumber, high = $("high").valueAsNumber;
  if (!(low < high)) { say("The first colour's value must be below the last one's."); return; }
  Object.assign(state, { low, high });
  moved();
  paint();
});
$("auto").addEventListener("click", () => { Object.assign(state, { low: null, high: null }); moved(); paint(); });
$("colours").addEventListener("change", (e) => { state.colours = e.target.value; moved(); paint(); });
$("coast").addEventListener("change", (e) => { state.coast = e.target.checked; moved(); paint(); });
