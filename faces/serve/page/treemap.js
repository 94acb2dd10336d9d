// Sizes of files as areas: buttons, so that they are reached by keyboard and named by screen readers.

import { size } from "./data.js";

/** Rectangles whose areas follow `values`, in order, as near to squares as rows allow. */
export function squarify(values, x, y, width, height) {
  const all = values.reduce((a, b) => a + b, 0), out = [];
  let at = 0, area = all;
  while (at < values.length) {
    const short = Math.min(width, height), scale = (width * height) / area;
    let row = 1, best = Infinity;
    const worst = (n) => {
      const part = values.slice(at, at + n), sum = part.reduce((a, b) => a + b, 0) * scale;
      return Math.max((short * short * Math.max(...part) * scale) / (sum * sum), (sum * sum) / (short * short * Math.min(...part) * scale));
    };
    for (let n = 1; at + n <= values.length; n++) {
      const w = worst(n);
      if (w > best) break;
      best = w;
      row = n;
    }
    const part = values.slice(at, at + row), sum = part.reduce((a, b) => a + b, 0), thick = (sum * scale) / short;
    let along = 0;
    for (const value of part) {
      const long = (value / sum) * short;
      out.push(width >= height ? [x, y + along, thick, long] : [x + along, y, long, thick]);
      along += long;
    }
    if (width >= height) { x += thick; width -= thick; } else { y += thick; height -= thick; }
    area -= sum;
    at += row;
  }
  return out;
}

/** Shows entries with `bytes` in a box; `open` is called with the one that is chosen. */
export function treemap(box, entries, open) {
  box.textContent = "";
  const shown = entries.filter((e) => e.bytes > 0).sort((a, b) => b.bytes - a.bytes).slice(0, 300);
  const { width, height } = box.getBoundingClientRect();
  const places = squarify(shown.map((e) => e.bytes), 0, 0, width || 600, height || 400);
  shown.forEach((entry, n) => {
    const [x, y, w, h] = places[n], item = document.createElement("div"), button = document.createElement("button");
    item.setAttribute("role", "listitem");
    button.textContent = w > 40 && h > 16 ? `${entry.name} ${size(entry.bytes)}` : "";
    button.title = `${entry.name}: ${size(entry.bytes)}${entry.files > 1 ? ` in ${entry.files} files` : ""}`;
    button.setAttribute("aria-label", button.title);
    Object.assign(button.style, { left: `${x}px`, top: `${y}px`, width: `${w}px`, height: `${h}px`, background: entry.kind === "directory" ? "#37474f" : `hsl(${(n * 47) % 360} 45% 35%)` });
    button.addEventListener("click", () => open(entry));
    item.append(button);
    box.append(item);
  });
}
