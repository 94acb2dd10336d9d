// The page: which file, which variable, which part of it. All of this is in the address, so that it can be sent to others.

import { encode, is_axis, json, numbers, query_name, short, size, ticks_of, unpack, words_of } from "./data.js";
import { draw, extent, histogram } from "./map.js";
import { treemap } from "./treemap.js";

const $ = (id) => document.getElementById(id);
/** Cells of a map along each side; of more, some are left out. */
const CELLS = 720;

/** What is shown: directories and file, variable, an index for each dimension, the cell of the cross, colours. */
const state = { way: [], file: null, variable: null, at: {}, cross: null, low: null, high: null, colours: "viridis", coast: true };
let data = null, field = null, picture = null, chart = null, turn = 0;

function to_hash() {
  const q = new URLSearchParams();
  if (state.variable !== null) q.set("v", state.variable);
  for (const [dim, n] of Object.entries(state.at)) if (n) q.set(`i.${dim}`, n);
  if (state.cross) q.set("x", state.cross.join(","));
  if (state.low !== null) q.set("r", `${state.low},${state.high}`);
  if (state.colours !== "viridis") q.set("c", state.colours);
  if (!state.coast) q.set("coast", "0");
  const path = "/" + encode(state.way) + (state.way.length ? "/" : "") + (state.file === null ? "" : encodeURIComponent(state.file));
  const hash = `#${path}${String(q) ? "?" + q : ""}`;
  if (hash !== location.hash) history.replaceState(null, "", hash);
}

function from_hash() {
  const [path, query = ""] = (location.hash.slice(1) || "/").split("?");
  const names = path.split("/").slice(1).map(decodeURIComponent);
  const q = new URLSearchParams(query);
  state.file = names.pop() || null;
  state.way = names;
  state.variable = q.get("v");
  state.at = {};
  for (const [key, n] of q) if (key.startsWith("i.")) state.at[key.slice(2)] = Math.max(0, Math.trunc(Number(n)) || 0);
  const pair = (text) => { const p = (text ?? "").split(",").map(Number); return p.length === 2 && p.every(Number.isFinite) ? p : null; };
  state.cross = pair(q.get("x"));
  [state.low, state.high] = pair(q.get("r")) ?? [null, null];
  state.colours = ["blue-red", "grey"].includes(q.get("c")) ? q.get("c") : "viridis";
  state.coast = q.get("coast") !== "0";
}

const say = (text) => { $("status").textContent = text; };
const element = (name, text, attributes = {}) => {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  return e;
};
const directory = () => "/" + encode(state.way) + (state.way.length ? "/" : "");
const path = () => directory() + encodeURIComponent(state.file);

async function go(change) {
  Object.assign(state, change);
  to_hash();
  await show();
}

async function show() {
  const mine = ++turn;
  try {
    await show_tree(mine);
    if (mine !== turn) return;
    if (state.file === null) { $("file").hidden = $("variable").hidden = true; document.title = "nc3z"; return; }
    await show_file(mine);
  } catch (e) {
    say(`This did not work: ${e.message}`);
  }
}

