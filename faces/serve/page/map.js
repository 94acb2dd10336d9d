// A field as a picture: axes, coastlines, colour bar. And its histogram.

import { short } from "./data.js";

const TABLES = {
  viridis: ["#440154", "#482878", "#3e4a89", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"],
  "blue-red": ["#053061", "#2166ac", "#4393c3", "#92c5de", "#f7f7f7", "#f4a582", "#d6604d", "#b2182b", "#67001f"],
  grey: ["#111111", "#f5f5f5"],
};
const LEFT = 56, RIGHT = 84, TOP = 12, BOTTOM = 34;

function table(name) {
  const stops = TABLES[name].map((c) => [1, 3, 5].map((at) => parseInt(c.slice(at, at + 2), 16)));
  return Array.from({ length: 256 }, (_, n) => {
    const at = (n / 255) * (stops.length - 1), i = Math.min(Math.floor(at), stops.length - 2), f = at - i;
    return stops[i].map((a, k) => Math.round(a + (stops[i + 1][k] - a) * f));
  });
}

export function extent(values) {
  let low = Infinity, high = -Infinity, sum = 0, count = 0;
  for (const x of values) if (!Number.isNaN(x)) {
    if (x < low) low = x;
    if (x > high) high = x;
    sum += x;
    count += 1;
  }
  return { low, high, count, mean: sum / count };
}

/** Round numbers from `low` to `high`. */
export function ticks(low, high, wanted) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const raw = span / wanted, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
  const out = [];
  for (let x = Math.ceil(low / step) * step; x <= high + step * 1e-9; x += step) out.push(Math.abs(x) < step * 1e-9 ? 0 : x);
  return out;
}

/** Edges of cells around their centres. */
function edges(centres) {
  const n = centres.length;
  if (n === 1) return [centres[0] - 0.5, centres[0] + 0.5];
  const out = [centres[0] - (centres[1] - centres[0]) / 2];
  for (let i = 1; i < n; i++) out.push((centres[i - 1] + centres[i]) / 2);
  out.push(centres[n - 1] + (centres[n - 1] - centres[n - 2]) / 2);
  return out;
}

/** The cell that a place is in; -1 outside. */
function cell(bounds, at) {
  const up = bounds[bounds.length - 1] > bounds[0];
  let low = 0, high = bounds.length - 1;
  if (up ? at < bounds[0] || at > bounds[high] : at > bounds[0] || at < bounds[high]) return -1;
  while (high - low > 1) {
    const mid = (low + high) >> 1;
    if (up ? bounds[mid] <= at : bounds[mid] >= at) low = mid; else high = mid;
  }
  return low;
}

let lines = null;
/** Coastlines: numbers of seven bits a byte. How many places; for each the steps of a twentieth of a degree from the one before. */
async function coastlines() {
  if (lines) return lines;
  const bytes = new Uint8Array(await (await fetch(new URL("coastline.bin", import.meta.url))).arrayBuffer());
  let at = 0;
  const next = () => {
    let value = 0, shift = 0, byte;
    do { byte = bytes[at++]; value |= (byte & 127) << shift; shift += 7; } while (byte > 127);
    return (value >>> 1) ^ -(value & 1);
  };
  lines = [];
  while (at < bytes.length) {
    const line = [];
    let x = 0, y = 0;
    for (let n = next(); n > 0; n--) { x += next(); y += next(); line.push([x / 20, y / 20]); }
    lines.push(line);
  }
  return lines;
}

export function fit(canvas) {
  const ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
  canvas.width = Math.max(1, Math.round(box.width * ratio));
  canvas.height = Math.max(1, Math.round(box.height * ratio));
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, box.width, box.height);
  const style = getComputedStyle(canvas);
  context.fillStyle = context.strokeStyle = style.color;
  context.font = "12px system-ui, sans-serif";
  return { context, width: box.width, height: box.height, ratio };
}

