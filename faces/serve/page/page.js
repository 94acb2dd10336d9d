// The page of the server: which file. All of what is shown is in the address, so that it can be sent to others.

import { encode, size } from "./data.js";
import { json, numbers, query_name } from "./server.js";
import { treemap } from "./treemap.js";
import { $, AFRESH, element, from_query, go, is_current, run, say, show_file } from "./view.js";

/** Where the file is: directories, and its name. */
const place = { way: [], file: null };
let data = null;

function address(query) {
  const q = String(query);
  return directory() + (place.file === null ? "" : encodeURIComponent(place.file)) + (q ? "?" + q : "");
}

function read(text) {
  const [path, query = ""] = (text || "/").split("?");
  const names = path.split("/").slice(1).map(decodeURIComponent);
  place.file = names.pop() || null;
  place.way = names;
  from_query(new URLSearchParams(query));
}

const directory = () => "/" + encode(place.way) + (place.way.length ? "/" : "");
/** Addresses are relative to the page: behind a proxy it may have a prefix. */
const path = () => "." + directory() + encodeURIComponent(place.file);

async function show(mine) {
  try {
    await show_tree(mine);
    if (!is_current(mine)) return;
    if (place.file === null) { $("file").hidden = $("variable").hidden = true; document.title = "nc3z"; return; }
    const found = await described(mine);
    if (found && is_current(mine)) await show_file(found, mine);
  } catch (e) {
    say(`This did not work: ${e.message}`);
  }
}

let listed = null;
async function show_tree(mine) {
  const here = directory();
  if (listed !== here) {
    const { entries } = await json("." + here + "?json");
    if (!is_current(mine)) return;
    const list = element("ul"), names = new Set(entries.map((e) => e.name));
    const add = (text, way, file) => {
      const href = "#/" + encode(way) + (way.length ? "/" : "") + (file === null ? "" : encodeURIComponent(file));
      const item = element("li"), link = element("a", text, { href });
      item.append(link);
      list.append(item);
    };
    if (place.way.length) add("../", place.way.slice(0, -1), null);
    for (const e of entries) {
      // Archives are shown by the names of their originals.
      if (e.name.endsWith(".nc3z") && names.has(e.name.slice(0, -5))) continue;
      if (e.kind === "directory") add(e.name + "/", [...place.way, e.name], null);
      else add(e.name, place.way, e.name);
    }
    if (!list.children.length) list.append(element("li", "This directory is empty."));
    $("tree").replaceChildren(list);
    listed = here;
  }
  for (const link of $("tree").querySelectorAll("a")) {
    if (decodeURIComponent(link.hash) === decodeURIComponent("#" + here + (place.file ?? "")).replace(/\?.*/, "")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const way = element("span");
  ["", ...place.way].forEach((name, n) => {
    const to = place.way.slice(0, n);
    way.append(element("a", n ? name : "files", { href: "#/" + encode(to) + (n ? "/" : "") }), " / ");
  });
  if (place.file !== null) way.append(place.file);
  $("way").replaceChildren(way);
  if (place.file === null) {
    $("sizes").hidden = false;
    const { entries } = await json("." + here + "?sizes");
    if (!is_current(mine)) return;
    treemap($("treemap"), entries, (e) => go({ ...AFRESH, variable: null }, e.kind === "directory" ? { way: [...place.way, e.name], file: null } : { file: e.name.replace(/\.nc3z$/, "") }));
    say(`${entries.length} names, ${size(entries.reduce((a, e) => a + e.bytes, 0))} on disk.`);
  } else $("sizes").hidden = true;
}

/** The description of the file; nothing where it is none that can be shown, which is said. */
async function described(mine) {
  const address = path();
  if (data?.address === address) return data;
  say("Reading the file's description …");
  let found;
  try { found = await json(address + ".json"); } catch (e) {
    if (!is_current(mine)) return null;
    data = null;
    $("variable").hidden = true;
    $("file").hidden = false;
    $("file-title").textContent = place.file;
    $("links").replaceChildren(element("a", "the file", { href: address }));
    $("variables").hidden = true;
    $("attributes").replaceChildren();
    say(e.message);
    return null;
  }
  if (!is_current(mine)) return null;
  const link = (text, end) => element("a", text, { href: address + end });
  const links = [": ", link("the original", ""), " · ", link("DAP2", ".html"), " · ", link("JSON", ".json"), ...(found.archive_bytes ? [" · ", link("the archive", ".nc3z")] : []), ` · in netCDF programs: ${new URL(address, location).href.split("#")[0]}`];
  const stem = place.file.replace(/\.(nc|cdf)$/, "");
  const download = (text, variable, form, parts) => {
    // DAP2 does not see the last dimension of text.
    const seen = variable.type === "char" ? parts?.slice(0, -1) : parts;
    const words = (seen ?? []).map((p) => (Array.isArray(p) ? `[${p[0]}:${p[2]}]` : `[${p}]`)).join("");
    return element("a", text, { href: `${address}.${form}?${encodeURIComponent(query_name(variable.name) + words)}`, download: `${stem}_${variable.name}.${form}` });
  };
  data = { ...found, address, title: place.file, links, download, numbers: (variable, parts) => numbers(address, variable.name, parts) };
  return data;
}

run({ place, address, read, show });