let listed = null;
async function show_tree(mine) {
  const here = directory();
  if (listed !== here) {
    const { entries } = await json(here + "?json");
    if (mine !== turn) return;
    const list = element("ul"), names = new Set(entries.map((e) => e.name));
    const add = (text, way, file) => {
      const address = "#/" + encode(way) + (way.length ? "/" : "") + (file === null ? "" : encodeURIComponent(file));
      const item = element("li"), link = element("a", text, { href: address });
      item.append(link);
      list.append(item);
    };
    if (state.way.length) add("../", state.way.slice(0, -1), null);
    for (const e of entries) {
      // Archives are shown by the names of their originals.
      if (e.name.endsWith(".nc3z") && names.has(e.name.slice(0, -5))) continue;
      if (e.kind === "directory") add(e.name + "/", [...state.way, e.name], null);
      else add(e.name, state.way, e.name);
    }
    if (!list.children.length) list.append(element("li", "This directory is empty."));
    $("tree").replaceChildren(list);
    listed = here;
  }
  for (const link of $("tree").querySelectorAll("a")) {
    if (decodeURIComponent(link.hash) === decodeURIComponent("#" + here + (state.file ?? "")).replace(/\?.*/, "")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const way = element("span");
  ["", ...state.way].forEach((name, n) => {
    const to = state.way.slice(0, n);
    way.append(element("a", n ? name : "files", { href: "#/" + encode(to) + (n ? "/" : "") }), " / ");
  });
  if (state.file !== null) way.append(state.file);
  $("way").replaceChildren(way);
  if (state.file === null) {
    $("sizes").hidden = false;
    const { entries } = await json(here + "?sizes");
    if (mine !== turn) return;
    treemap($("treemap"), entries, (e) => go(e.kind === "directory" ? { way: [...state.way, e.name], file: null, variable: null } : { file: e.name.replace(/\.nc3z$/, ""), variable: null, at: {}, cross: null, low: null, high: null }));
    say(`${entries.length} names, ${size(entries.reduce((a, e) => a + e.bytes, 0))} on disk.`);
  } else $("sizes").hidden = true;
}

const describe = (list, attributes) => {
  list.replaceChildren();
  for (const [name, value] of Object.entries(attributes)) list.append(element("dt", name), element("dd", Array.isArray(value) ? value.join(", ") : String(value)));
};

async function show_file(mine) {
  const address = path();
  if (data?.address !== address) {
    say("Reading the file's description …");
    let found;
    try { found = await json(address + ".json"); } catch (e) {
      if (mine !== turn) return;
      data = null;
      $("variable").hidden = true;
      $("file").hidden = false;
      $("file-title").textContent = state.file;
      $("links").replaceChildren(element("a", "the file", { href: address }));
      $("variables").hidden = true;
      $("attributes").replaceChildren();
      say(e.message);
      return;
    }
    if (mine !== turn) return;
    data = { address, ...found, by_name: new Map(found.variables.map((v) => [v.name, v])), coordinates: new Map() };
  }
  document.title = `${state.file} – nc3z`;
  $("file").hidden = $("variables").hidden = false;
  $("file-title").textContent = state.file;
  const link = (text, end) => element("a", text, { href: address + end });
  const stored = data.archive_bytes ? `, archive ${size(data.archive_bytes)}` : "";
  $("links").replaceChildren(`${data.format}, ${size(data.original_bytes)}${stored}: `, link("the original", ""), " · ", link("DAP2", ".html"), " · ", link("JSON", ".json"), ...(data.archive_bytes ? [" · ", link("the archive", ".nc3z")] : []), ` · in netCDF programs: ${location.origin}${address}`);
  describe($("attributes"), data.attributes);
  const body = $("variables").tBodies[0];
  body.replaceChildren();
  for (const v of data.variables) {
    const row = element("tr"), name = element("td"), button = element("button", v.name, { type: "button", class: "name" });
    if (v.name === state.variable) row.setAttribute("aria-current", "true");
    button.addEventListener("click", () => go({ variable: v.name, at: {}, cross: null, low: null, high: null }));
    name.append(button);
    const shape = v.dimensions.map((d, n) => `${d}=${v.shape[n]}`).join(" ");
    row.append(name, element("td", v.type), element("td", shape || "one value"), element("td", size(v.stored_bytes ?? v.original_bytes), { class: "number" }), element("td", String(v.attribute_values.long_name ?? v.attribute_values.standard_name ?? "")));
    body.append(row);
  }
  const variable = data.by_name.get(state.variable);
  $("variable").hidden = !variable;
  if (variable) await show_variable(variable, mine);
  else say(`${data.variables.length} variables.`);
}

/** The coordinate variable of a dimension, and its values; indices where there is none. */
async function coordinate(dim, len) {
  if (!data.coordinates.has(dim)) {
    const variable = data.by_name.get(dim);
    const is_one = variable && variable.shape.length === 1 && variable.dimensions[0] === dim && variable.type !== "char" && len > 0;
    const values = is_one ? [...unpack(await numbers(data.address, dim, [[0, 1, len - 1]]), variable)] : null;
    data.coordinates.set(dim, { variable: is_one ? variable : null, values: values ?? Array.from({ length: len }, (_, n) => n) });
  }
  return data.coordinates.get(dim);
}

async function show_variable(variable, mine) {
  const { dimensions: dims, shape } = variable;
  $("variable-title").textContent = `${variable.name}: ${variable.attribute_values.long_name ?? ""} ${variable.attribute_values.units ? `[${variable.attribute_values.units}]` : ""}`;
  describe($("variable-attributes"), variable.attribute_values);
  downloads(variable);
  if (variable.type === "char" || shape.includes(0)) {
    $("map-box").hidden = true;
    $("sliders").replaceChildren();
    say(shape.includes(0) ? "The variable has no elements." : "Text: download it, or see its values by DAP2.");
    return;
  }
  const axes = [];
  for (let n = 0; n < dims.length; n++) axes.push(await coordinate(dims[n], shape[n]));
  if (mine !== turn) return;
  // A map is of latitude and longitude where they are there, else of the last two dimensions.
  let x = axes.findIndex((a) => is_axis(a.variable, "x")), y = axes.findIndex((a) => is_axis(a.variable, "y"));
  const is_map = x >= 0 && y >= 0;
  if (!is_map) { x = dims.length - 1; y = dims.length - 2; }
  for (let n = 0; n < dims.length; n++) state.at[dims[n]] = Math.min(state.at[dims[n]] ?? 0, shape[n] - 1);
  sliders(variable, axes, dims.length > 1 ? [x, y] : [0]);
  downloads(variable);
  if (dims.length < 2) { $("map-box").hidden = true; await series(variable, axes, 0, mine); return; }
  say("Reading values …");
  const step = (n) => Math.max(1, Math.ceil(shape[n] / CELLS));
  const parts = dims.map((d, n) => (n === x || n === y ? [0, step(n), shape[n] - 1] : state.at[d]));
  const values = unpack(await numbers(data.address, variable.name, parts), variable);
  if (mine !== turn) return;
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
  histogram($("histogram"), values, field.extent);
  $("histogram").setAttribute("aria-label", $("status").textContent);
  // The series is along the first dimension that is no axis of the map; else along the map's rows.
  const along = dims.findIndex((_, n) => n !== x && n !== y && shape[n] > 1);
  if (state.cross) await series(variable, axes, along < 0 ? x : along, mine);
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

async function series(variable, axes, along, mine) {
  const { dimensions: dims, shape } = variable, len = shape[along] ?? 1;
  const parts = dims.map((d, n) => {
    if (n === along) return [0, 1, len - 1];
    const axis = field && dims.length > 1 ? field.dims.indexOf(n) : -1;
    return axis >= 0 && state.cross ? state.cross[axis] : state.at[d];
  });
  const values = unpack(await numbers(data.address, variable.name, parts), variable);
  if (mine !== undefined && mine !== turn) return;
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
    histogram($("histogram"), values, extent(values));
    say($("series-title").textContent);
  }
}

function downloads(variable) {
  const { dimensions: dims, shape, name } = variable;
  const axes = field?.variable === variable ? field.dims : [dims.length - 1, dims.length - 2];
  const seen = variable.type === "char" ? dims.length - 1 : dims.length;
  const words = dims.slice(0, Math.max(0, seen)).map((d, n) => (axes.includes(n) ? `[0:${shape[n] - 1}]` : `[${state.at[d] ?? 0}]`)).join("");
  const link = (text, end, query) => element("a", text, { href: `${data.address}${end}?${encodeURIComponent(query_name(name) + query)}`, download: `${state.file.replace(/\.(nc|cdf)$/, "")}_${name}${end}` });
  $("downloads").replaceChildren("Download what is shown: ", link("netCDF", ".nc", words), " · ", link("CSV", ".csv", words), "; the whole variable: ", link("netCDF", ".nc", ""), " · ", link("CSV", ".csv", ""));
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
  to_hash();
  paint();
});
$("range").addEventListener("submit", (e) => {
  e.preventDefault();
  const low = $("low").valueAsNumber, high = $("high").valueAsNumber;
  if (!(low < high)) { say("The first colour's value must be below the last one's."); return; }
  Object.assign(state, { low, high });
  to_hash();
  paint();
});
$("auto").addEventListener("click", () => { Object.assign(state, { low: null, high: null }); to_hash(); paint(); });
$("colours").addEventListener("change", (e) => { state.colours = e.target.value; to_hash(); paint(); });
$("coast").addEventListener("change", (e) => { state.coast = e.target.checked; to_hash(); paint(); });
let later;
window.addEventListener("resize", () => { clearTimeout(later); later = setTimeout(show, 200); });
window.addEventListener("hashchange", () => { from_hash(); show(); });
from_hash();
show();
