// The page without a server of ours: which file. All of what is shown is in the address, so that it can be sent to others.

import { Archive } from "./archive.js";
import { size } from "./data.js";
import { $, AFRESH, element, from_query, go, is_current, run, say, show_file } from "./view.js";

/** What is open: an address, or a file of this computer, whose content no address can name. */
const place = { url: null, file: null };
let data = null;
const traffic = { requests: 0, bytes: 0, busy: false };

const archive = new Archive((now) => {
  const began = now.busy && !traffic.busy;
  Object.assign(traffic, now);
  if (traffic.bytes) $("traffic").textContent = place.file ? `${size(traffic.bytes)} read.` : `${size(traffic.bytes)} fetched in ${traffic.requests} request${traffic.requests === 1 ? "" : "s"}.`;
  if (began) setTimeout(() => { $("stop").hidden = !traffic.busy; }, 1000);
  if (!traffic.busy) $("stop").hidden = true;
});
$("stop").addEventListener("click", () => archive.stop());

const name_of = ({ url, file }) => file?.name ?? decodeURIComponent(new URL(url).pathname.split("/").pop() || url);

function address(query) {
  if (place.url) query.set("u", place.url);
  return String(query);
}

function read(text) {
  const q = new URLSearchParams(text);
  place.url = q.get("u");
  if (place.url) place.file = null;
  from_query(q);
}

async function show(mine) {
  try {
    if (!place.url && !place.file) { $("file").hidden = $("variable").hidden = true; return; }
    const found = await described(mine);
    if (is_current(mine)) await show_file(found, mine);
    if (is_current(mine) && found.note) say(`${found.note} ${$("status").textContent}`);
  } catch (e) {
    if (is_current(mine)) say(`This did not work: ${e.message}`);
  }
}

async function described(mine) {
  if (data && data.url === place.url && data.file === place.file) return data;
  data = null;
  $("file").hidden = $("variable").hidden = true;
  $("traffic").textContent = "";
  $("address").value = place.url ?? "";
  const here = { ...place };
  let from;
  try { from = here.file ? { file: here.file } : { url: new URL(here.url, location.href).href }; } catch { throw new Error("this is not an address of a file"); }
  if (from.url && !/^https?:/.test(from.url)) throw new Error("addresses begin with http: or https:");
  say(`Opening ${name_of(from)} …`);
  const found = await archive.open(from);
  const number = new Map(found.variables.map((v, n) => [v, n]));
  const stem = name_of(from).replace(/\.nc3z$/, "").replace(/\.(nc|cdf|nc3)$/, "");
  const download = (text, variable, form, parts) => {
    const button = element("button", text, { type: "button", class: "name" });
    button.addEventListener("click", () => save(`${stem}_${variable.name}.${form}`.replace(/[\\/:*?"<>|\u0000-\u001f]/g, "_"), form === "nc" ? "netcdf" : form, number.get(variable), variable.shape, parts));
    return button;
  };
  const links = from.url ? [": ", element("a", "the file", { href: from.url })] : [": a file of this computer"];
  const shown = { ...found, ...here, title: name_of(from), links, download, numbers: (variable, parts) => archive.values(number.get(variable), variable.shape, parts) };
  if (is_current(mine)) data = shown;
  return shown;
}

async function save(name, ...part) {
  say(`Making ${name} …`);
  try {
    const made = await archive.make(...part), address = URL.createObjectURL(made);
    element("a", undefined, { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    say(`${name}: ${size(made.size)}.`);
  } catch (e) {
    say(`This did not work: ${e.message}`);
  }
}

$("open").addEventListener("submit", (e) => {
  e.preventDefault();
  const url = $("address").value.trim();
  if (url) go({ ...AFRESH, variable: null }, { url, file: null });
});
$("local").addEventListener("change", (e) => {
  const [file] = e.target.files;
  if (file) go({ ...AFRESH, variable: null }, { url: null, file });
});

/** Files that lie beside the page, as scripts/web.sh has found them. */
async function list() {
  const { files } = await (await fetch(new URL("files.json", import.meta.url))).json();
  if (!files.length) return;
  const names = element("ul");
  for (const file of files) {
    const item = element("li");
    item.append(element("a", decodeURIComponent(file), { href: `#${new URLSearchParams({ u: file })}` }));
    names.append(item);
  }
  $("listing").replaceChildren(element("h2", "Files beside this page"), names);
}

run({ place, address, read, show });
list().catch(() => {});
