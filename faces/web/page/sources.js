// Where bytes come from: addresses, by byte ranges, and files of this computer.

/** First bytes that are fetched with a file's length. */
const HEAD = 16 << 10;
/** Requests at once. */
const AT_ONCE = 6;
/** Bytes of a file that a server may send as a whole, if it cannot send parts. */
const WHOLE = 32 << 20;
/** Milliseconds after which a request that brings nothing has failed. */
const PATIENCE = 60_000;

const mib = (n) => `${(n / (1 << 20)).toFixed(1)} MiB`;

/** Pieces that touch each other as one; in order. */
function joined(ranges) {
  const out = [];
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = out[out.length - 1];
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else out.push([from, to]);
  }
  return out;
}

/** A file that the user chose. */
export class LocalSource {
  constructor(file, traffic) { Object.assign(this, { file, traffic, len: file.size, note: "" }); }

  async read(ranges) {
    return Promise.all(joined(ranges).map(async ([from, to]) => {
      let bytes;
      try { bytes = new Uint8Array(await this.file.slice(from, to).arrayBuffer()); } catch (e) {
        throw new Error(`the file cannot be read; perhaps it has changed since it was chosen (${e.message})`);
      }
      this.traffic(0, bytes.length);
      return { offset: from, bytes };
    }));
  }
}

/** A file of a web server. */
export class RemoteSource {
  #identity; #held = null;

  /** Asks for the first bytes, which tell the length. `traffic(requests, bytes)` counts. */
  static async open(url, traffic) {
    const source = new RemoteSource();
    Object.assign(source, { url, traffic, note: "" });
    const reply = await source.#ask([0, HEAD]);
    if (reply.status === 200) {
      await source.#take_whole(reply);
    } else if (reply.status === 206) {
      source.#identity = identity_of(reply);
      const bytes = new Uint8Array(await reply.arrayBuffer());
      traffic(0, bytes.length);
      const total = /\/(\d+)\s*$/.exec(reply.headers.get("Content-Range") ?? "");
      source.len = total ? Number(total[1]) : await source.#ask_len();
      source.first = { offset: 0, bytes };
    } else if (reply.status === 416) {
      throw new Error("the file is empty");
    } else throw refusal(reply);
    return source;
  }

  async read(ranges) {
    if (this.#held) return ranges.map(([from, to]) => ({ offset: from, bytes: this.#held.subarray(from, to) }));
    const todo = [], found = [];
    for (const [from, to] of joined(ranges)) {
      // What came with the length is not fetched twice.
      const near = this.first?.bytes.length ?? 0;
      if (from < near) found.push({ offset: from, bytes: this.first.bytes.subarray(from, Math.min(near, to)) });
      if (to > near) todo.push([Math.max(from, near), to]);
    }
    const workers = Array.from({ length: Math.min(AT_ONCE, todo.length) }, async () => {
      for (let range = todo.shift(); range; range = todo.shift()) found.push({ offset: range[0], bytes: await this.#range(range) });
    });
    await Promise.all(workers);
    return found;
  }

  async #range([from, to]) {
    const reply = await this.#ask([from, to]);
    if (reply.status !== 206) throw reply.status === 200 ? new Error("the server sent the whole file where a part was asked for") : refusal(reply);
    const identity = identity_of(reply);
    if (identity !== this.#identity) throw new Error("the file on the server has changed since it was opened; open it again");
    const bytes = new Uint8Array(await reply.arrayBuffer());
    const begin = /^bytes (\d+)-/.exec(reply.headers.get("Content-Range") ?? "");
    if (bytes.length !== to - from || (begin && Number(begin[1]) !== from)) throw new Error(`the server sent other bytes (${bytes.length}) than were asked for (${from} to ${to - 1})`);
    this.traffic(0, bytes.length);
    return bytes;
  }

  async #ask([from, to], method = "GET") {
    this.traffic(1, 0);
    const headers = method === "GET" ? { Range: `bytes=${from}-${to - 1}` } : {};
    try {
      // Browsers answer with parts that they keep, under the tag of the first of them: another file in its place would go unnoticed.
      return await fetch(this.url, { method, headers, cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(PATIENCE) });
    } catch (e) {
      if (e.name === "TimeoutError") throw new Error("the server did not answer in time");
      throw new Error("the address cannot be reached, or its server does not allow this page to read from it (its header Access-Control-Allow-Origin)");
    }
  }

  /** The length, where the server does not let pages of other hosts see it with a part. */
  async #ask_len() {
    const reply = await this.#ask([0, 0], "HEAD"), len = Number(reply.headers.get("Content-Length"));
    if (!reply.ok || !(len > 0)) throw new Error("the server does not say how long the file is (its headers Content-Range and Content-Length)");
    return len;
  }

  async #take_whole(reply) {
    const sentence = "the server sends whole files only, and no byte ranges of them";
    const claimed = Number(reply.headers.get("Content-Length") ?? 0);
    const too_long = () => new Error(`${sentence}; this one has more than ${mib(WHOLE)}. Download it and choose it here, or put it on a server with byte ranges`);
    if (claimed > WHOLE) { await reply.body?.cancel(); throw too_long(); }
    const pieces = [];
    let len = 0;
    for (let reader = reply.body.getReader(); ;) {
      const { done, value } = await reader.read();
      if (done) break;
      len += value.length;
      this.traffic(0, value.length);
      if (len > WHOLE) { await reader.cancel(); throw too_long(); }
      pieces.push(value);
    }
    this.#held = new Uint8Array(await new Blob(pieces).arrayBuffer());
    this.len = len;
    this.note = `${sentence[0].toUpperCase()}${sentence.slice(1)}: all ${mib(len)} of this one were fetched.`;
  }
}

/** What tells this state of the file from others, as far as the page may see it. */
const identity_of = (reply) => {
  const range = /\/(\d+)\s*$/.exec(reply.headers.get("Content-Range") ?? "");
  return JSON.stringify([reply.headers.get("ETag"), reply.headers.get("Last-Modified"), range?.[1] ?? null]);
};

const refusal = (reply) => new Error(reply.status === 404 ? "the server has no file at this address" : `the server refused: ${reply.status} ${reply.statusText}`);
