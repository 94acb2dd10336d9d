// The reader in a thread of its own: the page stays alive whatever a file makes it do.

import { Ended, Reader, part_of } from "./wasm.js";
import { LocalSource, RemoteSource } from "./sources.js";

let module = null, reader = null, requests = 0, bytes = 0;
const traffic = (more, fetched) => {
  requests += more;
  bytes += fetched;
  postMessage({ requests, bytes });
};

async function open({ file, url }) {
  module ??= WebAssembly.compile(await (await fetch(new URL("nc3z_web.wasm", import.meta.url))).arrayBuffer());
  requests = bytes = 0;
  const source = file ? new LocalSource(file, traffic) : await RemoteSource.open(url, traffic);
  reader = await Reader.of(await module);
  return { ...(await reader.open(source)), note: source.note };
}

async function make({ form, variable, shape, parts }) {
  if (!reader) throw new Error("no file is open");
  const pieces = [];
  for await (const piece of reader.make(form, [part_of(variable, shape, parts)])) pieces.push(piece);
  return new Blob(pieces);
}

// One request after the other: the reader does one thing at a time.
let line = Promise.resolve();
onmessage = ({ data: { id, what, ...request } }) => {
  line = line.then(async () => {
    try {
      const found = await (what === "open" ? open(request) : make(request));
      postMessage({ id, found });
    } catch (e) {
      if (e instanceof Ended) reader = null;
      postMessage({ id, error: e.message, ended: e instanceof Ended });
    }
  });
};