/** Draws a field; gives what is needed to find its cells again. */
export async function draw(canvas, field, view) {
  const coast = field.is_map && view.coast ? await coastlines() : [];
  const { context, width, height, ratio } = fit(canvas);
  const xs = edges(field.x), ys = edges(field.y);
  const plot = { left: LEFT, top: TOP, width: width - LEFT - RIGHT, height: height - TOP - BOTTOM };
  const west = Math.min(xs[0], xs[xs.length - 1]), east = Math.max(xs[0], xs[xs.length - 1]);
  const clip = (v) => (field.is_map ? Math.max(-90, Math.min(90, v)) : v);
  const south = clip(Math.min(ys[0], ys[ys.length - 1])), north = clip(Math.max(ys[0], ys[ys.length - 1]));
  const px = (x) => plot.left + ((x - west) / (east - west)) * plot.width;
  const py = (y) => plot.top + ((north - y) / (north - south)) * plot.height;
  const colours = table(view.colours), span = view.high - view.low;
  const columns = Math.max(1, Math.round(plot.width * ratio)), rows = Math.max(1, Math.round(plot.height * ratio));
  const image = context.createImageData(columns, rows);
  const across = Array.from({ length: columns }, (_, i) => cell(xs, west + ((i + 0.5) / columns) * (east - west)));
  for (let j = 0; j < rows; j++) {
    const row = cell(ys, north - ((j + 0.5) / rows) * (north - south));
    if (row < 0) continue;
    for (let i = 0; i < columns; i++) {
      const column = across[i];
      if (column < 0) continue;
      const value = field.at(row, column), to = 4 * (j * columns + i);
      if (Number.isNaN(value)) { image.data.set([150, 150, 150, 90], to); continue; }
      const colour = colours[Math.max(0, Math.min(255, span > 0 ? Math.floor(((value - view.low) / span) * 256) : 128))];
      image.data[to] = colour[0]; image.data[to + 1] = colour[1]; image.data[to + 2] = colour[2]; image.data[to + 3] = 255;
    }
  }
  context.putImageData(image, Math.round(plot.left * ratio), Math.round(plot.top * ratio));
  context.save();
  context.beginPath();
  context.rect(plot.left, plot.top, plot.width, plot.height);
  context.clip();
  context.strokeStyle = "#000a";
  context.lineWidth = 0.8;
  context.beginPath();
  for (let around = Math.floor((west - 180) / 360) * 360; around <= east + 180; around += 360) {
    for (const line of coast) line.forEach(([lon, lat], n) => (n ? context.lineTo(px(lon + around), py(lat)) : context.moveTo(px(lon + around), py(lat))));
  }
  context.stroke();
  if (view.cross) {
    context.strokeStyle = "#e00";
    context.lineWidth = 1.5;
    const [row, column] = view.cross, x = px(field.x[column]), y = py(field.y[row]);
    context.beginPath();
    context.moveTo(x - 9, y); context.lineTo(x + 9, y); context.moveTo(x, y - 9); context.lineTo(x, y + 9);
    context.stroke();
  }
  context.restore();
  context.strokeRect(plot.left, plot.top, plot.width, plot.height);
  context.textAlign = "center";
  for (const x of ticks(west, east, 7)) { context.fillRect(px(x), plot.top + plot.height, 1, 4); context.fillText(short(x), px(x), plot.top + plot.height + 16); }
  context.fillText(field.x_name, plot.left + plot.width / 2, height - 4);
  context.textAlign = "right";
  for (const y of ticks(south, north, 6)) { context.fillRect(plot.left - 4, py(y), 4, 1); context.fillText(short(y), plot.left - 6, py(y) + 4); }
  context.save();
  context.translate(12, plot.top + plot.height / 2);
  context.rotate(-Math.PI / 2);
  context.textAlign = "center";
  context.fillText(field.y_name, 0, 0);
  context.restore();
  bar(context, plot, colours, view);
  return {
    find(x, y) {
      const column = cell(xs, west + ((x - plot.left) / plot.width) * (east - west));
      const row = cell(ys, north - ((y - plot.top) / plot.height) * (north - south));
      return row < 0 || column < 0 ? null : [row, column];
    },
  };
}

function bar(context, plot, colours, view) {
  const left = plot.left + plot.width + 12, step = plot.height / 256;
  colours.forEach((c, n) => {
    context.fillStyle = `rgb(${c.join(",")})`;
    context.fillRect(left, plot.top + plot.height - (n + 1) * step, 14, step + 0.6);
  });
  context.fillStyle = context.strokeStyle;
  context.strokeRect(left, plot.top, 14, plot.height);
  context.textAlign = "left";
  for (const value of ticks(view.low, view.high, 6)) {
    const y = view.high > view.low ? plot.top + plot.height * (1 - (value - view.low) / (view.high - view.low)) : plot.top;
    context.fillRect(left + 14, y, 4, 1);
    context.fillText(short(value), left + 20, y + 4);
  }
}

export function histogram(canvas, values, { low, high, count }) {
  const { context, width, height } = fit(canvas);
  if (!count) return;
  const bins = new Array(40).fill(0);
  for (const x of values) if (!Number.isNaN(x)) bins[high > low ? Math.min(39, Math.floor(((x - low) / (high - low)) * 40)) : 0] += 1;
  const most = Math.max(...bins), step = (width - LEFT - 10) / 40, room = height - 30;
  bins.forEach((n, i) => {
    context.fillStyle = "#1565c0";
    context.fillRect(LEFT + i * step, 8 + room * (1 - n / most), Math.max(1, step - 1), (room * n) / most);
  });
  context.fillStyle = getComputedStyle(canvas).color;
  context.textAlign = "center";
  for (const x of ticks(low, high, 8)) context.fillText(short(x), LEFT + (high > low ? (x - low) / (high - low) : 0.5) * (width - LEFT - 10), height - 6);
  context.textAlign = "right";
  context.fillText(String(most), LEFT - 6, 18);
  context.fillText("0", LEFT - 6, 8 + room);
}
